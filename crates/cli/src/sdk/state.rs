//! Whether the session works, waits for the program, or for its next message.
//!
//! The SDKs ask for these lines to learn when they may close standard input
//! (`CLAUDE_CODE_SDK_READS_SESSION_STATE`), and keep them from the program.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use uuid::Uuid;

use super::questions::Questions;

/// Tells of the state, if anybody asked for it.
#[derive(Clone)]
pub(super) struct SessionState {
    shared: Option<Arc<Shared>>,
}

struct Shared {
    host_only: bool,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    session: String,
    state: &'static str,
}

impl SessionState {
    /// A state that is told as the environment asks.
    pub(super) fn from_environment(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let is_on = |name| {
            let value = variable(name).unwrap_or_default();
            !matches!(
                value.trim().to_ascii_lowercase().as_str(),
                "" | "0" | "false" | "no"
            )
        };
        let for_program = is_on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS");
        let for_sdk = is_on("CLAUDE_CODE_SDK_READS_SESSION_STATE");
        Self {
            shared: (for_program || for_sdk).then(|| {
                Arc::new(Shared {
                    host_only: !for_program,
                    told: Mutex::default(),
                })
            }),
        }
    }

    /// The session that is told of.
    pub(super) fn set_session(&self, session: Uuid) {
        if let Some(shared) = &self.shared {
            let mut told = shared.told.lock().unwrap_or_else(PoisonError::into_inner);
            told.session = session.to_string();
        }
    }

    /// A run goes on.
    pub(super) fn running(&self, questions: &Questions) {
        self.tell("running", questions);
    }

    /// A run waits for an answer of the program.
    pub(super) fn requires_action(&self, questions: &Questions) {
        self.tell("requires_action", questions);
    }

    /// Nothing is left to do.
    pub(super) fn idle(&self, questions: &Questions) {
        self.tell("idle", questions);
    }

    fn tell(&self, state: &'static str, questions: &Questions) {
        let Some(shared) = &self.shared else { return };
        let mut told = shared.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.state == state {
            return;
        }
        told.state = state;
        let mut line = json!({
            "type": "system",
            "subtype": "session_state_changed",
            "state": state,
            "session_id": told.session,
            "uuid": Uuid::now_v7(),
        });
        if shared.host_only {
            line["sdk_host_only"] = json!(true);
        }
        questions.say(line);
    }
}
