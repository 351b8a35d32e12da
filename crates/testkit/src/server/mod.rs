//! A provider on loopback that speaks Anthropic Messages, OpenAI Chat Completions and OpenAI Responses.
//!
//! It answers with what a test prescribes, in pieces, cut, late or not at all ([`Reply`]). Whatever the
//! test is about, every request is held against the rules of its protocol, which are written here
//! from the protocol's documentation and share no code with the product (`anthropic_rules`,
//! `openai_rules`, `responses_rules`). A request that breaks one fails the test when the server is finished or dropped.
//!
//! The server runs in a thread of its own, so tests need no runtime, may pause the clock of theirs,
//! and may drive another process.

mod anthropic_events;
mod anthropic_rules;
mod connection;
mod openai_events;
mod openai_rules;
mod openai_shared;
mod reply;
mod responses_events;
mod responses_rules;
mod rules;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub use reply::{Block, Reply};

/// How many requests are kept unless a test asks for more.
const KEPT: usize = 1000;
/// How much of a wrong request is shown.
const SHOWN: usize = 4000;

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Which protocol a request speaks; its path tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// `POST /v1/messages`.
    Anthropic,
    /// `POST /v1/chat/completions`.
    OpenAi,
    /// `POST /v1/responses`.
    Responses,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its number, from 1.
    pub number: usize,
    /// The protocol that it speaks.
    pub wire: Wire,
    /// Its path.
    pub path: String,
    /// Its headers, the names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body, byte for byte.
    pub body: String,
    /// Its body, parsed.
    pub json: Value,
}

impl Received {
    /// The value of a header, if it came.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Whether the messages of this request begin, byte for byte, with those of an earlier one. Cache
    /// marks and the brackets at the end do not count.
    pub fn extends(&self, earlier: &Self) -> bool {
        let earlier = earlier.messages();
        let said = earlier.trim_end_matches(['"', '}', ']']);
        self.messages().starts_with(said)
    }

    fn messages(&self) -> String {
        let unmarked = self
            .body
            .replace(r#","cache_control":{"type":"ephemeral"}"#, "");
        let begin = match self.wire {
            Wire::Anthropic | Wire::OpenAi => r#""messages":["#,
            Wire::Responses => r#""input":["#,
        };
        match unmarked.split_once(begin) {
            Some((_, messages)) => messages.to_owned(),
            None => unmarked,
        }
    }
}

/// What the connections share.
struct Shared {
    responder: Mutex<Responder>,
    state: Mutex<State>,
}

/// Computes the reply to a request; `None` if there is none left.
type Responder = Box<dyn FnMut(&Value) -> Option<Reply> + Send>;

struct State {
    count: usize,
    connections: usize,
    received: VecDeque<Received>,
    kept: usize,
    violations: Vec<String>,
    /// How many scripted replies wait for a request.
    unused: usize,
}

impl Server {
    /// Starts a server that gives the replies one after the other. A request too many is a violation,
    /// and so is a reply that nobody asked for, when the server is finished.
    pub fn script(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        let unused = replies.len();
        Self::start(Box::new(move |_| replies.pop_front()), unused)
    }

    /// Starts a server that computes each reply from the body of the request.
    pub fn respond(mut responder: impl FnMut(&Value) -> Reply + Send + 'static) -> Self {
        Self::start(Box::new(move |request| Some(responder(request))), 0)
    }

    /// Keeps the last `count` requests rather than a thousand.
    #[must_use]
    pub fn keep(self, count: usize) -> Self {
        self.shared.state().kept = count;
        self
    }

    /// The address, such as `http://127.0.0.1:40123`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, the oldest first.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.state().received.iter().cloned().collect()
    }

    /// The number of requests so far, those that are no longer kept included.
    pub fn request_count(&self) -> usize {
        self.shared.state().count
    }

    /// The number of connections so far.
    pub fn connection_count(&self) -> usize {
        self.shared.state().connections
    }

