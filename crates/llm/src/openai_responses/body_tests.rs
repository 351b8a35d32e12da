use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::http::testing::{
    assistant, awkward, call, conversation, failure, grows, items, noted, past, reasoning, request,
    result, sealed, text, user,
};
use crate::{Conversation, Item, ToolSpec};

/// Who is at the address of [`model`].
const ADDRESS: &str = "127.0.0.1:1";

fn model(name: &str) -> OpenAiResponses {
    // An address without TLS, so that no certificates are loaded.
    OpenAiResponses::new(Config {
        base_url: format!("http://{ADDRESS}"),
        ..Config::new(name)
    })
    .unwrap()
}

fn body(model: &OpenAiResponses, conversation: &Conversation) -> String {
    model.body(&request(conversation)).unwrap().to_text()
}

/// The items of a request, one a line.
fn input(name: &str, items: Vec<Item>) -> String {
    let body: Value = serde_json::from_str(&body(&model(name), &conversation(items))).unwrap();
    let items = body.get("input").unwrap().as_array().unwrap();
    let lines: Vec<String> = items.iter().map(Value::to_string).collect();
    lines.join("\n")
}

#[test]
fn a_whole_request() {
    let conversation = conversation(vec![
        user("plan \"it\""),
        assistant(vec![
            sealed(ADDRESS, "c2Vh"),
            text("I plan."),
            sealed(ADDRESS, "bGVk"),
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
        reasoning_tokens: Some(8_000),
        ..request(&conversation)
    };
    let body = model("gpt-5.1").body(&request).unwrap().to_text();
    insta::assert_snapshot!(body.replace("},{", "},\n{"));
}

#[test]
fn sealed_reasoning_goes_to_whoever_sealed_it_and_can_use_it() {
    let items = |by: &str| {
        vec![
            user("a"),
            assistant(vec![
                reasoning("of another vendor", Some("c2ln")),
                sealed(by, "c2Vh"),
                text("b"),
            ]),
            user("c"),
        ]
    };
    let is_sent = |name: &str, by: &str| {
        let input = input(name, items(by));
        assert!(!input.contains("another vendor"), "{input}");
        input.contains("c2Vh")
    };
    assert!(is_sent("gpt-5.1", ADDRESS));
    assert!(!is_sent("gpt-5.1", "api.openai.com"));
    assert!(!is_sent("gpt-4o", ADDRESS), "it does not reason");
    assert!(!is_sent("local", ADDRESS));
}

/// The provider refuses reasoning that nothing came of.
#[test]
fn reasoning_stands_only_in_front_of_what_came_of_it() {
    let items = vec![
        user("a"),
        assistant(vec![sealed(ADDRESS, "Y3V0"), text(" ")]),
        user("b"),
        assistant(vec![
            sealed(ADDRESS, "b25l"),
            sealed(ADDRESS, "dHdv"),
            text("c"),
            sealed(ADDRESS, "Y3V0"),
        ]),
        user("d"),
    ];
    insta::assert_snapshot!(input("gpt-5.1", items));
}

#[test]
fn reasoning_is_asked_for_where_a_model_knows_it() {
    let conversation = conversation(vec![user("a")]);
    let head = |name: &str, budget: Option<u32>| {
        let request = Request {
            reasoning_tokens: budget,
            ..request(&conversation)
        };
        let body = model(name).body(&request).unwrap().to_text();
        let body: Value = serde_json::from_str(&body).unwrap();
        let effort = body.pointer("/reasoning/effort").and_then(Value::as_str);
        (body.get("include").is_some(), effort.map(str::to_owned))
    };
    for (budget, effort) in [
        (None, None),
        (Some(0), Some("low")),
        (Some(4_096), Some("low")),
        (Some(4_097), Some("medium")),
        (Some(16_384), Some("medium")),
        (Some(16_385), Some("high")),
    ] {
        let expected = (true, effort.map(str::to_owned));
        assert_eq!(head("gpt-5.1", budget), expected);
        assert_eq!(head("o3", budget), expected);
        assert_eq!(head("gpt-4o", budget), (false, None));
        assert_eq!(head("local", budget), (false, None));
    }
}

#[test]
fn the_output_limit_is_one_that_is_accepted() {
    let conversation = conversation(vec![user("a")]);
    for (asked, sent) in [(1, 16), (100, 100), (1_000_000, 16_384)] {
        let request = Request {
            max_output_tokens: Some(asked),
            ..request(&conversation)
        };
        let body = model("gpt-4o").body(&request).unwrap().to_text();
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body.get("max_output_tokens"), Some(&json!(sent)));
    }
}

#[test]
fn what_a_server_would_refuse_is_left_out_or_joined() {
    insta::assert_snapshot!(input("local", awkward()));
}

#[test]
fn system_messages() {
    let both = ["local", "gpt-5.1"].map(|name| input(name, noted()));
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
        for model in [model("local"), model("gpt-4o"), model("gpt-5.1")] {
            let body = |conversation: &_| body(&model, conversation);
            grows(&items, body, |body| past(body, "input"))?;
        }
    }
}
