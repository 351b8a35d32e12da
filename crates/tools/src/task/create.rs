//! `TaskCreate`: a new task at the end of the list.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Dialect, TaskStore, arguments, dialect, report};
use crate::{Call, Effect, Tool, ToolError, ToolOutput};

/// The name of the tool.
pub const NAME: &str = "TaskCreate";

/// The tool.
#[derive(Debug)]
pub struct TaskCreate {
    store: TaskStore,
    dialect: Dialect,
}

impl TaskCreate {
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
impl Tool for TaskCreate {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        include_str!("create.md").trim_end()
    }

    fn schema(&self) -> Value {
        if self.dialect == Dialect::AgentSdk {
            return dialect::create_schema();
        }
        json!({
            "type": "object",
            "properties": {
                "subject": {"type": "string", "description": "One short line"},
                "description": {"type": "string", "description": "All that is needed to do it"},
            },
            "required": ["subject", "description"],
            "additionalProperties": false,
        })
    }

    fn effect(&self) -> Effect {
        Effect::Task
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let operation =
            arguments::create_in(call.arguments, self.dialect).map_err(ToolError::new)?;
        report::planned(&self.store, &operation, self.dialect)
    }
}
