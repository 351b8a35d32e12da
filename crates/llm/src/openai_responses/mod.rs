//! OpenAI's Responses (`POST /v1/responses`), used without any state at the provider: `store` is off,
//! and each request holds the whole conversation.
//!
//! Reasoning comes sealed (`include: ["reasoning.encrypted_content"]`) and is kept as [`Sealed`]. It
//! goes back in front of what the model said or called behind it, to the server that gave it and to
//! nobody else. Models that do not reason refuse both, so it rests on [`ReasoningControl::Effort`].
//!
//! The provider caches by itself whatever begins like an earlier request. The facts of the protocol
//! are those of the types in OpenAI's package for Python (`openai` 3.57.0, `openai.types.responses`).
//!
//! [`Sealed`]: crate::Sealed

mod decode;
mod encode;
mod events;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::capability::ReasoningControl;
use crate::http::body::Body;
use crate::http::endpoint::Endpoint;
use crate::http::prefix::Prefix;
use crate::http::transcript::{Transcripts, check};
use crate::openai;
pub use crate::openai::{BASE_URL, Config};
use crate::{AssistantMessage, Capability, Delta, Model, ModelError, Request};

/// The smallest limit of an answer that the provider accepts.
const LEAST_OUTPUT: u32 = 16;

/// A model behind Responses.
#[derive(Debug)]
pub struct OpenAiResponses {
    name: String,
    model: String,
    capability: Capability,
    endpoint: Endpoint,
    prefix: Prefix,
    transcripts: Transcripts<encode::Input>,
}

impl OpenAiResponses {
    /// Prepares to ask a model; nothing is sent yet.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn new(config: Config) -> Result<Self, ModelError> {
        let endpoint = config.endpoint(&["v1", "responses"])?;
        Ok(Self {
            name: config.label.unwrap_or_else(|| config.model.clone()),
            model: config.model,
            capability: config.capability,
            endpoint,
            prefix: Prefix::default(),
            transcripts: Transcripts::default(),
        })
    }

    /// Whether the model reasons, as far as this protocol has words for it.
    fn reasons(&self) -> bool {
        self.capability.reasoning == ReasoningControl::Effort
    }

    fn body(&self, request: &Request<'_>) -> Result<Body, ModelError> {
        check(request.conversation)?;
        let prefix = self
            .prefix
            .of(request.system, request.tools, encode::prefix);
        let start = || {
            encode::Input::new(encode::Reader {
                system_in_conversation: self.capability.system_in_conversation,
                unseals: self.reasons().then(|| self.endpoint.address().to_owned()),
            })
        };
        self.transcripts.read(request.conversation, start, |input| {
            let row = input
                .answerable()
                .ok_or_else(|| ModelError::Malformed("it asks nothing".to_owned()))?;
            Ok(openai::body(&self.head(request), prefix, row))
        })
    }

    fn head(&self, request: &Request<'_>) -> Value {
        let mut head = json!({
            "model": self.model,
            "stream": true,
            "store": false,
        });
        let mut set = |field: &str, value: Value| {
            if let Some(head) = head.as_object_mut() {
                head.insert(field.to_owned(), value);
            }
        };
        if self.reasons() {
            set("include", json!(["reasoning.encrypted_content"]));
            if let Some(budget) = request.reasoning_tokens {
                set("reasoning", json!({ "effort": effort(budget) }));
            }
        }
        if let Some(limit) = request.max_output_tokens {
            let most = self.capability.max_output_tokens.max(LEAST_OUTPUT);
            set("max_output_tokens", json!(limit.clamp(LEAST_OUTPUT, most)));
        }
        head
    }
}

/// The effort for a budget of tokens: one of the three that every model that reasons knows. None of
/// them can be told not to reason at all, so the least stands for that too.
fn effort(budget: u32) -> &'static str {
    match budget {
        0..=4_096 => "low",
        4_097..=16_384 => "medium",
        _ => "high",
    }
}

#[async_trait]
impl Model for OpenAiResponses {
    fn name(&self) -> &str {
        &self.name
    }

    fn capability(&self) -> &Capability {
        &self.capability
    }

    async fn respond(
        &self,
        request: Request<'_>,
        watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<AssistantMessage, ModelError> {
        let body = self.body(&request)?;
        let start = || decode::Response::new(&self.model);
        self.endpoint.respond(&body, start, watch).await
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
