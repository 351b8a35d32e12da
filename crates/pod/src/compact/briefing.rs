//! The history as the compact worker reads it: as quoted text, in a form that fits its window.

use std::collections::HashMap;
use std::fmt::Write as _;

use llm::{AssistantBlock, Item, Origin, UserPart, tokens};
use tools::bounded::{head, middle_out};
use tools::task::render::{is_line_break, one_line, short};

use super::cut::runtime_calls;
use crate::session::Entry;

/// The bytes of a tool result, or of the arguments of a call, that stay when an entry is shortened.
const SHORT_RESULT: usize = 400;

/// The bytes of any other text that stay then.
const SHORT_TEXT: usize = 2_000;

/// The bytes of an entry that stay when it is only outlined.
const OUTLINE: usize = 160;

/// How an entry is told, the most first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Whole,
    /// With its long texts shortened.
    Short,
    /// In one line.
    Outline,
    Nothing,
}

/// What an entry is worth to the one who summarises, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// What the agent did and saw.
    Work,
    /// What the user asked for.
    Request,
    /// All that is known of what came before it.
    Summary,
}

/// The history in at most about `budget` tokens, with a word on what was left out.
///
/// First old tool output is shortened, then the oldest entries are told in one line each, then the
/// oldest are left out; what the user said goes after what the agent did, and an earlier summary
/// last of all. The task list that an earlier compaction put in, and reminders of it, are not told: the
/// worker is given the list as it is now.
///
/// Only lines of this module stand at the margin, and all that was said is quoted behind `| `: nothing in the
/// history can pass for a message to the worker, or for one of the user.
pub(super) fn history(entries: &[Entry], budget: u64) -> String {
    let mut parts = told_parts(entries);
    let mut total: u64 = parts.iter().map(|part| part.size).sum();
    // The newest quarter is what the next step rests on: it is shortened last.
    let count = parts.len();
    let newest = count - count / 4;
    let passes = [
        (Detail::Short, Worth::Request, 0..newest),
        (Detail::Outline, Worth::Work, 0..newest),
        (Detail::Short, Worth::Request, newest..count),
        (Detail::Outline, Worth::Work, newest..count),
        (Detail::Outline, Worth::Request, 0..count),
        (Detail::Nothing, Worth::Work, 0..count),
        (Detail::Nothing, Worth::Request, 0..count),
        (Detail::Short, Worth::Summary, 0..count),
    ];
    for (detail, most, range) in passes {
        for part in parts.iter_mut().skip(range.start).take(range.len()) {
            if total <= budget {
                break;
            }
            if part.worth <= most {
                total -= part.reduce(detail);
            }
        }
    }
    let mut text = left_out(&parts);
    for part in &parts {
        text.push_str(&part.told(part.detail));
    }
    text
}

fn left_out(parts: &[Part<'_>]) -> String {
    let mut text = String::new();
    for (detail, what) in [
        (Detail::Nothing, "left out"),
        (Detail::Outline, "told in one line"),
        (Detail::Short, "told with long texts shortened"),
    ] {
        let number = parts.iter().filter(|part| part.detail == detail).count();
        if number > 0 {
            let _ = writeln!(
                text,
                "({number} of {} entries are {what} here, to make the conversation fit.)",
                parts.len()
            );
        }
    }
    text
}

/// An entry on its way into the briefing.
struct Part<'a> {
    number: usize,
    entry: &'a Entry,
    /// The name of the tool, of a result.
    tool: &'a str,
    worth: Worth,
    detail: Detail,
    /// The size of what is told, in tokens.
    size: u64,
}

fn told_parts(entries: &[Entry]) -> Vec<Part<'_>> {
    let made_up = runtime_calls(entries);
    let mut tools: HashMap<&str, &str> = HashMap::new();
    let mut parts = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let mut tool = "";
        let worth = match &*entry.item {
            Item::User(_) => Worth::Request,
            Item::Assistant(message) => {
                let calls = message.calls();
                tools.extend(calls.map(|call| (call.id.as_str(), call.name.as_str())));
                if message.calls().any(|call| made_up.contains(&*call.id)) {
                    continue;
                }
                Worth::Work
            }
            Item::ToolResult(result) => {
                if made_up.contains(&*result.call_id) {
                    continue;
                }
                tool = tools.get(&*result.call_id).copied().unwrap_or_default();
                Worth::Work
            }
            Item::System(message) => match message.origin {
                Origin::TaskSnapshot | Origin::Reminder => continue,
                Origin::Summary => Worth::Summary,
                _ => Worth::Work,
            },
        };
        let mut part = Part {
            number: index + 1,
            entry,
            tool,
            worth,
            detail: Detail::Whole,
            size: 0,
        };
        part.size = tokens::of_text(&part.told(Detail::Whole));
        parts.push(part);
    }
    parts
}

