//! The two ways in which programs know the task tools.
//!
//! A dialect is a schema and the form of a result. What a call means, and what it does to the list,
//! is the same in both: a session may be begun in one and go on in the other.

use serde_json::{Value, json};

use super::{Change, Counts, Status, Task, render};
use crate::bounded::RESULT_LIMIT;

/// How the task tools are shown to a model and to programs that read its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Pod's own: an integer `taskid`, `inprogress`, deleted tasks are listed.
    #[default]
    Pod,
    /// That of the Claude Agent SDK: a string `taskId`, `in_progress`, `activeForm`, deleted tasks
    /// are not listed (`agent-sdk.md` 2.2 and 2.3).
    AgentSdk,
}

impl Dialect {
    /// The name of the field that holds the id of a task.
    pub(crate) fn id_field(self) -> &'static str {
        match self {
            Self::Pod => "taskid",
            Self::AgentSdk => "taskId",
        }
    }

    /// Whether lists show tasks of a status.
    pub(crate) fn lists(self, status: Status) -> bool {
        self == Self::Pod || status != Status::Deleted
    }

    /// How many tasks there are, of those that lists show.
    pub(crate) fn counts(self, counts: Counts) -> String {
        if self == Self::Pod {
            return counts.to_string();
        }
        let kept = counts.kept();
        format!(
            "{kept} {}: {} pending, {} in_progress, {} completed",
            if kept == 1 { "task" } else { "tasks" },
            counts.pending,
            counts.inprogress,
            counts.completed
        )
    }

    /// The name of a status.
    pub fn status(self, status: Status) -> &'static str {
        match (self, status) {
            (Self::AgentSdk, Status::InProgress) => "in_progress",
            _ => status.as_str(),
        }
    }
}

/// The schema of `TaskCreate` for the Agent SDK.
pub(crate) fn create_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "subject": {"type": "string", "description": "One short line"},
            "description": {"type": "string", "description": "All that is needed to do it"},
            "activeForm": {"type": "string", "description": "What is shown while it is in progress, e.g. \"Running tests\""},
        },
        "required": ["subject", "description"],
        "additionalProperties": false,
    })
}

/// The schema of `TaskGet` for the Agent SDK.
pub(crate) fn get_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"taskId": {"type": "string"}},
        "required": ["taskId"],
        "additionalProperties": false,
    })
}

/// The schema of `TaskUpdate` for the Agent SDK.
pub(crate) fn update_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "taskId": {"type": "string"},
            "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "deleted"]},
            "subject": {"type": "string"},
            "description": {"type": "string"},
            "activeForm": {"type": "string"},
        },
        "required": ["taskId"],
        "additionalProperties": false,
    })
}

/// What a change did, as a text of two lines.
pub(crate) fn change_text(change: &Change) -> String {
    let task = &change.task;
    let status = |status| Dialect::AgentSdk.status(status);
    let status = match change.previous_status {
        Some(before) if before != task.status => {
            format!("{} -> {}", status(before), status(task.status))
        }
        _ => status(task.status).to_owned(),
    };
    let head = format!("#{} [{status}] ", task.id);
    let counts = format!("\n{}", Dialect::AgentSdk.counts(change.counts));
    let room = render::SUMMARY_LIMIT.saturating_sub(head.len() + counts.len());
    let subject = render::short(&render::subject(task), room);
    format!("{head}{subject}{counts}")
}

/// What a change did, as data: `TaskCreateOutput` or `TaskUpdateOutput`.
pub(crate) fn change_value(change: &Change) -> Value {
    let task = &change.task;
    let id = task.id.to_string();
    let Some(before) = change.previous_status else {
        return json!({
            "task": {"id": id, "subject": task.subject, "description": task.description},
        });
    };
    let fields: Vec<&str> = change
        .fields
        .iter()
        .map(|field| match *field {
            "status" if task.status == Status::Deleted => "deleted",
            "active_form" => "activeForm",
            field => field,
        })
        .collect();
    let mut value = json!({"success": true, "taskId": id, "updatedFields": fields});
    if before != task.status {
        let status = |status| Dialect::AgentSdk.status(status);
        value["statusChange"] = json!({"from": status(before), "to": status(task.status)});
    }
    value
}

