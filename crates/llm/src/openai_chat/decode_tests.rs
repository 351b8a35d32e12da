use super::*;
use crate::http::testing::{read, stream};

fn chunk(delta: &str) -> String {
    format!(
        r#"{{"id":"c","model":"gpt-y","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#
    )
}

fn calls_chunk(calls: &str) -> String {
    chunk(&format!(r#"{{"tool_calls":[{calls}]}}"#))
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":3}}}"#;

fn response(events: &[String]) -> Result<AssistantMessage, ModelError> {
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    read(Response::new("m"), &stream(&events)).1
}

/// The calls of a message: id, name and argument text.
fn calls(message: &AssistantMessage) -> Vec<(&str, &str, &str)> {
    let calls = message.calls();
    calls
        .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.text()))
        .collect()
}

/// The calls that some chunks make, after an answer that ended well.
fn calls_of(chunks: &[&str]) -> Vec<(String, String, String)> {
    let mut events: Vec<String> = chunks.iter().map(|call| calls_chunk(call)).collect();
    events.extend([finish("tool_calls"), "[DONE]".to_owned()]);
    let message = response(&events).unwrap();
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    let calls = calls(&message).into_iter();
    calls
        .map(|(id, name, text)| (id.to_owned(), name.to_owned(), text.to_owned()))
        .collect()
}

#[test]
fn a_response_with_everything() {
    let events = [
        chunk(r#"{"role":"assistant","content":null}"#),
        chunk(r#"{"reasoning_content":"Let me "}"#),
        chunk(r#"{"reasoning":"see."}"#),
        chunk(r#"{"content":"Hé"}"#),
        chunk(r#"{"content":[{"type":"text","text":" you"}]}"#),
        calls_chunk(
            r#"{"index":0,"id":"call_a","type":"function","function":{"name":"T","arguments":""}}"#,
        ),
        calls_chunk(r#"{"index":0,"function":{"arguments":"{\"a\""}}"#),
        calls_chunk(r#"{"index":0,"function":{"arguments":":1}"}}"#),
        finish("tool_calls"),
        USAGE.to_owned(),
        "[DONE]".to_owned(),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let (deltas, message) = read(Response::new("m"), &stream(&events));
    insta::assert_debug_snapshot!((deltas, message.unwrap()));
}

#[test]
fn calls_are_told_apart_however_a_server_names_them() {
    let expected = [("a", "T", r#"{"n":1}"#), ("b", "U", r#"{"n":2}"#)]
        .map(|(id, name, text)| (id.to_owned(), name.to_owned(), text.to_owned()));
    let cases: [&[&str]; 6] = [
        // By index, interleaved.
        &[
            r#"{"index":0,"id":"a","function":{"name":"T","arguments":"{\"n\""}}"#,
            r#"{"index":1,"id":"b","function":{"name":"U","arguments":"{\"n\""}}"#,
            r#"{"index":0,"function":{"arguments":":1}"}}"#,
            r#"{"index":1,"function":{"arguments":":2}"}}"#,
        ],
        // Both in one chunk.
        &[
            r#"{"index":0,"id":"a","function":{"name":"T","arguments":"{\"n\":1}"}},{"index":1,"id":"b","function":{"name":"U","arguments":"{\"n\":2}"}}"#,
        ],
        // All with the same index.
        &[
            r#"{"index":0,"id":"a","function":{"name":"T","arguments":"{\"n\":1}"}}"#,
            r#"{"index":0,"id":"b","function":{"name":"U","arguments":"{\"n\":2}"}}"#,
        ],
        // Without an index.
        &[
            r#"{"id":"a","function":{"name":"T","arguments":"{\"n\":"}}"#,
            r#"{"function":{"arguments":"1}"}}"#,
            r#"{"id":"b","function":{"name":"U","arguments":{"n":2}}}"#,
        ],
        // Id and name in every chunk.
        &[
            r#"{"index":0,"id":"a","function":{"name":"T","arguments":"{\"n\":"}}"#,
            r#"{"index":0,"id":"a","function":{"name":"T","arguments":"1}"}}"#,
            r#"{"index":1,"id":"b","function":{"name":"U","arguments":"{\"n\":2}"}}"#,
        ],
        // Another id in every chunk.
        &[
            r#"{"index":0,"id":"a","function":{"name":"T","arguments":"{\"n\":"}}"#,
            r#"{"index":0,"id":"x","function":{"arguments":"1}"}}"#,
            r#"{"index":1,"id":"b","function":{"name":"U","arguments":"{\"n\":"}}"#,
            r#"{"index":1,"id":"y","function":{"arguments":"2}"}}"#,
        ],
    ];
    for case in cases {
        assert_eq!(calls_of(case), expected);
    }
}

#[test]
fn calls_without_ids_get_different_ones() {
    let calls = calls_of(&[
        r#"{"function":{"name":"T","arguments":"{}"}}"#,
        r#"{"function":{"name":"T","arguments":"{}"}}"#,
    ]);
    let ids: Vec<&str> = calls.iter().map(|call| call.0.as_str()).collect();
    assert_eq!(ids, ["call_0", "call_1"]);
}

#[test]
fn a_server_that_says_stop_although_it_calls() {
    let message = response(&[
        calls_chunk(r#"{"index":0,"id":"a","function":{"name":"T"}}"#),
        finish("stop"),
    ])
    .unwrap();
    assert_eq!(calls(&message), [("a", "T", "{}")]);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
}

#[test]
fn a_call_that_the_limit_cut_is_left_out() {
    for cut in ["{\\\"n\\\":", ""] {
        let message = response(&[
            calls_chunk(r#"{"index":0,"id":"a","function":{"name":"T","arguments":""}}"#),
            calls_chunk(&format!(
                r#"{{"index":1,"id":"b","function":{{"name":"T","arguments":"{cut}"}}}}"#
            )),
            finish("length"),
        ])
        .unwrap();
        assert_eq!(calls(&message), [("a", "T", "{}")]);
        assert_eq!(message.stop_reason, StopReason::MaxTokens);
    }
}

#[test]
fn the_end_needs_a_reason() {
    let text = chunk(r#"{"content":"x"}"#);
    for events in [
        vec![],
        vec![text.clone()],
        vec![text.clone(), "[DONE]".to_owned()],
    ] {
        let error = response(&events).unwrap_err();
        assert!(matches!(error, ModelError::Cut(_)), "{error}");
    }
    let message = response(&[text, finish("stop")]).unwrap();
    assert_eq!(message.joined_text(), "x");
}

#[test]
fn refusals_and_filters() {
    let refusal = chunk(r#"{"refusal":"I must not."}"#);
    let message = response(&[refusal, finish("content_filter")]).unwrap();
    assert_eq!(message.joined_text(), "I must not.");
    assert_eq!(message.stop_reason, StopReason::Refusal);
}

#[test]
fn errors() {
    let cases = [
        stream(&[r#"{"error":{"message":"Oops","type":"server_error","code":500}}"#]),
        "event: error\ndata: {\"message\":\"Oops\"}\n\n".to_owned(),
        stream(&["not json"]),
        stream(&[r#"{"choices":5}"#]),
    ];
    let errors: Vec<String> = cases
        .iter()
        .map(|stream| {
            let error = read(Response::new("m"), stream).1.unwrap_err();
            assert!(error.is_retryable());
            error.to_string()
        })
        .collect();
    insta::assert_snapshot!(errors.join("\n"));
}
