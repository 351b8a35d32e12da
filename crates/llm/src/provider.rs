//! From the name of a model, as a person writes it, to a model.

use std::sync::Arc;
use std::time::Duration;

use crate::anthropic::{self, Anthropic};
use crate::http::{RetryPolicy, Secret, Timeouts, Vendor};
use crate::openai_chat::{self, OpenAiChat};
use crate::openai_responses::OpenAiResponses;
use crate::{Capabilities, Model, ModelError};

/// Short names and what they stand for: the newest of each kind whose name is known here.
const ALIASES: &[(&str, &str)] = &[
    ("opus", "claude-opus-5-5"),
    ("sonnet", "claude-sonnet-5-5"),
    ("haiku", "claude-haiku-4-5"),
];

/// Makes the model that a name stands for, with what is known of models by itself and the usual
/// retries; see [`Providers::model`]. `variable` looks up a variable of the environment, since a
/// library does not read the process's own.
pub fn model(
    spec: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn Model>, ModelError> {
    let providers = Providers {
        variable,
        capabilities: &Capabilities::default(),
        retry: &RetryPolicy::default(),
    };
    providers.model(spec)
}

/// Where names of models are looked up.
#[derive(Clone, Copy)]
pub struct Providers<'a> {
    /// Looks up a variable of the environment. A library does not read the process's own.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// What is known of models.
    pub capabilities: &'a Capabilities,
    /// How often to try.
    pub retry: &'a RetryPolicy,
}

impl Providers<'_> {
    /// Makes the model that a name stands for: `claude-...`, `opus`, `sonnet`, `haiku`,
    /// `anthropic:NAME`, `openai:NAME` (Chat Completions), `openai-responses:NAME` or `ollama:NAME`.
    /// Nothing is sent yet.
    ///
    /// | variable | meaning |
    /// | --- | --- |
    /// | `ANTHROPIC_API_KEY` | the key for Anthropic |
    /// | `ANTHROPIC_AUTH_TOKEN` | a bearer token in its place, for proxies |
    /// | `ANTHROPIC_BASE_URL` | another address |
    /// | `OPENAI_API_KEY` | the key for OpenAI |
    /// | `OPENAI_BASE_URL` | another address, with its `/v1`; most servers speak this protocol |
    /// | `OLLAMA_HOST` | the address of Ollama, `127.0.0.1:11434` by default |
    /// | `OLLAMA_CONTEXT_LENGTH` | the window that Ollama was started with |
    ///
    /// # Errors
    /// The name is of no known form, the key is missing (none is asked for where an address is
    /// given: servers on one's own machine have none), or key or address cannot be used.
    pub fn model(&self, spec: &str) -> Result<Arc<dyn Model>, ModelError> {
        let spec = spec.trim();
        let (protocol, name) = protocol_of(spec)?;
        match protocol {
            Protocol::Anthropic => self.anthropic(spec, name),
            Protocol::OpenAiChat => {
                let config = self.openai(spec, name)?;
                Ok(Arc::new(OpenAiChat::new(config)?))
            }
            Protocol::OpenAiResponses => {
                let config = self.openai(spec, name)?;
                Ok(Arc::new(OpenAiResponses::new(config)?))
            }
            Protocol::Ollama => self.ollama(spec, name),
        }
    }

    /// Where requests to a model of this name go, and whether the key for it is there. The key itself
    /// is not told.
    ///
    /// # Errors
    /// The name is of no known form.
    pub fn destination(&self, spec: &str) -> Result<Destination, ModelError> {
        let spec = spec.trim();
        let (protocol, name) = protocol_of(spec)?;
        let vendor = protocol.vendor();
        let (variable, usual) = match vendor {
            Vendor::Anthropic => ("ANTHROPIC_BASE_URL", anthropic::BASE_URL),
            Vendor::OpenAi => ("OPENAI_BASE_URL", openai_chat::BASE_URL),
            Vendor::Ollama => {
                let host = self.variable("OLLAMA_HOST").unwrap_or_default();
                return Ok(Destination {
                    vendor,
                    name: name.to_owned(),
                    base_url: ollama_url(&host),
                    key: Key::NotNeeded,
                });
            }
        };
        let given = self.variable(variable);
        let names: &[&'static str] = match vendor {
            Vendor::Anthropic => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
            _ => &["OPENAI_API_KEY"],
        };
        let key = match names.iter().find(|name| self.variable(name).is_some()) {
            Some(name) => Key::Set(name),
            None if given.is_some() => Key::NotNeeded,
            None => Key::Missing(vendor.key_variable()),
        };
        Ok(Destination {
            vendor,
            name: name.to_owned(),
            base_url: given.unwrap_or_else(|| usual.to_owned()),
            key,
        })
    }

    fn anthropic(&self, spec: &str, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let base_url = self.variable("ANTHROPIC_BASE_URL");
        let api_key = self.variable("ANTHROPIC_API_KEY");
        let auth_token = self.variable("ANTHROPIC_AUTH_TOKEN");
        if api_key.is_none() && auth_token.is_none() && base_url.is_none() {
            let page = "https://console.anthropic.com";
            return Err(missing_key(Vendor::Anthropic, "Anthropic", page));
        }
        let config = anthropic::Config {
            label: Some(spec.to_owned()),
            api_key: api_key.as_deref().map(Secret::new),
            auth_token: auth_token.as_deref().map(Secret::new),
            base_url: base_url.unwrap_or_else(|| anthropic::BASE_URL.to_owned()),
            capability: self.capabilities.of(name),
            retry: self.retry.clone(),
            ..anthropic::Config::new(name)
        };
        Ok(Arc::new(Anthropic::new(config)?))
    }

    fn openai(&self, spec: &str, name: &str) -> Result<openai_chat::Config, ModelError> {
        let base_url = self.variable("OPENAI_BASE_URL");
        let api_key = self.variable("OPENAI_API_KEY");
        if api_key.is_none() && base_url.is_none() {
            let page = "https://platform.openai.com/api-keys";
            return Err(missing_key(Vendor::OpenAi, "OpenAI", page));
        }
        Ok(openai_chat::Config {
            label: Some(spec.to_owned()),
            api_key: api_key.as_deref().map(Secret::new),
            base_url: base_url.unwrap_or_else(|| openai_chat::BASE_URL.to_owned()),
            capability: self.capabilities.of(name),
            retry: self.retry.clone(),
            ..openai_chat::Config::new(name)
        })
    }

    fn ollama(&self, spec: &str, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let host = self.variable("OLLAMA_HOST").unwrap_or_default();
        let mut capability = self.capabilities.of(name);
        let window = self.variable("OLLAMA_CONTEXT_LENGTH");
        if let Some(window) = window.and_then(|window| window.trim().parse().ok()) {
            capability.context_window = window;
        }
        let config = openai_chat::Config {
            label: Some(spec.to_owned()),
            vendor: Vendor::Ollama,
            base_url: ollama_url(&host),
            capability,
            // It may have to load the model and to read a long prompt first.
            timeouts: Timeouts {
                first_byte: Duration::from_mins(30),
                ..Timeouts::default()
            },
            retry: self.retry.clone(),
            ..openai_chat::Config::new(name)
        };
        Ok(Arc::new(OpenAiChat::new(config)?))
    }

    /// A variable that is set to something.
    fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.trim().is_empty())
    }
}

