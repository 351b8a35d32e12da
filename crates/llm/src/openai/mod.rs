//! What the two protocols of OpenAI share: how a server is reached, and how what is said becomes
//! messages.

pub(crate) mod row;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::Value;

use crate::http::body::Body;
use crate::http::endpoint::{Endpoint, Setup};
use crate::http::{RetryPolicy, Secret, Timeouts, Vendor};
use crate::{Capability, ModelError};

/// Where OpenAI's own API is.
pub const BASE_URL: &str = "https://api.openai.com/v1";

/// How to reach a model.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of the model.
    pub model: String,
    /// The name that [`Model::name`](crate::Model::name) gives, where it is not `model`.
    pub label: Option<String>,
    /// Who is at the address, which decides on the advice in errors.
    pub vendor: Vendor,
    /// The key, sent as `Authorization: Bearer`. Servers on one's own machine need none.
    pub api_key: Option<Secret>,
    /// The address, without what the protocol adds (`/chat/completions`, `/responses`). An address
    /// without any path gets `/v1`.
    pub base_url: String,
    /// What is known of the model.
    pub capability: Capability,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How often to try.
    pub retry: RetryPolicy,
}

impl Config {
    /// The configuration for a model at OpenAI, without a key.
    pub fn new(model: impl Into<String>) -> Self {
        let model = model.into();
        Self {
            capability: Capability::of(&model),
            model,
            label: None,
            vendor: Vendor::OpenAi,
            api_key: None,
            base_url: BASE_URL.to_owned(),
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
        }
    }

    /// Where requests go. `path` is what the protocol adds, from its version on.
    pub(crate) fn endpoint(&self, path: &[&str]) -> Result<Endpoint, ModelError> {
        let variable = self.vendor.key_variable();
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.api_key {
            headers.insert(AUTHORIZATION, key.header("Bearer ", variable)?);
        }
        Endpoint::new(Setup {
            vendor: self.vendor,
            base_url: &self.base_url,
            path,
            base_has_version: true,
            headers,
            secrets: self.api_key.clone().into_iter().collect(),
            key_variable: variable,
            model: self.model.clone(),
            timeouts: self.timeouts.clone(),
            retry: self.retry.clone(),
        })
    }
}

/// A request: an object that begins with `head`, goes on with `prefix` up to the bracket of the
/// conversation, and ends behind it. The conversation is what `row` has.
pub(crate) fn body(head: &Value, prefix: Bytes, row: &mut row::Row) -> Body {
    let mut body = Body::default();
    let head = head.to_string();
    body.push(head.strip_suffix('}').unwrap_or_default().to_owned() + ",");
    body.push(prefix);
    row.write(&mut body);
    body.push("}");
    body
}
