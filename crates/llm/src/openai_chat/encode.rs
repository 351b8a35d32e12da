//! Conversations as the `messages` of Chat Completions.
//!
//! What the user and the runtime say one after the other is one user message, since the templates of
//! many local models refuse two. Such a message stays open (its `"}` is not written) until something
//! else follows.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use crate::http::body::{Body, Growing};
use crate::http::outgoing::{self, is_blank};
use crate::http::transcript::Transcript;
use crate::{
    AssistantBlock, AssistantMessage, Item, SystemMessage, ToolResult, ToolSpec, UserMessage,
    UserPart,
};

/// The messages of one conversation.
#[derive(Debug)]
pub(super) struct Messages {
    json: Growing,
    end: End,
    /// What the model said last. It is written when something follows: a second answer right behind
    /// it joins it.
    answer: Answer,
    system_in_conversation: bool,
}

/// How the text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// There is no message.
    Empty,
    /// Within the text of a user message.
    OpenUser,
    /// Behind a whole message.
    Closed,
}

#[derive(Debug, Default)]
struct Answer {
    text: String,
    calls: Vec<serde_json::Value>,
}

impl Messages {
    pub(super) fn new(system_in_conversation: bool) -> Self {
        Self {
            json: Growing::default(),
            end: End::Empty,
            answer: Answer::default(),
            system_in_conversation,
        }
    }

    /// Whether the model has the word.
    pub(super) fn is_answerable(&self) -> bool {
        self.end != End::Empty && self.answer.is_empty()
    }

    /// Appends the messages to a body, each but the first one behind a comma, and closes the array.
    pub(super) fn write(&mut self, body: &mut Body) {
        body.extend(self.json.freeze());
        body.push(match self.end {
            End::OpenUser => r#""}]"#,
            End::Empty | End::Closed => "]",
        });
    }

    fn user(&mut self, message: &UserMessage) {
        let is_image = |part: &UserPart| matches!(part, UserPart::Image(_));
        if message.content.iter().any(is_image) {
            return self.user_parts(message);
        }
        let texts = message.content.iter().filter_map(|part| match part {
            UserPart::Text(text) if !is_blank(text) => Some(text),
            UserPart::Text(_) | UserPart::Image(_) => None,
        });
        let mut is_empty = true;
        for text in texts {
            self.user_text(text);
            is_empty = false;
        }
        if is_empty {
            self.user_text(outgoing::EMPTY_MESSAGE);
        }
    }

    /// A message with pictures stands alone.
    fn user_parts(&mut self, message: &UserMessage) {
        let parts = message.content.iter().filter_map(|part| match part {
            UserPart::Text(text) if is_blank(text) => None,
            UserPart::Text(text) => Some(json!({ "type": "text", "text": text })),
            UserPart::Image(image) => {
                let url = format!("data:{};base64,{}", image.media_type, image.data);
                Some(json!({ "type": "image_url", "image_url": { "url": url } }))
            }
        });
        let parts: Vec<_> = parts.collect();
        self.message()
            .raw(r#"{"role":"user","content":"#)
            .value(&parts)
            .raw("}");
    }

    fn user_text(&mut self, text: &str) {
        self.settle_answer();
        if self.end == End::OpenUser {
            self.json.raw(r"\n\n").characters(text);
            return;
        }
        self.message()
            .raw(r#"{"role":"user","content":""#)
            .characters(text);
        self.end = End::OpenUser;
    }

    fn system(&mut self, message: &SystemMessage) {
        if self.system_in_conversation && !is_blank(&message.text) {
            self.message()
                .raw(r#"{"role":"system","content":"#)
                .value(&message.text)
                .raw("}");
        } else {
            self.user_text(&outgoing::note(message));
        }
    }

    fn tool_result(&mut self, result: &ToolResult) {
        let text = outgoing::result_text(result);
        // The protocol has no field that says that a call failed, so the text must.
        let text = if result.is_error && !text.trim_start().starts_with("Error:") {
            Cow::Owned(format!("Error: {text}"))
        } else {
            Cow::Borrowed(text)
        };
        self.message()
            .raw(r#"{"role":"tool","tool_call_id":"#)
            .value(&result.call_id)
            .raw(r#","content":"#)
            .value(&text)
            .raw("}");
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        for block in &message.content {
            match block {
                AssistantBlock::Text(text) if !is_blank(text) => {
                    if !self.answer.text.is_empty() {
                        self.answer.text.push('\n');
                    }
                    self.answer.text.push_str(text);
                }
                // The protocol has no place for reasoning in a request.
                AssistantBlock::Text(_) | AssistantBlock::Reasoning(_) => {}
                AssistantBlock::ToolCall(call) => self.answer.calls.push(json!({
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": outgoing::tool_name(&call.name),
                        "arguments": outgoing::arguments(&call.arguments),
                    },
                })),
            }
        }
    }

    fn settle_answer(&mut self) {
        let Answer { text, calls } = std::mem::take(&mut self.answer);
        if text.is_empty() && calls.is_empty() {
            return;
        }
        let json = self.message().raw(r#"{"role":"assistant","content":"#);
        if text.is_empty() {
            json.raw("null");
        } else {
            json.value(&text);
        }
        if !calls.is_empty() {
            json.raw(r#","tool_calls":"#).value(&calls);
        }
        json.raw("}");
    }

    /// Makes room for a whole message.
    fn message(&mut self) -> &mut Growing {
        if !self.answer.is_empty() {
            self.settle_answer();
        }
        match self.end {
            End::Empty => &mut self.json,
            End::OpenUser => self.json.raw(r#""},"#),
            End::Closed => self.json.raw(","),
        };
        self.end = End::Closed;
        &mut self.json
    }
}

impl Answer {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }
}

impl Transcript for Messages {
    fn push(&mut self, item: &Arc<Item>) {
        match &**item {
            Item::User(message) => self.user(message),
            Item::Assistant(message) => self.assistant(message),
            Item::ToolResult(result) => self.tool_result(result),
            Item::System(message) => self.system(message),
        }
    }
}

/// The JSON in front of the messages: the tools, and the system prompt as the first message.
pub(super) fn prefix(system: &str, tools: &[ToolSpec]) -> Bytes {
    let mut json = Growing::default();
    for (index, tool) in tools.iter().enumerate() {
        json.raw(if index == 0 { r#""tools":["# } else { "," })
            .raw(r#"{"type":"function","function":{"name":"#)
            .value(&tool.name)
            .raw(r#","description":"#)
            .value(&tool.description)
            .raw(r#","parameters":"#)
            .value(&tool.schema)
            .raw("}}");
    }
    if !tools.is_empty() {
        json.raw("],");
    }
    json.raw(r#""messages":["#);
    if !is_blank(system) {
        json.raw(r#"{"role":"system","content":"#)
            .value(system)
            .raw("},");
    }
    json.freeze().first().cloned().unwrap_or_default()
}
