//! A response while it arrives, in the events of Anthropic's stream
//! (`--include-partial-messages`).

use llm::{AssistantMessage, Delta};
use serde_json::{Value, json};
use uuid::Uuid;

use super::message::{of_session, usage_fields};

/// Makes the events of one response after the other.
#[derive(Debug, Default)]
pub(super) struct Preview {
    started: bool,
    /// The block that is open.
    open: Option<usize>,
}

impl Preview {
    /// The lines for a part of a response.
    pub(super) fn lines(&mut self, session: Uuid, model: &str, delta: &Delta) -> Vec<Value> {
        let mut events = Vec::new();
        match delta {
            Delta::Started { response_id, usage } => {
                // What an attempt before this one showed is void.
                *self = Self {
                    started: true,
                    open: None,
                };
                let id = response_id
                    .clone()
                    .unwrap_or_else(|| format!("msg_{}", Uuid::now_v7().simple()));
                events.push(json!({"type": "message_start", "message": {
                    "id": id,
                    "type": "message",
                    "role": "assistant",
                    "model": model,
                    "content": [],
                    "stop_reason": null,
                    "stop_sequence": null,
                    "usage": usage_fields(usage),
                }}));
            }
            Delta::Text { index, text } => {
                self.open(*index, || json!({"type": "text", "text": ""}), &mut events);
                grow(
                    *index,
                    text,
                    |text| json!({"type": "text_delta", "text": text}),
                    &mut events,
                );
            }
            Delta::Reasoning { index, text } => {
                let block = || json!({"type": "thinking", "thinking": "", "signature": ""});
                self.open(*index, block, &mut events);
                let delta = |text: &str| json!({"type": "thinking_delta", "thinking": text});
                grow(*index, text, delta, &mut events);
            }
            Delta::Signature { index, signature } => {
                let delta = |text: &str| json!({"type": "signature_delta", "signature": text});
                grow(*index, signature, delta, &mut events);
            }
            Delta::CallStarted { index, id, name } => {
                let block = || json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.open(*index, block, &mut events);
            }
            Delta::CallArguments { index, fragment } => {
                let delta = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
                grow(*index, fragment, delta, &mut events);
            }
            Delta::BlockFinished { index } => {
                if self.open == Some(*index) {
                    self.close(&mut events);
                }
            }
            Delta::Retry { .. } => *self = Self::default(),
        }
        wrapped(session, events)
    }

    /// The lines for the end of a response, which is complete in the history by now.
    pub(super) fn end(&mut self, session: Uuid, message: &AssistantMessage) -> Vec<Value> {
        if !std::mem::take(&mut self.started) {
            return Vec::new();
        }
        let mut events = Vec::new();
        self.close(&mut events);
        events.push(json!({
            "type": "message_delta",
            "delta": {"stop_reason": message.stop_reason.as_str(), "stop_sequence": null},
            "usage": usage_fields(&message.usage),
        }));
        events.push(json!({"type": "message_stop"}));
        wrapped(session, events)
    }

    fn open(&mut self, index: usize, block: impl Fn() -> Value, events: &mut Vec<Value>) {
        if self.open == Some(index) {
            return;
        }
        self.close(events);
        self.open = Some(index);
        events.push(json!({
            "type": "content_block_start",
            "index": index,
            "content_block": block(),
        }));
    }

    fn close(&mut self, events: &mut Vec<Value>) {
        if let Some(index) = self.open.take() {
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
    }
}

fn grow(index: usize, text: &str, delta: impl Fn(&str) -> Value, events: &mut Vec<Value>) {
    if !text.is_empty() {
        events.push(json!({
            "type": "content_block_delta",
            "index": index,
            "delta": delta(text),
        }));
    }
}

fn wrapped(session: Uuid, events: Vec<Value>) -> Vec<Value> {
    let wrap = |event| {
        of_session(
            session,
            json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}),
        )
    };
    events.into_iter().map(wrap).collect()
}

#[cfg(test)]
mod tests {
    use llm::{AssistantBlock, StopReason, Usage};

    use super::*;

    fn shown(lines: &[Value]) -> Vec<String> {
        lines
            .iter()
            .map(|line| {
                let event = &line["event"];
                let mut text = event["type"].as_str().unwrap().to_owned();
                for detail in [&event["index"], &event["content_block"], &event["delta"]] {
                    if !detail.is_null() {
                        text.push(' ');
                        text.push_str(&detail.to_string());
                    }
                }
                text
            })
            .collect()
    }

    #[test]
    fn deltas_become_the_events_of_the_wire() {
        let text = |index, text: &str| Delta::Text {
            index,
            text: text.to_owned(),
        };
        let start = Delta::Started {
            response_id: Some(String::from("msg_1")),
            usage: Usage::default(),
        };
        let deltas = [
            start.clone(),
            text(0, ""),
            text(0, "void"),
            start,
            Delta::Reasoning {
                index: 0,
                text: String::from("hm"),
            },
            Delta::Signature {
                index: 0,
                signature: String::from("c2ln"),
            },
            Delta::BlockFinished { index: 0 },
            text(1, "Hello"),
            text(1, " you"),
            // Not every model tells when a block is complete.
            Delta::CallStarted {
                index: 2,
                id: String::from("toolu_1"),
                name: String::from("TaskList"),
            },
            Delta::CallArguments {
                index: 2,
                fragment: String::from("{}"),
            },
        ];
        let mut preview = Preview::default();
        let mut lines = Vec::new();
        for delta in &deltas {
            lines.extend(preview.lines(Uuid::nil(), "m", delta));
        }
        let message = AssistantMessage {
            content: vec![AssistantBlock::Text(String::from("Hello you"))],
            stop_reason: StopReason::ToolUse,
            ..AssistantMessage::default()
        };
        lines.extend(preview.end(Uuid::nil(), &message));
        // What no model said, such as Pod's own call, has no preview and so no end of one.
        assert!(preview.end(Uuid::nil(), &message).is_empty());
        insta::assert_snapshot!(shown(&lines).join("\n"));
    }
}
