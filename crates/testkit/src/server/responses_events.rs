//! A response as the event stream of OpenAI Responses.

use serde_json::{Value, json};

use super::reply::{Block, Turn, join, pieces};

pub(super) fn stream(turn: &Turn, usage: llm::Usage, number: usize) -> String {
    let last = turn.blocks.len().saturating_sub(1);
    let items: Vec<Item<'_>> = turn
        .blocks
        .iter()
        .enumerate()
        .map(|(index, block)| Item {
            index,
            block,
            // The limit cuts what is said last.
            is_cut: index == last && turn.stop_reason.is_some(),
        })
        .collect();
    let response = |status: &str, output: &[Value], counted: Value| {
        let reason = turn.stop_reason.as_ref().filter(|_| status == "incomplete");
        json!({
            "id": format!("resp_{number}"),
            "object": "response",
            "created_at": 1_767_225_600,
            "model": "test-model",
            "status": status,
            "error": null,
            "incomplete_details": reason.map(|reason| json!({ "reason": reason })),
            "output": output,
            "parallel_tool_calls": true,
            "tool_choice": "auto",
            "tools": [],
            "store": false,
            "usage": counted,
        })
    };
    let counted = json!({
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": usage.input + usage.output,
    });
    let status = match turn.stop_reason {
        None => "completed",
        Some(_) => "incomplete",
    };
    let output: Vec<Value> = items.iter().map(|item| item.value(true)).collect();
    let begun = response("in_progress", &[], Value::Null);
    let mut all = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
    ];
    let rows = items.iter().map(|item| item.events(turn.piece)).collect();
    all.extend(join(rows, turn.interleaved));
    all.push(json!({
        "type": format!("response.{status}"),
        "response": response(status, &output, counted),
    }));
    let texts = all.into_iter().enumerate();
    let texts: Vec<String> = texts.map(|(number, event)| text(number, event)).collect();
    texts.concat()
}

fn text(number: usize, mut event: Value) -> String {
    if let Some(fields) = event.as_object_mut() {
        fields.insert("sequence_number".to_owned(), json!(number));
    }
    let name = event
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    format!("event: {name}\ndata: {event}\n\n")
}

/// An item of a response.
struct Item<'a> {
    index: usize,
    block: &'a Block,
    is_cut: bool,
}

impl Item<'_> {
    fn id(&self) -> String {
        let kind = match self.block {
            Block::Text(_) => "msg",
            Block::Thinking(..) | Block::Redacted(_) => "rs",
            Block::Call(..) => "fc",
        };
        format!("{kind}_{}", self.index)
    }

    /// The item at its begin, or at its end.
    fn value(&self, is_whole: bool) -> Value {
        let id = self.id();
        let status = match (is_whole, self.is_cut) {
            (false, _) => "in_progress",
            (true, false) => "completed",
            (true, true) => "incomplete",
        };
        match self.block {
            Block::Text(text) => {
                let content = is_whole.then(|| part(text));
                let content: Vec<Value> = content.into_iter().collect();
                json!({
                    "type": "message",
                    "id": id,
                    "status": status,
                    "role": "assistant",
                    "content": content,
                })
            }
            Block::Thinking(text, sealed) => {
                let summary = is_whole.then(|| json!({ "type": "summary_text", "text": text }));
                let summary: Vec<Value> = summary.into_iter().collect();
                // What the begin of an item has is not all of it.
                let sealed = if is_whole { sealed } else { "half" };
                json!({
                    "type": "reasoning",
                    "id": id,
                    "summary": summary,
                    "encrypted_content": sealed,
                })
            }
            Block::Redacted(sealed) => json!({
                "type": "reasoning",
                "id": id,
                "summary": [],
                "encrypted_content": sealed,
            }),
            Block::Call(call_id, name, arguments) => {
                let arguments = if is_whole { arguments } else { "" };
                json!({
                    "type": "function_call",
                    "id": id,
                    "status": status,
                    "call_id": call_id,
                    "name": name,
                    "arguments": arguments,
                })
            }
        }
    }

    fn events(&self, piece: usize) -> Vec<Value> {
        let event = |kind: &str, fields: Value| {
            let mut event = json!({
                "type": format!("response.{kind}"),
                "item_id": self.id(),
                "output_index": self.index,
            });
            if let (Some(event), Value::Object(mut fields)) = (event.as_object_mut(), fields) {
                event.append(&mut fields);
            }
            event
        };
        let around = |kind: &str, is_whole: bool| {
            json!({
                "type": format!("response.output_item.{kind}"),
                "output_index": self.index,
                "item": self.value(is_whole),
            })
        };
        let deltas = |kind: &str, text: &str, fields: Value| -> Vec<Value> {
            let pieces = pieces(text, piece).into_iter();
            pieces
                .map(|piece| {
                    let mut event = event(kind, json!({ "delta": piece }));
                    if let (Some(event), Some(fields)) = (event.as_object_mut(), fields.as_object())
                    {
                        event.extend(fields.clone());
                    }
                    event
                })
                .collect()
        };
        let mut all = vec![around("added", false)];
        match self.block {
            Block::Text(text) => {
                let place = || json!({ "content_index": 0, "logprobs": [] });
                all.push(event(
                    "content_part.added",
                    json!({ "content_index": 0, "part": part("") }),
                ));
                all.extend(deltas("output_text.delta", text, place()));
                all.push(event(
                    "output_text.done",
                    json!({ "content_index": 0, "logprobs": [], "text": text }),
                ));
                all.push(event(
                    "content_part.done",
                    json!({ "content_index": 0, "part": part(text) }),
                ));
            }
            Block::Thinking(text, _) if !text.is_empty() => {
                let part = |text: &str| {
                    json!({
                        "summary_index": 0,
                        "part": { "type": "summary_text", "text": text },
                    })
                };
                all.push(event("reasoning_summary_part.added", part("")));
                all.extend(deltas(
                    "reasoning_summary_text.delta",
                    text,
                    json!({ "summary_index": 0 }),
                ));
                all.push(event("reasoning_summary_part.done", part(text)));
            }
            Block::Thinking(..) | Block::Redacted(_) => {}
            Block::Call(_, _, arguments) => {
                all.extend(deltas(
                    "function_call_arguments.delta",
                    arguments,
                    json!({}),
                ));
                if !self.is_cut {
                    all.push(event(
                        "function_call_arguments.done",
                        json!({ "arguments": arguments }),
                    ));
                }
            }
        }
        all.push(around("done", true));
        all
    }
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [] })
}
