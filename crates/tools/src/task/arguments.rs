//! What a model meant by the arguments it sent.
//!
//! Models spell fields in several ways. What has one meaning is accepted, in this one place, which
//! both the tools and the replay use; what is not understood is an error that names the accepted
//! fields. The log keeps what was really sent.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::todo_write::Todo;
use super::{Dialect, Status, TaskId, TaskOperation, render};

/// The arguments of `TaskCreate`.
pub fn create(arguments: &Value) -> Result<TaskOperation, String> {
    create_in(arguments, Dialect::Pod)
}

/// The same; an error names the fields as the schema of this dialect does.
pub(crate) fn create_in(arguments: &Value, dialect: Dialect) -> Result<TaskOperation, String> {
    let accepted = match dialect {
        Dialect::Pod => "subject and description (text, both needed), one task a call",
        Dialect::AgentSdk => {
            "subject and description (text, both needed) and activeForm (text), one task a call"
        }
    };
    let mut fields = Fields::new(arguments, accepted, dialect)?;
    let subject = fields.text("subject", &["subject"])?;
    let description = fields.text("description", &["description"])?;
    let active_form = fields.text("activeForm", &["activeForm", "active_form"])?;
    fields.finish()?;
    match (subject, description) {
        (Some(subject), Some(description)) => Ok(TaskOperation::Create {
            subject,
            description,
            active_form,
        }),
        (None, _) => Err(format!("subject is missing; accepted: {accepted}")),
        (_, None) => Err(format!("description is missing; accepted: {accepted}")),
    }
}

/// The arguments of `TaskUpdate`.
pub fn update(arguments: &Value) -> Result<TaskOperation, String> {
    update_in(arguments, Dialect::Pod)
}

/// The same; an error names the fields as the schema of this dialect does.
pub(crate) fn update_in(arguments: &Value, dialect: Dialect) -> Result<TaskOperation, String> {
    let accepted = match dialect {
        Dialect::Pod => {
            "taskid (integer) and at least one of status (pending, inprogress, completed, deleted), subject, description (text)"
        }
        Dialect::AgentSdk => {
            "taskId (text) and at least one of status (pending, in_progress, completed, deleted), subject, description, activeForm (text)"
        }
    };
    let mut fields = Fields::new(arguments, accepted, dialect)?;
    let id = fields.id()?;
    let status = fields.status()?;
    let subject = fields.text("subject", &["subject"])?;
    let description = fields.text("description", &["description"])?;
    let active_form = fields.text("activeForm", &["activeForm", "active_form"])?;
    fields.finish()?;
    Ok(TaskOperation::Update {
        id: id.ok_or_else(|| missing_id(accepted, dialect))?,
        status,
        subject,
        description,
        active_form,
    })
}

/// The arguments of `TaskGet`.
pub fn get(arguments: &Value) -> Result<TaskId, String> {
    get_in(arguments, Dialect::Pod)
}

/// The same; an error names the fields as the schema of this dialect does.
pub(crate) fn get_in(arguments: &Value, dialect: Dialect) -> Result<TaskId, String> {
    let accepted = match dialect {
        Dialect::Pod => "taskid (integer)",
        Dialect::AgentSdk => "taskId (text)",
    };
    let mut fields = Fields::new(arguments, accepted, dialect)?;
    let id = fields.id()?;
    fields.finish()?;
    id.ok_or_else(|| missing_id(accepted, dialect))
}

fn missing_id(accepted: &str, dialect: Dialect) -> String {
    format!("{} is missing; accepted: {accepted}", dialect.id_field())
}

/// The arguments of `TaskList`: none.
pub fn list(arguments: &Value) -> Result<(), String> {
    Fields::new(arguments, "no fields", Dialect::Pod)?.finish()
}

/// The arguments of `TodoWrite`: the whole list that the model wants.
pub fn todos(arguments: &Value) -> Result<Vec<Todo>, String> {
    const ACCEPTED: &str = "todos, a list of objects with content, status (pending, in_progress, completed) and activeForm";
    const DIALECT: Dialect = Dialect::AgentSdk;
    let mut fields = Fields::new(arguments, ACCEPTED, DIALECT)?;
    let list = fields.take("todos", &["todos"])?.cloned();
    fields.finish()?;
    let list = match list {
        None => return Err(format!("todos is missing; accepted: {ACCEPTED}")),
        // Some models send the list as JSON text.
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Some(list) => list,
    };
    let Value::Array(items) = list else {
        return Err(format!(
            "todos must be a list, not {}; accepted: {ACCEPTED}",
            kind(&list)
        ));
    };
    let read = |(index, item): (usize, &Value)| {
        todo(item).map_err(|reason| format!("in todo {}: {reason}", index + 1))
    };
    items.iter().enumerate().map(read).collect()
}

fn todo(item: &Value) -> Result<Todo, String> {
    const ACCEPTED: &str = "content, status, activeForm";
    let mut fields = Fields::new(item, ACCEPTED, Dialect::AgentSdk)?;
    let content = fields.text("content", &["content"])?;
    let status = fields.status()?;
    let active_form = fields.text("activeForm", &["activeForm", "active_form"])?;
    fields.finish()?;
    match (content, status) {
        (None, _) => Err(format!("content is missing; accepted: {ACCEPTED}")),
        (_, None) => Err(format!("status is missing; accepted: {ACCEPTED}")),
        (_, Some(Status::Deleted)) => Err(String::from(
            "status cannot be deleted: leave the item out of the list",
        )),
        (Some(content), Some(status)) => Ok(Todo {
            content,
            status,
            active_form,
        }),
    }
}

