//! Long lines and JSON bombs: said, survived, and in bounded memory.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::server::{Block, Reply, Server};

use crate::program::{Ran, World};

/// The address space that a child gets, in KiB: what the program maps in a debug build, and a few
/// times the largest input of these tests. What grows with the input without a bound fails.
const ROOM: usize = 640 * 1024;

/// The same command with bounded memory.
fn bounded(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("ulimit -v {ROOM} && exec \"$0\" \"$@\"")])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        // One arena for all threads: each further one reserves address space that is not used.
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    if let Some(directory) = command.get_current_dir() {
        shell.current_dir(directory);
    }
    shell
}

/// Runs the command with bounded memory and this input, which is written piece by piece.
fn feed(command: &Command, pieces: &[(&[u8], usize)]) -> Ran {
    let mut child = bounded(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            for (piece, times) in pieces {
                for _ in 0..*times {
                    // A program that has seen enough is told by its exit code.
                    if stdin.write_all(piece).is_err() {
                        return;
                    }
                }
            }
        });
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    })
}

const MEGABYTE: usize = 1024 * 1024;

fn todo_line() -> Vec<u8> {
    let item = json!({"text": "the last", "completed": true});
    let line = json!({"type": "item.updated", "item": {"type": "todo_list", "items": [item]}});
    format!("{line}\n").into_bytes()
}

#[test]
fn a_log_with_long_lines_is_read_in_bounded_memory() {
    let world = World::new();
    let block = vec![b'x'; MEGABYTE];
    let last = todo_line();
    for (name, begin, times) in [
        (
            "a line of 10 MB",
            &b"{\"type\":\"user\",\"text\":\""[..],
            10,
        ),
        ("a line of 400 MB", b"{\"type\":\"user\",\"text\":\"", 400),
        ("400 MB that are no log", b"", 400),
        ("400 MB of brackets", b"[[[[", 400),
    ] {
        for arguments in [&["tasks", "-"][..], &["watch"]] {
            let end: &[u8] = if begin.is_empty() { b"\n" } else { b"\"}\n" };
            let first = todo_line();
            let pieces = [
                (&*first, 1),
                (begin, 1),
                (&*block, times),
                (end, 1),
                (&*last, 1),
            ];
            let ran = feed(&world.command(arguments), &pieces);
            assert!(
                matches!(ran.code, Some(0 | 3)),
                "{name}: {:?} {}",
                ran.code,
                ran.stderr
            );
            assert!(ran.stdout.contains("the last"), "{name}: {}", ran.stdout);
            // What may hold something is told when it is left out.
            assert!(
                times < 100 || ran.stderr.contains("too long"),
                "{name}: {}",
                ran.stderr
            );
        }
    }
}

/// Its last line is whole, so it cannot be cut off as torn.
#[test]
fn a_session_with_a_line_that_is_too_long_is_refused_in_bounded_memory() {
    let world = World::new();
    world.write(
        "script.txt",
        "assistant:\n  > TaskCreate {\"subject\":\"kept\",\"description\":\"\"}\nassistant: Done.\nassistant: More.\n",
    );
    let _ = world
        .pod(&["-p", "x", "--model", "scripted:script.txt"])
        .success();
    let log = world.session().join("0001.jsonl");
    let good = std::fs::read(&log).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
    for _ in 0..200 {
        file.write_all(&vec![b'x'; MEGABYTE]).unwrap();
    }
    file.write_all(b"\n").unwrap();
    file.write_all(good.split_inclusive(|byte| *byte == b'\n').nth(1).unwrap())
        .unwrap();
    drop(file);
    let arguments = ["--continue", "-p", "y", "--model", "scripted:script.txt"];
    let ran = feed(&world.command(&arguments), &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("has more than") && ran.stderr.contains("--salvage"),
        "{}",
        ran.stderr
    );
    let ran = feed(&world.command(&["verify"]), &[]);
    assert_eq!(ran.code, Some(1), "{} {}", ran.stdout, ran.stderr);
    let arguments = [&arguments[..], &["--salvage"]].concat();
    let ran = feed(&world.command(&arguments), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let listed = world.pod(&["tasks", "--json"]).success();
    assert!(listed.contains("kept"), "{listed}");
}

#[test]
fn long_lines_and_bombs_on_standard_input_of_the_protocol_are_told() {
    let world = World::new();
    world.write("script.txt", "assistant: Done.\nassistant: Done.\n");
    let arguments = [
        "--output-format",
        "stream-json",
        "--input-format",
        "stream-json",
        "--model",
        "scripted:script.txt",
    ];
    let block = vec![b'x'; MEGABYTE];
    let deep = vec![b'['; MEGABYTE];
    let user = b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n";
    let pieces: [(&[u8], usize); 12] = [
        (b"{\"type\":\"control_request\",\"request_id\":\"1\",\"request\":{\"subtype\":\"initialize\"}}\n", 1),
        (&block, 200),
        (b"\n", 1),
        (b"{\"type\":\"keep_alive\",\"x\":", 1),
        (&deep, 3),
        (b"\n", 1),
        (b"{\"type\":\"user\",\"type\":\"keep_alive\",\"n\":1e99999}\n", 1),
        (b"{\"type\":\"keep_alive\",\"text\":\"", 1),
        (&block, 10),
        (b"\"}\n", 1),
        (user, 1),
        (b"", 1),
    ];
    let ran = feed(&world.command(&arguments), &pieces);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("it is too long"), "{}", ran.stderr);
    assert!(ran.stderr.contains("recursion limit"), "{}", ran.stderr);
    assert!(ran.stderr.contains("number out of range"), "{}", ran.stderr);
    assert!(ran.stderr.len() < 4000, "{} bytes", ran.stderr.len());
    let last = ran.stdout.lines().last().unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(
        (&last["type"], &last["subtype"]),
        (&json!("result"), &json!("success"))
    );
}

