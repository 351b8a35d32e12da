//! The rules that OpenAI's two protocols share.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::Received;
use super::rules::{Findings, has_text, is_name, list, object, text};

/// Whether a model is one of OpenAI's own, which take system messages anywhere.
pub(super) fn is_hosted(model: &str) -> bool {
    let names = ["gpt-", "o1", "o3", "o4"];
    names.iter().any(|name| model.starts_with(name))
}

pub(super) fn check_head(request: &Received, found: &mut Findings) {
    let body = object(&request.json);
    let content_type = request.header("content-type").unwrap_or_default();
    found.require(
        content_type == "application/json",
        "headers",
        "content-type must be application/json",
    );
    found.require(has_text(body, "model"), "model", "must be a name");
    found.require(
        body.get("stream") == Some(&Value::Bool(true)),
        "stream",
        "this server only streams",
    );
}

/// The name and the parameters of a function that is offered.
pub(super) fn check_function<'a>(
    function: &'a Map<String, Value>,
    place: &str,
    names: &mut HashSet<&'a str>,
    found: &mut Findings,
) {
    found.require(
        is_name(text(function, "name"), 64),
        place,
        "the name does not match ^[a-zA-Z0-9_-]{1,64}$",
    );
    found.require(
        names.insert(text(function, "name")),
        place,
        "tool names must be unique",
    );
    let parameters = function.get("parameters").map(object);
    let is_object = parameters.is_some_and(|schema| text(schema, "type") == "object");
    found.require(is_object, place, "parameters.type must be object");
}

/// The id of a call.
pub(super) fn check_call_id<'a>(
    id: &'a str,
    place: &str,
    ids: &mut HashSet<&'a str>,
    found: &mut Findings,
) {
    found.require(
        is_name(id, 64),
        place,
        &format!("the id `{id}` is not accepted"),
    );
    found.require(
        ids.insert(id),
        place,
        &format!("the id `{id}` occurs twice"),
    );
}

/// The name and the arguments of a call.
pub(super) fn check_called(
    function: &Map<String, Value>,
    id: &str,
    place: &str,
    found: &mut Findings,
) {
    found.require(
        is_name(text(function, "name"), 64),
        place,
        "the name of a called function is not accepted",
    );
    let arguments = serde_json::from_str::<Value>(text(function, "arguments"));
    let is_object = arguments.is_ok_and(|arguments| arguments.is_object());
    found.require(
        is_object,
        place,
        &format!("the arguments of `{id}` are no JSON object"),
    );
}

/// A message of the user, whose parts are of the protocol's kinds.
pub(super) fn check_user(
    message: &Map<String, Value>,
    is_part: fn(&Map<String, Value>) -> bool,
    place: &str,
    found: &mut Findings,
) {
    if message.get("content").is_some_and(Value::is_string) {
        found.require(
            has_text(message, "content"),
            place,
            "content must not be empty",
        );
        return;
    }
    let parts = list(message, "content");
    found.require(!parts.is_empty(), place, "content must not be empty");
    for part in parts.iter().map(object) {
        found.require(
            is_part(part),
            place,
            "a part is neither a text nor a picture",
        );
    }
}
