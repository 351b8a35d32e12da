//! The Agent SDK protocol, with the real binary: whatever stands on standard input, the program goes
//! on, answers what can be answered, and ends when its input does.

use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::program::World;

/// How long the program may take to end once its input has. A debug build on a busy machine gets more
/// than the second that it is to be.
const PATIENCE: Duration = Duration::from_secs(20);

/// The longest line that the Python SDK reads.
const LONGEST_LINE: usize = 1024 * 1024;

/// A model that works through its list and has then nothing more to say.
const SCRIPT: &str = r#"
assistant: I begin.
  > TaskCreate {"subject":"first","description":""}
assistant:
  > TaskUpdate {"taskid":1,"status":"completed"}
  > TaskList {}
assistant: One.
assistant: Two.
assistant: Three.
"#;

fn start(world: &World, more: &[&str]) -> Child {
    world.write("script.txt", SCRIPT);
    let mut arguments = vec![
        "--output-format",
        "stream-json",
        "--input-format",
        "stream-json",
        "--model",
        "scripted:script.txt",
    ];
    arguments.extend(more);
    let mut command = world.command(&arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// What the program wrote, and how it ended.
struct Ended {
    lines: Vec<Value>,
    code: Option<i32>,
    stderr: String,
}

/// Writes the input, closes it, and waits for the end.
fn feed(world: &World, input: &[u8], more: &[&str]) -> Result<Ended, TestCaseError> {
    let mut child = start(world, more);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A program that ends before it has read all is told by its exit code.
        let _ = stdin.write_all(&input);
    });
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.read_to_string(&mut text);
        text
    });
    writer.join().unwrap();
    let code = wait(&mut child)?;
    let bytes = reader.join().unwrap();
    prop_assert!(bytes.is_empty() || bytes.ends_with(b"\n"), "half a line");
    let mut lines = Vec::new();
    for line in bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        prop_assert!(line.len() <= LONGEST_LINE, "a line of {} bytes", line.len());
        lines.push(
            serde_json::from_slice(line).map_err(|error| TestCaseError::fail(error.to_string()))?,
        );
    }
    Ok(Ended {
        lines,
        code,
        stderr: errors.join().unwrap(),
    })
}

