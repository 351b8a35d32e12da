use std::fs::OpenOptions;

use super::super::tests::{environment, logs, patience, run_with, window};

/// A log that is written line by line while it is followed.
struct Growing {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
    lines: Vec<String>,
}

impl Growing {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        std::fs::write(&path, "").unwrap();
        let text = std::fs::read_to_string(logs().join(name)).unwrap();
        let lines = text.lines().map(|line| format!("{line}\n")).collect();
        Self {
            _folder: folder,
            path,
            lines,
        }
    }

    fn append(&self, text: &str) -> Box<dyn FnOnce()> {
        let (path, text) = (self.path.clone(), text.to_owned());
        Box::new(move || {
            let mut file = OpenOptions::new().append(true).open(path).unwrap();
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        })
    }

    fn replace(&self, text: &str) -> Box<dyn FnOnce()> {
        let (path, text) = (self.path.clone(), text.to_owned());
        Box::new(move || std::fs::write(path, text).unwrap())
    }

    fn shown(&self, text: &str) -> String {
        text.replace(&self.path.display().to_string(), "LOG")
    }
}

#[test]
fn each_change_is_told_as_the_log_grows_and_half_a_line_waits() {
    let log = Growing::new("r08-todo-lists.jsonl");
    let (head, tail) = log.lines[1].split_at(70);
    let mut environment = environment();
    environment.wait = patience(vec![
        log.append(&log.lines[0]),
        log.append(head),
        log.append(tail),
        log.append(&log.lines[2..].concat()),
    ]);
    let path = log.path.display().to_string();
    let run = run_with(&mut environment, &["--follow", &path]);
    insta::assert_snapshot!("follow_lines", log.shown(&run.all()));
}

#[test]
fn json_gives_an_object_for_each_time_that_the_list_changed() {
    let log = Growing::new("r08-todo-lists.jsonl");
    let mut environment = environment();
    environment.wait = patience(vec![
        log.append(&log.lines[..2].concat()),
        log.append(&log.lines[2]),
        log.append(&log.lines[3]),
    ]);
    let path = log.path.display().to_string();
    let run = run_with(&mut environment, &["--follow", "--json", &path]);
    let done: Vec<u64> = run
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|object| object["progress"]["total"].as_u64().unwrap())
        .collect();
    assert_eq!(done, [0, 2, 4]);
}

#[test]
fn a_log_that_shrinks_or_is_replaced_is_read_anew_and_that_is_said() {
    let log = Growing::new("r08-todo-lists.jsonl");
    let mut environment = environment();
    environment.out = window(60);
    environment.wait = patience(vec![
        log.append(&log.lines.concat()),
        log.replace(&log.lines[..2].concat()),
        log.append("not a record\n"),
    ]);
    let path = log.path.display().to_string();
    let run = run_with(&mut environment, &["--follow", "-v", &path]);
    insta::assert_snapshot!(
        "follow_shrunk",
        log.shown(&run.all()).replace('\u{1b}', "ESC")
    );
}

#[test]
fn only_one_log_can_be_followed() {
    let paths = vec![
        logs().join("codex-exec.jsonl"),
        logs().join("r11-order.jsonl"),
    ];
    let options = super::super::Options {
        logs: paths,
        follow: true,
        ..Default::default()
    };
    let error = super::super::run_in(
        &options,
        &mut environment(),
        &mut Vec::new(),
        &mut Vec::new(),
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "--follow shows one log, and 2 are named"
    );
}
