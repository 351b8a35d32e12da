//! `TodoWrite`: the whole list at once, as the Agent SDK offers it in place of the four task tools.
//!
//! It writes the same store. Items are matched with tasks by their content; a new item is a new task
//! with an id of its own, and a task that is left out becomes `deleted`. So the list survives what
//! every list survives, and a session may go on with the other tools.

use std::collections::{HashMap, VecDeque};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Counts, Dialect, Status, Task, TaskError, TaskId, TaskOperation, TaskStore, arguments,
};
use super::{report, store};
use crate::{Call, Effect, Tool, ToolError, ToolOutput};

/// The name of the tool.
pub const NAME: &str = "TodoWrite";

/// An item of the list that a model wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// What is to be done; the subject of the task.
    pub content: String,
    /// How far it is. Never [`Status::Deleted`].
    pub status: Status,
    /// What to show while it is in progress.
    pub active_form: Option<String>,
}

/// The changes that make the list what the model wants, in the order in which they apply. None if it
/// is so already.
///
/// # Errors
/// An item without a visible character: then nothing changes.
pub fn operations(tasks: &[Task], todos: &[Todo]) -> Result<Vec<TaskOperation>, TaskError> {
    let mut kept: HashMap<&str, VecDeque<&Task>> = HashMap::new();
    for task in tasks.iter().filter(|it| it.status != Status::Deleted) {
        kept.entry(&task.subject).or_default().push_back(task);
    }
    let mut operations = Vec::new();
    let mut next = tasks.len();
    for todo in todos {
        store::check_subject(&todo.content)?;
        let known = kept.get_mut(todo.content.as_str());
        if let Some(task) = known.and_then(VecDeque::pop_front) {
            let status = Some(todo.status).filter(|status| *status != task.status);
            let active_form = todo.active_form.clone();
            let active_form = active_form.filter(|label| task.active_form.as_ref() != Some(label));
            if status.is_some() || active_form.is_some() {
                operations.push(update(task.id, status, active_form));
            }
            continue;
        }
        next += 1;
        operations.push(TaskOperation::Create {
            subject: todo.content.clone(),
            description: String::new(),
            active_form: todo.active_form.clone(),
        });
        if todo.status != Status::Pending {
            // A list of more than four billion tasks does not fit into memory.
            let id = TaskId::new(u32::try_from(next).unwrap_or(u32::MAX));
            operations.push(update(id, Some(todo.status), None));
        }
    }
    let mut dropped: Vec<TaskId> = kept.into_values().flatten().map(|task| task.id).collect();
    dropped.sort_unstable();
    let deleted = Some(Status::Deleted);
    operations.extend(dropped.into_iter().map(|id| update(id, deleted, None)));
    Ok(operations)
}

fn update(id: TaskId, status: Option<Status>, active_form: Option<String>) -> TaskOperation {
    TaskOperation::Update {
        id,
        status,
        subject: None,
        description: None,
        active_form,
    }
}

/// The tool.
#[derive(Debug)]
pub struct TodoWrite {
    store: TaskStore,
}

impl TodoWrite {
    /// The tool over this store.
    pub fn new(store: TaskStore) -> Self {
        Self { store }
    }
}

#[async_trait]
impl Tool for TodoWrite {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        include_str!("todo_write.md").trim_end()
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"todos": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                    "activeForm": {"type": "string"},
                },
                "required": ["content", "status", "activeForm"],
                "additionalProperties": false,
            }}},
            "required": ["todos"],
            "additionalProperties": false,
        })
    }

    fn effect(&self) -> Effect {
        Effect::Task
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let todos = arguments::todos(call.arguments).map_err(ToolError::new)?;
        let planned = self.store.with(|tasks| {
            let operations = operations(tasks, &todos)?;
            Ok((operations, old_todos(tasks)))
        });
        let (operations, old) =
            planned.map_err(|error: TaskError| ToolError::new(error.to_string()))?;
        for operation in &operations {
            report::check_limits(operation).map_err(ToolError::new)?;
        }
        let mut counts = Counts::default();
        for todo in &todos {
            *counts.of(todo.status) += 1;
        }
        let new: Vec<Value> = todos.iter().map(todo_value).collect();
        Ok(ToolOutput::summary(format!(
            "The list is set. {}",
            Dialect::AgentSdk.counts(counts)
        ))
        .with_value(json!({"oldTodos": old, "newTodos": new})))
    }
}

fn old_todos(tasks: &[Task]) -> Vec<Value> {
    let kept = tasks.iter().filter(|task| task.status != Status::Deleted);
    kept.map(|task| {
        todo_value(&Todo {
            content: task.subject.clone(),
            status: task.status,
            active_form: task.active_form.clone(),
        })
    })
    .collect()
}

fn todo_value(todo: &Todo) -> Value {
    json!({
        "content": todo.content,
        "status": Dialect::AgentSdk.status(todo.status),
        "activeForm": todo.active_form.as_deref().unwrap_or(&todo.content),
    })
}

#[cfg(test)]
#[path = "todo_write_tests.rs"]
mod tests;
