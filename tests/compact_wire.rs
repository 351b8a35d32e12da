//! Compactions before providers that check every request: the made-up call of `TaskList` breaks no
//! rule, and the prompt cache is warm again from the second request on.

use std::sync::Mutex;

use llm::Usage;
use pod::{Compaction, Event, Pod, SessionStore, Status};
use serde_json::{Value, json};
use testkit::server::{Block, Reply, Server};
use testkit::talk::model;
use testkit::tools::FakeTool;

/// How the provider is asked.
#[derive(Clone, Copy)]
struct Wire {
    model: &'static str,
    reasons: bool,
}

fn wire(model: &'static str, reasons: bool) -> Wire {
    Wire { model, reasons }
}

fn is_workers(request: &Value) -> bool {
    request["tools"].to_string().contains("write_summary")
}

/// A provider whose agent plans, looks, and goes on, two calls a run.
fn server(reasons: bool) -> Server {
    let count = Mutex::new(0);
    Server::respond(move |request| {
        let mut count = count.lock().unwrap();
        *count += 1;
        let thought = reasons.then(|| Block::thinking("Let me see.", "c2ln"));
        let call = |name: &str, arguments: &Value| {
            let call = Block::call(&format!("call_{count}"), name, arguments);
            Reply::turn(thought.clone().into_iter().chain([call]))
        };
        let size = u64::try_from(request.to_string().len()).unwrap() / 4;
        let usage = Usage {
            input: size,
            output: 20,
            ..Usage::default()
        };
        let reply = if is_workers(request) {
            call("write_summary", &json!({"text": "It was planned."}))
        } else {
            match *count % 3 {
                1 => call(
                    "TaskCreate",
                    &json!({"subject": "step", "description": "What it is."}),
                ),
                2 => call("Look", &json!({"text": "words ", "times": 3_000})),
                _ => Reply::turn(thought.clone().into_iter().chain([Block::text("Done.")])),
            }
        };
        reply.usage(usage)
    })
}

async fn check(wire: Wire) {
    let server = server(wire.reasons);
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let mut builder = Pod::builder(model(wire.model, &server.url()))
        .directory(home.path())
        .compact_limits(pod::CompactLimits {
            between_requests: pod::Threshold::Tokens(9_000),
            after_run: pod::Threshold::Tokens(12_000),
            tail: pod::Threshold::Tokens(600),
            ..pod::CompactLimits::default()
        });
    if wire.reasons {
        builder = builder.reasoning_tokens(2_048);
    }
    for tool in FakeTool::all(|_| {}) {
        builder = builder.tool(tool);
    }
    let mut pod = builder.start(&store, None).unwrap();
    let mut compactions = 0;
    let mut listen = async |mut run: pod::Run<'_>| {
        while let Some(event) = run.next().await {
            match event {
                Event::Compaction(Compaction::Finished(_)) => compactions += 1,
                Event::Compaction(Compaction::Failed { reason }) => panic!("{reason}"),
                Event::Finished(outcome) => {
                    assert!(matches!(outcome.status, Status::Completed), "{outcome:?}");
                }
                _ => {}
            }
        }
    };
    // Between requests, by hand behind a finished answer, and between requests again.
    for prompt in ["one", "two", "three"] {
        listen(pod.run(prompt)).await;
    }
    listen(pod.compact()).await;
    for prompt in ["four", "five"] {
        listen(pod.run(prompt)).await;
    }
    assert!(compactions >= 3, "{}: {compactions}", wire.model);

    // Each request extends the one before it, but for the first one after a compaction.
    let requests = server.requests();
    let agents: Vec<_> = requests.iter().filter(|it| !is_workers(&it.json)).collect();
    let breaks = agents
        .windows(2)
        .filter(|pair| !pair[1].extends(pair[0]))
        .count();
    assert_eq!(breaks, compactions, "{}", wire.model);
    let workers = requests.len() - agents.len();
    assert_eq!(workers, compactions, "{}", wire.model);
    // Every request was held against the rules of its protocol.
    server.finish();
}

#[tokio::test]
async fn anthropic_without_reasoning() {
    check(wire("claude-sonnet-4-5", false)).await;
}

#[tokio::test]
async fn anthropic_with_reasoning_that_must_come_first() {
    check(wire("claude-sonnet-4-5", true)).await;
}

#[tokio::test]
async fn anthropic_with_adaptive_reasoning() {
    check(wire("claude-sonnet-4-6", true)).await;
}

#[tokio::test]
async fn anthropic_with_system_messages_in_the_conversation() {
    check(wire("claude-opus-5", true)).await;
}

#[tokio::test]
async fn openai() {
    check(wire("openai:gpt-4o", false)).await;
}

#[tokio::test]
async fn a_local_model_that_is_not_known() {
    check(wire("openai:my-model", false)).await;
}

#[tokio::test]
async fn openai_responses_with_sealed_reasoning() {
    check(wire("openai-responses:gpt-5.1", true)).await;
}

#[tokio::test]
async fn openai_responses_of_a_model_that_is_not_known() {
    check(wire("openai-responses:my-model", false)).await;
}
