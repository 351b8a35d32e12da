//! Who may run which tool.

mod command;
mod path;
mod rule;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use async_trait::async_trait;
use serde_json::Value;
use tools::{Effect, Scope, Tool};

use path::Bases;
use rule::Reading;
pub use rule::Rule;

/// How much a session may do without being asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PermissionMode {
    /// Reading is free, everything else is asked for.
    #[default]
    Default,
    /// Reading and editing files inside the scope are free.
    AcceptEdits,
    /// Only reading.
    Plan,
    /// What no rule allows is denied, without asking.
    DontAsk,
    /// Everything is free.
    BypassPermissions,
}

impl PermissionMode {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Default,
        Self::AcceptEdits,
        Self::Plan,
        Self::DontAsk,
        Self::BypassPermissions,
    ];

    /// The name on the command line and in the Agent SDK protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
            Self::BypassPermissions => "bypassPermissions",
        }
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for PermissionMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::as_str).join(", ");
                format!("there is no permission mode `{text}`; there are {names}")
            })
    }
}

/// Decides about calls by mode and rules.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    /// The mode.
    pub mode: PermissionMode,
    /// Calls that may run.
    pub allow: Vec<Rule>,
    /// Calls that must not run; they win over everything.
    pub deny: Vec<Rule>,
    /// The working directory, which relative paths in rules start from.
    pub directory: PathBuf,
    /// Where files may be edited; anywhere if it is not given. The tools refuse what is outside in any
    /// case: here it is a denial, which is reported as one.
    pub scope: Option<Scope>,
    /// What `~/` in rules means, if it is known.
    pub home: Option<PathBuf>,
}

/// What is to be done about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may run.
    Allow,
    /// It must not run, for this reason.
    Deny(String),
    /// Somebody must allow it. The reason is there if the mode lets nobody be asked.
    Ask(Option<String>),
}

impl Permissions {
    pub(crate) fn judge(&self, tool: &dyn Tool, arguments: &Value) -> Verdict {
        let target = tool.target(arguments);
        let target = target.as_deref();
        let bases = Bases {
            directory: &self.directory,
            home: self.home.as_deref(),
        };
        let forbids = |rule: &&Rule| rule.matches(tool, target, bases, Reading::Forbidding);
        if let Some(rule) = self.deny.iter().find(forbids) {
            return Verdict::Deny(match target {
                None if !rule.is_whole_tool() => format!(
                    "the rule {rule} may forbid it, since the call does not say what it is about"
                ),
                _ => format!("the rule {rule} forbids it"),
            });
        }
        if tool.effect() == Effect::Edit
            && let (Some(scope), Some(path)) = (&self.scope, target)
            && !scope.contains(Path::new(path))
        {
            let path = tools::bounded::head(path, 200);
            return Verdict::Deny(format!("{path} is outside the allowed directories"));
        }
        let free = match tool.effect() {
            // The task list is the model's own.
            Effect::Read | Effect::Task => true,
            Effect::Edit => self.mode == PermissionMode::AcceptEdits,
            Effect::Execute => false,
        };
        if free || self.mode == PermissionMode::BypassPermissions {
            return Verdict::Allow;
        }
        if self.mode == PermissionMode::Plan {
            return Verdict::Deny(String::from("in plan mode only reading is allowed"));
        }
        let allows = |rule: &Rule| rule.matches(tool, target, bases, Reading::Allowing);
        if self.allow.iter().any(allows) {
            return Verdict::Allow;
        }
        let nobody = (self.mode == PermissionMode::DontAsk)
            .then(|| String::from("no rule allows it and nobody is to be asked"));
        Verdict::Ask(nobody)
    }
}

/// Somebody who can be asked whether a call may run.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks. Dropping the future takes the question back.
    async fn ask(&self, question: Question<'_>) -> Answer;
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The id of the call.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// What the call would touch, such as a command or a path.
    pub target: Option<&'a str>,
    /// The arguments.
    pub arguments: &'a Value,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The call may run, with other arguments if any are given.
    Allow {
        /// The arguments to run with instead.
        changed_arguments: Option<Value>,
    },
    /// The call must not run.
    Deny {
        /// Why; the model reads it.
        reason: String,
        /// Whether the whole run ends here.
        interrupt: bool,
    },
}

#[cfg(test)]
mod tests;
