//! The entries of a conversation.
//!
//! These types belong to the program, not to a wire or a file: each provider module and the session
//! log convert them by hand, so that neither format can change by accident when a field is added.

use std::fmt;

use serde_json::Value;

use crate::{Arguments, JsonText};

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// What a person, or a program in their place, said.
    User(UserMessage),
    /// One response of a model, whole.
    Assistant(AssistantMessage),
    /// The result of one tool call.
    ToolResult(ToolResult),
    /// What the runtime itself tells the model.
    System(SystemMessage),
}

/// A message of the user.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMessage {
    /// Its parts, in order.
    pub content: Vec<UserPart>,
}

impl UserMessage {
    /// A message of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![UserPart::Text(text.into())],
        }
    }

    /// All texts of the message, joined by line breaks.
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|part| match part {
                UserPart::Text(text) => Some(text.as_str()),
                UserPart::Image(_) => None,
            })
            .collect();
        texts.join("\n")
    }
}

impl From<&str> for UserMessage {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for UserMessage {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// A part of a user message.
#[derive(Clone, Debug, PartialEq)]
pub enum UserPart {
    /// Text.
    Text(String),
    /// A picture.
    Image(Image),
}

/// A picture in a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its bytes, in base64.
    pub data: String,
}

/// One response of a model. It exists only once the response is complete.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssistantMessage {
    /// The blocks, in the order in which the model began them.
    pub content: Vec<AssistantBlock>,
    /// The name of the model that answered.
    pub model: String,
    /// The provider's id of the response, if it gave one.
    pub response_id: Option<String>,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// What the request cost.
    pub usage: Usage,
}

impl AssistantMessage {
    /// The tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some(call),
            AssistantBlock::Text(_) | AssistantBlock::Reasoning(_) => None,
        })
    }

    /// All texts, joined by line breaks, without reasoning.
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match block {
                AssistantBlock::Text(text) => Some(text.as_str()),
                AssistantBlock::Reasoning(_) | AssistantBlock::ToolCall(_) => None,
            })
            .collect();
        texts.join("\n")
    }
}

/// A block of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum AssistantBlock {
    /// Text for the user.
    Text(String),
    /// The model's reasoning.
    Reasoning(Reasoning),
    /// A call of a tool.
    ToolCall(ToolCall),
}

/// Reasoning that a model showed, kept so that it can be sent back unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reasoning {
    /// The readable text; may be empty where the provider hides it.
    pub text: String,
    /// The provider's signature over the text (Anthropic `signature`).
    pub signature: Option<String>,
    /// An opaque block in place of text (Anthropic `redacted_thinking`).
    pub redacted: Option<String>,
    /// What a server of OpenAI Responses wants back in place of all this.
    pub sealed: Option<Sealed>,
}

/// Reasoning that only the server that gave it can read.
#[derive(Clone, Debug, PartialEq)]
pub struct Sealed {
    /// The host of the server, with the port where the address has one. Nobody else is sent the item.
    pub by: String,
    /// The item as it goes back: for OpenAI Responses a `reasoning` with its `encrypted_content`.
    pub item: JsonText,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id that joins the call and its result; matches `^[a-zA-Z0-9_-]+$` once it is in a history.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// What the model sent as arguments.
    pub arguments: Arguments,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// Whether the call failed, was denied, or was cut off. Such a call changed nothing.
    pub is_error: bool,
    /// One or two lines that say what happened.
    pub summary: String,
    /// What the model is to read, where that is more than the summary.
    pub content: Option<String>,
    /// The same as data, for programs.
    pub value: Option<JsonText>,
    /// The arguments that the tool really ran with, where a hook or a permission answer changed them.
    pub changed_arguments: Option<Arguments>,
}

impl ToolResult {
    /// A result that says that the call failed.
    pub fn error(call_id: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            call_id: call_id.into(),
            is_error: true,
            summary: message.into(),
            content: None,
            value: None,
            changed_arguments: None,
        }
    }

    /// What the model reads: the content, or the summary where there is none.
    pub fn text(&self) -> &str {
        self.content.as_deref().unwrap_or(&self.summary)
    }
}

/// What the runtime tells the model.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemMessage {
    /// What kind of message it is. Replay looks at this and never at the text.
    pub origin: Origin,
    /// The text that the model reads.
    pub text: String,
    /// The same as data, for origins that need it.
    pub data: Option<Value>,
}

/// Where a system message comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The summary of what a compaction left out.
    Summary,
    /// The whole task list after a compaction.
    TaskSnapshot,
    /// A file that a compaction brought along.
    AutoRead,
    /// Paths that a compaction recommends.
    References,
    /// A run was interrupted here.
    Interruption,
    /// A task change that a person made.
    TaskEdit,
    /// A reminder of open tasks.
    Reminder,
    /// What a hook of the program has to say.
    Hook,
    /// A file that the prompt before it names.
    Attachment,
    /// An origin that a newer version wrote; its text is shown, its data is not interpreted.
    Other(String),
}

impl Origin {
    /// The name in logs.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Summary => "summary",
            Self::TaskSnapshot => "task_snapshot",
            Self::AutoRead => "auto_read",
            Self::References => "references",
            Self::Interruption => "interruption",
            Self::TaskEdit => "task_edit",
            Self::Reminder => "reminder",
            Self::Hook => "hook",
            Self::Attachment => "attachment",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for Origin {
    fn from(name: &str) -> Self {
        match name {
            "summary" => Self::Summary,
            "task_snapshot" => Self::TaskSnapshot,
            "auto_read" => Self::AutoRead,
            "references" => Self::References,
            "interruption" => Self::Interruption,
            "task_edit" => Self::TaskEdit,
            "reminder" => Self::Reminder,
            "hook" => Self::Hook,
            "attachment" => Self::Attachment,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StopReason {
    /// It had said all.
    #[default]
    EndTurn,
    /// It waits for tool results.
    ToolUse,
    /// Its answer reached the output limit and is cut.
    MaxTokens,
    /// It refused.
    Refusal,
    /// Anything else, in the provider's word.
    Other(String),
}

impl StopReason {
    /// The name in logs, which is the one that Anthropic's Messages API uses.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::Refusal => "refusal",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for StopReason {
    fn from(word: &str) -> Self {
        match word {
            "end_turn" => Self::EndTurn,
            "tool_use" => Self::ToolUse,
            "max_tokens" => Self::MaxTokens,
            "refusal" => Self::Refusal,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// Tokens of one request, as the provider counted them. Zero where it did not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the whole prompt, those from and to the cache included.
    pub input: u64,
    /// Of `input`, those read from the provider's prompt cache.
    pub cache_read: u64,
    /// Of `input`, those written to the provider's prompt cache.
    pub cache_write: u64,
    /// Tokens of the answer, reasoning included.
    pub output: u64,
    /// Of `output`, those of reasoning, where the provider tells.
    pub reasoning: u64,
}

/// A provider may report any number, so a sum stops at the greatest one.
impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}
