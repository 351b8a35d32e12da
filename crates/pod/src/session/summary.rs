//! What a listing says of a session, from a few lines of its log: the headers, the first prompt, and
//! the end. Its cost does not grow with the history.

use std::collections::HashSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use llm::{Item, JsonText, Origin};
use tools::task::{Counts, TaskFold};

use super::entry::{Entry, LINE_LIMIT, decode};
use super::segment::{self, read_header, read_line};
use super::{Disk, SessionInfo, SessionStore, segment_path};
use crate::compact::CompactRecord;
use crate::replay::fold_entry;

/// How many bytes are read of the end of a segment. A change of a task takes about one thousand with
/// its call, so that the last of them is mostly among these.
const END: u64 = 128 * 1024;

/// How many lines are looked at for the first prompt. It is the first one, but behind a compaction.
const FIRST_LINES: usize = 64;

/// What a listing says of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionSummary {
    /// The working directory that it was begun in.
    pub directory: PathBuf,
    /// The first thing that the user said; empty if nothing was said yet.
    pub first_prompt: String,
    /// How many tasks there are of each status; `None` if the end of the log does not tell, so that
    /// the whole segment would have to be read.
    pub counts: Option<Counts>,
    /// Its compactions, the first one first. What cannot be read is left out.
    pub compactions: Vec<CompactRecord>,
    /// The size of its newest segment in bytes.
    pub bytes: u64,
    /// Why it cannot be read, if what was looked at cannot. `pod verify` looks at everything.
    pub trouble: Option<String>,
}

impl SessionStore {
    /// What a listing says of a session.
    pub fn summary(&self, info: &SessionInfo) -> SessionSummary {
        let disk = self.disk();
        let newest = info.newest_segment();
        let mut summary = SessionSummary::default();
        match read_header(disk, &newest) {
            Ok(header) => summary.directory = header.directory,
            Err(error) => {
                summary.trouble = Some(error.to_string());
                return summary;
            }
        }
        let headers = (2..=info.segment)
            .filter_map(|number| read_header(disk, &segment_path(&info.path, number)).ok());
        summary.compactions = headers
            .filter_map(|header| CompactRecord::of(&header))
            .collect();
        // The first words are in the first segment still, whatever came after it.
        summary.first_prompt = first_prompt(disk, &segment_path(&info.path, 1))
            .or_else(|| first_prompt(disk, &newest))
            .unwrap_or_default();
        if let Err(trouble) = summary.read_end(disk, &newest) {
            summary.trouble = Some(trouble);
        }
        summary
    }
}

impl SessionSummary {
    fn read_end(&mut self, disk: &dyn Disk, path: &Path) -> Result<(), String> {
        let (bytes, length) = disk
            .read_end(path, END)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        self.bytes = length;
        if length <= END {
            // All of it was wanted, so it is read as it always is.
            let contents = segment::read(disk, path, true).map_err(|error| error.to_string())?;
            let mut fold = TaskFold::default();
            for located in &contents.entries {
                // What the fold cannot use is for `pod verify` to tell.
                let _ = fold_entry(&mut fold, &located.entry);
            }
            self.counts = Some(fold.store().counts());
            return match contents.damage {
                Some(damage) => Err(format!("line {} cannot be read", damage.line)),
                None => Ok(()),
            };
        }
        self.counts = counts_at_end(&bytes);
        Ok(())
    }
}

/// The first thing that the user said in a segment, if it stands near its begin.
fn first_prompt(disk: &dyn Disk, path: &Path) -> Option<String> {
    let mut file = BufReader::new(disk.open_read(path).ok()?);
    let mut line = Vec::new();
    for _ in 0..FIRST_LINES {
        let read = read_line(&mut file, &mut line, LINE_LIMIT).ok()?;
        if read.length == 0 {
            return None;
        }
        if let Ok(decoded) = decode(line.trim_ascii())
            && let Item::User(message) = &*decoded.entry.item
        {
            return Some(message.joined_text());
        }
    }
    None
}

/// The counts after the last change, as its result tells them; `None` if the bytes, which are the end
/// of a segment, hold none, or something after it that may have changed the list.
fn counts_at_end(bytes: &[u8]) -> Option<Counts> {
    // The first line is cut somewhere, the last one may not be committed.
    let begin = memchr::memchr(b'\n', bytes)?;
    let end = memchr::memrchr(b'\n', bytes)?;
    let whole = bytes.get(begin + 1..end)?;
    let mut calls = HashSet::new();
    let mut counts = None;
    for line in whole.split(|byte| *byte == b'\n') {
        // A line of a newer version has no say about tasks; a bad one is found by who opens the log.
        let Ok(decoded) = decode(line.trim_ascii()) else {
            continue;
        };
        look_at(&decoded.entry, &mut calls, &mut counts);
    }
    counts
}

fn look_at(entry: &Entry, calls: &mut HashSet<String>, counts: &mut Option<Counts>) {
    if entry.carried {
        return;
    }
    match &*entry.item {
        Item::User(_) => {}
        Item::Assistant(message) => {
            // The tool that shows one task changes nothing and tells no counts.
            let of_tasks = message.calls().filter(|call| {
                tools::task::is_reserved(&call.name) && call.name != tools::task::get::NAME
            });
            calls.extend(of_tasks.map(|call| call.id.clone()));
        }
        Item::ToolResult(result) => {
            if calls.remove(&result.call_id) && !result.is_error {
                // The Agent SDK's dialect tells none.
                let told = result.value.as_ref().map(JsonText::to_value);
                let told = told.as_ref().and_then(|told| told.get("counts"));
                *counts = told.and_then(|told| serde_json::from_value(told.clone()).ok());
            }
        }
        Item::System(message) => {
            if matches!(message.origin, Origin::TaskSnapshot | Origin::TaskEdit) {
                *counts = None;
            }
        }
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