/// One task, as text.
pub(crate) fn task_text(task: &Task) -> String {
    // The row is the first line; the status is the one word in it that differs.
    let text = render::task(task, RESULT_LIMIT);
    let row = render::row(task);
    match text.strip_prefix(&row) {
        Some(rest) => row_text(task) + rest,
        None => text,
    }
}

/// A task in one line.
pub(crate) fn row_text(task: &Task) -> String {
    let status = Dialect::AgentSdk.status(task.status);
    format!("#{} [{status}] {}", task.id, render::subject(task))
}

/// One task, as data: `TaskGetOutput`. Dependencies are not kept, so there are none.
pub(crate) fn task_value(task: &Task) -> Value {
    let mut value = json!({"task": {
        "id": task.id.to_string(),
        "subject": task.subject,
        "description": task.description,
        "status": Dialect::AgentSdk.status(task.status),
        "blocks": [],
        "blockedBy": [],
    }});
    if let Some(active_form) = &task.active_form {
        value["task"]["activeForm"] = json!(active_form);
    }
    value
}

/// The tasks that are not deleted, as text: a row each, or by status and id where not all rows fit.
pub(crate) fn list_text(tasks: &[Task], limit: usize) -> String {
    let kept = || {
        tasks
            .iter()
            .filter(|task| Dialect::AgentSdk.lists(task.status))
    };
    let total: Counts = tasks.iter().collect();
    if total.kept() == 0 {
        return String::from("There are no tasks.");
    }
    let head = Dialect::AgentSdk.counts(total);
    let rows = || kept().map(row_text);
    let size: usize = rows().map(|row| row.len() + 1).sum();
    if head.len() + size <= limit {
        return rows().fold(head, |text, row| text + "\n" + &row);
    }
    render::brief(tasks, Dialect::AgentSdk, limit)
}

/// The tasks that are not deleted, as data: `TaskListOutput`. Where they are too many for one line
/// of the protocol, `left_out` says so in place of the rows.
pub(crate) fn list_value(tasks: &[Task], limit: usize) -> Value {
    let kept = || {
        tasks
            .iter()
            .filter(|task| Dialect::AgentSdk.lists(task.status))
    };
    let size: usize = kept().map(|task| 80 + task.subject.len()).sum();
    if size > limit {
        return json!({"tasks": [], "left_out": ["tasks"]});
    }
    let rows: Vec<Value> = kept()
        .map(|task| {
            json!({
                "id": task.id.to_string(),
                "subject": task.subject,
                "status": Dialect::AgentSdk.status(task.status),
                "blockedBy": [],
            })
        })
        .collect();
    json!({"tasks": rows})
}

/// Whether the data of a logged result says what the change did. Data of a form that is not known
/// says nothing, and so nothing wrong.
///
/// `pod verify` asks this, for results of either dialect.
pub fn tells(value: &Value, change: &Change) -> bool {
    let task = &change.task;
    if let Some(told) = value.get("task") {
        if let Ok(told) = serde_json::from_value::<Task>(told.clone()) {
            return told == *task;
        }
        return match told.get("id") {
            Some(id) => *id == json!(task.id.to_string()) && told["subject"] == json!(task.subject),
            None => true,
        };
    }
    let status = Dialect::AgentSdk.status(task.status);
    let is_id = |id: &Value| *id == json!(task.id.to_string());
    let is_status = |change: &Value| change["to"] == json!(status);
    value.get("taskId").is_none_or(is_id) && value.get("statusChange").is_none_or(is_status)
}

#[cfg(test)]
#[path = "dialect_tests.rs"]
mod tests;