/// Where the requests to a model go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Which service speaks there.
    pub vendor: Vendor,
    /// The name of the model, as the service knows it.
    pub name: String,
    /// The address, without the part that the protocol adds.
    pub base_url: String,
    /// Whether the key is there.
    pub key: Key,
}

/// Whether the key of a service is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// It is in this variable.
    Set(&'static str),
    /// It is not in this variable, where it is looked for.
    Missing(&'static str),
    /// A server on one's own machine, or at an address that was given, may do without one.
    NotNeeded,
}

/// How a model is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Anthropic,
    OpenAiChat,
    OpenAiResponses,
    Ollama,
}

impl Protocol {
    fn vendor(self) -> Vendor {
        match self {
            Self::Anthropic => Vendor::Anthropic,
            Self::OpenAiChat | Self::OpenAiResponses => Vendor::OpenAi,
            Self::Ollama => Vendor::Ollama,
        }
    }
}

/// The protocol that a name stands for, and the name that the vendor gives the model.
fn protocol_of(spec: &str) -> Result<(Protocol, &str), ModelError> {
    match spec.split_once(':') {
        Some(("anthropic", name)) if !name.is_empty() => Ok((Protocol::Anthropic, name)),
        Some(("openai", name)) if !name.is_empty() => Ok((Protocol::OpenAiChat, name)),
        Some(("openai-responses", name)) if !name.is_empty() => {
            Ok((Protocol::OpenAiResponses, name))
        }
        Some(("ollama", name)) if !name.is_empty() => Ok((Protocol::Ollama, name)),
        _ if spec.starts_with("claude-") => Ok((Protocol::Anthropic, spec)),
        _ => match ALIASES.iter().find(|(alias, _)| *alias == spec) {
            Some((_, name)) => Ok((Protocol::Anthropic, name)),
            None => Err(ModelError::UnknownModel(format!(
                "`{spec}` names no model; write claude-NAME (or opus, sonnet, haiku), \
                 anthropic:NAME, openai:NAME for OpenAI and all that speak its protocol, \
                 openai-responses:NAME for its newer protocol, or ollama:NAME"
            ))),
        },
    }
}

fn missing_key(vendor: Vendor, name: &str, page: &str) -> ModelError {
    ModelError::Authentication(format!(
        "{variable} is not set: set it to a key of {name} ({page}), or try Pod without any key: \
         `pod demo`",
        variable = vendor.key_variable(),
    ))
}

