//! `pod tasks` as a person runs it, without the process around it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use clap::Parser;

use super::environment::Environment;
use super::terminal::Terminal;
use super::{Options, Outcome, run_in};

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    options: Options,
}

/// The folder of the made-up logs.
pub(crate) fn logs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/transcripts/tests/logs")
}

/// An environment without anything in it.
pub(crate) fn environment() -> Environment {
    Environment {
        stdin: Box::new(std::io::empty()),
        out: Terminal::default(),
        err: Terminal::default(),
        directory: PathBuf::from("/nowhere"),
        claude: None,
        codex: None,
        now: "2026-12-01T12:00:00Z".parse().unwrap(),
        elapsed: Box::new(|| Duration::from_secs(7)),
        wait: Box::new(|| false),
    }
}

/// A window of this many columns, without colours.
pub(crate) fn window(width: usize) -> Terminal {
    Terminal {
        width: Some(width),
        height: Some(24),
        interactive: true,
        colour: false,
    }
}

/// What a run printed.
pub(crate) struct Run {
    pub(crate) outcome: Outcome,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// All of it, for a snapshot.
    pub(crate) fn all(&self) -> String {
        let folder = logs().display().to_string();
        let text = format!("{}-- {}\n{}", self.out, self.outcome.code(), self.err);
        text.replace(&folder, "LOGS")
    }
}

pub(crate) fn run_with(environment: &mut Environment, arguments: &[&str]) -> Run {
    let options = Program::parse_from(std::iter::once(&"tasks").chain(arguments)).options;
    run_options(environment, &options)
}

pub(crate) fn run_options(environment: &mut Environment, options: &Options) -> Run {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let outcome = run_in(options, environment, &mut out, &mut err).unwrap();
    Run {
        outcome,
        out: String::from_utf8(out).unwrap(),
        err: String::from_utf8(err).unwrap(),
    }
}

fn run(arguments: &[&str]) -> Run {
    run_with(&mut environment(), arguments)
}

fn log(name: &str) -> String {
    logs().join(name).display().to_string()
}

#[test]
fn the_exit_code_tells_a_good_list_from_one_with_gaps_and_from_none() {
    let code = |name: &str| run(&[&log(name)]).outcome.code();
    assert_eq!(code("codex-exec.jsonl"), 0);
    assert_eq!(code("r01-two-records-on-one-line.jsonl"), 0);
    assert_eq!(code("r03-entire-lost-results.jsonl"), 0);
    assert_eq!(code("r03-result-not-there-yet.jsonl"), 0);
    assert_eq!(code("r08-list-that-was-emptied.jsonl"), 0);
    assert_eq!(code("fault-invalid-utf8.jsonl"), 0);
    assert_eq!(code("fault-cut-last-line.jsonl"), 3);
    assert_eq!(code("fault-document-cut.json"), 3);
    assert_eq!(code("fault-nul-bytes.jsonl"), 3);
    assert_eq!(code("r01-record-behind-a-cut-one.jsonl"), 3);
    assert_eq!(code("r03-result-missing.jsonl"), 3);
    assert_eq!(code("r03-result-before-its-call.jsonl"), 3);
    assert_eq!(code("r06-updates.jsonl"), 3);
    assert_eq!(code("fault-empty.jsonl"), 4);
    assert_eq!(code("fault-no-log.txt"), 4);
}

#[test]
fn what_could_not_be_read_is_said_with_line_numbers_if_asked() {
    let quiet = run(&[&log("r01-record-behind-a-cut-one.jsonl")]);
    let verbose = run(&["-v", &log("r01-record-behind-a-cut-one.jsonl")]);
    insta::assert_snapshot!("faults_quiet", quiet.all());
    insta::assert_snapshot!("faults_verbose", verbose.all());
    insta::assert_snapshot!(
        "faults_lost",
        run(&["-v", &log("r03-result-missing.jsonl")]).all()
    );
    insta::assert_snapshot!("faults_stub", run(&[&log("r06-updates.jsonl")]).all());
    insta::assert_snapshot!(
        "faults_entire",
        run(&[&log("r03-entire-lost-results.jsonl")]).all()
    );
}

