use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use super::*;

/// A request that keeps every rule.
fn sound(wire: Wire) -> Value {
    match wire {
        Wire::Anthropic => json!({
            "model": "claude-opus-5-5",
            "max_tokens": 5000,
            "stream": true,
            "thinking": { "type": "enabled", "budget_tokens": 2000 },
            "tools": [{
                "name": "T",
                "description": "d",
                "input_schema": { "type": "object" },
                "cache_control": { "type": "ephemeral" },
            }],
            "system": [{ "type": "text", "text": "s" }],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "a" }] },
                { "role": "system", "content": [{ "type": "text", "text": "n" }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "t", "signature": "s" },
                    { "type": "text", "text": "b" },
                    { "type": "tool_use", "id": "c1", "name": "T", "input": {} },
                    { "type": "tool_use", "id": "c2", "name": "T", "input": {} },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c1", "content": "r" },
                    { "type": "tool_result", "tool_use_id": "c2", "content": "r", "is_error": true },
                    { "type": "text", "text": "z" },
                ] },
            ],
        }),
        Wire::OpenAi => json!({
            "model": "local",
            "stream": true,
            "stream_options": { "include_usage": true },
            "max_tokens": 100,
            "tools": [{ "type": "function", "function": {
                "name": "T", "description": "d", "parameters": { "type": "object" },
            } }],
            "messages": [
                { "role": "system", "content": "s" },
                { "role": "user", "content": "a" },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c1", "type": "function", "function": { "name": "T", "arguments": "{}" } },
                    { "id": "c2", "type": "function", "function": { "name": "T", "arguments": "{}" } },
                ] },
                { "role": "tool", "tool_call_id": "c1", "content": "r" },
                { "role": "tool", "tool_call_id": "c2", "content": "r" },
                { "role": "user", "content": "z" },
            ],
        }),
        Wire::Responses => json!({
            "model": "gpt-5.1",
            "stream": true,
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "reasoning": { "effort": "low" },
            "max_output_tokens": 100,
            "tools": [{
                "type": "function",
                "name": "T",
                "description": "d",
                "parameters": { "type": "object" },
                "strict": false,
            }],
            "parallel_tool_calls": true,
            "instructions": "s",
            "input": [
                { "role": "user", "content": "a" },
                { "role": "system", "content": "n" },
                { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e" },
                { "type": "message", "role": "assistant", "content": "b" },
                { "type": "function_call", "call_id": "c1", "name": "T", "arguments": "{}" },
                { "type": "function_call", "call_id": "c2", "name": "T", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "c1", "output": "r" },
                { "type": "function_call_output", "call_id": "c2", "output": "r" },
                { "role": "user", "content": "z" },
            ],
        }),
    }
}

fn findings(wire: Wire, json: &Value) -> Vec<String> {
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let received = Received {
        number: 1,
        wire,
        path: String::new(),
        headers: vec![
            header("content-type", "application/json"),
            header("anthropic-version", "2023-06-01"),
        ],
        body: json.to_string(),
        json: json.clone(),
    };
    match wire {
        Wire::Anthropic => anthropic_rules::check(&received),
        Wire::OpenAi => openai_rules::check(&received),
        Wire::Responses => responses_rules::check(&received),
    }
}

/// Changes a sound request in one place at a time (a pointer and the new value; `null` at a pointer
/// that ends in `-` removes) and shows what is found.
fn broken(wire: Wire, changes: &[(&str, Value)]) -> String {
    let mut lines = Vec::new();
    for (pointer, value) in changes {
        let mut json = sound(wire);
        if let Some(pointer) = pointer.strip_suffix('-') {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            match json.pointer_mut(parent).unwrap() {
                Value::Object(fields) => {
                    fields.shift_remove(key).unwrap();
                }
                Value::Array(values) => {
                    values.remove(key.parse().unwrap());
                }
                other => panic!("nothing to remove from {other}"),
            }
        } else if let Some(place) = json.pointer_mut(pointer) {
            *place = value.clone();
        } else {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let parent = json.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            parent.insert(key.to_owned(), value.clone());
        }
        let found = findings(wire, &json);
        assert!(!found.is_empty(), "{pointer} {value} breaks no rule");
        lines.push(format!("{pointer} {value}\n    {}", found.join("\n    ")));
    }
    lines.join("\n")
}

#[test]
fn sound_requests_break_no_rule() {
    for wire in [Wire::Anthropic, Wire::OpenAi, Wire::Responses] {
        assert_eq!(findings(wire, &sound(wire)), Vec::<String>::new());
    }
}

