//! What people see on standard error. Text from elsewhere is cleaned before it gets there.

use std::io::{IsTerminal as _, Write as _};

/// The text without anything that could drive a terminal. Line breaks stay.
pub(crate) fn clean(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| tools::task::render::one_line(&line.replace('\t', "    ")))
        .collect();
    lines.join("\n")
}

/// Says what went wrong.
pub(crate) fn error(error: &anyhow::Error) {
    line(&format!("pod: {}", chain(error)));
}

/// An error and what led to it, each once: many texts name their cause themselves.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// Says something that a person should know.
pub(crate) fn notice(text: &str) {
    line(&format!("pod: {text}"));
}

/// Says something that has its line ends already.
pub(crate) fn lines(text: &str) {
    line(text.trim_end_matches('\n'));
}

/// Writes a line that was cleaned already and may have colours.
pub(crate) fn painted(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

fn line(text: &str) {
    // If standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{}", clean(text));
}

/// Whether a person looks at standard error.
pub(crate) fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn each_cause_is_told_once() {
        let full = || std::io::Error::other("no room");
        let error = anyhow::Error::from(full()).context("cannot write to a: no room; make some");
        assert_eq!(chain(&error), "cannot write to a: no room; make some");
        let error = Err::<(), _>(full()).context("the script cannot be read");
        assert_eq!(
            chain(&error.unwrap_err()),
            "the script cannot be read: no room"
        );
    }
}
