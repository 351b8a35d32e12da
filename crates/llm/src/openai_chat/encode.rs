//! Conversations as the `messages` of Chat Completions.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use crate::http::body::Growing;
use crate::http::outgoing::{self, is_blank};
use crate::http::transcript::Transcript;
use crate::openai::row::{Parts, Row};
use crate::{AssistantBlock, AssistantMessage, Item, ToolResult, ToolSpec};

/// The messages of one conversation.
#[derive(Debug)]
pub(super) struct Messages {
    row: Row,
    /// What the model said last. It is written when something follows: a second answer right behind
    /// it joins it.
    answer: Answer,
    system_in_conversation: bool,
}

const PARTS: Parts = Parts {
    text: |text| json!({ "type": "text", "text": text }),
    image: |url| json!({ "type": "image_url", "image_url": { "url": url } }),
};

#[derive(Debug, Default)]
struct Answer {
    text: String,
    calls: Vec<serde_json::Value>,
}

impl Messages {
    pub(super) fn new(system_in_conversation: bool) -> Self {
        Self {
            row: Row::default(),
            answer: Answer::default(),
            system_in_conversation,
        }
    }

    /// The row, if the model has the word.
    pub(super) fn answerable(&mut self) -> Option<&mut Row> {
        let is_answerable = !self.row.is_empty() && self.answer.is_empty();
        is_answerable.then_some(&mut self.row)
    }

    fn tool_result(&mut self, result: &ToolResult) {
        self.row()
            .entry()
            .raw(r#"{"role":"tool","tool_call_id":"#)
            .value(&result.call_id)
            .raw(r#","content":"#)
            .value(&outgoing::marked_result(result))
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

    /// The messages, with the last answer among them.
    fn row(&mut self) -> &mut Row {
        let Answer { text, calls } = std::mem::take(&mut self.answer);
        if text.is_empty() && calls.is_empty() {
            return &mut self.row;
        }
        let json = self.row.entry().raw(r#"{"role":"assistant","content":"#);
        if text.is_empty() {
            json.raw("null");
        } else {
            json.value(&text);
        }
        if !calls.is_empty() {
            json.raw(r#","tool_calls":"#).value(&calls);
        }
        json.raw("}");
        &mut self.row
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
            Item::User(message) => self.row().user(message, &PARTS),
            Item::Assistant(message) => self.assistant(message),
            Item::ToolResult(result) => self.tool_result(result),
            Item::System(message) => {
                let in_conversation = self.system_in_conversation;
                self.row().system(message, in_conversation);
            }
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
