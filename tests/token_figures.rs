//! What requests cost, as figures under version control: a change of a prompt, a schema or a result text
//! shows up here.
//!
//! A token is taken as four bytes of the request, as in the table of `docs/performance.md`.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::server::{Block, Reply, Server};

use crate::program::World;

fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// The bodies of all requests of a session, with the one thing in them that depends on the machine replaced.
fn bodies(replies: Vec<Reply>) -> Vec<String> {
    let world = World::new();
    let server = Server::script(replies);
    let mut command = world.command(&["-p", "Check the figures.", "--model", "claude-sonnet-4-5"]);
    command
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("ANTHROPIC_API_KEY", "none");
    World::finish(&mut command).success();
    let directory = world.work().display().to_string();
    let requests = server.requests();
    server.finish();
    requests
        .iter()
        .map(|request| request.body.replace(&directory, "/home/user/project"))
        .collect()
}

#[test]
fn the_first_request() {
    let bodies = bodies(vec![Reply::text("Done.")]);
    let body: Value = serde_json::from_str(&bodies[0]).unwrap();
    let tools = body["tools"].as_array().unwrap();
    let of_tasks = tools
        .iter()
        .filter(|tool| tool["name"].as_str().unwrap().starts_with("Task"));
    let sum = |tools: &mut dyn Iterator<Item = &Value>| {
        tokens(tools.map(|tool| tool.to_string().len()).sum())
    };
    let (task_tools, all_tools) = (sum(&mut of_tasks.clone()), sum(&mut tools.iter()));
    let whole = tokens(bodies[0].len());
    assert!(whole <= 2_500 && task_tools <= 600, "{whole} {task_tools}");
    assert_snapshot!(format!(
        "whole {whole}\nsystem prompt {}\ntools {all_tools}, of which task tools {task_tools}",
        tokens(body["system"].to_string().len()),
    ));
}

/// 100 tasks are made and completed, one call a turn.
#[test]
fn a_session_of_two_hundred_turns() {
    let mut replies: Vec<Reply> = (0..200)
        .map(|number| {
            let task = number / 2 + 1;
            let (name, input) = if number % 2 == 0 {
                let subject = format!("Check the figures of chapter {task} against the source");
                let description = format!(
                    "Read chapter {task}, compare each table with the measurement that it came from, and note what differs."
                );
                ("TaskCreate", json!({"subject": subject, "description": description}))
            } else {
                ("TaskUpdate", json!({"taskid": task, "status": "completed"}))
            };
            Reply::turn([Block::call(&format!("toolu_{number:08}"), name, &input)])
        })
        .collect();
    replies.push(Reply::text("All is done."));
    let sent: usize = bodies(replies).iter().map(|body| tokens(body.len())).sum();
    assert!(sent <= 2_700_000, "{sent}");
    assert_snapshot!(format!("{sent} tokens"));
}
