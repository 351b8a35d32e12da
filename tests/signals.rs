//! The program is asked to stop, or is killed, while it works.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::program::World;

/// How long anything may take. Only a test that fails waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

fn wait_until<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(begin.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn start(world: &World, arguments: &[&str]) -> Child {
    let mut command: Command = world.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// The lines of the only session's log, once it has one that the test waits for.
fn log_with(world: &World, wanted: &str) -> Vec<Value> {
    wait_until(wanted, || {
        let log = world.log()?;
        log.contains(wanted).then_some(log)
    })
    .lines()
    .filter_map(|line| serde_json::from_str(line).ok())
    .collect()
}

/// A shell command that tells its process id and goes on for long, and a task call behind it.
const SCRIPT: &str = r#"
assistant:
  > TaskCreate {"subject":"wait","description":"For the command."}
assistant:
  > Bash {"command":"echo $$ > pid; sleep 60"}
  > TaskUpdate {"taskid":1,"status":"completed"}
assistant: never said
"#;

const ARGUMENTS: [&str; 6] = [
    "-p",
    "work",
    "--model",
    "scripted:script.txt",
    "--allowedTools",
    "Bash",
];

fn pid_of_the_command(world: &World) -> Pid {
    wait_until("the command", || {
        let text = std::fs::read_to_string(world.work().join("pid")).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    })
}

#[test]
fn an_interrupt_ends_the_run_the_command_and_nothing_else() {
    for signal in [Signal::INT, Signal::TERM] {
        let world = World::new();
        world.write("script.txt", SCRIPT);
        let child = start(&world, &ARGUMENTS);
        let command = pid_of_the_command(&world);
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let stderr = String::from_utf8(output.stderr).unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.steady(&stderr), @"pod: interrupted; go on with --resume [ID]");
        }
        wait_until("the end of the command", || {
            test_kill_process(command).is_err().then_some(())
        });

        let results: Vec<Value> = log_with(&world, "interrupted the work")
            .into_iter()
            .filter(|line| line["type"] == "tool_result")
            .collect();
        assert_eq!(results.len(), 3);
        assert_eq!(results[1]["is_error"], true);
        assert_eq!(
            results[2]["is_error"], true,
            "a call that never ran took effect"
        );
        let _ = world.pod(&["verify"]).success();
    }
}

#[test]
fn br_021_a_killed_process_is_continued_from_its_log() {
    let world = World::new();
    world.write("script.txt", SCRIPT);
    let mut child = start(&world, &ARGUMENTS);
    let command = pid_of_the_command(&world);
    child.kill().unwrap();
    child.wait().unwrap();
    // Nobody is left to end it.
    let _ = kill_process(command, Signal::KILL);

    world.write("more.txt", "assistant: -\nassistant: -\nassistant: back\n");
    let out = world
        .pod(&[
            "--continue",
            "-p",
            "go on",
            "--model",
            "scripted:more.txt",
            "--output-format",
            "json",
        ])
        .success();
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["result"], "back");
    assert_eq!(result["counts"]["pending"], 1);
    assert_eq!(result["counts"]["completed"], 0);
    let _ = world.pod(&["verify"]).success();
}

#[test]
fn a_second_process_is_refused_with_the_pid_of_the_first() {
    let world = World::new();
    world.write("script.txt", SCRIPT);
    let mut child = start(&world, &ARGUMENTS);
    let command = pid_of_the_command(&world);
    let ran = world.pod(&[
        "--continue",
        "-p",
        "me too",
        "--model",
        "scripted:script.txt",
    ]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains(&format!("pid {}", child.id())),
        "{}",
        ran.stderr
    );
    // Looking is allowed while somebody works, and so is a copy.
    let _ = world.pod(&["sessions"]).success();
    let _ = world.pod(&["verify"]).success();

    child.kill().unwrap();
    child.wait().unwrap();
    let _ = kill_process(command, Signal::KILL);
    // The lock of a dead process does not block.
    world.write("more.txt", "assistant: -\nassistant: -\nassistant: back\n");
    let ran = world.pod(&["--continue", "-p", "go on", "--model", "scripted:more.txt"]);
    assert_eq!(ran.success(), "back\n");
}
