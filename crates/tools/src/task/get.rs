//! `TaskGet`: one task whole.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Dialect, TaskStore, arguments, dialect, render};
use crate::bounded::RESULT_LIMIT;
use crate::{Call, Effect, Tool, ToolError, ToolOutput};

/// The name of the tool.
pub const NAME: &str = "TaskGet";

/// The tool.
#[derive(Debug)]
pub struct TaskGet {
    store: TaskStore,
    dialect: Dialect,
}

impl TaskGet {
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
impl Tool for TaskGet {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        include_str!("get.md").trim_end()
    }

    fn schema(&self) -> Value {
        if self.dialect == Dialect::AgentSdk {
            return dialect::get_schema();
        }
        json!({
            "type": "object",
            "properties": {"taskid": {"type": "integer"}},
            "required": ["taskid"],
            "additionalProperties": false,
        })
    }

    fn effect(&self) -> Effect {
        Effect::Task
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let id = arguments::get_in(call.arguments, self.dialect).map_err(ToolError::new)?;
        let task = self
            .store
            .get(id)
            .map_err(|error| ToolError::new(error.to_string()))?;
        Ok(match self.dialect {
            Dialect::Pod => ToolOutput::summary(render::row(&task))
                .with_content(render::task(&task, RESULT_LIMIT))
                .with_value(json!({"task": task})),
            Dialect::AgentSdk => ToolOutput::summary(dialect::row_text(&task))
                .with_content(dialect::task_text(&task))
                .with_value(dialect::task_value(&task)),
        })
    }
}
