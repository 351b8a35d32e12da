use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::http::testing::{
    assistant, awkward, call, conversation, failure, grows, items, noted, past, reasoning, request,
    result, text, user,
};
use crate::{Conversation, Item, ToolSpec};

fn model(name: &str) -> OpenAiChat {
    // An address without TLS, so that no certificates are loaded.
    OpenAiChat::new(Config {
        base_url: "http://127.0.0.1:1".to_owned(),
        ..Config::new(name)
    })
    .unwrap()
}

fn body(model: &OpenAiChat, conversation: &Conversation) -> String {
    model.body(&request(conversation)).unwrap().to_text()
}

/// The messages of a request, one a line.
fn messages(name: &str, items: Vec<Item>) -> String {
    let body: Value = serde_json::from_str(&body(&model(name), &conversation(items))).unwrap();
    let messages = body.get("messages").unwrap().as_array().unwrap();
    let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
    lines.join("\n")
}

#[test]
fn a_whole_request() {
    let conversation = conversation(vec![
        user("plan \"it\""),
        assistant(vec![
            reasoning("two steps", None),
            text("I plan."),
            call("c1", r#"{"subject": "é"}"#),
            call("c2", ""),
        ]),
        result("c1", "Task 1"),
        failure("c2", "subject is missing"),
        user("go on"),
    ]);
    let tool = ToolSpec {
        name: "TaskCreate".to_owned(),
        description: "Creates a task.".to_owned(),
        schema: json!({ "type": "object" }),
    };
    let request = Request {
        system: "You are Pod.",
        tools: &[tool.clone(), tool],
        max_output_tokens: Some(1000),
        ..request(&conversation)
    };
    let body = model("gpt-4o").body(&request).unwrap().to_text();
    insta::assert_snapshot!(body.replace("},{", "},\n{"));
}

#[test]
fn the_output_limit_has_two_names() {
    let conversation = conversation(vec![user("a")]);
    let request = Request {
        max_output_tokens: Some(100_000),
        ..request(&conversation)
    };
    for (name, expected) in [
        ("gpt-4o", r#""max_tokens":16384"#),
        ("gpt-5.1", r#""max_completion_tokens":100000"#),
        ("o3", r#""max_completion_tokens":100000"#),
        ("local", r#""max_tokens":4096"#),
    ] {
        let body = model(name).body(&request).unwrap().to_text();
        assert!(body.contains(expected), "{body}");
    }
}

#[test]
fn what_a_server_would_refuse_is_left_out_or_joined() {
    insta::assert_snapshot!(messages("local", awkward()));
}

#[test]
fn system_messages() {
    let both = ["local", "gpt-4o"].map(|name| messages(name, noted()));
    insta::assert_snapshot!(both.join("\n\n"));
}

#[test]
fn nothing_to_answer_is_not_sent() {
    for items in [vec![], vec![user("a"), assistant(vec![text("b")])]] {
        let conversation = conversation(items);
        let error = model("local").body(&request(&conversation)).unwrap_err();
        assert!(matches!(error, ModelError::Malformed(_)), "{error}");
    }
}

proptest! {
    #[test]
    fn each_request_extends_the_one_before(items in items()) {
        for model in [model("local"), model("gpt-4o")] {
            let body = |conversation: &_| body(&model, conversation);
            grows(&items, body, |body| past(body, "messages"))?;
        }
    }
}
