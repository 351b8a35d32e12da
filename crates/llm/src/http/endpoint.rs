//! One address of a provider: sends a request, again where that may help, and reads the answer.

use std::error::Error as _;
use std::time::Duration;

use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Response, Url};
use tokio::time::timeout;

use super::body::Body;
use super::client::{self, Timeouts};
use super::failure::{Refusal, Service, Vendor};
use super::retry::{RetryPolicy, retry_after};
use super::sse::{self, Event};
use super::{Secret, json};
use crate::{AssistantMessage, Delta, ModelError};

/// The most that is read of a refusal.
const LONGEST_REFUSAL: usize = 64 * 1024;
/// How long to wait for the end of a body whose response is complete, so that the connection can be
/// used again. The end mostly arrives together with the last event.
const GRACE: Duration = Duration::from_millis(20);

/// Reads the events of one response.
pub(crate) trait Decoder: Send {
    /// Takes the next event and tells `watch` what is new in it.
    fn event(
        &mut self,
        event: Event<'_>,
        service: &Service,
        watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ModelError>;

    /// Whether the response has ended as the protocol says it must, so that nothing can follow.
    fn is_complete(&self) -> bool;

    /// The response, or [`ModelError::Cut`] if it is not complete.
    fn finish(self) -> Result<AssistantMessage, ModelError>;
}

/// Where requests go, and how patiently.
#[derive(Debug)]
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    headers: HeaderMap,
    service: Service,
    timeouts: Timeouts,
    retry: RetryPolicy,
}

/// What an endpoint is made of.
pub(crate) struct Setup<'a> {
    pub(crate) vendor: Vendor,
    /// The address without the part that the protocol adds.
    pub(crate) base_url: &'a str,
    /// The part that the protocol adds, from its version on.
    pub(crate) path: &'a [&'a str],
    /// Whether a base that has a path is taken to end with the version, as OpenAI's clients do.
    pub(crate) base_has_version: bool,
    pub(crate) headers: HeaderMap,
    /// The keys that are in the headers.
    pub(crate) secrets: Vec<Secret>,
    /// The variable that the key comes from.
    pub(crate) key_variable: &'static str,
    pub(crate) model: String,
    pub(crate) timeouts: Timeouts,
    pub(crate) retry: RetryPolicy,
}

/// A failed attempt.
struct Failure {
    error: ModelError,
    /// Whether another attempt is of no use although the error is of a kind that may pass.
    hopeless: bool,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self {
            error,
            hopeless: false,
        }
    }
}

impl Endpoint {
    pub(crate) fn new(setup: Setup<'_>) -> Result<Self, ModelError> {
        let url = address(&setup)?;
        let host = url.host_str().unwrap_or_default();
        let address = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let mut headers = setup.headers;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self {
            client: client::build(&url, &setup.timeouts)?,
            service: Service {
                vendor: setup.vendor,
                address,
                url: url.to_string(),
                model: setup.model,
                secrets: setup.secrets,
                key_variable: setup.key_variable,
            },
            url,
            headers,
            timeouts: setup.timeouts,
            retry: setup.retry,
        })
    }

    /// The host that is asked, with the port where the address has one.
    pub(crate) fn address(&self) -> &str {
        &self.service.address
    }

    /// Sends a request until it succeeds, cannot succeed, or has been sent often enough. `start`
    /// makes a decoder for each attempt.
    ///
    /// To send again is safe at any moment: a response counts only once it is complete, and no tool
    /// has been run for it before that.
    pub(crate) async fn respond<D: Decoder>(
        &self,
        body: &Body,
        start: impl Fn() -> D + Send,
        watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<AssistantMessage, ModelError> {
        let mut attempt = 1;
        loop {
            let Failure { error, hopeless } = match self.attempt(body, start(), watch).await {
                Ok(message) => return Ok(message),
                Err(failure) => failure,
            };
            let wait = match self.retry.wait_after(attempt, &error) {
                Some(wait) if !hopeless => wait,
                _ => return Err(error),
            };
            tracing::debug!(attempt, ?wait, %error, "the request is sent again");
            watch(Delta::Retry {
                attempt,
                attempts: self.retry.attempts,
                wait,
                error,
            });
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    async fn attempt<D: Decoder>(
        &self,
        body: &Body,
        mut decoder: D,
        watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<AssistantMessage, Failure> {
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(CONTENT_LENGTH, body.len())
            .body(body.to_stream());
        let mut response = match timeout(self.timeouts.first_byte, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unreachable(&error)),
            Err(_) => return Err(ModelError::Stalled(self.timeouts.first_byte).into()),
        };
        if !response.status().is_success() {
            return Err(self.refusal(response).await.into());
        }
        self.check_content_type(&response)?;
        let mut events = sse::Decoder::default();
        loop {
            let bytes = match timeout(self.timeouts.idle, response.chunk()).await {
                Ok(Ok(Some(bytes))) => bytes,
                Ok(Ok(None)) => return Ok(decoder.finish()?),
                Ok(Err(error)) => {
                    let cause = format!("the connection broke ({})", root_cause(&error));
                    return Ok(decoder.finish().map_err(|_| ModelError::Cut(cause))?);
                }
                Err(_) => return Err(ModelError::Stalled(self.timeouts.idle).into()),
            };
            events.push(&bytes, &mut |event| {
                decoder.event(event, &self.service, watch)
            })?;
            if decoder.is_complete() {
                let _ = timeout(GRACE, response.chunk()).await;
                return Ok(decoder.finish()?);
            }
        }
    }

    /// Reads a response that is there already.
    pub(crate) fn read<'a, D: Decoder>(
        &self,
        mut decoder: D,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<AssistantMessage, ModelError> {
        let mut events = sse::Decoder::default();
        for piece in pieces {
            events.push(piece, &mut |event| {
                decoder.event(event, &self.service, &mut |_| {})
            })?;
        }
        decoder.finish()
    }

    async fn refusal(&self, mut response: Response) -> ModelError {
        let status = response.status();
        if let Some(target) = response
            .headers()
            .get(LOCATION)
            .filter(|_| status.is_redirection())
        {
            let target = json::excerpt(&String::from_utf8_lossy(target.as_bytes()), 200);
            return ModelError::InvalidRequest {
                status: status.as_u16(),
                message: format!(
                    "{} is redirected to {target}; set {} to the new address",
                    self.service.url,
                    self.service.vendor.address_variable()
                ),
            };
        }
        let wait = retry_after(response.headers());
        let id = ["request-id", "x-request-id"]
            .iter()
            .find_map(|name| response.headers().get(*name)?.to_str().ok())
            .map(str::to_owned);
        let body = self.start_of_body(&mut response).await;
        Refusal::from_body(status.as_u16(), &body)
            .with_request_id(id.as_deref())
            .into_error(&self.service, wait)
    }

    /// As much of a body as an error needs. Whatever goes wrong here, the status is what counts.
    async fn start_of_body(&self, response: &mut Response) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Ok(Some(bytes))) = timeout(self.timeouts.idle, response.chunk()).await {
            body.extend_from_slice(&bytes);
            if body.len() > LONGEST_REFUSAL {
                break;
            }
        }
        body
    }

    /// A success that is no event stream comes from something that is no provider.
    fn check_content_type(&self, response: &Response) -> Result<(), ModelError> {
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        if !content_type.contains("json") && !content_type.contains("html") {
            return Ok(());
        }
        Err(ModelError::Provider {
            status: Some(response.status().as_u16()),
            message: format!(
                "{} answered with {content_type} where an event stream is due; check {}",
                self.service.url,
                self.service.vendor.address_variable()
            ),
        })
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let Service {
            vendor, address, ..
        } = &self.service;
        let cause = root_cause(error);
        if !error.is_connect() {
            let text = format!("the connection to {address} broke before an answer came: {cause}");
            return ModelError::Network(text).into();
        }
        let variable = vendor.address_variable();
        let local = client::is_loopback(&self.url);
        let advice = match vendor {
            Vendor::Ollama => format!("start it with `ollama serve`, or set {variable}"),
            _ if local => format!("is the server running? Its address comes from {variable}"),
            _ => format!("check your network, and {variable} if you have set it"),
        };
        Failure {
            error: ModelError::Network(format!("cannot reach {address}: {cause}; {advice}")),
            // On this machine a refusal says that nobody listens, and waiting does not change it.
            hopeless: local && is_refused(error),
        }
    }
}

