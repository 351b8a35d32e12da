//! A person's own changes of the task list.
//!
//! Such a change is an entry like any other: a system message with the origin `task_edit`, whose data
//! the fold reads and whose text the model reads with its next request. It is logged before anybody
//! sees it, and it never stands between a call and its result.

use std::fmt::Write as _;

use llm::{Item, Origin, SystemMessage};
use serde_json::{Map, Value, json};
use tools::task::{Change, TaskOperation, Warning, arguments, render};

use crate::PodError;
use crate::event::{Event, Queue};
use crate::history::{Committed, History};
use crate::pod::Parts;

/// The most bytes that the text shows of a task's row; a description may take as many again.
const TASK_BYTES: usize = 2_000;

/// Changes the list. Calls of a run that was dropped must be closed before.
pub(crate) fn edit(
    history: &mut History,
    operation: &TaskOperation,
) -> Result<Committed, PodError> {
    let planned = history.tasks().plan(operation).map_err(PodError::Edit)?;
    Ok(history.append(Item::System(SystemMessage {
        origin: Origin::TaskEdit,
        text: text(&planned),
        data: Some(data(operation)),
    }))?)
}

/// Makes the changes that were asked for while a run is going on, unless a call waits for its result.
pub(crate) fn make_queued(
    parts: &Parts,
    history: &mut History,
    events: &Queue,
) -> Result<(), PodError> {
    if history.open_calls().next().is_some() {
        return Ok(());
    }
    while let Some(operation) = parts.shared.next_edit() {
        match edit(history, &operation) {
            Ok(committed) => events.push_committed(committed),
            Err(error @ PodError::Edit(_)) => events.push(Event::Warning(error.to_string())),
            Err(error) => {
                // It is not in the history, so it is still to be made.
                parts.shared.queue_edit_again(operation);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// What the model reads.
fn text(change: &Change) -> String {
    let task = &change.task;
    let mut text = match change.previous_status {
        None => format!("The user added task {} to the task list:", task.id),
        Some(before) => {
            let parts = change.fields.iter().map(|field| match *field {
                "status" => format!("status {before} -> {}", task.status),
                field => format!("new {}", field.replace('_', " ")),
            });
            let parts: Vec<String> = parts.collect();
            format!("The user changed task {}: {}.", task.id, parts.join(", "))
        }
    };
    let is_told_whole = change.previous_status.is_none() || change.fields.contains(&"description");
    let shown = if is_told_whole && task.subject.len() < TASK_BYTES {
        render::task(task, 2 * TASK_BYTES)
    } else {
        render::short(&render::row(task), TASK_BYTES)
    };
    let _ = write!(text, "\n{shown}\n{}", change.counts);
    text
}

/// What the log keeps: `{"create": {...}}` or `{"update": {...}}`, with the fields of the tools.
fn data(operation: &TaskOperation) -> Value {
    let mut fields = Map::new();
    let mut add = |name: &str, value: &Option<String>| {
        if let Some(value) = value {
            fields.insert(name.to_owned(), Value::from(value.as_str()));
        }
    };
    match operation {
        TaskOperation::Create {
            subject,
            description,
            active_form,
        } => {
            add("subject", &Some(subject.clone()));
            add("description", &Some(description.clone()));
            add("active_form", active_form);
            json!({ "create": fields })
        }
        TaskOperation::Update {
            id,
            status,
            subject,
            description,
            active_form,
        } => {
            add("status", &status.map(|status| status.as_str().to_owned()));
            add("subject", subject);
            add("description", description);
            add("active_form", active_form);
            fields.insert(String::from("taskid"), Value::from(id.number()));
            json!({ "update": fields })
        }
    }
}

/// The operation that the data of an entry stands for.
pub(crate) fn operation(data: &Value) -> Result<TaskOperation, Warning> {
    let operation = match (data.get("create"), data.get("update")) {
        (Some(fields), None) => arguments::create(fields),
        (None, Some(fields)) => arguments::update(fields),
        _ => Err(String::from("it is neither create nor update")),
    };
    operation.map_err(|reason| Warning {
        subject: String::from("edit by hand"),
        reason,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tools::task::{Status, TaskId, TaskStore};

    use super::*;

    #[test]
    fn the_model_is_told_in_plain_words() {
        let store = TaskStore::new();
        let create = TaskOperation::Create {
            subject: String::from("Write\nthe parser"),
            description: String::from("Recursive descent.\nNo tables."),
            active_form: None,
        };
        insta::assert_snapshot!(text(&store.apply(&create).unwrap()), @r"
        The user added task 1 to the task list:
        #1 [pending] Write the parser
            Recursive descent.
            No tables.
        1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
        ");
        let done = TaskOperation::Update {
            id: TaskId::new(1),
            status: Some(Status::Completed),
            subject: Some(String::from("Write a parser")),
            description: None,
            active_form: None,
        };
        insta::assert_snapshot!(text(&store.apply(&done).unwrap()), @r"
        The user changed task 1: status pending -> completed, new subject.
        #1 [completed] Write a parser
        1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
        ");
    }

    #[test]
    fn a_huge_task_is_told_short() {
        let store = TaskStore::new();
        let create = TaskOperation::Create {
            subject: "日本".repeat(10_000),
            description: "word ".repeat(100_000),
            active_form: None,
        };
        let text = text(&store.apply(&create).unwrap());
        assert!(text.len() < 5_000, "{}", text.len());
    }

    fn some_text() -> impl Strategy<Value = Option<String>> {
        proptest::option::of(any::<String>())
    }

    proptest! {
        #[test]
        fn what_is_logged_is_what_was_asked_for(
            id in 1..5_u32,
            status in proptest::option::of(proptest::sample::select(Status::ALL.to_vec())),
            (subject, description, active_form) in (some_text(), some_text(), some_text()),
            is_new in any::<bool>(),
        ) {
            let asked = if is_new {
                TaskOperation::Create {
                    subject: subject.unwrap_or_default(),
                    description: description.unwrap_or_default(),
                    active_form,
                }
            } else {
                TaskOperation::Update {
                    id: TaskId::new(id),
                    status,
                    subject,
                    description,
                    active_form,
                }
            };
            prop_assert_eq!(operation(&data(&asked)).unwrap(), asked);
        }
    }
}
