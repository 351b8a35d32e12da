//! The rules of Anthropic Messages, from the pages "Messages", "Tool use", "Extended thinking" and
//! "Prompt caching" of its documentation and from the texts of its errors.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::Received;
use super::rules::{Findings, has_text, is_name, list, object, text};

/// The most cache marks of a request.
const MARKS: usize = 4;
/// The smallest reasoning budget.
const LEAST_BUDGET: u64 = 1024;

pub(super) fn check(request: &Received) -> Vec<String> {
    let mut found = Findings::default();
    let body = object(&request.json);
    found.require(
        request.header("anthropic-version").is_some(),
        "headers",
        "anthropic-version is missing",
    );
    let content_type = request.header("content-type").unwrap_or_default();
    found.require(
        content_type == "application/json",
        "headers",
        "content-type must be application/json",
    );
    found.only(
        body,
        "request",
        &[
            "model",
            "max_tokens",
            "stream",
            "thinking",
            "tools",
            "tool_choice",
            "system",
            "messages",
        ],
    );
    found.require(has_text(body, "model"), "model", "must be a name");
    found.require(
        !text(body, "model").ends_with(']'),
        "model",
        "a suffix in brackets is no part of a name",
    );
    found.require(max_tokens(body) > 0, "max_tokens", "must be at least 1");
    found.require(
        body.get("stream") == Some(&Value::Bool(true)),
        "stream",
        "this server only streams",
    );
    check_system(body, &mut found);
    check_tools(body, &mut found);
    check_messages(body, &mut found);
    check_thinking(body, &mut found);
    let marks = count_marks(&request.json);
    found.require(
        marks <= MARKS,
        "cache_control",
        &format!("{marks} marks, at most {MARKS} are allowed"),
    );
    found.0
}

fn max_tokens(body: &Map<String, Value>) -> u64 {
    body.get("max_tokens").and_then(Value::as_u64).unwrap_or(0)
}

fn check_system(body: &Map<String, Value>, found: &mut Findings) {
    match body.get("system") {
        None => {}
        Some(Value::String(_)) => {
            found.require(has_text(body, "system"), "system", "must not be empty");
        }
        Some(_) => {
            let blocks = list(body, "system");
            found.require(!blocks.is_empty(), "system", "must not be empty");
            for (index, block) in blocks.iter().enumerate() {
                check_text_block(object(block), &format!("system[{index}]"), found);
            }
        }
    }
}

fn check_tools(body: &Map<String, Value>, found: &mut Findings) {
    let tools = list(body, "tools");
    let mut names = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        let tool = object(tool);
        found.only(
            tool,
            &place,
            &["name", "description", "input_schema", "cache_control"],
        );
        found.require(
            is_name(text(tool, "name"), 128),
            &place,
            "the name does not match ^[a-zA-Z0-9_-]{1,128}$",
        );
        found.require(
            names.insert(text(tool, "name")),
            &place,
            "tool names must be unique",
        );
        let schema = tool.get("input_schema").map(object);
        let is_object = schema.is_some_and(|schema| text(schema, "type") == "object");
        found.require(is_object, &place, "input_schema.type must be object");
        check_mark(tool, &place, found);
    }
    let chosen = body
        .get("tool_choice")
        .map(|choice| text(object(choice), "type"));
    if let Some(kind) = chosen {
        found.require(
            !tools.is_empty(),
            "tool_choice",
            "may only be given together with tools",
        );
        let thinks = body
            .get("thinking")
            .is_some_and(|thinking| text(object(thinking), "type") == "enabled");
        let forces = matches!(kind, "any" | "tool");
        found.require(
            !(thinks && forces),
            "thinking",
            "may not be enabled when tool_choice forces tool use",
        );
    }
    let uses_tools = list(body, "messages")
        .iter()
        .flat_map(|message| list(object(message), "content"))
        .any(|block| matches!(text(object(block), "type"), "tool_use" | "tool_result"));
    found.require(
        !uses_tools || !tools.is_empty(),
        "tools",
        "requests which include tool_use or tool_result blocks must define tools",
    );
}

