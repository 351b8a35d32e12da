//! The tool that runs shell commands.

mod environment;
mod group;
mod output;
mod process;
mod sandbox;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

pub use self::sandbox::Confinement;

use self::process::{Finished, LeftBehind};
use self::sandbox::Sandbox;
use crate::arguments::{Accepted, Arguments};
use crate::{Call, Effect, Scope, Tool, ToolError, ToolOutput, bounded};

const FIELDS: Accepted = &[&["command"], &["timeout"], &["description"]];

/// How long a command may take unless the call says otherwise, in milliseconds.
const DEFAULT_LIMIT: u64 = 120_000;

/// The longest that a call may ask for, in milliseconds.
const LONGEST_LIMIT: u64 = 600_000;

/// Runs a command with bash, or with sh where there is no bash.
///
/// A command starts in the working directory of the scope and may read from everywhere. Where the
/// system has Landlock it may write in the scope, in temporary directories and in the caches of
/// toolchains only; elsewhere, permissions are what holds it. It has a process group of its own, which
/// is killed when the command ends, when its time is over, and when the call is dropped.
#[derive(Clone)]
pub struct Bash {
    scope: Scope,
    environment: Arc<[(OsString, OsString)]>,
    sandbox: Option<Sandbox>,
    confinement: Confinement,
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
        let environment = environment::for_commands(environment);
        let sandbox = Sandbox::new(&scope, &environment);
        let confinement = match sandbox {
            Some(_) => Confinement::Landlock,
            None => Confinement::Unavailable,
        };
        Self {
            scope,
            environment: environment.into(),
            sandbox,
            confinement,
        }
    }

    /// With `false`, commands may write wherever the process may.
    pub fn sandboxed(mut self, sandboxed: bool) -> Self {
        if !sandboxed {
            self.sandbox = None;
            self.confinement = Confinement::Off;
        }
        self
    }

    /// Whether commands are held to where they may write.
    pub fn confinement(&self) -> Confinement {
        self.confinement
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
        let sandbox = self.sandbox.as_ref();
        let finished = process::run(&command, directory, &self.environment, sandbox, limit)
            .await
            .map_err(|error| self.cannot_run(&error))?;
        result(finished, limit, self.confinement)
    }
}

/// The result for the model. An exit code other than 0 is an error of the call.
fn result(
    finished: Finished,
    limit: Duration,
    confinement: Confinement,
) -> Result<ToolOutput, ToolError> {
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
        let hint = match confinement {
            Confinement::Landlock if looks_refused(&text) => HINT,
            _ => "",
        };
        let message = match text.as_str() {
            "" => format!("{end} (no output)"),
            text => format!("{end}\n{text}{hint}"),
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

/// What to do where the sandbox may be the reason.
const HINT: &str = "\n[commands may write in the working directory, temporary directories and caches only; a person can allow more: pod --add-dir DIRECTORY, or pod --no-sandbox]";

/// Whether the output says that something was refused. It decides about a hint and nothing else.
fn looks_refused(output: &str) -> bool {
    [
        "ermission denied",
        "PermissionDenied",
        "EACCES",
        "Operation not permitted",
        "EPERM",
        "no new privileges",
        "cross-device link",
    ]
    .iter()
    .any(|words| output.contains(words))
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
