//! OpenAI's Chat Completions (`POST /v1/chat/completions`), which Ollama, llama.cpp, vLLM, OpenRouter
//! and most others speak too.
//!
//! The protocol knows neither reasoning that is sent back, nor failed results, nor cache marks (the
//! providers cache by themselves), nor a reasoning budget, so [`Request::reasoning_tokens`] has no
//! effect here.
//!
//! [`Request::reasoning_tokens`]: crate::Request::reasoning_tokens

mod chunks;
mod decode;
mod encode;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::http::body::Body;
use crate::http::endpoint::Endpoint;
use crate::http::prefix::Prefix;
use crate::http::transcript::{Transcripts, check};
use crate::openai;
pub use crate::openai::{BASE_URL, Config};
use crate::{AssistantMessage, Capability, Delta, Model, ModelError, Request};

/// A model behind Chat Completions.
#[derive(Debug)]
pub struct OpenAiChat {
    name: String,
    model: String,
    capability: Capability,
    endpoint: Endpoint,
    prefix: Prefix,
    transcripts: Transcripts<encode::Messages>,
}

impl OpenAiChat {
    /// Prepares to ask a model; nothing is sent yet.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn new(config: Config) -> Result<Self, ModelError> {
        let endpoint = config.endpoint(&["v1", "chat", "completions"])?;
        Ok(Self {
            name: config.label.unwrap_or_else(|| config.model.clone()),
            model: config.model,
            capability: config.capability,
            endpoint,
            prefix: Prefix::default(),
            transcripts: Transcripts::default(),
        })
    }

    /// Builds a request as [`Model::respond`] does, and gives its length in bytes. For benchmarks.
    #[doc(hidden)]
    pub fn build_request(&self, request: &Request<'_>) -> Result<usize, ModelError> {
        let body = self.body(request)?;
        drop(body.to_stream());
        Ok(body.len())
    }

    /// Reads a response that came in these pieces, as [`Model::respond`] does. For benchmarks.
    #[doc(hidden)]
    pub fn read_response<'a>(
        &self,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<AssistantMessage, ModelError> {
        self.endpoint
            .read(decode::Response::new(&self.model), pieces)
    }

    fn body(&self, request: &Request<'_>) -> Result<Body, ModelError> {
        check(request.conversation)?;
        let system_in_conversation = self.capability.system_in_conversation;
        let prefix = self
            .prefix
            .of(request.system, request.tools, encode::prefix);
        let start = || encode::Messages::new(system_in_conversation);
        self.transcripts
            .read(request.conversation, start, |messages| {
                let row = messages
                    .answerable()
                    .ok_or_else(|| ModelError::Malformed("it asks nothing".to_owned()))?;
                Ok(openai::body(&self.head(request), prefix, row))
            })
    }

    fn head(&self, request: &Request<'_>) -> Value {
        let mut head = json!({
            "model": self.model,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        if let (Some(limit), Some(head)) = (request.max_output_tokens, head.as_object_mut()) {
            // OpenAI's reasoning models refuse the older name, other servers do not know the newer.
            let name = self.model.rsplit('/').next().unwrap_or_default();
            let is_newer = ["gpt-5", "o1", "o3", "o4"]
                .iter()
                .any(|prefix| name.starts_with(prefix));
            let field = if is_newer {
                "max_completion_tokens"
            } else {
                "max_tokens"
            };
            let limit = limit.clamp(1, self.capability.max_output_tokens);
            head.insert(field.to_owned(), json!(limit));
        }
        head
    }
}

#[async_trait]
impl Model for OpenAiChat {
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
