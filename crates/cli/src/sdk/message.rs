//! The lines that a session becomes, but for the last one of a run (`result`).

use llm::{
    Arguments, AssistantBlock, AssistantMessage, Delta, Item, ModelError, ToolResult, Usage,
};
use pod::session::Entry;
use pod::{CompactReport, Trigger};
use serde_json::{Value, json};
use uuid::Uuid;

use super::mcp::Server;

/// The version of Claude Code whose protocol this is (`agent-sdk.md`). The SDKs compare it with what
/// they need; Pod's own stands beside it.
pub(super) const PROTOCOL_VERSION: &str = "2.1.332";

/// Adds to a line what each line has.
pub(super) fn of_session(session: Uuid, mut line: Value) -> Value {
    line["session_id"] = json!(session);
    if line.get("uuid").is_none() {
        line["uuid"] = json!(Uuid::now_v7());
    }
    line
}

/// What the first line of a run tells.
pub(super) struct Init<'a> {
    pub(super) directory: &'a str,
    pub(super) model: &'a str,
    pub(super) mode: &'a str,
    pub(super) tools: &'a [String],
    pub(super) servers: &'a [Server],
    /// Whether Bash is held to where it may write.
    pub(super) sandbox: &'a str,
}

/// The first line of a run.
pub(super) fn init(session: Uuid, init: &Init<'_>) -> Value {
    let servers: Vec<Value> = init
        .servers
        .iter()
        .map(|server| json!({"name": server.name, "status": server.status()}))
        .collect();
    of_session(
        session,
        json!({
            "type": "system",
            "subtype": "init",
            "cwd": init.directory,
            "model": init.model,
            "permissionMode": init.mode,
            "tools": init.tools,
            "mcp_servers": servers,
            "apiKeySource": api_key_source(),
            "claude_code_version": PROTOCOL_VERSION,
            "pod_version": env!("CARGO_PKG_VERSION"),
            "sandbox": init.sandbox,
            "slash_commands": ["compact"],
            "output_style": "default",
            "agents": [],
            "skills": [],
            "plugins": [],
        }),
    )
}

/// Where the key comes from, without the key.
pub(super) fn api_key_source() -> &'static str {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("ANTHROPIC_API_KEY") {
        "ANTHROPIC_API_KEY"
    } else {
        "none"
    }
}

/// The lines of an entry: one a block of the model's answer, one a result of a tool. What the runtime
/// tells the model has none.
pub(super) fn of_entry(session: Uuid, entry: &Entry) -> Vec<Value> {
    match &*entry.item {
        Item::Assistant(message) => of_answer(session, entry, message),
        Item::ToolResult(result) => vec![of_result(session, entry, result)],
        Item::User(_) | Item::System(_) => Vec::new(),
    }
}

fn of_answer(session: Uuid, entry: &Entry, message: &AssistantMessage) -> Vec<Value> {
    let id = message
        .response_id
        .clone()
        .unwrap_or_else(|| format!("msg_{}", entry.id.simple()));
    let blocks: Vec<Value> = message.content.iter().filter_map(block).collect();
    let count = blocks.len();
    blocks
        .into_iter()
        .enumerate()
        .map(|(index, block)| {
            of_session(
                session,
                json!({
                    "type": "assistant",
                    "message": {
                        "id": id,
                        "type": "message",
                        "role": "assistant",
                        "model": message.model,
                        "content": [block],
                        "stop_reason": null,
                        "stop_sequence": null,
                        "usage": usage_fields(&message.usage),
                    },
                    "parent_tool_use_id": null,
                    "uuid": line_id(entry.id, count - 1 - index),
                    "timestamp": entry.at.to_string(),
                }),
            )
        })
        .collect()
}

/// The id of a line of an entry: that of the entry for the last line, and for others one that leads
/// back to it ([`is_line_of`]), so that a program can go back to any line it has seen.
fn line_id(entry: Uuid, lines_behind: usize) -> Uuid {
    let lines_behind = u16::try_from(lines_behind).unwrap_or(u16::MAX);
    Uuid::from_u128(entry.as_u128() ^ u128::from(lines_behind))
}

/// Whether a line with this id was one of the entry.
pub(super) fn is_line_of(entry: &Entry, line: Uuid) -> bool {
    let distance = entry.id.as_u128() ^ line.as_u128();
    match &*entry.item {
        Item::Assistant(message) => {
            usize::try_from(distance).is_ok_and(|it| it < message.content.len().max(1))
        }
        _ => distance == 0,
    }
}

