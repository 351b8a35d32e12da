use insta::assert_snapshot;
use llm::{SystemMessage, UserMessage};
use serde_json::json;

use super::*;
use crate::session::entry::{decode, encode};
use crate::session::{Entry, MemoryDisk, SessionStore};
use crate::testing::{
    assistant, bytes_of, create, failure, here, new_entry, only_session, put, sixty_items,
    store_on, success, update, user, write_session,
};

/// A session of four segments: a beginning, a compaction, a rewind behind it, and a rewind before it.
struct Fixture {
    disk: MemoryDisk,
    store: SessionStore,
    info: SessionInfo,
}

fn result(id: &str, value: serde_json::Value) -> Item {
    Item::ToolResult(ToolResult {
        is_error: false,
        value: Some(value.into()),
        ..ToolResult::error(id, "done")
    })
}

fn task() -> serde_json::Value {
    json!({"taskid": 1, "status": "pending", "subject": "Übung", "description": "Alles über Übung 🚀"})
}

fn fixture() -> Fixture {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    let task = task();
    let first = write_session(
        &store,
        vec![
            user("los — 始めて"),
            assistant(
                "",
                &[create("call_1", "Übung"), ("call_2", "TaskList", json!({}))],
            ),
            result("call_1", json!({"task": task})),
            result("call_2", json!({"tasks": [task]})),
            assistant(
                "",
                &[
                    ("call_3", "TaskGet", json!({"taskid": 1})),
                    update("call_4", 1, "deleted"),
                ],
            ),
            result("call_3", json!({"task": task})),
            failure("call_4"),
            assistant("fertig", &[]),
        ],
    );
    let info = only_session(&store);
    let mut session = store.open(&info, false).unwrap().session;
    let snapshot = SystemMessage {
        origin: Origin::TaskSnapshot,
        text: String::from("the list"),
        data: Some(json!({"tasks": [task]})),
    };
    let mut seeds = vec![new_entry(&session, Item::System(snapshot))];
    seeds.push(Entry {
        carried: true,
        ..first[7].clone()
    });
    seeds.push(new_entry(&session, user("und weiter")));
    let lines: Vec<_> = seeds.iter().map(|it| Ok(encode(it).unwrap())).collect();
    session
        .begin_segment(Reason::Compact, None, None, lines)
        .unwrap();
    session.rewind(seeds[2].id).unwrap();
    session.rewind(first[3].id).unwrap();
    drop(session);
    let info = only_session(&store);
    assert_eq!(info.segment, 4);
    Fixture { disk, store, info }
}

impl Fixture {
    fn lines(&self, segment: u32) -> Vec<Vec<u8>> {
        let bytes = bytes_of(&self.disk, &segment_path(&self.info.path, segment));
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    }

    fn put(&self, segment: u32, bytes: &[u8]) {
        put(&self.disk, &segment_path(&self.info.path, segment), bytes);
    }

    /// All findings, each in a line.
    fn findings(&self) -> String {
        let report = verify(&self.disk, &self.info).unwrap();
        let mut lines = Vec::new();
        for segment in &report.segments {
            let name = segment.path.file_name().unwrap().to_string_lossy();
            for finding in &segment.findings {
                let kind = if finding.is_fault { "FAULT" } else { "note" };
                let place = match (finding.line, finding.offset) {
                    (Some(line), Some(offset)) => {
                        // The place is that of a line in the file.
                        let bytes = bytes_of(&self.disk, &segment.path);
                        let before = &bytes[..usize::try_from(offset).unwrap()];
                        let ends = before.split(|byte| *byte == b'\n').count() - 1;
                        assert_eq!(line, ends as u64 + 1);
                        format!("line {line}, byte {offset}")
                    }
                    _ => String::from("file"),
                };
                lines.push(format!("{kind} {name}, {place}: {}", finding.text));
            }
        }
        assert_eq!(
            report.is_clean(),
            !lines.iter().any(|it| it.starts_with("FAULT"))
        );
        let text = if lines.is_empty() {
            String::from("clean")
        } else {
            lines.join("\n")
        };
        text.replace(&self.info.path.display().to_string(), "[session]")
            .replace(&self.info.id.to_string(), "[id]")
    }
}

