//! A summary that needs no model, for when the history cannot be left as it is and no model can
//! summarise it.

use llm::{Item, Origin, tokens};
use tools::task::render::{one_line, short};

use super::carry;
use crate::RUNTIME;
use crate::session::Entry;

/// The bytes of one request, and of the model's last words, that the summary repeats.
const EXCERPT: usize = 600;

/// The bytes of an earlier summary that the summary repeats.
const EARLIER: usize = 4 * EXCERPT;

/// The tokens of what stands before the requests and is not counted.
const HEADINGS: u64 = 30;

/// What can be said of a history without understanding it: what the user asked, what an earlier
/// summary says, the model's last words, the files. At most `budget` tokens; the newest requests win.
pub(super) fn summary(entries: &[Entry], files: &[String], budget: u64) -> String {
    let mut left = budget.saturating_sub(HEADINGS);
    let mut take = |text: String| {
        let size = tokens::of_text(&text) + 1;
        left = left.checked_sub(size)?;
        Some(text)
    };
    let head = take(String::from(
        "(No model could summarise this part. This is what the log itself tells.)",
    ));
    let earlier = entries.iter().rev().find_map(|entry| match &*entry.item {
        Item::System(message) if message.origin == Origin::Summary => {
            Some(carry::bare_summary(&message.text))
        }
        _ => None,
    });
    let earlier = earlier.map(|text| format!("From an earlier summary:\n{}", short(text, EARLIER)));
    let earlier = earlier.and_then(&mut take);
    let last_words = entries.iter().rev().find_map(|entry| match &*entry.item {
        Item::Assistant(message) if message.model != RUNTIME => {
            Some(message.joined_text()).filter(|text| !text.trim().is_empty())
        }
        _ => None,
    });
    let last_words =
        last_words.map(|text| format!("The agent's last words:\n{}", short(&text, EXCERPT)));
    let last_words = last_words.and_then(&mut take);

    let mut requests = Vec::new();
    let mut omitted = 0;
    for entry in entries.iter().rev() {
        let Item::User(message) = &*entry.item else {
            continue;
        };
        let request = format!("- {}", short(&one_line(&message.joined_text()), EXCERPT));
        // Once one is missing, all before it are.
        match (omitted == 0).then(|| take(request)).flatten() {
            Some(request) => requests.push(request),
            None => omitted += 1,
        }
    }
    if omitted > 0 {
        requests.push(format!("- ({omitted} older requests are not shown)"));
    }
    requests.reverse();
    let requests = Some(requests)
        .filter(|requests| !requests.is_empty())
        .map(|requests| {
            format!(
                "What the user asked for, in order:\n{}",
                requests.join("\n")
            )
        });
    let files = Some(files)
        .filter(|files| !files.is_empty())
        .map(|files| format!("Files touched:\n{}", files.join("\n")));
    let files = files.and_then(&mut take);
    let parts: Vec<String> = [head, earlier, requests, last_words, files]
        .into_iter()
        .flatten()
        .collect();
    parts.join("\n\n")
}

#[cfg(test)]
#[path = "fallback_tests.rs"]
mod tests;
