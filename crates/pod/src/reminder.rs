//! The quiet reminder: open tasks that were not touched for a while are named to the model once.
//!
//! Whether it is due is a fold over the entries, as the task list is: so a resume, a fork and a
//! rewind change nothing. A compaction shows the model the whole list, so the count begins anew
//! there. Like all that the model sees, a reminder is an entry of the history first.

use std::collections::HashSet;

use llm::{Item, Origin};
use tools::Registry;
use tools::task::{self, Dialect, render};

use crate::builder::TaskTools;
use crate::event::Queue;
use crate::history::History;
use crate::pod::Parts;
use crate::session::Entry;
use crate::turn::append_note;
use crate::{PodError, RUNTIME};

/// After how many requests to the model without a use of the task list it is reminded of open tasks,
/// unless a program says otherwise.
pub const REMIND_AFTER: u32 = 20;

/// The most tasks that a reminder names.
const MOST_TASKS: usize = 10;

/// How long the task list was not used.
///
/// A request counts when its answer is in the history. What begins the count anew is a call of a
/// task tool that succeeded (one that only looks, too), a change by hand, a snapshot of the list, and
/// a reminder. What a compaction carried stands before its snapshot and counts for nothing.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    requests: u32,
    /// The calls of task tools that wait for their results.
    open: HashSet<String>,
}

impl Idle {
    /// Takes in the next entry.
    pub(crate) fn fold(&mut self, entry: &Entry) {
        if entry.carried {
            return;
        }
        match &*entry.item {
            Item::User(_) => {}
            Item::Assistant(message) => {
                if message.model != RUNTIME {
                    self.requests = self.requests.saturating_add(1);
                }
                let calls = message.calls().filter(|call| task::is_reserved(&call.name));
                self.open.extend(calls.map(|call| call.id.clone()));
            }
            Item::ToolResult(result) => {
                if self.open.remove(&result.call_id) && !result.is_error {
                    self.requests = 0;
                }
            }
            Item::System(message) => {
                let shows_list = matches!(
                    message.origin,
                    Origin::Reminder | Origin::TaskSnapshot | Origin::TaskEdit
                );
                if shows_list {
                    self.requests = 0;
                }
            }
        }
    }

    /// How many requests were answered since the list was used.
    pub(crate) fn requests(&self) -> u32 {
        self.requests
    }
}

/// When and how a session reminds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reminder {
    after: u32,
    dialect: Dialect,
    /// The tool that changes a task.
    tool: &'static str,
}

impl Reminder {
    /// `None` if it is turned off, or if the session has no tool to do anything about it.
    pub(crate) fn new(after: u32, tools: TaskTools, registry: &Registry) -> Option<Self> {
        let (dialect, tool) = match tools {
            TaskTools::Four(dialect) => (dialect, task::update::NAME),
            TaskTools::TodoWrite => (Dialect::AgentSdk, task::todo_write::NAME),
            TaskTools::None => return None,
        };
        registry.get(tool)?;
        (after > 0).then_some(Self {
            // Not in two requests in a row, whatever is asked for.
            after: after.max(2),
            dialect,
            tool,
        })
    }
}

/// Reminds the model of open tasks, if that is due before the next request.
pub(crate) fn remind(parts: &Parts, history: &mut History, events: &Queue) -> Result<(), PodError> {
    let Some(reminder) = parts.reminder else {
        return Ok(());
    };
    let requests = history.idle().requests();
    if requests < reminder.after || history.tasks().counts().open() == 0 {
        return Ok(());
    }
    let list = history
        .tasks()
        .with(|tasks| render::open(tasks, reminder.dialect, MOST_TASKS));
    let head = include_str!("reminder.md")
        .trim_end()
        .replace("{requests}", &requests.to_string())
        .replace("{tool}", reminder.tool);
    append_note(
        history,
        Origin::Reminder,
        &format!("{head}\n\n{list}"),
        events,
    )
}
