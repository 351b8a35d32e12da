//! What of a history is kept as it is when the rest is summarised.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use llm::tokens;
use llm::{Item, Origin, StopReason, UserMessage, UserPart};
use tools::bounded::middle_out;

use crate::RUNTIME;
use crate::session::Entry;

/// What stands behind a result that was shortened.
const SHORTENED: &str = "\n[shortened when the conversation was compacted]";

/// The bytes that this and the note of `middle_out` take.
const NOTES: usize = 100;

/// The fewest bytes that a shortened result has.
const LEAST_RESULT: usize = 300;

/// How a history is divided.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// How many of the entries come before the tail.
    pub(super) start: usize,
    /// What is kept, ready to be carried: the requests that wait for an answer, then what stands
    /// from `start` on, shortened where it was huge, all marked as carried.
    pub(super) tail: Vec<Entry>,
}

/// Divides a history so that the kept part has at most about `budget` tokens.
///
/// The cut lies where no call waits for its result. Summaries, snapshots and what else an earlier
/// compaction put in are never kept: they are made anew. The last request of the user is kept word by
/// word, whatever its size, if it is not answered yet; those that were asked before it and wait too
/// are kept as far as half of the budget goes.
pub(super) fn cut(entries: &[Entry], budget: u64) -> Cut {
    let made_up = runtime_calls(entries);
    let pending = pending_requests(entries, budget / 2);
    let mut start = entries.len();
    let mut tail = Vec::new();
    let mut size = 0;
    // Walks back over closed exchanges: from one place where no call is open to the one before.
    while let Some(place) = closed_place_before(entries, start) {
        let exchange = kept_exchange(entries, place..start, &pending, &made_up, budget);
        let grown = size + exchange.iter().map(size_of).sum::<u64>();
        if grown > budget {
            break;
        }
        size = grown;
        start = place;
        // From the last to the first; turned around below.
        tail.extend(exchange.into_iter().rev());
    }
    for index in pending.iter().filter(|index| **index < start) {
        let request = with_notes(entries.get(*index..start).unwrap_or_default());
        tail.extend(request.iter().rev().map(carried));
    }
    tail.reverse();
    Cut { start, tail }
}

fn size_of(entry: &Entry) -> u64 {
    tokens::of_item(&entry.item)
}

/// The nearest place before `start` at which no call is open.
fn closed_place_before(entries: &[Entry], start: usize) -> Option<usize> {
    let mut place = start.checked_sub(1)?;
    // Results belong to the message before them.
    while place > 0 && is_result(entries.get(place)) {
        place -= 1;
    }
    Some(place)
}

fn is_result(entry: Option<&Entry>) -> bool {
    entry.is_some_and(|entry| matches!(&*entry.item, Item::ToolResult(_)))
}

/// A message with its results, or another single entry, as it is kept. The results of one message
/// together take at most about a quarter of the budget: as many bytes as the budget has tokens.
fn kept_exchange(
    entries: &[Entry],
    range: Range<usize>,
    pending: &[usize],
    made_up: &HashSet<&str>,
    budget: u64,
) -> Vec<Entry> {
    let results = range.len().saturating_sub(1).max(1);
    let bytes = usize::try_from(budget).unwrap_or(usize::MAX);
    let bytes = (bytes / results).max(LEAST_RESULT);
    let exchange = entries.iter().enumerate();
    exchange
        .skip(range.start)
        .take(range.len())
        .filter(|(_, entry)| is_kept(entry, made_up))
        .map(|(index, entry)| {
            let entry = carried(entry);
            if pending.contains(&index) {
                return entry;
            }
            let item = kept_form(&entry.item, bytes);
            Entry { item, ..entry }
        })
        .collect()
}