impl Part<'_> {
    /// Tells less, if that is less. Gives how many tokens that saves.
    fn reduce(&mut self, detail: Detail) -> u64 {
        let size = tokens::of_text(&self.told(detail));
        let Some(saved) = self.size.checked_sub(size).filter(|saved| *saved > 0) else {
            return 0;
        };
        self.size = size;
        self.detail = detail;
        saved
    }

    fn told(&self, detail: Detail) -> String {
        let mut told = String::new();
        if detail == Detail::Nothing {
            return told;
        }
        for (who, text, limit) in self.said() {
            let _ = writeln!(told, "[{}] {who}:", self.number);
            match detail {
                Detail::Outline => {
                    // Folding makes a text shorter, so a little more is looked at.
                    let begin = head(&text, 4 * OUTLINE);
                    quote(&mut told, &short(&one_line(begin), OUTLINE));
                }
                Detail::Short => quote(&mut told, &middle_out(&text, limit)),
                Detail::Whole | Detail::Nothing => quote(&mut told, &text),
            }
            if detail == Detail::Outline {
                break;
            }
        }
        told
    }

    /// Who said what, and how many bytes of it stay when it is shortened.
    fn said(&self) -> Vec<(String, String, usize)> {
        match &*self.entry.item {
            Item::User(message) => {
                let parts = message.content.iter().map(|part| match part {
                    UserPart::Text(text) => text.clone(),
                    UserPart::Image(image) => {
                        format!("[a picture, {}]", one_line(&image.media_type))
                    }
                });
                let text = parts.collect::<Vec<_>>().join("\n");
                vec![(String::from("the user"), text, SHORT_TEXT)]
            }
            Item::Assistant(message) => {
                let blocks = message.content.iter();
                blocks
                    .filter_map(|block| match block {
                        AssistantBlock::Text(text) => {
                            Some((String::from("the agent"), text.clone(), SHORT_TEXT))
                        }
                        AssistantBlock::ToolCall(call) => Some((
                            format!("the agent calls {}", name(&call.name)),
                            call.arguments.text().to_owned(),
                            SHORT_RESULT,
                        )),
                        AssistantBlock::Reasoning(_) => None,
                    })
                    .collect()
            }
            Item::ToolResult(result) => {
                let tool = name(self.tool);
                let who = if result.is_error {
                    format!("{tool} failed")
                } else {
                    format!("{tool} gives")
                };
                vec![(who, result.text().to_owned(), SHORT_RESULT)]
            }
            Item::System(message) => vec![(
                format!("the runtime ({})", name(message.origin.as_str())),
                message.text.clone(),
                SHORT_TEXT,
            )],
        }
    }
}

/// A name for the margin. Names of tools come from the model, so they must not look like anything
/// else that stands there.
fn name(name: &str) -> String {
    if name.is_empty() {
        return String::from("a tool");
    }
    let is_plain = |character: &char| character.is_alphanumeric() || "_-.".contains(*character);
    let characters = name.chars().take(60);
    characters
        .map(|character| if is_plain(&character) { character } else { '_' })
        .collect()
}

/// Appends a text, each line behind `| `.
pub(super) fn quote(quoted: &mut String, text: &str) {
    quoted.reserve(text.len() + 32);
    let mut rest = text.strip_suffix('\n').unwrap_or(text);
    loop {
        let end = rest.find(is_line_break);
        let (line, after) = match end {
            Some(end) => rest.split_at(end),
            None => (rest, ""),
        };
        quoted.push_str("| ");
        quoted.push_str(line);
        quoted.push('\n');
        if end.is_none() {
            return;
        }
        // The line break; one of two characters is one line break.
        rest = match after.strip_prefix("\r\n") {
            Some(rest) => rest,
            None => after
                .get(after.chars().next().map_or(0, char::len_utf8)..)
                .unwrap_or(""),
        };
    }
}

#[cfg(test)]
#[path = "briefing_tests.rs"]
mod tests;
