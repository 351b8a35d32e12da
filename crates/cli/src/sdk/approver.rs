//! Permission, asked of the program (`canUseTool` of the SDKs).

use async_trait::async_trait;
use pod::permission::{Answer, Question};
use pod::{Approver, Handle, PermissionMode, Rule};
use serde_json::{Value, json};

use super::questions::Questions;
use super::state::SessionState;
use crate::terminal;

/// Asks the program whether a call may run.
pub(super) struct ProgramApprover {
    pub(super) questions: Questions,
    pub(super) handle: std::sync::Arc<std::sync::OnceLock<Handle>>,
    pub(super) state: SessionState,
}

#[async_trait]
impl Approver for ProgramApprover {
    async fn ask(&self, question: Question<'_>) -> Answer {
        self.state.requires_action(&self.questions);
        let answer = self.questions.ask(request(&question)).await;
        self.state.running(&self.questions);
        match answer {
            Ok(answer) => self.understand(&answer, &question),
            Err(reason) => Answer::Deny {
                reason: format!("the program that was asked for permission failed: {reason}"),
                interrupt: false,
            },
        }
    }
}

fn request(question: &Question<'_>) -> Value {
    let Question {
        call_id,
        tool,
        target,
        arguments,
    } = *question;
    let mut suggestions = vec![json!({
        "type": "addRules",
        "rules": [rule(tool, target.filter(|_| tool == "Bash"))],
        "behavior": "allow",
        "destination": "session",
    })];
    if matches!(tool, "Edit" | "Write") {
        suggestions.push(json!({
            "type": "setMode",
            "mode": "acceptEdits",
            "destination": "session",
        }));
    }
    let mut request = json!({
        "subtype": "can_use_tool",
        "tool_name": tool,
        "display_name": tool,
        "input": arguments,
        "permission_suggestions": suggestions,
        "tool_use_id": call_id,
    });
    if let Some(target) = target {
        request["description"] = json!(tools::bounded::head(target, 1_000));
    }
    request
}

fn rule(tool: &str, content: Option<&str>) -> Value {
    let mut rule = json!({"toolName": tool});
    if let Some(content) = content {
        rule["ruleContent"] = json!(content);
    }
    rule
}

impl ProgramApprover {
    fn understand(&self, answer: &Value, question: &Question<'_>) -> Answer {
        match answer["behavior"].as_str() {
            Some("allow") => {
                self.update_permissions(&answer["updatedPermissions"]);
                let changed = answer.get("updatedInput").filter(|it| it.is_object());
                Answer::Allow {
                    changed_arguments: changed
                        .filter(|changed| *changed != question.arguments)
                        .cloned(),
                }
            }
            Some("deny") => Answer::Deny {
                reason: answer["message"].as_str().unwrap_or_default().to_owned(),
                interrupt: answer["interrupt"].as_bool().unwrap_or(false),
            },
            _ => Answer::Deny {
                reason: String::from(
                    "the program that was asked for permission gave no answer that Pod knows; it must be allow or deny",
                ),
                interrupt: false,
            },
        }
    }

    /// What the answer says about calls to come. What Pod does not have is told and passed over.
    fn update_permissions(&self, updates: &Value) {
        let Some(handle) = self.handle.get() else {
            return;
        };
        for update in updates.as_array().into_iter().flatten() {
            let kind = update["type"].as_str().unwrap_or_default();
            let behavior = update["behavior"].as_str().unwrap_or_default();
            match (kind, behavior) {
                ("addRules", "allow") => handle.allow(rules(update)),
                ("addRules", "deny") => handle.deny(rules(update)),
                ("setMode", _) => match update["mode"].as_str().map(str::parse::<PermissionMode>) {
                    Some(Ok(mode)) => handle.set_permission_mode(mode),
                    _ => terminal::notice("a permission update names no mode that Pod knows"),
                },
                _ => terminal::notice(&format!(
                    "a permission update of type {kind:?} {behavior:?} is not supported and was ignored"
                )),
            }
        }
    }
}

fn rules(update: &Value) -> Vec<Rule> {
    let mut rules = Vec::new();
    for rule in update["rules"].as_array().into_iter().flatten() {
        let tool = rule["toolName"].as_str().unwrap_or_default();
        let text = match rule["ruleContent"].as_str() {
            Some(content) => format!("{tool}({content})"),
            None => tool.to_owned(),
        };
        match text.parse() {
            Ok(rule) => rules.push(rule),
            Err(error) => terminal::notice(&format!("a permission update was ignored: {error}")),
        }
    }
    rules
}
