//! What only OpenAI Responses has: sealed reasoning. What it shares with Chat Completions is in
//! `wire_openai`.

#![allow(clippy::unwrap_used, reason = "a helper that fails, fails the test")]

use std::sync::Arc;

use llm::{AssistantBlock, Conversation, Item, ModelError, StopReason};
use serde_json::{Value, json};
use testkit::server::{Block, Reply, Server};
use testkit::talk::{ask, conversation, model, result, user};

const MODEL: &str = "openai-responses:gpt-5.1";

/// A turn that reasons before each of two calls; one summary can be read.
fn reasoned() -> Reply {
    Reply::turn([
        Block::thinking("one call will do", "c2Vh"),
        Block::call("call_1", "TaskCreate", &json!({})),
        Block::Redacted("bGVk".to_owned()),
        Block::call("call_2", "TaskCreate", &json!({})),
    ])
}

/// A conversation up to the results of the calls, of which the server has answered the first request.
async fn with_results(server: &Server) -> Conversation {
    let mut talk = conversation([user("plan")]);
    let message = ask(&*model(MODEL, &server.url()), &talk).await.message();
    talk.push(Arc::new(Item::Assistant(message)));
    talk.push(Arc::new(result("call_1", "Task 1")));
    talk.push(Arc::new(result("call_2", "Task 2")));
    talk
}

#[tokio::test]
async fn sealed_reasoning_goes_back_in_front_of_its_call() {
    let server = Server::script([reasoned().split_every(17), Reply::text("done")]);
    let talk = with_results(&server).await;
    ask(&*model(MODEL, &server.url()), &talk).await.message();
    let requests = server.requests();
    let [first, second] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert!(second.extends(first));
    let items = second.json.pointer("/input").unwrap().as_array().unwrap();
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "TaskCreate", "arguments": "{}" });
    let output = |id: &str, text: &str| json!({ "type": "function_call_output", "call_id": id, "output": text });
    assert_eq!(
        items.get(1..).unwrap(),
        [
            // Not what the begin of the item had, which may be half of it.
            json!({ "type": "reasoning", "id": "rs_0", "encrypted_content": "c2Vh",
                    "summary": [{ "type": "summary_text", "text": "one call will do" }] }),
            call("call_1"),
            json!({ "type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "bGVk" }),
            call("call_2"),
            output("call_1", "Task 1"),
            output("call_2", "Task 2"),
        ]
    );
    assert_eq!(second.json.get("store"), Some(&Value::Bool(false)));
    server.finish();
}

/// Neither another vendor, nor another server of the same protocol, nor a model that does not reason
/// gets to see it.
#[tokio::test]
async fn a_session_that_goes_on_elsewhere_leaves_the_reasoning_behind() {
    let first = Server::respond(|_| reasoned());
    let talk = with_results(&first).await;
    let Some(Item::Assistant(message)) = talk.items().get(1).map(|item| &**item) else {
        panic!("{talk:?}");
    };
    let is_sealed = |block: &&AssistantBlock| matches!(block, AssistantBlock::Reasoning(reasoning) if reasoning.sealed.is_some());
    assert_eq!(message.content.iter().filter(is_sealed).count(), 2);
    let second = Server::respond(|_| Reply::text("done"));
    for (spec, server) in [
        ("claude-sonnet-4-5", &second),
        ("openai:gpt-5.1", &second),
        (MODEL, &second),
        ("openai-responses:gpt-4o", &first),
    ] {
        ask(&*model(spec, &server.url()), &talk).await.message();
        let body = server.requests().pop().unwrap().body;
        for secret in ["c2Vh", "bGVk", "one call will do"] {
            assert!(!body.contains(secret), "{spec}: {body}");
        }
        assert!(body.contains("call_2") && body.contains("Task 2"), "{spec}");
    }
    first.finish();
    second.finish();
}

#[tokio::test]
async fn a_response_that_fails_is_no_answer() {
    let failed = |code: &str| {
        let error = json!({ "code": code, "message": "Not now" });
        let response = json!({ "id": "resp_1", "status": "failed", "error": error });
        let event = json!({ "type": "response.failed", "response": response });
        Reply::events(&format!("event: response.failed\ndata: {event}\n\n"))
    };
    for (code, is_retryable) in [
        ("server_error", true),
        ("rate_limit_exceeded", true),
        ("invalid_prompt", false),
        ("bio_policy", false),
    ] {
        let server = Server::script([failed(code)]);
        let talk = conversation([user("hi")]);
        let error = ask(&*model(MODEL, &server.url()), &talk).await.error();
        assert_eq!(error.is_retryable(), is_retryable, "{code}: {error}");
        let is_limit = matches!(error, ModelError::Overloaded { status: 429, .. });
        assert_eq!(is_limit, code == "rate_limit_exceeded", "{error:?}");
        server.finish();
    }
}

#[tokio::test]
async fn a_filtered_answer_is_a_refusal() {
    let server = Server::script([Reply::text("I must").stop_reason("content_filter")]);
    let talk = conversation([user("hi")]);
    let message = ask(&*model(MODEL, &server.url()), &talk).await.message();
    assert_eq!(message.stop_reason, StopReason::Refusal);
    assert_eq!(message.joined_text(), "I must");
    server.finish();
}
