//! The two protocols of OpenAI, Chat Completions and Responses, against a server that checks every
//! request.

#![allow(clippy::unwrap_used, reason = "a helper that fails, fails the test")]

use std::sync::Arc;
use std::time::Duration;

use llm::http::{RetryPolicy, Secret, Timeouts, Vendor};
use llm::openai_chat::{Config, OpenAiChat};
use llm::openai_responses::OpenAiResponses;
use llm::{AssistantBlock, Capability, Delta, Item, Model, ModelError, Origin, StopReason, Usage};
use serde_json::{Value, json};
use testkit::server::{Block, Reply, Server, Wire};
use testkit::talk::{Answer, ask, conversation, failure, result, system, user};

const KEY: &str = "sk-secret";

const WIRES: [Wire; 2] = [Wire::OpenAi, Wire::Responses];

fn config(wire: Wire, url: &str) -> Config {
    let name = match wire {
        Wire::Responses => "gpt-5.1",
        _ => "gpt-4o",
    };
    Config {
        api_key: Some(Secret::new(KEY)),
        base_url: url.to_owned(),
        retry: RetryPolicy::never(),
        ..Config::new(name)
    }
}

fn open(wire: Wire, config: Config) -> Box<dyn Model> {
    match wire {
        Wire::Responses => Box::new(OpenAiResponses::new(config).unwrap()),
        _ => Box::new(OpenAiChat::new(config).unwrap()),
    }
}

fn model(wire: Wire, server: &Server) -> Box<dyn Model> {
    open(wire, config(wire, &server.url()))
}

/// Tries a second time, at once.
fn patient(wire: Wire, server: &Server) -> Box<dyn Model> {
    let retry = RetryPolicy {
        attempts: 2,
        base: Duration::ZERO,
        ..RetryPolicy::default()
    };
    let config = config(wire, &server.url());
    open(wire, Config { retry, ..config })
}

/// Asks about one word, with one reply, and ends the server.
async fn answer_to(wire: Wire, reply: Reply) -> Answer {
    let server = Server::script([reply]);
    let answer = ask(&*model(wire, &server), &conversation([user("hi")])).await;
    server.finish();
    answer
}

/// Holds texts of both protocols against a snapshot that names no port.
fn assert_texts(name: &str, texts: &[String]) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT");
    settings.bind(|| insta::assert_snapshot!(name, texts.join("\n")));
}

#[tokio::test]
async fn text_and_reasoning_arrive_however_the_bytes_are_split() {
    let said = "Grüße, 世界 😀 \"quoted\"\nsecond line";
    for (wire, id) in [(Wire::OpenAi, "chatcmpl-1"), (Wire::Responses, "resp_1")] {
        for bytes in [1, 2, 3, 5, 7, 37, 100_000] {
            let turn = [
                Block::thinking("let me see", "no signature here"),
                Block::text(said),
            ];
            let message = answer_to(wire, Reply::turn(turn).split_every(bytes))
                .await
                .message();
            assert_eq!(message.joined_text(), said);
            assert!(matches!(
                message.content.first(),
                Some(AssistantBlock::Reasoning(reasoning))
                    if reasoning.text == "let me see" && reasoning.signature.is_none()
            ));
            assert_eq!(message.stop_reason, StopReason::EndTurn);
            assert_eq!(message.response_id.as_deref(), Some(id));
        }
    }
}

