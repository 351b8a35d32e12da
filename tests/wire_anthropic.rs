//! Anthropic Messages against a server that checks every request.

#![allow(clippy::unwrap_used, reason = "a helper that fails, fails the test")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use llm::anthropic::{Anthropic, Config};
use llm::http::{RetryPolicy, Secret, Timeouts};
use llm::{AssistantBlock, Delta, Item, Model, ModelError, Origin, StopReason, Usage};
use serde_json::json;
use testkit::server::{Block, Reply, Server, Wire};
use testkit::talk::{
    Answer, ask, ask_with, conversation, failure, request, result, system, tool, user,
};

const KEY: &str = "sk-ant-secret";

/// A policy that tries a second time, at once.
fn once_more() -> RetryPolicy {
    RetryPolicy {
        attempts: 2,
        base: Duration::ZERO,
        ..RetryPolicy::default()
    }
}

fn config(url: &str) -> Config {
    Config {
        api_key: Some(Secret::new(KEY)),
        base_url: url.to_owned(),
        retry: RetryPolicy::never(),
        ..Config::new("claude-sonnet-4-5")
    }
}

fn model(server: &Server) -> Anthropic {
    Anthropic::new(config(&server.url())).unwrap()
}

fn patient(server: &Server) -> Anthropic {
    let config = Config {
        retry: once_more(),
        ..config(&server.url())
    };
    Anthropic::new(config).unwrap()
}

/// Asks about one word, with one reply, and ends the server.
async fn answer_to(reply: Reply) -> Answer {
    let server = Server::script([reply]);
    let answer = ask(&model(&server), &conversation([user("hi")])).await;
    server.finish();
    answer
}