#[test]
fn a_log_that_is_not_there_is_an_error_that_says_what_to_do() {
    let options = Program::parse_from(["tasks", "no-such-log"]).options;
    let mut nothing = Vec::new();
    let error = run_in(&options, &mut environment(), &mut nothing, &mut Vec::new()).unwrap_err();
    insta::assert_snapshot!(error, @"no-such-log is neither a file nor the id of a session of this directory; `pod tasks` without arguments lists those");
}

#[test]
fn standard_input_is_a_log_like_any_other() {
    let bytes = std::fs::read(log("codex-exec.jsonl")).unwrap();
    let mut environment = environment();
    environment.stdin = Box::new(std::io::Cursor::new(bytes));
    let from_stdin = run_with(&mut environment, &["-"]);
    insta::assert_snapshot!("standard_input", from_stdin.all());
}

#[test]
fn logs_of_one_list_are_merged_by_time_and_copies_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(log("r05-id-given-out-again.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // Every other exchange in each log, and one exchange in both.
    let (one, other) = (folder.path().join("1.jsonl"), folder.path().join("2.jsonl"));
    let part = |pairs: &[usize]| -> String {
        let line = |at: &usize| format!("{}\n{}\n", lines[2 * at], lines[2 * at + 1]);
        pairs.iter().map(line).collect()
    };
    std::fs::write(&one, part(&[0, 2])).unwrap();
    std::fs::write(&other, part(&[0, 1])).unwrap();
    let (one, other) = (one.display().to_string(), other.display().to_string());
    let merged = run(&["--merge", "--timeline", &other, &one]);
    let text = merged
        .all()
        .replace(&folder.path().display().to_string(), "FOLDER");
    insta::assert_snapshot!("merged", text);
}

#[test]
fn a_folder_or_a_pattern_gives_a_line_a_session_the_newest_first() {
    let folder = logs().display().to_string();
    insta::assert_snapshot!("folder", run(&[&folder]).all());
    let pattern = logs().join("code*.jsonl").display().to_string();
    insta::assert_snapshot!("pattern", run(&[&pattern]).all());
    let mut narrow = environment();
    narrow.out = window(60);
    insta::assert_snapshot!("pattern_narrow", run_with(&mut narrow, &[&pattern]).all());
    let none = logs().join("nothing*.jsonl").display().to_string();
    insta::assert_snapshot!(run(&[&none]).all(), @r"
    No logs found.
    -- 4
    ");
}

#[test]
fn markdown_and_timeline_and_json_come_for_each_log() {
    let (todo, plan) = (log("r08-todo-lists.jsonl"), log("codex-rollout.jsonl"));
    insta::assert_snapshot!("markdown", run(&["--markdown", &todo, &plan]).all());
    insta::assert_snapshot!(
        "timeline",
        run(&["--timeline", &plan, &log("r07-observations.jsonl")]).all()
    );
    let json = run(&["--json", "--timeline", &todo, &plan]);
    let objects: Vec<serde_json::Value> = json
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(objects.len(), 2);
    insta::assert_snapshot!("json", run(&["--json", "--timeline", &plan]).all());
    let mut narrow = environment();
    narrow.out = window(36);
    insta::assert_snapshot!(
        "timeline_narrow",
        run_with(&mut narrow, &["--timeline", &plan]).all()
    );
}

#[test]
fn lists_of_sub_agents_are_shown_if_asked() {
    insta::assert_snapshot!("agents", run(&[&log("r09-chains.jsonl")]).all());
    insta::assert_snapshot!(
        "agents_all",
        run(&["--all", &log("r09-chains.jsonl")]).all()
    );
    insta::assert_snapshot!(
        "agents_markdown",
        run(&["--all", "--markdown", &log("r09-chains.jsonl")]).all()
    );
}

#[test]
fn without_arguments_the_sessions_of_this_directory_are_shown() {
    let home = tempfile::tempdir().unwrap();
    let put = |path: &str, log_name: &str, from: &str, to: &str| {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = std::fs::read_to_string(log(log_name)).unwrap();
        std::fs::write(path, text.replace(from, to)).unwrap();
    };
    put(
        "sessions/0190/0001.jsonl",
        "pod-session.jsonl",
        "go on",
        "an older segment",
    );
    put("sessions/0190/0002.jsonl", "pod-session.jsonl", "", "");
    put(
        "claude/projects/-home-me-my-app/s1.jsonl",
        "r08-todo-lists.jsonl",
        "",
        "",
    );
    put(
        "claude/projects/-home-me-other/s2.jsonl",
        "r08-todo-lists.jsonl",
        "",
        "",
    );
    put(
        "codex/sessions/2026/01/rollout-1.jsonl",
        "codex-rollout.jsonl",
        "\"/p\"",
        "\"/home/me/my.app\"",
    );
    put(
        "codex/sessions/2026/01/rollout-2.jsonl",
        "codex-rollout.jsonl",
        "",
        "",
    );
    let mut environment = environment();
    environment.directory = PathBuf::from("/home/me/my.app");
    environment.claude = Some(home.path().join("claude"));
    environment.codex = Some(home.path().join("codex"));
    let options = Options {
        sessions: Some(home.path().join("sessions")),
        ..Options::default()
    };
    let found = run_options(&mut environment, &options);
    let text = found
        .all()
        .replace(&home.path().display().to_string(), "HOME");
    insta::assert_snapshot!("of_this_directory", text);

    let by_id = Options {
        logs: vec![PathBuf::from("rollout-1")],
        ..options
    };
    let one = run_options(&mut environment, &by_id);
    assert!(one.out.contains("codex-rollout"), "{}", one.out);
}

#[test]
fn the_files_of_sub_agents_belong_to_their_session() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(log("r05-id-given-out-again.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let agent: String = lines[2..4]
        .iter()
        .map(|line| {
            line.replace(
                "\"isSidechain\":false",
                "\"isSidechain\":true,\"agentId\":\"x7\"",
            ) + "\n"
        })
        .collect();
    std::fs::create_dir_all(folder.path().join("s1/subagents")).unwrap();
    std::fs::write(folder.path().join("s1.jsonl"), lines[..2].join("\n")).unwrap();
    std::fs::write(folder.path().join("s1/subagents/agent-x7.jsonl"), agent).unwrap();
    let shown = |arguments: &[&str]| {
        let text = run(arguments).all();
        text.replace(&folder.path().display().to_string(), "FOLDER")
    };
    let session = folder.path().join("s1.jsonl").display().to_string();
    insta::assert_snapshot!("sub_agent_files", shown(&["--timeline", &session]));
    insta::assert_snapshot!(
        "sub_agent_folder",
        shown(&[&folder.path().display().to_string()])
    );
}

/// A writer that nobody reads.
struct Closed;

impl std::io::Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn it_ends_quietly_when_nobody_reads_on() {
    let options = Program::parse_from(["tasks", &log("codex-exec.jsonl")]).options;
    let outcome = run_in(&options, &mut environment(), &mut Closed, &mut Vec::new()).unwrap();
    assert_eq!(outcome, Outcome::Good);
}

#[test]
fn nothing_in_a_log_can_drive_the_terminal() {
    let hostile = log("fault-control-characters.jsonl");
    for form in [
        &["--all"][..],
        &["--markdown"],
        &["--timeline"],
        &["--json", "--timeline"],
        &["--follow"],
    ] {
        let mut environment = environment();
        environment.out = window(80);
        environment.out.interactive = false;
        let shown = run_with(&mut environment, &[form, &[&hostile]].concat());
        let bad = shown
            .out
            .chars()
            .chain(shown.err.chars())
            .find(|&letter| letter != '\n' && tools::task::render::is_control(letter));
        assert_eq!(bad, None, "{form:?}: {:?}", shown.out);
    }
    // And JSON gives back what stood there.
    let json = run(&["--json", &hostile]).out;
    let object: serde_json::Value = serde_json::from_str(&json).unwrap();
    let subject = object["tasks"][0]["subject"].as_str().unwrap();
    assert!(subject.starts_with("\u{1b}[2J\u{1b}]0;x\u{7} \u{9b}31m red \u{202e}"));
}

/// What happens between two looks at a log.
pub(crate) fn patience(steps: Vec<Box<dyn FnOnce()>>) -> Box<dyn FnMut() -> bool> {
    let steps = Rc::new(RefCell::new(steps.into_iter()));
    Box::new(move || match steps.borrow_mut().next() {
        Some(step) => {
            step();
            true
        }
        None => false,
    })
}
