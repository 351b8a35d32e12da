//! The rules of OpenAI Chat Completions, from its API reference and from what the servers that speak
//! it (llama.cpp, vLLM, Ollama and the templates of their models) refuse.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::Received;
use super::openai_shared::{
    check_call_id, check_called, check_function, check_head, check_user, is_hosted,
};
use super::rules::{Findings, has_text, list, object, text};

pub(super) fn check(request: &Received) -> Vec<String> {
    let mut found = Findings::default();
    let body = object(&request.json);
    check_head(request, &mut found);
    found.only(
        body,
        "request",
        &[
            "model",
            "stream",
            "stream_options",
            "max_tokens",
            "max_completion_tokens",
            "tools",
            "tool_choice",
            "messages",
        ],
    );
    let options = body.get("stream_options").map(object);
    let counts =
        options.is_some_and(|options| options.get("include_usage") == Some(&Value::Bool(true)));
    found.require(
        counts,
        "stream_options",
        "include_usage must be true, or no tokens are counted",
    );
    let limits: Vec<&Value> = ["max_tokens", "max_completion_tokens"]
        .iter()
        .filter_map(|name| body.get(*name))
        .collect();
    found.require(
        limits.len() <= 1,
        "max_tokens",
        "may not be given together with max_completion_tokens",
    );
    let positive = limits
        .iter()
        .all(|limit| limit.as_u64().is_some_and(|limit| limit > 0));
    found.require(positive, "max_tokens", "must be at least 1");
    check_tools(body, &mut found);
    check_messages(body, &mut found);
    found.0
}

fn check_tools(body: &Map<String, Value>, found: &mut Findings) {
    let tools = list(body, "tools");
    let is_empty_list = body.get("tools").is_some() && tools.is_empty();
    found.require(!is_empty_list, "tools", "an empty list is refused");
    let mut names = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        let tool = object(tool);
        found.require(
            text(tool, "type") == "function",
            &place,
            "type must be function",
        );
        let Some(function) = tool.get("function").map(object) else {
            found.add(&place, "function is missing");
            continue;
        };
        found.only(
            function,
            &place,
            &["name", "description", "parameters", "strict"],
        );
        check_function(function, &place, &mut names, found);
    }
    let chooses = body.get("tool_choice").is_some();
    found.require(
        !chooses || !tools.is_empty(),
        "tool_choice",
        "is only allowed when tools are given",
    );
}

fn check_messages(body: &Map<String, Value>, found: &mut Findings) {
    let messages = list(body, "messages");
    found.require(
        !messages.is_empty(),
        "messages",
        "at least one message is required",
    );
    let is_hosted = is_hosted(text(body, "model"));
    let mut ids = HashSet::new();
    // The calls that wait for a result, the next one last.
    let mut open: Vec<&str> = Vec::new();
    let mut before = "";
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        let message = object(message);
        let role = text(message, "role");
        if role != "tool" && !open.is_empty() {
            found.add(
                &place,
                &format!("tool_call_ids did not have response messages: {open:?}"),
            );
            open.clear();
        }
        match role {
            "system" => {
                found.only(message, &place, &["role", "content"]);
                found.require(
                    has_text(message, "content"),
                    &place,
                    "content must not be empty",
                );
                found.require(
                    index == 0 || is_hosted,
                    &place,
                    "system messages are only accepted at the begin",
                );
            }
            "user" => {
                found.only(message, &place, &["role", "content"]);
                check_user(message, is_part, &place, found);
                let is_text = message.get("content").is_some_and(Value::is_string);
                found.require(
                    before != "user text" || !is_text,
                    &place,
                    "two user messages in a row",
                );
            }
            "assistant" => {
                found.require(
                    !matches!(before, "" | "assistant"),
                    &place,
                    "an assistant message must follow something said",
                );
                check_assistant(message, &place, &mut ids, found);
                let calls = list(message, "tool_calls").iter().rev();
                open.extend(calls.map(|call| text(object(call), "id")));
            }
            "tool" => {
                found.only(message, &place, &["role", "tool_call_id", "content"]);
                found.require(
                    has_text(message, "content"),
                    &place,
                    "content must not be empty",
                );
                let expected = open.pop();
                let id = text(message, "tool_call_id");
                found.require(
                    expected == Some(id),
                    &place,
                    &format!("the result of `{id}` stands where that of {expected:?} is due"),
                );
            }
            other => found.add(&place, &format!("unexpected role `{other}`")),
        }
        before = match role {
            "user" if message.get("content").is_some_and(Value::is_string) => "user text",
            role => role,
        };
    }
    found.require(
        open.is_empty(),
        "messages",
        &format!("tool_call_ids did not have response messages: {open:?}"),
    );
    found.require(
        before != "assistant",
        "messages",
        "nothing is asked: the assistant spoke last",
    );
    found.require(
        before != "system" || messages.len() > 1,
        "messages",
        "nothing is asked: there is only a system message",
    );
}

fn is_part(part: &Map<String, Value>) -> bool {
    match text(part, "type") {
        "text" => has_text(part, "text"),
        "image_url" => part
            .get("image_url")
            .is_some_and(|image| text(object(image), "url").starts_with("data:")),
        _ => false,
    }
}

fn check_assistant<'a>(
    message: &'a Map<String, Value>,
    place: &str,
    ids: &mut HashSet<&'a str>,
    found: &mut Findings,
) {
    found.only(message, place, &["role", "content", "tool_calls"]);
    let calls = list(message, "tool_calls");
    let has_calls = message.get("tool_calls").is_some();
    found.require(
        !has_calls || !calls.is_empty(),
        place,
        "tool_calls must not be empty",
    );
    let content = message.get("content");
    let is_null = content.is_some_and(Value::is_null);
    found.require(
        has_text(message, "content") || is_null && has_calls,
        place,
        "content must be a text, or null beside calls",
    );
    for call in calls.iter().map(object) {
        found.only(call, place, &["id", "type", "function"]);
        let id = text(call, "id");
        check_call_id(id, place, ids, found);
        found.require(
            text(call, "type") == "function",
            place,
            "type must be function",
        );
        let Some(function) = call.get("function").map(object) else {
            found.add(place, "function is missing");
            continue;
        };
        check_called(function, id, place, found);
    }
}
