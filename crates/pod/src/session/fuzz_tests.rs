//! Lines and whole segments made out of good ones, as bad disks, careless editors and other versions
//! make them.

use std::collections::HashSet;

use fuzzing::mutate::{Bytes, bytes};
use llm::{
    AssistantBlock, AssistantMessage, Image, Item, Origin, Reasoning, StopReason, SystemMessage,
    ToolResult, Usage, UserMessage, UserPart,
};
use proptest::prelude::*;
use serde_json::json;
use tools::task::TaskFold;
use uuid::Uuid;

use super::entry::{Decoded, Unreadable, decode, encode};
use super::*;
use crate::replay::fold_entry;
use crate::testing::{
    assistant, bytes_of, create, entries_of, files_of, harmless_after, new_entry, only_session,
    put, sixty_items, store_on, tasks_of, update, user, write_session,
};
use crate::verify::verify;

/// Words that mean something in a log.
const WORDS: &[&str] = &[
    "\"type\":\"user\"",
    "\"type\":\"assistant\"",
    "\"type\":\"tool_result\"",
    "\"type\":\"system\"",
    "\"type\":\"of_tomorrow\"",
    "\"type\":\"tool_call\"",
    "\"type\":\"reasoning\"",
    "\"is_error\":true,",
    "\"is_error\":\"no\",",
    "\"carried\":true,",
    "\"carried\":null,",
    "\"content\":",
    "\"value\":null,",
    "\"data\":{\"tasks\":[]},",
    "\"origin\":\"task_snapshot\"",
    "\"origin\":\"task_edit\"",
    "\"origin\":\"of_tomorrow\"",
    "\"changed_arguments\":{\"taskid\":1,\"status\":\"deleted\"},",
    "\"call_id\":\"call_1a\",",
    "\"id\":\"019b0000-0000-7000-8000-000000000001\",",
    "\"at\":\"2026-01-01T00:00:00Z\",",
    "\"version\":2,",
    "\"usage\":{\"input\":18446744073709551615},",
];

/// Items of every kind, with every field.
fn items() -> Vec<Item> {
    let result = |id: &str, value| {
        Item::ToolResult(ToolResult {
            is_error: false,
            content: Some("zwei\nZeilen\u{2028}".to_owned()),
            value: Some(value),
            ..ToolResult::error(id, "done")
        })
    };
    let task = json!({"taskid": 1, "status": "pending", "subject": "Übung", "description": "Alles über Übung 🚀"});
    vec![
        Item::User(UserMessage {
            content: vec![
                UserPart::Text("los — 始めて".to_owned()),
                UserPart::Image(Image {
                    media_type: "image/png".to_owned(),
                    data: "AAAA".to_owned(),
                }),
            ],
        }),
        Item::Assistant(AssistantMessage {
            content: vec![
                AssistantBlock::Reasoning(Reasoning {
                    text: "hm".to_owned(),
                    signature: Some("c2ln".to_owned()),
                    ..Reasoning::default()
                }),
                AssistantBlock::Text("Ja.".to_owned()),
            ],
            model: "test-1".to_owned(),
            response_id: Some("msg_1".to_owned()),
            stop_reason: StopReason::EndTurn,
            usage: Usage {
                input: 1000,
                cache_read: 500,
                cache_write: 1,
                output: 20,
                reasoning: 3,
            },
        }),
        assistant(
            "",
            &[
                create("call_1", "Übung"),
                ("call_2", "TaskList", json!({})),
                update("call_3", 1, "deleted"),
            ],
        ),
        result("call_1", json!({"task": task}).into()),
        result("call_2", json!({"tasks": [task], "n": 0.1}).into()),
        Item::ToolResult(ToolResult {
            is_error: false,
            changed_arguments: Some(llm::Arguments::new(
                "{\"taskid\":1,\"status\":\"completed\"}",
            )),
            ..ToolResult::error("call_3", "done")
        }),
        Item::System(SystemMessage {
            origin: Origin::TaskSnapshot,
            text: "the list".to_owned(),
            data: Some(json!({"tasks": [task]})),
        }),
        Item::System(SystemMessage {
            origin: Origin::TaskEdit,
            text: "by hand".to_owned(),
            data: Some(json!({"update": {"taskid": 1, "status": "inprogress"}})),
        }),
        user("weiter"),
    ]
}

