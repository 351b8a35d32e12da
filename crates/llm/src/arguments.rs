//! The arguments of a tool call, kept exactly as the model wrote them.

use std::fmt;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::json_text::Checked;

/// The argument text of one tool call, byte for byte as the model sent it.
///
/// The text is kept rather than a parsed value because the next request must repeat it unchanged (a
/// changed byte makes the provider's prompt cache cold), and because a broken text must be shown to
/// the model as what it was.
#[derive(Clone, PartialEq, Eq)]
pub struct Arguments(String);

impl Arguments {
    /// Takes the text that a model sent. An empty text, which some providers send for a call without
    /// arguments, stands for `{}`.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.trim().is_empty() {
            return Self(String::from("{}"));
        }
        Self(text)
    }

    /// The text as the model sent it.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The parsed arguments, or what is wrong with the text.
    ///
    /// A text that is not JSON, or holds half of a surrogate pair, is an error: such text can be
    /// neither run nor sent back.
    pub fn parse(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// The text as raw JSON, if it is one JSON object that can stand in a line of a log or in a
    /// request as it is: no raw line break, no half surrogate pair.
    pub fn as_object(&self) -> Option<&RawValue> {
        if !self.0.trim_start().starts_with('{') || self.0.contains(['\n', '\r']) {
            return None;
        }
        // A full parse, since a raw value alone would let a lone surrogate escape through.
        serde_json::from_str::<Checked>(&self.0).ok()?;
        serde_json::from_str::<&RawValue>(&self.0).ok()
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<&Value> for Arguments {
    fn from(value: &Value) -> Self {
        Self::new(value.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_text_is_an_empty_object() {
        assert_eq!(Arguments::new("").text(), "{}");
        assert_eq!(Arguments::new(" \n").text(), "{}");
    }

    #[test]
    fn only_a_clean_object_can_be_embedded() {
        for (text, clean) in [
            (r#"{"a":1}"#, true),
            (r#" {"a":1.0} "#, true),
            ("{\"a\":\n1}", false),
            (r#"{"a":"\ud83d"}"#, false),
            (r#"{"a":"\ud83d\ude00"}"#, true),
            ("[1]", false),
            ("\"{}\"", false),
            ("{\"a\":", false),
        ] {
            assert_eq!(Arguments::new(text).as_object().is_some(), clean, "{text}");
        }
    }

    #[test]
    fn a_lone_surrogate_does_not_parse() {
        assert!(Arguments::new(r#"{"a":"\ud83d"}"#).parse().is_err());
    }
}