fn check_messages(body: &Map<String, Value>, found: &mut Findings) {
    let messages = list(body, "messages");
    found.require(
        !messages.is_empty(),
        "messages",
        "at least one message is required",
    );
    let mut ids = HashSet::new();
    // The calls of the assistant message before.
    let mut open: Vec<&str> = Vec::new();
    let mut before = "";
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        let message = object(message);
        found.only(message, &place, &["role", "content"]);
        let role = text(message, "role");
        let after = messages
            .get(index + 1)
            .map_or("end", |next| text(object(next), "role"));
        check_role(role, before, after, text(body, "model"), &place, found);
        let content = list(message, "content");
        found.require(
            !content.is_empty() || has_text(message, "content"),
            &place,
            "all messages must have non-empty content",
        );
        check_results(content, &open, &place, found);
        open.clear();
        for (index, block) in content.iter().enumerate() {
            let place = format!("{place}.content[{index}]");
            let block = object(block);
            check_block(block, role, &place, found);
            if text(block, "type") == "tool_use" {
                let id = text(block, "id");
                found.require(ids.insert(id), &place, "`tool_use` ids must be unique");
                open.push(id);
            }
        }
        let last = content
            .last()
            .map(|block| text(object(block), "type"))
            .unwrap_or_default();
        let ends_with_thinking =
            role == "assistant" && matches!(last, "thinking" | "redacted_thinking");
        found.require(
            !ends_with_thinking,
            &place,
            "the final block in an assistant message cannot be `thinking`",
        );
        before = role;
    }
    found.require(
        open.is_empty(),
        "messages",
        &format!("`tool_use` ids {open:?} were found without `tool_result` blocks"),
    );
    found.require(
        before != "assistant",
        "messages",
        "the conversation must end with a user message",
    );
}

fn check_role(
    role: &str,
    before: &str,
    after: &str,
    model: &str,
    place: &str,
    found: &mut Findings,
) {
    match role {
        "user" | "assistant" => {
            found.require(
                role != before,
                place,
                "roles must alternate between user and assistant",
            );
            found.require(
                !before.is_empty() || role == "user",
                place,
                "the first message must be of the user",
            );
        }
        "system" => {
            let takes = ["opus-4-8", "opus-5", "sonnet-5-5", "fable-5"];
            let takes = takes.iter().any(|name| model.contains(name));
            found.require(takes, place, "role `system` is not supported on this model");
            found.require(
                before == "user",
                place,
                "a system message must follow a user message",
            );
            let is_end = matches!(after, "assistant" | "end");
            found.require(
                is_end,
                place,
                "a system message must precede an assistant message or the end",
            );
        }
        other => found.add(place, &format!("unexpected role `{other}`")),
    }
}

/// Each call needs its result at the begin of the next message, in the order of the calls, and no
/// other result may stand there.
fn check_results(content: &[Value], open: &[&str], place: &str, found: &mut Findings) {
    let kinds = content.iter().map(|block| text(object(block), "type"));
    let leading = kinds
        .clone()
        .take_while(|kind| *kind == "tool_result")
        .count();
    let all = kinds.filter(|kind| *kind == "tool_result").count();
    found.require(
        leading == all,
        place,
        "`tool_result` blocks must come before any other block",
    );
    let results: Vec<&str> = content
        .iter()
        .map(object)
        .filter(|block| text(block, "type") == "tool_result")
        .map(|block| text(block, "tool_use_id"))
        .collect();
    found.require(
        results == open,
        place,
        &format!("the results {results:?} do not answer the `tool_use` blocks {open:?} one by one"),
    );
}