/// The findings after a segment was changed in this way.
fn after(segment: u32, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> String {
    let fixture = fixture();
    let mut lines = fixture.lines(segment);
    change(&mut lines);
    fixture.put(segment, &lines.concat());
    fixture.findings()
}

fn replace(line: &mut Vec<u8>, from: &str, to: &str) {
    let text = String::from_utf8(line.clone()).unwrap();
    assert!(text.contains(from), "{text}");
    *line = text.replace(from, to).into_bytes();
}

/// A line with another item.
fn with_item(line: &[u8], change: impl FnOnce(&mut Item)) -> Vec<u8> {
    let mut entry = decode(line.trim_ascii()).unwrap().entry;
    change(std::sync::Arc::make_mut(&mut entry.item));
    encode(&entry).unwrap()
}

#[test]
fn a_session_that_was_compacted_taken_back_forked_and_salvaged_is_clean() {
    let fixture = fixture();
    assert_eq!(fixture.findings(), "clean");
    // The values in the fixture are of the shape that is checked.
    let task: Task = serde_json::from_value(task()).unwrap();
    assert_eq!(task.id.to_string(), "1");
    let fork = fixture
        .store
        .fork(&fixture.info, here(), None, None)
        .unwrap();
    let id = fork.session.id();
    drop(fork);
    let info = fixture.store.find(&id.to_string()).unwrap();
    assert!(verify(&fixture.disk, &info).unwrap().is_clean());

    // The damaged file is a fault for ever; the segment that goes on from it is none.
    let mut lines = fixture.lines(4);
    replace(&mut lines[3], "\"call_id\"", "\"call_id");
    fixture.put(4, &lines.concat());
    drop(fixture.store.open(&fixture.info, true).unwrap());
    let info = fixture.store.find(&fixture.info.id.to_string()).unwrap();
    assert_eq!(info.segment, 5);
    let report = verify(&fixture.disk, &info).unwrap();
    assert!(!report.is_clean());
    let faults = |index: usize| {
        report.segments[index]
            .findings
            .iter()
            .filter(|it| it.is_fault)
            .count()
    };
    assert_eq!(
        [faults(0), faults(1), faults(2), faults(3), faults(4)],
        [0, 0, 0, 1, 0]
    );
}

#[test]
fn the_report_has_the_list_of_each_segment() {
    let report = verify(&fixture().disk, &fixture().info).unwrap();
    let counts: Vec<_> = report
        .segments
        .iter()
        .map(|it| (it.entries, it.tasks.len()))
        .collect();
    assert_eq!(counts, [(8, 1), (3, 1), (3, 1), (4, 1)]);
}

#[test]
fn damage_of_the_file() {
    let cases = [
        ("a torn end", after(4, |lines| drop(lines[4].split_off(50)))),
        (
            "a torn older segment",
            after(1, |lines| drop(lines[8].split_off(50))),
        ),
        (
            "NULs at the end",
            after(4, |lines| lines.push(vec![0; 100])),
        ),
        (
            "a bad line",
            after(1, |lines| {
                replace(&mut lines[3], "\"call_id\"", "\"call_id");
            }),
        ),
        (
            "a cut character",
            after(1, |lines| {
                let cut = lines[1].iter().position(|byte| *byte > 0x7f).unwrap() + 1;
                lines[1].truncate(cut);
                lines[1].push(b'\n');
            }),
        ),
        (
            "a snapshot that cannot be read",
            after(2, |lines| lines[1].insert(0, b'x')),
        ),
        ("an empty file", after(2, Vec::clear)),
        ("no header", after(2, |lines| drop(lines.remove(0)))),
        (
            "a newer version",
            after(2, |lines| {
                replace(&mut lines[0], "\"version\":1", "\"version\":2");
            }),
        ),
        (
            "a newer line",
            after(4, |lines| lines.push(b"{\"type\":\"mark\"}\n".to_vec())),
        ),
        (
            "a newer block",
            after(4, |lines| {
                replace(
                    &mut lines[1],
                    r#""content":["#,
                    r#""content":[{"type":"mark"},"#,
                );
            }),
        ),
    ];
    let text = cases
        .map(|(name, findings)| format!("{name}:\n{findings}"))
        .join("\n\n");
    assert_snapshot!(text, @r#"
    a torn end:
    FAULT 0004.jsonl, line 1, byte 0: line 5 of segment 1 is not here as it was
    note 0004.jsonl, file: at the end, call `call_2` has no result before it
    note 0004.jsonl, line 5, byte 1034: an unfinished line of 50 bytes at the end: it has no line end

    a torn older segment:
    note 0001.jsonl, line 9, byte 1901: an unfinished line of 50 bytes at the end: it has no line end

    NULs at the end:
    note 0004.jsonl, line 6, byte 1280: an unfinished line of 100 bytes at the end: it has no line end

    a bad line:
    FAULT 0001.jsonl, line 4, byte 667: the line cannot be read, nor what is behind it: expected `:` at column 109

    a cut character:
    FAULT 0001.jsonl, line 2, byte 162: the line cannot be read, nor what is behind it: incomplete utf-8 byte sequence from index 129

    a snapshot that cannot be read:
    FAULT 0002.jsonl, line 2, byte 168: the line cannot be read, nor what is behind it: it is no JSON object

    an empty file:
    FAULT 0002.jsonl, line 1, byte 0: [session]/0002.jsonl: not a session log: the file is empty. It is left as it is; `--salvage` goes back to the segment before it, if there is one

    no header:
    FAULT 0002.jsonl, line 1, byte 0: [session]/0002.jsonl: not a session log: unknown variant `system`, expected `session`. It is left as it is; `--salvage` goes back to the segment before it, if there is one

    a newer version:
    FAULT 0002.jsonl, line 1, byte 0: [session]/0002.jsonl: written in format 2, this version reads up to 1; update pod to open it

    a newer line:
    note 0004.jsonl, file: 1 line of a type that this version does not know

    a newer block:
    note 0004.jsonl, file: 1 block of a type that this version does not know
    "#);
}

#[test]
fn damage_of_the_order() {
    let gone = fixture();
    gone.disk.remove(&segment_path(&gone.info.path, 2)).unwrap();
    let cases = [
        ("a segment is gone", gone.findings()),
        (
            "another session's segment",
            after(2, |lines| {
                let other = "019b0000-0000-7000-8000-000000000001";
                replace(&mut lines[0], "00000000-0000-7000-8000-000000000001", other);
            }),
        ),
        (
            "a segment under another number",
            after(2, |lines| {
                replace(&mut lines[0], "\"segment\":2", "\"segment\":3");
            }),
        ),
        (
            "an origin that does not exist yet",
            after(3, |lines| {
                let parent =
                    r#""parent":{"session":"00000000-0000-7000-8000-000000000001","segment":"#;
                replace(&mut lines[0], &format!("{parent}2"), &format!("{parent}3"));
            }),
        ),
        (
            "an entry twice",
            after(1, |lines| {
                let line = lines[1].clone();
                lines.insert(2, line);
            }),
        ),
        ("a line is missing", after(1, |lines| drop(lines.remove(3)))),
        ("lines in another order", after(1, |lines| lines.swap(3, 4))),
        (
            "a call id twice",
            after(1, |lines| {
                replace(&mut lines[5], "call_3", "call_1");
                replace(&mut lines[6], "call_3", "call_1");
            }),
        ),
        (
            "a copied entry is missing",
            after(3, |lines| drop(lines.remove(3))),
        ),
        (
            "a copied entry is another one",
            after(4, |lines| {
                lines[1] = with_item(&lines[1], |item| {
                    *item = Item::User(UserMessage::text("anders"));
                });
            }),
        ),
        (
            "an unanswered call at the end",
            after(4, |lines| drop(lines.pop())),
        ),
    ];
    let text = cases
        .map(|(name, findings)| format!("{name}:\n{findings}"))
        .join("\n\n");
    assert_snapshot!(text, @r#"
    a segment is gone:
    FAULT 0002.jsonl, file: cannot open [session]/0002.jsonl: entity not found

    another session's segment:
    FAULT 0002.jsonl, line 1, byte 0: the header names session 019b0000-0000-7000-8000-000000000001, the directory [id]

    a segment under another number:
    FAULT 0002.jsonl, line 1, byte 0: the header names segment 3, the file 2

    an origin that does not exist yet:
    FAULT 0003.jsonl, line 1, byte 0: the header names segment 3 as its origin

    an entry twice:
    FAULT 0001.jsonl, line 3, byte 309: the line cannot be read, nor what is behind it: entry 00000000-0000-7000-8000-000000000003 stands at line 2 too

    a line is missing:
    FAULT 0001.jsonl, line 4, byte 667: the line cannot be read, nor what is behind it: a line is missing, moved or doubled here (result for `call_2` stands before the one for `call_1`)

    lines in another order:
    FAULT 0001.jsonl, line 4, byte 667: the line cannot be read, nor what is behind it: a line is missing, moved or doubled here (result for `call_2` stands before the one for `call_1`)

    a call id twice:
    FAULT 0001.jsonl, line 6, byte 1156: the line cannot be read, nor what is behind it: a line is missing, moved or doubled here (call id `call_1` occurs twice)

    a copied entry is missing:
    FAULT 0003.jsonl, line 1, byte 0: line 4 of segment 2 is not here as it was

    a copied entry is another one:
    FAULT 0004.jsonl, line 2, byte 286: line 2 of segment 1 is not here as it was

    an unanswered call at the end:
    FAULT 0004.jsonl, line 1, byte 0: line 5 of segment 1 is not here as it was
    note 0004.jsonl, file: at the end, call `call_2` has no result before it
    "#);
}

#[test]
fn damage_of_the_list() {
    let value = |item: &mut Item, change: &dyn Fn(&mut serde_json::Value)| {
        let Item::ToolResult(result) = item else {
            panic!("{item:?}")
        };
        let mut value = result.value.as_ref().unwrap().to_value();
        change(&mut value);
        result.value = Some(value.into());
    };
    let cases = [
        (
            "the result of a create told something else",
            after(1, |lines| {
                lines[3] = with_item(&lines[3], |item| {
                    value(item, &|value| value["task"]["subject"] = json!("anders"));
                });
            }),
        ),
        (
            "the result of a list told something else",
            after(1, |lines| {
                lines[4] = with_item(&lines[4], |item| {
                    value(item, &|value| value["tasks"] = json!([]));
                });
            }),
        ),
        (
            "the result of a get told something else",
            after(1, |lines| {
                lines[6] = with_item(&lines[6], |item| {
                    value(item, &|value| value["task"]["status"] = json!("deleted"));
                });
            }),
        ),
        (
            "a failed call became a success",
            after(1, |lines| {
                replace(&mut lines[7], "\"is_error\":true,", "");
            }),
        ),
        (
            "a success that cannot be folded",
            after(1, |lines| {
                replace(&mut lines[2], "\"subject\":", "\"titel\":");
            }),
        ),
        (
            "the snapshot is another list",
            after(2, |lines| {
                replace(&mut lines[1], "Übung", "Ubung");
            }),
        ),
        (
            "the snapshot has a gap",
            after(2, |lines| {
                replace(&mut lines[1], "\"taskid\":1", "\"taskid\":2");
            }),
        ),
        (
            "a second snapshot",
            after(2, |lines| {
                let entry = "00000000-0000-7000-8000-000000000fff";
                let mut line = lines[1].clone();
                let id = decode(line.trim_ascii()).unwrap().entry.id.to_string();
                replace(&mut line, &id, entry);
                lines.push(line);
            }),
        ),
        ("no snapshot", after(2, |lines| drop(lines.remove(1)))),
    ];
    let text = cases
        .map(|(name, findings)| format!("{name}:\n{findings}"))
        .join("\n\n");
    assert_snapshot!(text, @r#"
    the result of a create told something else:
    FAULT 0001.jsonl, line 4, byte 667: the result told of a task what the history does not give
    FAULT 0004.jsonl, line 4, byte 791: line 4 of segment 1 is not here as it was

    the result of a list told something else:
    FAULT 0001.jsonl, line 5, byte 910: the result told of a task what the history does not give
    FAULT 0004.jsonl, line 5, byte 1034: line 5 of segment 1 is not here as it was

    the result of a get told something else:
    FAULT 0001.jsonl, line 7, byte 1494: the result told of a task what the history does not give

    a failed call became a success:
    FAULT 0002.jsonl, line 2, byte 168: the snapshot is not the list at the end of the segment before

    a success that cannot be folded:
    FAULT 0001.jsonl, line 4, byte 665: call call_1: there is no field "titel"; accepted: subject and description (text, both needed), one task a call; skipped
    FAULT 0001.jsonl, line 5, byte 908: the result told of a task what the history does not give
    FAULT 0001.jsonl, line 7, byte 1492: the result told of a task what the history does not give
    FAULT 0002.jsonl, line 2, byte 168: the snapshot is not the list at the end of the segment before
    FAULT 0004.jsonl, line 3, byte 433: line 3 of segment 1 is not here as it was

    the snapshot is another list:
    FAULT 0002.jsonl, line 2, byte 168: the snapshot is not the list at the end of the segment before
    FAULT 0003.jsonl, line 2, byte 286: line 2 of segment 2 is not here as it was

    the snapshot has a gap:
    FAULT 0002.jsonl, line 2, byte 168: task snapshot: the task with id 2 stands at place 1; skipped
    FAULT 0003.jsonl, line 2, byte 286: line 2 of segment 2 is not here as it was

    a second snapshot:
    FAULT 0002.jsonl, line 5, byte 763: a second task snapshot in one segment

    no snapshot:
    note 0002.jsonl, line 2, byte 168: the log begins with an answer of the model; what stood before it is missing
    FAULT 0002.jsonl, line 1, byte 0: the compaction carried no task snapshot, and there were tasks
    FAULT 0003.jsonl, line 2, byte 286: line 2 of segment 2 is not here as it was
    "#);
}

/// Each byte of a session is changed: no panic, and a line that cannot be read is always found.
#[test]
fn no_damage_is_too_strange() {
    let fixture = fixture();
    let path = segment_path(&fixture.info.path, 1);
    let bytes = bytes_of(&fixture.disk, &path);
    let header = fixture.lines(1)[0].len();
    for at in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] = 0xff;
        put(&fixture.disk, &path, &damaged);
        let report = verify(&fixture.disk, &fixture.info).unwrap();
        let findings = &report.segments[0].findings;
        // The last line may be a torn one, which is mended.
        assert!(!findings.is_empty(), "{at}");
        if at < header {
            assert_eq!(
                (findings[0].line, findings[0].offset),
                (Some(1), Some(0)),
                "{at}"
            );
        }
    }
}

#[test]
fn a_long_session_of_all_kinds_is_clean() {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    write_session(&store, sixty_items());
    let info = only_session(&store);
    let report = verify(&disk, &info).unwrap();
    assert_eq!(report.segments[0].findings, []);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["segments"][0]["entries"], 60);
}

#[test]
fn results_without_values_are_no_fault() {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    let items = vec![
        assistant(
            "",
            &[create("call_1", "A"), ("call_2", "TaskList", json!({}))],
        ),
        success("call_1"),
        // Another dialect tells other fields.
        result(
            "call_2",
            json!({"tasks": [{"id": "1", "subject": "A", "status": "in_progress"}]}),
        ),
    ];
    write_session(&store, items);
    assert!(verify(&disk, &only_session(&store)).unwrap().is_clean());
}
