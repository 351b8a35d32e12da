//! The history of a session: what was said and done, in the log, in memory, and as task list.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use llm::{Conversation, Item, Origin, ToolResult, tokens};
use serde_json::Value;
use tools::task::{Change, TaskFold, TaskStore};
use uuid::Uuid;

use crate::RUNTIME;
use crate::compact::CompactRecord;
use crate::reminder::Idle;
use crate::replay::fold_entry;
use crate::session::entry::encode;
use crate::session::{Contents, Entry, LogError, Opened, Parent, Reason, Session};

/// The history of a session.
///
/// It grows in one place, [`History::append`]: a line in the log, then memory and the task list,
/// then (by the caller) an event.
#[derive(Debug)]
pub(crate) struct History {
    session: Session,
    entries: Vec<Entry>,
    conversation: Conversation,
    fold: TaskFold,
    /// The ids of all calls so far, so that a new one can be told from an old one.
    call_ids: HashSet<String>,
    /// The ids of the calls that wait for a result, in call order.
    open_calls: VecDeque<String>,
    /// The ids of the calls that Pod itself made.
    runtime_calls: HashSet<String>,
    /// Whether a task snapshot was carried here and the model was not shown the list since.
    list_due: bool,
    /// How long the task list was not used.
    idle: Idle,
    size: Size,
}

/// How large the history is, in tokens.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    /// What the provider reported for the last request and its answer. What was carried over a
    /// compaction does not count: its figures are of the history before.
    reported: Option<u64>,
    /// The estimate of what was added since.
    since: u64,
    /// The estimate of everything.
    estimate: u64,
}

/// An entry that is in the log.
#[derive(Clone, Debug)]
pub(crate) struct Committed {
    /// The entry.
    pub(crate) entry: Entry,
    /// What it changed in the task list.
    pub(crate) changes: Vec<Change>,
    /// Something about the entry that could not be interpreted.
    pub(crate) warning: Option<String>,
}

impl History {
    /// The history of a new session.
    pub(crate) fn begin(session: Session) -> Self {
        Self {
            session,
            entries: Vec::new(),
            conversation: Conversation::new(Vec::new()),
            fold: TaskFold::default(),
            call_ids: HashSet::new(),
            open_calls: VecDeque::new(),
            runtime_calls: HashSet::new(),
            list_due: false,
            idle: Idle::default(),
            size: Size::default(),
        }
    }

    /// The history of a session that was opened, and what a person should know about it.
    ///
    /// Calls that have no result get one in the log: nobody knows what became of them, and none is
    /// run again by itself.
    pub(crate) fn restore(opened: Opened) -> Result<(Self, Vec<String>), LogError> {
        let mut history = Self::begin(opened.session);
        let mut notices = opened.notices;
        notices.extend(history.load(opened.contents));
        history.close_open_calls(
            "interrupted; outcome unknown: the program ended before the call did. Check before you repeat it",
        )?;
        Ok((history, notices))
    }

    /// Takes the contents of a segment in place of what is in memory. The task store stays the same
    /// store, so that the tools go on to see it.
    fn load(&mut self, contents: Contents) -> Vec<String> {
        let mut notices = Vec::new();
        let path = self.session.segment_path().display().to_string();
        if let Some(missing) = cut_short(&contents) {
            notices.push(format!(
                "{path}: {missing}: the file was cut short by somebody else; `pod verify` shows where, --resume-session-at goes back before it"
            ));
        }
        let (lines, entries): (Vec<u64>, Vec<Entry>) = contents
            .entries
            .into_iter()
            .map(|located| (located.line, located.entry))
            .unzip();
        for (index, warning) in self.replace(entries) {
            let line = lines.get(index).copied().unwrap_or_default();
            notices.push(format!("{path}: line {line}: {warning}"));
        }
        notices
    }

    /// Puts other entries in the place of those in memory, and derives everything anew. Gives the
    /// entries that could not be interpreted, by index.
    fn replace(&mut self, entries: Vec<Entry>) -> Vec<(usize, String)> {
        let mut warnings = Vec::new();
        // Folded apart and put into the store in one step, so that nobody who holds the store sees
        // half of the list.
        let store = self.fold.store().clone();
        self.fold = TaskFold::default();
        self.call_ids.clear();
        self.open_calls.clear();
        self.runtime_calls.clear();
        self.list_due = false;
        self.idle = Idle::default();
        self.size = Size::default();
        for (index, entry) in entries.iter().enumerate() {
            if let Err(warning) = self.remember(entry) {
                warnings.push((index, warning));
            }
        }
        self.fold = std::mem::take(&mut self.fold).into_store(store);
        let items = entries.iter().map(|it| Arc::clone(&it.item));
        self.conversation = Conversation::new(items.collect());
        self.entries = entries;
        warnings
    }

    /// Appends an item. When this returns, it is in the log, in memory and in the task list; if it
    /// fails, in none of them.
    pub(crate) fn append(&mut self, item: Item) -> Result<Committed, LogError> {
        let clock = self.session.clock();
        let entry = Entry {
            id: clock.new_id(),
            at: clock.now(),
            carried: false,
            item: Arc::new(item),
        };
        self.session.append(&entry)?;
        let (changes, warning) = match self.remember(&entry) {
            Ok(changes) => (changes, None),
            Err(warning) => (Vec::new(), Some(warning)),
        };
        self.entries.push(entry.clone());
        self.conversation.push(Arc::clone(&entry.item));
        Ok(Committed {
            entry,
            changes,
            warning,
        })
    }