/// Each is answered with an error that the model can act on; the session goes on, and every request is
/// one that the provider takes.
#[test]
fn bombs_in_the_arguments_of_a_call_are_answered() {
    let levels = 20_000;
    let deep = format!(
        "{{\"subject\":{}{}}}",
        "[".repeat(levels),
        "]".repeat(levels)
    );
    let wide = format!(
        "{{\"subject\":[{}1],\"description\":\"\"}}",
        "1,".repeat(50_000)
    );
    let arguments = [
        deep,
        wide,
        String::from("{\"taskid\":1e999,\"status\":\"completed\"}"),
        format!(
            "{{\"taskid\":{},\"status\":\"completed\"}}",
            "9".repeat(20_000)
        ),
        String::from("{\"taskid\":1,\"taskid\":2,\"status\":\"deleted\"}"),
        String::from("{\"taskid\":1,\"taskId\":1,\"status\":\"deleted\"}"),
        String::from("{\"taskid\":1,\"status\":\"\\ud83d\"}"),
        String::from("\u{feff}{}"),
        String::from("{\"taskid\":1,\"status\":\"completed\"} trailing"),
    ];
    for model in [
        "claude-sonnet-4-5",
        "openai:gpt-4o",
        "openai-responses:gpt-5.1",
    ] {
        let world = World::new();
        let mut first = vec![Block::call(
            "c0",
            "TaskCreate",
            &json!({"subject": "kept", "description": ""}),
        )];
        let bombs = arguments.iter().enumerate();
        first.extend(bombs.map(|(number, text)| {
            let name = if number < 2 {
                "TaskCreate"
            } else {
                "TaskUpdate"
            };
            Block::raw_call(&format!("c{}", number + 1), name, text)
        }));
        let server = Server::script([
            Reply::turn(first),
            Reply::text("Done."),
            Reply::text("Went on."),
        ]);
        let run = |arguments: &[&str]| {
            let mut command = world.command(arguments);
            command
                .args(["--model", model])
                .env("ANTHROPIC_BASE_URL", server.url())
                .env("OPENAI_BASE_URL", server.url())
                .env("ANTHROPIC_API_KEY", "key")
                .env("OPENAI_API_KEY", "key");
            feed(&command, &[]).success()
        };
        assert_eq!(run(&["-p", "plan"]), "Done.\n");
        assert_eq!(run(&["--continue", "-p", "go on"]), "Went on.\n");
        let listed = world.pod(&["tasks", "--json"]).success();
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let tasks = listed["tasks"].as_array().unwrap();
        assert_eq!(tasks.len(), 1, "{listed}");
        assert_eq!(tasks[0]["subject"], "kept");
        assert_eq!(tasks[0]["status"], "pending", "no bomb changed it");
        let _ = world.pod(&["verify"]).success();
        server.finish();
    }
}