#[test]
fn every_rule_of_anthropic_is_kept() {
    let mark = json!({ "type": "ephemeral" });
    let user = json!({ "role": "user", "content": [{ "type": "text", "text": "x" }] });
    let assistant = json!({ "role": "assistant", "content": [{ "type": "text", "text": "x" }] });
    let many = json!(
        [1, 2, 3, 4, 5].map(|_| json!({ "type": "text", "text": "x", "cache_control": mark }))
    );
    let changes = [
        ("/model", json!("")),
        ("/model", json!("claude-opus-5-5[1m]")),
        ("/model", json!("claude-sonnet-4-5")),
        ("/max_tokens", json!(0)),
        ("/max_tokens", json!(2000)),
        ("/stream", json!(false)),
        ("/unknown", json!(1)),
        ("/thinking/budget_tokens", json!(1000)),
        ("/thinking/type", json!("on")),
        ("/tool_choice", json!({ "type": "any" })),
        ("/tools-", json!(null)),
        ("/tools/0/name", json!("a.b")),
        ("/tools/0/input_schema", json!({})),
        ("/tools/0/cache_control", json!({ "type": "for ever" })),
        ("/system", json!("")),
        ("/system/0/text", json!(" ")),
        ("/system", many),
        ("/messages", json!([])),
        ("/messages/0", assistant.clone()),
        ("/messages/1", user.clone()),
        (
            "/messages/3",
            json!({ "role": "system", "content": [{ "type": "text", "text": "x" }] }),
        ),
        ("/messages/3-", json!(null)),
        ("/messages/3", user),
        ("/messages/3", assistant),
        ("/messages/0/content", json!([])),
        ("/messages/0/content/0/text", json!("\n")),
        ("/messages/0/content/0/type", json!("tool_use")),
        ("/messages/2/content/0/signature", json!("")),
        ("/messages/2/content/0/signature-", json!(null)),
        (
            "/messages/2/content/0",
            json!({ "type": "text", "text": "x" }),
        ),
        (
            "/messages/2/content/1",
            json!({ "type": "tool_result", "tool_use_id": "c1", "content": "r" }),
        ),
        ("/messages/2/content/2/id", json!("c 1")),
        ("/messages/2/content/2/id", json!("c2")),
        ("/messages/2/content/2/input", json!("{}")),
        (
            "/messages/2/content/3",
            json!({ "type": "redacted_thinking", "data": "x" }),
        ),
        ("/messages/3/content/0-", json!(null)),
        ("/messages/3/content/0/tool_use_id", json!("c2")),
        ("/messages/3/content/0/content", json!("")),
        (
            "/messages/3/content/1",
            json!({ "type": "text", "text": "x" }),
        ),
        (
            "/messages/3/content/2",
            json!({ "type": "tool_result", "tool_use_id": "c1", "content": "r" }),
        ),
        ("/messages/3/content/1/is_error", json!("yes")),
    ];
    insta::assert_snapshot!(broken(Wire::Anthropic, &changes));
}

