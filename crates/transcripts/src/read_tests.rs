use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use tools::task::TaskFold;

use super::*;
use crate::{TaskList, What};

fn log(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    std::fs::read(folder.join(name)).unwrap()
}

fn all(bytes: &[u8]) -> Vec<Event> {
    read(bytes, Options::default())
        .map(Result::unwrap)
        .collect()
}

/// Gives its bytes one by one and says in between that there are none, as a log that grows.
struct Growing<'a> {
    bytes: &'a [u8],
    pause: bool,
}

impl Read for Growing<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.pause = !self.pause;
        if self.pause || self.bytes.is_empty() {
            return Ok(0);
        }
        let (now, later) = self.bytes.split_at(1);
        into[..1].copy_from_slice(now);
        self.bytes = later;
        Ok(1)
    }
}

#[test]
fn a_log_that_grows_byte_by_byte_tells_the_same_as_one_that_is_there() {
    for name in [
        "r07-reminders.jsonl",
        "codex-rollout.jsonl",
        "r01-two-records-on-one-line.jsonl",
        "pod-session.jsonl",
    ] {
        let bytes = log(name);
        let input = Growing {
            bytes: &bytes,
            pause: false,
        };
        let mut reader = read(
            input,
            Options {
                follow: true,
                source: 0,
            },
        );
        let mut events = Vec::new();
        for _ in 0..=2 * bytes.len() {
            events.extend(reader.by_ref().map(Result::unwrap));
        }
        reader.finish();
        events.extend(reader.by_ref().map(Result::unwrap));
        assert_eq!(events, all(&bytes), "{name}");
        assert_eq!(reader.report().bytes, bytes.len() as u64);
    }
}

#[test]
fn the_beginning_tells_the_format_and_no_more_is_read() {
    let endless = log("codex-rollout.jsonl");
    let endless = endless.as_slice().chain(io::repeat(b'x'));
    let report = detect(endless).unwrap();
    assert_eq!(report.format, Some(Format::CodexRollout));
    assert_eq!(report.directory.as_deref(), Some("/p"));
    for (name, format) in [
        ("opencode-export.json", Some(Format::OpencodeExport)),
        ("gemini-chat.json", Some(Format::GeminiChat)),
        ("pod-session.jsonl", Some(Format::PodSession)),
        ("codex-exec.jsonl", Some(Format::CodexExec)),
        ("r03-entire-lost-results.jsonl", Some(Format::EntireV1)),
        ("r02-partial-messages.jsonl", Some(Format::ClaudeStreamJson)),
        ("fault-no-log.txt", None),
        ("fault-empty.jsonl", None),
    ] {
        assert_eq!(
            detect(log(name).as_slice()).unwrap().format,
            format,
            "{name}"
        );
    }
}

#[test]
fn an_endless_line_without_a_line_end_is_no_document() {
    let input = (&b"{\"a\":\""[..]).chain(io::repeat(b'x').take(3_000_000));
    let mut reader = read(input, Options::default());
    assert!(reader.next().is_none());
    assert_eq!(reader.report().faults().len(), 1);
}

#[test]
fn an_error_of_the_input_ends_the_events() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let bytes = log("codex-exec.jsonl");
    let mut reader = read(bytes.as_slice().chain(Broken), Options::default());
    let events: Vec<_> = reader.by_ref().collect();
    assert!(events[..events.len() - 1].iter().all(Result::is_ok));
    assert_eq!(
        events.last().unwrap().as_ref().unwrap_err().to_string(),
        "gone"
    );
    assert!(reader.next().is_none());
}

/// An item of a Pod session, as a value.
fn item(kind: &str, fields: &Value) -> Value {
    let mut item = json!({"type": kind, "id": "i", "at": "2026-01-02T03:04:05Z"});
    item.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    item
}

/// Calls as a model makes them, good and bad.
fn arguments() -> impl Strategy<Value = (&'static str, Value)> {
    let text = "[ab\"\\\\\u{1b}é任]{0,5}";
    prop_oneof![
        (text, text).prop_map(|(subject, description)| {
            (
                "TaskCreate",
                json!({"subject": subject, "description": description}),
            )
        }),
        text.prop_map(|subject| ("TaskCreate", json!({"subject": subject, "owner": "x"}))),
        (
            0u32..6,
            prop::sample::select(vec![
                "pending",
                "in_progress",
                "InProgress",
                "done",
                "deleted"
            ])
        )
            .prop_map(|(id, status)| (
                "TaskUpdate",
                json!({"taskId": id.to_string(), "status": status})
            )),
        (1u32..6, text)
            .prop_map(|(id, subject)| ("TaskUpdate", json!({"id": id, "subject": subject}))),
        (1u32..6).prop_map(|id| (
            "TaskUpdate",
            json!(json!({"taskid": id, "active_form": "x"}).to_string())
        )),
        Just(("TaskList", json!({}))),
        Just(("Bash", json!({"command": "ls"}))),
    ]
}

