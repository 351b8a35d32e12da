//! The tool that runs shell commands.

mod environment;
mod group;
mod output;
mod process;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use self::process::{Finished, LeftBehind};
use crate::arguments::{Accepted, Arguments};
use crate::{Call, Effect, Scope, Tool, ToolError, ToolOutput, bounded};

const FIELDS: Accepted = &[&["command"], &["timeout"], &["description"]];

/// How long a command may take unless the call says otherwise, in milliseconds.
const DEFAULT_LIMIT: u64 = 120_000;

/// The longest that a call may ask for, in milliseconds.
const LONGEST_LIMIT: u64 = 600_000;

/// Runs a command with bash, or with sh where there is no bash.
///
/// A command starts in the working directory of the scope but is not held in it: that is what
/// permissions are for. It has a process group of its own, which is killed when the command ends,
/// when its time is over, and when the call is dropped.
#[derive(Clone)]
pub struct Bash {
    scope: Scope,
    environment: Arc<[(OsString, OsString)]>,
}

impl Bash {
    /// The tool for this scope. Commands get the environment of this process as it is now, without
    /// the variables that hold API keys.
    pub fn new(scope: Scope) -> Self {
        Self::with_environment(scope, std::env::vars_os())
    }

    /// The same with another environment, of which API keys are left out as well.
    pub fn with_environment(
        scope: Scope,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        Self {
            scope,
            environment: environment::for_commands(environment).into(),
        }
    }

    fn cannot_run(&self, error: &io::Error) -> ToolError {
        if error.kind() == io::ErrorKind::ArgumentListTooLong {
            let message =
                "the command is too long for the system; Write it as a script and run that";
            return ToolError::new(message);
        }
        let directory = self.scope.working_directory().to_string_lossy();
        let directory = bounded::tail(&directory, 150);
        ToolError::new(format!("cannot run a shell in {directory}: {error}"))
    }
}

/// What a call asks for.
struct Wanted {
    command: String,
    limit: Duration,
}

impl Wanted {
    fn new(arguments: &Value) -> Result<Self, ToolError> {
        let mut arguments = Arguments::new(arguments, FIELDS)?;
        let command = arguments.text("command")?;
        let limit = arguments.number("timeout")?.unwrap_or(DEFAULT_LIMIT);
        // It is for the people who watch.
        let _ = arguments.optional_text("description")?;
        if !(1..=LONGEST_LIMIT).contains(&limit) {
            let message = format!("timeout is in milliseconds, from 1 to {LONGEST_LIMIT}");
            return Err(ToolError::new(message));
        }
        if command.trim().is_empty() {
            return Err(ToolError::new("command is empty"));
        }
        if command.contains('\0') {
            return Err(ToolError::new(
                "command has a NUL character, which no command can have",
            ));
        }
        Ok(Self {
            command,
            limit: Duration::from_millis(limit),
        })
    }
}

/// Without the environment, which may hold secrets.
impl fmt::Debug for Bash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Bash")
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Tool for Bash {
    fn name(&self) -> &'static str {
        "Bash"
    }

    fn description(&self) -> &'static str {
        include_str!("bash.md").trim_ascii_end()
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "timeout": {
                    "type": "integer",
                    "description": "Milliseconds; default 120000, at most 600000",
                },
                "description": {"type": "string", "description": "What it does, in a few words"},
            },
            "required": ["command"],
            "additionalProperties": false,
        })
    }

    fn effect(&self) -> Effect {
        Effect::Execute
    }

    fn target(&self, arguments: &Value) -> Option<String> {
        Some(Wanted::new(arguments).ok()?.command)
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let Wanted { command, limit } = Wanted::new(call.arguments)?;
        let directory = self.scope.working_directory();
        let finished = process::run(&command, directory, &self.environment, limit)
            .await
            .map_err(|error| self.cannot_run(&error))?;
        result(finished, limit)
    }
}

/// The result for the model. An exit code other than 0 is an error of the call.
fn result(finished: Finished, limit: Duration) -> Result<ToolOutput, ToolError> {
    let value = json!({
        "exit_code": finished.status.and_then(|status| status.code()),
        "signal": finished.status.and_then(|status| status.signal()),
        "timed_out": finished.status.is_none(),
        "output_bytes": finished.output.total(),
        "duration_ms": u64::try_from(finished.time.as_millis()).unwrap_or(u64::MAX),
    });
    let end = match finished.status {
        Some(status) => end_of(status),
        None => format!(
            "Timed out after {} ms and was killed with all that it had started",
            limit.as_millis()
        ),
    };
    let is_success = finished.status.is_some_and(|status| status.success());
    let mut text = finished.output.text();
    let note = match finished.left_behind {
        LeftBehind::Nothing => "",
        LeftBehind::Killed => "[what still ran in the background was killed]",
        LeftBehind::Escaped => "[a process that has left the process group still runs]",
    };
    if !text.is_empty() && !note.is_empty() {
        text.push('\n');
    }
    text += note;
    if !is_success {
        let message = match text.as_str() {
            "" => format!("{end} (no output)"),
            text => format!("{end}\n{text}"),
        };
        return Err(ToolError {
            message,
            value: Some(value),
        });
    }
    let summary = format!("{end} after {:.1} s", finished.time.as_secs_f64());
    let output = match text.as_str() {
        "" => ToolOutput::summary(format!("No output. {summary}")),
        _ => ToolOutput::summary(summary).with_content(text),
    };
    Ok(output.with_value(value))
}

fn end_of(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("Exit code {code}"),
        (None, Some(signal)) => format!("Killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

#[cfg(test)]
#[path = "bash_tests.rs"]
mod tests;
