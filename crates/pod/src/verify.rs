//! Checks the logs of a session against the laws, and says where they break one.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use llm::rules::{Row, Violation};
use llm::{Item, JsonText, Origin, ToolResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tools::task::{self, Task, TaskFold, TaskStore, dialect};
use uuid::Uuid;

use crate::compact::CompactRecord;
use crate::replay::fold_entry;
use crate::session::segment::{self, Contents, Located};
use crate::session::{self, Disk, LogError, NO_BEGINNING, Reason, SessionInfo, segment_path};

/// What was found out about a session.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The session.
    pub session: Uuid,
    /// Its segments, the oldest first.
    pub segments: Vec<SegmentReport>,
}

impl Report {
    /// Whether nothing was found that breaks a law.
    pub fn is_clean(&self) -> bool {
        self.segments
            .iter()
            .all(|segment| segment.findings.iter().all(|it| !it.is_fault))
    }
}

/// What was found out about a segment.
#[derive(Clone, Debug, Serialize)]
pub struct SegmentReport {
    /// Its file.
    pub path: PathBuf,
    /// How many entries could be read.
    pub entries: usize,
    /// The compaction that it was begun by, if it was.
    pub compaction: Option<CompactRecord>,
    /// The task list at its end.
    pub tasks: Vec<Task>,
    /// What was found, in the order of the file.
    pub findings: Vec<Finding>,
}

/// Something that was found in a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether it breaks a law. What does not is mended by itself when the session goes on.
    pub is_fault: bool,
    /// The line, from 1; `None` if it is about the file as a whole.
    pub line: Option<u64>,
    /// Where the line begins, in bytes.
    pub offset: Option<u64>,
    /// What was found.
    pub text: String,
}

/// Checks every segment of a session. What cannot be read is a finding like any other; only a session
/// that is not there is an error.
pub fn verify(disk: &dyn Disk, session: &SessionInfo) -> Result<Report, LogError> {
    let newest = session::newest_segment(disk, &session.path)?.ok_or_else(|| {
        LogError::NotFound(format!("{} holds no session", session.path.display()))
    })?;
    let mut report = Report {
        session: session.id,
        segments: Vec::new(),
    };
    let mut is_whole = false;
    for number in 1..=newest {
        // What cannot be read is told once, not again by what it leads to.
        let before = report.segments.last().filter(|_| is_whole);
        let before = before.map(|it| it.tasks.as_slice());
        let segment;
        (segment, is_whole) = check_segment(disk, session, number, before);
        report.segments.push(segment);
    }
    Ok(report)
}

/// Checks a segment, and tells whether it could be read to its end.
fn check_segment(
    disk: &dyn Disk,
    session: &SessionInfo,
    number: u32,
    tasks_before: Option<&[Task]>,
) -> (SegmentReport, bool) {
    let path = segment_path(&session.path, number);
    let mut check = Check::default();
    let contents = match segment::read(disk, &path, true) {
        Ok(contents) => contents,
        Err(error) => {
            let is_about_header = matches!(
                error,
                LogError::NoHeader { .. } | LogError::NewerVersion { .. }
            );
            check.fault(is_about_header.then_some(HEADER), error.to_string());
            return (check.report(&path, 0, Vec::new()), false);
        }
    };
    check.compaction = CompactRecord::of(&contents.header);
    check.header(&contents, session.id, number);
    check.copied(disk, session, &contents, number);
    check.ends(&contents);
    let tasks = check.tasks(&contents, tasks_before);
    if let Some(unknown) = contents.unknown() {
        check.note(None, unknown);
    }
    if let Some(torn) = &contents.torn {
        let text = format!(
            "an unfinished line of {} bytes at the end: {}",
            torn.length, torn.reason
        );
        check.note((torn.line, torn.offset), text);
    }
    if let Some(damage) = &contents.damage {
        let place = (damage.line, damage.offset);
        let text = format!(
            "the line cannot be read, nor what is behind it: {}",
            damage.reason
        );
        check.fault(place, text);
    }
    let is_whole = contents.damage.is_none();
    (check.report(&path, contents.entries.len(), tasks), is_whole)
}

