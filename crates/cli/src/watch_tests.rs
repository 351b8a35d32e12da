use std::io::Cursor;

use super::*;
use crate::tasks::tests::{environment, logs, window};

fn watched(options: &Options, name: &str, in_place: bool) -> (Outcome, Vec<u8>, String) {
    let bytes = std::fs::read(logs().join(name)).unwrap();
    let mut environment = environment();
    environment.stdin = Box::new(Cursor::new(bytes));
    if in_place {
        environment.out = window(60);
        environment.err = window(60);
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let outcome = run_in(options, &mut environment, &mut out, &mut err).unwrap();
    (
        outcome,
        out,
        String::from_utf8(err).unwrap().replace('\u{1b}', "ESC"),
    )
}

#[test]
fn through_a_pipe_it_is_a_line_a_change_and_the_last_state() {
    let (outcome, out, err) = watched(&Options::default(), "r04-failed-calls.jsonl", false);
    assert_eq!(outcome, Outcome::Good);
    assert_eq!(err, "");
    insta::assert_snapshot!("watch_lines", String::from_utf8(out).unwrap());
}

#[test]
fn on_a_terminal_it_is_redrawn_in_place_and_the_last_state_stays() {
    let (_, out, _) = watched(&Options::default(), "r02-partial-messages.jsonl", true);
    let text = String::from_utf8(out).unwrap().replace('\u{1b}', "ESC");
    insta::assert_snapshot!("watch_in_place", text);
}

#[test]
fn tee_passes_the_stream_on_unchanged_and_shows_the_list_beside() {
    let options = Options {
        tee: true,
        ..Options::default()
    };
    for name in [
        "fault-nul-bytes.jsonl",
        "fault-invalid-utf8.jsonl",
        "opencode-export.json",
    ] {
        let (_, out, err) = watched(&options, name, false);
        assert_eq!(out, std::fs::read(logs().join(name)).unwrap(), "{name}");
        assert!(err.contains("standard input"), "{err}");
    }
}

#[test]
fn a_stream_without_tasks_says_so_in_its_exit_code() {
    assert_eq!(
        watched(&Options::default(), "fault-no-log.txt", false).0,
        Outcome::NoTasks
    );
    assert_eq!(
        watched(&Options::default(), "fault-nul-bytes.jsonl", false).0,
        Outcome::Gaps
    );
}

/// A stream that breaks off with an error.
struct Broken(Cursor<Vec<u8>>);

impl Read for Broken {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(io::Error::other("the line is dead")),
            read => Ok(read),
        }
    }
}

#[test]
fn the_last_state_is_shown_even_if_the_stream_breaks_off() {
    let bytes = std::fs::read(logs().join("codex-exec.jsonl")).unwrap();
    let mut environment = environment();
    environment.stdin = Box::new(Broken(Cursor::new(bytes)));
    let mut out = Vec::new();
    let error = run_in(
        &Options::default(),
        &mut environment,
        &mut out,
        &mut Vec::new(),
    );
    assert_eq!(error.unwrap_err().to_string(), "the line is dead");
    assert!(String::from_utf8(out).unwrap().contains("Old name"));
}