/// A request that stands in front of the entries, with what hooks added to it.
fn with_notes(entries: &[Entry]) -> &[Entry] {
    let is_note =
        |entry: &&Entry| matches!(&*entry.item, Item::System(note) if note.origin == Origin::Hook);
    let notes = entries.iter().skip(1).take_while(is_note).count();
    entries.get(..=notes).unwrap_or_default()
}

/// The requests of the user that wait for an answer, the last one first: all since the model was
/// done, or was interrupted and then asked something else. All but the last have at most `budget`
/// tokens together.
fn pending_requests(entries: &[Entry], budget: u64) -> Vec<usize> {
    let mut pending = Vec::new();
    let mut size = 0;
    let mut is_before_request = false;
    for (index, entry) in entries.iter().enumerate().rev() {
        match &*entry.item {
            Item::User(_) => {
                if !pending.is_empty() {
                    size += size_of(entry);
                    if size > budget {
                        break;
                    }
                }
                pending.push(index);
            }
            Item::Assistant(message) if message.model != RUNTIME => {
                // An answer that the output limit cut is not the end of one.
                let is_done = message.calls().next().is_none()
                    && message.stop_reason != StopReason::MaxTokens;
                if is_done {
                    break;
                }
            }
            Item::System(message) => {
                if message.origin == Origin::Interruption && is_before_request {
                    break;
                }
            }
            Item::Assistant(_) | Item::ToolResult(_) => {}
        }
        is_before_request = matches!(&*entry.item, Item::User(_));
    }
    pending
}

/// The ids of the calls that Pod itself made after a compaction.
pub(super) fn runtime_calls(entries: &[Entry]) -> HashSet<&str> {
    entries
        .iter()
        .filter_map(|entry| match &*entry.item {
            Item::Assistant(message) if message.model == RUNTIME => Some(message.calls()),
            _ => None,
        })
        .flatten()
        .map(|call| call.id.as_str())
        .collect()
}

/// Whether an entry can be kept: all but what compactions make, and reminders.
fn is_kept(entry: &Entry, runtime_calls: &HashSet<&str>) -> bool {
    match &*entry.item {
        Item::System(message) => !matches!(
            message.origin,
            Origin::Summary
                | Origin::TaskSnapshot
                | Origin::AutoRead
                | Origin::References
                // What it says of the list was so when it was written.
                | Origin::Reminder
        ),
        Item::Assistant(message) => message.model != RUNTIME,
        Item::ToolResult(result) => !runtime_calls.contains(result.call_id.as_str()),
        Item::User(_) => true,
    }
}

/// The item as it is kept: pictures named instead of shown, and results of more than `bytes`
/// shortened. What was shortened once is not shortened again to the same size.
fn kept_form(item: &Arc<Item>, bytes: usize) -> Arc<Item> {
    match &**item {
        Item::User(message) if message.content.iter().any(is_image) => {
            let parts = message.content.iter().map(|part| match part {
                UserPart::Text(text) => UserPart::Text(text.clone()),
                UserPart::Image(image) => UserPart::Text(format!(
                    "[a picture ({}, {} bytes in base64), left out when the conversation was compacted]",
                    image.media_type,
                    image.data.len()
                )),
            });
            Arc::new(Item::User(UserMessage {
                content: parts.collect(),
            }))
        }
        Item::ToolResult(result) => {
            let text = result.text();
            if text.len() <= bytes {
                return Arc::clone(item);
            }
            let mut short = result.clone();
            let text = text.strip_suffix(SHORTENED).unwrap_or(text);
            let text = middle_out(text, bytes.saturating_sub(NOTES));
            short.content = Some(text + SHORTENED);
            short.value = None;
            Arc::new(Item::ToolResult(short))
        }
        _ => Arc::clone(item),
    }
}

fn is_image(part: &UserPart) -> bool {
    matches!(part, UserPart::Image(_))
}

fn carried(entry: &Entry) -> Entry {
    Entry {
        carried: true,
        ..entry.clone()
    }
}

#[cfg(test)]
#[path = "cut_tests.rs"]
mod tests;
