//! What a log tells about task lists, whatever agent wrote it.
//!
//! A reader of a format turns its lines into these events; [`TaskList`](crate::TaskList) folds them.
//! What differs from agent to agent is said by the event (an id that is not told, rows that are the
//! whole list, an update of something unknown), so that one fold serves all.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

/// One thing that a log tells about its task lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where it stands.
    pub place: Place,
    /// When it happened, if the log says so.
    pub time: Option<Timestamp>,
    /// Whose doing it was.
    pub chain: Chain,
    /// The tool call that it comes from, if it comes from one.
    pub call: Option<Call>,
    /// What happened.
    pub what: What,
}

/// A place in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Which log, where several are read together; from 0.
    pub source: usize,
    /// The line, from 1. For a log that is one JSON document: the message, from 0.
    pub line: u64,
}

/// Who acts: the session itself or one of its sub-agents. Each has a todo list of its own; tasks
/// (those with ids) are one list for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Chain {
    /// The session itself.
    #[default]
    Main,
    /// The sub-agent with this id.
    Agent(Arc<str>),
    /// A sub-agent without an id, named by the uuid of its first message.
    Sidechain(Arc<str>),
}

impl fmt::Display for Chain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => formatter.write_str("main"),
            Self::Agent(id) => write!(formatter, "agent:{id}"),
            Self::Sidechain(root) => write!(formatter, "sidechain:{root}"),
        }
    }
}

/// A tool call that a log tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The id that pairs the call with its result; empty where the format has none.
    pub id: String,
    /// The tool.
    pub tool: Tool,
}

/// The tools that keep task lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the tool with this name")]
pub enum Tool {
    TaskCreate,
    TaskUpdate,
    TaskList,
    TaskGet,
    TodoWrite,
    Todowrite,
    WriteTodos,
    UpdatePlan,
    TodoList,
}

impl Tool {
    /// The tool that is called so by its agent.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "TaskCreate" => Self::TaskCreate,
            "TaskUpdate" => Self::TaskUpdate,
            "TaskList" => Self::TaskList,
            "TaskGet" => Self::TaskGet,
            "TodoWrite" => Self::TodoWrite,
            "todowrite" => Self::Todowrite,
            "write_todos" => Self::WriteTodos,
            "update_plan" => Self::UpdatePlan,
            _ => return None,
        })
    }

    /// The name that its agent gives it. `todo_list` is no tool but the item of `codex exec --json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::TaskCreate => "TaskCreate",
            Self::TaskUpdate => "TaskUpdate",
            Self::TaskList => "TaskList",
            Self::TaskGet => "TaskGet",
            Self::TodoWrite => "TodoWrite",
            Self::Todowrite => "todowrite",
            Self::WriteTodos => "write_todos",
            Self::UpdatePlan => "update_plan",
            Self::TodoList => "todo_list",
        }
    }
}

/// What happened to a list, or what became known of it.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A new task.
    Create(Create),
    /// New values for some fields of a task.
    Update(Update),
    /// The agent's own store told how things stand.
    Observe(Observation),
    /// The chain's todo list is now this one.
    Replace(Vec<Item>),
    /// The task list is now this one, whatever it was before.
    Restore(Vec<Row>),
    /// A call failed and changed nothing.
    Failed {
        /// What the log says about it.
        reason: String,
    },
    /// A call succeeded and says nothing that could be understood. It changed nothing here.
    Unreadable {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A call has no result; it changed nothing. Told at the end of the log.
    Pending {
        /// The input of the call.
        input: Value,
        /// The session went on without the result, so it is lost and not only late.
        lost: bool,
    },
    /// The agent compacted its context. That changes no list.
    Compaction,
}

/// A new task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Create {
    /// Its id; `None` where the log does not tell it: then it is the highest number so far and one.
    pub id: Option<String>,
    /// What it is about.
    pub subject: Option<String>,
    /// All that is to be known about it.
    pub description: Option<String>,
    /// What to show while it is worked on.
    pub active_form: Option<String>,
    /// Free values.
    pub metadata: Map<String, Value>,
}

/// New values for some fields of a task. What is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// Which task. One that is not known becomes a stub.
    pub id: String,
    /// Its status, as its agent spells it.
    pub status: Option<String>,
    /// Its subject.
    pub subject: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// What to show while it is worked on.
    pub active_form: Option<String>,
    /// Who works on it.
    pub owner: Option<String>,
    /// Tasks that wait for this one, to be added.
    pub add_blocks: Vec<String>,
    /// Tasks that this one waits for, to be added.
    pub add_blocked_by: Vec<String>,
    /// Values to be merged; `null` removes one.
    pub metadata: Map<String, Value>,
    /// The status that the store had before, where the log tells it.
    pub was: Option<String>,
    /// The store said which fields it changed and that its status was not among them.
    pub status_unchanged: bool,
    /// Names of fields that mean nothing here.
    pub unknown_fields: Vec<String>,
}

/// Rows that the agent's own store gave out. They win over what was folded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// The rows.
    pub rows: Vec<Row>,
    /// The rows are all tasks that the store has: what is not among them was dropped by the agent.
    pub whole: bool,
    /// The rows carry every field that they can have.
    pub full: bool,
    /// A reminder that the agent wrote by itself, not the result of a call.
    pub reminder: bool,
}

/// A task as a store shows it. What is `None` was not shown.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields of a task, see `Task`")]
pub struct Row {
    pub id: String,
    pub status: Option<String>,
    pub subject: Option<String>,
    /// A subject that may have something else behind it, so that it serves only a task that has none.
    pub subject_if_unknown: Option<String>,
    pub description: Option<String>,
    pub active_form: Option<String>,
    pub owner: Option<String>,
    pub blocks: Option<Vec<String>>,
    pub blocked_by: Option<Vec<String>>,
}

/// An entry of a todo list that is written as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    /// Its own id, or its place from 1.
    pub id: String,
    /// Its status, as its agent spells it.
    pub status: Option<String>,
    /// What it is about.
    pub subject: Option<String>,
    /// What to show while it is worked on.
    pub active_form: Option<String>,
    /// How urgent, where the agent has that.
    pub priority: Option<Value>,
}