/// Good segments: a short session, one with every field, one that was compacted. All at one path.
fn segments() -> (SessionInfo, Vec<Vec<u8>>) {
    let of = |items: Vec<Item>| {
        let disk = MemoryDisk::new();
        let store = store_on(disk.clone());
        write_session(&store, items);
        let info = only_session(&store);
        let bytes = bytes_of(&disk, &info.newest_segment());
        (info, bytes)
    };
    let (info, whole) = of(items());
    let (_, short) = of(sixty_items().into_iter().take(12).collect());
    let (_, begun) = of(vec![user("a")]);
    (info, vec![short, whole, begun])
}

/// What a line says is the same when it is written and read again; and no line breaks the fold.
#[test]
fn fuzz_log_line() {
    let (_, segments) = segments();
    let lines: Vec<Vec<u8>> = segments
        .iter()
        .flat_map(|bytes| bytes.split(|byte| *byte == b'\n').skip(1))
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    fuzzing::target("log_line", bytes(lines, WORDS), |Bytes(line)| {
        let Ok(Decoded { entry, .. }) = decode(&line) else {
            return Ok(());
        };
        let written = encode(&entry);
        prop_assert!(written.is_ok(), "it cannot be written: {written:?}");
        let written = written.unwrap_or_default();
        let text = written.trim_ascii();
        prop_assert!(!text.contains(&b'\n') && !text.contains(&b'\r'));
        let again = decode(text);
        prop_assert_eq!(
            &again,
            &Ok(Decoded {
                entry: entry.clone(),
                unknown_blocks: 0
            })
        );
        let mut fold = TaskFold::default();
        let _ = fold_entry(&mut fold, &entry);
        Ok(())
    });
}

/// What a file says by a reading of its own, line by line.
struct Expected {
    /// How many good lines stand before the first bad one, or are there.
    good: u64,
    /// The entries among them.
    entries: Vec<Entry>,
    /// The first bad line and where it begins, if there is one, and whether it is an unfinished end.
    bad: Option<(u64, usize, bool)>,
    /// Whether the first line is whole.
    has_header: bool,
}

/// The order of entries, by a reading of its own.
#[derive(Default)]
struct Order {
    entries: HashSet<Uuid>,
    calls: HashSet<String>,
    waiting: Vec<String>,
}

impl Order {
    fn allows(&mut self, entry: &Entry) -> bool {
        if !self.entries.insert(entry.id) {
            return false;
        }
        if let Item::ToolResult(result) = &*entry.item {
            return !self.waiting.is_empty() && self.waiting.remove(0) == result.call_id;
        }
        if !self.waiting.is_empty() {
            return false;
        }
        if let Item::Assistant(message) = &*entry.item {
            self.waiting = message.calls().map(|call| call.id.clone()).collect();
        }
        let is_fine = |id: &String| {
            let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-".contains(it);
            (1..=64).contains(&id.len()) && id.chars().all(is_plain)
        };
        let mut calls = self.waiting.iter();
        calls.all(|id| is_fine(id) && self.calls.insert(id.clone()))
    }
}

fn expected(bytes: &[u8]) -> Expected {
    let mut expected = Expected {
        good: 0,
        entries: Vec::new(),
        bad: None,
        has_header: false,
    };
    let mut order = Order::default();
    let mut begin = 0;
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let at = begin;
        begin += line.len();
        if index == 0 {
            expected.has_header = header::parse(line).is_ok();
            continue;
        }
        let text = line.trim_ascii();
        if let Some((.., is_end)) = &mut expected.bad {
            *is_end &= text.is_empty() && line.ends_with(b"\n");
            continue;
        }
        if text.is_empty() && line.ends_with(b"\n") {
            continue;
        }
        match decode(text) {
            Ok(decoded) if line.ends_with(b"\n") && !order.allows(&decoded.entry) => {
                expected.bad = Some((index as u64 + 1, at, false));
            }
            Ok(decoded) if line.ends_with(b"\n") => {
                expected.good += 1;
                expected.entries.push(decoded.entry);
            }
            Err(Unreadable::UnknownType) if line.ends_with(b"\n") => expected.good += 1,
            _ => expected.bad = Some((index as u64 + 1, at, true)),
        }
    }
    expected
}

