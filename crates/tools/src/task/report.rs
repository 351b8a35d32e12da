//! What the tools that change the list tell about the change.

use serde_json::json;

use super::{Dialect, TaskOperation, TaskStore, dialect, render};
use crate::bounded::RESULT_LIMIT;
use crate::{ToolError, ToolOutput};

/// The most characters of a subject or an active form. The longest of 695 real subjects has 105
/// (`real-logs.md` 4).
const LINE_LIMIT: usize = 500;

/// The most bytes of a description, with the indentation that shows it, so that `TaskGet` can always
/// show one whole: what is kept free takes a subject and an active form of four bytes a character.
const DESCRIPTION_LIMIT: usize = RESULT_LIMIT - 8 * LINE_LIMIT - 100;

/// What the operation will do once the result is in the history: the task and the counts, never the
/// whole list, so that a change costs the same at any list size.
///
/// The limits hold for new calls only. They are no business of the fold, which must accept what was
/// accepted when it was logged.
pub(crate) fn planned(
    store: &TaskStore,
    operation: &TaskOperation,
    dialect: Dialect,
) -> Result<ToolOutput, ToolError> {
    check_limits(operation).map_err(ToolError::new)?;
    let change = store
        .plan(operation)
        .map_err(|error| ToolError::new(error.to_string()))?;
    Ok(match dialect {
        Dialect::Pod => ToolOutput::summary(render::change(&change))
            .with_value(json!({"task": change.task, "counts": change.counts})),
        Dialect::AgentSdk => ToolOutput::summary(dialect::change_text(&change))
            .with_value(dialect::change_value(&change)),
    })
}

pub(super) fn check_limits(operation: &TaskOperation) -> Result<(), String> {
    let (subject, description, active_form) = match operation {
        TaskOperation::Create {
            subject,
            description,
            active_form,
        } => (Some(subject), Some(description), active_form.as_ref()),
        TaskOperation::Update {
            subject,
            description,
            active_form,
            ..
        } => (subject.as_ref(), description.as_ref(), active_form.as_ref()),
    };
    for (name, text) in [("subject", subject), ("activeForm", active_form)] {
        if text.is_some_and(|text| text.chars().count() > LINE_LIMIT) {
            return Err(format!(
                "{name} has more than {LINE_LIMIT} characters: give a short line and put the rest into description"
            ));
        }
    }
    let shown = |text: &String| text.len().max(render::body(text).len());
    let bytes = description.map_or(0, shown);
    if bytes > DESCRIPTION_LIMIT {
        return Err(format!(
            "description takes {bytes} bytes as TaskGet shows it, the limit is {DESCRIPTION_LIMIT}: put the text into a file and name the file here"
        ));
    }
    Ok(())
}