fn wait(child: &mut Child) -> Result<Option<i32>, TestCaseError> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Ok(status.code());
        }
        if begin.elapsed() > PATIENCE {
            let _ = child.kill();
            return Err(TestCaseError::fail("it does not end"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn user(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

fn request(id: &str, subtype: &str) -> Value {
    json!({"type": "control_request", "request_id": id, "request": {"subtype": subtype}})
}

/// A line, whole and right.
fn line() -> BoxedStrategy<Value> {
    let subtype = prop::sample::select(vec![
        "initialize",
        "interrupt",
        "set_permission_mode",
        "set_model",
        "set_max_thinking_tokens",
        "mcp_status",
        "get_context_usage",
        "rewind_files",
        "mcp_reconnect",
        "stop_task",
        "dance",
        "",
    ]);
    let id = "[a-c]";
    prop_oneof![
        3 => ".{0,8}".prop_map(|text| user(&text)),
        1 => Just(user("/compact")),
        1 => Just(json!({"type": "user", "message": {"content": [
            {"type": "text", "text": "hi"}, {"type": "image", "source": {"type": "url"}}, {"type": "x"}, 7]}})),
        4 => (id, subtype).prop_map(|(id, subtype)| request(&id, subtype)),
        1 => (id, any::<bool>()).prop_map(|(id, good)| json!({"type": "control_response", "response": {
            "subtype": if good { "success" } else { "error" }, "request_id": id, "response": {}}})),
        1 => Just(json!({"type": "control_request", "request_id": "h", "request": {"subtype": "initialize",
            "hooks": {"PreToolUse": [{"matcher": "(", "hookCallbackIds": ["x"], "timeout": 0.05}], "Stop": 7},
            "sdkMcpServers": [], "systemPrompt": ["a"], "agents": {}}})),
        1 => Just(json!({"type": "keep_alive"})),
        1 => value(),
    ]
    .boxed()
}

/// Any JSON at all.
fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let key = prop::sample::select(vec![
            "type",
            "message",
            "content",
            "request",
            "request_id",
            "response",
            "x",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4).prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
    .boxed()
}

/// The bytes of a line as they may arrive: whole, cut, or not even text.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => line().prop_map(|line| line.to_string().into_bytes()),
        1 => (line(), any::<prop::sample::Index>()).prop_map(|(line, cut)| {
            let mut bytes = line.to_string().into_bytes();
            bytes.truncate(cut.index(bytes.len()));
            bytes
        }),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => Just(Vec::new()),
        1 => Just(user(&"x".repeat(300_000)).to_string().into_bytes()),
    ]
}

#[test]
fn any_input_is_survived_and_its_end_is_the_end() {
    let config = Config {
        cases: 40,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let inputs = prop::collection::vec(bytes(), 0..12);
    runner
        .run(&inputs, |lines| {
            let world = World::new();
            let input = lines.join(&b'\n');
            let ended = feed(&world, &input, &[])?;
            prop_assert!(
                matches!(ended.code, Some(0 | 1)),
                "{:?}: {}",
                ended.code,
                ended.stderr
            );
            prop_assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
            // Each request that could be read has one answer.
            let asked = input
                .split(|byte| *byte == b'\n')
                .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
                .filter(|line| line["type"] == "control_request" && line["request_id"].is_string())
                .count();
            let answers = ended
                .lines
                .iter()
                .filter(|line| line["type"] == "control_response");
            let answered = answers.count();
            let failed = ended
                .lines
                .iter()
                .any(|line| line["num_turns"] == 0 && line["errors"] != json!([]));
            prop_assert!(
                answered == asked || failed,
                "{asked} asked, {answered} answered"
            );
            // The exit code is that of the last result.
            let last = ended.lines.iter().rfind(|line| line["type"] == "result");
            let is_error = last.is_some_and(|line| line["is_error"] == json!(true));
            prop_assert_eq!(ended.code, Some(i32::from(is_error)));
            Ok(())
        })
        .unwrap();
}

#[test]
fn nothing_on_standard_input_is_nothing_to_do() {
    let ended = feed(&World::new(), b"", &[]).unwrap();
    assert_eq!(
        (ended.code, ended.lines.len()),
        (Some(0), 0),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_last_line_needs_no_newline() {
    let ended = feed(&World::new(), user("Go.").to_string().as_bytes(), &[]).unwrap();
    let last = ended.lines.last().unwrap();
    assert_eq!(
        (&last["result"], ended.code),
        (&json!("One."), Some(0)),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_interrupt_before_there_is_anything_to_interrupt() {
    let input = [
        request("1", "interrupt"),
        request("2", "initialize"),
        user("Go."),
    ];
    let input = input.map(|line| line.to_string()).join("\n");
    let ended = feed(&World::new(), input.as_bytes(), &[]).unwrap();
    assert_eq!(
        ended.lines.last().unwrap()["result"],
        "One.",
        "{}",
        ended.stderr
    );
}

#[test]
fn the_end_of_the_input_does_not_stop_the_run() {
    let world = World::new();
    world.write("slow.txt", "delay: 400ms\nassistant: Slowly.\n");
    let flags = [
        "--output-format=stream-json",
        "--input-format=stream-json",
        "--model=scripted:slow.txt",
    ];
    let ran = world.pod_with_input(&flags, &user("Go.").to_string());
    let last: Value = serde_json::from_str(ran.success().lines().last().unwrap()).unwrap();
    assert_eq!(last["result"], "Slowly.");
}

#[test]
fn questions_that_nobody_can_answer_any_more_are_denials() {
    let world = World::new();
    world.write(
        "ask.txt",
        "assistant:\n  > Bash {\"command\":\"id\"}\nassistant: Then not.\n",
    );
    let mut command = world.command(&[
        "--output-format=stream-json",
        "--input-format=stream-json",
        "--permission-prompt-tool=stdio",
        "--model=scripted:ask.txt",
    ]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{}", user("Go.")).unwrap();
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(wait(&mut child).unwrap(), Some(0));
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["result"], "Then not.");
    assert_eq!(last["permission_denials"][0]["tool_name"], "Bash");
}

#[test]
fn a_program_that_goes_away_ends_the_run() {
    let world = World::new();
    world.write(
        "slow.txt",
        "assistant:\n  > Bash {\"command\":\"sleep 60\"}\nassistant: Done.\n",
    );
    let mut command = world.command(&[
        "--output-format=stream-json",
        "--input-format=stream-json",
        "--permission-mode=bypassPermissions",
        "--model=scripted:slow.txt",
    ]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", user("Go.")).unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0];
    stdout.read_exact(&mut first).unwrap();
    // Standard input stays open: only the reader is gone, while nothing is written.
    std::thread::sleep(Duration::from_millis(300));
    drop(stdout);
    wait(&mut child).unwrap();
    drop(stdin);
}

#[test]
fn a_program_that_reads_nothing_can_still_end_it() {
    let world = World::new();
    let mut child = start(&world, &["--include-partial-messages"]);
    let mut stdin = child.stdin.take().unwrap();
    for _ in 0..2000 {
        writeln!(stdin, "{}", request("x", "mcp_status")).unwrap();
    }
    let stdout = child.stdout.take().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(
        child.try_wait().unwrap().is_none(),
        "it waits for its reader"
    );
    drop((stdout, stdin));
    wait(&mut child).unwrap();
}

#[cfg(unix)]
#[test]
fn a_program_that_reads_nothing_does_not_keep_it_from_being_ended() {
    use rustix::process::{Pid, Signal, kill_process};
    let world = World::new();
    let mut child = start(&world, &[]);
    let mut stdin = child.stdin.take().unwrap();
    for _ in 0..2000 {
        writeln!(stdin, "{}", request("x", "mcp_status")).unwrap();
    }
    std::thread::sleep(Duration::from_millis(500));
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(wait(&mut child).unwrap(), Some(143));
}
