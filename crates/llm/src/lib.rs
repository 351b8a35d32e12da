//! What a conversation with a language model is made of, and how it reaches one.
//!
//! - [`item`]: the entries of a conversation. [`conversation`]: an append-only row of them.
//! - [`model`]: the [`Model`] trait, what is asked of a model and what can go wrong.
//! - [`capability`]: what is known of each model family. [`price`]: what they cost.
//! - [`anthropic`], [`openai_chat`] and [`openai_responses`]: the wires; [`http`]: what they share;
//!   [`provider`]: from the name of a model to a model. [`probe`]: whether somebody is there.
//! - [`rules`]: what makes a conversation well-formed, as code.
//! - [`scripted`], [`recorded`]: two models that need no network.
//!
//! This crate knows no tools, no files of a session and no environment of the process.

pub mod anthropic;
pub mod arguments;
pub mod capability;
pub mod conversation;
pub mod http;
pub mod item;
pub mod json_text;
pub mod model;
mod openai;
pub mod openai_chat;
pub mod openai_responses;
mod outline;
mod playback;
pub mod price;
pub mod probe;
pub mod provider;
pub mod recorded;
pub mod rules;
pub mod scripted;
pub mod tokens;

pub use arguments::Arguments;
pub use capability::{Capabilities, Capability};
pub use conversation::Conversation;
pub use item::{
    AssistantBlock, AssistantMessage, Image, Item, Origin, Reasoning, Sealed, StopReason,
    SystemMessage, ToolCall, ToolResult, Usage, UserMessage, UserPart,
};
pub use json_text::JsonText;
pub use model::{Delta, Model, ModelError, Request, ToolSpec};
pub use price::Price;