/// The address of requests: the base with the path behind it, the version not twice.
fn address(setup: &Setup<'_>) -> Result<Url, ModelError> {
    let variable = setup.vendor.address_variable();
    let bad = |reason: &str| {
        ModelError::Network(format!(
            "{variable} is no address that can be used ({reason}): `{}`; it looks like \
             https://example.com",
            json::excerpt(setup.base_url, 100)
        ))
    };
    let mut url = Url::parse(setup.base_url.trim()).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad("neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ModelError::Network(format!(
            "{variable} holds a user name or password, which would show up in errors; use the \
             variable of the key"
        )));
    }
    url.set_query(None);
    url.set_fragment(None);
    let base = url.path().trim_end_matches('/').to_owned();
    let has_version = |version: &str| {
        setup.base_has_version && !base.is_empty() || base.ends_with(&format!("/{version}"))
    };
    let path = match setup.path {
        [version, rest @ ..] if has_version(version) => rest,
        whole => whole,
    };
    url.set_path(&format!("{base}/{}", path.join("/")));
    Ok(url)
}

/// The innermost cause of an error, which is the one that tells something.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let text = cause.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

fn is_refused(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(source) = cause {
        if let Some(error) = source.downcast_ref::<std::io::Error>() {
            return error.kind() == std::io::ErrorKind::ConnectionRefused;
        }
        cause = source.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address_of(base_url: &str, base_has_version: bool) -> Result<String, ModelError> {
        let setup = Setup {
            vendor: Vendor::OpenAi,
            base_url,
            path: &["v1", "chat"],
            base_has_version,
            headers: HeaderMap::new(),
            secrets: Vec::new(),
            key_variable: "OPENAI_API_KEY",
            model: String::new(),
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
        };
        address(&setup).map(String::from)
    }

    #[test]
    fn the_version_is_added_unless_it_is_there() {
        for (base, anthropic, openai) in [
            ("http://h:1", "http://h:1/v1/chat", "http://h:1/v1/chat"),
            ("http://h:1/", "http://h:1/v1/chat", "http://h:1/v1/chat"),
            ("http://h:1/v1", "http://h:1/v1/chat", "http://h:1/v1/chat"),
            ("http://h:1/v1/", "http://h:1/v1/chat", "http://h:1/v1/chat"),
            (
                " https://h/v1?x=1#y ",
                "https://h/v1/chat",
                "https://h/v1/chat",
            ),
            ("https://h/a", "https://h/a/v1/chat", "https://h/a/chat"),
            (
                "https://h/v1beta/openai",
                "https://h/v1beta/openai/v1/chat",
                "https://h/v1beta/openai/chat",
            ),
        ] {
            assert_eq!(address_of(base, false).unwrap(), anthropic);
            assert_eq!(address_of(base, true).unwrap(), openai);
        }
    }

    #[test]
    fn bad_addresses_name_the_variable() {
        let errors: Vec<String> = ["localhost:8080", "h", "", "http://me:pw@h/"]
            .iter()
            .map(|base| address_of(base, false).unwrap_err().to_string())
            .collect();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
