//! Views of logs with texts that are made to drive a terminal.

use std::io::Cursor;
use std::time::Duration;

use fuzzing::json;
use fuzzing::mutate::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::terminal::Terminal;
use super::tests::{environment, logs, run_options, window};
use super::text::width;
use super::{Environment, Options};
use crate::watch;

/// Parts of texts that do something to a terminal, or to whoever measures them.
const PARTS: &[&str] = &[
    "\u{1b}[2J",
    "\u{1b}[31m",
    "\u{1b}[1;1H",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]8;;http://example.org\u{1b}\\link\u{1b}]8;;\u{1b}\\",
    "\u{1b}]52;c;cGF3bmVk\u{7}",
    "\u{1b}P+q544e\u{1b}\\",
    "\u{1b}c",
    "\u{9b}2J",
    "\u{9d}0;x\u{9c}",
    "\u{7}",
    "\u{8}\u{8}\u{8}",
    "\r",
    "\n",
    "\t",
    "\u{b}\u{c}",
    "\0",
    "\u{7f}",
    "\u{85}",
    "\u{2028}\u{2029}",
    "\u{202e}",
    "\u{202a}\u{202b}\u{202d}\u{202c}",
    "\u{2066}\u{2067}\u{2068}\u{2069}",
    "\u{200e}\u{200f}\u{61c}",
    "\u{200b}\u{200d}\u{feff}",
    "\u{e0001}\u{e0041}",
    "\u{fff9}\u{fffa}\u{fffb}",
    "\u{ad}",
    "e\u{301}\u{301}\u{301}",
    "\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}",
    "\u{1f1e9}\u{1f1ea}",
    "日本語",
    "\u{17d8}",
    "\u{fdfd}",
    "plain words",
    "#1 [completed] ",
    "[x] ",
    "| a | b |",
    "<!-- -->",
    "```",
];

fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![6 => select(PARTS).prop_map(str::to_owned), 1 => json::text(), 2 => json::matching("[a-z ]{1,30}")];
    vec(part, 0..6).prop_map(|parts| parts.concat())
}

/// Fields whose values say what a record is. A log in which they are anything is another target's.
const KEPT: &[&str] = &[
    "type",
    "role",
    "name",
    "id",
    "tool_use_id",
    "call_id",
    "callID",
    "status",
    "subtype",
    "arguments",
    "timestamp",
    "at",
    "origin",
    "tool",
];

/// Puts the texts, one after the other, into every field of a record that holds a text.
fn fill(value: &mut Value, texts: &mut dyn Iterator<Item = &String>) {
    match value {
        Value::String(text) => {
            if let Some(other) = texts.next() {
                // What a result says in words has to be understood still.
                *text = if text.len() > 20 {
                    format!("{text}{other}")
                } else {
                    other.clone()
                };
            }
        }
        Value::Array(values) => {
            for value in values {
                fill(value, texts);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                if !KEPT.contains(&name.as_str()) {
                    fill(value, texts);
                }
            }
        }
        _ => {}
    }
}

/// The records of the good logs.
fn records() -> Vec<Vec<Value>> {
    let mut paths: Vec<_> = std::fs::read_dir(logs())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.to_string_lossy().contains("fault-"))
        .collect();
    paths.sort();
    let read = |path| {
        let bytes = std::fs::read(path).unwrap();
        let document = serde_json::from_slice(&bytes).map(|it| vec![it]);
        let lines = || {
            let lines = bytes.split(|byte| *byte == b'\n');
            let lines = lines.filter_map(|line| serde_json::from_slice(line).ok());
            lines.collect()
        };
        document.unwrap_or_else(|_| lines())
    };
    paths.into_iter().map(read).collect()
}

/// Nothing but text and line ends.
fn is_still(text: &str) -> bool {
    text.chars().all(|character| {
        let turns = matches!(
            character,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2028}' | '\u{2029}'
        );
        character == '\n' || !(character.is_control() || turns)
    })
}

