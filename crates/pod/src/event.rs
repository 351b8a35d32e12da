//! What a run tells while it runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use llm::{Delta, StopReason, ToolCall, Usage};
use tools::task::Change;

use crate::PodError;
use crate::compact::Compaction;
use crate::history::Committed;
use crate::session::Entry;

/// Something that happened in a run, told in the order in which it was committed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// An entry is in the history. It was written to the log before.
    Entry(Entry),
    /// The entry told before changed the task list.
    Task(Change),
    /// A part of a response while it arrives. It is a preview: what counts comes as an entry.
    Preview(Delta),
    /// Something about a compaction of the history.
    Compaction(Compaction),
    /// Something that a person should know and that does not stop the run.
    Warning(String),
    /// The run ended. The last event of each run.
    Finished(Arc<Outcome>),
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// In which way.
    pub status: Status,
    /// What the model said last: the text of its last message that has one.
    pub text: String,
    /// Why the model stopped, in its last message.
    pub stop_reason: Option<StopReason>,
    /// How many responses the run got from the model.
    pub turns: u32,
    /// The tokens of all requests together.
    pub usage: Usage,
    /// The calls that were not allowed to run.
    pub denials: Vec<ToolCall>,
    /// How long the run took.
    pub duration: Duration,
    /// How long the requests to the model took, of that.
    pub model_duration: Duration,
}

/// In which way a run ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Status {
    /// The model said that it is done.
    Completed,
    /// The run had as many responses as it may have. The tools of the last one ran.
    MaxTurns,
    /// The run was interrupted.
    Interrupted,
    /// The run could not go on.
    Failed(PodError),
}

/// The events that were not read yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue(Arc<Mutex<VecDeque<Event>>>);

impl Queue {
    pub(crate) fn push(&self, event: Event) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(event);
    }

    /// Tells of an entry that is in the log, and of what it changed.
    pub(crate) fn push_committed(&self, committed: Committed) {
        self.push(Event::Entry(committed.entry));
        for change in committed.changes {
            self.push(Event::Task(change));
        }
        if let Some(warning) = committed.warning {
            self.push(Event::Warning(warning));
        }
    }

    pub(crate) fn pop(&self) -> Option<Event> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }
}
