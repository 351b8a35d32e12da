//! An entry of a list, and what can become of it.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::event::{Chain, Event, Place};
use crate::state::State;

/// An entry of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// Its status as its agent spells it; [`State::of`] tells what that means.
    pub status: Option<String>,
    /// What it is about; `None` if no log that was read tells it.
    pub subject: Option<String>,
    /// All that is to be known about it.
    pub description: Option<String>,
    /// What to show while it is worked on.
    pub active_form: Option<String>,
    /// Who works on it.
    pub owner: Option<String>,
    /// Ids of the tasks that wait for this one.
    pub blocks: Vec<String>,
    /// Ids of the tasks that this one waits for.
    pub blocked_by: Vec<String>,
    /// Free values.
    pub metadata: Map<String, Value>,
    /// How urgent, where the agent has that.
    pub priority: Option<Value>,
    /// How it became known.
    pub origin: Origin,
    /// The agent's store no longer shows it, though it was not deleted: Claude Code drops a list
    /// whose tasks are all completed.
    pub absent: bool,
    /// Where it came up first.
    pub created: Stamp,
    /// Where it changed last.
    pub updated: Stamp,
}

impl Task {
    /// What its status means.
    pub fn state(&self) -> State {
        State::of(self.status.as_deref())
    }
}

/// How a task became known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Its creation was read.
    #[default]
    Created,
    /// It stood among the rows of the agent's store; it was created elsewhere.
    Observed,
    /// Only updates of it were read; it was created elsewhere.
    Stub,
}

/// Where and when something happened, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Where it stands.
    pub place: Place,
    /// When, if the log says so.
    pub time: Option<Timestamp>,
    /// By whom.
    pub chain: Chain,
}

impl From<&Event> for Stamp {
    fn from(event: &Event) -> Self {
        Self {
            place: event.place,
            time: event.time,
            chain: event.chain.clone(),
        }
    }
}

/// What an event did to one entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The entry is of the todo list of the event's chain, not of the tasks.
    pub todo: bool,
    /// The entry.
    pub id: String,
    /// Its subject afterwards.
    pub subject: Option<String>,
    /// What became of it.
    pub kind: ChangeKind,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new, with this status.
    Added(Option<String>),
    /// A field has another value.
    Field {
        /// Which field, by its name in the JSON output.
        name: &'static str,
        /// The value before.
        from: Option<String>,
        /// The value now.
        to: Option<String>,
    },
    /// It is no longer in the list. It had this status.
    Removed(Option<String>),
    /// The agent's store no longer shows it.
    Absent,
    /// The agent's store shows it again.
    Back,
}
