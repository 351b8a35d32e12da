//! The HTTP client and its time limits.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Url, redirect};
use rustls::{ClientConfig, RootCertStore, crypto};

use crate::ModelError;

/// How long to wait for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Duration,
    /// For the begin of the answer, from the begin of the request. A server on one's own machine may
    /// read a long prompt for minutes before it says anything.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_mins(5),
            idle: Duration::from_mins(3),
        }
    }
}

/// Builds the client for an address. Certificates are loaded only if the address needs them, and
/// proxies (from the usual variables, which reqwest reads) are not asked for this very machine.
pub(crate) fn build(url: &Url, timeouts: &Timeouts) -> Result<Client, ModelError> {
    let mut builder = Client::builder()
        .user_agent(concat!("pod/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeouts.connect)
        // A redirect of a POST loses its body; it is better said than followed.
        .redirect(redirect::Policy::none());
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    let built = if url.scheme() == "https" {
        // Fails only if the program has installed a provider already, which is as good.
        let _ = crypto::ring::default_provider().install_default();
        builder.build().map_err(|error| error.to_string())
    } else {
        without_certificates()
            .map_err(|error| error.to_string())
            .and_then(|tls| {
                let builder = builder.tls_backend_preconfigured(tls);
                builder.build().map_err(|error| error.to_string())
            })
    };
    built.map_err(|error| ModelError::Network(format!("cannot set up the HTTP client: {error}")))
}

/// Whether an address is this machine's own.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// A TLS configuration that trusts nobody, for addresses that use no TLS.
fn without_certificates() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_built_for_both_schemes() {
        for address in ["http://127.0.0.1:1/v1", "https://localhost/v1"] {
            let url = Url::parse(address).unwrap();
            assert!(build(&url, &Timeouts::default()).is_ok(), "{address}");
        }
    }

    #[test]
    fn loopback_addresses_are_known() {
        for (address, expected) in [
            ("http://127.0.0.1:1", true),
            ("http://127.8.0.1", true),
            ("http://[::1]:80", true),
            ("http://localhost", true),
            ("http://localhost.example", false),
            ("http://10.0.0.1", false),
        ] {
            let url = Url::parse(address).unwrap();
            assert_eq!(is_loopback(&url), expected, "{address}");
        }
    }
}