    /// What is derived from the entries: the task list, the call ids, the open calls.
    fn remember(&mut self, entry: &Entry) -> Result<Vec<Change>, String> {
        let estimate = tokens::of_item(&entry.item);
        self.size.estimate += estimate;
        self.size.since += estimate;
        self.idle.fold(entry);
        match &*entry.item {
            Item::Assistant(message) => {
                for call in message.calls() {
                    self.call_ids.insert(call.id.clone());
                    self.open_calls.push_back(call.id.clone());
                    if message.model == RUNTIME {
                        self.runtime_calls.insert(call.id.clone());
                    }
                }
                if message.usage.input > 0 && !entry.carried {
                    self.size.reported = Some(message.usage.input + message.usage.output);
                    self.size.since = 0;
                }
            }
            Item::ToolResult(result) => {
                // Results stand in call order, so it is the first one, unless the log is damaged.
                let mut open = self.open_calls.iter();
                if let Some(index) = open.position(|id| *id == result.call_id) {
                    self.open_calls.remove(index);
                }
                if !result.is_error && self.runtime_calls.contains(&result.call_id) {
                    self.list_due = false;
                }
            }
            Item::System(message) => {
                if message.origin == Origin::TaskSnapshot {
                    self.list_due = true;
                }
            }
            Item::User(_) => {}
        }
        fold_entry(&mut self.fold, entry).map_err(|warning| warning.to_string())
    }

    /// Gives each call that waits for a result an error result with this text.
    pub(crate) fn close_open_calls(&mut self, text: &str) -> Result<Vec<Committed>, LogError> {
        let open: Vec<String> = self.open_calls.iter().cloned().collect();
        open.into_iter()
            .map(|id| self.append(Item::ToolResult(ToolResult::error(id, text))))
            .collect()
    }

    /// The ids of the calls that wait for a result, in call order.
    pub(crate) fn open_calls(&self) -> impl Iterator<Item = &str> {
        self.open_calls.iter().map(String::as_str)
    }

    /// Makes what was appended outlive a power cut.
    pub(crate) fn sync(&mut self) -> Result<(), LogError> {
        self.session.sync()
    }

    /// Goes back to an entry, in a new segment. If it fails, the history is what it was.
    pub(crate) fn rewind(&mut self, entry: Uuid) -> Result<Vec<String>, LogError> {
        let contents = self.session.rewind(entry)?;
        let mut notices = self.load(contents);
        let text = "interrupted: the session was taken back to before the result";
        if let Err(error) = self.close_open_calls(text) {
            // The session has gone back, so this is no failure of that. The next run closes the calls
            // before anything else, or fails for the same reason.
            notices.push(format!("calls without a result stay open: {error}"));
        }
        Ok(notices)
    }

    /// Begins the next segment with these entries, in place of the history. If it fails, the history
    /// is what it was.
    pub(crate) fn begin_compacted_segment(
        &mut self,
        entries: Vec<Entry>,
        details: Value,
    ) -> Result<(), LogError> {
        let parent = Parent {
            session: self.session.id(),
            segment: self.session.segment(),
            entry: self.entries.last().map(|entry| entry.id),
        };
        let lines: Vec<_> = entries
            .iter()
            .map(|entry| encode(entry).map_err(LogError::from))
            .collect();
        self.session
            .begin_segment(Reason::Compact, Some(parent), Some(details), lines)?;
        // The entries were checked before, so none of them is a warning.
        self.replace(entries);
        Ok(())
    }

    /// Whether the model must be shown the task list before the next request.
    pub(crate) fn is_list_due(&self) -> bool {
        self.list_due
    }

    /// The list was shown, or could not be: it is not tried again for this snapshot.
    pub(crate) fn list_is_shown(&mut self) {
        self.list_due = false;
    }

    /// How long the task list was not used.
    pub(crate) fn idle(&self) -> &Idle {
        &self.idle
    }

    /// The size of the next request in tokens. `prefix` gives that of what stands before the history; it
    /// is asked only if the provider has said nothing yet.
    pub(crate) fn size(&self, prefix: impl FnOnce() -> u64) -> u64 {
        match self.size.reported {
            Some(reported) => reported + self.size.since,
            None => prefix() + self.size.estimate,
        }
    }

    /// The estimated size of the history alone, in tokens.
    pub(crate) fn estimate(&self) -> u64 {
        self.size.estimate
    }

    /// The session.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// All entries, in order.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What a model is shown.
    pub(crate) fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The task list.
    pub(crate) fn tasks(&self) -> &TaskStore {
        self.fold.store()
    }

    /// Whether a call of the history has this id.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        self.call_ids.contains(id)
    }

    /// A call id that no call has, of a form that every provider accepts and that shows in a log
    /// who made it.
    pub(crate) fn fresh_call_id(&self) -> String {
        format!("pod_{}", self.session.clock().new_id().simple())
    }
}

/// What a segment must have, since it was installed whole, and has not.
///
/// A line that is torn or missing at the end is found by itself only where later ones stand behind it.
fn cut_short(contents: &Contents) -> Option<String> {
    let header = &contents.header;
    let mut entries = contents.entries.iter().map(|located| &located.entry);
    if let Some(record) = CompactRecord::of(header) {
        let is_there = entries.any(|entry| {
            matches!(&*entry.item, Item::System(message) if message.origin == Origin::TaskSnapshot)
        });
        let tasks = record.tasks;
        return (tasks > 0 && !is_there)
            .then(|| format!("the list of tasks ({tasks}) that a compaction carried is missing"));
    }
    let copied = matches!(
        header.reason,
        Reason::Fork | Reason::Rewind | Reason::Salvage
    );
    let last = header.parent.as_ref().filter(|_| copied)?.entry?;
    let is_there = entries.any(|entry| entry.id == last);
    (!is_there).then(|| {
        format!("entry {last} and what stood before it were copied here and are not all there")
    })
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
