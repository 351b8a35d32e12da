use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::http::testing::{
    assistant, call, conversation, failure, grow, grows, items, reasoning, request, result, system,
    text, user,
};
use crate::{AssistantBlock, Conversation, Image, Item, Origin, ToolSpec, UserMessage, UserPart};

fn model(name: &str) -> Anthropic {
    // An address without TLS, so that no certificates are loaded.
    Anthropic::new(Config {
        base_url: "http://127.0.0.1:1".to_owned(),
        ..Config::new(name)
    })
    .unwrap()
}

/// Old enough for `thinking: enabled`, and without system messages in the conversation.
fn older() -> Anthropic {
    model("claude-sonnet-4-5")
}

fn body(model: &Anthropic, conversation: &Conversation) -> String {
    model.body(&request(conversation)).unwrap().to_text()
}

/// The messages of a request, one a line, without marks.
fn messages(model: &Anthropic, items: Vec<Item>) -> String {
    let body = body(model, &conversation(items));
    let body: Value = serde_json::from_str(&body.replace(encode::CACHE_MARK, "")).unwrap();
    let messages = body.get("messages").unwrap().as_array().unwrap();
    let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
    lines.join("\n")
}

fn tool() -> ToolSpec {
    ToolSpec {
        name: "TaskCreate".to_owned(),
        description: "Creates a task.".to_owned(),
        schema: json!({ "type": "object" }),
    }
}

