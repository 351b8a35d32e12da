//! The task list as the screen shows it: the tasks, since when each is worked on, and who changed what.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use llm::{Item, Origin};
use pod::replay::fold_entry;
use pod::session::Entry;
use tools::task::{Change, Status, Task, TaskFold};

/// The list, from committed entries only.
#[derive(Clone, Debug, Default)]
pub(super) struct Board {
    tasks: Vec<Task>,
    /// Since when tasks are worked on, by index.
    begun: HashMap<usize, Timestamp>,
    steps: Vec<Step>,
}

/// A change of the list.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) at: Timestamp,
    pub(super) by: By,
    pub(super) change: Change,
}

/// Who changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Model,
    User,
}

impl By {
    /// Who an entry is by.
    pub(super) fn of(item: &Item) -> Self {
        match item {
            Item::System(message) if message.origin == Origin::TaskEdit => Self::User,
            _ => Self::Model,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::User => "you",
        }
    }
}

impl Board {
    /// The list of a history.
    pub(super) fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut board = Self::default();
        let mut fold = TaskFold::default();
        for entry in entries {
            // What the fold cannot use was told when the session was opened.
            for change in fold_entry(&mut fold, entry).unwrap_or_default() {
                board.note(entry.at, By::of(&entry.item), change);
            }
        }
        board.tasks = fold.store().snapshot();
        board
    }

    /// Takes a change over.
    pub(super) fn apply(&mut self, at: Timestamp, by: By, change: &Change) {
        let index = index(&change.task);
        match self.tasks.get_mut(index) {
            Some(task) => *task = change.task.clone(),
            None => self.tasks.push(change.task.clone()),
        }
        self.note(at, by, change.clone());
    }

    fn note(&mut self, at: Timestamp, by: By, change: Change) {
        let index = index(&change.task);
        let is_working = change.task.status == Status::InProgress;
        if !is_working {
            self.begun.remove(&index);
        } else if change.previous_status != Some(Status::InProgress) {
            self.begun.insert(index, at);
        }
        self.steps.push(Step { at, by, change });
    }

    /// Takes the steps of the whole past in place of those that are known.
    pub(super) fn set_past(&mut self, past: &[Entry]) {
        let whole = Self::of(past);
        if whole.steps.len() >= self.steps.len() {
            self.steps = whole.steps;
            self.begun.extend(whole.begun);
        }
    }

    pub(super) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub(super) fn has_work(&self) -> bool {
        self.kept().next().is_some()
    }

    /// All but the deleted ones.
    fn kept(&self) -> impl Iterator<Item = &Task> {
        self.tasks
            .iter()
            .filter(|task| task.status != Status::Deleted)
    }

    /// How many are done, and how many there are.
    pub(super) fn progress(&self) -> (usize, usize) {
        let done = self.with(Status::Completed).count();
        (done, self.kept().count())
    }

    /// The tasks with this status.
    pub(super) fn with(&self, status: Status) -> impl DoubleEndedIterator<Item = &Task> {
        self.tasks.iter().filter(move |task| task.status == status)
    }

    /// For how long a task has been worked on.
    pub(super) fn elapsed(&self, task: &Task, now: Timestamp) -> Option<Duration> {
        let begun = self.begun.get(&index(task))?;
        Duration::try_from(now.duration_since(*begun)).ok()
    }
}

fn index(task: &Task) -> usize {
    usize::try_from(task.id.number())
        .unwrap_or(usize::MAX)
        .saturating_sub(1)
}

/// A message of the user in the past of a session, to which it can go back.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    /// The entry before it; `None` if it is the first one.
    pub(super) before: Option<uuid::Uuid>,
    pub(super) at: Timestamp,
    pub(super) text: String,
    /// The list when it was said.
    pub(super) tasks: Arc<Vec<Task>>,
}

/// The messages of the user, the first one first.
pub(super) fn moments(past: &[Entry]) -> Vec<Moment> {
    let mut fold = TaskFold::default();
    let mut tasks = Arc::new(Vec::new());
    let mut before = None;
    let mut moments = Vec::new();
    for entry in past {
        if let Item::User(message) = &*entry.item {
            moments.push(Moment {
                before,
                at: entry.at,
                text: message.joined_text(),
                tasks: Arc::clone(&tasks),
            });
        }
        let is_snapshot =
            matches!(&*entry.item, Item::System(it) if it.origin == Origin::TaskSnapshot);
        let changes = fold_entry(&mut fold, entry).unwrap_or_default();
        if is_snapshot || !changes.is_empty() {
            // Messages between which nothing changed share one list.
            tasks = Arc::new(fold.store().snapshot());
        }
        before = Some(entry.id);
    }
    moments
}
