//! Conversations as the `input` of Responses: messages, calls, results and reasoning in one row.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use crate::http::body::Growing;
use crate::http::outgoing::{self, is_blank};
use crate::http::transcript::Transcript;
use crate::openai::row::{Parts, Row};
use crate::{AssistantBlock, AssistantMessage, Item, Reasoning, ToolCall, ToolResult, ToolSpec};

/// The input of one conversation.
#[derive(Debug)]
pub(super) struct Input {
    row: Row,
    /// Whether the model spoke last.
    is_answered: bool,
    reader: Reader,
}

/// What whoever reads the input can take.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) system_in_conversation: bool,
    /// Whose sealed reasoning it can read.
    pub(super) unseals: Option<String>,
}

const PARTS: Parts = Parts {
    text: |text| json!({ "type": "input_text", "text": text }),
    image: |url| json!({ "type": "input_image", "detail": "auto", "image_url": url }),
};

impl Input {
    pub(super) fn new(reader: Reader) -> Self {
        Self {
            row: Row::default(),
            is_answered: false,
            reader,
        }
    }

    /// The row, if the model has the word.
    pub(super) fn answerable(&mut self) -> Option<&mut Row> {
        let is_answerable = !self.row.is_empty() && !self.is_answered;
        is_answerable.then_some(&mut self.row)
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        // Reasoning may only stand in front of what came of it; there is some that nothing came of
        // where the output limit cut the answer.
        let mut reasoning = Vec::new();
        for block in &message.content {
            match block {
                AssistantBlock::Text(text) if is_blank(text) => {}
                AssistantBlock::Reasoning(block) => reasoning.push(block),
                AssistantBlock::Text(text) => {
                    self.reasoning(&mut reasoning);
                    // Without its type llama.cpp does not know what it is.
                    self.said()
                        .raw(r#"{"type":"message","role":"assistant","content":"#)
                        .value(text)
                        .raw("}");
                }
                AssistantBlock::ToolCall(call) => {
                    self.reasoning(&mut reasoning);
                    self.call(call);
                }
            }
        }
    }

    fn reasoning(&mut self, blocks: &mut Vec<&Reasoning>) {
        for block in blocks.drain(..) {
            let sealed = block.sealed.as_ref();
            let readable = sealed.filter(|it| self.reader.unseals.as_ref() == Some(&it.by));
            if let Some(sealed) = readable {
                self.said().raw(sealed.item.text());
            }
        }
    }

    fn call(&mut self, call: &ToolCall) {
        self.said()
            .raw(r#"{"type":"function_call","call_id":"#)
            .value(&call.id)
            .raw(r#","name":"#)
            .value(&outgoing::tool_name(&call.name))
            .raw(r#","arguments":"#)
            .value(&outgoing::arguments(&call.arguments))
            .raw("}");
    }

    fn tool_result(&mut self, result: &ToolResult) {
        self.row
            .entry()
            .raw(r#"{"type":"function_call_output","call_id":"#)
            .value(&result.call_id)
            .raw(r#","output":"#)
            .value(&outgoing::marked_result(result))
            .raw("}");
    }

    /// Makes room for an item of the model.
    fn said(&mut self) -> &mut Growing {
        self.is_answered = true;
        self.row.entry()
    }
}

impl Transcript for Input {
    fn push(&mut self, item: &Arc<Item>) {
        match &**item {
            Item::Assistant(message) => return self.assistant(message),
            Item::User(message) => self.row.user(message, &PARTS),
            Item::ToolResult(result) => self.tool_result(result),
            Item::System(message) => {
                let in_conversation = self.reader.system_in_conversation;
                self.row.system(message, in_conversation);
            }
        }
        self.is_answered = false;
    }
}

/// The JSON in front of the items: the tools, and the system prompt.
pub(super) fn prefix(system: &str, tools: &[ToolSpec]) -> Bytes {
    let mut json = Growing::default();
    for (index, tool) in tools.iter().enumerate() {
        json.raw(if index == 0 { r#""tools":["# } else { "," })
            .raw(r#"{"type":"function","name":"#)
            .value(&tool.name)
            .raw(r#","description":"#)
            .value(&tool.description)
            .raw(r#","parameters":"#)
            .value(&tool.schema)
            // The strict form refuses most schemas: it wants every property required.
            .raw(r#","strict":false}"#);
    }
    if !tools.is_empty() {
        json.raw(r#"],"parallel_tool_calls":true,"#);
    }
    if !is_blank(system) {
        json.raw(r#""instructions":"#).value(system).raw(",");
    }
    json.raw(r#""input":["#);
    json.freeze().first().cloned().unwrap_or_default()
}
