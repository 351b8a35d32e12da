//! How many tokens a text has, roughly.
//!
//! Providers report what a request cost, and that is what decisions rest on. The estimate is only for
//! what was added since the last report, and for comparing two texts. No tokenizer is taken in: each
//! vendor has its own, and the public ones are wrong for the others (`ecosystem.md` 6).

use serde_json::Value;

use crate::{AssistantBlock, Item, ToolSpec, UserPart};

/// What an item costs beside its text: roles, ids, brackets.
const PER_ITEM: u64 = 8;

/// What a picture costs, of about a megapixel (Anthropic's documentation of vision: width times
/// height by 750, at the most 1,600).
const PER_IMAGE: u64 = 1_600;

/// Estimates a text: a token for four ASCII bytes, and one for each other character.
pub fn of_text(text: &str) -> u64 {
    // Nearly every text is, and to find that out takes an instruction for many bytes.
    if text.is_ascii() {
        return (text.len() as u64).div_ceil(4);
    }
    // By bytes and not by characters, which the compiler turns into a few instructions for 32 of them.
    let count = |counts: fn(u8) -> bool| text.bytes().filter(|byte| counts(*byte)).count() as u64;
    let ascii = count(|byte| byte.is_ascii());
    // Each other character has one byte of this kind, its first.
    let other = count(|byte| byte >= 0b1100_0000);
    ascii.div_ceil(4) + other
}

/// Estimates an item as it is shown to a model.
pub fn of_item(item: &Item) -> u64 {
    PER_ITEM
        + match item {
            Item::User(message) => message
                .content
                .iter()
                .map(|part| match part {
                    UserPart::Text(text) => of_text(text),
                    UserPart::Image(_) => PER_IMAGE,
                })
                .sum(),
            Item::Assistant(message) => message
                .content
                .iter()
                .map(|block| match block {
                    AssistantBlock::Text(text) => of_text(text),
                    AssistantBlock::Reasoning(reasoning) => of_text(&reasoning.text),
                    AssistantBlock::ToolCall(call) => {
                        PER_ITEM + of_text(&call.name) + of_text(call.arguments.text())
                    }
                })
                .sum(),
            Item::ToolResult(result) => of_text(result.text()),
            Item::System(message) => of_text(&message.text),
        }
}

/// Estimates what stands before the first item of a request.
pub fn of_prefix(system: &str, tools: &[ToolSpec]) -> u64 {
    let tools: u64 = tools
        .iter()
        .map(|tool| {
            PER_ITEM + of_text(&tool.name) + of_text(&tool.description) + of_schema(&tool.schema)
        })
        .sum();
    of_text(system) + tools
}

fn of_schema(schema: &Value) -> u64 {
    of_text(&schema.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_quarter_of_its_bytes_or_its_characters() {
        assert_eq!(of_text(""), 0);
        assert_eq!(of_text("abcde"), 2);
        assert_eq!(of_text("日本語"), 3);
        assert_eq!(of_text("abcd日"), 2);
    }
}
