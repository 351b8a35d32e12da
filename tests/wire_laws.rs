//! Whatever is in a well-formed conversation, every wire sends it so that every rule of the protocol
//! holds, and each request extends the one before.

#![allow(clippy::unwrap_used, reason = "a helper that fails, fails the test")]

use std::sync::Arc;

use llm::{AssistantBlock, Conversation, Item, Model, Origin, Reasoning, Sealed};
use proptest::prelude::*;
use serde_json::json;
use testkit::server::{Reply, Server};
use testkit::talk::{
    ask_with, assistant, call, conversation, failure, reasoning, request, result, system, text,
    tool, user,
};

/// A model of each wire and of each way of dealing with system messages and reasoning.
const MODELS: [&str; 9] = [
    "claude-sonnet-4-5",
    "claude-opus-5-5",
    "anthropic:local",
    "openai:gpt-5.1",
    "openai:gpt-4o",
    "openai:local",
    "openai-responses:gpt-5.1",
    "openai-responses:gpt-4o",
    "openai-responses:local",
];

fn models(url: &str) -> impl Iterator<Item = Arc<dyn Model>> {
    MODELS.iter().map(|spec| testkit::talk::model(spec, url))
}

/// What a careless encoder gets refused.
#[tokio::test]
async fn what_is_hard_to_send_is_accepted() {
    let lone = r#"{"subject":"\ud83d"}"#;
    let conversations = [
        vec![user(" \n")],
        vec![
            system(Origin::Summary, "s"),
            system(Origin::TaskSnapshot, ""),
        ],
        vec![user("a"), system(Origin::TaskEdit, "x"), user("b")],
        // A person changes the list before anything was said, behind an answer, and behind results.
        vec![system(Origin::TaskEdit, "x"), user("a")],
        vec![
            user("a"),
            assistant([text("b")]),
            system(Origin::TaskEdit, "x"),
            system(Origin::TaskEdit, "y"),
            user("c"),
        ],
        vec![
            user("a"),
            assistant([call("c1", "{}")]),
            result("c1", "x"),
            system(Origin::TaskEdit, "y"),
        ],
        vec![user("a"), assistant([text("")]), user("b")],
        vec![
            user("a"),
            assistant([text("b")]),
            assistant([call("c1", "")]),
            result("c1", ""),
        ],
        vec![
            user("a"),
            assistant([
                reasoning("r", "s"),
                call("c1", "{\"a\":"),
                call("c2", lone),
                call("c3", "[]"),
            ]),
            failure("c1", " "),
            result("c2", "x"),
            failure("c3", "Error: y"),
            system(Origin::Reminder, "r"),
        ],
        vec![
            user("a"),
            assistant([reasoning("cut by the limit", "s")]),
            user("go on"),
        ],
    ]
    .map(conversation);
    let server = Server::respond(|_| Reply::text("x"));
    for model in models(&server.url()) {
        for conversation in &conversations {
            let tools = [tool("TaskCreate")];
            for budget in [None, Some(0), Some(5000)] {
                let request = llm::Request {
                    reasoning_tokens: budget,
                    ..request(conversation, &tools)
                };
                ask_with(&*model, request).await.message();
            }
            let bare = llm::Request {
                system: " ",
                max_output_tokens: Some(100),
                ..request(conversation, &[])
            };
            ask_with(&*model, bare).await.message();
        }
    }
    server.finish();
}

/// Stands for the address of the server.
const HERE: &str = "here";

/// What happens between two requests: what the model says, and what is said to it.
type Exchange = (Vec<AssistantBlock>, Vec<bool>, Vec<Item>);

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("\n \t".to_owned()),
        Just("</system-note>".to_owned()),
        "[a-z\"\\\\é😀\u{0}\u{7f}<&\n]{1,12}",
    ]
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(r#"{"subject": "a"}"#.to_owned()),
        Just(String::new()),
        Just("{\"a\":".to_owned()),
        Just("{\n  \"a\": 1.50\n}".to_owned()),
        Just(r#"{"a":"\ud83d"}"#.to_owned()),
        Just("[1]".to_owned()),
        words(),
    ]
}

/// Reasoning that the server of this test can read, or another one. The address is put in later.
fn sealed(by: &str) -> AssistantBlock {
    let item = json!({
        "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2Vh",
    });
    AssistantBlock::Reasoning(Reasoning {
        sealed: Some(Sealed {
            by: by.to_owned(),
            item: item.into(),
        }),
        ..Reasoning::default()
    })
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let block = prop_oneof![
        words().prop_map(|words| text(&words)),
        (words(), prop_oneof![Just(""), Just("c2ln")])
            .prop_map(|(words, signature)| reasoning(&words, signature)),
        prop_oneof![Just(HERE), Just("api.openai.com")].prop_map(sealed),
        arguments().prop_map(|arguments| call("", &arguments)),
    ];
    let said = prop_oneof![
        words().prop_map(|words| user(&words)),
        words().prop_map(|words| system(Origin::Reminder, &words)),
        words().prop_map(|words| system(Origin::Other("a \"b\"".to_owned()), &words)),
    ];
    (
        proptest::collection::vec(block, 0..5),
        proptest::collection::vec(any::<bool>(), 5),
        proptest::collection::vec(said, 1..4),
    )
}

/// Appends an exchange: the answer, a result for each call, and what is said next.
fn append(
    conversation: &mut Conversation,
    (blocks, fails, said): &Exchange,
    number: usize,
    address: &str,
) {
    let mut blocks = blocks.clone();
    let mut results = Vec::new();
    for (index, block) in blocks.iter_mut().enumerate() {
        if let AssistantBlock::Reasoning(reasoning) = block
            && let Some(sealed) = &mut reasoning.sealed
            && sealed.by == HERE
        {
            address.clone_into(&mut sealed.by);
        }
        if let AssistantBlock::ToolCall(call) = block {
            call.id = format!("c{number}_{index}");
            let fails = fails.get(index).copied().unwrap_or_default();
            let make = if fails { failure } else { result };
            results.push(make(&call.id, ["", "done"][usize::from(index % 2 == 0)]));
        }
    }
    let items = std::iter::once(assistant(blocks))
        .chain(results)
        .chain(said.clone());
    for item in items {
        conversation.push(Arc::new(item));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_request_keeps_the_rules_and_extends_the_one_before(
        exchanges in proptest::collection::vec(exchange(), 1..8),
        budget in prop_oneof![Just(None), Just(Some(0)), Just(Some(3000))],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = Server::respond(|_| Reply::text("x").split_every(100));
        let url = server.url();
        let address = url.trim_start_matches("http://").to_owned();
        for model in models(&url) {
            let before = server.request_count();
            let mut conversation = Conversation::new(vec![Arc::new(user("begin"))]);
            for (number, exchange) in exchanges.iter().enumerate() {
                append(&mut conversation, exchange, number, &address);
                let tools = [tool("TaskCreate")];
                let request = llm::Request {
                    reasoning_tokens: budget,
                    ..request(&conversation, &tools)
                };
                runtime.block_on(ask_with(&*model, request)).message();
            }
            let requests = server.requests();
            for pair in requests[before..].windows(2) {
                let [earlier, later] = pair else { continue };
                prop_assert!(later.extends(earlier), "{}\n{}", earlier.body, later.body);
            }
        }
        server.finish();
    }
}
