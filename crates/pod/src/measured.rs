//! What benchmarks reach that programs have no use for. No part of the interface.

use llm::Item;

use crate::history::History;
use crate::session::{LogError, Opened, Session};

/// The history of a session without a run: the log, the memory and the task list.
#[derive(Debug)]
pub struct Log(History);

impl Log {
    /// The history of a new session.
    pub fn begin(session: Session) -> Self {
        Self(History::begin(session))
    }

    /// The history of a session that was opened.
    pub fn restore(opened: Opened) -> Result<Self, LogError> {
        History::restore(opened).map(|(history, _)| Self(history))
    }

    /// Appends an item, and gives how many tasks it changed.
    pub fn append(&mut self, item: Item) -> Result<usize, LogError> {
        Ok(self.0.append(item)?.changes.len())
    }

    /// How many tasks there are.
    pub fn tasks(&self) -> u32 {
        self.0.tasks().counts().total()
    }
}