/// Every good line before the first bad one is there, and the bad one is named; nothing that was in
/// the file is gone; what is appended then is there when it is opened again.
#[test]
fn fuzz_segment() {
    let (info, segments) = segments();
    let path = info.newest_segment();
    fuzzing::target("segment", bytes(segments, WORDS), |Bytes(bytes)| {
        let want = expected(&bytes);
        let disk = MemoryDisk::new();
        put(&disk, &path, &bytes);
        let store = store_on(disk.clone());

        let report = verify(&disk, &info);
        prop_assert!(report.is_ok());
        let report = report.unwrap_or_else(|_| unreachable!());
        let named = |line: u64| {
            let findings = report.segments.iter().flat_map(|it| &it.findings);
            findings.into_iter().any(|it| it.line == Some(line))
        };

        match store.open(&info, false) {
            Ok(mut opened) => {
                prop_assert!(want.has_header);
                let contents = &opened.contents;
                prop_assert_eq!(
                    contents.entries.len() as u64 + contents.unknown_lines,
                    want.good
                );
                prop_assert_eq!(&entries_of(&contents.entries), &want.entries);
                let end = match want.bad {
                    Some((line, at, is_last)) => {
                        prop_assert!(is_last, "what stands behind line {line} is lost");
                        prop_assert!(!opened.notices.is_empty(), "line {line} is not told");
                        prop_assert!(named(line), "verify does not tell of line {line}");
                        let torn = bytes_of(&disk, &writer::torn_path(&path));
                        prop_assert_eq!(&torn, &bytes[at..]);
                        at
                    }
                    None => bytes.len(),
                };
                let file = bytes_of(&disk, &path);
                prop_assert!(bytes.starts_with(&file) && file.len() <= end);
                prop_assert!(bytes[file.len()..end].iter().all(u8::is_ascii_whitespace));
                let entry = Entry {
                    // The clock here begins anew, and may give an id that the file has.
                    id: Uuid::max(),
                    ..new_entry(&opened.session, harmless_after(&want.entries))
                };
                prop_assert!(opened.session.append(&entry).is_ok());
                drop(opened);
                let again = store.open(&info, false);
                prop_assert!(again.is_ok(), "{:?}", again.err());
                let mut entries = want.entries;
                entries.push(entry);
                let again = again.map(|it| entries_of(&it.contents.entries));
                prop_assert_eq!(tasks_of(&again.unwrap_or_default()), tasks_of(&entries));
            }
            Err(LogError::BadLine { line, offset, .. }) => {
                let (expected_line, at, is_last) = want.bad.unwrap_or_default();
                prop_assert!(!is_last);
                prop_assert_eq!((line, offset), (expected_line, at as u64));
                prop_assert!(!report.is_clean());
                prop_assert!(named(line), "verify does not tell of line {line}");
                prop_assert_eq!(&bytes_of(&disk, &path), &bytes);
                let salvaged = store.open(&info, true);
                prop_assert!(salvaged.is_ok(), "{:?}", salvaged.err());
                if let Ok(salvaged) = salvaged {
                    prop_assert_eq!(&entries_of(&salvaged.contents.entries), &want.entries);
                    let place = format!("line {line} ");
                    let is_told = salvaged.notices.iter().any(|it| it.contains(&place));
                    prop_assert!(is_told, "{:?}", salvaged.notices);
                }
                prop_assert_eq!(&bytes_of(&disk, &path), &bytes, "the original is changed");
            }
            Err(LogError::NoHeader { .. } | LogError::NewerVersion { .. }) => {
                prop_assert!(!want.has_header);
                prop_assert!(!report.is_clean());
                let files = files_of(&disk, &info.path);
                prop_assert_eq!(files, [(String::from("0001.jsonl"), bytes)]);
            }
            Err(error) => prop_assert!(false, "another error: {}", error),
        }
        Ok(())
    });
}
