//! From the entries of a history to the task list: a pure left fold.
//!
//! Live, on resume, after a fork, a rewind or a compaction, the list comes about in this one way. A
//! call takes effect at its result, if and only if that is a success.

use std::collections::{HashMap, HashSet};

use serde::Deserialize as _;
use serde_json::Value;

use super::{
    Change, Task, TaskOperation, TaskStore, arguments, create, render, todo_write, update,
};

/// Folds the entries of a history into a [`TaskStore`].
#[derive(Debug, Default)]
pub struct TaskFold {
    store: TaskStore,
    /// Task calls that wait for their result.
    open: HashMap<String, (Kind, Value)>,
    /// Calls whose success is in the history: one that stands there twice took effect once.
    done: HashSet<String>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Create,
    Update,
    Todos,
}

/// Something in a history that should have changed the list and could not. The history was written
/// by a version with other rules, or it is damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {reason}; skipped")]
pub struct Warning {
    /// What was skipped, such as `call call_7`.
    pub subject: String,
    /// Why.
    pub reason: String,
}

impl Warning {
    /// Both texts may quote the history, so they are cut and cleaned like all that is shown.
    fn new(subject: &str, reason: &str) -> Self {
        let clean = |text: &str| render::short(&render::one_line(text), 200);
        Self {
            subject: clean(subject),
            reason: clean(reason),
        }
    }
}

impl TaskFold {
    /// A fold that keeps the given store up to date. The store is taken as it is.
    pub fn new(store: TaskStore) -> Self {
        Self {
            store,
            ..Self::default()
        }
    }

    /// Puts what was folded into a store that others hold, in one step, and keeps that store from
    /// now on.
    pub fn into_store(mut self, store: TaskStore) -> Self {
        // What a store holds is always a list, so this cannot fail.
        let _ = store.replace(self.store.snapshot());
        self.store = store;
        self
    }

    /// The store that the fold keeps.
    pub fn store(&self) -> &TaskStore {
        &self.store
    }

    /// A tool call in a message of the model. It changes nothing yet.
    pub fn call(&mut self, id: &str, name: &str, arguments: &Value) {
        self.call_with(id, name, || Some(arguments.clone()));
    }

    /// The same, for arguments that are still to be read; of most calls nobody needs them. If there are
    /// none, the call counts for nothing.
    pub fn call_with(&mut self, id: &str, name: &str, arguments: impl FnOnce() -> Option<Value>) {
        let kind = match name {
            create::NAME => Kind::Create,
            update::NAME => Kind::Update,
            todo_write::NAME => Kind::Todos,
            _ => return,
        };
        if !self.done.contains(id)
            && !self.open.contains_key(id)
            && let Some(arguments) = arguments()
        {
            self.open.insert(id.to_owned(), (kind, arguments));
        }
    }

    /// Whether a call is one of a task tool that has no result yet.
    pub fn waits_for(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// The result of a call. `changed_arguments` are those that the tool really ran with, where
    /// they are not those of the call.
    ///
    /// Gives the changes of the list: none, one, or as many as a call of `TodoWrite` made.
    pub fn result(
        &mut self,
        id: &str,
        is_error: bool,
        changed_arguments: Option<&Value>,
    ) -> Result<Vec<Change>, Warning> {
        let Some((kind, arguments)) = self.open.remove(id) else {
            return Ok(Vec::new());
        };
        if is_error {
            return Ok(Vec::new());
        }
        self.done.insert(id.to_owned());
        let arguments = changed_arguments.unwrap_or(&arguments);
        let warning = |reason: String| Warning::new(&format!("call {id}"), &reason);
        let operations = match kind {
            Kind::Create => arguments::create(arguments).map(|it| vec![it]),
            Kind::Update => arguments::update(arguments).map(|it| vec![it]),
            Kind::Todos => arguments::todos(arguments).and_then(|todos| {
                self.store
                    .with(|tasks| todo_write::operations(tasks, &todos))
                    .map_err(|error| error.to_string())
            }),
        }
        .map_err(warning)?;
        operations
            .iter()
            .map(|operation| self.store.apply(operation))
            .collect::<Result<_, _>>()
            .map_err(|error| warning(error.to_string()))
    }

    /// A change that a person made by hand, recorded as such.
    pub fn edit(&mut self, operation: &TaskOperation) -> Result<Change, Warning> {
        self.store
            .apply(operation)
            .map_err(|error| Warning::new("edit by hand", &error.to_string()))
    }

    /// The whole list as the runtime carried it over a compaction: it takes the place of all that
    /// was folded before. One that cannot be read changes nothing.
    pub fn snapshot(&mut self, tasks: &Value) -> Result<(), Warning> {
        let warning = |reason: String| Warning::new("task snapshot", &reason);
        let tasks = Vec::<Task>::deserialize(tasks).map_err(|error| warning(error.to_string()))?;
        self.store
            .replace(tasks)
            .map_err(|error| warning(error.to_string()))
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
