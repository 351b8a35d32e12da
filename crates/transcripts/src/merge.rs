//! Several logs that wrote to one list: an agent team, or a session and its sub-agents' files.

use std::collections::HashSet;

use crate::event::{Event, Tool, What};

/// The events of several logs in the order in which they happened: by time, then by log, then by line.
///
/// A call that stands in several logs, since one is an older copy of the other, counts once. Calls
/// without a result come last, but those that have one in another log.
pub fn merge(mut events: Vec<Event>) -> Vec<Event> {
    let is_pending = |event: &Event| matches!(event.what, What::Pending { .. });
    events.sort_by_key(|event| (is_pending(event), event.time, event.place));
    let mut seen: HashSet<String> = HashSet::new();
    events.retain(|event| match &event.call {
        // The items of `codex exec` have one id for all that becomes of a list.
        Some(call) if !call.id.is_empty() && call.tool != Tool::TodoList => {
            seen.insert(call.id.clone())
        }
        _ => true,
    });
    events
}