/// Where the header stands: line and byte.
const HEADER: Place = (1, 0);

/// A line and the byte where it begins.
type Place = (u64, u64);

fn place(located: &Located) -> Place {
    (located.line, located.begin)
}

/// The findings of one segment.
#[derive(Default)]
struct Check {
    compaction: Option<CompactRecord>,
    findings: Vec<Finding>,
}

impl Check {
    fn fault(&mut self, place: impl Into<Option<Place>>, text: String) {
        self.add(true, place.into(), text);
    }

    fn note(&mut self, place: impl Into<Option<Place>>, text: String) {
        self.add(false, place.into(), text);
    }

    fn add(&mut self, is_fault: bool, place: Option<Place>, text: String) {
        self.findings.push(Finding {
            is_fault,
            line: place.map(|(line, _)| line),
            offset: place.map(|(_, offset)| offset),
            text,
        });
    }

    fn report(self, path: &Path, entries: usize, tasks: Vec<Task>) -> SegmentReport {
        SegmentReport {
            path: path.to_owned(),
            entries,
            compaction: self.compaction,
            tasks,
            findings: self.findings,
        }
    }

    /// The header says where the file is.
    fn header(&mut self, contents: &Contents, session: Uuid, number: u32) {
        let header = &contents.header;
        if header.session != session {
            let text = format!(
                "the header names session {}, the directory {session}",
                header.session
            );
            self.fault(HEADER, text);
        }
        if header.segment != number {
            let text = format!(
                "the header names segment {}, the file {number}",
                header.segment
            );
            self.fault(HEADER, text);
        }
    }

    /// Law 8: what was taken over from another segment of the session is there whole, as it was.
    fn copied(&mut self, disk: &dyn Disk, session: &SessionInfo, contents: &Contents, number: u32) {
        let header = &contents.header;
        let parent = match &header.parent {
            Some(parent) if parent.session == header.session => parent,
            _ => return,
        };
        if parent.segment >= number {
            let text = format!("the header names segment {} as its origin", parent.segment);
            self.fault(HEADER, text);
            return;
        }
        if !matches!(header.reason, Reason::Rewind | Reason::Salvage) {
            return;
        }
        let path = segment_path(&session.path, parent.segment);
        let Ok(origin) = segment::read(disk, &path, true) else {
            // That it cannot be read is a finding about that segment.
            return;
        };
        let is_last = |located: &Located| {
            Some(located.entry.id) == parent.entry
                && (header.reason == Reason::Salvage || !located.entry.carried)
        };
        let count = match (&parent.entry, origin.entries.iter().position(is_last)) {
            (None, _) => 0,
            (Some(_), Some(index)) => index + 1,
            // It stood behind the damage, which is a finding about that segment.
            (Some(_), None) if origin.damage.is_some() => origin.entries.len(),
            (Some(entry), None) => {
                let text = format!("segment {} has no entry {entry}", parent.segment);
                self.fault(HEADER, text);
                return;
            }
        };
        for (index, original) in origin.entries.iter().take(count).enumerate() {
            match contents.entries.get(index) {
                Some(copy) if copy.entry == original.entry => {}
                // It stands behind the damage.
                None if contents.damage.is_some() => return,
                copy => {
                    let text = format!(
                        "line {} of segment {} is not here as it was",
                        original.line, parent.segment
                    );
                    self.fault(copy.map_or(HEADER, place), text);
                    return;
                }
            }
        }
    }

    /// Law 9, at both ends: that each call has one result, in its place, was seen when it was read.
    fn ends(&mut self, contents: &Contents) {
        if contents.lacks_beginning() {
            self.note(contents.entries.first().map(place), NO_BEGINNING.to_owned());
        }
        let mut row = Row::default();
        for located in &contents.entries {
            if row.push(&located.entry.item).is_err() {
                return;
            }
        }
        // A log may end anywhere: that is what a resume mends. Before damage it ends in any case.
        if contents.damage.is_none()
            && let Err(violation @ Violation::OpenCall(..)) = row.end()
        {
            self.note(None, format!("at the end, {}", violation.what()));
        }
    }

