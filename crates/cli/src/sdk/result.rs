//! The last line of a run.

use llm::{StopReason, ToolCall};
use pod::{Outcome, PodError, Status};
use serde_json::{Value, json};
use uuid::Uuid;

use super::cost::Ledger;
use super::message::{of_session, sent, usage_fields};

/// What is known of a run beside its outcome.
pub(super) struct Circumstances<'a> {
    pub(super) session: Uuid,
    pub(super) ledger: &'a Ledger,
    pub(super) max_turns: Option<u32>,
    /// The budget that was used up, if that ended the run.
    pub(super) budget: Option<f64>,
    /// Why a hook wanted all work to stop, if one did.
    pub(super) stopped: Option<&'a str>,
    /// Whether the run was interrupted between a call and its result.
    pub(super) in_tools: bool,
}

/// The last line of a run, and whether it tells of an error.
pub(super) fn result(outcome: &Outcome, circumstances: &Circumstances<'_>) -> (Value, bool) {
    let mut line = frame(circumstances.session);
    line["duration_ms"] = milliseconds(outcome.duration);
    line["duration_api_ms"] = milliseconds(outcome.model_duration);
    line["num_turns"] = json!(outcome.turns);
    line["stop_reason"] = json!(outcome.stop_reason.as_ref().map(StopReason::as_str));
    line["total_cost_usd"] = json!(circumstances.ledger.cost());
    line["usage"] = usage_fields(&outcome.usage);
    line["modelUsage"] = circumstances.ledger.by_model();
    line["permission_denials"] = outcome.denials.iter().map(denial).collect();

    let mut error = |subtype: &str, reason: &str, errors: &[String]| {
        line["subtype"] = json!(subtype);
        line["is_error"] = json!(true);
        line["errors"] = json!(errors);
        line["terminal_reason"] = json!(reason);
    };
    match &outcome.status {
        Status::Completed => line["result"] = json!(outcome.text),
        Status::MaxTurns => {
            // One more than the answers: the one that was not given any more.
            let limit = circumstances.max_turns.unwrap_or(outcome.turns);
            let text = format!("Reached maximum number of turns ({limit})");
            error("error_max_turns", "max_turns", &[text]);
            line["num_turns"] = json!(outcome.turns + 1);
        }
        _ if circumstances.budget.is_some() => {
            let budget = circumstances.budget.unwrap_or_default();
            let text = format!("Reached maximum budget (${budget})");
            error("error_max_budget_usd", "budget_exhausted", &[text]);
        }
        Status::Interrupted => {
            if let Some(reason) = circumstances.stopped {
                line["result"] = json!(reason);
                line["terminal_reason"] = json!("hook_stopped");
            } else if circumstances.in_tools {
                error("error_during_execution", "aborted_tools", &[]);
            } else {
                error("error_during_execution", "aborted_streaming", &[]);
            }
        }
        Status::Failed(PodError::PromptDenied(reason)) => {
            line["result"] = json!(reason);
            line["terminal_reason"] = json!("hook_stopped");
        }
        Status::Failed(PodError::Model(failure)) => {
            line["is_error"] = json!(true);
            line["result"] = json!(api_error(failure));
            line["api_error_status"] = json!(failure.status());
            line["terminal_reason"] = json!(match failure {
                llm::ModelError::PromptTooLong(_) => "prompt_too_long",
                _ => "api_error",
            });
        }
        Status::Failed(failure) => {
            error(
                "error_during_execution",
                "model_error",
                &[failure.to_string()],
            );
        }
        _ => error("error_during_execution", "model_error", &[]),
    }
    let is_error = line["is_error"] == json!(true);
    (line, is_error)
}

/// The text of a failure of the model's server.
pub(super) fn api_error(failure: &llm::ModelError) -> String {
    match failure.status() {
        Some(status) => format!("API Error: {status} {failure}"),
        None => format!("API Error: {failure}"),
    }
}

/// The same line, as a success with this answer.
pub(super) fn answered(mut line: Value, text: &str) -> Value {
    line["subtype"] = json!("success");
    line["is_error"] = json!(false);
    line["errors"] = json!([]);
    line["result"] = json!(text);
    line["terminal_reason"] = json!("completed");
    line
}

/// The only line of a session that could not begin.
pub(super) fn not_begun(session: Uuid, error: &str) -> Value {
    let mut line = frame(session);
    line["subtype"] = json!("error_during_execution");
    line["is_error"] = json!(true);
    line["errors"] = json!([error]);
    line["terminal_reason"] = json!("turn_setup_failed");
    line
}

/// A result that tells of a success without a word.
fn frame(session: Uuid) -> Value {
    of_session(
        session,
        json!({
            "type": "result",
            "subtype": "success",
            "is_error": false,
            "duration_ms": 0,
            "duration_api_ms": 0,
            "num_turns": 0,
            "stop_reason": null,
            "total_cost_usd": 0.0,
            "usage": usage_fields(&llm::Usage::default()),
            "modelUsage": {},
            "permission_denials": [],
            // The TypeScript SDK needs the list on errors.
            "errors": [],
            "terminal_reason": "completed",
        }),
    )
}

fn milliseconds(duration: std::time::Duration) -> Value {
    json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

fn denial(call: &ToolCall) -> Value {
    json!({
        "tool_name": call.name,
        "tool_use_id": call.id,
        "tool_input": sent(&call.arguments),
    })
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