proptest! {
    /// For Pod's own logs the list is what the runtime's own fold gives, whatever happened.
    #[test]
    fn a_pod_session_comes_to_what_the_runtime_itself_would_have(
        steps in prop::collection::vec((arguments(), 0u8..8, any::<bool>()), 0..25)
    ) {
        let mut lines = vec![json!({"type": "session", "version": 1, "session": "s", "segment": 1, "created": "2026-01-02T03:04:05Z", "directory": "/p"})];
        let mut fold = TaskFold::default();
        for (index, ((name, arguments), fate, carried)) in steps.into_iter().enumerate() {
            let id = format!("c{}", index / 2 * 2 + usize::from(fate == 7));
            let carried = carried && fate == 6;
            let call = json!({"type": "tool_call", "id": id, "name": name, "arguments": arguments});
            lines.push(item("assistant", &json!({"content": [call], "carried": carried})));
            if !carried {
                fold.call(&id, name, &arguments);
            }
            if fate == 0 {
                continue;
            }
            lines.push(item("tool_result", &json!({"call_id": id, "is_error": fate == 1, "summary": "s"})));
            // What cannot be taken over changes nothing, here and there.
            let _ = fold.result(&id, fate == 1, None);
            if fate == 2 {
                let tasks = serde_json::to_value(fold.store()).unwrap();
                lines.push(item("system", &json!({"origin": "task_snapshot", "text": "t", "data": {"tasks": tasks}})));
            }
        }
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        let text = text.join("\n");
        let list = TaskList::fold(all(text.as_bytes()));
        let got: Vec<_> = list.tasks().into_iter().map(|task| (
            task.id.clone(), task.status.clone(), task.subject.clone(), task.description.clone(), task.active_form.clone(),
        )).collect();
        let want: Vec<_> = fold.store().snapshot().into_iter().map(|task| (
            task.id.to_string(), Some(task.status.to_string()), Some(task.subject), Some(task.description), task.active_form,
        )).collect();
        prop_assert_eq!(got, want);
    }

    /// Whatever stands in a log, it is read to its end, and no call takes effect twice.
    #[test]
    fn damaged_logs_are_read_to_their_end(
        name in prop::sample::select(vec!["r02-repeated-lines.jsonl", "r06-updates.jsonl", "codex-rollout.jsonl", "pod-session.jsonl", "r03-entire-lost-results.jsonl", "opencode-export.json"]),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0usize..40), 0..6)
    ) {
        let mut bytes = log(name);
        for (at, byte, drop) in cuts {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.drain(at..(at + drop).min(bytes.len()));
            if bytes.is_empty() {
                break;
            }
        }
        let mut reader = read(bytes.as_slice(), Options::default());
        let mut finished = std::collections::HashSet::new();
        for event in &mut reader {
            let event = event.unwrap();
            if let (Some(call), false) = (&event.call, matches!(event.what, What::Pending { .. }))
                && name.ends_with('l')
            {
                prop_assert!(finished.insert(call.id.clone()), "{}", call.id);
            }
        }
        prop_assert_eq!(reader.report().bytes, bytes.len() as u64);
    }
}

#[test]
#[ignore = "counted by benches/instructions.sh"]
fn counted_lines_that_do_not_matter() {
    let line = format!(
        "{{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}}}\n",
        "the function returns a value, and the tests pass. ".repeat(50)
    );
    let log = line.repeat(4_000);
    let mut reader = read(log.as_bytes(), Options::default());
    assert_eq!((&mut reader).count(), 0);
    assert_eq!(reader.report().lines, 4_000);
}

#[test]
fn a_document_that_is_damaged_is_counted_whole_however_it_comes_in() {
    let good = log("opencode-export.json");
    let damaged = [&good[..80], b"\"", &good[80..]].concat();
    for bytes in [good, damaged] {
        let mut reader = read(&bytes[..], Options::default());
        reader.by_ref().for_each(drop);
        assert_eq!(reader.report().bytes, bytes.len() as u64);
    }
}

#[test]
fn what_stands_behind_a_document_is_told() {
    let good = log("opencode-export.json");
    let glued = [&good[..], b"{\"type\":\"user\"}\n"].concat();
    for (bytes, faults) in [(good, 0), (glued, 1)] {
        let mut reader = read(&bytes[..], Options::default());
        reader.by_ref().for_each(drop);
        assert_eq!(reader.report().fault_counts().count(), faults);
    }
}

#[test]
fn lines_of_twenty_megabytes_cost_nothing_of_what_stands_around_them() {
    let long = format!("{}\\n \\\"TaskCreate\\\"", "work ".repeat(4_000_000));
    let call = |id: &str, name: &str, input: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","message":{{"content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}]}}}}"#
        )
    };
    let result = |id: &str, text: &str| {
        format!(
            r#"{{"type":"user","sessionId":"s","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{text}"}}]}}}}"#
        )
    };
    let lines = [
        call("a", "TaskCreate", r#"{"subject":"one"}"#),
        // While a call is open, and while none is.
        result("x", &long),
        result("a", "Task #1 created successfully: one"),
        call("y", "Bash", &format!(r#"{{"command":"{long}"}}"#)),
        call(
            "b",
            "TaskUpdate",
            &format!(r#"{{"taskId":"1","description":"{long}"}}"#),
        ),
        result("b", "Updated task #1 description"),
        call("c", "TaskUpdate", r#"{"taskId":"1","status":"completed"}"#),
        result("c", "Updated task #1 status"),
    ];
    let text = lines.join("\n") + "\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &text).unwrap();
    let mut reader = open(file.path(), Options::default()).unwrap();
    let events: Vec<Event> = (&mut reader).map(Result::unwrap).collect();
    assert_eq!(events, all(text.as_bytes()));
    let lines: Vec<u64> = events.iter().map(|event| event.place.line).collect();
    assert_eq!(lines, [3, 6, 8]);
    assert_eq!(reader.report().faults().len(), 0);
    let list = TaskList::fold(events);
    let task = list.task("1").unwrap();
    assert_eq!(task.status.as_deref(), Some("completed"));
    let description: String = serde_json::from_str(&format!("\"{long}\"")).unwrap();
    assert_eq!(task.description, Some(description));
}
