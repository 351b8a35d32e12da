//! Whoever waits for the program, or whom it waits for, goes away: by a signal, by closing an end of a
//! pipe, by not reading any more.
//!
//! Each time it ends, what it started ends with it, and its log is in order and can be gone on with.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use testkit::server::{Block, Reply, Server};

use crate::program::World;

/// How long anything may take. Only a test that fails waits so long.
const PATIENCE: Duration = Duration::from_mins(5);

/// A task, then a command that starts another process and waits for it, and a task call behind it.
const SCRIPT: &str = r#"
assistant:
  > TaskCreate {"subject":"wait","description":"For the command."}
assistant:
  > Bash {"command":"sleep 300 & echo $! > grandchild; echo $$ > child; wait"}
  > TaskUpdate {"taskid":1,"status":"completed"}
assistant: never said
"#;

const RUN: [&str; 6] = [
    "-p",
    "work",
    "--model",
    "scripted:script.txt",
    "--allowedTools",
    "Bash,TaskCreate,TaskUpdate",
];

const PROTOCOL: [&str; 7] = [
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--include-partial-messages",
    "--model=scripted:script.txt",
    "--permission-mode=bypassPermissions",
    "--allowedTools",
    "Bash,TaskCreate,TaskUpdate",
];

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

fn world() -> World {
    let world = World::new();
    world.write("script.txt", SCRIPT);
    world
}

fn piped(mut command: Command) -> Child {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// The processes of the command, once they run.
fn processes(world: &World) -> [Pid; 2] {
    ["grandchild", "child"].map(|name| {
        wait_until(name, || {
            let text = std::fs::read_to_string(world.work().join(name)).ok()?;
            Pid::from_raw(text.trim().parse().ok()?)
        })
    })
}

/// Whether a process has ended. Where nobody asks how orphans ended they stay, as zombies.
fn is_gone(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let is_zombie =
        stat.is_ok_and(|it| it.rsplit_once(") ").is_some_and(|it| it.1.starts_with('Z')));
    is_zombie || test_kill_process(pid).is_err()
}

fn ended(child: &mut Child) -> ExitStatus {
    wait_until("the end of the program", || child.try_wait().unwrap())
}

/// That nothing runs any more, the log is in order, what did not happen is not in the list, and the
/// session goes on.
fn check_afterwards(world: &World, processes: &[Pid]) {
    for process in processes {
        wait_until("the end of a process", || is_gone(*process).then_some(()));
    }
    let _ = world.pod(&["verify"]).success();
    world.write(
        "more.txt",
        "assistant: back\nassistant: back\nassistant: back\n",
    );
    let out = world.pod(&[
        "--continue",
        "-p",
        "go on",
        "--model",
        "scripted:more.txt",
        "--output-format",
        "json",
    ]);
    let result: Value = serde_json::from_str(&out.success()).unwrap();
    assert_eq!(result["result"], "back");
    assert_eq!(result["counts"]["pending"], 1, "{result}");
    assert_eq!(result["counts"]["completed"], 0, "{result}");
    let _ = world.pod(&["verify"]).success();
}

/// Whether a hangup reaches what this process starts. Under `nohup` it does not.
fn has_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let has_it = mask.is_some_and(|mask| mask & 1 == 0);
    if !has_it {
        eprintln!("skipped: the hangup, which is ignored here");
    }
    has_it
}

#[test]
fn every_signal_that_asks_for_an_end_takes_the_command_along_in_every_format() {
    for format in ["text", "json", "stream-json"] {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            if signal == Signal::HUP && !has_hangup() {
                continue;
            }
            let world = world();
            let mut command = world.command(&RUN);
            command.args(["--output-format", format]);
            let mut child = piped(command);
            let processes = processes(&world);
            send(&child, signal);
            let code = ended(&mut child).code();
            let expected = if format == "stream-json" { 143 } else { 1 };
            assert_eq!(code, Some(expected), "{format}, {signal:?}");
            check_afterwards(&world, &processes);
        }
    }
}

/// `nohup` lets a program outlive its terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_hangup_that_is_to_be_ignored_is_ignored() {
    let world = World::new();
    world.write(
        "script.txt",
        "assistant:\n  > Bash {\"command\":\"echo > here; sleep 0.5\"}\nassistant: done\n",
    );
    let mut command = world.command(&[]);
    command = {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "trap '' HUP; exec \"$0\" \"$@\""])
            .arg(command.get_program())
            .args(RUN)
            .current_dir(world.work())
            .envs(
                command
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .stdin(Stdio::null());
        shell
    };
    let child = piped(command);
    wait_until("the command", || {
        world.work().join("here").exists().then_some(())
    });
    send(&child, Signal::HUP);
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
}

