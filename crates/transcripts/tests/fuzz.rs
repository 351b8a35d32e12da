//! Logs of all formats, changed: made-up ones, and real ones where the shared folder is.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fuzzing::mutate::{Bytes, bytes, cuts};
use proptest::prelude::*;
use transcripts::{Event, Options, Report, TaskList, read};

/// Words that mean something in some format.
const WORDS: &[&str] = &[
    "\"type\":\"assistant\"",
    "\"type\":\"tool_use\"",
    "\"type\":\"tool_result\"",
    "\"type\":\"function_call\"",
    "\"type\":\"item.updated\"",
    "\"type\":\"summary\"",
    "\"type\":\"session\"",
    "\"isSidechain\":true,",
    "\"isCompactSummary\":true,",
    "\"is_error\":true,",
    "\"subtype\":\"compact_boundary\"",
    "\"name\":\"TaskCreate\"",
    "\"name\":\"TaskUpdate\"",
    "\"name\":\"TodoWrite\"",
    "\"name\":\"update_plan\"",
    "\"status\":\"completed\"",
    "\"status\":\"deleted\"",
    "\"taskId\":\"1\"",
    "\"taskId\":\"99999999999999999999\"",
    "\"todos\":[]",
    "\"newTodos\":null,",
    "\"uuid\":\"a\",",
    "\"parentUuid\":\"a\",",
    "\"toolUseResult\":",
    "\"timestamp\":\"2026-01-01T00:00:00Z\",",
    "\"timestamp\":\"-9999-99-99\",",
    "Task #1 created successfully: x",
    "<system-reminder>",
];

/// A log that comes in pieces.
struct Pieces<'a> {
    rest: &'a [u8],
    cuts: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = (*self.cuts.next().unwrap())
            .min(self.rest.len())
            .min(into.len());
        let (piece, rest) = self.rest.split_at(length);
        into[..length].copy_from_slice(piece);
        self.rest = rest;
        Ok(length)
    }
}

fn all(input: impl Read) -> (Vec<Event>, Report) {
    let mut reader = read(input, Options::default());
    let events = (&mut reader).map(Result::unwrap).collect();
    (events, reader.into_report())
}

fn list(events: &[Event]) -> TaskList {
    let mut list = TaskList::new();
    for event in events {
        list.apply(event);
    }
    list
}

/// The report without what no person sees.
fn told(report: &Report) -> String {
    format!("{report:?}")
}

/// Logs of a folder that are not too long to be read often.
fn logs_in(folder: &Path, longest: u64) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.to_string_lossy();
            name.contains(".json") && !name.ends_with(".expected.json")
        })
        .filter(|path| path.metadata().unwrap().len() <= longest)
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// However a log comes in, it says the same: the same events, the same report. Lines and bytes are all
/// counted, no event stands behind the end, and a record that is cut is told of.
///
/// `longer` is how many times longer than usual the pieces are: long logs in short pieces take long.
fn check(name: &str, good: Vec<Vec<u8>>, longer: usize) {
    let input = (bytes(good, WORDS), cuts());
    fuzzing::target(name, input, |(Bytes(log), cuts)| {
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut * longer).collect();
        let (events, report) = all(log.as_slice());
        let (again, report_again) = all(Pieces {
            rest: &log,
            cuts: cuts.iter().cycle(),
        });
        prop_assert_eq!(told(&report), told(&report_again));
        prop_assert_eq!(&events, &again);

        // In a log that is one document the messages are counted.
        let has = |key: &[u8]| log.windows(key.len()).any(|it| it == key);
        let is_document = has(b"\"loglines\"") || has(b"\"messages\"");
        let lines = log.split_inclusive(|byte| *byte == b'\n').count() as u64;
        prop_assert!(
            is_document || report.lines == 0 || report.lines == lines,
            "{} of {lines}",
            report.lines
        );
        prop_assert_eq!(report.bytes, log.len() as u64);
        let places = events.iter().map(|event| event.place.line);
        prop_assert!(report.lines == 0 || places.max().unwrap_or(0) <= report.lines);
        // A document may be broken over lines anywhere.
        if report.lines > 0 && !is_document {
            faults_are_told(&log, &report)?;
        }

        let list = self::list(&events);
        for task in list.tasks() {
            prop_assert!(task.created.place <= task.updated.place);
        }
        Ok(())
    });
}

/// Each line that is no JSON object, by a reading that knows no format, is a fault of the report, once
/// the format is known or where a line might have been a record.
fn faults_are_told(log: &[u8], report: &Report) -> Result<(), TestCaseError> {
    if report.format.is_none() {
        return Ok(());
    }
    let has_bad = log.split(|byte| *byte == b'\n').any(|line| {
        // White space of any kind may stand behind a record.
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        line.starts_with('{') && !line.ends_with('}') && !line.contains('\0')
    });
    let has_fault = report.fault_counts().next().is_some();
    prop_assert!(!has_bad || has_fault, "a line that is cut is not told");
    Ok(())
}

#[test]
fn fuzz_foreign_logs() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    check("foreign_logs", logs_in(&folder, u64::MAX), 1);
}

#[test]
fn fuzz_foreign_logs_real() {
    let folder = match std::env::var_os("POD_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    let folder = folder.join("cases/logs");
    if !folder.is_dir() {
        println!(
            "skipped: {} is not there (set POD_SHARED)",
            folder.display()
        );
        return;
    }
    check("foreign_logs_real", logs_in(&folder, 32 * 1024), 64);
}