fn block(block: &AssistantBlock) -> Option<Value> {
    Some(match block {
        AssistantBlock::Text(text) if text.is_empty() => return None,
        AssistantBlock::Text(text) => json!({"type": "text", "text": text}),
        // What is sealed and has no text is nothing to show.
        AssistantBlock::Reasoning(reasoning)
            if reasoning.text.is_empty() && reasoning.sealed.is_some() =>
        {
            return None;
        }
        AssistantBlock::Reasoning(reasoning) => match &reasoning.redacted {
            Some(data) => json!({"type": "redacted_thinking", "data": data}),
            // Python's SDK ends the stream where the signature is missing.
            None => json!({
                "type": "thinking",
                "thinking": reasoning.text,
                "signature": reasoning.signature.as_deref().unwrap_or_default(),
            }),
        },
        AssistantBlock::ToolCall(call) => json!({
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": sent(&call.arguments),
        }),
    })
}

/// The arguments as the model sent them, whatever they are.
pub(super) fn sent(arguments: &Arguments) -> Value {
    arguments
        .parse()
        .unwrap_or_else(|_| json!(arguments.text()))
}

fn of_result(session: Uuid, entry: &Entry, result: &ToolResult) -> Value {
    let mut content = json!({
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": result.text(),
    });
    if result.is_error {
        content["is_error"] = json!(true);
    }
    of_session(
        session,
        json!({
            "type": "user",
            "message": {"role": "user", "content": [content]},
            "parent_tool_use_id": null,
            "tool_use_result": structured_result(result),
            "uuid": entry.id,
            "timestamp": entry.at.to_string(),
        }),
    )
}

/// `tool_use_result`: the data of a result, or its text where it has none or is an error.
pub(super) fn structured_result(result: &ToolResult) -> Value {
    match &result.value {
        Some(value) if !result.is_error => value.to_value(),
        _ => json!(result.text()),
    }
}

/// A message of the user that the runtime makes, such as the mark of an interruption.
pub(super) fn user_text(session: Uuid, text: &str) -> Value {
    of_session(
        session,
        json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": text}]},
            "parent_tool_use_id": null,
        }),
    )
}

/// An answer that no model gave: why there is none.
pub(super) fn synthetic_answer(session: Uuid, text: &str) -> Value {
    of_session(
        session,
        json!({
            "type": "assistant",
            "message": {
                "id": format!("msg_{}", Uuid::now_v7().simple()),
                "type": "message",
                "role": "assistant",
                "model": "<synthetic>",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "stop_sequence",
                "stop_sequence": "",
                "usage": usage_fields(&Usage::default()),
            },
            "parent_tool_use_id": null,
        }),
    )
}

/// A request is sent again.
pub(super) fn retry(session: Uuid, delta: &Delta) -> Option<Value> {
    let Delta::Retry {
        attempt,
        attempts,
        wait,
        error,
    } = delta
    else {
        return None;
    };
    Some(of_session(
        session,
        json!({
            "type": "system",
            "subtype": "api_retry",
            "attempt": attempt,
            "max_retries": attempts.saturating_sub(1),
            "retry_delay_ms": u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            "error_status": error.status(),
            "error": error_kind(error),
        }),
    ))
}

fn error_kind(error: &ModelError) -> &'static str {
    match error {
        ModelError::Authentication(_) => "authentication_failed",
        ModelError::Overloaded { status: 429, .. } => "rate_limit",
        ModelError::Overloaded { .. } => "overloaded",
        ModelError::InvalidRequest { .. } | ModelError::Malformed(_) => "invalid_request",
        ModelError::Provider { .. } => "server_error",
        _ => "unknown",
    }
}

/// A compaction began or ended.
pub(super) fn compacting(session: Uuid, is_going_on: bool, error: Option<&str>) -> Value {
    let mut line = json!({
        "type": "system",
        "subtype": "status",
        "status": if is_going_on { json!("compacting") } else { Value::Null },
    });
    if !is_going_on {
        line["compact_result"] = json!(if error.is_some() { "failed" } else { "success" });
    }
    if let Some(error) = error {
        line["compact_error"] = json!(error);
    }
    of_session(session, line)
}

/// Where a compaction took the place of the history.
pub(super) fn compact_boundary(session: Uuid, report: &CompactReport) -> Value {
    of_session(
        session,
        json!({
            "type": "system",
            "subtype": "compact_boundary",
            "compact_metadata": {
                "trigger": trigger_name(report.trigger),
                "pre_tokens": report.tokens_before,
                "post_tokens": report.tokens_after,
                "duration_ms": u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
            },
        }),
    )
}

/// `manual` or `auto`.
pub(super) fn trigger_name(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Manual => "manual",
        _ => "auto",
    }
}

/// Tokens in the words of Anthropic's API, where those from and to the cache stand beside the others.
pub(super) fn usage_fields(usage: &Usage) -> Value {
    let cached = usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": usage.input.saturating_sub(cached),
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
