//! Streams made out of good ones.

use super::*;
use crate::http::testing::{fuzz, stream};

/// Words that mean something to this wire.
const WORDS: &[&str] = &[
    "event: message_stop\n",
    "event: error\n",
    "data: ",
    "data: {\"type\":\"message_stop\"}\n\n",
    "data: {\"type\":\"ping\"}\n\n",
    "{\"type\":\"content_block_stop\",\"index\":0}",
    "{\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"text\",\"text\":\"x\"}}",
    "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}",
    "max_tokens",
    "stop_sequence",
    "refusal",
    "tool_use",
    "text_delta",
    "input_json_delta",
    "thinking",
    "server_tool_use",
    ": comment\n",
    "retry: 1\n",
];

#[test]
fn fuzz_anthropic_stream() {
    let start = r#"{"type":"message_start","message":{"id":"msg_1","model":"claude-y","usage":{"input_tokens":10,"output_tokens":1}}}"#;
    let stop = r#"{"type":"message_stop"}"#;
    let end = |reason: &str| {
        format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":20}}}}"#
        )
    };
    let calls = stream(&[
        start,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me see."}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Grüße 👋"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"TaskCreate","input":{}}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_2","name":"TaskList","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"subject\":"}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"a\"}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"content_block_stop","index":3}"#,
        &end("tool_use"),
        stop,
    ]);
    let cut = stream(&[
        start,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"So"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"Write","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":\"b"}}"#,
        &end("max_tokens"),
        stop,
    ]);
    let named = format!(
        "event: message_start\r\ndata: {start}\r\n\r\n: ping\r\n\r\nevent: message_delta\r\ndata: {}\r\n\r\nevent: message_stop\r\ndata: {stop}\r\n\r\n",
        end("end_turn")
    );
    fuzz(
        "anthropic_stream",
        &[calls, cut, named],
        WORDS,
        b"message_stop",
        || Response::new("m"),
    );
}
