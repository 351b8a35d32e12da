//! A task, its status, and how many there are of each.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The number of a task: from 1, assigned by the store, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(u32);

impl TaskId {
    /// The id with this number.
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Where the task with this id stands in its list; `None` for 0, which no task has.
    pub(crate) fn index(self) -> Option<usize> {
        usize::try_from(self.0.checked_sub(1)?).ok()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// How far a task is. Any status may follow any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Dropped. The task stays in the list.
    Deleted,
}

impl Status {
    /// All of them, in the order of a task's life.
    pub const ALL: [Self; 4] = [
        Self::Pending,
        Self::InProgress,
        Self::Completed,
        Self::Deleted,
    ];

    /// The name in results, logs and schemas.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "inprogress",
            Self::Completed => "completed",
            Self::Deleted => "deleted",
        }
    }

    /// Whether there is still something to do.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its number.
    #[serde(rename = "taskid")]
    pub id: TaskId,
    /// How far it is.
    pub status: Status,
    /// What it is about, in a line. Kept as it was given; folded to one line where it is shown.
    pub subject: String,
    /// All that is to be known about it.
    pub description: String,
    /// What to show while it is in progress, such as "Running the tests".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Fields that a newer version wrote into a snapshot. Nothing reads them; they are kept so that
    /// the next snapshot still has them.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

impl Task {
    /// A pending task.
    pub fn new(id: TaskId, subject: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            id,
            status: Status::Pending,
            subject: subject.into(),
            description: description.into(),
            active_form: None,
            unknown: Map::new(),
        }
    }
}

/// How many tasks there are of each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Not begun.
    pub pending: u32,
    /// Being worked on.
    pub inprogress: u32,
    /// Done.
    pub completed: u32,
    /// Dropped.
    pub deleted: u32,
}

impl Counts {
    /// All tasks, deleted ones too.
    pub fn total(&self) -> u32 {
        self.pending + self.inprogress + self.completed + self.deleted
    }

    /// The tasks that count as work: all but the deleted ones.
    pub fn kept(&self) -> u32 {
        self.total() - self.deleted
    }

    /// The tasks that still have something to be done.
    pub fn open(&self) -> u32 {
        self.pending + self.inprogress
    }

    pub(crate) fn of(&mut self, status: Status) -> &mut u32 {
        match status {
            Status::Pending => &mut self.pending,
            Status::InProgress => &mut self.inprogress,
            Status::Completed => &mut self.completed,
            Status::Deleted => &mut self.deleted,
        }
    }
}

impl<'a> FromIterator<&'a Task> for Counts {
    fn from_iter<I: IntoIterator<Item = &'a Task>>(tasks: I) -> Self {
        let mut counts = Self::default();
        for task in tasks {
            *counts.of(task.status) += 1;
        }
        counts
    }
}

impl fmt::Display for Counts {
    /// One line, such as `6 tasks: 3 pending, 1 inprogress, 2 completed, 0 deleted`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        let noun = if total == 1 { "task" } else { "tasks" };
        write!(
            formatter,
            "{total} {noun}: {} pending, {} inprogress, {} completed, {} deleted",
            self.pending, self.inprogress, self.completed, self.deleted
        )
    }
}
