//! `TaskList`: every task, deleted ones too.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Counts, Dialect, Task, TaskStore, arguments, dialect, render};
use crate::bounded::RESULT_LIMIT;
use crate::{Call, Effect, Tool, ToolError, ToolOutput};

/// The name of the tool.
pub const NAME: &str = "TaskList";

/// About the most bytes of the list as data. With the text of the result, and every character
/// escaped, this stays below the 1 MiB that the Python Agent SDK reads as one line (`agent-sdk.md`
/// 1.3).
const DATA_LIMIT: usize = 2 * RESULT_LIMIT;

/// About the bytes of the names, the id and the status of one task.
const ROW_OVERHEAD: usize = 80;

/// The tool.
#[derive(Debug)]
pub struct TaskList {
    store: TaskStore,
    dialect: Dialect,
    text_limit: usize,
}

impl TaskList {
    /// The tool over this store.
    pub fn new(store: TaskStore) -> Self {
        Self {
            store,
            dialect: Dialect::default(),
            text_limit: RESULT_LIMIT,
        }
    }

    /// The tool in a dialect. [`Dialect::Pod`] if none is given.
    pub fn speaking(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Gives at most this many bytes of text, for a model with a small window; 1,000 or more, see
    /// [`render::list`].
    pub fn with_text_limit(mut self, bytes: usize) -> Self {
        self.text_limit = bytes;
        self
    }
}

#[async_trait]
impl Tool for TaskList {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        match self.dialect {
            Dialect::Pod => include_str!("list.md"),
            Dialect::AgentSdk => include_str!("list_sdk.md"),
        }
        .trim_end()
    }

    fn schema(&self) -> Value {
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    }

    fn effect(&self) -> Effect {
        Effect::Task
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        arguments::list(call.arguments).map_err(ToolError::new)?;
        Ok(self.store.with(|tasks| {
            let counts: Counts = tasks.iter().collect();
            let summary = ToolOutput::summary(self.dialect.counts(counts));
            match self.dialect {
                Dialect::Pod => summary
                    .with_content(render::list(tasks, self.text_limit))
                    .with_value(data(tasks, counts)),
                Dialect::AgentSdk => summary
                    .with_content(dialect::list_text(tasks, self.text_limit))
                    .with_value(dialect::list_value(tasks, DATA_LIMIT)),
            }
        }))
    }
}

/// The list as data. What makes it too large is left out, never cut, and named in `left_out`: first
/// the descriptions, then the tasks. Programs that need all of a large list read the store.
fn data(tasks: &[Task], counts: Counts) -> Value {
    let texts = |text: fn(&Task) -> usize| -> usize {
        tasks.iter().map(|task| ROW_OVERHEAD + text(task)).sum()
    };
    if texts(|task| task.subject.len() + task.description.len()) <= DATA_LIMIT {
        json!({"tasks": tasks, "counts": counts})
    } else if texts(|task| task.subject.len()) <= DATA_LIMIT {
        let rows: Vec<Value> = tasks.iter().map(row).collect();
        json!({"tasks": rows, "counts": counts, "left_out": ["description"]})
    } else {
        json!({"counts": counts, "left_out": ["tasks"]})
    }
}

fn row(task: &Task) -> Value {
    json!({"taskid": task.id, "status": task.status, "subject": task.subject})
}
