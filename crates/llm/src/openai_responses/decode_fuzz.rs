//! Streams made out of good ones.

use super::*;
use crate::http::testing::{fuzz, stream};

/// Words that mean something to this wire.
const WORDS: &[&str] = &[
    "data: [DONE]\n\n",
    "event: error\n",
    "data: ",
    "response.output_item.added",
    "response.output_item.done",
    "response.function_call_arguments.done",
    "response.refusal",
    "response.failed",
    "response.created",
    ".delta",
    "function_call",
    "reasoning",
    "message",
    "\"output_index\":1,",
    "\"output_index\":null,",
    "\"item_id\":\"fc_1\",",
    "\"arguments\":\"{}\",",
    "\"encrypted_content\":\"x\",",
    "\"item\":null,",
    "\"delta\":\"x\",",
    "\"delta\":null,",
    "{\"type\":\"error\",\"message\":\"x\",\"code\":null}",
    "max_output_tokens",
    "content_filter",
];

#[test]
fn fuzz_responses_stream() {
    let created = r#"{"type":"response.created","response":{"id":"resp_1","model":"gpt-y"}}"#;
    let completed = r#"{"type":"response.completed","response":{"usage":{"input_tokens":100,"output_tokens":7,"input_tokens_details":{"cached_tokens":64}}}}"#;
    let calls = stream(&[
        created,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_1","delta":"Let me see."}"#,
        r#"{"type":"response.reasoning_summary_part.added","output_index":0,"item_id":"rs_1"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Let me see."}],"encrypted_content":"c2Vh"}}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_a","name":"TaskCreate","arguments":""}}"#,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_2","call_id":"call_b","name":"TaskList","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":2,"item_id":"fc_2","delta":"{}"}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"fc_1","delta":"{\"subject\""}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"fc_1","delta":":\"a\"}"}"#,
        r#"{"type":"response.function_call_arguments.done","output_index":1,"item_id":"fc_1","arguments":"{\"subject\":\"a\"}"}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_a","name":"TaskCreate","arguments":"{\"subject\":\"a\"}"}}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_2","call_id":"call_b","name":"TaskList","arguments":"{}"}}"#,
        completed,
    ]);
    let cut = stream(&[
        created,
        r#"{"type":"response.output_item.added","item":{"type":"function_call","id":"fc_1","call_id":"x","name":"Write","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","delta":"{\"a\":\"b"}"#,
        r#"{"type":"response.output_item.done","item":{"type":"function_call","id":"fc_1","call_id":"x","name":"Write","arguments":"{\"a\":\"b","status":"cut"}}"#,
        r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#,
    ]);
    let text = stream(&[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","content":[]}}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Grüße 👋"}"#,
        r#"{"type":"response.refusal.delta","output_index":0,"content_index":1,"delta":"No."}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Grüße 👋"}]}}"#,
        completed,
    ]);
    // Of both ends; nothing else in these streams says so.
    fuzz(
        "responses_stream",
        &[calls, cut, text],
        WORDS,
        b"complete",
        || Response::new("m"),
    );
}
