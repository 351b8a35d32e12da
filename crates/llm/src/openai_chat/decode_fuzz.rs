//! Streams made out of good ones.

use super::*;
use crate::http::testing::{fuzz, stream};

/// Words that mean something to this wire.
const WORDS: &[&str] = &[
    "data: [DONE]\n\n",
    "event: error\n",
    "data: ",
    "finish_reason",
    "tool_calls",
    "length",
    "stop",
    "content_filter",
    "\"finish_reason\":null",
    "\"index\":1,",
    "\"id\":\"call_b\",",
    "\"id\":\"\",",
    "\"name\":\"\",",
    "\"arguments\":{\"a\":1}",
    "\"delta\":null",
    "{\"error\":{\"message\":\"x\",\"code\":500}}",
    "\"content\":\"x\",",
    ": OPENROUTER PROCESSING\n\n",
];

#[test]
fn fuzz_openai_stream() {
    let finish = |reason: &str| {
        format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
    };
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64}}}"#;
    let calls = stream(&[
        r#"{"id":"c","model":"gpt-y","choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Let me see."}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"Grüße 👋"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"TaskCreate","arguments":""}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","function":{"name":"TaskList","arguments":"{}"}},{"index":0,"function":{"arguments":"{\"subject\""}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":\"a\"}"}}]}}]}"#,
        &finish("tool_calls"),
        usage,
        "[DONE]",
    ]);
    let cut = stream(&[
        r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"So"}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"x","function":{"name":"Write","arguments":"{\"a\":\"b"}}]}}]}"#,
        &finish("length"),
        "[DONE]",
    ]);
    let text = stream(&[
        r#"{"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}"#,
    ]);
    fuzz(
        "openai_stream",
        &[calls, cut, text],
        WORDS,
        b"finish_reason",
        || Response::new("m"),
    );
}
