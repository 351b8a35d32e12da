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
    line(&format!("pod: {error:#}"));
}

/// Says something that a person should know.
pub(crate) fn notice(text: &str) {
    line(&format!("pod: {text}"));
}

/// Says something of several lines, as it is.
pub(crate) fn text(text: &str) {
    line(text);
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
