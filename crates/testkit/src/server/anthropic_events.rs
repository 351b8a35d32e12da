//! A response as the event stream of Anthropic Messages.

use serde_json::{Value, json};

use super::reply::{Block, Turn, join, pieces};

pub(super) fn stream(turn: &Turn, usage: llm::Usage, number: usize) -> String {
    let begin = json!({
        "type": "message_start",
        "message": {
            "id": format!("msg_{number}"),
            "type": "message",
            "role": "assistant",
            "model": "test-model",
            "content": [],
            "stop_reason": null,
            "usage": {
                "input_tokens": usage.input - usage.cache_read - usage.cache_write,
                "cache_read_input_tokens": usage.cache_read,
                "cache_creation_input_tokens": usage.cache_write,
                "output_tokens": 1,
            },
        },
    });
    let has_call = turn
        .blocks
        .iter()
        .any(|block| matches!(block, Block::Call(..)));
    let usual = if has_call { "tool_use" } else { "end_turn" };
    let end = json!({
        "type": "message_delta",
        "delta": { "stop_reason": turn.stop_reason.as_deref().unwrap_or(usual) },
        "usage": { "output_tokens": usage.output },
    });
    let rows = turn.blocks.iter().enumerate();
    let rows = rows
        .map(|(index, block)| events(index, block, turn.piece))
        .collect();
    let mut all = vec![begin, json!({ "type": "ping" })];
    all.extend(join(rows, turn.interleaved));
    all.extend([end, json!({ "type": "message_stop" })]);
    let texts: Vec<String> = all.iter().map(text).collect();
    texts.concat()
}

fn text(event: &Value) -> String {
    let name = event
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    format!("event: {name}\ndata: {event}\n\n")
}

fn events(index: usize, block: &Block, piece: usize) -> Vec<Value> {
    let deltas = |kind: &str, field: &str, text: &str| -> Vec<Value> {
        let pieces = pieces(text, piece).into_iter();
        pieces
            .map(|piece| json!({ "type": kind, field: piece }))
            .collect()
    };
    let (content, deltas) = match block {
        Block::Text(text) => (
            json!({ "type": "text", "text": "" }),
            deltas("text_delta", "text", text),
        ),
        Block::Thinking(text, signature) => {
            let mut all = deltas("thinking_delta", "thinking", text);
            all.push(json!({ "type": "signature_delta", "signature": signature }));
            (
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
                all,
            )
        }
        Block::Redacted(data) => (json!({ "type": "redacted_thinking", "data": data }), vec![]),
        Block::Call(id, name, arguments) => (
            json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
            deltas("input_json_delta", "partial_json", arguments),
        ),
    };
    let mut events = vec![json!({
        "type": "content_block_start", "index": index, "content_block": content,
    })];
    events.extend(
        deltas
            .into_iter()
            .map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
    );
    events.push(json!({ "type": "content_block_stop", "index": index }));
    events
}
