//! Permission, asked of the person at the screen.

use async_trait::async_trait;
use pod::permission::{self, Question as Asked};
use pod::{Approver, Rule};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// A question, as the screen shows it.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) tool: String,
    /// What the call would touch.
    pub(super) target: Option<String>,
    pub(super) arguments: Value,
    /// What "always" would allow for this session.
    pub(super) rule: Option<Rule>,
}

/// A question, and where the answer goes.
pub(super) struct Waiting {
    pub(super) question: Question,
    pub(super) answer: oneshot::Sender<permission::Answer>,
}

/// Hands questions over to the screen.
pub(super) struct Asker(mpsc::UnboundedSender<Waiting>);

pub(super) fn channel() -> (Asker, mpsc::UnboundedReceiver<Waiting>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Asker(sender), receiver)
}

#[async_trait]
impl Approver for Asker {
    async fn ask(&self, asked: Asked<'_>) -> permission::Answer {
        let (answer, answered) = oneshot::channel();
        let question = Question {
            tool: asked.tool.to_owned(),
            target: asked.target.map(str::to_owned),
            arguments: asked.arguments.clone(),
            rule: rule(asked.tool, asked.target),
        };
        let is_asked = self.0.send(Waiting { question, answer }).is_ok();
        match answered.await {
            Ok(answer) if is_asked => answer,
            // The screen is gone.
            _ => permission::Answer::Deny {
                reason: String::from("nobody is there any more to give permission"),
                interrupt: true,
            },
        }
    }
}

/// What would allow such a call again: a command by its exact text, another tool whole.
fn rule(tool: &str, target: Option<&str>) -> Option<Rule> {
    match target {
        Some(command) if tool == "Bash" => format!("{tool}({command})").parse().ok(),
        _ => tool.parse().ok(),
    }
}
