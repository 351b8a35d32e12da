//! The compact worker: a second, bounded loop that writes the summary.
//!
//! It has four tools of its own and no other. What it is given of the task list is text: it has no
//! store and no task tool, so it cannot change a task.

use std::fmt::Write as _;
use std::sync::Arc;

use llm::{
    AssistantMessage, Conversation, Delta, Item, Model, ModelError, Request, StopReason, ToolCall,
    Usage, UserMessage, tokens,
};
use tools::task::render::one_line;

use super::briefing;
use super::desk::{self, Desk};
use super::files::FileReader;
use crate::admit::unique_ids;
use crate::session::Entry;

/// How many answers the worker may give.
const TURNS: usize = 12;

/// What the worker is given.
pub(super) struct Assignment<'a> {
    /// What the summary is to take the place of, and what stays behind it.
    pub(super) history: &'a [Entry],
    /// The task list as text; `None` if the session has no task tools.
    pub(super) tasks: Option<&'a str>,
    /// The files that the session touched last, the last one first.
    pub(super) recent_files: &'a [String],
    /// Reads files; `None` if the session does not read any.
    pub(super) reader: Option<FileReader<'a>>,
    /// The most tokens that the briefing may have.
    pub(super) briefing_limit: u64,
    /// How many tokens the files may have together that are shown again.
    pub(super) files_limit: u64,
    /// The most tokens that the summary may have.
    pub(super) summary_limit: u64,
}

/// What the worker came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// The summary; never blank.
    pub(super) summary: String,
    /// Files, or parts of files, that the agent is to see again.
    pub(super) files: Vec<RequiredFile>,
    /// Paths that the agent may want to read.
    pub(super) references: Vec<String>,
    /// What the agent will have seen of files.
    pub(super) seen: tools::Tracker,
}

/// A file, or a part of one, that the agent is to see again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequiredFile {
    /// The file and which part of it.
    pub(super) name: String,
    /// What the agent is shown.
    pub(super) text: String,
}

/// Why there is no summary.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum WorkError {
    /// The model gave no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model refused.
    #[error("the model refused to write a summary")]
    Refused,
    /// The answer reached the output limit.
    #[error("the summary reached the model's output limit and is cut off")]
    Cut,
    /// The summary is blank.
    #[error("the summary is empty")]
    Empty,
    /// The answer is a call that was written as text, or the like.
    #[error("the answer is no summary: it looks like a tool call written as text")]
    Protocol,
    /// The summary is too long.
    #[error("the summary has about {0} tokens, the limit is {1}")]
    TooLong(u64, u64),
    /// The worker went on without writing a summary.
    #[error("no summary after {TURNS} answers")]
    NoEnd,
}

/// Has a model write the summary. What the requests cost is added to `usage`, whatever comes of
/// them; `watch` is told when a request has to wait.
pub(super) async fn work(
    model: &dyn Model,
    assignment: Assignment<'_>,
    usage: &mut Usage,
    watch: &mut (dyn FnMut(Delta) + Send),
) -> Result<Work, WorkError> {
    /// No briefing is made smaller than this.
    const LEAST: u64 = 500;
    let mut limit = assignment.briefing_limit;
    loop {
        match attempt(model, &assignment, limit, usage, watch).await {
            // The estimate was wrong, or what is known of the model is.
            Err(WorkError::Model(ModelError::PromptTooLong(_))) if limit / 2 >= LEAST => {
                limit /= 2;
            }
            result => return result,
        }
    }
}

async fn attempt(
    model: &dyn Model,
    assignment: &Assignment<'_>,
    briefing_limit: u64,
    usage: &mut Usage,
    watch: &mut (dyn FnMut(Delta) + Send),
) -> Result<Work, WorkError> {
    let prompt = UserMessage::text(briefing_text(assignment, briefing_limit));
    let mut conversation = Conversation::new(vec![Arc::new(Item::User(prompt))]);
    let mut desk = Desk::new(assignment, briefing_limit / 2);
    let tools = desk::tools(assignment.reader.is_some());
    for _ in 0..TURNS {
        let request = Request {
            system: include_str!("prompt.md"),
            tools: &tools,
            conversation: &conversation,
            max_output_tokens: None,
            reasoning_tokens: None,
        };
        // What it says is nothing to show; that it waits is.
        let mut watch = |delta: Delta| {
            if matches!(delta, Delta::Retry { .. }) {
                watch(delta);
            }
        };
        let message = model.respond(request, &mut watch).await?;
        *usage += message.usage;
        let message = unique_ids(message, &conversation);
        let calls: Vec<ToolCall> = message.calls().cloned().collect();
        if calls.is_empty() {
            // Weak models answer with the text itself.
            return finished_with(&message, desk);
        }
        conversation.push(Arc::new(Item::Assistant(message)));
        for call in &calls {
            let result = desk.run(call).await;
            conversation.push(Arc::new(Item::ToolResult(result)));
        }
        if let Some(work) = desk.done() {
            return Ok(work);
        }
    }
    Err(WorkError::NoEnd)
}

/// Takes a message without calls for the summary.
fn finished_with(message: &AssistantMessage, mut desk: Desk<'_>) -> Result<Work, WorkError> {
    match message.stop_reason {
        StopReason::Refusal => return Err(WorkError::Refused),
        StopReason::MaxTokens => return Err(WorkError::Cut),
        _ => {}
    }
    desk.take_summary(&message.joined_text())?;
    desk.done().ok_or(WorkError::Empty)
}

/// What the worker is told: tasks, files, limits, and of the conversation as much as fits.
fn briefing_text(assignment: &Assignment<'_>, limit: u64) -> String {
    let mut rest = String::new();
    if let Some(tasks) = assignment.tasks {
        rest.push_str("\nThe task list, which is carried along by itself:\n\n");
        briefing::quote(&mut rest, tasks);
    }
    if !assignment.recent_files.is_empty() {
        rest.push_str("\nThe files touched last:\n\n");
        for path in assignment.recent_files {
            briefing::quote(&mut rest, &one_line(path));
        }
    }
    rest.push_str(&limits(assignment));
    let left = limit.saturating_sub(tokens::of_text(&rest));
    let history = briefing::history(assignment.history, left);
    format!("The conversation:\n\n{history}{rest}")
}

fn limits(assignment: &Assignment<'_>) -> String {
    let summary = assignment.summary_limit;
    let mut text = format!(
        "\nThe summary may have at most about {summary} tokens, which is {} characters of English.",
        summary.saturating_mul(4)
    );
    if assignment.reader.is_some() {
        let files = assignment.files_limit;
        let _ = write!(
            text,
            " The files that are shown again may have about {files} tokens together."
        );
    }
    text.push_str(
        "\n\nNow prepare the memory, as the instructions say, and end with write_summary.",
    );
    text
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