#[tokio::test]
async fn parallel_calls_stay_apart_also_when_their_bytes_interleave() {
    let turn = || {
        Reply::turn([
            Block::text("two tasks"),
            Block::call("call_1", "TaskCreate", &json!({ "subject": "Ä \"a\"" })),
            Block::call(
                "call_2",
                "TaskCreate",
                &json!({ "subject": "b", "n": [1, 2.0] }),
            ),
            Block::raw_call("call_3", "TaskList", ""),
        ])
    };
    let replies = || {
        [
            turn(),
            turn().interleaved().piece(3),
            turn().piece(1).split_every(11),
        ]
    };
    let cases = WIRES.map(|wire| replies().map(|reply| (wire, reply)));
    for (wire, reply) in cases.into_iter().flatten() {
        let message = answer_to(wire, reply).await.message();
        let calls: Vec<_> = message
            .calls()
            .map(|call| (call.id.as_str(), call.arguments.text()))
            .collect();
        assert_eq!(
            calls,
            [
                ("call_1", r#"{"subject":"Ä \"a\""}"#),
                ("call_2", r#"{"subject":"b","n":[1,2.0]}"#),
                ("call_3", "{}"),
            ]
        );
        assert_eq!(message.stop_reason, StopReason::ToolUse);
    }
}

/// Both requests of a conversation with two calls, the second as its items behind the prompts.
async fn results(wire: Wire, items: &str) -> Vec<Value> {
    let server = Server::script([
        Reply::turn([
            Block::thinking("hm", ""),
            Block::call("call_1", "TaskCreate", &json!({})),
            Block::call("call_2", "TaskCreate", &json!({ "subject": "b" })),
        ]),
        Reply::text("done"),
    ]);
    let model = model(wire, &server);
    let mut talk = conversation([user("plan")]);
    let message = ask(&*model, &talk).await.message();
    talk.push(Arc::new(Item::Assistant(message)));
    talk.push(Arc::new(failure("call_1", "subject is missing")));
    talk.push(Arc::new(result("call_2", "Task 1")));
    ask(&*model, &talk).await.message();
    let requests = server.requests();
    let [first, second] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert!(second.extends(first));
    assert_eq!(first.header("authorization"), Some("Bearer sk-secret"));
    let known = first.json.pointer(items).unwrap().as_array().unwrap().len();
    let items = second.json.pointer(items).unwrap().as_array().unwrap();
    let added = items.get(known..).unwrap().to_vec();
    server.finish();
    added
}

#[tokio::test]
async fn a_failed_result_says_so_in_its_text() {
    assert_eq!(
        results(Wire::OpenAi, "/messages").await,
        [
            json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": "call_1", "type": "function",
                  "function": { "name": "TaskCreate", "arguments": "{}" } },
                { "id": "call_2", "type": "function",
                  "function": { "name": "TaskCreate", "arguments": "{\"subject\":\"b\"}" } },
            ] }),
            json!({ "role": "tool", "tool_call_id": "call_1", "content": "Error: subject is missing" }),
            json!({ "role": "tool", "tool_call_id": "call_2", "content": "Task 1" }),
        ]
    );
    assert_eq!(
        results(Wire::Responses, "/input").await,
        [
            json!({ "type": "function_call", "call_id": "call_1", "name": "TaskCreate",
                    "arguments": "{}" }),
            json!({ "type": "function_call", "call_id": "call_2", "name": "TaskCreate",
                    "arguments": "{\"subject\":\"b\"}" }),
            json!({ "type": "function_call_output", "call_id": "call_1",
                    "output": "Error: subject is missing" }),
            json!({ "type": "function_call_output", "call_id": "call_2", "output": "Task 1" }),
        ]
    );
}

#[tokio::test]
async fn cached_and_reasoning_tokens_are_counted() {
    for (wire, cache_write) in [(Wire::OpenAi, 0), (Wire::Responses, 40)] {
        let usage = Usage {
            input: 1000,
            cache_read: 900,
            cache_write,
            output: 20,
            reasoning: 15,
        };
        let message = answer_to(wire, Reply::text("x").usage(usage)).await;
        assert_eq!(message.message().usage, usage);
    }
}

#[tokio::test]
async fn a_response_that_is_cut_is_asked_for_again_unless_it_had_finished() {
    let turn = || {
        Reply::turn([
            Block::text("a task"),
            Block::call("call_1", "TaskCreate", &json!({ "subject": "a" })),
        ])
    };
    let talk = conversation([user("hi")]);
    for wire in WIRES {
        let length = turn().body_length(wire);
        let mut retried = Vec::new();
        for bytes in (0..length).step_by(41).chain([length - 1]) {
            for broken in [turn().cut_after(bytes), turn().end_after(bytes)] {
                let server = Server::respond({
                    let mut replies = vec![turn(), broken];
                    move |_| replies.pop().unwrap()
                });
                let answer = ask(&*patient(wire, &server), &talk).await;
                let retries = answer.retries();
                let is_cut = |error: &&ModelError| matches!(error, ModelError::Cut(_));
                assert!(retries.iter().all(is_cut), "{retries:?}");
                retried.push(retries.len());
                assert_eq!(answer.message().calls().count(), 1);
                server.finish();
            }
        }
        // In Chat Completions the counts and the end mark come behind the `finish_reason`; they are
        // not worth a second answer. In Responses nothing does.
        assert_eq!(retried.first(), Some(&1));
        assert_eq!(retried.last(), Some(&usize::from(wire == Wire::Responses)));
        assert!(
            retried.is_sorted_by(|earlier, later| earlier >= later),
            "{retried:?}"
        );
    }
}

#[tokio::test]
async fn stalls_are_noticed_before_and_within_a_response() {
    let short = Duration::from_millis(100);
    let long = Duration::from_mins(1);
    let talk = conversation([user("hi")]);
    let cases = |wire| {
        [
            (wire, Reply::text("x").stall(), short, long),
            (wire, Reply::text("x").stall_after(200), long, short),
        ]
    };
    for (wire, reply, first_byte, idle) in WIRES.map(cases).into_iter().flatten() {
        let server = Server::script([reply]);
        let config = Config {
            timeouts: Timeouts {
                first_byte,
                idle,
                ..Timeouts::default()
            },
            ..config(wire, &server.url())
        };
        let answer = ask(&*open(wire, config), &talk).await;
        assert_eq!(answer.error(), ModelError::Stalled(short));
        server.finish();
    }
}

