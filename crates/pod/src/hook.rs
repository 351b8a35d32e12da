//! Hooks: a program's own say at certain moments of a run.

use async_trait::async_trait;
use llm::{ToolResult, UserMessage};
use serde_json::Value;

use crate::compact::Trigger;

/// A program's own say at certain moments of a run.
///
/// Each method says nothing by default. A run waits for the answer; interrupting it takes the question
/// back.
#[async_trait]
pub trait Hook: Send + Sync {
    /// The name, for messages.
    fn name(&self) -> &str;

    /// Before a tool runs, and before permission is asked for.
    async fn before_tool(&self, call: HookCall<'_>) -> Before {
        let _ = call;
        Before::Continue
    }

    /// After a tool ran, before its result enters the history. A result that is made to fail here
    /// has no effect on the task list.
    async fn after_tool(&self, call: HookCall<'_>, result: &ToolResult) -> After {
        let _ = (call, result);
        After::Keep
    }

    /// Before a prompt enters the history.
    async fn before_prompt(&self, prompt: &UserMessage) -> Prompt {
        let _ = prompt;
        Prompt::Continue
    }

    /// When the model says that it is done. `again` is true if a hook has already kept this run from
    /// ending: one that always does so keeps it going until its limit of turns.
    async fn before_end(&self, text: &str, again: bool) -> AtEnd {
        let _ = (text, again);
        AtEnd::End
    }

    /// Before a compaction begins.
    async fn before_compaction(&self, trigger: Trigger) -> BeforeCompaction {
        let _ = trigger;
        BeforeCompaction::Continue
    }
}

/// The call that a hook is asked about.
#[derive(Clone, Copy, Debug)]
pub struct HookCall<'a> {
    /// Its id.
    pub id: &'a str,
    /// The name of the tool.
    pub name: &'a str,
    /// The arguments, with the changes that earlier hooks made.
    pub arguments: &'a Value,
}

/// What a hook says before a tool runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Before {
    /// Nothing.
    Continue,
    /// The tool is to run with these arguments, if it may.
    Change(Value),
    /// The tool may run, without asking anybody. Rules and modes that forbid it still hold, and so
    /// does a later hook that denies it.
    Allow {
        /// The arguments to run with instead.
        changed_arguments: Option<Value>,
    },
    /// The tool must not run. An empty reason is replaced by one that names the hook.
    Deny(String),
}

/// What a hook says after a tool ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing.
    Keep,
    /// The result stands, and the model reads this text behind the results of its message.
    Note(String),
    /// The result is an error with this text. An empty text is replaced by one that names the hook.
    Fail(String),
}

/// What a hook says before a prompt enters the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// Nothing.
    Continue,
    /// The model is to read this text behind the prompt.
    Note(String),
    /// The prompt does not enter the history, and the run ends with [`crate::PodError::PromptDenied`].
    Deny(String),
}

/// What a hook says when the model is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// Nothing: the run ends.
    End,
    /// The model reads this text and works on.
    GoOn(String),
}

/// What a hook says before a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeforeCompaction {
    /// Nothing.
    Continue,
    /// There is none; the history stays what it is.
    Deny(String),
}