    /// Laws 1, 2 and 5: the list is the fold, and what the results told the model is what the fold
    /// gives. Law 7: what a compaction carried is the list before it.
    fn tasks(&mut self, contents: &Contents, before: Option<&[Task]>) -> Vec<Task> {
        let mut fold = TaskFold::default();
        let mut reads = Reads::default();
        let mut snapshots = 0;
        for located in &contents.entries {
            let entry = &located.entry;
            let folded = fold_entry(&mut fold, entry);
            let told = match (&folded, &*entry.item) {
                (Ok(changes), Item::ToolResult(result)) if !changes.is_empty() => {
                    let told = result.value.as_ref().map(JsonText::to_value);
                    let told = told.as_ref();
                    told.is_none_or(|told| changes.iter().all(|it| dialect::tells(told, it)))
                }
                (Ok(_), Item::ToolResult(result)) => reads.is_right(result, fold.store()),
                (Ok(_), Item::Assistant(message)) if !entry.carried => {
                    reads.note(message);
                    true
                }
                _ => true,
            };
            if !told {
                let text = "the result told of a task what the history does not give";
                self.fault(place(located), String::from(text));
            }
            let is_snapshot = matches!(
                &*entry.item,
                Item::System(message) if message.origin == Origin::TaskSnapshot
            );
            snapshots += usize::from(is_snapshot);
            if is_snapshot && snapshots > 1 {
                let text = "a second task snapshot in one segment";
                self.fault(place(located), String::from(text));
            }
            if let Err(warning) = folded {
                self.fault(place(located), warning.to_string());
            } else if is_snapshot && contents.header.reason == Reason::Compact {
                let carried = fold.store().snapshot();
                if before.is_some_and(|tasks| tasks != carried) {
                    let text = "the snapshot is not the list at the end of the segment before";
                    self.fault(place(located), String::from(text));
                }
            }
        }
        // Where a line cannot be read, it may be the snapshot.
        if contents.header.reason == Reason::Compact
            && contents.damage.is_none()
            && snapshots == 0
            && before.is_some_and(|tasks| !tasks.is_empty())
        {
            let text = "the compaction carried no task snapshot, and there were tasks";
            self.fault(HEADER, String::from(text));
        }
        fold.store().snapshot()
    }
}

/// The calls that show the list and wait for their results.
#[derive(Default)]
struct Reads {
    lists: HashSet<String>,
    gets: HashSet<String>,
}

impl Reads {
    fn note(&mut self, message: &llm::AssistantMessage) {
        for call in message.calls() {
            match call.name.as_str() {
                task::list::NAME => self.lists.insert(call.id.clone()),
                task::get::NAME => self.gets.insert(call.id.clone()),
                _ => continue,
            };
        }
    }

    /// Whether a result shows the list as it is.
    fn is_right(&mut self, result: &ToolResult, store: &TaskStore) -> bool {
        if self.lists.remove(&result.call_id) {
            is_told(result, "tasks", |tasks: Vec<Task>| {
                store.with(|list| list == tasks)
            })
        } else if self.gets.remove(&result.call_id) {
            is_told(result, "task", |task: Task| {
                store.get(task.id).is_ok_and(|it| it == task)
            })
        } else {
            true
        }
    }
}

/// Whether a field of the result's value is right. It is, if there is none, or if it is
/// said that something was left out: other dialects, and long lists, tell less.
fn is_told<T: DeserializeOwned>(
    result: &ToolResult,
    field: &str,
    is_right: impl FnOnce(T) -> bool,
) -> bool {
    let value = result.value.as_ref().map(JsonText::to_value);
    let value = value.as_ref();
    if value.is_some_and(|value| value.get("left_out").is_some()) {
        return true;
    }
    let told = value.and_then(|value| value.get(field));
    let told: Option<T> = told.and_then(|told| serde_json::from_value(told.clone()).ok());
    result.is_error || told.is_none_or(is_right)
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
