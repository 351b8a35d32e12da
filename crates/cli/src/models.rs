//! From what `--model` says to a model.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use llm::http::RetryPolicy;
use llm::provider::Providers;
use llm::recorded::Recorded;
use llm::scripted::Scripted;
use llm::{Capabilities, Model};
use serde_json::{Value, json};
use tools::{Call, Effect, Tool, ToolError, ToolOutput};

use crate::home;

/// A model, and what is known of it beyond the trait.
pub(crate) struct Chosen {
    pub(crate) model: Arc<dyn Model>,
    /// The recording, if the model plays one.
    pub(crate) recorded: Option<Arc<Recorded>>,
}

/// Whether the model of this name plays a recording, which brings its own prompts.
pub(crate) fn brings_prompts(name: &str) -> bool {
    name.starts_with(RECORDED)
}

/// Whether the model of this name goes on behind the answers that a session has had.
pub(crate) fn counts_answers(name: &str) -> bool {
    name.starts_with(RECORDED) || name.starts_with(SCRIPTED)
}

/// How the name of a script begins.
const SCRIPTED: &str = "scripted:";

/// How the name of a recording begins.
const RECORDED: &str = "recorded:";

/// The model that a name stands for. `answered` is how many answers the session has had: scripts and
/// recordings go on behind them.
pub(crate) fn choose(name: &str, answered: usize) -> anyhow::Result<Chosen> {
    if let Some(path) = name.strip_prefix(SCRIPTED) {
        let script = std::fs::read_to_string(path)
            .with_context(|| format!("the script {path} cannot be read"))?;
        let scripted = Scripted::parse(&script)
            .with_context(|| format!("{path} is no script"))?
            .named(name)
            .start_at(answered);
        return Ok(Chosen {
            model: Arc::new(scripted),
            recorded: None,
        });
    }
    if let Some(path) = name.strip_prefix(RECORDED) {
        let file =
            File::open(path).with_context(|| format!("the recording {path} cannot be read"))?;
        let label = Path::new(path).file_name().unwrap_or_default();
        let recorded = Recorded::from_log(
            BufReader::new(file),
            format!("recorded:{}", label.to_string_lossy()),
        )
        .with_context(|| format!("{path} is no recording"))?
        .start_at(answered);
        let recorded = Arc::new(recorded);
        return Ok(Chosen {
            model: Arc::clone(&recorded) as Arc<dyn Model>,
            recorded: Some(recorded),
        });
    }
    let providers = Providers {
        variable: &|variable| std::env::var(variable).ok(),
        capabilities: &capabilities()?,
        retry: &RetryPolicy::default(),
    };
    Ok(Chosen {
        model: providers.model(name)?,
        recorded: None,
    })
}

/// What is known of models, with what the file `models.json` in `POD_HOME` says of them.
fn capabilities() -> anyhow::Result<Capabilities> {
    let path = home::root()?.join("models.json");
    match std::fs::read_to_string(&path) {
        Ok(text) => Capabilities::from_json(&text)
            .with_context(|| format!("{} cannot be used", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Capabilities::default()),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

/// The tools of a recording that Pod does not run: each call is answered as it was answered then.
pub(crate) fn recorded_tools(recorded: &Arc<Recorded>) -> Vec<Arc<dyn Tool>> {
    recorded
        .tool_names()
        .iter()
        .filter(|name| !tools::task::is_reserved(name))
        .map(|name| {
            Arc::new(RecordedTool {
                name: name.clone(),
                recorded: Arc::clone(recorded),
            }) as Arc<dyn Tool>
        })
        .collect()
}

/// A tool that answers from a recording.
struct RecordedTool {
    name: String,
    recorded: Arc<Recorded>,
}

#[async_trait]
impl Tool for RecordedTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &'static str {
        "Answers as it did when the session was recorded."
    }

    fn schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn effect(&self) -> Effect {
        Effect::Read
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        match self.recorded.result_of(call.id) {
            None => Err(ToolError::new("the recording has no result of this call")),
            Some(result) if result.is_error => Err(ToolError::new(&result.text)),
            Some(result) => Ok(ToolOutput::summary(format!("{} as recorded", self.name))
                .with_content(&result.text)),
        }
    }
}
