//! Conversations as Anthropic's `messages`.
//!
//! The protocol has two roles that alternate, so everything between two answers of the model is one
//! user message: tool results first, then what the user and the runtime said. The last block of a
//! message stays open (its `}` is not written) until something follows; a cache mark goes there.
//!
//! Newer models also accept `role: "system"` in the conversation, but only in front of an answer or
//! at the end. What stands at the end of one request need not do so in the next (the user may go on
//! where no answer came), so such a message would have to be rewritten, which no request may do to
//! another. What the runtime says is therefore a marked part of the user message.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use crate::http::body::{Body, Growing};
use crate::http::outgoing::{self, is_blank};
use crate::http::transcript::Transcript;
use crate::{
    AssistantBlock, AssistantMessage, Image, Item, Reasoning, ToolResult, ToolSpec, UserMessage,
    UserPart,
};

/// The mark itself. It lives for five minutes, the provider's default.
pub(super) const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// The messages of one conversation.
#[derive(Debug, Default)]
pub(super) struct Messages {
    json: Growing,
    /// The role of the last message, whose last block is open.
    open: Option<Role>,
    /// Where the user turn before the last one ended: so far the request before this one reached,
    /// and so far the provider's cache does.
    previous_turn: Option<usize>,
    /// What the last assistant message is like.
    last_answer: Answer,
    /// The names of all tools that were called.
    called: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    begins_with_reasoning: bool,
    has_calls: bool,
}

impl Messages {
    /// Whether the model has the word.
    pub(super) fn is_answerable(&self) -> bool {
        self.open == Some(Role::User)
    }

    /// Whether the model is answering to results of a call in front of which it has not reasoned: one
    /// that the runtime made itself, or one from a time when reasoning was off. Older models refuse
    /// such a request if reasoning is on ("a final `assistant` message must start with a thinking
    /// block").
    pub(super) fn last_call_lacks_reasoning(&self) -> bool {
        self.last_answer.has_calls && !self.last_answer.begins_with_reasoning
    }

    /// Stand-ins for the tools that were called, for a request that offers none: the provider refuses
    /// calls and results in a request without tools.
    pub(super) fn called_tools(&self) -> Vec<ToolSpec> {
        let stand_in = |name: &String| ToolSpec {
            name: name.clone(),
            description: "No longer available.".to_owned(),
            schema: json!({ "type": "object" }),
        };
        self.called.iter().map(stand_in).collect()
    }

    /// Appends the messages to a body, each but the first one behind a comma, and closes the array.
    /// Marks stand where this request ends and where the one before did.
    pub(super) fn write(&mut self, body: &mut Body, marks: bool) {
        let pieces = self.json.freeze();
        match self.previous_turn {
            Some(position) if marks => body.extend_around(pieces, position, CACHE_MARK),
            _ => body.extend(pieces),
        }
        if marks && self.open == Some(Role::User) {
            body.push(CACHE_MARK);
        }
        body.push(if self.open.is_some() { "}]}]" } else { "]" });
    }

