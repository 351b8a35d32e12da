//! The door: what a model sent is made fit for the history before it enters it.

use std::collections::HashSet;

use llm::rules::is_call_id;
use llm::{AssistantBlock, AssistantMessage, Conversation, Item};

use crate::RUNTIME;
use crate::history::History;

/// A message that is fit for the history.
pub(crate) struct Admitted {
    /// The message, with call ids that are unique in the history and that every provider accepts.
    pub(crate) message: AssistantMessage,
    /// The ids of calls that repeat an earlier call of the same message, id and all. They are
    /// answered and not run, so that a call that was delivered twice takes effect once.
    pub(crate) repeated: HashSet<String>,
}

/// The message with call ids that are unique in the conversation, for a loop that needs nothing else.
pub(crate) fn unique_ids(
    mut message: AssistantMessage,
    conversation: &Conversation,
) -> AssistantMessage {
    let mut taken: HashSet<String> = conversation
        .items()
        .iter()
        .filter_map(|item| match &**item {
            Item::Assistant(message) => Some(message.calls()),
            _ => None,
        })
        .flatten()
        .map(|call| call.id.clone())
        .collect();
    let mut number = taken.len();
    for block in &mut message.content {
        if let AssistantBlock::ToolCall(call) = block {
            while !is_call_id(&call.id) || taken.contains(&call.id) {
                call.id = format!("pod_{number}");
                number += 1;
            }
            taken.insert(call.id.clone());
        }
    }
    message
}

/// Makes a message fit for the history.
///
/// Some servers count call ids anew in each response, or send none: such ids are replaced.
pub(crate) fn admit(mut message: AssistantMessage, history: &History) -> Admitted {
    if message.model == RUNTIME {
        // That name marks what Pod itself said; no server may pass for it.
        message.model.push_str(" (model)");
    }
    let mut repeated = HashSet::new();
    let mut taken: HashSet<String> = HashSet::new();
    // New ids are put in at the end, since repeats are told by the ids that were sent.
    let mut new_ids = Vec::new();
    for (index, block) in message.content.iter().enumerate() {
        let AssistantBlock::ToolCall(call) = block else {
            continue;
        };
        let earlier = message.content.iter().take(index);
        let is_repeat = !call.id.is_empty()
            && taken.contains(&call.id)
            && earlier.into_iter().any(|it| it == block);
        let is_free = !history.has_call(&call.id) && taken.insert(call.id.clone());
        if is_free && is_call_id(&call.id) {
            continue;
        }
        let id = history.fresh_call_id();
        if is_repeat {
            repeated.insert(id.clone());
        }
        taken.insert(call.id.clone());
        new_ids.push((index, id));
    }
    for (index, id) in new_ids {
        if let Some(AssistantBlock::ToolCall(call)) = message.content.get_mut(index) {
            call.id = id;
        }
    }
    Admitted { message, repeated }
}
