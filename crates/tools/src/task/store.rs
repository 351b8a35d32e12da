//! The task list, and the one function that changes it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use unicode_width::UnicodeWidthChar as _;

use super::{Counts, Status, Task, TaskId};

/// The task list of one session.
///
/// A handle: clones share the list. The list is behind a `std` mutex because every critical section
/// is a few instructions and none holds it across an await.
#[derive(Clone, Debug, Default)]
pub struct TaskStore {
    list: Arc<Mutex<List>>,
}

/// A change of the list that somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskOperation {
    /// A new task at the end of the list.
    Create {
        /// What it is about.
        subject: String,
        /// All that is to be known about it.
        description: String,
        /// What to show while it is in progress.
        active_form: Option<String>,
    },
    /// New values for some fields of a task. At least one is given.
    Update {
        /// Which task.
        id: TaskId,
        /// Its new status.
        status: Option<Status>,
        /// Its new subject.
        subject: Option<String>,
        /// Its new description.
        description: Option<String>,
        /// What to show while it is in progress.
        active_form: Option<String>,
    },
}

/// What an operation does, or did, to the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The task as it is afterwards.
    pub task: Task,
    /// Its status before; `None` if the task is new.
    pub previous_status: Option<Status>,
    /// The names of the fields that were given.
    pub fields: Vec<&'static str>,
    /// The counts afterwards.
    pub counts: Counts,
}

/// Why an operation cannot be done. The texts are written for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// No task has this id.
    #[error("task {id} does not exist; {}", known_ids(*.total))]
    UnknownId {
        /// The id that was asked for.
        id: TaskId,
        /// How many tasks there are.
        total: u32,
    },
    /// An update that would change nothing.
    #[error("nothing to update: give at least one of status, subject, description")]
    NoField,
    /// The subject has no visible character.
    #[error("subject is empty: give a short line that says what the task is about")]
    EmptySubject,
    /// Tasks that cannot be a list: ids must be 1, 2, 3, ... in order.
    #[error("the task with id {found} stands at place {place}")]
    BrokenIds {
        /// The id that was found.
        found: TaskId,
        /// The place, from 1, which is the id that belongs there.
        place: usize,
    },
}

fn known_ids(total: u32) -> String {
    match total {
        0 => String::from("there are no tasks yet, TaskCreate makes one"),
        1 => String::from("the only task is 1"),
        _ => format!("ids run from 1 to {total}, TaskList shows them"),
    }
}

impl TaskStore {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes the list. This is the only way in which a task changes.
    pub fn apply(&self, operation: &TaskOperation) -> Result<Change, TaskError> {
        self.lock().apply(operation)
    }

    /// What [`TaskStore::apply`] would do, without doing it.
    pub fn plan(&self, operation: &TaskOperation) -> Result<Change, TaskError> {
        self.lock().plan(operation)
    }

    /// The task with this id.
    pub fn get(&self, id: TaskId) -> Result<Task, TaskError> {
        self.lock().get(id).cloned()
    }

    /// A copy of all tasks, deleted ones too, in the order of their ids.
    pub fn snapshot(&self) -> Vec<Task> {
        self.lock().tasks.clone()
    }

    /// How many tasks there are of each status.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// Looks at the tasks without copying them. The list is locked meanwhile: `look` must not use
    /// the store.
    pub fn with<T>(&self, look: impl FnOnce(&[Task]) -> T) -> T {
        look(&self.lock().tasks)
    }

    /// Puts other tasks in the place of all tasks. Their ids must be 1, 2, 3, ...; otherwise nothing
    /// changes.
    pub fn replace(&self, tasks: Vec<Task>) -> Result<(), TaskError> {
        let list = List::from_tasks(tasks)?;
        *self.lock() = list;
        Ok(())
    }

    /// Nothing can panic while the lock is held and leave the list half changed, so a poisoned lock
    /// is as good as any.
    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Serialize for TaskStore {
    /// The tasks, as an array.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with(|tasks| tasks.serialize(serializer))
    }
}

/// The tasks by id: the task with id `n` stands at index `n - 1`, since none is ever removed.
#[derive(Debug, Default)]
struct List {
    tasks: Vec<Task>,
    counts: Counts,
}

impl List {
    fn from_tasks(tasks: Vec<Task>) -> Result<Self, TaskError> {
        for (index, task) in tasks.iter().enumerate() {
            if task.id.index() != Some(index) {
                return Err(TaskError::BrokenIds {
                    found: task.id,
                    place: index + 1,
                });
            }
        }
        Ok(Self {
            counts: tasks.iter().collect(),
            tasks,
        })
    }

    fn get(&self, id: TaskId) -> Result<&Task, TaskError> {
        id.index()
            .and_then(|index| self.tasks.get(index))
            .ok_or(TaskError::UnknownId {
                id,
                total: self.counts.total(),
            })
    }

    fn apply(&mut self, operation: &TaskOperation) -> Result<Change, TaskError> {
        let change = self.plan(operation)?;
        let place = change.task.id.index();
        match place.and_then(|index| self.tasks.get_mut(index)) {
            Some(task) => *task = change.task.clone(),
            None => self.tasks.push(change.task.clone()),
        }
        self.counts = change.counts;
        Ok(change)
    }

    fn plan(&self, operation: &TaskOperation) -> Result<Change, TaskError> {
        let mut counts = self.counts;
        match operation {
            TaskOperation::Create {
                subject,
                description,
                active_form,
            } => {
                check_subject(subject)?;
                counts.pending += 1;
                let id = TaskId::new(counts.total());
                Ok(Change {
                    task: Task {
                        active_form: active_form.clone(),
                        ..Task::new(id, subject, description)
                    },
                    previous_status: None,
                    fields: Vec::new(),
                    counts,
                })
            }
            TaskOperation::Update {
                id,
                status,
                subject,
                description,
                active_form,
            } => {
                let task = self.get(*id)?;
                let mut fields = Vec::new();
                fields.extend(status.map(|_| "status"));
                fields.extend(subject.as_ref().map(|_| "subject"));
                fields.extend(description.as_ref().map(|_| "description"));
                fields.extend(active_form.as_ref().map(|_| "active_form"));
                if fields.is_empty() {
                    return Err(TaskError::NoField);
                }
                if let Some(subject) = subject {
                    check_subject(subject)?;
                }
                let previous_status = task.status;
                let task = Task {
                    id: *id,
                    status: status.unwrap_or(previous_status),
                    subject: subject.as_ref().unwrap_or(&task.subject).clone(),
                    description: description.as_ref().unwrap_or(&task.description).clone(),
                    active_form: active_form.as_ref().or(task.active_form.as_ref()).cloned(),
                    unknown: task.unknown.clone(),
                };
                *counts.of(previous_status) -= 1;
                *counts.of(task.status) += 1;
                Ok(Change {
                    task,
                    previous_status: Some(previous_status),
                    fields,
                    counts,
                })
            }
        }
    }
}

/// A subject of spaces, control characters, zero-width characters or bare combining marks would be
/// an empty row in every view.
pub(super) fn check_subject(subject: &str) -> Result<(), TaskError> {
    let visible = |character: char| {
        !character.is_whitespace() && character.width().is_some_and(|columns| columns > 0)
    };
    if subject.chars().any(visible) {
        Ok(())
    } else {
        Err(TaskError::EmptySubject)
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
