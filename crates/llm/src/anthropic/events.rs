//! The events of Anthropic's stream, as they stand on the wire.
//!
//! The page "Streaming messages" of its documentation has them. What is not known is kept out of the
//! way by `Unknown`.

use serde::Deserialize;
use serde_json::Value;

use crate::http::json;

/// The events, as the page "Streaming messages" of Anthropic's documentation has them.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WireEvent {
    MessageStart {
        message: WireMessage,
    },
    ContentBlockStart {
        index: u64,
        content_block: WireBlock,
    },
    ContentBlockDelta {
        index: u64,
        delta: WireDelta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: WireStop,
        #[serde(default, deserialize_with = "json::lenient")]
        usage: WireUsage,
    },
    MessageStop,
    Error {
        error: Value,
    },
    /// `ping`, and whatever will be added.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireMessage {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) model: String,
    #[serde(default, deserialize_with = "json::lenient")]
    pub(super) usage: WireUsage,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WireBlock {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Option<Value>,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WireDelta {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireStop {
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
}

/// Token counts. The counts of `message_delta` are totals that replace those of `message_start`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names are the protocol's")]
pub(super) struct WireUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
}