/// While a model does not answer, while its answer stops in the middle, while it is asked again later,
/// and while a worker writes a summary.
#[test]
fn a_signal_while_the_model_is_silent_ends_the_run() {
    let create = || {
        let arguments = json!({"subject": "wait", "description": "d"});
        let talk = "I see. ".repeat(9_000);
        let call = Block::call("c1", "TaskCreate", &arguments);
        Reply::turn([Block::text(talk.trim_end()), call]).usage(llm::Usage {
            input: 150_000,
            output: 1_000,
            ..llm::Usage::default()
        })
    };
    for (silence, threshold) in [
        (Reply::text("never").stall(), "90%"),
        (Reply::text("never said to its end").stall_after(300), "90%"),
        (Reply::overloaded().header("retry-after", "600"), "90%"),
        // The next request is that of the worker.
        (Reply::text("never").stall(), "50%"),
    ] {
        for format in ["text", "stream-json"] {
            let world = World::new();
            let server = Server::script([create(), silence.clone()]);
            let mut command = world.command(&["-p", "work", "--model", "claude-sonnet-4-5"]);
            command
                .args(["--output-format", format])
                .env("ANTHROPIC_BASE_URL", server.url())
                .env("ANTHROPIC_API_KEY", "sk-test")
                .env("POD_COMPACT_REQUEST_THRESHOLD", threshold);
            let mut child = piped(command);
            let mut stdout = child.stdout.take().unwrap();
            let reader = std::thread::spawn(move || {
                let mut text = String::new();
                stdout.read_to_string(&mut text).map(|_| text)
            });
            wait_until("the request", || {
                (server.requests().len() == 2).then_some(())
            });
            let is_workers = server.requests()[1].body.contains("write_summary");
            assert_eq!(is_workers, threshold == "50%");
            send(&child, Signal::INT);
            assert!(ended(&mut child).code().is_some_and(|code| code != 0));
            reader.join().unwrap().unwrap();
            check_afterwards(&world, &[]);
            server.finish();
        }
    }
}

