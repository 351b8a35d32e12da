//! A key that cannot be printed by accident.

use std::fmt;

use reqwest::header::HeaderValue;

use crate::ModelError;

/// An API key or token. Neither `Debug` nor any error shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key as it stands in a variable; blanks around it are no part of it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// The value of a header that ends with the key. `variable` is named if the key cannot be sent.
    pub(crate) fn header(&self, before: &str, variable: &str) -> Result<HeaderValue, ModelError> {
        let mut value = HeaderValue::from_str(&format!("{before}{}", self.0)).map_err(|_| {
            ModelError::Authentication(format!(
                "{variable} holds characters that no key has (a line break, perhaps): set it again"
            ))
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// The text without the key, for texts that a server sent: some repeat the key that they refuse.
    pub(crate) fn redact(&self, text: String) -> String {
        if self.0.is_empty() || !text.contains(&self.0) {
            return text;
        }
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[hidden]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = Secret::new(" sk-123\n");
        assert_eq!(format!("{key:?}"), "[hidden]");
        let header = key.header("Bearer ", "OPENAI_API_KEY").unwrap();
        assert_eq!(header.as_bytes(), b"Bearer sk-123");
        assert_eq!(format!("{header:?}"), "Sensitive");
        assert_eq!(key.redact("bad key sk-123!".to_owned()), "bad key [key]!");
        assert_eq!(Secret::new("").redact("abc".to_owned()), "abc");
    }

    #[test]
    fn a_key_with_a_line_break_names_its_variable() {
        let error = Secret::new("a\nb")
            .header("", "OPENAI_API_KEY")
            .unwrap_err();
        insta::assert_snapshot!(
            error,
            @"OPENAI_API_KEY holds characters that no key has (a line break, perhaps): set it again"
        );
    }
}
