//! The files of a session, as a compaction needs them: which were touched last, and reading them.

use llm::{Item, ToolCall, ToolResult};
use serde_json::Value;
use tools::fs::{Read, Scope};
use tools::{Call, Effect, Tool as _, Tracker};
use uuid::Uuid;

use crate::hook::{After, Before, HookCall};
use crate::permission::Verdict;
use crate::pod::Parts;
use crate::session::Entry;

/// How many files are named to the worker.
const RECENT: usize = 20;

/// The name of the tool that reads files. A session that does not have it does not read in a
/// compaction either.
const READ: &str = "Read";

/// The files of a session.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) scope: Scope,
    pub(crate) tracker: Tracker,
}

/// Reads files for the worker, or for a prompt that names them, and can do nothing else.
///
/// It reads what the agent itself may read: inside the scope, by the permission rules, and with the
/// say of the hooks.
#[derive(Clone, Copy)]
pub(crate) struct FileReader<'a> {
    parts: &'a Parts,
}

impl<'a> FileReader<'a> {
    /// A reader for a session; `None` if the session has no tool that reads.
    pub(super) fn new(parts: &'a Parts) -> Option<Self> {
        parts.registry.get(READ).map(|_| Self { parts })
    }

    /// A reader of what a person named: they may show a file to a model that cannot read.
    pub(crate) fn for_person(parts: &'a Parts) -> Self {
        Self { parts }
    }

    /// A tracker for what the agent is to see, see [`Tracker::separate`].
    pub(super) fn tracker(self) -> Tracker {
        self.parts.files.tracker.separate()
    }

    /// The path of a file as the agent is to see it: resolved, inside the scope.
    pub(super) fn display(self, path: &str) -> Result<String, String> {
        let scope = &self.parts.files.scope;
        let resolved = scope.resolve(path).map_err(|error| error.message)?;
        Ok(scope.display(&resolved))
    }

    /// The content of a file or a part of it, as the Read tool gives it for these arguments. What was
    /// read is noted in `tracker`.
    pub(crate) async fn read(self, arguments: &Value, tracker: &Tracker) -> Result<String, String> {
        // Not an id of the history: these calls are none of the agent's.
        let id = format!("read_{}", Uuid::now_v7().simple());
        let tool = Read::new(self.parts.files.scope.clone(), tracker.clone());
        let question = HookCall {
            id: &id,
            name: READ,
            arguments,
        };
        let mut allowed = false;
        for hook in &self.parts.hooks {
            let changed = match hook.before_tool(question).await {
                Before::Continue => None,
                Before::Allow { changed_arguments } => {
                    allowed = true;
                    changed_arguments
                }
                Before::Change(arguments) => Some(arguments),
                Before::Deny(reason) => return Err(format!("not allowed: {reason}")),
            };
            if changed.is_some_and(|changed| changed != *arguments) {
                return Err(format!(
                    "the hook {} does not allow it as it is",
                    hook.name()
                ));
            }
        }
        match self.parts.shared.permissions().judge(&tool, arguments) {
            Verdict::Allow => {}
            Verdict::Ask(_) if allowed => {}
            Verdict::Ask(_) => return Err(String::from("it needs permission")),
            Verdict::Deny(reason) => return Err(format!("permission denied: {reason}")),
        }
        let output = tool.call(Call { id: &id, arguments }).await;
        let output = output.map_err(|error| error.message)?;
        let text = output.content.unwrap_or(output.summary);
        let result = ToolResult {
            is_error: false,
            ..ToolResult::error(&id, text.as_str())
        };
        for hook in &self.parts.hooks {
            if let After::Fail(reason) = hook.after_tool(question, &result).await {
                return Err(format!("not allowed: {reason}"));
            }
        }
        Ok(text)
    }
}

/// The files that the session touched last, the last one first: as the tracker knows them, and as
/// the calls of the history name them, which a resumed session has too.
pub(super) fn recent(parts: &Parts, entries: &[Entry]) -> Vec<String> {
    let mut files: Vec<String> = parts
        .files
        .tracker
        .recent(RECENT)
        .iter()
        .map(|path| parts.files.scope.display(path))
        .collect();
    let calls = entries.iter().rev().filter_map(|entry| match &*entry.item {
        Item::Assistant(message) => Some(message.calls()),
        _ => None,
    });
    for call in calls.flatten() {
        if files.len() >= RECENT {
            break;
        }
        if let Some(path) = path_of(parts, call)
            && !files.contains(&path)
        {
            files.push(path);
        }
    }
    files
}

/// The file that a call reads or edits, if it is one of the file tools' and inside the scope.
fn path_of(parts: &Parts, call: &ToolCall) -> Option<String> {
    let tool = parts.registry.get(&call.name)?;
    if tool.effect() != Effect::Edit && call.name != READ {
        return None;
    }
    let path = tool.target(&call.arguments.parse().ok()?)?;
    let scope = &parts.files.scope;
    let resolved = scope.resolve(&path).ok()?;
    resolved.is_file().then(|| scope.display(&resolved))
}
