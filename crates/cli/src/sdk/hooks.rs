//! Hooks that live in the program: it is asked at each moment for which it has one.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use llm::{ToolResult, UserMessage};
use pod::hook::{After, AtEnd, Before, BeforeCompaction, HookCall, Prompt};
use pod::permission::{Answer, Question};
use pod::{Approver, Handle, Hook, Trigger};
use regex::Regex;
use serde_json::{Map, Value, json};

use super::message::structured_result;
use super::questions::Questions;
use crate::terminal;

/// How long a hook may take where the program does not say.
const PATIENCE: Duration = Duration::from_mins(1);

/// The events for which hooks are called. Of others the program is told that they never happen.
const EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "Stop",
    "PreCompact",
];

/// The hooks of the program.
pub(super) struct ProgramHooks {
    matchers: Vec<Matcher>,
    questions: Questions,
    session: Arc<OnceLock<SessionFacts>>,
    /// Who is asked where a hook says that somebody should be.
    approver: Option<Arc<dyn Approver>>,
    /// Why a hook wants all work to stop, if one does.
    stop: Arc<Mutex<Option<String>>>,
}

/// What hooks are told of the session.
pub(super) struct SessionFacts {
    pub(super) handle: Handle,
    /// Fields that each hook gets.
    pub(super) common: Map<String, Value>,
}

/// Callbacks for the calls of some tools at one moment.
struct Matcher {
    event: String,
    /// The names of the tools; `None` is all.
    tools: Option<Regex>,
    callbacks: Vec<String>,
    timeout: Duration,
    /// Whether a callback that fails forbids what it was asked about.
    blocks_on_failure: bool,
}

impl ProgramHooks {
    /// The hooks that the request `initialize` names; `None` if it names none.
    pub(super) fn new(
        hooks: &Value,
        questions: Questions,
        session: Arc<OnceLock<SessionFacts>>,
        approver: Option<Arc<dyn Approver>>,
        stop: Arc<Mutex<Option<String>>>,
    ) -> Option<Self> {
        let mut matchers = Vec::new();
        for (event, list) in hooks.as_object()? {
            if !EVENTS.contains(&event.as_str()) {
                terminal::notice(&format!(
                    "there are no hooks for {event} in Pod; those that the program set are never called"
                ));
                continue;
            }
            for matcher in list.as_array().into_iter().flatten() {
                matchers.extend(Matcher::new(event, matcher));
            }
        }
        (!matchers.is_empty()).then_some(Self {
            matchers,
            questions,
            session,
            approver,
            stop,
        })
    }

    /// Asks the callbacks for an event, one after the other, and gives what they said.
    async fn ask(
        &self,
        event: &str,
        tool: Option<&str>,
        call: Option<&str>,
        details: Value,
    ) -> Vec<Said> {
        let mut said = Vec::new();
        for matcher in &self.matchers {
            if matcher.event != event || !matcher.is_about(tool) {
                continue;
            }
            for callback in &matcher.callbacks {
                said.push(self.ask_one(matcher, callback, call, &details).await);
            }
        }
        said
    }

    async fn ask_one(
        &self,
        matcher: &Matcher,
        callback: &str,
        call: Option<&str>,
        details: &Value,
    ) -> Said {
        let mut input = Map::new();
        if let Some(facts) = self.session.get() {
            input.extend(facts.common.clone());
            let mode = facts.handle.permission_mode();
            input.insert("permission_mode".to_owned(), json!(mode.as_str()));
        }
        input.insert("hook_event_name".to_owned(), json!(matcher.event));
        if let Value::Object(details) = details {
            input.extend(details.clone());
        }
        let request = json!({
            "subtype": "hook_callback",
            "callback_id": callback,
            "input": input,
            "tool_use_id": call,
        });
        let answer = tokio::time::timeout(matcher.timeout, self.questions.ask(request)).await;
        let failure = match answer {
            Ok(Ok(output)) => return self.understand(&output),
            Ok(Err(error)) => error,
            Err(_) => format!("no answer within {} s", matcher.timeout.as_secs_f32()),
        };
        let event = &matcher.event;
        terminal::notice(&format!("a hook for {event} failed: {failure}"));
        if matcher.blocks_on_failure {
            Said {
                block: Some(format!(
                    "a hook for {event} failed, and is set to block then: {failure}"
                )),
                ..Said::default()
            }
        } else {
            Said::default()
        }
    }

    fn understand(&self, output: &Value) -> Said {
        if let Some(text) = output["systemMessage"].as_str() {
            terminal::notice(text);
        }
        let said = Said::new(output);
        if output["continue"] == json!(false) {
            let reason = output["stopReason"]
                .as_str()
                .unwrap_or("a hook stopped the work");
            let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
            *stop = Some(reason.to_owned());
            drop(stop);
            if let Some(facts) = self.session.get() {
                facts.handle.interrupt();
            }
        }
        said
    }
}

