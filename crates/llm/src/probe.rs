//! Whether a service answers, asked without a key and without costing anything.

use std::time::Duration;

use reqwest::{Response, Url};
use serde::Deserialize;
use tokio::time::timeout;

use crate::ModelError;
use crate::http::{Timeouts, client};

/// The most that is read of an answer, in bytes.
const LONGEST: usize = 1024 * 1024;

/// Asks for an address and gives the status of the answer: whatever it is, somebody is there.
///
/// # Errors
/// The address is none, or nobody answered within the limit.
pub async fn status(address: &str, limit: Duration) -> Result<u16, ModelError> {
    Ok(get(address, limit).await?.status().as_u16())
}

/// Whether an address is this machine's own, so that asking it tells nobody anything.
pub fn is_loopback(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| client::is_loopback(&url))
}

/// The models that an Ollama server has, by their names (`GET /api/tags`, as its API page says).
/// `base_url` is the address with or without `/v1`.
///
/// # Errors
/// Nobody answered within the limit, or something that is not Ollama did.
pub async fn ollama_models(base_url: &str, limit: Duration) -> Result<Vec<String>, ModelError> {
    #[derive(Deserialize)]
    struct Tags {
        models: Vec<Tag>,
    }
    #[derive(Deserialize)]
    struct Tag {
        name: String,
    }

    let base = base_url.trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let address = format!("{base}/api/tags");
    let read = async {
        let mut response = get(&address, limit).await?;
        let mut body = Vec::new();
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| failed(&address, &error))?
        {
            body.extend_from_slice(&piece);
            if body.len() > LONGEST {
                return Err(no_ollama(&address));
            }
        }
        let tags: Tags = serde_json::from_slice(&body).map_err(|_| no_ollama(&address))?;
        Ok(tags.models.into_iter().map(|tag| tag.name).collect())
    };
    timeout(limit, read)
        .await
        .unwrap_or_else(|_| Err(too_slow(&address, limit)))
}

async fn get(address: &str, limit: Duration) -> Result<Response, ModelError> {
    let url = Url::parse(address)
        .map_err(|error| ModelError::Network(format!("{address} is no address: {error}")))?;
    let timeouts = Timeouts {
        connect: limit,
        ..Timeouts::default()
    };
    let request = client::build(&url, &timeouts)?.get(url);
    match timeout(limit, request.send()).await {
        Ok(answer) => answer.map_err(|error| failed(address, &error)),
        Err(_) => Err(too_slow(address, limit)),
    }
}

fn failed(address: &str, error: &reqwest::Error) -> ModelError {
    // The innermost cause says most: a name that is not known, a connection that was refused.
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    ModelError::Network(format!("{address} does not answer: {cause}"))
}

fn too_slow(address: &str, limit: Duration) -> ModelError {
    let limit = limit.as_secs_f32();
    ModelError::Network(format!("{address} did not answer within {limit} s"))
}

fn no_ollama(address: &str) -> ModelError {
    ModelError::Network(format!("what answers at {address} is not Ollama"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// A limit that is only reached where nobody answers.
    const LONG: Duration = Duration::from_mins(1);

    /// A server that gives one answer, and its address.
    fn server(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        });
        address
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(future)
    }

    #[test]
    fn any_answer_is_an_answer() {
        let address = server("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(run(status(&address, LONG)).unwrap(), 404);
    }

    #[test]
    fn nobody_is_an_error_that_names_the_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        // It takes the connection and never says a word.
        let error = run(status(&address, Duration::from_millis(50))).unwrap_err();
        assert!(
            error.to_string().contains("did not answer within"),
            "{error}"
        );
        drop(listener);
        let error = run(status(&address, LONG)).unwrap_err();
        assert!(error.to_string().contains("does not answer"), "{error}");
        assert!(run(status("no address", LONG)).is_err());
    }

    #[test]
    fn ollama_says_what_it_has() {
        let body = "{\"models\":[{\"name\":\"qwen3:8b\",\"size\":1},{\"name\":\"x\"}]}";
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let address = server(answer.leak());
        let models = run(ollama_models(&format!("{address}/v1"), LONG)).unwrap();
        assert_eq!(models, ["qwen3:8b", "x"]);

        let address = server("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
        let error = run(ollama_models(&address, LONG)).unwrap_err();
        assert!(error.to_string().contains("is not Ollama"), "{error}");
    }
}
