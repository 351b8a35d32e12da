//! `TaskUpdate`: new values for some fields of a task.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Dialect, TaskStore, arguments, dialect, report};
use crate::{Call, Effect, Tool, ToolError, ToolOutput};

/// The name of the tool.
pub const NAME: &str = "TaskUpdate";

/// The tool.
#[derive(Debug)]
pub struct TaskUpdate {
    store: TaskStore,
    dialect: Dialect,
}

impl TaskUpdate {
    /// The tool over this store.
    pub fn new(store: TaskStore) -> Self {
        Self {
            store,
            dialect: Dialect::default(),
        }
    }

    /// The tool in a dialect. [`Dialect::Pod`] if none is given.
    pub fn speaking(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }
}

#[async_trait]
impl Tool for TaskUpdate {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        match self.dialect {
            Dialect::Pod => include_str!("update.md"),
            Dialect::AgentSdk => include_str!("update_sdk.md"),
        }
        .trim_end()
    }

    fn schema(&self) -> Value {
        if self.dialect == Dialect::AgentSdk {
            return dialect::update_schema();
        }
        json!({
            "type": "object",
            "properties": {
                "taskid": {"type": "integer"},
                "status": {"type": "string", "enum": ["pending", "inprogress", "completed", "deleted"]},
                "subject": {"type": "string"},
                "description": {"type": "string"},
            },
            "required": ["taskid"],
            "additionalProperties": false,
        })
    }

    fn effect(&self) -> Effect {
        Effect::Task
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let operation =
            arguments::update_in(call.arguments, self.dialect).map_err(ToolError::new)?;
        report::planned(&self.store, &operation, self.dialect)
    }
}
