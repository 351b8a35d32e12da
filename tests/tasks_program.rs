//! `pod tasks` and `pod watch` as programs: what stands on standard output, what on standard error, and
//! how they end.

use std::io::Write as _;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::program::World;

/// A stream of `claude -p --output-format stream-json`: two tasks are made, one is done, one call fails.
fn stream() -> String {
    let call = |id: &str, name: &str, input: Value| {
        json!({"type": "assistant", "session_id": "s", "uuid": format!("a-{id}"), "message": {
            "id": format!("m-{id}"), "role": "assistant",
            "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}})
    };
    let result = |id: &str, text: &str, is_error: bool, value: Value| {
        json!({"type": "user", "session_id": "s", "uuid": format!("r-{id}"), "message": {
            "role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]},
            "tool_use_result": value})
    };
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w", "tools": []}),
        call(
            "c1",
            "TaskCreate",
            json!({"subject": "Write \u{1b}[31mit", "description": "All."}),
        ),
        result(
            "c1",
            "Task #1 created successfully: Write it",
            false,
            json!({"task": {"id": "1", "subject": "Write it"}}),
        ),
        call(
            "c2",
            "TaskCreate",
            json!({"subject": "Test it", "description": "Each part.", "activeForm": "Testing it"}),
        ),
        result(
            "c2",
            "Task #2 created successfully: Test it",
            false,
            json!({"task": {"id": "2", "subject": "Test it"}}),
        ),
        call(
            "c3",
            "TaskUpdate",
            json!({"taskId": "1", "status": "completed"}),
        ),
        result(
            "c3",
            "Updated task #1 status",
            false,
            json!({"success": true, "taskId": "1", "updatedFields": ["status"]}),
        ),
        call(
            "c4",
            "TaskUpdate",
            json!({"taskId": "2", "status": "in_progress"}),
        ),
        result(
            "c4",
            "Updated task #2 status",
            false,
            json!({"success": true, "taskId": "2", "updatedFields": ["status"]}),
        ),
        call(
            "c5",
            "TaskUpdate",
            json!({"taskId": "2", "status": "completed"}),
        ),
        result("c5", "not allowed", true, json!("Error: not allowed")),
        json!({"type": "result", "subtype": "success", "session_id": "s", "result": "done"}),
    ];
    lines.map(|line| line.to_string() + "\n").concat()
}

/// Without the time that passed, at the begin of a line.
fn without_times(text: &str) -> String {
    let steady = text.lines().map(|line| match line.split_once("  [") {
        Some((time, rest)) if time.contains(':') => format!("[TIME]  [{rest}"),
        _ => line.to_owned(),
    });
    steady.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_list_of_a_stream_by_name_and_on_standard_input() {
    let world = World::new();
    world.write("stream.jsonl", &stream());
    let by_name = world.pod(&["tasks", "stream.jsonl"]);
    assert_snapshot!(by_name.shown(&world));
    let piped = world.pod_with_input(&["tasks", "-", "--json"], &stream());
    let told: Value = serde_json::from_str(&piped.stdout).unwrap();
    assert_eq!(told["format"], "claude-stream-json");
    assert_eq!(told["tasks"][0]["status"], "completed");
    assert_eq!(
        told["tasks"][1]["status"], "in_progress",
        "the failed call changed nothing"
    );
}

#[test]
fn the_exit_code_tells_what_was_there() {
    let world = World::new();
    world.write("stream.jsonl", &stream());
    world.write(
        "cut.jsonl",
        stream().trim_end().trim_end_matches(|it| it != 'r'),
    );
    world.write("nothing.txt", "no log at all\n");
    for (name, code) in [
        ("stream.jsonl", 0),
        ("cut.jsonl", 3),
        ("nothing.txt", 4),
        ("missing.jsonl", 1),
    ] {
        let ran = world.pod(&["tasks", name]);
        assert_eq!(ran.code, Some(code), "{name}: {}{}", ran.stdout, ran.stderr);
    }
    assert_eq!(world.pod(&["tasks", "--no-such-flag"]).code, Some(2));
}

#[test]
fn watch_sits_in_a_pipe_and_passes_the_stream_on() {
    let world = World::new();
    let shown = world.pod_with_input(&["watch"], &stream());
    assert_snapshot!(without_times(&shown.shown(&world)));
    let teed = world.pod_with_input(&["watch", "--tee"], &stream());
    assert_eq!(teed.stdout, stream(), "byte for byte");
    assert!(teed.stderr.contains("Test it"), "{}", teed.stderr);
    assert!(!teed.stderr.contains('\u{1b}'), "nothing drives a terminal");
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let world = World::new();
    world.write("stream.jsonl", &stream());
    let shell = format!(
        "{pod} tasks stream.jsonl --timeline | head -n 1; exit ${{PIPESTATUS[0]}}",
        pod = env!("CARGO_BIN_EXE_pod")
    );
    let ran = World::finish(
        Command::new("bash")
            .args(["-c", &shell])
            .current_dir(world.work())
            .env("HOME", world.work())
            .stdin(Stdio::null()),
    );
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(0), ""),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_stream_in_pieces_is_watched_to_its_end() {
    let world = World::new();
    let mut child = world
        .command(&["watch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // In pieces that end in the middle of a line, and of a character.
    for piece in stream().as_bytes().chunks(97) {
        input.write_all(piece).unwrap();
        input.flush().unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(shown.contains("1 of 2 done: 1 in progress"), "{shown}");
}
