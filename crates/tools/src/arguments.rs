//! The arguments of a call, read with leniency where the meaning is plain and with an error that
//! teaches where it is not.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::{ToolError, bounded};

/// The fields that a tool accepts. Each is a list of spellings; the first is its name.
pub(crate) type Accepted = &'static [&'static [&'static str]];

/// The fields of one call, under their names.
pub(crate) struct Arguments {
    fields: Map<String, Value>,
    accepted: Accepted,
}

impl Arguments {
    /// Reads the arguments: an object, the same as JSON text, or nothing. A field that is null
    /// counts as absent. A field that is not accepted, or one in two spellings, is an error.
    pub(crate) fn new(arguments: &Value, accepted: Accepted) -> Result<Self, ToolError> {
        let parsed = arguments.as_str().map(serde_json::from_str::<Value>);
        let given = match (arguments, &parsed) {
            (Value::Object(given), _) | (_, Some(Ok(Value::Object(given)))) => given.clone(),
            (Value::Null, _) => Map::new(),
            _ => return Err(error("the arguments are not a JSON object", accepted)),
        };
        let mut fields = Map::new();
        for (spelling, value) in given {
            if value.is_null() {
                continue;
            }
            let Some(name) = name_of(&spelling, accepted) else {
                let spelling = bounded::head(&spelling, 40);
                return Err(error(&format!("unknown field {spelling:?}"), accepted));
            };
            if fields.insert(name.to_owned(), value).is_some() {
                return Err(error(&format!("{name} is given twice"), accepted));
            }
        }
        Ok(Self { fields, accepted })
    }

    /// A text that must be there.
    pub(crate) fn text(&mut self, name: &str) -> Result<String, ToolError> {
        self.optional_text(name)?
            .ok_or_else(|| error(&format!("{name} is missing"), self.accepted))
    }

    /// A text that may be absent.
    pub(crate) fn optional_text(&mut self, name: &str) -> Result<Option<String>, ToolError> {
        match self.fields.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(name, "a string")),
        }
    }

    /// A whole number of at least 0, as a number or as a decimal string.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<u64>, ToolError> {
        let Some(value) = self.fields.remove(name) else {
            return Ok(None);
        };
        let number = match &value {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_u64().or_else(|| whole(value.as_f64()?)),
        };
        match number {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(name, "a whole number of at least 0")),
        }
    }

    /// True or false, as such or as a string. Absent is false.
    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, ToolError> {
        Ok(self.optional_flag(name)?.unwrap_or(false))
    }

    /// True or false, as such or as a string.
    pub(crate) fn optional_flag(&mut self, name: &str) -> Result<Option<bool>, ToolError> {
        let flag = match self.fields.remove(name) {
            None => return Ok(None),
            Some(Value::Bool(flag)) => Some(flag),
            Some(Value::String(text)) => text.trim().to_ascii_lowercase().parse().ok(),
            Some(_) => None,
        };
        match flag {
            Some(flag) => Ok(Some(flag)),
            None => Err(self.wrong(name, "true or false")),
        }
    }

    fn wrong(&self, name: &str, expected: &str) -> ToolError {
        error(&format!("{name} must be {expected}"), self.accepted)
    }
}

fn name_of(spelling: &str, accepted: Accepted) -> Option<&'static str> {
    let spellings = accepted.iter().find(|it| it.contains(&spelling))?;
    spellings.first().copied()
}

fn error(wrong: &str, accepted: Accepted) -> ToolError {
    let mut message = format!("{wrong}; accepted fields:");
    for (index, name) in accepted.iter().filter_map(|it| it.first()).enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(message, "{comma} {name}");
    }
    ToolError::new(message)
}

/// The number, if it is whole and a float holds it exactly.
fn whole(number: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_whole = number.fract() == 0.0 && (0.0..=EXACT).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole and in range"
    )]
    is_whole.then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FIELDS: Accepted = &[&["file_path", "path"], &["limit"], &["all"]];

    fn read(arguments: &Value) -> Result<(String, Option<u64>, bool), ToolError> {
        let mut fields = Arguments::new(arguments, FIELDS)?;
        Ok((
            fields.text("file_path")?,
            fields.number("limit")?,
            fields.flag("all")?,
        ))
    }

    #[test]
    fn a_plain_meaning_is_understood() {
        let whole = (String::from("a"), Some(2), true);
        for arguments in [
            json!({"file_path": "a", "limit": 2, "all": true}),
            json!({"path": "a", "limit": "2", "all": "true"}),
            json!({"path": "a", "limit": " 2 ", "all": "True"}),
            json!({"path": "a", "limit": 2.0, "all": true}),
            json!(r#"{"path": "a", "limit": 2, "all": true}"#),
        ] {
            assert_eq!(read(&arguments).as_ref(), Ok(&whole), "{arguments}");
        }
        let bare = (String::from("a"), None, false);
        for arguments in [
            json!({"path": "a"}),
            json!({"path": "a", "file_path": null, "limit": null, "all": null}),
        ] {
            assert_eq!(read(&arguments).as_ref(), Ok(&bare), "{arguments}");
        }
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let mut said = String::new();
        for arguments in [
            json!({"file_path": "a", "owner": 1}),
            json!({"file_path": "a", "path": "a"}),
            json!({"x".repeat(9999): "a"}),
            json!({"ファイル".repeat(99): "a"}),
            json!({"file_path": 1}),
            json!({"file_path": ["a"]}),
            json!({"file_path": "a", "limit": -1}),
            json!({"file_path": "a", "limit": 1.5}),
            json!({"file_path": "a", "limit": 1e300}),
            json!({"file_path": "a", "limit": "two"}),
            json!({"file_path": "a", "limit": true}),
            json!({"file_path": "a", "all": 1}),
            json!({"file_path": "a", "all": "yes"}),
            json!({}),
            json!(null),
            json!([]),
            json!("a"),
            json!("{"),
            json!("[]"),
        ] {
            let message = read(&arguments).expect_err("it is wrong").message;
            assert!(message.len() < 300, "{message}");
            let _ = writeln!(said, "{message}");
        }
        insta::assert_snapshot!(said);
    }
}