impl Matcher {
    fn new(event: &str, matcher: &Value) -> Option<Self> {
        let callbacks: Vec<String> = matcher["hookCallbackIds"]
            .as_array()?
            .iter()
            .filter_map(|id| id.as_str().map(str::to_owned))
            .collect();
        let tools = match matcher["matcher"].as_str() {
            None | Some("" | "*") => None,
            Some(pattern) => match Regex::new(&format!("^(?:{pattern})$")) {
                Ok(regex) => Some(regex),
                Err(error) => {
                    terminal::notice(&format!(
                        "the matcher {pattern:?} of a hook for {event} is no pattern, so the hook is called for every tool: {error}"
                    ));
                    None
                }
            },
        };
        let seconds = matcher["timeout"].as_f64().filter(|it| *it > 0.0);
        let timeout = seconds.and_then(|it| Duration::try_from_secs_f64(it).ok());
        let on_failure = matcher["onFailure"].as_str();
        Some(Self {
            event: event.to_owned(),
            tools,
            callbacks,
            timeout: timeout.unwrap_or(PATIENCE),
            // A word that is not known is taken for the safe one.
            blocks_on_failure: on_failure.is_some_and(|it| it != "continue"),
        })
    }

    fn is_about(&self, tool: Option<&str>) -> bool {
        match (&self.tools, tool) {
            (Some(tools), Some(tool)) => tools.is_match(tool),
            // Only tools are told apart.
            _ => true,
        }
    }
}

/// What a callback said.
#[derive(Debug, Default, PartialEq)]
struct Said {
    /// Why something is not to be, if it is not.
    block: Option<String>,
    /// Whether it may be without asking.
    allow: bool,
    /// Whether somebody is to be asked.
    ask: bool,
    /// Other arguments.
    changed: Option<Value>,
    /// What the model is to read.
    context: Option<String>,
}

impl Said {
    fn new(output: &Value) -> Self {
        let specific = &output["hookSpecificOutput"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let decision = specific["permissionDecision"].as_str();
        let old_decision = output["decision"].as_str();
        let blocks =
            matches!(decision, Some("deny")) || matches!(old_decision, Some("block" | "deny"));
        let reason = text(&specific["permissionDecisionReason"])
            .or_else(|| text(&output["reason"]))
            .unwrap_or_default();
        for field in ["updatedToolOutput", "updatedMCPToolOutput"] {
            if !specific[field].is_null() {
                terminal::notice(&format!(
                    "{field} of a hook is not supported: results stay what they are"
                ));
            }
        }
        Self {
            block: blocks.then_some(reason),
            allow: matches!(decision, Some("allow")) || matches!(old_decision, Some("approve")),
            // Nobody can take up later what was deferred, so somebody is asked now.
            ask: matches!(decision, Some("ask" | "defer")),
            changed: Some(specific["updatedInput"].clone()).filter(Value::is_object),
            context: text(&specific["additionalContext"]).filter(|text| !text.trim().is_empty()),
        }
    }
}

#[async_trait]
impl Hook for ProgramHooks {
    fn name(&self) -> &'static str {
        "of the program"
    }

    async fn before_tool(&self, call: HookCall<'_>) -> Before {
        let details = json!({
            "tool_name": call.name,
            "tool_input": call.arguments,
            "tool_use_id": call.id,
        });
        let all = self
            .ask("PreToolUse", Some(call.name), Some(call.id), details)
            .await;
        if let Some(reason) = all.iter().find_map(|said| said.block.clone()) {
            return Before::Deny(reason);
        }
        let mut changed = all.iter().rev().find_map(|said| said.changed.clone());
        if all.iter().any(|said| said.ask) {
            let Some(approver) = &self.approver else {
                return Before::Deny(String::from(
                    "a hook wants somebody to be asked, and nobody is there",
                ));
            };
            let question = Question {
                call_id: call.id,
                tool: call.name,
                target: None,
                arguments: changed.as_ref().unwrap_or(call.arguments),
            };
            return match approver.ask(question).await {
                Answer::Allow { changed_arguments } => Before::Allow {
                    changed_arguments: changed_arguments.or(changed),
                },
                Answer::Deny { reason, interrupt } => {
                    if let Some(facts) = self.session.get().filter(|_| interrupt) {
                        facts.handle.interrupt();
                    }
                    Before::Deny(reason)
                }
            };
        }
        if all.iter().any(|said| said.allow) {
            return Before::Allow {
                changed_arguments: changed,
            };
        }
        match changed.take() {
            Some(arguments) => Before::Change(arguments),
            None => Before::Continue,
        }
    }

