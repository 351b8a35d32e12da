//! What an entry of a history means for the task list.

use llm::{Item, Origin};
use serde_json::Value;
use tools::task::{Change, TaskFold, Warning};

use crate::edit;
use crate::session::Entry;

/// Folds an entry into the task list. Live and on replay, this is the only road from a history to
/// the list.
///
/// It looks at calls, results and the data of system messages that Pod itself wrote, and never at a
/// text: what a user, a model or a file says about tasks is text.
pub fn fold_entry(fold: &mut TaskFold, entry: &Entry) -> Result<Vec<Change>, Warning> {
    if entry.carried {
        return Ok(Vec::new());
    }
    match &*entry.item {
        Item::User(_) => Ok(Vec::new()),
        Item::Assistant(message) => {
            for call in message.calls() {
                // Arguments that are no JSON never ran: the result of such a call is an error.
                fold.call_with(&call.id, &call.name, || call.arguments.parse().ok());
            }
            Ok(Vec::new())
        }
        Item::ToolResult(result) => {
            let changed = match &result.changed_arguments {
                None => None,
                Some(arguments) => match arguments.parse() {
                    Ok(changed) => Some(changed),
                    // What the tool ran with is not known, and what was sent is not that.
                    Err(error) if fold.waits_for(&result.call_id) => {
                        fold.result(&result.call_id, true, None)?;
                        if result.is_error {
                            return Ok(Vec::new());
                        }
                        return Err(Warning {
                            subject: format!("call {}", result.call_id),
                            reason: format!(
                                "the arguments that it ran with cannot be read: {error}"
                            ),
                        });
                    }
                    Err(_) => None,
                },
            };
            fold.result(&result.call_id, result.is_error, changed.as_ref())
        }
        Item::System(message) => match (&message.origin, &message.data) {
            (Origin::TaskSnapshot, Some(data)) => {
                fold.snapshot(data.get("tasks").unwrap_or(&Value::Null))?;
                Ok(Vec::new())
            }
            (Origin::TaskEdit, Some(data)) => Ok(vec![fold.edit(&edit::operation(data)?)?]),
            _ => Ok(Vec::new()),
        },
    }
}
