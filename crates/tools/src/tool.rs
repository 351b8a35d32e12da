//! The [`Tool`] trait: what a call gets and what it gives.

use async_trait::async_trait;
use serde_json::Value;

/// Something that a model can call.
///
/// # Contract
/// - Dropping the future of [`Tool::call`] stops the call, whatever it had started (processes too).
/// - An error changed nothing that the caller would have to undo, as far as the tool can see to it.
/// - The output is bounded, and what was left out is said in it.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The name that the model calls it by.
    fn name(&self) -> &str;

    /// What the model reads about it.
    fn description(&self) -> &str;

    /// The JSON schema of the arguments, without `$schema`, titles and formats.
    fn schema(&self) -> Value;

    /// What a call may change.
    fn effect(&self) -> Effect;

    /// What a call would touch, as permission rules name it: the command of a shell call, the path
    /// of a file call. `None` if rules can only name the tool.
    fn target(&self, arguments: &Value) -> Option<String> {
        let _ = arguments;
        None
    }

    /// Runs the tool.
    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError>;
}

/// What a call gets.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The id of the call, as the history has it.
    pub id: &'a str,
    /// The parsed arguments. Any JSON value: a model may send anything.
    pub arguments: &'a Value,
}

/// What a tool may change. It decides what may run side by side and what needs permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing. Such calls may run side by side.
    Read,
    /// The task list of the session and nothing else. Needs no permission.
    Task,
    /// Files inside the scope.
    Edit,
    /// Anything.
    Execute,
}

/// What a successful call gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// One or two lines that say what happened.
    pub summary: String,
    /// What the model is to read, where that is more than the summary.
    pub content: Option<String>,
    /// The same as data, for programs.
    pub value: Option<Value>,
}

impl ToolOutput {
    /// An output that the summary says whole.
    pub fn summary(summary: impl Into<String>) -> Self {
        Self {
            summary: summary.into(),
            content: None,
            value: None,
        }
    }

    /// Adds what the model is to read.
    pub fn with_content(mut self, content: impl Into<String>) -> Self {
        self.content = Some(content.into());
        self
    }

    /// Adds the data.
    pub fn with_value(mut self, value: Value) -> Self {
        self.value = Some(value);
        self
    }
}

/// Why a call failed. The text is written for the model: what was wrong, what is accepted, what to
/// do next, in under 300 bytes where the tool itself made it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The text.
    pub message: String,
    /// The same as data, for programs.
    pub value: Option<Value>,
}

impl ToolError {
    /// An error with a text only.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            value: None,
        }
    }
}
