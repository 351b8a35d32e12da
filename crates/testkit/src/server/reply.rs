//! What the server answers, and how it is delivered.

use std::time::Duration;

use serde_json::{Value, json};

use super::connection::Content;
use super::{Wire, anthropic_events, openai_events, responses_events};

/// An answer. The same one can be given in every protocol.
#[derive(Clone, Debug)]
pub struct Reply {
    kind: Kind,
    headers: Vec<(String, String)>,
    delivery: Delivery,
}

#[derive(Clone, Debug)]
enum Kind {
    Turn(Turn),
    Error {
        status: u16,
        kind: String,
        message: String,
    },
    PromptTooLong,
    Raw {
        status: u16,
        content_type: String,
        body: String,
    },
}

/// A response of a model.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) blocks: Vec<Block>,
    pub(super) stop_reason: Option<String>,
    /// What is counted; unless told, as many tokens in as a quarter of the request's bytes, and ten out.
    pub(super) usage: Option<llm::Usage>,
    /// Whether the blocks arrive in turns rather than one after the other.
    pub(super) interleaved: bool,
    /// The most characters of one delta.
    pub(super) piece: usize,
}

/// A block of a response.
#[derive(Clone, Debug)]
pub enum Block {
    /// Text.
    Text(String),
    /// Reasoning and the signature over it. Chat Completions has no signature; in Responses it is what
    /// the item is sealed as.
    Thinking(String, String),
    /// Reasoning that is hidden; left out in Chat Completions.
    Redacted(String),
    /// A call: id, name, and arguments exactly as the model writes them.
    Call(String, String, String),
}

impl Block {
    /// A text.
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Reasoning with a signature.
    pub fn thinking(text: &str, signature: &str) -> Self {
        Self::Thinking(text.to_owned(), signature.to_owned())
    }

    /// A call with arguments.
    pub fn call(id: &str, name: &str, arguments: &Value) -> Self {
        Self::raw_call(id, name, &arguments.to_string())
    }

    /// A call with an argument text, which may be no JSON at all.
    pub fn raw_call(id: &str, name: &str, arguments: &str) -> Self {
        Self::Call(id.to_owned(), name.to_owned(), arguments.to_owned())
    }
}

/// How the bytes of a body travel.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    pub(super) delay: Duration,
    pub(super) split_every: Option<usize>,
    pub(super) cut_after: Option<usize>,
    pub(super) end_after: Option<usize>,
    pub(super) stall_after: Option<usize>,
}

impl Reply {
    /// A response of one text.
    pub fn text(text: &str) -> Self {
        Self::turn([Block::text(text)])
    }

    /// A response of some blocks. It stops for the tools if it holds a call.
    pub fn turn(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self::of(Kind::Turn(Turn {
            blocks: blocks.into_iter().collect(),
            stop_reason: None,
            usage: None,
            interleaved: false,
            piece: 12,
        }))
    }

