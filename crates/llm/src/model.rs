//! The [`Model`] trait: what is asked of a model, what it tells on the way, and what can go wrong.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::{AssistantMessage, Capability, Conversation};

/// A language model that can be asked.
///
/// # Contract
/// - [`Model::respond`] returns a message only if the response ended as the protocol says it must.
///   A call of which not every byte arrived is never in a returned message.
/// - Dropping the future cancels the request; nothing goes on in the background.
/// - Retries that are safe happen inside and are told through [`Delta::Retry`].
#[async_trait]
pub trait Model: Send + Sync {
    /// The name of the model, as the user gave it and as logs keep it.
    fn name(&self) -> &str;

    /// What is known of the model.
    fn capability(&self) -> &Capability;

    /// Asks the model for one response. `watch` is told what arrives while it arrives.
    async fn respond(
        &self,
        request: Request<'_>,
        watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<AssistantMessage, ModelError>;
}

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The system prompt; may be empty.
    pub system: &'a str,
    /// The tools that the model may call.
    pub tools: &'a [ToolSpec],
    /// What was said so far.
    pub conversation: &'a Conversation,
    /// The most tokens that the answer may have; `None` for the model's own limit.
    pub max_output_tokens: Option<u32>,
    /// The reasoning budget in tokens; `None` leaves reasoning as the model does it by default, `0`
    /// turns it off.
    pub reasoning_tokens: Option<u32>,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: Value,
}

/// A part of a response while it arrives.
///
/// Deltas are a preview. What counts is the message that [`Model::respond`] returns; after
/// [`Delta::Retry`] all that was previewed is void.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// The response began.
    Started {
        /// The provider's id of the response.
        response_id: Option<String>,
        /// The tokens of the prompt, where they are known this early.
        usage: crate::Usage,
    },
    /// A text block began or went on.
    Text {
        /// The index of the block in the message.
        index: usize,
        /// The added text.
        text: String,
    },
    /// A reasoning block began or went on.
    Reasoning {
        /// The index of the block in the message.
        index: usize,
        /// The added text.
        text: String,
    },
    /// A tool call began.
    CallStarted {
        /// The index of the block in the message.
        index: usize,
        /// The provider's id of the call.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// The argument text of a call went on.
    CallArguments {
        /// The index of the block in the message.
        index: usize,
        /// The added text.
        fragment: String,
    },
    /// The provider's signature over a reasoning block arrived.
    Signature {
        /// The index of the block in the message.
        index: usize,
        /// The signature, or a part that is to be appended to the parts before.
        signature: String,
    },
    /// A block is complete.
    BlockFinished {
        /// The index of the block in the message.
        index: usize,
    },
    /// The request failed in a way that may pass; it is sent again after the wait.
    Retry {
        /// Which attempt failed, from 1.
        attempt: u32,
        /// How many attempts there are at the most.
        attempts: u32,
        /// How long until the next attempt.
        wait: Duration,
        /// Why.
        error: ModelError,
    },
}

/// Why a model gave no response. Texts say what to do next.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The key is missing, wrong or not allowed to do this.
    #[error("{0}")]
    Authentication(String),
    /// The provider does not know the model.
    #[error("{0}")]
    UnknownModel(String),
    /// The conversation is larger than the model's window. A compaction is the remedy.
    #[error("the prompt is too long for the model: {0}")]
    PromptTooLong(String),
    /// Too many requests, or the provider is overloaded (429, 503, 529).
    #[error(
        "the provider is overloaded (HTTP {status}): {message}; try again {}",
        .retry_after.map_or_else(|| "later".to_owned(), |wait| format!("in {} s", wait.as_secs_f32()))
    )]
    Overloaded {
        /// The HTTP status.
        status: u16,
        /// The provider's text.
        message: String,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider failed (5xx), or said so inside the stream.
    #[error("the provider failed{}: {message}", .status.map(|code| format!(" (HTTP {code})")).unwrap_or_default())]
    Provider {
        /// The HTTP status, if the failure came as one.
        status: Option<u16>,
        /// The provider's text.
        message: String,
    },
    /// The stream ended before the response was complete.
    #[error("the response was cut off: {0}; try again")]
    Cut(String),
    /// Nothing arrived for too long.
    #[error("the provider sent nothing for {} s; try again", .0.as_secs_f32())]
    Stalled(Duration),
    /// The provider could not be reached.
    #[error("{0}")]
    Network(String),
    /// The provider refused the request as malformed.
    #[error("the provider refused the request (HTTP {status}): {message}")]
    InvalidRequest {
        /// The HTTP status.
        status: u16,
        /// The provider's text.
        message: String,
    },
    /// The conversation cannot be sent to any model. This is a fault of the program.
    #[error("the conversation is not well-formed: {0}")]
    Malformed(String),
    /// A scripted or recorded model has nothing (more) to say, or its script is wrong.
    #[error("{0}")]
    Script(String),
}

impl ModelError {
    /// Whether the same request may succeed when it is sent again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Overloaded { .. } | Self::Cut(_) | Self::Stalled(_) | Self::Network(_) => true,
            Self::Provider { status, .. } => status.is_none_or(|code| code >= 500 || code == 408),
            Self::Authentication(_)
            | Self::UnknownModel(_)
            | Self::PromptTooLong(_)
            | Self::InvalidRequest { .. }
            | Self::Malformed(_)
            | Self::Script(_) => false,
        }
    }

    /// The HTTP status behind the error, where there is one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Overloaded { status, .. } | Self::InvalidRequest { status, .. } => Some(*status),
            Self::Provider { status, .. } => *status,
            _ => None,
        }
    }
}