/// Through a shell, as people close them.
fn shell(world: &World, line: &str) -> (Option<i32>, String, String) {
    let pod = world.command(&[]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(world.work())
        .envs(
            pod.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("POD", pod.get_program())
        .stdin(Stdio::null());
    let mut child = piped(shell);
    let status = ended(&mut child);
    let mut texts = [String::new(), String::new()];
    child.stdout.unwrap().read_to_string(&mut texts[0]).unwrap();
    child.stderr.unwrap().read_to_string(&mut texts[1]).unwrap();
    let [stdout, stderr] = texts;
    (status.code(), stdout, stderr)
}

const SHORT: &str = r#"
assistant: I begin.
  > TaskCreate {"subject":"first","description":"d"}
assistant: One.
"#;

/// A world with a session that holds a task.
fn worked() -> World {
    let world = World::new();
    world.write("script.txt", SHORT);
    let model = "scripted:script.txt";
    let _ = world.pod(&["-p", "work", "--model", model]).success();
    world
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let world = worked();
    world.write(
        "again.txt",
        "assistant: -\nassistant: -\nassistant: a\n\n  b\n",
    );
    for line in [
        "tasks",
        "tasks --json",
        "tasks --timeline",
        "sessions",
        "sessions --json",
        "verify",
        "verify --json",
        "--help",
        "demo",
        "-p hi --model scripted:script.txt",
        "-p hi --model scripted:script.txt --output-format json",
        "-p hi --model scripted:script.txt --output-format stream-json --allowedTools TaskCreate",
    ] {
        // The reader is gone before the program begins.
        let pipe = format!("{{ sleep 0.1; \"$POD\" {line}; echo $? > code; }} | true; wait");
        let (_, stdout, stderr) = shell(&world, &pipe);
        assert_eq!(stdout, "", "{line}");
        assert!(!stderr.contains("panicked"), "{line}: {stderr}");
        assert!(!stderr.contains("Broken pipe"), "{line}: {stderr}");
        let code = wait_until("the exit code", || {
            let code = std::fs::read_to_string(world.work().join("code")).ok()?;
            code.ends_with('\n').then_some(code)
        });
        assert_eq!(code, "0\n", "{line}: {stderr}");
        std::fs::remove_file(world.work().join("code")).unwrap();
    }
    let first =
        "\"$POD\" -p hi --model scripted:script.txt --output-format stream-json | head -n 1";
    let (code, stdout, _) = shell(&world, first);
    assert_eq!((code, stdout.lines().count()), (Some(0), 1));
    let _ = world.pod(&["verify"]).success();
}

/// An answer that cannot be written is not given: who asked must not take it for an empty one.
#[cfg(target_os = "linux")]
#[test]
fn br_112_an_answer_that_finds_no_room_is_an_error() {
    for line in [
        "-p hi --model scripted:script.txt",
        "-p hi --model scripted:script.txt --output-format json",
        "-p hi --model scripted:script.txt --output-format stream-json",
        "tasks",
        "tasks --json",
        "sessions",
        "verify",
    ] {
        let world = worked();
        world.write(
            "script.txt",
            "assistant: -\nassistant: -\nassistant: One.\n",
        );
        let (code, _, stderr) = shell(&world, &format!("\"$POD\" {line} > /dev/full"));
        assert_eq!(code, Some(1), "{line}: {stderr}");
        assert!(stderr.contains("No space left"), "{line}: {stderr}");
        assert_eq!(stderr.matches("pod: ").count(), 1, "{line}: {stderr}");
        let _ = world.pod(&["verify"]).success();
    }
}

#[test]
fn streams_that_are_closed_from_the_beginning_are_survived() {
    for (closed, expected) in [
        ("<&-", "One.\n"),
        ("2>&-", "One.\n"),
        (">&-", ""),
        ("<&- >&- 2>&-", ""),
    ] {
        let world = World::new();
        world.write("script.txt", SHORT);
        let line = format!("\"$POD\" -p hi --model scripted:script.txt {closed}");
        let (code, stdout, stderr) = shell(&world, &line);
        assert_eq!(
            (code, stdout.as_str()),
            (Some(0), expected),
            "{closed}: {stderr}"
        );
        let _ = world.pod(&["verify"]).success();
    }
}

fn user(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

/// A program that reads for a while, stops reading, and goes away at last: its end is noticed although
/// the pipe is full.
#[test]
fn a_client_that_stops_reading_and_goes_away_takes_the_command_along() {
    let world = world();
    let talk = "assistant: ".to_owned() + &"many words ".repeat(40_000) + "\n" + SCRIPT;
    world.write("script.txt", &talk);
    let mut command = world.command(&PROTOCOL);
    command.stdin(Stdio::piped());
    let mut child = piped(command);
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", user("Talk.")).unwrap();
    writeln!(stdin, "{}", user("Work.")).unwrap();
    let mut stdout = BufReader::with_capacity(100, child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("\"init\""), "{line}");
    std::thread::sleep(Duration::from_millis(500));
    assert!(
        child.try_wait().unwrap().is_none(),
        "it waits for its reader"
    );
    drop(stdout);
    // Standard input stays open.
    ended(&mut child);
    drop(stdin);
    let _ = world.pod(&["verify"]).success();
}

/// The reader goes away while a command runs and nothing is written.
#[test]
fn a_client_that_goes_away_while_a_command_runs_takes_it_along() {
    for closes_input in [true, false] {
        let world = world();
        let mut command = world.command(&PROTOCOL);
        command.stdin(Stdio::piped());
        let mut child = piped(command);
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{}", user("Work.")).unwrap();
        let processes = processes(&world);
        let stdin = (!closes_input).then_some(stdin);
        drop(child.stdout.take());
        ended(&mut child);
        drop(stdin);
        check_afterwards(&world, &processes);
    }
}

/// The end of the input alone ends nothing that was asked for; a signal does, and nothing is left.
#[test]
fn input_that_ends_while_a_command_runs_lets_it_run() {
    let world = world();
    let mut command = world.command(&PROTOCOL);
    command.stdin(Stdio::piped());
    let mut child = command
        .stdout(File::create(world.home().with_extension("out")).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{}", user("Work.")).unwrap();
    let processes = processes(&world);
    std::thread::sleep(Duration::from_millis(100));
    assert!(child.try_wait().unwrap().is_none());
    assert!(!is_gone(processes[0]));
    send(&child, Signal::TERM);
    assert_eq!(ended(&mut child).code(), Some(143));
    check_afterwards(&world, &processes);
}
