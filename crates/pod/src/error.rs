//! What can go wrong with a Pod.

use std::io;
use std::path::PathBuf;

use llm::ModelError;
use llm::rules::Violation;
use tools::task::TaskError;

use crate::session::LogError;

/// What can go wrong with a Pod. Each text says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PodError {
    /// The model gave no response.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The log could not be read or written. What was acknowledged before is in it.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A compaction that was asked for was not done, and the history is what it was.
    #[error("not compacted: {0}")]
    NotCompacted(String),
    /// A change of the task list by hand that cannot be made. The list is what it was.
    #[error("the task list was not changed: {0}")]
    Edit(TaskError),
    /// A hook did not let the prompt through.
    #[error("the prompt was refused by a hook: {0}")]
    PromptDenied(String),
    /// A prompt without a word or a picture.
    #[error("the prompt is empty; say what is to be done")]
    EmptyPrompt,
    /// The model made the same failing calls again and again.
    #[error(
        "the model made the same call of {tool} {times} times in a row and each of them failed; say what to do differently, or try another model"
    )]
    Stuck {
        /// The tool of the first of the calls.
        tool: String,
        /// How many messages in a row made the calls.
        times: u32,
    },
    /// A tool of the program has the name of a task tool.
    #[error(
        "the name {0} belongs to a task tool, whose calls a session is restored from; give the tool another name"
    )]
    ReservedName(String),
    /// The working directory cannot be used.
    #[error("{source}; give directories that exist")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The history would make a request that no provider accepts. This is a fault of Pod or damage
    /// of the log.
    #[error(
        "the history is damaged: {0}; `pod verify` shows where, `--resume-session-at` goes back before it"
    )]
    History(#[from] Violation),
}