/// The text without the two sequences with which the live view goes back to its first line.
fn without_redrawing(text: &str) -> String {
    let mut parts = text.split("\r\u{1b}[");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let behind = part.trim_start_matches(|it: char| it.is_ascii_digit());
        match behind.strip_prefix("A\u{1b}[J") {
            Some(behind) => rest.push_str(behind),
            // Not one of ours: it is found below.
            None => rest = format!("{rest}\u{1b}{part}"),
        }
    }
    rest
}

fn on(terminal: Terminal, bytes: &[u8]) -> Environment {
    Environment {
        stdin: Box::new(Cursor::new(bytes.to_vec())),
        out: terminal,
        err: terminal,
        ..environment()
    }
}

/// Whatever a log says, no view moves the cursor, colours, rings or turns the direction of text, and
/// no line is wider than the window.
#[test]
fn fuzz_terminal() {
    let records = records();
    let input = (0..records.len(), vec(text(), 1..8), 40_usize..120);
    fuzzing::target("terminal", input, |(log, texts, columns)| {
        let mut filler = texts.iter().cycle();
        let mut bytes = Vec::new();
        for record in &records[log] {
            let mut record = record.clone();
            fill(&mut record, &mut filler);
            bytes.extend(record.to_string().into_bytes());
            bytes.push(b'\n');
        }
        let views: [(Options, bool); 4] = [
            (Options::default(), true),
            (
                Options {
                    timeline: true,
                    all: true,
                    ..Options::default()
                },
                true,
            ),
            (
                Options {
                    all: true,
                    verbose: true,
                    ..Options::default()
                },
                false,
            ),
            (
                Options {
                    markdown: true,
                    all: true,
                    ..Options::default()
                },
                false,
            ),
        ];
        for (mut options, in_window) in views {
            options.logs = vec!["-".into()];
            let terminal = Terminal {
                interactive: false,
                ..if in_window {
                    window(columns)
                } else {
                    Terminal::default()
                }
            };
            let run = run_options(&mut on(terminal, &bytes), &options);
            prop_assert!(is_still(&run.out), "{:?}: {:?}", options, run.out);
            prop_assert!(is_still(&run.err), "{:?}: {:?}", options, run.err);
            if in_window {
                let wide = run.out.lines().find(|line| width(line) > columns);
                prop_assert_eq!(wide, None, "{} columns", columns);
            }
        }
        for in_place in [true, false] {
            let terminal = if in_place {
                window(columns)
            } else {
                Terminal::default()
            };
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let options = watch::Options::default();
            let watched = watch::run_in(&options, &mut on(terminal, &bytes), &mut out, &mut err);
            prop_assert!(watched.is_ok());
            let out = without_redrawing(&String::from_utf8_lossy(&out));
            prop_assert!(is_still(&out), "{out:?}");
            prop_assert!(is_still(&String::from_utf8_lossy(&err)));
        }
        for text in &texts {
            let line = crate::terminal::clean(text);
            prop_assert!(is_still(&line), "{line:?}");
            let line = super::text::cut(&super::text::clean(text), columns);
            prop_assert!(is_still(&line) && !line.contains('\n'), "{line:?}");
        }
        Ok(())
    });
}

/// `pod tasks` of damaged logs: the JSON is JSON, and the exit code tells of gaps if any is told.
#[test]
fn fuzz_tasks_json() {
    let mut paths: Vec<_> = std::fs::read_dir(logs())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let good = paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    let input = fuzzing::mutate::bytes(good, &["\"TaskCreate\"", "\"TaskUpdate\"", "\"subject\":"]);
    fuzzing::target("tasks_json", input, |Bytes(log)| {
        let options = Options {
            json: true,
            timeline: true,
            logs: vec!["-".into()],
            ..Options::default()
        };
        let mut environment = on(Terminal::default(), &log);
        environment.elapsed = Box::new(|| Duration::ZERO);
        let run = run_options(&mut environment, &options);
        let value: Result<Value, _> = serde_json::from_str(&run.out);
        prop_assert!(value.is_ok(), "{:?}", run.out);
        prop_assert!(is_still(&run.err));
        Ok(())
    });
}