#[tokio::test]
async fn text_arrives_however_the_bytes_are_split() {
    let said = "Grüße, 世界 😀 \"quoted\"\nsecond line";
    for bytes in [1, 2, 3, 5, 7, 37, 100_000] {
        let answer = answer_to(Reply::text(said).split_every(bytes)).await;
        let told: String = answer
            .deltas
            .iter()
            .filter_map(|delta| match delta {
                Delta::Text { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(told, said);
        let message = answer.message();
        assert_eq!(message.joined_text(), said);
        assert_eq!(message.model, "test-model");
        assert_eq!(message.stop_reason, StopReason::EndTurn);
        assert!(message.usage.input > 0);
        assert_eq!(message.usage.output, 10);
    }
}

#[tokio::test]
async fn parallel_calls_stay_apart_also_when_their_bytes_interleave() {
    let turn = || {
        Reply::turn([
            Block::text("two tasks"),
            Block::call("toolu_1", "TaskCreate", &json!({ "subject": "Ä \"a\"" })),
            Block::call(
                "toolu_2",
                "TaskCreate",
                &json!({ "subject": "b", "n": [1, 2.0] }),
            ),
            Block::raw_call("toolu_3", "TaskList", ""),
        ])
    };
    for reply in [
        turn(),
        turn().interleaved().piece(3),
        turn().piece(1).split_every(11),
    ] {
        let message = answer_to(reply).await.message();
        let calls: Vec<_> = message
            .calls()
            .map(|call| (call.id.as_str(), call.arguments.text()))
            .collect();
        assert_eq!(
            calls,
            [
                ("toolu_1", r#"{"subject":"Ä \"a\""}"#),
                ("toolu_2", r#"{"subject":"b","n":[1,2.0]}"#),
                ("toolu_3", "{}"),
            ]
        );
        assert_eq!(message.stop_reason, StopReason::ToolUse);
    }
}

fn with_budget(request: llm::Request<'_>) -> llm::Request<'_> {
    llm::Request {
        reasoning_tokens: Some(2000),
        ..request
    }
}

#[tokio::test]
async fn reasoning_goes_back_with_its_signature() {
    let server = Server::script([
        Reply::turn([
            Block::thinking("one call will do", "c2lnbmF0dXJl"),
            Block::Redacted("b3BhcXVl".to_owned()),
            Block::call("toolu_1", "TaskCreate", &json!({})),
        ]),
        Reply::text("done"),
    ]);
    let model = model(&server);
    let tools = [tool("TaskCreate")];
    let mut talk = conversation([user("plan")]);
    let message = ask_with(&model, with_budget(request(&talk, &tools)))
        .await
        .message();
    talk.push(Arc::new(Item::Assistant(message)));
    talk.push(Arc::new(failure("toolu_1", "subject is missing")));
    ask_with(&model, with_budget(request(&talk, &tools)))
        .await
        .message();
    let requests = server.requests();
    let [first, second] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert!(second.extends(first));
    assert_eq!(
        second.json.pointer("/thinking"),
        Some(&json!({ "type": "enabled", "budget_tokens": 2000 }))
    );
    assert_eq!(
        second.json.pointer("/messages/1/content"),
        Some(&json!([
            { "type": "thinking", "thinking": "one call will do", "signature": "c2lnbmF0dXJl" },
            { "type": "redacted_thinking", "data": "b3BhcXVl" },
            { "type": "tool_use", "id": "toolu_1", "name": "TaskCreate", "input": {} },
        ]))
    );
    assert_eq!(
        second.json.pointer("/messages/2/content/0/is_error"),
        Some(&json!(true))
    );
    server.finish();
}

#[tokio::test]
async fn cached_tokens_are_counted() {
    let usage = Usage {
        input: 1000,
        cache_read: 900,
        cache_write: 60,
        output: 20,
        reasoning: 0,
    };
    let answer = answer_to(Reply::text("x").usage(usage)).await;
    assert!(matches!(
        answer.deltas.first(),
        Some(Delta::Started { response_id: Some(id), usage })
            if id == "msg_1" && usage.input == 1000
    ));
    assert_eq!(answer.message().usage, usage);
}

#[tokio::test]
async fn a_response_that_is_cut_anywhere_is_asked_for_again() {
    let turn = || {
        Reply::turn([
            Block::text("a task"),
            Block::call("toolu_1", "TaskCreate", &json!({ "subject": "a" })),
        ])
    };
    let length = turn().body_length(Wire::Anthropic);
    let talk = conversation([user("hi")]);
    // The last line feed ends the last event; without it nothing may count.
    for bytes in (0..length - 1).step_by(23).chain([length - 2, length - 1]) {
        for broken in [turn().cut_after(bytes), turn().end_after(bytes)] {
            let server = Server::script([broken, turn()]);
            let answer = ask(&patient(&server), &talk).await;
            let retries = answer.retries();
            assert!(
                matches!(retries.as_slice(), [ModelError::Cut(_)]),
                "{bytes}: {retries:?}"
            );
            assert_eq!(answer.message().calls().count(), 1);
            server.finish();
        }
    }
}

#[tokio::test]
async fn a_cut_is_told_when_it_is_not_retried() {
    let errors = [
        answer_to(Reply::text("x").end_after(300)).await.error(),
        answer_to(Reply::text("x").cut_after(300)).await.error(),
    ];
    let errors = errors.map(|error| error.to_string());
    insta::assert_snapshot!(errors.join("\n"));
}

#[tokio::test]
async fn stalls_are_noticed_before_and_within_a_response() {
    let short = Duration::from_millis(100);
    let long = Duration::from_mins(1);
    let talk = conversation([user("hi")]);
    for (reply, first_byte, idle) in [
        (Reply::text("x").stall(), short, long),
        (Reply::text("x").stall_after(200), long, short),
    ] {
        let server = Server::script([reply]);
        let config = Config {
            timeouts: Timeouts {
                first_byte,
                idle,
                ..Timeouts::default()
            },
            ..config(&server.url())
        };
        let answer = ask(&Anthropic::new(config).unwrap(), &talk).await;
        assert_eq!(answer.error(), ModelError::Stalled(short));
        server.finish();
    }
}

#[tokio::test]
async fn after_a_stall_the_request_is_sent_again() {
    let mut has_stalled = false;
    let server = Server::respond(move |_| {
        if std::mem::replace(&mut has_stalled, true) {
            Reply::text("there")
        } else {
            Reply::text("x").stall()
        }
    });
    let config = Config {
        timeouts: Timeouts {
            first_byte: Duration::from_millis(300),
            ..Timeouts::default()
        },
        // A busy machine may stall the second answer too.
        retry: RetryPolicy {
            attempts: 100,
            ..once_more()
        },
        ..config(&server.url())
    };
    let model = Anthropic::new(config).unwrap();
    let answer = ask(&model, &conversation([user("hi")])).await;
    let first = answer.retries().first().copied().cloned();
    assert_eq!(first, Some(ModelError::Stalled(Duration::from_millis(300))));
    assert_eq!(answer.message().joined_text(), "there");
    server.finish();
}

#[tokio::test]
async fn an_overloaded_provider_is_asked_again_when_it_says() {
    let server = Server::script([
        Reply::overloaded().header("retry-after", "0.2"),
        Reply::rate_limited().header("retry-after", "0"),
        Reply::error(500, "api_error", "Internal server error"),
        Reply::text("at last"),
    ]);
    let config = Config {
        retry: RetryPolicy {
            attempts: 4,
            base: Duration::ZERO,
            ..RetryPolicy::default()
        },
        ..config(&server.url())
    };
    let begin = Instant::now();
    let answer = ask(
        &Anthropic::new(config).unwrap(),
        &conversation([user("hi")]),
    )
    .await;
    assert!(begin.elapsed() >= Duration::from_millis(200));
    let retries: Vec<String> = answer
        .deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Retry {
                attempt,
                attempts,
                wait,
                error,
            } => Some(format!("{attempt}/{attempts} wait {wait:?}: {error}")),
            _ => None,
        })
        .collect();
    insta::assert_snapshot!(retries.join("\n"));
    assert_eq!(answer.message().joined_text(), "at last");
    let bodies: Vec<String> = server
        .requests()
        .into_iter()
        .map(|sent| sent.body)
        .collect();
    assert!(
        bodies.windows(2).all(|pair| pair.first() == pair.last()),
        "the same request"
    );
    server.finish();
}

#[tokio::test]
async fn an_error_within_the_stream_is_retried() {
    let broken = concat!(
        "event: message_start\n",
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":{}}}\n\n",
        "event: error\n",
        "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
    );
    let server = Server::script([Reply::events(broken), Reply::text("x")]);
    let answer = ask(&patient(&server), &conversation([user("hi")])).await;
    assert_eq!(answer.retries().first().unwrap().status(), Some(529));
    answer.message();
    server.finish();
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let echo = format!("the key {KEY} is wrong");
    let replies = [
        Reply::error(401, "authentication_error", "invalid x-api-key"),
        Reply::error(401, "authentication_error", &echo),
        Reply::error(404, "not_found_error", "model: claude-sonnet-4-5"),
        Reply::prompt_too_long(),
        Reply::error(400, "invalid_request_error", "messages.1: bad").header("request-id", "req_7"),
        Reply::overloaded().header("retry-after", "3600"),
        Reply::raw(200, "text/html", "<html>Welcome</html>"),
        Reply::raw(302, "text/html", "").header("location", "https://elsewhere.example/"),
        Reply::events("data: {\"type\":\"message_stop\"\n\n"),
        Reply::events(&"x".repeat(17 * 1024 * 1024)),
    ];
    let mut errors = Vec::new();
    for reply in replies {
        let error = answer_to(reply).await.error().to_string();
        assert!(!error.contains(KEY), "{error}");
        errors.push(error);
    }
    let errors = errors.join("\n");
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT");
    settings.bind(|| insta::assert_snapshot!(errors));
}

#[tokio::test]
async fn nobody_there() {
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let mut errors = Vec::new();
    for address in [closed.as_str(), "http://nowhere.invalid"] {
        let config = Config {
            retry: once_more(),
            ..config(address)
        };
        let model = Anthropic::new(config).unwrap();
        let answer = ask(&model, &conversation([user("hi")])).await;
        let retries = answer.retries().len();
        errors.push(format!("{} ({retries} retries)", answer.error()));
    }
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT");
    // The resolver's own words differ between machines.
    settings.add_filter(r"nowhere\.invalid: [^;]*;", "nowhere.invalid: REASON;");
    settings.bind(|| insta::assert_snapshot!(errors.join("\n")));
}

#[tokio::test]
async fn a_server_without_tls_cannot_be_asked_for_it() {
    let server = Server::script([]);
    let address = server.url().replace("http://", "https://");
    let model = Anthropic::new(config(&address)).unwrap();
    let error = ask(&model, &conversation([user("hi")])).await.error();
    assert!(matches!(error, ModelError::Network(_)), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("Its address comes from ANTHROPIC_BASE_URL"),
        "{error}"
    );
    server.finish();
}

#[tokio::test]
async fn a_request_that_is_dropped_while_it_waits_is_not_sent_again() {
    let server = Server::respond(|_| Reply::overloaded().header("retry-after", "0.2"));
    let model = Anthropic::new(Config {
        retry: RetryPolicy::default(),
        ..config(&server.url())
    })
    .unwrap();
    let talk = conversation([user("hi")]);
    let waiting = tokio::sync::Notify::new();
    let mut watch = |delta| {
        if matches!(delta, Delta::Retry { .. }) {
            waiting.notify_one();
        }
    };
    tokio::select! {
        _ = model.respond(request(&talk, &[]), &mut watch) => panic!("it waits"),
        () = waiting.notified() => {}
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(server.request_count(), 1);
    server.finish();
}

#[tokio::test]
async fn a_long_session_is_one_growing_request_on_few_connections() {
    let mut number = 0;
    let server = Server::respond(move |_| {
        number += 1;
        let id = format!("toolu_{number}");
        Reply::turn([
            Block::text("next"),
            Block::call(&id, "TaskCreate", &json!({ "n": number })),
        ])
    });
    let model = model(&server);
    let mut talk = conversation([user("begin")]);
    for round in 0..40 {
        let message = ask(&model, &talk).await.message();
        let ids: Vec<String> = message.calls().map(|call| call.id.clone()).collect();
        talk.push(Arc::new(Item::Assistant(message)));
        for id in ids {
            talk.push(Arc::new(result(&id, "ok")));
        }
        if round % 10 == 0 {
            talk.push(Arc::new(system(Origin::Reminder, "tasks are open")));
        }
    }
    let requests = server.requests();
    for pair in requests.windows(2) {
        if let [earlier, later] = pair {
            assert!(later.extends(earlier), "{}\n{}", earlier.body, later.body);
            // The provider reads its cache up to where the request before it ended.
            let end = earlier.body.rfind(r#","cache_control""#).unwrap();
            let unmarked =
                |text: &str| text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
            let past = unmarked(earlier.body.get(..end).unwrap());
            let later_mark = later
                .body
                .match_indices(r#","cache_control""#)
                .nth(2)
                .unwrap()
                .0;
            assert_eq!(unmarked(later.body.get(..later_mark).unwrap()), past);
        }
    }
    // A busy machine may lose one; 40 would mean that none is used again.
    assert!(server.connection_count() < 10);
    server.finish();
}

#[tokio::test]
async fn headers() {
    let server = Server::respond(|_| Reply::text("x"));
    let talk = conversation([user("hi")]);
    ask(&model(&server), &talk).await.message();
    let model = Anthropic::new(Config {
        api_key: None,
        auth_token: Some(Secret::new("token")),
        model: "claude-sonnet-4-5[1m]".to_owned(),
        ..config(&server.url())
    })
    .unwrap();
    ask(&model, &talk).await.message();
    let requests = server.requests();
    let header = |index: usize, name: &str| {
        let request = requests.get(index).unwrap();
        request.header(name).map(str::to_owned)
    };
    assert_eq!(header(0, "x-api-key").as_deref(), Some(KEY));
    assert_eq!(header(0, "authorization"), None);
    assert_eq!(
        header(0, "anthropic-version").as_deref(),
        Some("2023-06-01")
    );
    assert_eq!(header(1, "x-api-key"), None);
    assert_eq!(header(1, "authorization").as_deref(), Some("Bearer token"));
    assert!(
        header(1, "anthropic-beta")
            .unwrap()
            .starts_with("context-1m")
    );
    server.finish();
}

#[tokio::test]
async fn broken_arguments_are_kept_and_sent_back_as_a_quotation() {
    let server = Server::script([
        Reply::turn([Block::raw_call(
            "toolu_1",
            "TaskCreate",
            "{\"subject\": oops",
        )]),
        Reply::text("x"),
    ]);
    let model = model(&server);
    let mut talk = conversation([user("hi")]);
    let message = ask(&model, &talk).await.message();
    assert!(matches!(
        message.content.as_slice(),
        [AssistantBlock::ToolCall(call)] if call.arguments.text() == "{\"subject\": oops"
    ));
    talk.push(Arc::new(Item::Assistant(message)));
    talk.push(Arc::new(failure("toolu_1", "the arguments are no JSON")));
    ask(&model, &talk).await.message();
    assert_eq!(
        server
            .requests()
            .last()
            .unwrap()
            .json
            .pointer("/messages/1/content/0/input"),
        Some(&json!({ "invalid_arguments": "{\"subject\": oops" }))
    );
    server.finish();
}

#[tokio::test]
async fn a_call_that_the_output_limit_cut_is_not_in_the_message() {
    let reply = Reply::turn([
        Block::text("x"),
        Block::raw_call("toolu_1", "TaskCreate", "{\"subject\": \"ab"),
    ]);
    let message = answer_to(reply.stop_reason("max_tokens")).await.message();
    assert_eq!(message.calls().count(), 0);
    assert_eq!(message.stop_reason, StopReason::MaxTokens);
}

#[tokio::test]
async fn the_name_is_the_one_that_was_given() {
    let config = Config {
        label: Some("anthropic:x".to_owned()),
        ..config("http://127.0.0.1:1")
    };
    assert_eq!(Anthropic::new(config).unwrap().name(), "anthropic:x");
}
