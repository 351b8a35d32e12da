//! Histories for the tests of this module.

use std::sync::Arc;

use jiff::Timestamp;
use llm::scripted::outline;
use llm::{
    Arguments, AssistantBlock, AssistantMessage, Item, Origin, StopReason, SystemMessage, ToolCall,
    ToolResult, UserMessage,
};
use uuid::Uuid;

use crate::RUNTIME;
use crate::session::Entry;

pub(super) fn entry(item: Item) -> Entry {
    Entry {
        id: Uuid::now_v7(),
        at: Timestamp::UNIX_EPOCH,
        carried: false,
        item: Arc::new(item),
    }
}

pub(super) fn user(text: &str) -> Entry {
    entry(Item::User(UserMessage::text(text)))
}

pub(super) fn says(text: &str) -> Entry {
    entry(Item::Assistant(message(text, &[])))
}

/// A message with calls of a tool `Look`, one for each id.
pub(super) fn calls(ids: &[&str]) -> Entry {
    let calls: Vec<_> = ids.iter().map(|id| (*id, "Look", "{}")).collect();
    entry(Item::Assistant(message("", &calls)))
}

pub(super) fn message(text: &str, calls: &[(&str, &str, &str)]) -> AssistantMessage {
    let text = Some(text).filter(|text| !text.is_empty());
    let text = text.map(|text| AssistantBlock::Text(text.to_owned()));
    let calls = calls.iter().map(|(id, name, arguments)| {
        AssistantBlock::ToolCall(ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: Arguments::new(*arguments),
        })
    });
    AssistantMessage {
        content: text.into_iter().chain(calls).collect(),
        model: String::from("m"),
        stop_reason: StopReason::EndTurn,
        ..AssistantMessage::default()
    }
}

pub(super) fn result(id: &str, text: &str) -> Entry {
    entry(Item::ToolResult(ToolResult {
        is_error: false,
        ..ToolResult::error(id, text)
    }))
}

pub(super) fn system(origin: Origin, text: &str) -> Entry {
    entry(Item::System(SystemMessage {
        origin,
        text: text.to_owned(),
        data: None,
    }))
}

/// The call of `TaskList` that Pod makes, and its result.
pub(super) fn forced_pair(id: &str) -> [Entry; 2] {
    let message = AssistantMessage {
        model: RUNTIME.to_owned(),
        ..message("", &[(id, "TaskList", "{}")])
    };
    [
        entry(Item::Assistant(message)),
        result(id, "There are no tasks."),
    ]
}

/// The entries as a model sees them.
pub(super) fn shown(entries: &[Entry]) -> String {
    let items: Vec<Arc<Item>> = entries.iter().map(|it| Arc::clone(&it.item)).collect();
    outline(&items)
}
