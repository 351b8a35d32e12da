//! Tools of every kind that do nothing but say what they did.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tools::{Call, Effect, Tool, ToolError, ToolOutput};

use crate::future::yield_once;

/// A tool that answers with the text it is given, after some waiting.
///
/// Its arguments: `text` is the answer, `fail` an error in its place, `wait` how often it waits,
/// `times` how often the text is repeated.
/// `text` is also what its calls are about, for permission rules.
pub struct FakeTool {
    name: &'static str,
    effect: Effect,
    told: Arc<dyn Fn(String) + Send + Sync>,
}

impl FakeTool {
    /// A tool that says when a call begins and ends.
    pub fn new(
        name: &'static str,
        effect: Effect,
        told: impl Fn(String) + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            effect,
            told: Arc::new(told),
        }
    }

    /// One of each kind: `Look` reads, `Change` edits, `Act` executes.
    pub fn all(told: impl Fn(String) + Clone + Send + Sync + 'static) -> Vec<Arc<dyn Tool>> {
        [
            ("Look", Effect::Read),
            ("Change", Effect::Edit),
            ("Act", Effect::Execute),
        ]
        .into_iter()
        .map(|(name, effect)| Arc::new(Self::new(name, effect, told.clone())) as Arc<dyn Tool>)
        .collect()
    }
}

#[async_trait]
impl Tool for FakeTool {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &'static str {
        "Answers with the text it is given."
    }

    fn schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn target(&self, arguments: &Value) -> Option<String> {
        Some(arguments.get("text")?.as_str()?.to_owned())
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let field = |name: &str| call.arguments.get(name);
        let text = |name| field(name).and_then(Value::as_str).map(str::to_owned);
        (self.told)(format!("{} {} begins", self.name, call.id));
        for _ in 0..field("wait").and_then(Value::as_u64).unwrap_or(1) {
            yield_once().await;
        }
        (self.told)(format!("{} {} ends", self.name, call.id));
        match text("fail") {
            Some(reason) => Err(ToolError::new(reason)),
            None => Ok(answer(&text("text").unwrap_or_default(), field("times"))),
        }
    }
}

fn answer(text: &str, times: Option<&Value>) -> ToolOutput {
    match times.and_then(Value::as_u64) {
        None => ToolOutput::summary(text),
        Some(times) => {
            let times = usize::try_from(times).unwrap();
            ToolOutput::summary(format!("{times} times")).with_content(text.repeat(times))
        }
    }
}
