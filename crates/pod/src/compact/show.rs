//! The task list before the model's eyes: the call of `TaskList` that Pod itself makes after a
//! compaction.

use std::collections::HashSet;

use llm::{Arguments, AssistantBlock, AssistantMessage, Item, StopReason, ToolCall};
use tools::task;

use crate::dispatch::{Dispatched, run_calls};
use crate::event::Queue;
use crate::history::History;
use crate::pod::Parts;
use crate::{PodError, RUNTIME};

/// Shows the model the task list after a compaction, by a call of `TaskList`: through the registered
/// tool, with its log lines and events. Does nothing if the list was shown since, or if the session
/// does not have the tool.
///
/// Where a hook refuses the call, the model sees that, and the snapshot in front of it. The call is
/// not repeated before each request, but by the next process that opens the session.
///
/// The call never rests on `tool_choice`: several models refuse a forced choice (`ecosystem.md` 2).
pub(crate) async fn show_task_list(
    parts: &Parts,
    history: &mut History,
    events: &Queue,
) -> Result<(), PodError> {
    if !history.is_list_due() || parts.registry.get(task::list::NAME).is_none() {
        return Ok(());
    }
    let message = AssistantMessage {
        content: vec![AssistantBlock::ToolCall(ToolCall {
            id: history.fresh_call_id(),
            name: task::list::NAME.to_owned(),
            arguments: Arguments::new("{}"),
        })],
        model: RUNTIME.to_owned(),
        stop_reason: StopReason::ToolUse,
        ..AssistantMessage::default()
    };
    events.push_committed(history.append(Item::Assistant(message.clone()))?);
    // The call is Pod's own: that it was denied is nothing to report of the model's calls.
    let mut dispatched = Dispatched::default();
    let repeated = HashSet::new();
    run_calls(parts, history, &message, &repeated, events, &mut dispatched).await?;
    history.list_is_shown();
    Ok(())
}