    fn user(&mut self, message: &UserMessage) {
        let mut is_empty = true;
        for part in &message.content {
            match part {
                UserPart::Text(text) if is_blank(text) => continue,
                UserPart::Text(text) => self.text(Role::User, text),
                UserPart::Image(image) => self.image(image),
            }
            is_empty = false;
        }
        if is_empty {
            self.text(Role::User, outgoing::EMPTY_MESSAGE);
        }
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        let mut blocks: Vec<&AssistantBlock> = message
            .content
            .iter()
            .filter(|block| is_sendable(block))
            .collect();
        // A message must not end with reasoning; there is some where the output limit cut it.
        while let Some(AssistantBlock::Reasoning(_)) = blocks.last() {
            blocks.pop();
        }
        if blocks.is_empty() {
            return;
        }
        if self.open.is_none() {
            // The first message must be the user's.
            self.text(Role::User, outgoing::NO_BEGINNING);
        }
        if self.open != Some(Role::Assistant) {
            self.last_answer = Answer {
                begins_with_reasoning: matches!(blocks.first(), Some(AssistantBlock::Reasoning(_))),
                has_calls: false,
            };
        }
        self.last_answer.has_calls |= message.calls().next().is_some();
        for block in blocks {
            match block {
                AssistantBlock::Text(text) => self.text(Role::Assistant, text),
                AssistantBlock::Reasoning(reasoning) => self.reasoning(reasoning),
                AssistantBlock::ToolCall(call) => {
                    let name = outgoing::tool_name(&call.name);
                    if !self.called.contains(&*name) {
                        self.called.insert(name.clone().into_owned());
                    }
                    self.begin(Role::Assistant)
                        .raw(r#"{"type":"tool_use","id":"#)
                        .value(&call.id)
                        .raw(r#","name":"#)
                        .value(&name)
                        .raw(r#","input":"#)
                        .raw(&outgoing::arguments(&call.arguments));
                }
            }
        }
    }

    fn reasoning(&mut self, reasoning: &Reasoning) {
        let json = self.begin(Role::Assistant);
        if let Some(data) = &reasoning.redacted {
            json.raw(r#"{"type":"redacted_thinking","data":"#)
                .value(data);
        } else {
            json.raw(r#"{"type":"thinking","thinking":"#)
                .value(&reasoning.text)
                .raw(r#","signature":"#)
                .value(&reasoning.signature);
        }
    }

    fn tool_result(&mut self, result: &ToolResult) {
        let json = self.begin(Role::User);
        json.raw(r#"{"type":"tool_result","tool_use_id":"#)
            .value(&result.call_id)
            .raw(r#","content":"#)
            .value(outgoing::result_text(result));
        if result.is_error {
            json.raw(r#","is_error":true"#);
        }
    }

    fn image(&mut self, image: &Image) {
        let source = json!({
            "type": "base64",
            "media_type": image.media_type,
            "data": image.data,
        });
        self.begin(Role::User)
            .raw(r#"{"type":"image","source":"#)
            .value(&source);
    }

    fn text(&mut self, role: Role, text: &str) {
        self.begin(role)
            .raw(r#"{"type":"text","text":"#)
            .value(text);
    }

    /// Makes room for a block of a role: behind the last block of an open message of that role, or at
    /// the begin of a new message.
    fn begin(&mut self, role: Role) -> &mut Growing {
        if self.open == Some(Role::User) && role != Role::User {
            self.previous_turn = Some(self.json.position());
        }
        match self.open {
            None => self.json.raw(role.start()),
            Some(open) if open == role => self.json.raw("},"),
            Some(_) => self.json.raw("}]},").raw(role.start()),
        };
        self.open = Some(role);
        &mut self.json
    }
}

impl Transcript for Messages {
    fn push(&mut self, item: &Arc<Item>) {
        match &**item {
            Item::User(message) => self.user(message),
            Item::ToolResult(result) => self.tool_result(result),
            Item::Assistant(message) => self.assistant(message),
            Item::System(message) => self.text(Role::User, &outgoing::note(message)),
        }
    }
}

impl Role {
    /// The begin of a message of the role.
    fn start(self) -> &'static str {
        match self {
            Self::User => r#"{"role":"user","content":["#,
            Self::Assistant => r#"{"role":"assistant","content":["#,
        }
    }
}

/// Whether the provider accepts a block: no blank text, no reasoning that it has not signed.
fn is_sendable(block: &AssistantBlock) -> bool {
    match block {
        AssistantBlock::Text(text) => !is_blank(text),
        AssistantBlock::Reasoning(reasoning) => {
            reasoning.redacted.is_some()
                || reasoning
                    .signature
                    .as_deref()
                    .is_some_and(|text| !text.is_empty())
        }
        AssistantBlock::ToolCall(_) => true,
    }
}

/// A piece of JSON that stands in front of the messages and is written once.
pub(super) fn prefix(system: &str, tools: &[ToolSpec], marks: bool) -> Bytes {
    let mark = if marks { CACHE_MARK } else { "" };
    let mut json = Growing::default();
    for (index, tool) in tools.iter().enumerate() {
        json.raw(if index == 0 { r#""tools":["# } else { "}," })
            .raw(r#"{"name":"#)
            .value(&tool.name)
            .raw(r#","description":"#)
            .value(&tool.description)
            .raw(r#","input_schema":"#)
            .value(&tool.schema);
    }
    if !tools.is_empty() {
        json.raw(mark).raw("}],");
    }
    if !is_blank(system) {
        json.raw(r#""system":[{"type":"text","text":"#)
            .value(system)
            .raw(mark)
            .raw("}],");
    }
    json.raw(r#""messages":["#);
    json.freeze().first().cloned().unwrap_or_default()
}
