//! From what a provider refused to an error that says what to do next.

use std::time::Duration;

use serde_json::Value;

use super::Secret;
use super::json::excerpt;
use crate::ModelError;

/// Who is asked, as far as errors tell it.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) vendor: Vendor,
    /// Host and port.
    pub(crate) address: String,
    /// The whole address of requests.
    pub(crate) url: String,
    /// The name of the model on the wire.
    pub(crate) model: String,
    /// The keys that were sent; no error shows them.
    pub(crate) secrets: Vec<Secret>,
    /// The variable that the key comes from.
    pub(crate) key_variable: &'static str,
}

/// Which advice fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vendor {
    /// Anthropic, or what speaks like it.
    Anthropic,
    /// OpenAI, or what speaks like it.
    #[default]
    OpenAi,
    /// An Ollama server.
    Ollama,
}

impl Vendor {
    /// The variable that holds the key.
    pub(crate) fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi | Self::Ollama => "OPENAI_API_KEY",
        }
    }

    /// The variable that holds the address.
    pub(crate) fn address_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Ollama => "OLLAMA_HOST",
        }
    }
}

/// What a provider says is wrong, from a status and a body, or from inside a stream.
#[derive(Debug, Default)]
pub(crate) struct Refusal {
    pub(crate) status: Option<u16>,
    /// The provider's name for the kind of error, or several, in lower case.
    kind: String,
    message: String,
}

impl Refusal {
    /// Reads the body of an error response. Every provider has its own shape:
    /// `{"error":{"type","message","code"}}` (Anthropic, OpenAI, llama.cpp), `{"error":"..."}` (Ollama),
    /// `{"message","type","code"}` (vLLM), `{"detail":...}` (proxies), or no JSON at all.
    pub(crate) fn from_body(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let refusal = match serde_json::from_str::<Value>(&text) {
            Ok(value) => Self::from_value(&value),
            Err(_) => Self {
                message: excerpt(text.trim(), 300),
                ..Self::default()
            },
        };
        Self {
            status: Some(status),
            ..refusal
        }
    }

    /// Reads an error that stands inside a stream. Anthropic's types stand for the statuses that
    /// they have outside of one (docs.anthropic.com, "Errors"), and so do the codes of OpenAI Responses
    /// for what is wrong with the request itself; llama.cpp sends the status as `code`.
    pub(crate) fn from_stream(value: &Value) -> Self {
        let refusal = Self::from_value(value);
        let code = value.pointer("/error/code").or_else(|| value.get("code"));
        let sent = code
            .and_then(Value::as_u64)
            .and_then(|code| u16::try_from(code).ok());
        let known = [
            ("overloaded", 529),
            ("rate_limit", 429),
            ("invalid_request", 400),
            ("authentication", 401),
            ("permission", 403),
            ("not_found", 404),
            ("request_too_large", 413),
            ("invalid_prompt", 400),
            ("policy", 400),
            ("image", 400),
        ];
        let named = known.iter().find(|(kind, _)| refusal.kind.contains(kind));
        Self {
            status: sent
                .filter(|code| (400..600).contains(code))
                .or(named.map(|(_, status)| *status)),
            ..refusal
        }
    }

    fn from_value(value: &Value) -> Self {
        let error = value.get("error").unwrap_or(value);
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let message = error
            .as_str()
            .or_else(|| text("message"))
            .or_else(|| text("detail"))
            .map_or_else(|| excerpt(&value.to_string(), 300), str::to_owned);
        let kinds = ["type", "code"].into_iter().filter_map(text);
        Self {
            status: None,
            kind: kinds.collect::<Vec<_>>().join(" ").to_lowercase(),
            message,
        }
    }

    /// Adds the id by which the provider's support finds the request.
    pub(crate) fn with_request_id(mut self, id: Option<&str>) -> Self {
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            self.message = format!("{} (request id {})", self.message, excerpt(id, 80));
        }
        self
    }

    /// The error that it is.
    pub(crate) fn into_error(self, service: &Service, wait: Option<Duration>) -> ModelError {
        let Service {
            vendor,
            address,
            key_variable: key,
            ..
        } = service;
        let is_long = self.is_prompt_too_long();
        let is_model = self.is_unknown_model();
        let is_unpaid = self.is_unpaid();
        let secrets = service.secrets.iter();
        let message = secrets.fold(self.message, |message, secret| secret.redact(message));
        let message = if message.is_empty() {
            "it gives no reason".to_owned()
        } else {
            message
        };
        match self.status {
            _ if is_long => ModelError::PromptTooLong(message),
            _ if is_unpaid => ModelError::Authentication(format!(
                "{address} does not answer for want of credit: {message}; add credit to the \
                 account of {key}, or use another model"
            )),
            Some(401 | 403) if service.secrets.is_empty() => {
                ModelError::Authentication(format!("{address} wants a key: {message}; set {key}"))
            }
            Some(401) => ModelError::Authentication(format!(
                "{address} refused the key: {message}; check {key}"
            )),
            Some(403) => ModelError::Authentication(format!(
                "{address} does not allow this: {message}; check what the key in {key} may do"
            )),
            _ if is_model => {
                let model = &service.model;
                let advice = match vendor {
                    Vendor::Ollama => format!("get it with `ollama pull {model}`"),
                    Vendor::Anthropic | Vendor::OpenAi => "check the name of the model".to_owned(),
                };
                ModelError::UnknownModel(format!(
                    "{address} does not know the model `{model}`: {message}; {advice}"
                ))
            }
            Some(status @ 404) => ModelError::InvalidRequest {
                status,
                message: format!(
                    "{} is no address that answers: {message}; check {}",
                    service.url,
                    vendor.address_variable()
                ),
            },
            Some(status @ (429 | 503 | 529)) => ModelError::Overloaded {
                status,
                message,
                retry_after: wait,
            },
            Some(status @ (408 | 409 | 500..)) => ModelError::Provider {
                status: Some(status),
                message,
            },
            Some(status) => ModelError::InvalidRequest { status, message },
            None => ModelError::Provider {
                status: None,
                message,
            },
        }
    }

    fn says(&self, phrases: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        phrases.iter().any(|phrase| message.contains(phrase))
    }

    /// The words of Anthropic ("prompt is too long", "input length and `max_tokens` exceed context
    /// limit"), OpenAI and vLLM ("maximum context length", "context window"), llama.cpp ("exceeds the
    /// available context size") and Ollama ("exceeds the context length").
    fn is_prompt_too_long(&self) -> bool {
        let kinds = [
            "context_length_exceeded",
            "exceed_context_size",
            "request_too_large",
        ];
        self.status == Some(413)
            || kinds.iter().any(|kind| self.kind.contains(kind))
            || self.status != Some(429)
                && self.says(&[
                    "prompt is too long",
                    "prompt too long",
                    "exceed context limit",
                    "maximum context length",
                    "max context length",
                    "exceeds the context window",
                    "exceeds the context length",
                    "exceeds the available context size",
                ])
    }

    fn is_unpaid(&self) -> bool {
        self.status == Some(402)
            || self.kind.contains("insufficient_quota")
            || self.kind.contains("billing")
            || self.says(&["credit balance is too low"])
    }

    fn is_unknown_model(&self) -> bool {
        self.kind.contains("model_not_found")
            || self.status == Some(404) && self.says(&["model"])
            || self.status == Some(400) && self.says(&["invalid model"])
    }
}

/// The provider breaks its own protocol; another attempt may do better.
pub(crate) fn out_of_order(what: &str) -> ModelError {
    ModelError::Provider {
        status: None,
        message: format!("its stream is out of order: {what}"),
    }
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