/// The address of an Ollama server as its variable gives it: a host, a port, both, or a whole URL. An
/// address that stands for "all interfaces" is one to listen on, not one to ask. As for Ollama itself,
/// the port is 11434 unless a scheme says otherwise.
fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest, usual_port) = match host.split_once("://") {
        Some((scheme, rest)) => (scheme, rest, ""),
        None => ("http", host, ":11434"),
    };
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    let (name, port) = match authority.rfind(':') {
        // The colons within the brackets of an IPv6 address are no port's.
        Some(colon) if !authority.ends_with(']') => authority.split_at(colon),
        _ => (authority, usual_port),
    };
    let name = match name {
        "" | "0.0.0.0" | "[::]" => "127.0.0.1",
        name => name,
    };
    format!("{scheme}://{name}{port}{path}/v1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(spec: &str, variables: &[(&str, &str)]) -> Result<Arc<dyn Model>, ModelError> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Providers {
            variable: &variable,
            capabilities: &Capabilities::default(),
            retry: &RetryPolicy::never(),
        }
        .model(spec)
    }

    #[test]
    fn every_form_is_understood() {
        let keys = [("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k")];
        for (spec, window) in [
            ("claude-sonnet-4-5", 200_000),
            ("claude-sonnet-4-5[1m]", 1_000_000),
            ("sonnet", 200_000),
            ("anthropic:claude-haiku-4-5", 200_000),
            ("anthropic:local", 32_000),
            ("openai:gpt-4o", 128_000),
            ("openai-responses:gpt-5.1", 400_000),
            ("ollama:llama3.2:3b", 32_000),
        ] {
            let model = open(spec, &keys).unwrap_or_else(|error| panic!("{spec}: {error}"));
            assert_eq!(model.name(), spec);
            assert_eq!(model.capability().context_window, window, "{spec}");
        }
    }

    #[test]
    fn ollama_says_its_window() {
        let model = open("ollama:x", &[("OLLAMA_CONTEXT_LENGTH", "4096")]).unwrap();
        assert_eq!(model.capability().context_window, 4096);
    }

    #[test]
    fn a_key_is_needed_only_for_the_vendors_own_address() {
        let local = [
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
        ];
        assert!(open("claude-x", &local).is_ok());
        assert!(open("openai:x", &local).is_ok());
        assert!(open("openai-responses:x", &local).is_ok());
        assert!(open("claude-x", &[("ANTHROPIC_AUTH_TOKEN", "t")]).is_ok());
    }

    #[test]
    fn errors_say_what_to_do() {
        let cases: [(&str, &[(&str, &str)]); 9] = [
            ("claude-x", &[]),
            ("openai:gpt-x", &[("OPENAI_API_KEY", " ")]),
            ("gpt-4o", &[]),
            ("openai:", &[]),
            ("openai-responses:", &[]),
            ("openai-responses:gpt-5", &[]),
            ("", &[]),
            ("claude-x", &[("ANTHROPIC_API_KEY", "a\nb")]),
            ("ollama:x", &[("OLLAMA_HOST", "ftp://x")]),
        ];
        let errors: Vec<String> = cases
            .iter()
            .map(|(spec, variables)| match open(spec, variables) {
                Ok(_) => panic!("{spec} is accepted"),
                Err(error) => error.to_string(),
            })
            .collect();
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn a_destination_tells_of_a_key_and_not_the_key() {
        let told = |spec: &str, variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            Providers {
                variable: &variable,
                capabilities: &Capabilities::default(),
                retry: &RetryPolicy::never(),
            }
            .destination(spec)
            .map(|it| (it.base_url, it.key))
        };
        let anthropic = anthropic::BASE_URL.to_owned();
        assert_eq!(
            told("opus", &[]).unwrap(),
            (anthropic.clone(), Key::Missing("ANTHROPIC_API_KEY"))
        );
        assert_eq!(
            told("claude-x", &[("ANTHROPIC_AUTH_TOKEN", "t")]).unwrap(),
            (anthropic, Key::Set("ANTHROPIC_AUTH_TOKEN"))
        );
        assert_eq!(
            told("openai:x", &[("OPENAI_BASE_URL", "http://h/v1")]).unwrap(),
            (String::from("http://h/v1"), Key::NotNeeded)
        );
        assert_eq!(
            told("openai-responses:x", &[("OPENAI_API_KEY", "k")]).unwrap(),
            (openai_chat::BASE_URL.to_owned(), Key::Set("OPENAI_API_KEY"))
        );
        assert_eq!(
            told("ollama:x", &[]).unwrap(),
            (String::from("http://127.0.0.1:11434/v1"), Key::NotNeeded)
        );
        assert!(told("gpt", &[]).is_err());
    }

    #[test]
    fn ollama_hosts() {
        for (host, expected) in [
            ("", "http://127.0.0.1:11434/v1"),
            ("127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            (":8080", "http://127.0.0.1:8080/v1"),
            ("box.lan", "http://box.lan:11434/v1"),
            ("https://box.lan:443/", "https://box.lan:443/v1"),
            ("http://box.lan/ollama", "http://box.lan/ollama/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("[::1]:1234", "http://[::1]:1234/v1"),
        ] {
            assert_eq!(ollama_url(host), expected, "{host:?}");
        }
    }
}
