//! The program over every wire: every request that it sends keeps the rules of the protocol, and what
//! goes wrong says what to do.

use std::process::Command;

use serde_json::{Value, json};
use testkit::server::{Block, Reply, Server};

use crate::program::{Ran, World};

const MODELS: [&str; 3] = [
    "claude-sonnet-4-5",
    "openai:gpt-4o",
    "openai-responses:gpt-5.1",
];

/// The program in a world, with a provider's address and key.
fn pod(world: &World, url: &str, model: &str, arguments: &[&str]) -> Command {
    let mut command = world.command(arguments);
    command
        .args(["--model", model])
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "sk-secret")
        .env("OPENAI_BASE_URL", url)
        .env("OPENAI_API_KEY", "sk-secret");
    command
}

fn run(world: &World, url: &str, model: &str, arguments: &[&str]) -> Ran {
    World::finish(&mut pod(world, url, model, arguments))
}

/// A turn that reasons, says something and makes two calls, one of which fails.
fn two_tasks() -> Reply {
    Reply::turn([
        Block::thinking("two steps", "c2ln"),
        Block::text("I plan."),
        Block::call(
            "c1",
            "TaskCreate",
            &json!({ "subject": "lexer", "description": "d" }),
        ),
        Block::call(
            "c2",
            "TaskCreate",
            &json!({ "subject": "", "description": "d" }),
        ),
    ])
}

#[test]
fn a_session_over_a_wire_is_resumed_and_its_requests_only_grow() {
    for model in MODELS {
        let world = World::new();
        let server = Server::script([
            two_tasks().interleaved().split_every(13),
            Reply::overloaded().header("retry-after", "0"),
            Reply::text("Planned.").end_after(200),
            Reply::text("Planned."),
            Reply::turn([Block::raw_call(
                "c1",
                "TaskUpdate",
                r#"{"taskid":1,"status":"completed"}"#,
            )]),
            Reply::text("Done."),
        ]);
        let url = server.url();
        let planned = run(&world, &url, model, &["-p", "plan"]).success();
        assert_eq!(planned, "Planned.\n");
        let done = run(&world, &url, model, &["--continue", "-p", "go on"]).success();
        assert_eq!(done, "Done.\n");
        let tasks = world.pod(&["tasks", "--json"]).success();
        assert!(
            tasks.contains("completed") && tasks.contains("lexer"),
            "{tasks}"
        );
        let requests = server.requests();
        assert_eq!(requests.len(), 6);
        for pair in requests.windows(2) {
            if let [earlier, later] = pair {
                assert!(later.extends(earlier), "{}\n{}", earlier.body, later.body);
            }
        }
        server.finish();
    }
}

#[test]
fn a_prompt_that_is_too_long_is_compacted_and_asked_again() {
    for model in MODELS {
        let world = World::new();
        let mut answered = 0;
        let server = Server::respond(move |request| {
            let tools = request
                .get("tools")
                .map(Value::to_string)
                .unwrap_or_default();
            if tools.contains("write_summary") {
                let summary = json!({ "text": "The user wants a plan; one task was made." });
                return Reply::turn([Block::call("w1", "write_summary", &summary)]);
            }
            answered += 1;
            match answered {
                1 => two_tasks(),
                2 => Reply::text("Planned. ".repeat(4000).trim_end()),
                3 => Reply::prompt_too_long(),
                _ => Reply::text("Went on."),
            }
        });
        let url = server.url();
        let _ = run(&world, &url, model, &["-p", "plan"]).success();
        let went_on = run(&world, &url, model, &["--continue", "-p", "go on"]).success();
        assert_eq!(went_on, "Went on.\n");
        let last = server.requests().pop().unwrap();
        assert!(last.body.contains("TaskList"), "{}", last.body);
        assert!(last.body.contains("task_snapshot") || model.starts_with("openai"));
        server.finish();
    }
}

#[test]
fn what_a_provider_refuses_is_said_without_the_key() {
    let mut shown = Vec::new();
    for model in MODELS {
        for reply in [
            Reply::error(401, "authentication_error", "the key sk-secret is wrong"),
            Reply::error(404, "model_not_found", "no such model"),
            Reply::error(400, "invalid_request_error", "messages: bad"),
        ] {
            let world = World::new();
            let server = Server::script([reply]);
            let ran = run(&world, &server.url(), model, &["-p", "plan"]);
            let text = ran.shown(&world).replace(&server.url(), "[URL]");
            assert!(!text.contains("sk-secret"), "{text}");
            let address = server.url().replace("http://", "");
            shown.push(format!("{model}: {}", text.replace(&address, "[ADDRESS]")));
            server.finish();
        }
    }
    insta::assert_snapshot!(shown.join("\n\n"));
}
