//! JSON that is kept as text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON value, kept as its text: what a tool gave to programs.
///
/// Most of them are never looked at, and a session has one for each call. Parsed, each would take five
/// times the memory, and a resume would spend a quarter of its time on them.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonText(Box<str>);

impl JsonText {
    /// Takes a text, if it is JSON that can be parsed: not deeper than 127 levels, no number out of
    /// range, no half of a surrogate pair. Line ends between its parts become spaces, so that it is one
    /// line in whatever it is written into.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Checked>(text)?;
        let text = text.trim();
        // In strings they can only stand escaped.
        Ok(Self(if text.contains(['\n', '\r']) {
            text.replace(['\n', '\r'], " ").into()
        } else {
            text.into()
        }))
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The value. `null` for one that was made of a [`Value`] with more than 127 levels, which nothing
    /// can read back; a session does not take such a one.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// The text as it can be written into other JSON; an error for a value that is too deep.
    pub fn as_raw(&self) -> Result<&RawValue, serde_json::Error> {
        serde_json::from_str::<Checked>(&self.0)?;
        serde_json::from_str(&self.0)
    }
}

impl From<&Value> for JsonText {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl From<Value> for JsonText {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Parses a value as `serde_json` does for a [`Value`], and keeps nothing.
pub(crate) struct Checked;

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Checked {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        while fields.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_taken_can_be_read_and_written() {
        let value = json!({"a": [1, -2, 0.5, true, null, "ä\n"], "b": {}});
        let text = JsonText::from(&value);
        assert_eq!(text.to_value(), value);
        assert_eq!(JsonText::parse(text.text()).unwrap(), text);
        assert_eq!(text.as_raw().unwrap().get(), text.text());
        assert_eq!(JsonText::parse(" [ 1 ]\n").unwrap().text(), "[ 1 ]");
        // BR-106: what a log has is one line for every reader.
        let text = JsonText::parse("[\r\n1,\n\"a\\n\"\r]").unwrap();
        assert_eq!(text.text(), r#"[  1, "a\n" ]"#);
        assert_eq!(text.to_value(), json!([1, "a\n"]));
    }

    #[test]
    fn what_is_too_deep_is_refused_before_it_is_written() {
        let deep = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(JsonText::parse(&deep(127)).is_ok());
        assert!(JsonText::parse(&deep(128)).is_err());
        let value: Value = serde_json::from_str(&deep(127)).unwrap();
        let text = JsonText::from(json!([value]));
        assert!(text.as_raw().is_err());
        assert_eq!(text.to_value(), Value::Null);
    }

    proptest! {
        #[test]
        fn it_takes_what_a_value_takes(text in "[ -~äß]{0,12}|\"(\\\\u[dD][0-9a-f]{3}){0,3}\"|-?[0-9.eE+-]{0,8}|[\\[\\]{},:\"1]{0,8}") {
            let is_value = serde_json::from_str::<Value>(&text).is_ok();
            prop_assert_eq!(JsonText::parse(&text).is_ok(), is_value, "{}", text);
        }
    }
}
