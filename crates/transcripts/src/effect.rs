//! What a finished call did: rules R4 to R8 of the contract, the same for all formats.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::event::{Create, Item, Observation, Row, Tool, Update, What};
use crate::json::{ids, scalar};
use crate::salvage;
use crate::tree::{Fields, Tree};

/// The result of a call, as far as the log tells it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome<'a> {
    /// The log says that it is an error.
    pub(crate) is_error: bool,
    /// The structured result.
    pub(crate) value: Option<Tree<'a>>,
    /// The text for the model.
    pub(crate) text: Option<Cow<'a, str>>,
}

/// What the call did.
pub(crate) fn of(tool: Tool, input: &Tree<'_>, outcome: &Outcome<'_>) -> What {
    if let Some(reason) = failure(outcome) {
        return What::Failed { reason };
    }
    let Tree::Object(input) = input else {
        return What::Unreadable {
            reason: "input_not_an_object",
        };
    };
    let value = outcome.value.as_ref().and_then(Tree::as_object);
    let text = outcome.text.as_deref();
    match tool {
        Tool::TaskCreate => What::Create(create(input, value, text)),
        Tool::TaskUpdate => update(input, value).map_or(
            What::Unreadable {
                reason: "update_without_id",
            },
            What::Update,
        ),
        Tool::TaskList => What::Observe(listed(value, text)),
        // Without a structured result nothing is learned.
        Tool::TaskGet => What::Observe(Observation {
            rows: value
                .and_then(|value| value.get("task"))
                .and_then(row)
                .into_iter()
                .collect(),
            ..Observation::default()
        }),
        Tool::TodoWrite
        | Tool::Todowrite
        | Tool::WriteTodos
        | Tool::UpdatePlan
        | Tool::TodoList => {
            let items = input.get("todos").or_else(|| input.get("plan"));
            items.and_then(self::items).map_or(
                What::Unreadable {
                    reason: "todo_list_malformed",
                },
                What::Replace,
            )
        }
    }
}

/// The whole list, from the structured result or else from the text; nothing if neither is a list.
fn listed(value: Option<&Fields<'_>>, text: Option<&str>) -> Observation {
    let rows = match value.and_then(|value| value.get("tasks")) {
        Some(Tree::Array(rows)) => Some(rows.iter().filter_map(row).collect()),
        _ => text.and_then(list_text),
    };
    Observation {
        whole: rows.is_some(),
        rows: rows.unwrap_or_default(),
        ..Observation::default()
    }
}

/// Why the call failed, if it did (R4). A log does not always say `is_error`.
fn failure(outcome: &Outcome<'_>) -> Option<String> {
    let text = outcome.text.as_deref().unwrap_or("");
    let value = outcome.value.as_ref().and_then(Tree::as_object);
    let failed = outcome.is_error
        || match value {
            Some(value) => value.get("success") == Some(&Tree::Bool(false)),
            None => is_error_text(text),
        };
    failed.then(|| {
        scalar(value.and_then(|value| value.get("error")))
            .filter(|error| !error.is_empty())
            .unwrap_or_else(|| text.to_owned())
    })
}

/// Whether a text is how an agent tells its model of an error.
fn is_error_text(text: &str) -> bool {
    let text = text.trim_start();
    if text.starts_with("<tool_use_error>") || text.starts_with("error:") {
        return true;
    }
    if let Some(rest) = text.strip_prefix("Error") {
        return !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    }
    let Some(rest) = text.strip_prefix("Task ") else {
        return false;
    };
    let id_then_that = |(id, rest): (&str, &str)| {
        !id.is_empty() && !id.contains(char::is_whitespace) && rest.starts_with("not found")
    };
    rest.starts_with("not found") || rest.split_once(' ').is_some_and(id_then_that)
}

fn create(input: &Fields<'_>, value: Option<&Fields<'_>>, text: Option<&str>) -> Create {
    let made = value.and_then(|value| value.get("task"));
    let told = |name: &str| scalar(made.and_then(|task| task.get(name)));
    Create {
        id: told("id")
            .or_else(|| told("taskid"))
            .or_else(|| text.and_then(created_id)),
        // A store that mends its input (a `title` for a subject) tells what it made of it.
        subject: scalar(input.get("subject")).or_else(|| told("subject")),
        description: scalar(input.get("description")).or_else(|| told("description")),
        active_form: scalar(input.get("activeForm").or_else(|| input.get("active_form"))),
        metadata: object(input.get("metadata")),
    }
}

/// The id in "Task #7 created successfully".
fn created_id(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("Task #") {
        rest = behind;
        let id = behind.split(char::is_whitespace).next().unwrap_or("");
        let after = behind.strip_prefix(id).unwrap_or("");
        if !id.is_empty() && after.starts_with(" created successfully") {
            return Some(id.to_owned());
        }
    }
    None
}

/// The fields that an update may have; `taskid` is Pod's own spelling.
const UPDATE_FIELDS: [&str; 12] = [
    "taskId",
    "id",
    "task_id",
    "taskid",
    "status",
    "subject",
    "description",
    "activeForm",
    "active_form",
    "owner",
    "addBlocks",
    "addBlockedBy",
];