/// The fields of one call, each taken once. They are looked at where they are: a replay reads those of
/// each call of a session.
struct Fields<'a> {
    map: Cow<'a, Map<String, Value>>,
    taken: Vec<&'static str>,
    accepted: &'static str,
    dialect: Dialect,
}

impl<'a> Fields<'a> {
    fn new(arguments: &'a Value, accepted: &'static str, dialect: Dialect) -> Result<Self, String> {
        match object(arguments) {
            Some(map) => Ok(Self {
                map,
                taken: Vec::new(),
                accepted,
                dialect,
            }),
            None => Err(format!(
                "arguments must be an object, not {}; accepted: {accepted}",
                kind(arguments)
            )),
        }
    }

    /// Takes the one of the spellings that is there. `null` counts as not given.
    fn take(&mut self, name: &str, spellings: &[&'static str]) -> Result<Option<&Value>, String> {
        self.taken.extend(spellings);
        let mut found: Option<(&str, &Value)> = None;
        for &spelling in spellings {
            let Some(value) = self.map.get(spelling).filter(|value| !value.is_null()) else {
                continue;
            };
            if let Some((first, _)) = found {
                return Err(format!(
                    "{name} is given twice, as {first} and {spelling}; accepted: {}",
                    self.accepted
                ));
            }
            found = Some((spelling, value));
        }
        Ok(found.map(|(_, value)| value))
    }

    fn text(&mut self, name: &str, spellings: &[&'static str]) -> Result<Option<String>, String> {
        let accepted = self.accepted;
        match self.take(name, spellings)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(format!(
                "{name} must be text, not {}; accepted: {accepted}",
                kind(other),
            )),
        }
    }

    fn id(&mut self) -> Result<Option<TaskId>, String> {
        let name = self.dialect.id_field();
        let Some(value) = self.take(name, &["taskid", "taskId", "id", "task_id"])? else {
            return Ok(None);
        };
        match task_id(value) {
            Some(id) => Ok(Some(id)),
            None => Err(format!(
                "{name} must be the number of a task, as TaskList shows it, not {}",
                shown(value)
            )),
        }
    }

    fn status(&mut self) -> Result<Option<Status>, String> {
        let dialect = self.dialect;
        let Some(value) = self.take("status", &["status"])? else {
            return Ok(None);
        };
        value.as_str().and_then(status).map(Some).ok_or_else(|| {
            format!(
                "status must be one of pending, {}, completed, deleted, not {}",
                dialect.status(Status::InProgress),
                shown(value)
            )
        })
    }

    /// Everything must have been taken.
    fn finish(self) -> Result<(), String> {
        let mut names = self.map.keys();
        match names.find(|name| !self.taken.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(format!(
                "there is no field {}; accepted: {}",
                shown(&Value::String(name.clone())),
                self.accepted
            )),
        }
    }
}

/// The fields of an object. Some models send it as a JSON string, or as a JSON string in a JSON
/// string; some send nothing at all for a call without arguments.
fn object(arguments: &Value) -> Option<Cow<'_, Map<String, Value>>> {
    match arguments {
        Value::Object(map) => Some(Cow::Borrowed(map)),
        Value::Null => Some(Cow::Owned(Map::new())),
        Value::String(text) if text.trim().is_empty() => Some(Cow::Owned(Map::new())),
        // Each string is shorter than the one around it, so this ends.
        Value::String(text) => {
            let inner: Value = serde_json::from_str(text).ok()?;
            object(&inner).map(|map| Cow::Owned(map.into_owned()))
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// An integer, a number without fraction, or either as text, with the `#` that lists show.
pub(crate) fn task_id(value: &Value) -> Option<TaskId> {
    let number = match value {
        Value::Number(number) => match number.as_u64() {
            Some(whole) => whole,
            None => whole_number(number.as_f64()?)?,
        },
        Value::String(text) => {
            let text = text.trim();
            let digits = text.strip_prefix('#').unwrap_or(text);
            let digits = match digits.split_once('.') {
                Some((whole, fraction)) if fraction.bytes().all(|byte| byte == b'0') => whole,
                _ => digits,
            };
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            digits.parse().ok()?
        }
        _ => return None,
    };
    let number = u32::try_from(number).ok()?;
    (number > 0).then(|| TaskId::new(number))
}

/// The number as an integer, if it is one that a task id can have.
fn whole_number(number: f64) -> Option<u64> {
    let in_range = (1.0..=f64::from(u32::MAX)).contains(&number);
    // The range check above makes the cast exact.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "in range"
    )]
    (in_range && number.fract() == 0.0).then_some(number as u64)
}

/// A status in any case, with or without a separator between its words.
pub(crate) fn status(text: &str) -> Option<Status> {
    match text.trim().to_ascii_lowercase().as_str() {
        "pending" => Some(Status::Pending),
        "inprogress" | "in_progress" | "in-progress" | "in progress" => Some(Status::InProgress),
        "completed" => Some(Status::Completed),
        "deleted" => Some(Status::Deleted),
        _ => None,
    }
}

/// A value as an error shows it: its JSON, in one line, cut short.
fn shown(value: &Value) -> String {
    render::short(&render::one_line(&value.to_string()), 40)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