fn check_block(block: &Map<String, Value>, role: &str, place: &str, found: &mut Findings) {
    let kind = text(block, "type");
    let fits = match role {
        "user" => matches!(kind, "text" | "image" | "tool_result"),
        "assistant" => matches!(kind, "text" | "thinking" | "redacted_thinking" | "tool_use"),
        _ => kind == "text",
    };
    found.require(
        fits,
        place,
        &format!("a block of type `{kind}` may not stand in a message of role `{role}`"),
    );
    match kind {
        "text" => check_text_block(block, place, found),
        "image" => {
            found.only(block, place, &["type", "source", "cache_control"]);
            let source = block.get("source").map(object);
            let whole = source.is_some_and(|source| {
                ["type", "media_type", "data"]
                    .iter()
                    .all(|field| has_text(source, field))
            });
            found.require(whole, place, "the source of the image is not whole");
        }
        "thinking" => {
            found.only(block, place, &["type", "thinking", "signature"]);
            found.require(
                block.get("thinking").is_some_and(Value::is_string),
                place,
                "thinking: field required",
            );
            found.require(
                has_text(block, "signature"),
                place,
                "signature: field required",
            );
        }
        "redacted_thinking" => {
            found.only(block, place, &["type", "data"]);
            found.require(has_text(block, "data"), place, "data: field required");
        }
        "tool_use" => {
            found.only(
                block,
                place,
                &["type", "id", "name", "input", "cache_control"],
            );
            found.require(
                is_name(text(block, "id"), 64),
                place,
                "the id does not match ^[a-zA-Z0-9_-]+$",
            );
            found.require(
                is_name(text(block, "name"), 128),
                place,
                "the name does not match ^[a-zA-Z0-9_-]{1,128}$",
            );
            found.require(
                block.get("input").is_some_and(Value::is_object),
                place,
                "input: must be an object",
            );
        }
        "tool_result" => {
            found.only(
                block,
                place,
                &[
                    "type",
                    "tool_use_id",
                    "content",
                    "is_error",
                    "cache_control",
                ],
            );
            found.require(
                has_text(block, "content"),
                place,
                "content: must not be empty",
            );
            let is_error = block.get("is_error").is_none_or(Value::is_boolean);
            found.require(is_error, place, "is_error: must be a boolean");
        }
        _ => {}
    }
    check_mark(block, place, found);
}

fn check_text_block(block: &Map<String, Value>, place: &str, found: &mut Findings) {
    found.only(block, place, &["type", "text", "cache_control"]);
    found.require(text(block, "type") == "text", place, "must be a text block");
    found.require(
        has_text(block, "text"),
        place,
        "text content blocks must contain non-whitespace text",
    );
    check_mark(block, place, found);
}

fn check_mark(block: &Map<String, Value>, place: &str, found: &mut Findings) {
    let mark = block.get("cache_control").map(object);
    let known = mark.is_none_or(|mark| text(mark, "type") == "ephemeral");
    found.require(known, place, "cache_control.type must be ephemeral");
}

fn count_marks(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| usize::from(name == "cache_control") + count_marks(value))
            .sum(),
        Value::Array(values) => values.iter().map(count_marks).sum(),
        _ => 0,
    }
}

fn check_thinking(body: &Map<String, Value>, found: &mut Findings) {
    let Some(thinking) = body.get("thinking").map(object) else {
        return;
    };
    match text(thinking, "type") {
        "disabled" | "adaptive" => found.only(thinking, "thinking", &["type"]),
        "enabled" => {
            found.only(thinking, "thinking", &["type", "budget_tokens"]);
            let budget = thinking
                .get("budget_tokens")
                .and_then(Value::as_u64)
                .unwrap_or(0);
            found.require(
                budget >= LEAST_BUDGET,
                "thinking.budget_tokens",
                "must be at least 1024",
            );
            found.require(
                budget < max_tokens(body),
                "max_tokens",
                "must be greater than `thinking.budget_tokens`",
            );
            check_thinking_first(body, found);
        }
        other => found.add("thinking.type", &format!("unexpected `{other}`")),
    }
}

/// While the results of calls are answered, the message of these calls must begin with reasoning.
fn check_thinking_first(body: &Map<String, Value>, found: &mut Findings) {
    let messages = list(body, "messages");
    let role = |message: &&Value| text(object(message), "role") == "assistant";
    let Some(last) = messages.iter().rfind(role) else {
        return;
    };
    let kinds: Vec<&str> = list(object(last), "content")
        .iter()
        .map(|block| text(object(block), "type"))
        .collect();
    let begins = matches!(kinds.first(), Some(&("thinking" | "redacted_thinking")));
    found.require(
        begins || !kinds.contains(&"tool_use"),
        "messages",
        "when `thinking` is enabled, a final `assistant` message must start with a thinking block",
    );
}
