//! The chunks of Chat Completions, as they stand on the wire.

use serde::Deserialize;
use serde_json::Value;

use crate::Usage;
use crate::http::json;

/// A chunk, as OpenAI's API reference has it ("The chat completion chunk object"). Fields that
/// servers fill in their own ways are read leniently.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireChunk {
    #[serde(deserialize_with = "json::lenient")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) model: Option<String>,
    pub(super) choices: Option<Vec<WireChoice>>,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireChoice {
    pub(super) index: u64,
    pub(super) delta: Option<WireDelta>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireDelta {
    pub(super) content: Option<Value>,
    pub(super) refusal: Option<String>,
    /// So llama.cpp, vLLM and the `deepseek` models.
    #[serde(deserialize_with = "json::lenient")]
    pub(super) reasoning_content: Option<String>,
    /// So OpenRouter and Ollama.
    #[serde(deserialize_with = "json::lenient")]
    pub(super) reasoning: Option<String>,
    pub(super) tool_calls: Option<Vec<WireCall>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireCall {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<WireFunction>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireFunction {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) prompt_tokens_details: WirePromptDetails,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) completion_tokens_details: WireCompletionDetails,
    /// The name that the `deepseek` models have for the tokens from the cache.
    #[serde(deserialize_with = "json::lenient")]
    pub(super) prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WirePromptDetails {
    #[serde(deserialize_with = "json::lenient")]
    pub(super) cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireCompletionDetails {
    #[serde(deserialize_with = "json::lenient")]
    pub(super) reasoning_tokens: Option<u64>,
}

impl WireUsage {
    pub(super) fn normalised(&self) -> Usage {
        let cached = self.prompt_tokens_details.cached_tokens;
        Usage {
            input: self.prompt_tokens,
            cache_read: cached.or(self.prompt_cache_hit_tokens).unwrap_or(0),
            cache_write: 0,
            output: self.completion_tokens,
            reasoning: self.completion_tokens_details.reasoning_tokens.unwrap_or(0),
        }
    }
}
