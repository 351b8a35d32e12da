use super::*;
use crate::http::testing::{read, stream};

const CREATED: &str =
    r#"{"type":"response.created","response":{"id":"resp_1","model":"gpt-y-2026","status":"x"}}"#;

fn added(index: u64, item: &str) -> String {
    format!(r#"{{"type":"response.output_item.added","output_index":{index},"item":{item}}}"#)
}

fn delta(index: u64, kind: &str, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(r#"{{"type":"response.{kind}.delta","output_index":{index},"delta":{text}}}"#)
}

fn done(index: u64, item: &str) -> String {
    format!(r#"{{"type":"response.output_item.done","output_index":{index},"item":{item}}}"#)
}

fn call(id: &str, arguments: &str) -> String {
    let arguments = serde_json::to_string(arguments).unwrap();
    format!(r#"{{"type":"function_call","call_id":"{id}","name":"T","arguments":{arguments}}}"#)
}

fn ended(kind: &str, reason: &str) -> String {
    format!(
        r#"{{"type":"response.{kind}","response":{{"incomplete_details":{reason},"usage":{{"input_tokens":100,"output_tokens":9,"input_tokens_details":{{"cached_tokens":64,"cache_write_tokens":8}},"output_tokens_details":{{"reasoning_tokens":5}}}}}}}}"#
    )
}

fn completed() -> String {
    ended("completed", "null")
}

const MESSAGE: &str = r#"{"type":"message","id":"msg_1","content":[]}"#;
const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;

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
fn a_response_with_everything() {
    let events = [
        CREATED.to_owned(),
        r#"{"type":"response.in_progress","response":{"id":"resp_1"}}"#.to_owned(),
        added(0, REASONING),
        r#"{"type":"response.reasoning_summary_part.added","output_index":0}"#.to_owned(),
        delta(0, "reasoning_summary_text", "Two "),
        delta(0, "reasoning_summary_text", "steps."),
        r#"{"type":"response.reasoning_summary_part.added","output_index":0}"#.to_owned(),
        delta(0, "reasoning_summary_text", "First one."),
        done(
            0,
            r#"{"type":"reasoning","id":"rs_1","status":"done","content":null,"encrypted_content":"c2Vh","summary":[{"type":"summary_text","text":"Two steps."},{"type":"summary_text","text":"First one."}]}"#,
        ),
        added(1, r#"{"type":"web_search_call","id":"ws_1"}"#),
        done(1, r#"{"type":"web_search_call","id":"ws_1"}"#),
        added(2, MESSAGE),
        r#"{"type":"response.content_part.added","output_index":2}"#.to_owned(),
        delta(2, "output_text", "Hé"),
        delta(2, "output_text", " you"),
        r#"{"type":"response.output_text.done","output_index":2,"text":"Hé you"}"#.to_owned(),
        done(
            2,
            r#"{"type":"message","content":[{"type":"output_text","text":"Hé you"}]}"#,
        ),
        added(3, &call("call_a", "")),
        delta(3, "function_call_arguments", "{\"a\""),
        delta(3, "function_call_arguments", ":1}"),
        r#"{"type":"response.function_call_arguments.done","output_index":3,"arguments":"{\"a\":1}"}"#.to_owned(),
        done(3, &call("call_a", "{\"a\":1}")),
        completed(),
        "[DONE]".to_owned(),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let (deltas, message) = read(Response::new("m"), &stream(&events));
    insta::assert_debug_snapshot!((deltas, message.unwrap()));
}

#[test]
fn calls_may_interleave_and_stay_apart() {
    let message = response(&[
        added(0, &call("a", "")),
        added(1, &call("b", "")),
        delta(1, "function_call_arguments", "{\"n\""),
        delta(0, "function_call_arguments", "{\"n\""),
        delta(1, "function_call_arguments", ":2}"),
        delta(0, "function_call_arguments", ":1}"),
        done(1, &call("b", "{\"n\":2}")),
        done(0, &call("a", "{\"n\":1}")),
        completed(),
    ])
    .unwrap();
    assert_eq!(calls(&message), [("a", "{\"n\":1}"), ("b", "{\"n\":2}")]);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
}

/// Without places, by the ids of the items; without those, in the order in which they come.
#[test]
fn servers_that_leave_out_the_places() {
    for id in [r#","id":"fc_1""#, ""] {
        let named = id.replace(r#""id""#, r#""item_id""#);
        let message = response(&[
            format!(r#"{{"type":"response.output_item.added","item":{{"type":"function_call","call_id":"a","name":"T"{id}}}}}"#),
            format!(r#"{{"type":"response.function_call_arguments.delta","delta":"{{}}"{named}}}"#),
            format!(r#"{{"type":"response.output_item.done","item":{{"type":"function_call","call_id":"a","name":"T","arguments":"{{}}"{id}}}}}"#),
            completed(),
        ])
        .unwrap();
        assert_eq!(calls(&message), [("a", "{}")], "{id}");
    }
}

/// A server may send what it has to say at the end of an item only.
#[test]
fn what_was_not_streamed_is_taken_from_the_end() {
    let message = response(&[
        added(0, REASONING),
        done(
            0,
            r#"{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]}"#,
        ),
        added(1, MESSAGE),
        done(
            1,
            r#"{"type":"message","content":[{"type":"output_text","text":"So."}]}"#,
        ),
        done(2, &call("a", "{\"n\":1}")),
        completed(),
    ])
    .unwrap();
    assert!(matches!(
        message.content.first(),
        Some(AssistantBlock::Reasoning(it)) if it.text == "hm" && it.sealed.is_none()
    ));
    assert_eq!(message.joined_text(), "So.");
    assert_eq!(calls(&message), [("a", "{\"n\":1}")]);
}

#[test]
fn a_call_that_the_limit_or_a_filter_cut_is_left_out() {
    let whole = || vec![added(0, &call("a", "{}")), done(0, &call("a", "{}"))];
    let begun = |more: Vec<String>| {
        let mut events = whole();
        events.push(added(1, &call("b", "")));
        events.extend(more);
        events
    };
    let cut_item = r#"{"type":"function_call","call_id":"b","name":"T","arguments":"{}","status":"incomplete"}"#;
    for events in [
        begun(vec![]),
        begun(vec![delta(1, "function_call_arguments", "{\"n\":")]),
        begun(vec![done(1, &call("b", "{\"n\":"))]),
        begun(vec![done(1, &call("b", ""))]),
        begun(vec![done(1, cut_item)]),
    ] {
        for (reason, expected) in [
            ("max_output_tokens", StopReason::MaxTokens),
            ("content_filter", StopReason::Refusal),
        ] {
            let end = ended("incomplete", &format!(r#"{{"reason":"{reason}"}}"#));
            let message = response(&[events.clone(), vec![end]].concat());
            let message = message.unwrap_or_else(|error| panic!("{error}: {events:?}"));
            assert_eq!(calls(&message), [("a", "{}")], "{events:?}");
            assert_eq!(message.stop_reason, expected);
        }
    }
}

#[test]
fn the_end_is_announced_or_there_is_no_answer() {
    let text = [added(0, MESSAGE), delta(0, "output_text", "x")];
    let finished = [text.to_vec(), vec![done(0, MESSAGE)]].concat();
    for events in [vec![], text.to_vec(), finished.clone()] {
        let error = response(&events).unwrap_err();
        assert!(matches!(error, ModelError::Cut(_)), "{error}");
    }
    let error = response(&[added(0, &call("a", "")), completed()]).unwrap_err();
    assert!(matches!(error, ModelError::Cut(_)), "half a call: {error}");
    let message = response(&[finished, vec![completed()]].concat()).unwrap();
    assert_eq!(message.joined_text(), "x");
}

#[test]
fn why_it_stopped() {
    let said = |end: String| {
        let refusal = [added(0, MESSAGE), delta(0, "refusal", "I must not."), end];
        let message = response(&refusal).unwrap();
        assert_eq!(message.joined_text(), "I must not.");
        message.stop_reason
    };
    for (end, expected) in [
        (completed(), StopReason::Refusal),
        (
            ended("incomplete", r#"{"reason":"max_output_tokens"}"#),
            StopReason::MaxTokens,
        ),
        (
            ended("incomplete", r#"{"reason":"content_filter"}"#),
            StopReason::Refusal,
        ),
        (
            ended("incomplete", r#"{"reason":"steered"}"#),
            StopReason::Other("steered".to_owned()),
        ),
        (
            ended("incomplete", "null"),
            StopReason::Other("incomplete".to_owned()),
        ),
    ] {
        assert_eq!(said(end), expected);
    }
}

#[test]
fn errors() {
    let failed = |error: &str| {
        stream(&[&format!(
            r#"{{"type":"response.failed","response":{{"status":"failed","error":{error}}}}}"#
        )])
    };
    let cases = [
        failed(r#"{"code":"server_error","message":"Oops"}"#),
        failed(r#"{"code":"rate_limit_exceeded","message":"Slow down"}"#),
        failed(r#"{"code":"invalid_prompt","message":"Not this"}"#),
        failed(r#"{"code":"image_too_large","message":"Too large"}"#),
        failed(
            r#"{"code":"context_length_exceeded","message":"Your input exceeds the context window"}"#,
        ),
        failed("null"),
        stream(&[r#"{"type":"error","code":"server_error","message":"Oops","param":null}"#]),
        stream(&[r#"{"type":"error","error":{"type":"overloaded","message":"Full"}}"#]),
        "event: error\ndata: {\"message\":\"Oops\"}\n\n".to_owned(),
        stream(&["not json"]),
        stream(&[&delta(0, "output_text", "x")]),
        stream(&[&added(0, MESSAGE), &added(0, MESSAGE)]),
        stream(&[&added(0, MESSAGE), &delta(0, "function_call_arguments", "")]),
        stream(&[
            &added(0, MESSAGE),
            &done(0, MESSAGE),
            &delta(0, "output_text", "x"),
        ]),
        stream(&[&added(0, MESSAGE), &done(0, MESSAGE), &done(0, MESSAGE)]),
        stream(&[
            &added(0, &call("a", "")),
            &delta(0, "function_call_arguments", "{}"),
            &done(0, &call("a", "{\"a\":1}")),
        ]),
    ];
    let errors: Vec<String> = cases
        .iter()
        .map(|stream| {
            let error = read(Response::new("m"), stream).1.unwrap_err();
            let again = if error.is_retryable() {
                "again"
            } else {
                "never"
            };
            format!("{again}: {error}")
        })
        .collect();
    insta::assert_snapshot!(errors.join("\n"));
}