#[tokio::test]
async fn overload_and_errors_within_the_stream_are_retried() {
    let talk = conversation([user("hi")]);
    let broken = "data: {\"error\":{\"message\":\"Oops\",\"type\":\"server_error\"}}\n\n";
    for wire in WIRES {
        let mut errors = Vec::new();
        for reply in [
            Reply::overloaded(),
            Reply::rate_limited().header("retry-after", "0"),
            Reply::error(503, "unavailable_error", "Loading model"),
            Reply::events(broken),
        ] {
            let server = Server::script([reply, Reply::text("there")]);
            let answer = ask(&*patient(wire, &server), &talk).await;
            errors.extend(answer.retries().into_iter().map(ToString::to_string));
            assert_eq!(answer.message().joined_text(), "there");
            server.finish();
        }
        // The same of both.
        assert_texts("overload_and_errors_within_the_stream_are_retried", &errors);
    }
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let echo = format!("Incorrect API key provided: {KEY}.");
    let mut errors = Vec::new();
    for wire in WIRES {
        let replies = [
            Reply::error(401, "invalid_api_key", &echo),
            Reply::error(404, "model_not_found", "The model `gpt` does not exist"),
            Reply::error(429, "insufficient_quota", "You exceeded your current quota"),
            Reply::prompt_too_long(),
            Reply::error(400, "invalid_value", "bad").header("x-request-id", "req_7"),
            Reply::raw(404, "text/html", "<html>Not Found</html>"),
            Reply::raw(200, "application/json", "{}"),
            Reply::events("data: [DONE]\n\n"),
        ];
        for reply in replies {
            let error = answer_to(wire, reply).await.error().to_string();
            assert!(!error.contains(KEY), "{error}");
            errors.push(error);
        }
    }
    assert_texts("errors_say_what_to_do", &errors);
}

#[tokio::test]
async fn ollama_gets_its_own_advice() {
    let server = Server::script([Reply::error(404, "not_found_error", "model 'x' not found")]);
    let ollama = |url: &str| {
        OpenAiChat::new(Config {
            vendor: Vendor::Ollama,
            api_key: None,
            base_url: url.to_owned(),
            ..Config::new("x")
        })
        .unwrap()
    };
    let talk = conversation([user("hi")]);
    let unknown = ask(&ollama(&server.url()), &talk).await.error();
    let address = server.url();
    server.finish();
    let answer = ask(&ollama(&address), &talk).await;
    assert_eq!(
        answer.retries(),
        [] as [&ModelError; 0],
        "nobody listens, and that stays so"
    );
    let texts = [unknown.to_string(), answer.error().to_string()];
    assert_texts("ollama_gets_its_own_advice", &texts);
}

#[tokio::test]
async fn a_long_session_is_one_growing_request() {
    let mut number = 0;
    let server = Server::respond(move |_| {
        number += 1;
        let id = format!("call_{number}");
        Reply::turn([
            Block::text("next"),
            Block::call(&id, "TaskCreate", &json!({ "n": number })),
        ])
    });
    let local = |wire| Config {
        model: "local".to_owned(),
        capability: Capability::default(),
        ..config(wire, &server.url())
    };
    let models = WIRES.map(|wire| [model(wire, &server), open(wire, local(wire))]);
    for model in models.into_iter().flatten() {
        let before = server.request_count();
        let mut talk = conversation([user("begin")]);
        for round in 0..20 {
            let message = ask(&*model, &talk).await.message();
            let ids: Vec<String> = message.calls().map(|call| call.id.clone()).collect();
            talk.push(Arc::new(Item::Assistant(message)));
            for id in ids {
                talk.push(Arc::new(result(&id, "ok")));
            }
            if round % 5 == 0 {
                talk.push(Arc::new(system(Origin::Reminder, "tasks are open")));
            }
        }
        let requests = server.requests();
        let requests = requests.get(before..).unwrap();
        assert_eq!(requests.len(), 20);
        for pair in requests.windows(2) {
            if let [earlier, later] = pair {
                assert!(later.extends(earlier), "{}\n{}", earlier.body, later.body);
            }
        }
    }
    server.finish();
}

#[tokio::test]
async fn a_call_that_the_output_limit_cut_is_not_in_the_message() {
    for (wire, reason) in [
        (Wire::OpenAi, "length"),
        (Wire::Responses, "max_output_tokens"),
    ] {
        let reply = Reply::turn([
            Block::call("call_1", "TaskCreate", &json!({})),
            Block::raw_call("call_2", "TaskCreate", "{\"subject\": \"ab"),
        ]);
        let answer = answer_to(wire, reply.stop_reason(reason)).await;
        let told = answer.deltas.iter();
        let told = told
            .filter(|delta| matches!(delta, Delta::CallStarted { .. }))
            .count();
        assert_eq!(told, 2, "both were seen to begin");
        let message = answer.message();
        let ids: Vec<&str> = message.calls().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call_1"]);
        assert_eq!(message.stop_reason, StopReason::MaxTokens);
    }
}
