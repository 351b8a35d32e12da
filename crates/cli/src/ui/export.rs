//! `/export`: the conversation as Markdown.

use std::fmt::Write as _;

use llm::{Item, Origin};
use pod::session::Entry;
use tools::task::render::row;

use super::board::Board;

/// What was said, what was called, and the list at the end.
pub(super) fn markdown(session: &str, past: &[Entry]) -> String {
    let mut text = format!("# Session {session}\n");
    for entry in past {
        match &*entry.item {
            Item::User(message) => {
                let _ = write!(text, "\n## User\n\n{}\n", message.joined_text());
            }
            Item::Assistant(message) => {
                let said = message.joined_text();
                if !said.trim().is_empty() {
                    let _ = write!(text, "\n## Model\n\n{said}\n");
                }
                for call in message.calls() {
                    let arguments = call.arguments.text();
                    let _ = write!(text, "\nCalls {}:\n\n{}\n", call.name, fenced(arguments));
                }
            }
            Item::ToolResult(result) => {
                let kind = if result.is_error { "Error" } else { "Result" };
                let _ = write!(text, "\n{kind}:\n\n{}\n", fenced(result.text()));
            }
            Item::System(message) if message.origin == Origin::TaskSnapshot => {}
            Item::System(message) => {
                let _ = write!(text, "\n## Pod ({})\n\n{}\n", message.origin, message.text);
            }
        }
    }
    let board = Board::of(past);
    if !board.tasks().is_empty() {
        text.push_str("\n## Tasks\n\n");
        for task in board.tasks() {
            let _ = writeln!(text, "- {}", row(task));
        }
    }
    text
}

/// A text between fences that are longer than any in it.
fn fenced(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_those_inside() {
        assert_eq!(fenced("a\n````\n"), "`````\na\n````\n`````");
        assert_eq!(fenced(""), "```\n\n```");
    }
}