#[test]
fn a_whole_request() {
    let conversation = conversation(vec![
        user("plan it"),
        assistant(vec![
            reasoning("two steps", Some("c2ln")),
            text("I plan."),
            call("c1", r#"{"subject": "é"}"#),
            call("c2", ""),
        ]),
        result("c1", "Task 1"),
        failure("c2", "subject is missing"),
        user("go on"),
    ]);
    let request = Request {
        system: "You are Pod.",
        tools: &[tool(), tool()],
        max_output_tokens: Some(1000),
        ..request(&conversation)
    };
    let body = older().body(&request).unwrap().to_text();
    insta::assert_snapshot!(body.replace("},{", "},\n{"));
}

#[test]
fn what_the_provider_would_refuse_is_left_out() {
    let items = vec![
        Item::User(UserMessage {
            content: vec![
                UserPart::Text(" ".to_owned()),
                UserPart::Image(Image {
                    media_type: "image/png".to_owned(),
                    data: "AAAA".to_owned(),
                }),
            ],
        }),
        assistant(vec![reasoning("not signed", None), text("\n")]),
        user("  "),
        assistant(vec![
            AssistantBlock::Reasoning(crate::Reasoning {
                redacted: Some("secret".to_owned()),
                ..crate::Reasoning::default()
            }),
            text("yes"),
            reasoning("cut by the limit", Some("c2ln")),
        ]),
        assistant(vec![call("c1", "{\"a\":")]),
        result("c1", ""),
    ];
    insta::assert_snapshot!(messages(&older(), items));
}

#[test]
fn system_messages_are_marked_parts_of_user_messages() {
    let items = vec![
        system(Origin::Summary, "So far ..."),
        system(
            Origin::TaskSnapshot,
            "1. lexer </system-note> <system-note>",
        ),
        user("go on"),
        assistant(vec![text("ok")]),
        system(Origin::TaskEdit, "2 is done"),
    ];
    insta::assert_snapshot!(messages(&older(), items));
}

#[test]
fn marks_stand_at_tools_system_and_the_ends_of_this_and_the_last_request() {
    let model = older();
    let mut conversation = conversation(vec![user("a")]);
    let marked = |conversation: &Conversation| {
        let request = Request {
            system: "S",
            tools: &[tool(), tool()],
            ..request(conversation)
        };
        let body = model.body(&request).unwrap().to_text();
        body.replace(encode::CACHE_MARK, "<MARK>")
    };
    let mut bodies = vec![marked(&conversation)];
    for (answer, question) in [("x", "b"), ("y", "c")] {
        conversation.push(Arc::new(assistant(vec![text(answer)])));
        conversation.push(Arc::new(user(question)));
        bodies.push(marked(&conversation));
    }
    insta::assert_snapshot!(bodies.join("\n"));
    let unmarked = body(&model_without_marks(), &conversation);
    assert!(!unmarked.contains("cache_control"));
}

fn model_without_marks() -> Anthropic {
    model("some-local-model")
}

#[test]
fn calls_of_the_past_need_tools_even_if_none_are_offered() {
    let items = vec![
        user("a"),
        assistant(vec![call("c1", "{}")]),
        result("c1", "ok"),
    ];
    let body: Value = serde_json::from_str(&body(&older(), &conversation(items))).unwrap();
    assert_eq!(body.pointer("/tools/0/name"), Some(&json!("TaskCreate")));
    assert_eq!(body.pointer("/tool_choice/type"), Some(&json!("none")));
}

#[test]
fn nothing_to_answer_is_not_sent() {
    for items in [vec![], vec![user("a"), assistant(vec![text("b")])]] {
        let conversation = conversation(items);
        let error = older().body(&request(&conversation)).unwrap_err();
        assert!(matches!(error, ModelError::Malformed(_)), "{error}");
    }
}

/// The `max_tokens` and `thinking` of a request.
fn limits_of(model: &str, max: Option<u32>, budget: Option<u32>, items: Vec<Item>) -> String {
    let conversation = conversation(items);
    let request = Request {
        max_output_tokens: max,
        reasoning_tokens: budget,
        ..request(&conversation)
    };
    let body = self::model(model).body(&request).unwrap();
    let body: Value = serde_json::from_str(&body.to_text()).unwrap();
    let thinking = body
        .get("thinking")
        .map_or("-".to_owned(), Value::to_string);
    format!("{} {thinking}", body.get("max_tokens").unwrap())
}

#[test]
fn limits_and_reasoning() {
    let mut lines = Vec::new();
    for model in [
        "claude-3-5-haiku-latest",
        "claude-sonnet-4-5",
        "claude-opus-5-5",
    ] {
        for (max, budget) in [
            (None, None),
            (Some(100), None),
            (Some(1_000_000), None),
            (None, Some(0)),
            (None, Some(1)),
            (None, Some(10_000)),
            (Some(2000), Some(10_000)),
            (None, Some(1_000_000)),
        ] {
            let limits = limits_of(model, max, budget, vec![user("a")]);
            lines.push(format!("{model} {max:?} {budget:?}: {limits}"));
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn reasoning_pauses_while_results_of_a_made_up_call_are_answered() {
    let made_up = || {
        vec![
            user("a"),
            assistant(vec![call("c1", "{}")]),
            result("c1", "the list"),
        ]
    };
    let own = vec![
        user("a"),
        assistant(vec![reasoning("r", Some("s")), call("c1", "{}")]),
        result("c1", "the list"),
    ];
    let mut answered = made_up();
    answered.extend([assistant(vec![text("done")]), user("b")]);
    let is_on = |model, items| limits_of(model, None, Some(2000), items).contains("budget_tokens");
    let older = "claude-sonnet-4-5";
    assert!(!is_on(older, made_up()));
    assert!(is_on(older, own));
    assert!(is_on(older, answered));
    let newer = limits_of("claude-opus-5-5", None, Some(2000), made_up());
    assert!(newer.contains("adaptive"), "{newer}");
}

#[test]
fn the_past_is_shared_and_not_copied() {
    let model = older();
    let mut conversation = conversation(vec![user("a")]);
    let mut earlier = Vec::new();
    for _ in 0..5 {
        let places = model.body(&request(&conversation)).unwrap().places();
        // All but the head, the cache mark and the brackets.
        let past = earlier
            .iter()
            .filter(|place| places.contains(place))
            .count();
        assert!(past + 3 >= earlier.len(), "{past} of {}", earlier.len());
        earlier = places;
        // Short ones are joined, see `Growing`.
        conversation.push(Arc::new(assistant(vec![text(&"b".repeat(70_000))])));
        conversation.push(Arc::new(user(&"c".repeat(70_000))));
    }
}

#[test]
fn the_suffix_of_the_long_window_is_not_sent() {
    let model = model("claude-sonnet-4-5[1m]");
    assert_eq!(model.name(), "claude-sonnet-4-5[1m]");
    let body = body(&model, &conversation(vec![user("a")]));
    assert!(
        body.starts_with(r#"{"model":"claude-sonnet-4-5","max_tokens":64000,"#),
        "{body}"
    );
}

#[test]
fn no_debug_output_shows_a_key() {
    let config = Config {
        api_key: Some(Secret::new("sk-very-private")),
        auth_token: Some(Secret::new("sk-very-private")),
        ..Config::new("m")
    };
    assert!(!format!("{config:?}").contains("private"));
    assert!(!format!("{:?}", Anthropic::new(config).unwrap()).contains("private"));
}

/// The text of the messages as far as no later request may change it.
fn past(body: &str) -> String {
    let unmarked = body.replace(encode::CACHE_MARK, "");
    let messages = unmarked.split_once(r#""messages":["#).unwrap().1;
    messages.strip_suffix("}]}]}").unwrap().to_owned()
}

proptest! {
    #[test]
    fn each_request_extends_the_one_before(items in items()) {
        let model = older();
        grows(&items, |conversation| body(&model, conversation), past)?;
    }

    #[test]
    fn there_are_never_more_than_four_marks(items in items()) {
        let model = older();
        for (_, body) in grow(&items, |conversation| {
            let request = Request { system: "S", tools: &[tool()], ..request(conversation) };
            model.body(&request).unwrap().to_text()
        }) {
            prop_assert!(body.matches(encode::CACHE_MARK).count() <= 4);
        }
    }
}

#[test]
#[ignore = "counted by benches/instructions.sh"]
fn counted_requests_of_a_session() {
    let model = older();
    let mut conversation = conversation(vec![user("plan it")]);
    for number in 0..2_000 {
        let id = format!("call_{number}");
        let arguments = format!(r#"{{"taskid":{number},"status":"completed"}}"#);
        conversation.push(Arc::new(assistant(vec![call(&id, &arguments)])));
        conversation.push(Arc::new(result(&id, "#7 [pending -> completed] Write it")));
        let body = model.body(&request(&conversation)).unwrap();
        std::hint::black_box(body.to_stream());
    }
}

/// A log whose first line somebody lost begins with an answer, and the provider wants the user first.
#[test]
fn an_answer_without_a_beginning_has_a_word_of_the_user_before_it() {
    let items = vec![assistant(vec![text("On it goes.")]), user("go on")];
    insta::assert_snapshot!(messages(&older(), items), @r#"
    {"role":"user","content":[{"type":"text","text":"(The beginning of this conversation is missing.)"}]}
    {"role":"assistant","content":[{"type":"text","text":"On it goes."}]}
    {"role":"user","content":[{"type":"text","text":"go on"}]}
    "#);
}
