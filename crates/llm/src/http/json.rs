//! JSON as providers send it, which is not always JSON.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::ModelError;

/// Reads one event. Bytes that are not UTF-8 and halves of surrogate pairs (servers that cut a text
/// between two deltas produce both) become U+FFFD rather than an error that ends the response.
pub(crate) fn read<T: DeserializeOwned>(data: &[u8]) -> Result<T, ModelError> {
    let error = match serde_json::from_slice(data) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let repaired = without_half_pairs(&String::from_utf8_lossy(data));
    serde_json::from_str(&repaired).map_err(|_| ModelError::Provider {
        status: None,
        message: format!(
            "it sent an event that cannot be read ({error}): {}",
            excerpt(&repaired, 200)
        ),
    })
}

/// The begin of a text, at most `characters` long, on one line.
pub(crate) fn excerpt(text: &str, characters: usize) -> String {
    let mut excerpt: String = text
        .chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .take(characters)
        .collect();
    if text.chars().nth(characters).is_some() {
        excerpt.push('…');
    }
    excerpt
}

/// A field that a server may send as null, leave out, or fill with something else altogether.
pub(crate) fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Replaces each `\uD8xx` escape that has no partner by `\uFFFD`.
fn without_half_pairs(json: &str) -> String {
    let mut repaired = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, after)) = rest.split_once('\\') {
        repaired.push_str(before);
        repaired.push('\\');
        let Some(unit) = code_unit(after) else {
            // Another escape: its second character must not be taken for the begin of one.
            let mut characters = after.chars();
            repaired.extend(characters.next());
            rest = characters.as_str();
            continue;
        };
        let (escape, tail) = after.split_at_checked(5).unwrap_or((after, ""));
        let partner = tail
            .strip_prefix('\\')
            .filter(|tail| matches!(code_unit(tail), Some(0xDC00..=0xDFFF)));
        match (unit, partner) {
            (0xD800..=0xDBFF, Some(second)) => {
                let (low, tail) = second.split_at_checked(5).unwrap_or((second, ""));
                repaired.push_str(escape);
                repaired.push('\\');
                repaired.push_str(low);
                rest = tail;
            }
            (0xD800..=0xDFFF, _) => {
                repaired.push_str("ufffd");
                rest = tail;
            }
            _ => {
                repaired.push_str(escape);
                rest = tail;
            }
        }
    }
    repaired.push_str(rest);
    repaired
}

/// The value of an escape `uXXXX` at the begin of a text.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix('u')?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn halves_of_pairs_become_replacement_characters() {
        for (text, expected) in [
            (r#""a\ud83dz""#, "a\u{fffd}z"),
            (r#""\ude00""#, "\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ud83d\n\\ud83d""#, "\u{fffd}\n\\ud83d"),
            (r#""\ud83dé""#, "\u{fffd}é"),
        ] {
            assert_eq!(read::<Value>(text.as_bytes()).unwrap(), json!(expected));
        }
        let cut = b"\"a\xf0\x9f\"";
        assert_eq!(read::<Value>(cut).unwrap(), json!("a\u{fffd}"));
    }

    #[test]
    fn what_cannot_be_read_is_shown() {
        let error = read::<Value>(b"{\"a\":\nnothing}").unwrap_err();
        insta::assert_snapshot!(error, @r#"the provider failed: it sent an event that cannot be read (expected ident at line 2 column 2): {"a": nothing}"#);
    }
}