fn update(input: &Fields<'_>, value: Option<&Fields<'_>>) -> Option<Update> {
    let given = |name: &str| scalar(input.get(name));
    let told = |name: &str| value.and_then(|value| value.get(name));
    let id = given("taskId")
        .or_else(|| given("id"))
        .or_else(|| given("task_id"))
        .or_else(|| given("taskid"))
        .or_else(|| scalar(told("taskId")))
        .or_else(|| scalar(told("task").and_then(|task| task.get("taskid"))))?;
    let change = told("statusChange").and_then(Tree::as_object);
    Some(Update {
        id: id.strip_prefix('#').unwrap_or(&id).to_owned(),
        status: given("status"),
        subject: given("subject"),
        description: given("description"),
        active_form: given("activeForm").or_else(|| given("active_form")),
        owner: given("owner"),
        add_blocks: ids(input.get("addBlocks")),
        add_blocked_by: ids(input.get("addBlockedBy")),
        metadata: object(input.get("metadata")),
        was: change.and_then(|change| scalar(change.get("from"))),
        status_unchanged: change.is_none() && told("updatedFields").is_some(),
        unknown_fields: input
            .names()
            .filter(|name| !UPDATE_FIELDS.contains(name) && *name != "metadata")
            .map(str::to_owned)
            .collect(),
    })
}

/// A task as a store shows it.
pub(crate) fn row(value: &Tree<'_>) -> Option<Row> {
    let list = |name: &str| {
        let ids = value.get(name)?.as_array()?;
        Some(ids.iter().filter_map(|id| scalar(Some(id))).collect())
    };
    let field = |name: &str| scalar(value.get(name));
    Some(Row {
        id: field("id").or_else(|| field("taskid"))?,
        status: field("status"),
        subject: field("subject"),
        subject_if_unknown: None,
        description: field("description"),
        active_form: field("activeForm").or_else(|| field("active_form")),
        owner: field("owner"),
        blocks: list("blocks"),
        blocked_by: list("blockedBy"),
    })
}

/// The rows of a list that is told as text, `#1 [pending] Subject (owner) [blocked by #2]`; `None` if
/// it is not such a list. Subjects end in brackets too, so where one ends cannot be told.
fn list_text(text: &str) -> Option<Vec<Row>> {
    if text.trim() == "No tasks found" {
        return Some(Vec::new());
    }
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(list_line)
        .collect()
}

fn list_line(line: &str) -> Option<Row> {
    let (id, rest) = line.strip_prefix('#')?.split_once(" [")?;
    let (status, subject) = rest.split_once("] ")?;
    let is_word = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    if id.is_empty() || id.contains(char::is_whitespace) || !is_word(status) {
        return None;
    }
    let mut blockers = subject.match_indices(" [blocked by #");
    let blockers = blockers.find(|(at, _)| subject.get(*at..).is_some_and(closes_at_end));
    let subject = blockers.map_or(Some(subject), |(at, _)| subject.get(..at))?;
    Some(Row {
        id: id.to_owned(),
        status: Some(status.to_owned()),
        subject_if_unknown: Some(subject.to_owned()).filter(|subject| !subject.is_empty()),
        ..Row::default()
    })
}

/// Whether the first closing bracket of the text is its last character.
fn closes_at_end(text: &str) -> bool {
    text.find(']') == Some(text.len() - 1)
}

/// The entries of a todo list that is given as a whole, or as its JSON text; `None` if it is no list.
pub(crate) fn items(list: &Tree<'_>) -> Option<Vec<Item>> {
    let (mended, parsed);
    let list = match list {
        Tree::Text(text) => {
            mended = salvage::without_lone_surrogates(text);
            parsed = Tree::read(&mended)?;
            parsed.as_array()?
        }
        other => other.as_array()?,
    };
    Some(list.iter().enumerate().filter_map(item).collect())
}

fn item((index, entry): (usize, &Tree<'_>)) -> Option<Item> {
    let place = || (index + 1).to_string();
    let fields = match entry {
        Tree::Text(text) => {
            return Some(Item {
                id: place(),
                status: Some(String::from("pending")),
                subject: Some(text.clone().into_owned()),
                ..Item::default()
            });
        }
        Tree::Object(fields) => fields,
        _ => return None,
    };
    let first = |names: &[&str]| names.iter().find_map(|name| fields.get(name));
    Some(Item {
        id: scalar(fields.get("id")).unwrap_or_else(place),
        status: match fields.get("status") {
            None => Some(String::from("pending")),
            status => scalar(status),
        },
        subject: scalar(first(&["content", "step", "description", "title"])),
        active_form: scalar(first(&["activeForm", "active_form"])),
        priority: fields
            .get("priority")
            .filter(|it| **it != Tree::Null)
            .map(Tree::to_value),
    })
}

fn object(value: Option<&Tree<'_>>) -> Map<String, Value> {
    value
        .and_then(Tree::as_object)
        .map(Fields::to_map)
        .unwrap_or_default()
}

#[cfg(test)]
#[path = "effect_tests.rs"]
mod tests;
