//! The events of Responses, as they stand on the wire.

use serde::Deserialize;
use serde_json::Value;

use crate::Usage;
use crate::http::json;

/// An event. One of these carries few of the fields; fields that servers fill in their own ways are
/// read leniently.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireEvent {
    #[serde(rename = "type", deserialize_with = "json::lenient")]
    pub(super) kind: String,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) response: Option<WireResponse>,
    /// The place of the item in the response.
    #[serde(deserialize_with = "json::lenient")]
    pub(super) output_index: Option<u64>,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) item_id: Option<String>,
    pub(super) item: Option<Value>,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) delta: Option<String>,
    /// The whole arguments, once they are.
    #[serde(deserialize_with = "json::lenient")]
    pub(super) arguments: Option<String>,
    pub(super) error: Option<Value>,
}

/// The response as far as it has come.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireResponse {
    #[serde(deserialize_with = "json::lenient")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) model: Option<String>,
    pub(super) error: Option<Value>,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) incomplete_details: WireIncomplete,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) usage: Option<WireUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireIncomplete {
    #[serde(deserialize_with = "json::lenient")]
    pub(super) reason: Option<String>,
}

/// An item of the response.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireItem {
    #[serde(rename = "type", deserialize_with = "json::lenient")]
    pub(super) kind: String,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) status: Option<String>,
    // Of a call.
    #[serde(deserialize_with = "json::lenient")]
    pub(super) call_id: Option<String>,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) name: String,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) arguments: String,
    // Of a message, and of reasoning.
    #[serde(deserialize_with = "json::lenient")]
    pub(super) content: Vec<WirePart>,
    // Of reasoning.
    #[serde(deserialize_with = "json::lenient")]
    pub(super) summary: Vec<WirePart>,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) encrypted_content: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WirePart {
    #[serde(rename = "type", deserialize_with = "json::lenient")]
    pub(super) kind: String,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) text: String,
    #[serde(deserialize_with = "json::lenient")]
    pub(super) refusal: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(deserialize_with = "json::lenient")]
    input_tokens_details: WireInputDetails,
    #[serde(deserialize_with = "json::lenient")]
    output_tokens_details: WireOutputDetails,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireInputDetails {
    #[serde(deserialize_with = "json::lenient")]
    cached_tokens: u64,
    #[serde(deserialize_with = "json::lenient")]
    cache_write_tokens: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireOutputDetails {
    #[serde(deserialize_with = "json::lenient")]
    reasoning_tokens: u64,
}

impl WireUsage {
    pub(super) fn normalised(&self) -> Usage {
        Usage {
            input: self.input_tokens,
            cache_read: self.input_tokens_details.cached_tokens,
            cache_write: self.input_tokens_details.cache_write_tokens,
            output: self.output_tokens,
            reasoning: self.output_tokens_details.reasoning_tokens,
        }
    }
}
