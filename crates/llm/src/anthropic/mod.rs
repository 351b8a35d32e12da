//! Anthropic's Messages API (`POST /v1/messages`, version 2023-06-01), which llama.cpp and several
//! proxies speak too.
//!
//! What is sent is cheap to bill: marks on the tools, the system prompt, the end of the request before
//! and the end of this one make the provider read the past from its cache. The last two are two, since
//! the provider looks for an older mark only a limited number of blocks back, which one turn with many
//! parallel calls exceeds ("Prompt caching" in its documentation; four marks are allowed).

mod decode;
mod encode;
mod events;

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::capability::{Capability, ReasoningControl};
use crate::http::body::Body;
use crate::http::endpoint::{Endpoint, Setup};
use crate::http::failure::Vendor;
use crate::http::prefix::Prefix;
use crate::http::transcript::{Transcripts, check};
use crate::http::{RetryPolicy, Secret, Timeouts};
use crate::{AssistantMessage, Delta, Model, ModelError, Request};

/// Where Anthropic's own API is.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The variable of the token that stands in for a key.
const TOKEN_VARIABLE: &str = "ANTHROPIC_AUTH_TOKEN";

/// The smallest reasoning budget that the provider accepts.
const LEAST_BUDGET: u32 = 1024;

/// How to reach a model.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of the model. The suffix `[1m]` asks for a window of a million tokens and is not sent.
    pub model: String,
    /// The name that [`Model::name`] gives, where it is not `model`.
    pub label: Option<String>,
    /// The key, sent as `x-api-key`.
    pub api_key: Option<Secret>,
    /// A token, sent as `Authorization: Bearer`; proxies use it.
    pub auth_token: Option<Secret>,
    /// The address, without `/v1/messages`.
    pub base_url: String,
    /// What is known of the model.
    pub capability: Capability,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How often to try.
    pub retry: RetryPolicy,
}

impl Config {
    /// The configuration for a model at Anthropic, without a key.
    pub fn new(model: impl Into<String>) -> Self {
        let model = model.into();
        Self {
            capability: Capability::of(&model),
            model,
            label: None,
            api_key: None,
            auth_token: None,
            base_url: BASE_URL.to_owned(),
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
        }
    }
}

/// A model behind Anthropic's Messages API.
#[derive(Debug)]
pub struct Anthropic {
    name: String,
    /// The name on the wire.
    model: String,
    capability: Capability,
    endpoint: Endpoint,
    prefix: Prefix,
    transcripts: Transcripts<encode::Messages>,
}

impl Anthropic {
    /// Prepares to ask a model; nothing is sent yet.
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn new(config: Config) -> Result<Self, ModelError> {
        let vendor = Vendor::Anthropic;
        let mut headers = HeaderMap::new();
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        if let Some(key) = &config.api_key {
            headers.insert("x-api-key", key.header("", vendor.key_variable())?);
        }
        if let Some(token) = &config.auth_token {
            headers.insert(AUTHORIZATION, token.header("Bearer ", TOKEN_VARIABLE)?);
        }
        let model = match config.model.strip_suffix("[1m]") {
            Some(model) => {
                let beta = HeaderValue::from_static("context-1m-2025-08-07");
                headers.insert("anthropic-beta", beta);
                model.to_owned()
            }
            None => config.model.clone(),
        };
        let endpoint = Endpoint::new(Setup {
            vendor,
            base_url: &config.base_url,
            path: &["v1", "messages"],
            base_has_version: false,
            headers,
            key_variable: match (&config.api_key, &config.auth_token) {
                (None, Some(_)) => TOKEN_VARIABLE,
                _ => vendor.key_variable(),
            },
            secrets: config
                .api_key
                .into_iter()
                .chain(config.auth_token)
                .collect(),
            model: model.clone(),
            timeouts: config.timeouts,
            retry: config.retry,
        })?;
        Ok(Self {
            name: config.label.unwrap_or(config.model),
            model,
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
        let start = encode::Messages::default;
        self.transcripts
            .read(request.conversation, start, |messages| {
                self.body_with(request, messages)
            })
    }

    fn body_with(
        &self,
        request: &Request<'_>,
        messages: &mut encode::Messages,
    ) -> Result<Body, ModelError> {
        if !messages.is_answerable() {
            return Err(ModelError::Malformed("it asks nothing".to_owned()));
        }
        let marks = self.capability.cache_marks;
        let may_reason = !self.capability.reasoning_first || !messages.last_call_lacks_reasoning();
        let (max_tokens, thinking) = limits(&self.capability, request, may_reason);
        let mut head = json!({
            "model": self.model,
            "max_tokens": max_tokens,
            "stream": true,
        });
        if let Some(thinking) = thinking {
            insert(&mut head, "thinking", thinking);
        }
        let stand_ins = if request.tools.is_empty() {
            messages.called_tools()
        } else {
            Vec::new()
        };
        if !stand_ins.is_empty() {
            insert(&mut head, "tool_choice", json!({ "type": "none" }));
        }
        let tools = if stand_ins.is_empty() {
            request.tools
        } else {
            &stand_ins
        };
        let mut body = Body::default();
        // The object goes on with the prefix.
        let head = head.to_string();
        body.push(head.strip_suffix('}').unwrap_or_default().to_owned() + ",");
        body.push(self.prefix.of(request.system, tools, |system, tools| {
            encode::prefix(system, tools, marks)
        }));
        messages.write(&mut body, marks);
        body.push("}");
        Ok(body)
    }
}

#[async_trait]
impl Model for Anthropic {
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

fn insert(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

/// The values of `max_tokens` and `thinking`.
///
/// The provider wants a limit with every request, adds it to the prompt, and refuses what exceeds the
/// window together; so the model's own limit is not used up by default. A budget must be smaller than
/// the limit, and the answer needs room besides it.
fn limits(
    capability: &Capability,
    request: &Request<'_>,
    may_reason: bool,
) -> (u32, Option<Value>) {
    let most = capability.max_output_tokens;
    let answer = request
        .max_output_tokens
        .unwrap_or(capability.context_window / 6)
        .clamp(1, most);
    match (capability.reasoning, request.reasoning_tokens) {
        // An effort is asked for on another wire.
        (ReasoningControl::None | ReasoningControl::Effort, _) | (_, None) => (answer, None),
        (_, Some(0)) => (answer, Some(json!({ "type": "disabled" }))),
        _ if !may_reason => (answer, Some(json!({ "type": "disabled" }))),
        (ReasoningControl::Adaptive, Some(_)) => (answer, Some(json!({ "type": "adaptive" }))),
        (ReasoningControl::Budget, Some(budget)) => {
            let budget = budget.max(LEAST_BUDGET);
            let max_tokens = if budget < answer {
                answer
            } else {
                budget.saturating_add(answer).min(most)
            };
            let room = answer.min(max_tokens / 4).max(1);
            let budget = budget.min(max_tokens.saturating_sub(room));
            if budget < LEAST_BUDGET {
                return (answer, Some(json!({ "type": "disabled" })));
            }
            let thinking = json!({ "type": "enabled", "budget_tokens": budget });
            (max_tokens, Some(thinking))
        }
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