    async fn after_tool(&self, call: HookCall<'_>, result: &ToolResult) -> After {
        let mut details = json!({
            "tool_name": call.name,
            "tool_input": call.arguments,
            "tool_use_id": call.id,
        });
        let event = if result.is_error {
            details["error"] = json!(result.text());
            "PostToolUseFailure"
        } else {
            details["tool_response"] = structured_result(result);
            "PostToolUse"
        };
        let all = self
            .ask(event, Some(call.name), Some(call.id), details)
            .await;
        // The tool has run: what a hook says of it is for the model to read.
        match all_texts(all) {
            Some(text) => After::Note(text),
            None => After::Keep,
        }
    }

    async fn before_prompt(&self, prompt: &UserMessage) -> Prompt {
        let details = json!({"prompt": prompt.joined_text()});
        let all = self.ask("UserPromptSubmit", None, None, details).await;
        if let Some(reason) = all.iter().find_map(|said| said.block.clone()) {
            return Prompt::Deny(reason);
        }
        match all_texts(all) {
            Some(text) => Prompt::Note(text),
            None => Prompt::Continue,
        }
    }

    async fn before_end(&self, text: &str, again: bool) -> AtEnd {
        let details = json!({"stop_hook_active": again, "last_assistant_message": text});
        match all_texts(self.ask("Stop", None, None, details).await) {
            Some(text) => AtEnd::GoOn(text),
            None => AtEnd::End,
        }
    }

    async fn before_compaction(&self, trigger: Trigger) -> BeforeCompaction {
        let trigger = super::message::trigger_name(trigger);
        let details = json!({"trigger": trigger, "custom_instructions": null});
        let all = self.ask("PreCompact", None, None, details).await;
        match all.into_iter().find_map(|said| said.block) {
            Some(reason) => BeforeCompaction::Deny(reason),
            None => BeforeCompaction::Continue,
        }
    }
}

/// What the callbacks want the model to read.
fn all_texts(all: Vec<Said>) -> Option<String> {
    let texts: Vec<String> = all
        .into_iter()
        .flat_map(|said| [said.block, said.context])
        .flatten()
        .filter(|text| !text.trim().is_empty())
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(value: &Value) -> Matcher {
        Matcher::new("PreToolUse", value).unwrap()
    }

    #[test]
    fn matchers_are_about_whole_names() {
        let ids = json!(["hook_0"]);
        let is_about = |pattern: Value, tool: &str| {
            matcher(&json!({"matcher": pattern, "hookCallbackIds": ids})).is_about(Some(tool))
        };
        for all in [json!(null), json!(""), json!("*"), json!("(")] {
            assert!(is_about(all, "Write"));
        }
        assert!(is_about(json!("Write|Edit"), "Edit"));
        assert!(!is_about(json!("Write|Edit"), "MultiEdit"));
        assert!(is_about(json!("mcp__.*"), "mcp__db__query"));
        assert!(!is_about(json!("Task"), "TaskCreate"));
    }

    #[test]
    fn times_and_failures_have_safe_defaults() {
        let plain = matcher(&json!({"hookCallbackIds": ["a"]}));
        assert_eq!((plain.timeout, plain.blocks_on_failure), (PATIENCE, false));
        let strict =
            matcher(&json!({"hookCallbackIds": ["a"], "timeout": 0.5, "onFailure": "halt"}));
        assert_eq!(strict.timeout, Duration::from_millis(500));
        assert!(strict.blocks_on_failure);
        let odd = matcher(&json!({"hookCallbackIds": [], "timeout": -1, "onFailure": "continue"}));
        assert_eq!((odd.timeout, odd.blocks_on_failure), (PATIENCE, false));
        assert!(Matcher::new("Stop", &json!({"hookCallbackIds": 7})).is_none());
    }

    #[test]
    fn outputs_are_understood_in_all_their_forms() {
        assert_eq!(Said::new(&json!({})), Said::default());
        assert_eq!(Said::new(&json!(null)), Said::default());
        assert_eq!(Said::new(&json!({"async": true})), Said::default());
        let denied = Said::new(&json!({"hookSpecificOutput": {
            "permissionDecision": "deny", "permissionDecisionReason": "no"}}));
        assert_eq!(denied.block.as_deref(), Some("no"));
        let blocked = Said::new(&json!({"decision": "block", "reason": "why"}));
        assert_eq!(blocked.block.as_deref(), Some("why"));
        assert!(Said::new(&json!({"decision": "approve"})).allow);
        let changed = Said::new(&json!({"hookSpecificOutput": {"updatedInput": {"a": 1}}}));
        assert_eq!(changed.changed, Some(json!({"a": 1})));
        let context = Said::new(&json!({"hookSpecificOutput": {"additionalContext": "x"}}));
        assert_eq!(context.context.as_deref(), Some("x"));
        assert!(Said::new(&json!({"hookSpecificOutput": {"permissionDecision": "ask"}})).ask);
    }
}
