//! Reads the log of the session while another process writes it.

use std::collections::HashSet;

use anyhow::Context as _;
use llm::{AssistantBlock, Item, Origin};
use pod::replay::fold_entry;
use pod::session::{Entry, segment};
use pod::{SessionInfo, SessionStore};
use tools::task::{Task, TaskFold};
use uuid::Uuid;

use crate::progress::{call_line, result_line};

/// Follows the only session of a store.
pub(super) struct Follower {
    store: SessionStore,
    info: Option<SessionInfo>,
    told: HashSet<Uuid>,
    /// The calls that have no result yet: id and name.
    open: Vec<(String, String)>,
}

impl Follower {
    pub(super) fn new(store: SessionStore) -> Self {
        Self {
            store,
            info: None,
            told: HashSet::new(),
            open: Vec::new(),
        }
    }

    /// What entered the log since the last time, as lines to read.
    pub(super) fn news(&mut self) -> anyhow::Result<Vec<String>> {
        let before = self.segment();
        self.info = self.store.list_all()?.into_iter().next();
        let Some(info) = &self.info else {
            return Ok(Vec::new());
        };
        let mut lines = Vec::new();
        // A segment may have got its last entries just before the next one was begun.
        for number in before.max(1)..=info.segment {
            for entry in self.entries(number)? {
                if !entry.carried && self.told.insert(entry.id) {
                    lines.extend(self.tell(&entry));
                }
            }
        }
        Ok(lines)
    }

    fn tell(&mut self, entry: &Entry) -> Vec<String> {
        match &*entry.item {
            Item::Assistant(message) => {
                for call in message.calls() {
                    self.open.push((call.id.clone(), call.name.clone()));
                }
                let blocks = message.content.iter().map(|block| match block {
                    AssistantBlock::Text(text) => format!("\n{text}"),
                    AssistantBlock::Reasoning(reasoning) => format!("({})", reasoning.text),
                    AssistantBlock::ToolCall(call) => call_line(call),
                });
                blocks.collect()
            }
            Item::ToolResult(result) => {
                self.open.retain(|(id, _)| *id != result.call_id);
                vec![result_line(result)]
            }
            Item::System(message) if message.origin == Origin::Summary => {
                let text = "*** The history is compacted: a summary takes its place ***";
                vec![String::new(), text.to_owned()]
            }
            // The prompts are printed where they are given.
            Item::User(_) | Item::System(_) => Vec::new(),
        }
    }

    /// Whether a call of this tool has no result yet.
    pub(super) fn waits_for(&self, tool: &str) -> bool {
        self.open.first().is_some_and(|(_, name)| name == tool)
    }

    /// The number of the newest segment; 0 if there is none.
    pub(super) fn segment(&self) -> u32 {
        self.info.as_ref().map_or(0, |info| info.segment)
    }

    pub(super) fn info(&self) -> anyhow::Result<&SessionInfo> {
        self.info.as_ref().context("no session was begun")
    }

    pub(super) fn session(&self) -> anyhow::Result<Uuid> {
        Ok(self.info()?.id)
    }

    /// The entries of a segment.
    pub(super) fn entries(&self, number: u32) -> anyhow::Result<Vec<Entry>> {
        let path = self.info()?.path.join(format!("{number:04}.jsonl"));
        let contents = segment::read(self.store.disk(), &path, false)?;
        Ok(contents.entries.into_iter().map(|it| it.entry).collect())
    }

    /// The task list, from the log alone.
    pub(super) fn tasks(&self) -> anyhow::Result<Vec<Task>> {
        Ok(tasks_of(&self.entries(self.segment())?))
    }
}

/// The task list that the entries give.
pub(super) fn tasks_of(entries: &[Entry]) -> Vec<Task> {
    let mut fold = TaskFold::default();
    for entry in entries {
        // `pod verify`, which runs at the end, tells what the fold could not use.
        let _ = fold_entry(&mut fold, entry);
    }
    fold.store().snapshot()
}
