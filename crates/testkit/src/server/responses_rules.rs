//! The rules of OpenAI Responses: the types of OpenAI's package for Python (`openai` 3.57.0,
//! `openai.types.responses`), and what OpenAI and llama.cpp refuse beyond them.

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
            "store",
            "include",
            "reasoning",
            "max_output_tokens",
            "tools",
            "parallel_tool_calls",
            "instructions",
            "input",
        ],
    );
    found.require(
        body.get("store") == Some(&Value::Bool(false)),
        "store",
        "this server keeps nothing",
    );
    let limit = body.get("max_output_tokens").map(Value::as_u64);
    found.require(
        limit.is_none_or(|limit| limit.is_some_and(|limit| limit >= 16)),
        "max_output_tokens",
        "must be at least 16",
    );
    found.require(
        !body.contains_key("instructions") || has_text(body, "instructions"),
        "instructions",
        "must not be empty",
    );
    check_reasoning(body, &mut found);
    check_tools(body, &mut found);
    check_input(body, &mut found);
    found.0
}

/// Whether a model reasons. Those that do not refuse whatever is about it.
fn reasons(body: &Map<String, Value>) -> bool {
    let families = ["gpt-5", "o1", "o3", "o4"];
    let model = text(body, "model");
    families.iter().any(|family| model.starts_with(family))
}

fn check_reasoning(body: &Map<String, Value>, found: &mut Findings) {
    for value in list(body, "include") {
        found.require(
            value == "reasoning.encrypted_content",
            "include",
            "only sealed reasoning can be included",
        );
    }
    let asks = body.contains_key("include") || body.contains_key("reasoning");
    found.require(
        !asks || reasons(body),
        "reasoning",
        "is not supported with this model",
    );
    if let Some(reasoning) = body.get("reasoning").map(object) {
        found.only(reasoning, "reasoning", &["effort"]);
        found.require(
            matches!(text(reasoning, "effort"), "low" | "medium" | "high"),
            "reasoning.effort",
            "must be one that every model knows",
        );
    }
}

fn check_tools(body: &Map<String, Value>, found: &mut Findings) {
    let tools = list(body, "tools");
    let is_empty_list = body.get("tools").is_some() && tools.is_empty();
    found.require(!is_empty_list, "tools", "an empty list is refused");
    let mut names = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        let tool = object(tool);
        found.only(
            tool,
            &place,
            &["type", "name", "description", "parameters", "strict"],
        );
        found.require(
            text(tool, "type") == "function",
            &place,
            "type must be function",
        );
        found.require(
            tool.get("strict") == Some(&Value::Bool(false)),
            &place,
            "strict must be false, or the schema must require every property",
        );
        check_function(tool, &place, &mut names, found);
    }
    let parallel = body.get("parallel_tool_calls");
    found.require(
        parallel.is_none_or(|parallel| parallel.is_boolean() && !tools.is_empty()),
        "parallel_tool_calls",
        "must be a boolean, and is only allowed when tools are given",
    );
}

/// What an item is, as far as the order of items goes.
fn kind_of(item: &Map<String, Value>) -> &str {
    match (text(item, "type"), text(item, "role")) {
        ("" | "message", role) => role,
        (kind, _) => kind,
    }
}

fn check_input(body: &Map<String, Value>, found: &mut Findings) {
    let items = list(body, "input");
    found.require(!items.is_empty(), "input", "at least one item is required");
    let mut ids = HashSet::new();
    // The calls that wait for a result, the oldest first.
    let mut open: Vec<&str> = Vec::new();
    let mut before = "";
    for (index, item) in items.iter().enumerate() {
        let place = format!("input[{index}]");
        let item = object(item);
        let kind = kind_of(item);
        if matches!(kind, "user" | "system") && !open.is_empty() {
            found.add(
                &place,
                &format!("no tool output found for the function calls {open:?}"),
            );
            open.clear();
        }
        found.require(
            before != "reasoning" || matches!(kind, "reasoning" | "assistant" | "function_call"),
            &place,
            "a reasoning item was provided without its required following item",
        );
        let is_text = item.get("content").is_some_and(Value::is_string);
        match kind {
            "user" => {
                found.only(item, &place, &["role", "content"]);
                check_user(item, is_part, &place, found);
                found.require(
                    before != "user text" || !is_text,
                    &place,
                    "two user messages in a row",
                );
            }
            "system" | "assistant" => {
                found.only(item, &place, &["type", "role", "content"]);
                found.require(
                    kind != "assistant" || text(item, "type") == "message",
                    &place,
                    "cannot determine the type of the item",
                );
                found.require(
                    has_text(item, "content"),
                    &place,
                    "content must not be empty",
                );
                found.require(
                    kind == "assistant" || is_hosted(text(body, "model")),
                    &place,
                    "system messages are not accepted in the input",
                );
            }
            "reasoning" => check_sealed(item, reasons(body), &place, found),
            "function_call" => {
                found.only(item, &place, &["type", "call_id", "name", "arguments"]);
                let id = text(item, "call_id");
                check_call_id(id, &place, &mut ids, found);
                check_called(item, id, &place, found);
                open.push(id);
            }
            "function_call_output" => {
                found.only(item, &place, &["type", "call_id", "output"]);
                found.require(has_text(item, "output"), &place, "output must not be empty");
                let id = text(item, "call_id");
                let expected = (!open.is_empty()).then(|| open.remove(0));
                found.require(
                    expected == Some(id),
                    &place,
                    &format!("the output of `{id}` stands where that of {expected:?} is due"),
                );
            }
            other => found.add(&place, &format!("unexpected item `{other}`")),
        }
        before = if kind == "user" && is_text {
            "user text"
        } else {
            kind
        };
    }
    found.require(
        open.is_empty(),
        "input",
        &format!("no tool output found for the function calls {open:?}"),
    );
    found.require(
        !matches!(before, "assistant" | "reasoning"),
        "input",
        "nothing is asked: the model spoke last",
    );
}

fn check_sealed(item: &Map<String, Value>, reasons: bool, place: &str, found: &mut Findings) {
    found.only(
        item,
        place,
        &["type", "id", "summary", "content", "encrypted_content"],
    );
    let is_whole = has_text(item, "id")
        && item.get("summary").is_some_and(Value::is_array)
        && has_text(item, "encrypted_content");
    found.require(
        is_whole,
        place,
        "reasoning needs its id, its summary and, where nothing is kept, its encrypted content",
    );
    found.require(
        reasons,
        place,
        "reasoning can only be provided to a model that reasons",
    );
}

fn is_part(part: &Map<String, Value>) -> bool {
    match text(part, "type") {
        "input_text" => has_text(part, "text"),
        "input_image" => {
            matches!(text(part, "detail"), "auto" | "low" | "high")
                && text(part, "image_url").starts_with("data:")
        }
        _ => false,
    }
}
