//! What a scripted model has seen of a conversation: its size and the call ids in it.

use crate::{AssistantBlock, AssistantMessage, Conversation, Item, Request};

/// What a fresh call id begins with; a number follows.
pub(super) const CALL_PREFIX: &str = "call_";

/// What is known of the conversation, so that each of its items is looked at once.
#[derive(Default)]
pub(super) struct Seen {
    conversation: u64,
    items: usize,
    bytes: usize,
    /// The greatest number behind [`CALL_PREFIX`].
    pub(super) greatest_call: u64,
}

impl Seen {
    pub(super) fn look_at(&mut self, conversation: &Conversation) {
        if self.conversation != conversation.id() {
            *self = Self {
                conversation: conversation.id(),
                ..Self::default()
            };
        }
        for item in conversation.items().iter().skip(self.items) {
            self.items += 1;
            self.bytes += item_bytes(item);
            if let Item::Assistant(message) = &**item {
                // A number as large as that of no script is no number of this model.
                let numbers = message.calls().filter_map(|call| {
                    let number: u32 = call.id.strip_prefix(CALL_PREFIX)?.parse().ok()?;
                    Some(u64::from(number))
                });
                self.greatest_call = numbers.fold(self.greatest_call, u64::max);
            }
        }
    }

    pub(super) fn prompt_tokens(&self, request: &Request<'_>) -> u64 {
        let tools: usize = request
            .tools
            .iter()
            .map(|tool| tool.name.len() + tool.description.len())
            .sum();
        tokens(self.bytes + tools + request.system.len())
    }
}

/// The estimated tokens of an answer.
pub(super) fn answer_tokens(message: &AssistantMessage) -> u64 {
    tokens(message_bytes(message))
}

fn item_bytes(item: &Item) -> usize {
    match item {
        Item::User(message) => message.joined_text().len(),
        Item::Assistant(message) => message_bytes(message),
        Item::ToolResult(result) => result.text().len(),
        Item::System(message) => message.text.len(),
    }
}

fn message_bytes(message: &AssistantMessage) -> usize {
    message
        .content
        .iter()
        .map(|block| match block {
            AssistantBlock::Text(text) => text.len(),
            AssistantBlock::Reasoning(reasoning) => reasoning.text.len(),
            AssistantBlock::ToolCall(call) => call.name.len() + call.arguments.text().len(),
        })
        .sum()
}

/// The estimate of a quarter of the bytes, rounded up.
fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}
