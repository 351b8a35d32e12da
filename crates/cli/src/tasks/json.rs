//! `--json`: one object a log, as `docs/tasks-json.md` says.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Map, Value, json};
use transcripts::{Chain, Change, ChangeKind, Event, Origin, State, Task, What};

use super::load::{Loaded, Source, Step};
use super::progress::Progress;

/// Writes the object of a log, in a line.
pub(crate) fn write(loaded: &Loaded, timeline: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, Harmless);
    document(loaded, timeline).serialize(&mut serializer)?;
    text.push(b'\n');
    out.write_all(&text)
}

/// The object of a log.
pub(crate) fn document(loaded: &Loaded, timeline: bool) -> Value {
    let list = &loaded.list;
    let source = &loaded.source;
    let tasks = list.tasks();
    let todos = list.todos(&Chain::Main);
    let reports = || loaded.reports.iter();
    let mut document = Map::new();
    document.insert("format".into(), loaded.format().into());
    document.insert("source".into(), file(source, 0));
    if source.files.len() > 1 {
        let files = (0..source.files.len()).map(|index| file(source, index));
        document.insert("sources".into(), files.collect());
    }
    let mut sessions: Vec<&String> = Vec::new();
    for session in reports().flat_map(|report| &report.sessions) {
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    document.insert("session_ids".into(), json!(sessions));
    document.insert(
        "directory".into(),
        json!(reports().find_map(|report| report.directory.as_ref())),
    );
    document.insert(
        "startedAt".into(),
        time(reports().filter_map(|report| report.started).min()),
    );
    document.insert("endedAt".into(), time(loaded.ended()));
    document.insert("complete".into(), (!loaded.has_gaps()).into());
    document.insert(
        "progress".into(),
        progress(&Progress::of(tasks.iter().copied()).and(Progress::of(todos))),
    );
    document.insert(
        "tasks".into(),
        tasks.iter().map(|task| entry(task, true, source)).collect(),
    );
    document.insert(
        "todos".into(),
        todos
            .iter()
            .map(|task| entry(task, false, source))
            .collect(),
    );
    let agents = list.todos_by_agent().map(|(chain, todos)| {
        let todos = todos.iter().map(|task| entry(task, false, source));
        (chain.to_string(), todos.collect())
    });
    document.insert("todos_by_agent".into(), Value::Object(agents.collect()));
    let pending = list.pending().iter().map(|event| pending(event, source));
    document.insert("pending_calls".into(), pending.collect());
    document.insert("counts".into(), Value::Object(counts(loaded)));
    if !list.unknown_fields().is_empty() {
        document.insert("unknown_update_keys".into(), json!(list.unknown_fields()));
    }
    document.insert(
        "lines".into(),
        reports().map(|report| report.lines).sum::<u64>().into(),
    );
    document.insert(
        "malformed_lines".into(),
        reports()
            .map(transcripts::Report::malformed)
            .sum::<u64>()
            .into(),
    );
    document.insert("faults".into(), faults(loaded));
    if timeline {
        let steps = loaded.steps.iter().map(|it| step(it, source));
        document.insert("timeline".into(), steps.collect());
    }
    Value::Object(document)
}

/// The path of a file of the source; `-` is standard input.
fn file(source: &Source, index: usize) -> Value {
    match source.files.get(index) {
        Some(path) => path.to_string_lossy().into(),
        None => "-".into(),
    }
}

fn time(time: Option<jiff::Timestamp>) -> Value {
    time.map_or(Value::Null, |time| time.to_string().into())
}

fn progress(progress: &Progress) -> Value {
    let mut counts = Map::new();
    counts.insert("total".into(), progress.total().into());
    for state in State::ALL {
        let name = state.as_str().replace(' ', "_");
        counts.insert(name, progress.count(state).into());
    }
    Value::Object(counts)
}

/// An entry of a list. Only tasks have a description.
fn entry(task: &Task, is_task: bool, source: &Source) -> Value {
    let mut entry = Map::new();
    entry.insert("id".into(), task.id.as_str().into());
    entry.insert("status".into(), json!(task.status));
    entry.insert("subject".into(), json!(task.subject));
    if is_task {
        entry.insert("description".into(), json!(task.description));
    }
    entry.insert("activeForm".into(), json!(task.active_form));
    if let Some(owner) = task.owner.as_ref().filter(|owner| !owner.is_empty()) {
        entry.insert("owner".into(), owner.as_str().into());
    }
    if !task.blocks.is_empty() {
        entry.insert("blocks".into(), json!(task.blocks));
    }
    if !task.blocked_by.is_empty() {
        entry.insert("blockedBy".into(), json!(task.blocked_by));
    }
    if !task.metadata.is_empty() {
        entry.insert("metadata".into(), json!(task.metadata));
    }
    if let Some(priority) = &task.priority {
        entry.insert("priority".into(), priority.clone());
    }
    match task.origin {
        Origin::Created => {}
        Origin::Observed => drop(entry.insert("origin".into(), "observed".into())),
        Origin::Stub => drop(entry.insert("origin".into(), "stub".into())),
    }
    if task.absent {
        entry.insert("absent".into(), true.into());
    }
    entry.insert("source".into(), file(source, task.updated.place.source));
    entry.insert("line".into(), task.updated.place.line.into());
    entry.insert("chain".into(), task.updated.chain.to_string().into());
    entry.insert("createdAt".into(), time(task.created.time));
    entry.insert("updatedAt".into(), time(task.updated.time));
    Value::Object(entry)
}

fn pending(event: &Event, source: &Source) -> Value {
    let mut call = place(event, source);
    if let Some(of) = &event.call {
        call.insert("tool".into(), of.tool.name().into());
    }
    if let What::Pending { input, lost } = &event.what {
        call.insert("input".into(), input.clone());
        if *lost {
            call.insert("lost".into(), true.into());
        }
    }
    Value::Object(call)
}

fn place(event: &Event, source: &Source) -> Map<String, Value> {
    let mut place = Map::new();
    if source.files.len() > 1 {
        place.insert("source".into(), file(source, event.place.source));
    }
    place.insert("line".into(), event.place.line.into());
    place.insert("chain".into(), event.chain.to_string().into());
    place
}

fn counts(loaded: &Loaded) -> Map<String, Value> {
    let mut counts: std::collections::BTreeMap<String, u64> = loaded
        .list
        .counts()
        .map(|(count, times)| (count.to_string(), times))
        .collect();
    for report in &loaded.reports {
        for (name, times) in &report.counts {
            *counts.entry((*name).to_owned()).or_default() += times;
        }
    }
    counts
        .into_iter()
        .map(|(name, times)| (name, times.into()))
        .collect()
}

fn faults(loaded: &Loaded) -> Value {
    let mut faults = Vec::new();
    for (index, report) in loaded.reports.iter().enumerate() {
        for fault in report.faults() {
            let mut entry = Map::new();
            if loaded.reports.len() > 1 {
                entry.insert("source".into(), file(&loaded.source, index));
            }
            entry.insert("line".into(), fault.line.into());
            entry.insert("fault".into(), fault.kind.name().into());
            if !fault.detail.is_empty() {
                entry.insert("detail".into(), fault.detail.as_str().into());
            }
            faults.push(Value::Object(entry));
        }
    }
    Value::Array(faults)
}

/// An entry of the timeline.
fn step(step: &Step, source: &Source) -> Value {
    let event = &step.event;
    let mut entry = Map::new();
    entry.insert("time".into(), time(event.time));
    entry.extend(place(event, source));
    if let Some(call) = &event.call {
        entry.insert("tool".into(), call.tool.name().into());
    }
    let name = match &event.what {
        What::Create(_) => "create",
        What::Update(_) => "update",
        What::Observe(_) => "observe",
        What::Replace(_) => "replace",
        What::Restore(_) => "restore",
        What::Failed { .. } => "failed",
        What::Unreadable { .. } => "unreadable",
        What::Pending { .. } => "pending",
        What::Compaction => "compaction",
    };
    entry.insert("event".into(), name.into());
    match &event.what {
        What::Failed { reason } => drop(entry.insert("why".into(), reason.as_str().into())),
        What::Unreadable { reason } => drop(entry.insert("why".into(), (*reason).into())),
        _ => {}
    }
    let changes = step.changes.iter().map(change);
    entry.insert("changes".into(), changes.collect());
    Value::Object(entry)
}

fn change(change: &Change) -> Value {
    let mut entry = Map::new();
    let list = if change.todo { "todos" } else { "tasks" };
    entry.insert("list".into(), list.into());
    entry.insert("id".into(), change.id.as_str().into());
    entry.insert("subject".into(), json!(change.subject));
    let (kind, field, from, to) = match &change.kind {
        ChangeKind::Added(status) => ("added", Some("status"), None, status.clone()),
        ChangeKind::Field { name, from, to } => ("changed", Some(*name), from.clone(), to.clone()),
        ChangeKind::Removed(_) => ("removed", None, None, None),
        ChangeKind::Absent => ("absent", None, None, None),
        ChangeKind::Back => ("back", None, None, None),
    };
    entry.insert("change".into(), kind.into());
    if let Some(field) = field {
        entry.insert("field".into(), field.into());
        entry.insert("from".into(), json!(from));
        entry.insert("to".into(), json!(to));
    }
    Value::Object(entry)
}

/// Compact JSON in which nothing can drive a terminal that it is printed to: besides what JSON itself
/// asks for, the control characters above ASCII and the marks that turn the direction of text are
/// written as escapes.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut plain = 0;
        for (at, character) in fragment.char_indices() {
            if !tools::task::render::is_control(character) {
                continue;
            }
            writer.write_all(fragment.get(plain..at).unwrap_or("").as_bytes())?;
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain = at + character.len_utf8();
        }
        let rest = fragment.get(plain..).unwrap_or("");
        CompactFormatter.write_string_fragment(writer, rest)
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