#[test]
fn every_rule_of_openai_is_kept() {
    let changes = [
        ("/model", json!("")),
        ("/stream", json!(false)),
        ("/stream_options-", json!(null)),
        ("/thinking", json!({})),
        ("/max_tokens", json!(0)),
        ("/max_completion_tokens", json!(10)),
        ("/tools", json!([])),
        ("/tools/0/type", json!("tool")),
        ("/tools/0/function/name", json!("a b")),
        ("/tools/0/function/parameters", json!(null)),
        ("/messages", json!([])),
        ("/messages/0/content", json!("")),
        ("/messages/1", json!({ "role": "system", "content": "x" })),
        ("/messages/1/content", json!(" ")),
        ("/messages/1/content", json!([])),
        (
            "/messages/1/content",
            json!([{ "type": "text", "text": "" }]),
        ),
        ("/messages/1/cache_control", json!({})),
        ("/messages/1/role", json!("person")),
        ("/messages/2/content", json!("")),
        ("/messages/2/tool_calls", json!([])),
        ("/messages/2/tool_calls/0/id", json!("")),
        ("/messages/2/tool_calls/0/id", json!("c2")),
        ("/messages/2/tool_calls/0/type", json!("tool")),
        ("/messages/2/tool_calls/0/function/name", json!("a.b")),
        ("/messages/2/tool_calls/0/function/arguments", json!("[]")),
        (
            "/messages/2/tool_calls/0/function/arguments",
            json!(r#"{"a":"\ud83d"}"#),
        ),
        ("/messages/3-", json!(null)),
        ("/messages/3/tool_call_id", json!("c2")),
        ("/messages/3/content", json!("")),
        ("/messages/3/is_error", json!(true)),
        ("/messages/4", json!({ "role": "user", "content": "x" })),
        (
            "/messages/5",
            json!({ "role": "tool", "tool_call_id": "c1", "content": "r" }),
        ),
        (
            "/messages/5",
            json!({ "role": "assistant", "content": "x" }),
        ),
    ];
    insta::assert_snapshot!(broken(Wire::OpenAi, &changes));
}

#[test]
fn every_rule_of_responses_is_kept() {
    let said = json!({ "role": "user", "content": "x" });
    let changes = [
        ("/model", json!("")),
        ("/model", json!("gpt-4o")),
        ("/model", json!("local")),
        ("/stream", json!(false)),
        ("/store", json!(true)),
        ("/previous_response_id", json!("resp_1")),
        ("/include", json!(["message.output_text.logprobs"])),
        ("/reasoning/effort", json!("minimal")),
        ("/reasoning/summary", json!("auto")),
        ("/max_output_tokens", json!(15)),
        ("/tools", json!([])),
        ("/tools/0/type", json!("tool")),
        ("/tools/0/name", json!("a b")),
        ("/tools/0/parameters", json!(null)),
        ("/tools/0/strict-", json!(null)),
        ("/parallel_tool_calls", json!("yes")),
        ("/instructions", json!(" ")),
        ("/input", json!([])),
        ("/input/0/content", json!("")),
        ("/input/0/content", json!([])),
        ("/input/0/content", json!([{ "type": "text", "text": "x" }])),
        ("/input/0/role", json!("person")),
        ("/input/1", said.clone()),
        ("/input/1/content", json!("\n")),
        ("/input/2/id-", json!(null)),
        ("/input/2/status", json!("completed")),
        ("/input/2/encrypted_content", json!("")),
        ("/input/3", said.clone()),
        ("/input/3/content", json!("")),
        ("/input/3/type-", json!(null)),
        ("/input/4/call_id", json!("c 1")),
        ("/input/4/call_id", json!("c2")),
        ("/input/4/name", json!("a.b")),
        ("/input/4/arguments", json!("[]")),
        ("/input/5", said),
        ("/input/6-", json!(null)),
        ("/input/6/call_id", json!("c2")),
        ("/input/6/output", json!("")),
        ("/input/6/is_error", json!(true)),
        ("/input/7-", json!(null)),
        (
            "/input/8",
            json!({ "type": "message", "role": "assistant", "content": "x" }),
        ),
        (
            "/input/8",
            json!({ "type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "e" }),
        ),
        ("/input/8", json!({ "type": "item_reference", "id": "x" })),
    ];
    insta::assert_snapshot!(broken(Wire::Responses, &changes));
}

/// Sends a request and reads all of the response.
fn post(server: &Server, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\ncontent-type: application/json\r\nanthropic-version: x\r\n\
         content-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn one_reply_speaks_every_protocol() {
    let mut shown = Vec::new();
    for (wire, path) in [
        (Wire::Anthropic, "/v1/messages"),
        (Wire::OpenAi, "/v1/chat/completions"),
        (Wire::Responses, "/v1/responses"),
    ] {
        let reply = Reply::turn([
            Block::thinking("hm", "sig"),
            Block::call("a", "T", &json!({ "n": 1 })),
            Block::call("b", "T", &json!({ "n": 2 })),
        ]);
        let server = Server::script([reply.piece(4).interleaved()]);
        shown.push(post(&server, path, &sound(wire).to_string()));
        server.finish();
    }
    insta::assert_snapshot!(shown.join("\n").replace('\r', ""));
}

#[test]
fn a_wrong_request_is_refused_and_fails_the_test() {
    let server = Server::script([Reply::text("never given")]);
    let response = post(&server, "/v1/messages", "{}");
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    let violations = server.take_violations();
    assert_eq!(violations.len(), 1);
    post(&server, "/v1/models", "{}");
    post(&server, "/v1/messages", "not json");
    let finished = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.finish()));
    assert!(finished.is_err());
}

#[test]
fn a_dropped_server_fails_the_test_too() {
    let server = Server::script([]);
    post(&server, "/v1/messages", &sound(Wire::Anthropic).to_string());
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(server)));
    assert!(dropped.is_err());
}

#[test]
fn replies_that_nobody_asked_for_fail_the_test() {
    let server = Server::script([Reply::text("a")]);
    let finished = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.finish()));
    assert!(finished.is_err());
}

#[test]
fn a_responder_sees_the_request_and_may_panic() {
    let server = Server::respond(|request| {
        assert_eq!(request.pointer("/max_tokens"), Some(&json!(5000)));
        Reply::text("seen")
    });
    let response = post(&server, "/v1/messages", &sound(Wire::Anthropic).to_string());
    assert!(response.contains("seen"));
    let mut other = sound(Wire::Anthropic);
    *other.pointer_mut("/max_tokens").unwrap() = json!(5001);
    post(&server, "/v1/messages", &other.to_string());
    assert_eq!(server.take_violations().len(), 1);
    server.finish();
}

#[test]
fn old_requests_are_forgotten() {
    let server = Server::respond(|_| Reply::text("x")).keep(2);
    for _ in 0..3 {
        post(&server, "/v1/messages", &sound(Wire::Anthropic).to_string());
    }
    let kept: Vec<usize> = server
        .requests()
        .iter()
        .map(|request| request.number)
        .collect();
    assert_eq!(kept, [2, 3]);
    assert_eq!(server.request_count(), 3);
}

#[test]
fn deliveries() {
    let body = sound(Wire::Anthropic).to_string();
    let server = Server::script([
        Reply::text("abc").split_every(7),
        Reply::text("abc").cut_after(50),
        Reply::text("abc").end_after(50),
        Reply::text("abc").cut_after(100_000),
    ]);
    let ends: Vec<bool> = (0..4)
        .map(|_| post(&server, "/v1/messages", &body).ends_with("0\r\n\r\n"))
        .collect();
    assert_eq!(ends, [true, false, true, true]);
    server.finish();
}
