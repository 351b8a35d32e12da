//! What the rules of all protocols are written with.

use serde_json::{Map, Value};

/// What is wrong with a request, each with the place where it is.
#[derive(Debug, Default)]
pub(super) struct Findings(pub(super) Vec<String>);

impl Findings {
    pub(super) fn add(&mut self, place: &str, what: &str) {
        self.0.push(format!("{place}: {what}"));
    }

    pub(super) fn require(&mut self, holds: bool, place: &str, what: &str) {
        if !holds {
            self.add(place, what);
        }
    }

    /// Requires that an object has no other fields than these.
    pub(super) fn only(&mut self, object: &Map<String, Value>, place: &str, fields: &[&str]) {
        for field in object.keys() {
            let known = fields.contains(&field.as_str());
            self.require(
                known,
                place,
                &format!("the field `{field}` is not permitted"),
            );
        }
    }
}

/// A value as an object; an empty one for anything else, so that its fields are found missing.
pub(super) fn object(value: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    value.as_object().unwrap_or(&EMPTY)
}

/// A field as a text; empty if it is none.
pub(super) fn text<'a>(object: &'a Map<String, Value>, field: &str) -> &'a str {
    object
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A field as a list; empty if it is none.
pub(super) fn list<'a>(object: &'a Map<String, Value>, field: &str) -> &'a [Value] {
    object
        .get(field)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Whether a field holds a text with something in it.
pub(super) fn has_text(object: &Map<String, Value>, field: &str) -> bool {
    text(object, field)
        .chars()
        .any(|character| !character.is_whitespace())
}

/// Whether a text has the form of a name: letters, digits, `_` and `-`, up to a length.
pub(super) fn is_name(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len())
        && text
            .chars()
            .all(|character| matches!(character, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-'))
}
