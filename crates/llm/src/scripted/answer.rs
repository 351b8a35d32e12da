//! One answer of a scripted model, put together in code.

use serde_json::Value;

use crate::{Arguments, AssistantBlock, AssistantMessage, Reasoning, StopReason, ToolCall, Usage};

/// An answer that is put together in code.
///
/// ```
/// use llm::scripted::{Answer, Scripted};
/// use serde_json::json;
///
/// let model = Scripted::from_answers([
///     Answer::text("One step.").call("TaskCreate", &json!({"subject": "lexer"})),
///     Answer::text("Done."),
/// ]);
/// assert_eq!(model.answers(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    message: AssistantMessage,
    stop_reason: Option<StopReason>,
}

impl Answer {
    /// An answer without any block.
    pub fn empty() -> Self {
        Self::default()
    }

    /// An answer that begins with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().and_text(text)
    }

    /// Adds a text block.
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.block(AssistantBlock::Text(text.into()))
    }

    /// Adds a reasoning block.
    pub fn reasoning(self, text: impl Into<String>, signature: Option<String>) -> Self {
        self.block(AssistantBlock::Reasoning(Reasoning {
            text: text.into(),
            signature,
            ..Reasoning::default()
        }))
    }

    /// Adds a call. Its id is given when the answer is.
    pub fn call(self, name: impl Into<String>, arguments: &Value) -> Self {
        self.raw_call("", name, Arguments::from(arguments))
    }

    /// Adds a call with the given id (an empty one stands for a fresh id) and argument text.
    pub fn raw_call(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: Arguments,
    ) -> Self {
        self.block(AssistantBlock::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            arguments,
        }))
    }

    /// Adds a block.
    pub fn block(mut self, block: AssistantBlock) -> Self {
        self.message.content.push(block);
        self
    }

    /// Sets the usage.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.message.usage = usage;
        self
    }

    /// Sets why the model stopped. Without it, that is whether there are calls.
    pub fn stop(mut self, reason: StopReason) -> Self {
        self.stop_reason = Some(reason);
        self
    }
}

impl From<Answer> for AssistantMessage {
    fn from(answer: Answer) -> Self {
        let mut message = answer.message;
        message.stop_reason = answer.stop_reason.unwrap_or_else(|| {
            if message.calls().next().is_some() {
                StopReason::ToolUse
            } else {
                StopReason::EndTurn
            }
        });
        message
    }
}
