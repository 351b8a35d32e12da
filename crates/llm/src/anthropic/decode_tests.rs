use super::*;
use crate::http::testing::{read, stream};

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","model":"claude-y","usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn begin(index: u64, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: u64, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn arguments(index: u64, json: &str) -> String {
    let json = serde_json::to_string(json).unwrap();
    delta(
        index,
        &format!(r#"{{"type":"input_json_delta","partial_json":{json}}}"#),
    )
}

fn end(index: u64) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

fn stopped(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":20}}}}"#
    )
}

fn call(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"T","input":{{}}}}"#)
}

const TEXT: &str = r#"{"type":"text","text":""}"#;

fn response(events: &[String]) -> Result<AssistantMessage, ModelError> {
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    read(Response::new("m"), &stream(&events)).1
}

/// The calls of a message: id and argument text.
fn calls(message: &AssistantMessage) -> Vec<(&str, &str)> {
    let calls = message.calls();
    calls
        .map(|call| (call.id.as_str(), call.arguments.text()))
        .collect()
}

#[test]
fn a_response_with_every_kind_of_block() {
    let events = [
        START.to_owned(),
        r#"{"type":"ping"}"#.to_owned(),
        begin(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"Let me "}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"see."}"#),
        delta(0, r#"{"type":"signature_delta","signature":"c2ln"}"#),
        end(0),
        begin(1, r#"{"type":"redacted_thinking","data":"opaque"}"#),
        end(1),
        begin(
            2,
            r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#,
        ),
        arguments(2, "{}"),
        end(2),
        begin(3, TEXT),
        delta(3, r#"{"type":"citations_delta","citation":{}}"#),
        delta(3, r#"{"type":"text_delta","text":"Hé"}"#),
        r#"{"type":"brand_new_event","x":1}"#.to_owned(),
        end(3),
        begin(4, &call("toolu_1")),
        arguments(4, ""),
        arguments(4, "{\"a\":"),
        arguments(4, "1}"),
        end(4),
        stopped("tool_use"),
        STOP.to_owned(),
        "behind the end nothing is read".to_owned(),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let (deltas, message) = read(Response::new("m"), &stream(&events));
    insta::assert_debug_snapshot!((deltas, message.unwrap()));
}

#[test]
fn blocks_may_interleave() {
    let message = response(&[
        START.to_owned(),
        begin(0, &call("a")),
        begin(1, &call("b")),
        arguments(1, "{\"n\":"),
        arguments(0, "{\"n\":"),
        arguments(1, "2}"),
        end(1),
        arguments(0, "1}"),
        end(0),
        stopped("tool_use"),
        STOP.to_owned(),
    ])
    .unwrap();
    assert_eq!(calls(&message), [("a", r#"{"n":1}"#), ("b", r#"{"n":2}"#)]);
}

#[test]
fn a_call_without_arguments_and_one_that_is_given_whole() {
    let message = response(&[
        START.to_owned(),
        begin(0, &call("a")),
        end(0),
        begin(
            1,
            r#"{"type":"tool_use","id":"b","name":"T","input":{"n":1}}"#,
        ),
        end(1),
        stopped("tool_use"),
        STOP.to_owned(),
    ])
    .unwrap();
    assert_eq!(calls(&message), [("a", "{}"), ("b", r#"{"n":1}"#)]);
}

#[test]
fn a_call_that_the_limit_cut_is_left_out() {
    for cut in [
        vec![begin(2, &call("b")), arguments(2, "{\"n\":"), end(2)],
        vec![begin(2, &call("b")), arguments(2, "{\"n\":1}")],
        vec![begin(2, &call("b")), end(2)],
    ] {
        let mut events = vec![
            START.to_owned(),
            begin(0, TEXT),
            end(0),
            begin(1, &call("a")),
            end(1),
        ];
        events.extend(cut);
        events.extend([stopped("max_tokens"), STOP.to_owned()]);
        let message = response(&events).unwrap();
        assert_eq!(calls(&message), [("a", "{}")]);
        assert_eq!(message.stop_reason, StopReason::MaxTokens);
    }
}

#[test]
fn broken_arguments_of_a_whole_call_are_kept_as_they_are() {
    let message = response(&[
        START.to_owned(),
        begin(0, &call("a")),
        arguments(0, "{\"n\": nothing"),
        end(0),
        stopped("tool_use"),
        STOP.to_owned(),
    ]);
    assert_eq!(calls(&message.unwrap()), [("a", "{\"n\": nothing")]);
}

#[test]
fn every_prefix_of_a_stream_is_cut() {
    let events = [
        START.to_owned(),
        begin(0, TEXT),
        delta(0, r#"{"type":"text_delta","text":"x"}"#),
        end(0),
        stopped("end_turn"),
        STOP.to_owned(),
    ];
    for length in 0..events.len() {
        let error = response(events.get(..length).unwrap()).unwrap_err();
        assert!(matches!(error, ModelError::Cut(_)), "{length}: {error}");
        assert!(error.is_retryable());
    }
    assert!(response(&events).is_ok());
}

#[test]
fn errors_and_disorder() {
    let cases = [
        vec![
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#
                .to_owned(),
        ],
        vec![begin(0, TEXT), begin(0, TEXT)],
        vec![end(0)],
        vec![begin(0, TEXT), arguments(0, "{}")],
        vec!["not json".to_owned()],
        vec![begin(0, &call("a")), stopped("tool_use"), STOP.to_owned()],
    ];
    let errors: Vec<String> = cases
        .iter()
        .map(|events| {
            let error = response(events).unwrap_err();
            assert!(error.is_retryable());
            error.to_string()
        })
        .collect();
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn counts_that_only_the_end_knows() {
    let message = response(&[
        r#"{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}"#.to_owned(),
        r#"{"type":"message_delta","delta":{"stop_reason":"stop_sequence"},"usage":{"input_tokens":7,"cache_read_input_tokens":null,"output_tokens":2}}"#.to_owned(),
        STOP.to_owned(),
    ])
    .unwrap();
    assert_eq!(message.usage.input, 7);
    assert_eq!(message.usage.output, 2);
    assert_eq!(message.stop_reason, StopReason::EndTurn);
    assert_eq!(message.model, "m");
}
