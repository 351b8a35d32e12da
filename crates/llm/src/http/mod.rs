//! What all wires share: one client, one retry loop, one event-stream decoder.
//!
//! A wire brings three things: where to send (`endpoint`), how to write a request (`body` and
//! `transcript` keep what was written before), and how to read the events (`endpoint::Decoder`).

pub(crate) mod body;
pub(crate) mod called;
pub(crate) mod client;
pub(crate) mod endpoint;
pub(crate) mod failure;
pub(crate) mod json;
pub(crate) mod outgoing;
pub(crate) mod prefix;
mod retry;
mod secret;
pub(crate) mod sse;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod transcript;

pub use client::Timeouts;
pub use failure::Vendor;
pub use retry::RetryPolicy;
pub use secret::Secret;
