//! A conversation as numbered readable lines, for snapshots of what a model sees.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::{AssistantBlock, Item, UserPart};

/// Texts are shown up to this many lines.
const MAX_LINES: usize = 40;
/// Texts are shown up to this many characters.
const MAX_CHARACTERS: usize = 1_200;

/// Renders items as numbered lines, one or more an item.
///
/// A line begins with the number of its item, from 1. Further lines of a text stand behind `|`; a
/// long text is shortened, and the last line says by how many characters. Control characters are
/// written as escapes, so that every difference can be seen.
///
/// ```
/// use std::sync::Arc;
/// use llm::{Item, UserMessage, scripted::outline};
///
/// let items = [Arc::new(Item::User(UserMessage::text("plan the parser\nand the lexer")))];
/// assert_eq!(outline(&items), "01 user: plan the parser\n   | and the lexer\n");
/// ```
pub fn outline(items: &[Arc<Item>]) -> String {
    let mut lines = String::new();
    for (index, item) in items.iter().enumerate() {
        write_item(&mut lines, index + 1, item);
    }
    lines
}

fn write_item(lines: &mut String, number: usize, item: &Item) {
    match item {
        Item::User(message) => {
            for (index, part) in message.content.iter().enumerate() {
                let label = if index == 0 { "user" } else { "  and" };
                match part {
                    UserPart::Text(text) => write_text(lines, number, label, text),
                    UserPart::Image(image) => {
                        let size = image.data.len();
                        let text = format!("[{}, {size} characters of base64]", image.media_type);
                        write_text(lines, number, label, &text);
                    }
                }
            }
            if message.content.is_empty() {
                write_text(lines, number, "user", "");
            }
        }
        Item::Assistant(message) => {
            let starts_with_text = matches!(message.content.first(), Some(AssistantBlock::Text(_)));
            if !starts_with_text {
                write_text(lines, number, "assistant", "");
            }
            for (index, block) in message.content.iter().enumerate() {
                match block {
                    AssistantBlock::Text(text) if index == 0 => {
                        write_text(lines, number, "assistant", text);
                    }
                    AssistantBlock::Text(text) => write_text(lines, number, "  text", text),
                    AssistantBlock::Reasoning(reasoning) => {
                        let label = match (&reasoning.signature, &reasoning.redacted) {
                            (_, Some(_)) => "  thinking (redacted)",
                            (Some(_), None) => "  thinking (signed)",
                            (None, None) => "  thinking",
                        };
                        write_text(lines, number, label, &reasoning.text);
                    }
                    AssistantBlock::ToolCall(call) => {
                        let text = format!("{}#{} {}", call.name, call.id, call.arguments.text());
                        write_marked(lines, number, "  > ", &text);
                    }
                }
            }
        }
        Item::ToolResult(result) => {
            let word = if result.is_error { "error" } else { "result" };
            let label = format!("{word} {}", result.call_id);
            write_text(lines, number, &label, result.text());
        }
        Item::System(message) => {
            let label = format!("system({})", message.origin);
            write_text(lines, number, &label, &message.text);
        }
    }
}

fn write_text(lines: &mut String, number: usize, label: &str, text: &str) {
    let separator = if text.is_empty() { "" } else { " " };
    write_marked(lines, number, &format!("{label}:{separator}"), text);
}

fn write_marked(lines: &mut String, number: usize, mark: &str, text: &str) {
    let (shown, left_out) = shorten(text);
    for (index, line) in shown.split('\n').enumerate() {
        // Writing to a string cannot fail.
        let _ = if index == 0 {
            write!(lines, "{number:02} {mark}")
        } else {
            write!(lines, "   |{}", if line.is_empty() { "" } else { " " })
        };
        for character in line.chars() {
            if character.is_control() {
                lines.extend(character.escape_default());
            } else {
                lines.push(character);
            }
        }
        lines.push('\n');
    }
    if left_out > 0 {
        let _ = writeln!(lines, "   | … ({left_out} characters more)");
    }
}

/// The part of the text that is shown, and the number of characters behind it.
fn shorten(text: &str) -> (&str, usize) {
    let mut breaks = 0;
    for (count, (at, character)) in text.char_indices().enumerate() {
        breaks += usize::from(character == '\n');
        if count >= MAX_CHARACTERS || breaks >= MAX_LINES {
            let (shown, rest) = text.split_at(at);
            return (shown, rest.chars().count());
        }
    }
    (text, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Arguments, AssistantMessage, Image, Origin, Reasoning, SystemMessage, ToolCall, ToolResult,
        UserMessage,
    };

    #[test]
    fn every_kind_of_item_has_its_line() {
        let items: Vec<Arc<Item>> = [
            Item::User(UserMessage {
                content: vec![
                    UserPart::Text("plan the parser\nin two steps".into()),
                    UserPart::Image(Image {
                        media_type: "image/png".into(),
                        data: "AAAA".into(),
                    }),
                ],
            }),
            Item::Assistant(AssistantMessage {
                content: vec![
                    AssistantBlock::Reasoning(Reasoning {
                        text: "short".into(),
                        signature: Some("s".into()),
                        ..Reasoning::default()
                    }),
                    AssistantBlock::Text("Two steps.".into()),
                    AssistantBlock::ToolCall(ToolCall {
                        id: "call_1".into(),
                        name: "TaskCreate".into(),
                        arguments: Arguments::new(r#"{"subject":"lexer"}"#),
                    }),
                ],
                ..AssistantMessage::default()
            }),
            Item::ToolResult(ToolResult {
                summary: "created task 1\n1 task: 1 pending".into(),
                is_error: false,
                ..ToolResult::error("call_1", "")
            }),
            Item::ToolResult(ToolResult::error("call_2", "bell \u{7} and tab\t.")),
            Item::System(SystemMessage {
                origin: Origin::TaskSnapshot,
                text: String::new(),
                data: None,
            }),
            Item::Assistant(AssistantMessage::default()),
        ]
        .into_iter()
        .map(Arc::new)
        .collect();
        insta::assert_snapshot!(outline(&items), @r#"
        01 user: plan the parser
           | in two steps
        01   and: [image/png, 4 characters of base64]
        02 assistant:
        02   thinking (signed): short
        02   text: Two steps.
        02   > TaskCreate#call_1 {"subject":"lexer"}
        03 result call_1: created task 1
           | 1 task: 1 pending
        04 error call_2: bell \u{7} and tab\t.
        05 system(task_snapshot):
        06 assistant:
        "#);
    }

    #[test]
    fn long_texts_are_shortened_and_say_by_how_much() {
        let wide = "ä".repeat(MAX_CHARACTERS + 5);
        let tall = "x\n".repeat(MAX_LINES + 2);
        let items = [wide, tall].map(|text| Arc::new(Item::User(UserMessage::text(text))));
        let lines = outline(&items);
        assert!(lines.contains("… (5 characters more)"), "{lines}");
        assert!(
            lines.contains("… (5 characters more)\n02 user: x\n"),
            "{lines}"
        );
        assert_eq!(
            lines.lines().filter(|line| line.ends_with("| x")).count(),
            MAX_LINES - 1
        );
    }
}
