//! What can be changed while a run is going on: the model, the permissions, the list by hand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llm::Model;
use tokio_util::sync::CancellationToken;
use tools::task::TaskOperation;

use crate::permission::{PermissionMode, Permissions, Rule};

/// What can be changed while a run is going on.
pub(crate) struct Shared {
    state: Mutex<State>,
}

struct State {
    model: Arc<dyn Model>,
    permissions: Permissions,
    reasoning_tokens: Option<u32>,
    /// Stops the run that is going on.
    cancel: CancellationToken,
    /// What a person wants changed in the task list, at the next place where that can be.
    edits: VecDeque<TaskOperation>,
}

impl Shared {
    pub(crate) fn new(
        model: Arc<dyn Model>,
        permissions: Permissions,
        reasoning_tokens: Option<u32>,
    ) -> Self {
        Self {
            state: Mutex::new(State {
                model,
                permissions,
                reasoning_tokens,
                cancel: CancellationToken::new(),
                edits: VecDeque::new(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What stops the run that begins now.
    pub(crate) fn begin_run(&self) -> CancellationToken {
        let cancel = CancellationToken::new();
        self.lock().cancel = cancel.clone();
        cancel
    }

    pub(crate) fn model(&self) -> Arc<dyn Model> {
        Arc::clone(&self.lock().model)
    }

    pub(crate) fn permissions(&self) -> Permissions {
        self.lock().permissions.clone()
    }

    pub(crate) fn reasoning_tokens(&self) -> Option<u32> {
        self.lock().reasoning_tokens
    }

    /// The change by hand that is next, if any waits.
    pub(crate) fn next_edit(&self) -> Option<TaskOperation> {
        self.lock().edits.pop_front()
    }

    /// A change that could not be made yet stays the next one.
    pub(crate) fn queue_edit_again(&self, operation: TaskOperation) {
        self.lock().edits.push_front(operation);
    }
}

/// Controls a [`crate::Pod`] while it runs, from anywhere.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Handle {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
        }
    }

    /// Stops the run that is going on, if there is one. It ends with [`crate::Status::Interrupted`].
    pub fn interrupt(&self) {
        self.shared.lock().cancel.cancel();
    }

    /// Asks another model from the next request on.
    pub fn set_model(&self, model: Arc<dyn Model>) {
        self.shared.lock().model = model;
    }

    /// The model that is asked.
    pub fn model(&self) -> Arc<dyn Model> {
        self.shared.model()
    }

    /// Holds the next calls to another mode.
    pub fn set_permission_mode(&self, mode: PermissionMode) {
        self.shared.lock().permissions.mode = mode;
    }

    /// The mode that calls are held to.
    pub fn permission_mode(&self) -> PermissionMode {
        self.shared.lock().permissions.mode
    }

    /// Changes the task list by hand while a run is going on: before its next request to the model, or
    /// at its end. It is told as [`crate::Event::Entry`] and [`crate::Event::Task`] once it is done, and as
    /// [`crate::Event::Warning`] if it cannot be. With no run going on it waits for the next one:
    /// [`crate::Pod::edit_tasks`] does it at once.
    pub fn edit_tasks(&self, operation: TaskOperation) {
        self.shared.lock().edits.push_back(operation);
    }

    /// Allows more calls. Rules that forbid still win.
    pub fn allow(&self, rules: impl IntoIterator<Item = Rule>) {
        self.shared.lock().permissions.allow.extend(rules);
    }

    /// Forbids more calls. The tools stay offered.
    pub fn deny(&self, rules: impl IntoIterator<Item = Rule>) {
        self.shared.lock().permissions.deny.extend(rules);
    }

    /// The reasoning budget from the next request on, see [`llm::Request::reasoning_tokens`].
    pub fn set_reasoning_tokens(&self, tokens: Option<u32>) {
        self.shared.lock().reasoning_tokens = tokens;
    }
}