    /// Takes the violations so far, so that they do not fail the test: for tests of this server.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.state().violations)
    }

    /// Ends the server.
    ///
    /// # Panics
    /// A request broke a rule of its protocol, or a scripted reply was not used.
    pub fn finish(mut self) {
        self.stop();
        let unused = self.shared.state().unused;
        let violations = self.take_violations();
        assert!(violations.is_empty(), "{}", violations.join("\n\n"));
        assert!(unused == 0, "{unused} scripted replies were not asked for");
    }

    fn start(responder: Responder, unused: usize) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let address = listener.local_addr().expect("the listener's address");
        listener
            .set_nonblocking(true)
            .expect("a listener that does not block");
        let shared = Arc::new(Shared {
            responder: Mutex::new(responder),
            state: Mutex::new(State {
                count: 0,
                connections: 0,
                received: VecDeque::new(),
                kept: KEPT,
                violations: Vec::new(),
                unused,
            }),
        });
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime for the server");
            // Connections that still stall end with the runtime.
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    () = accept(&listener, &serving) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the server's thread panicked"
            );
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        if !std::thread::panicking() {
            let violations = self.take_violations();
            assert!(violations.is_empty(), "{}", violations.join("\n\n"));
        }
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            shared.state().connections += 1;
            tokio::spawn(connection::serve(stream, Arc::clone(shared)));
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks a request and finds its reply. The number of the request comes with it.
    fn answer(&self, request: connection::Incoming) -> (usize, Option<Wire>, Reply) {
        let wire = match request.path.split('?').next() {
            Some("/v1/messages") => Some(Wire::Anthropic),
            Some("/v1/chat/completions") => Some(Wire::OpenAi),
            Some("/v1/responses") => Some(Wire::Responses),
            _ => None,
        };
        let number = {
            let mut state = self.state();
            state.count += 1;
            state.count
        };
        let (Some(wire), "POST") = (wire, request.method.as_str()) else {
            let what = format!(
                "{} {} is no call of any of the APIs",
                request.method, request.path
            );
            return (number, wire, self.violation(number, &[what], ""));
        };
        let json = match serde_json::from_slice::<Value>(&request.body) {
            Ok(json) => json,
            Err(error) => {
                let body = String::from_utf8_lossy(&request.body).into_owned();
                let what = format!("the body is no JSON: {error}");
                return (number, Some(wire), self.violation(number, &[what], &body));
            }
        };
        let received = Received {
            number,
            wire,
            path: request.path,
            headers: request.headers,
            body: String::from_utf8_lossy(&request.body).into_owned(),
            json,
        };
        let broken = match wire {
            Wire::Anthropic => anthropic_rules::check(&received),
            Wire::OpenAi => openai_rules::check(&received),
            Wire::Responses => responses_rules::check(&received),
        };
        let reply = if broken.is_empty() {
            self.reply_to(&received)
        } else {
            self.violation(number, &broken, &received.body)
        };
        let mut state = self.state();
        while state.received.len() >= state.kept.max(1) {
            state.received.pop_front();
        }
        state.received.push_back(received);
        (number, Some(wire), reply)
    }

    fn reply_to(&self, received: &Received) -> Reply {
        let respond = || {
            let mut responder = self
                .responder
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            responder(&received.json)
        };
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(respond)) {
            Ok(Some(reply)) => {
                let mut state = self.state();
                state.unused = state.unused.saturating_sub(1);
                reply
            }
            Ok(None) => {
                let what = "no reply is left for it".to_owned();
                self.violation(received.number, &[what], &received.body)
            }
            Err(_) => {
                let what = "the test's responder panicked".to_owned();
                self.violation(received.number, &[what], &received.body)
            }
        }
    }

    /// Notes what is wrong with a request, and refuses it as a provider would.
    fn violation(&self, number: usize, broken: &[String], body: &str) -> Reply {
        let broken = broken.join("\n  ");
        let shown: String = body.chars().take(SHOWN).collect();
        let text =
            format!("request {number} breaks the rules of its protocol:\n  {broken}\n{shown}");
        self.state().violations.push(text);
        Reply::error(400, "invalid_request_error", &broken)
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Shared")
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
