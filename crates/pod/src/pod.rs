//! [`Pod`]: a model at work in a directory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llm::{Model, ToolSpec, UserMessage};
use tools::Registry;
use tools::bash::Confinement;
use tools::task::{Change, TaskOperation, TaskStore};
use uuid::Uuid;

use crate::PodError;
use crate::builder::Builder;
use crate::compact::{self, Breaker, CompactLimits, CompactPlan, Files, Trigger};
use crate::edit;
use crate::event::Queue;
use crate::handle::{Handle, Shared};
use crate::history::History;
use crate::hook::Hook;
use crate::mention::Mention;
use crate::permission::Approver;
use crate::reminder::Reminder;
use crate::run::Run;
use crate::session::{Entry, Session};
use crate::turn::{drive, drive_compaction};

/// A model at work in a directory, with a session that is logged.
///
/// Runs go one after the other; the task list, the history and the tools last from one to the next.
pub struct Pod {
    pub(crate) parts: Parts,
    pub(crate) history: History,
    pub(crate) notices: Vec<String>,
    pub(crate) confinement: Confinement,
}

/// What a run needs beside the history.
pub(crate) struct Parts {
    pub(crate) shared: Arc<Shared>,
    pub(crate) registry: Registry,
    /// The tools as the model sees them.
    pub(crate) tool_specs: Vec<ToolSpec>,
    pub(crate) system_prompt: String,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) max_output_tokens: Option<u32>,
    pub(crate) compact_limits: CompactLimits,
    /// The most bytes of text that `TaskList` gives.
    pub(crate) list_text_limit: usize,
    pub(crate) files: Files,
    /// When the model is reminded of open tasks, if it is.
    pub(crate) reminder: Option<Reminder>,
    pub(crate) breaker: Mutex<Breaker>,
}

impl Parts {
    /// What stops compactions that do not help.
    pub(crate) fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pod {
    /// Sets up a Pod that asks this model.
    pub fn builder(model: Arc<dyn Model>) -> Builder {
        Builder::new(model)
    }

    /// Gives the model a prompt and lets it work until it is done.
    ///
    /// The run goes on only while its events are read. Dropping it interrupts it at the point where
    /// it is; the history stays in order.
    pub fn run(&mut self, prompt: impl Into<UserMessage>) -> Run<'_> {
        self.run_with(prompt, Vec::new())
    }

    /// The same, with files that the prompt names: each is brought in behind it, once. What names no
    /// file is told by [`crate::Event::Warning`] where a file was surely meant, and the prompt stays as it is.
    ///
    /// ```no_run
    /// # async fn example(pod: &mut pod::Pod) {
    /// let prompt = "What does @src/main.rs do?";
    /// pod.run_with(prompt, pod::Mention::all_in(prompt)).outcome().await;
    /// # }
    /// ```
    pub fn run_with(&mut self, prompt: impl Into<UserMessage>, mentions: Vec<Mention>) -> Run<'_> {
        let prompt = prompt.into();
        let queue = Queue::default();
        let cancel = self.parts.shared.begin_run();
        let (parts, history, events) = (&self.parts, &mut self.history, queue.clone());
        let drive = async move { drive(parts, history, prompt, mentions, cancel, &events).await };
        Run::new(drive, queue)
    }

    /// Goes back to an entry of the session. What came after it stays in the old segments, but not
    /// in the history, and the task list is what it was at that entry. What a compaction put in front
    /// is one thing: each entry of it stands for all.
    ///
    /// Gives what a person should know about it.
    pub fn rewind(&mut self, entry: Uuid) -> Result<Vec<String>, PodError> {
        // What did not help there may help here.
        self.parts.breaker().reset();
        Ok(self.history.rewind(entry)?)
    }

    /// Replaces the history by a summary and its newest part now, whatever its size. The task list is
    /// carried whole. [`crate::Event::Compaction`] tells what happens; the run ends with
    /// [`PodError::NotCompacted`] if the history is what it was.
    pub fn compact(&mut self) -> Run<'_> {
        // A person asks: whatever failed before is tried again.
        self.parts.breaker().reset();
        let queue = Queue::default();
        let cancel = self.parts.shared.begin_run();
        let (parts, history, events) = (&self.parts, &mut self.history, queue.clone());
        let drive = async move { drive_compaction(parts, history, cancel, &events).await };
        Run::new(drive, queue)
    }

    /// Changes the task list by hand. The change is an entry of the history, as the user's own: it is
    /// in the log when this returns, and the model reads of it with its next request. While a run is
    /// going on, [`Handle::edit_tasks`] does the same.
    ///
    /// # Errors
    /// [`PodError::Edit`] if the list has no such task or the change is empty, [`PodError::Log`] if it
    /// cannot be written. The list is what it was in both cases.
    pub fn edit_tasks(&mut self, operation: &TaskOperation) -> Result<Change, PodError> {
        // A run before may have been dropped in the middle of its calls.
        self.history
            .close_open_calls("interrupted; outcome unknown")?;
        let planned = self.tasks().plan(operation).map_err(PodError::Edit)?;
        let committed = edit::edit(&mut self.history, operation)?;
        Ok(committed.changes.into_iter().next().unwrap_or(planned))
    }

    /// What [`Pod::compact`] would do, without asking the model and without doing it.
    pub fn plan_compaction(&self) -> CompactPlan {
        compact::plan(&self.parts, &self.history, Trigger::Manual)
    }

    /// Controls the Pod while it runs.
    pub fn handle(&self) -> Handle {
        Handle::new(&self.parts.shared)
    }

    /// The task list.
    pub fn tasks(&self) -> &TaskStore {
        self.history.tasks()
    }

    /// The entries of the history.
    pub fn entries(&self) -> &[Entry] {
        self.history.entries()
    }

    /// The session.
    pub fn session(&self) -> &Session {
        self.history.session()
    }

    /// The tools that the model is offered.
    pub fn tools(&self) -> &Registry {
        &self.parts.registry
    }

    /// Whether commands that the model runs are held to where they may write.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// What a person should know about how the session was opened, such as a torn end of the log
    /// that was cut off.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}