    /// A refusal in the protocol's shape.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        Self::of(Kind::Error {
            status,
            kind: kind.to_owned(),
            message: message.to_owned(),
        })
    }

    /// Too many requests at the provider: 529.
    pub fn overloaded() -> Self {
        Self::error(529, "overloaded_error", "Overloaded")
    }

    /// Too many requests of this client: 429.
    pub fn rate_limited() -> Self {
        Self::error(429, "rate_limit_error", "Slow down")
    }

    /// The conversation does not fit into the window, in the protocol's words.
    pub fn prompt_too_long() -> Self {
        Self::of(Kind::PromptTooLong)
    }

    /// An event stream as it is, for what no builder makes.
    pub fn events(stream: &str) -> Self {
        Self::raw(200, "text/event-stream", stream)
    }

    /// Any body.
    pub fn raw(status: u16, content_type: &str, body: &str) -> Self {
        Self::of(Kind::Raw {
            status,
            content_type: content_type.to_owned(),
            body: body.to_owned(),
        })
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Gives another reason to stop, in the protocol's word.
    #[must_use]
    pub fn stop_reason(mut self, reason: &str) -> Self {
        self.turn_mut().stop_reason = Some(reason.to_owned());
        self
    }

    /// Counts other tokens than a quarter of the request's bytes in, and ten out.
    #[must_use]
    pub fn usage(mut self, usage: llm::Usage) -> Self {
        self.turn_mut().usage = Some(usage);
        self
    }

    /// Lets the blocks arrive in turns.
    #[must_use]
    pub fn interleaved(mut self) -> Self {
        self.turn_mut().interleaved = true;
        self
    }

    /// Lets deltas be at most so many characters long (12 unless told).
    #[must_use]
    pub fn piece(mut self, characters: usize) -> Self {
        self.turn_mut().piece = characters.max(1);
        self
    }

    /// Splits the body into pieces of so many bytes, wherever they end.
    #[must_use]
    pub fn split_every(mut self, bytes: usize) -> Self {
        self.delivery.split_every = Some(bytes);
        self
    }

    /// Breaks the connection after so many bytes of the body.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.delivery.cut_after = Some(bytes);
        self
    }

    /// Ends the body properly, but after so many bytes.
    #[must_use]
    pub fn end_after(mut self, bytes: usize) -> Self {
        self.delivery.end_after = Some(bytes);
        self
    }

    /// Sends nothing, not even a status, and keeps the connection open.
    #[must_use]
    pub fn stall(self) -> Self {
        self.stall_after(0)
    }

    /// Sends nothing more after so many bytes of the body and keeps the connection open.
    #[must_use]
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.delivery.stall_after = Some(bytes);
        self
    }

    /// Waits before it answers.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delivery.delay = delay;
        self
    }

    /// The number of bytes of the body, to cut it at each of them.
    pub fn body_length(&self, wire: Wire) -> usize {
        self.content(wire, 1, 0).body.len()
    }

    pub(super) fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// The response to request number `number`, which has so many bytes.
    pub(super) fn content(&self, wire: Wire, number: usize, bytes: usize) -> Content {
        let (status, content_type, body) = match &self.kind {
            Kind::Turn(turn) => {
                let usage = turn.usage.unwrap_or_else(|| llm::Usage {
                    input: u64::try_from(bytes / 4).unwrap_or(u64::MAX),
                    output: 10,
                    ..llm::Usage::default()
                });
                let stream = match wire {
                    Wire::Anthropic => anthropic_events::stream(turn, usage, number),
                    Wire::OpenAi => openai_events::stream(turn, usage, number),
                    Wire::Responses => responses_events::stream(turn, usage, number),
                };
                (200, "text/event-stream", stream)
            }
            Kind::Error {
                status,
                kind,
                message,
            } => (*status, "application/json", error_body(wire, kind, message)),
            Kind::PromptTooLong => {
                let (kind, message) = match wire {
                    Wire::Anthropic => (
                        "invalid_request_error",
                        "prompt is too long: 210000 tokens > 200000 maximum",
                    ),
                    Wire::OpenAi => (
                        "context_length_exceeded",
                        "This model's maximum context length is 128000 tokens.",
                    ),
                    Wire::Responses => (
                        "context_length_exceeded",
                        "Your input exceeds the context window of this model.",
                    ),
                };
                (400, "application/json", error_body(wire, kind, message))
            }
            Kind::Raw {
                status,
                content_type,
                body,
            } => (*status, content_type.as_str(), body.clone()),
        };
        let mut headers = self.headers.clone();
        headers.push(("content-type".to_owned(), content_type.to_owned()));
        Content {
            status,
            headers,
            body: body.into_bytes(),
        }
    }

    fn of(kind: Kind) -> Self {
        Self {
            kind,
            headers: Vec::new(),
            delivery: Delivery::default(),
        }
    }

    fn turn_mut(&mut self) -> &mut Turn {
        match &mut self.kind {
            Kind::Turn(turn) => turn,
            other => panic!("{other:?} is no response of a model"),
        }
    }
}

fn error_body(wire: Wire, kind: &str, message: &str) -> String {
    let body = match wire {
        Wire::Anthropic => json!({
            "type": "error",
            "error": { "type": kind, "message": message },
        }),
        Wire::OpenAi | Wire::Responses => json!({
            "error": { "message": message, "type": kind, "param": null, "code": kind },
        }),
    };
    body.to_string()
}

/// A text in pieces of at most so many characters. An empty text is one empty piece.
pub(super) fn pieces(text: &str, characters: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    if all.is_empty() {
        return vec![String::new()];
    }
    all.chunks(characters)
        .map(|piece| piece.iter().collect())
        .collect()
}

/// Joins the rows of events of several blocks: one after the other, or in turns.
pub(super) fn join(rows: Vec<Vec<Value>>, interleaved: bool) -> Vec<Value> {
    if !interleaved {
        return rows.into_iter().flatten().collect();
    }
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..longest).flat_map(|turn| rows.iter().filter_map(move |row| row.get(turn)));
    turns.cloned().collect()
}
