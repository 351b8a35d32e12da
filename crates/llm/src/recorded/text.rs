//! Strings of logs, which may hold halves of surrogate pairs.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;

/// A JSON string. JavaScript programs write halves of surrogate pairs (`"\ud83d"`) into their logs;
/// such a half becomes the replacement character, instead of making the whole line unreadable.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Text(pub(super) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        // As bytes, since only then `serde_json` lets half a pair pass.
        deserializer.deserialize_bytes(Bytes)
    }
}

/// The string that a raw value is, if it is one.
pub(super) fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str::<Text>(raw.get())
        .ok()
        .map(|text| text.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_the_rest_kept() {
        for (json, text) in [
            (r#""a\ud83db""#, "a\u{fffd}\u{fffd}\u{fffd}b"),
            (r#""\ud83d\ude00 \n ä""#, "\u{1f600} \n ä"),
        ] {
            assert_eq!(serde_json::from_str::<Text>(json).unwrap().0, text);
        }
        assert!(serde_json::from_str::<Text>("[1]").is_err());
        assert!(serde_json::from_str::<Text>("null").is_err());
    }
}
