//! A response as the chunks of OpenAI Chat Completions.

use serde_json::{Value, json};

use super::reply::{Block, Turn, join, pieces};

pub(super) fn stream(turn: &Turn, usage: llm::Usage, number: usize) -> String {
    let chunk = |choices: Value, counted: Value| {
        json!({
            "id": format!("chatcmpl-{number}"),
            "object": "chat.completion.chunk",
            "model": "test-model",
            "choices": choices,
            "usage": counted,
        })
    };
    let choice = |delta: Value, reason: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        chunk(json!([choice]), Value::Null)
    };
    let mut rows = Vec::new();
    let mut calls = 0;
    for block in &turn.blocks {
        rows.push(deltas(block, calls, turn.piece));
        calls += usize::from(matches!(block, Block::Call(..)));
    }
    let usual = if calls > 0 { "tool_calls" } else { "stop" };
    let reason = turn.stop_reason.as_deref().unwrap_or(usual);
    let counted = json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
    });
    let mut all = vec![choice(
        json!({ "role": "assistant", "content": null }),
        Value::Null,
    )];
    let deltas = join(rows, turn.interleaved).into_iter();
    all.extend(deltas.map(|delta| choice(delta, Value::Null)));
    all.extend([choice(json!({}), json!(reason)), chunk(json!([]), counted)]);
    let mut texts: Vec<String> = all
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    texts.push("data: [DONE]\n\n".to_owned());
    texts.concat()
}

fn deltas(block: &Block, call: usize, piece: usize) -> Vec<Value> {
    let texts = |field: &str, text: &str| {
        let pieces = pieces(text, piece).into_iter();
        pieces.map(|piece| json!({ field: piece })).collect()
    };
    match block {
        Block::Text(text) => texts("content", text),
        Block::Thinking(text, _) => texts("reasoning_content", text),
        Block::Redacted(_) => vec![],
        Block::Call(id, name, arguments) => {
            let mut all = vec![json!({ "tool_calls": [{
                "index": call,
                "id": id,
                "type": "function",
                "function": { "name": name, "arguments": "" },
            }] })];
            all.extend(pieces(arguments, piece).into_iter().map(|piece| {
                json!({ "tool_calls": [{ "index": call, "function": { "arguments": piece } }] })
            }));
            all
        }
    }
}
