//! What the program asks of Pod, and the answers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pod::{Handle, PermissionMode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::mcp::Server;
use super::message::{PROTOCOL_VERSION, api_key_source};
use super::setup;

/// What can be asked and changed while a run goes on.
pub(super) struct Live {
    pub(super) session: Uuid,
    pub(super) handle: Handle,
    pub(super) directory: PathBuf,
    pub(super) servers: Vec<Server>,
    /// The names of the tools.
    pub(super) tools: Vec<String>,
    /// The model, as the program named it.
    pub(super) model: String,
    /// The model at the beginning.
    pub(super) first_model: String,
    /// The tokens of the last request and its answer.
    pub(super) context: u64,
    /// The names of the messages that wait for their turn.
    pub(super) queued: Arc<Mutex<Vec<Value>>>,
}

/// Why a request is refused.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal {
    text: String,
    code: Option<&'static str>,
}

impl Refusal {
    fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            code: None,
        }
    }
}

/// The answer to the request `initialize`.
pub(super) fn initialized(mode: PermissionMode, hooks_applied: bool) -> Value {
    let model = |value: &str, name: &str| json!({"value": value, "displayName": name, "description": "As the provider names it"});
    json!({
        "commands": [{
            "name": "compact",
            "description": "Summarise the conversation; the task list is carried whole",
            "argumentHint": "",
        }],
        "agents": [],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": [model("opus", "Opus"), model("sonnet", "Sonnet"), model("haiku", "Haiku")],
        "account": {"apiKeySource": api_key_source()},
        "pid": std::process::id(),
        "claude_code_version": PROTOCOL_VERSION,
        "pod_version": env!("CARGO_PKG_VERSION"),
        "current_permission_mode": mode.as_str(),
        "hooks_applied": hooks_applied,
        "hook_on_failure_supported": true,
        "capabilities": [],
    })
}

/// The line that answers a request.
pub(super) fn response(id: &str, answer: Result<Value, Refusal>) -> Value {
    let response = match answer {
        // An answer without a payload has none, rather than null.
        Ok(Value::Null) => json!({"subtype": "success", "request_id": id}),
        Ok(payload) => json!({"subtype": "success", "request_id": id, "response": payload}),
        Err(refusal) => {
            let mut response = json!({"subtype": "error", "request_id": id, "error": refusal.text});
            if let Some(code) = refusal.code {
                response["error_code"] = json!(code);
            }
            response
        }
    };
    json!({"type": "control_response", "response": response})
}

impl Live {
    /// Does what the program asks for.
    pub(super) fn answer(&mut self, request: &Value) -> Result<Value, Refusal> {
        let text = |field: &str| request[field].as_str();
        match text("subtype").unwrap_or_default() {
            // The hooks and servers of a session stand by now.
            "initialize" => Ok(initialized(self.handle.permission_mode(), false)),
            "interrupt" => {
                self.handle.interrupt();
                let queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(json!({"still_queued": *queued}))
            }
            "set_permission_mode" => self.set_mode(text("mode").unwrap_or_default()),
            "set_model" => self.set_model(text("model")),
            "set_max_thinking_tokens" => {
                let tokens = &request["max_thinking_tokens"];
                let tokens = tokens
                    .as_u64()
                    .map(|it| u32::try_from(it).unwrap_or(u32::MAX));
                self.handle.set_reasoning_tokens(tokens);
                Ok(Value::Null)
            }
            "mcp_status" => Ok(self.server_status()),
            "get_context_usage" => Ok(self.context_usage()),
            "rewind_files" => {
                let error = "Pod keeps no copies of files, so they cannot be taken back; rewind the conversation with resumeSessionAt, and files with version control";
                if request["dry_run"] == json!(true) {
                    Ok(json!({"canRewind": false, "error": error}))
                } else {
                    Err(Refusal::new(error))
                }
            }
            "mcp_reconnect" | "mcp_toggle" => {
                let name = text("serverName").unwrap_or_default();
                Err(Refusal::new(
                    if self.servers.iter().any(|it| it.name == name) {
                        format!(
                            "the tools of a session stand when it begins, so {name} stays as it is"
                        )
                    } else {
                        format!("Server not found: {name}")
                    },
                ))
            }
            // There is no background work that could be stopped.
            "stop_task" => Ok(json!({})),
            // Nothing is kept of what was read before a session, and a session ends with its input.
            "seed_read_state" | "end_session" => Ok(Value::Null),
            subtype => Err(Refusal {
                text: format!("Unsupported control request subtype: {subtype}"),
                code: Some("unsupported_request"),
            }),
        }
    }

    fn set_mode(&self, mode: &str) -> Result<Value, Refusal> {
        match mode.parse() {
            Ok(mode) => {
                self.handle.set_permission_mode(mode);
                Ok(json!({"mode": mode.as_str()}))
            }
            Err(text) => Err(Refusal {
                text,
                code: Some("invalid_mode"),
            }),
        }
    }

    fn set_model(&mut self, name: Option<&str>) -> Result<Value, Refusal> {
        let name = match name {
            None | Some("default") => self.first_model.clone(),
            Some(name) => name.to_owned(),
        };
        match setup::choose(&name, 0) {
            Ok(chosen) => {
                self.handle.set_model(chosen.model);
                self.model.clone_from(&name);
                Ok(json!({"model": name}))
            }
            Err(error) => Err(Refusal::new(crate::terminal::chain(&error))),
        }
    }

    fn server_status(&self) -> Value {
        let servers: Vec<Value> = self
            .servers
            .iter()
            .map(|server| {
                let mut status = json!({"name": server.name, "status": server.status()});
                if let Some(error) = &server.error {
                    status["error"] = json!(error);
                } else {
                    status["serverInfo"] = server.info.clone();
                    status["tools"] = server
                        .tools
                        .iter()
                        .map(|tool| json!({"name": tool}))
                        .collect();
                }
                status
            })
            .collect();
        json!({"mcpServers": servers})
    }

    /// The figures of the last request, as the provider gave them. What is not known is not made up.
    fn context_usage(&self) -> Value {
        let window = u64::from(self.handle.model().capability().context_window);
        let free = window.saturating_sub(self.context);
        let percentage = (self.context * 100).checked_div(window).unwrap_or(0);
        json!({
            "categories": [
                {"id": "messages", "name": "Conversation", "tokens": self.context, "color": "blue", "kind": "used"},
                {"id": "free_space", "name": "Free space", "tokens": free, "color": "gray", "kind": "free"},
            ],
            "totalTokens": self.context,
            "maxTokens": window,
            "rawMaxTokens": window,
            "percentage": percentage,
            "gridRows": [],
            "model": self.model,
            "memoryFiles": [],
            "mcpTools": [],
            "agents": [],
        })
    }
}
