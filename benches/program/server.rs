//! A model on the loopback interface that answers at once, and notes when each request came.

use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

/// A request that was answered.
pub(crate) struct Exchange {
    /// When its first byte was there.
    pub(crate) begun: Instant,
    /// When all of it was there.
    pub(crate) read: Instant,
    /// When its answer was written.
    pub(crate) answered: Instant,
    pub(crate) body: Vec<u8>,
}

/// What the model says to the request of this number, from 0.
pub(crate) type Script = fn(usize) -> Answer;

/// One answer.
pub(crate) enum Answer {
    Call(&'static str, Value),
    Text(&'static str),
}

/// The server. It serves one client after the other, each from the begin of its script.
pub(crate) struct Server {
    pub(crate) address: String,
    /// The exchanges of a client, and nothing when it is gone.
    exchanges: Receiver<Option<Exchange>>,
    scripts: Sender<(Script, bool)>,
}

impl Server {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        let (report, exchanges) = channel();
        let (scripts, script) = channel::<(Script, bool)>();
        thread::spawn(move || {
            while let Ok((script, keep)) = script.recv() {
                let Ok((stream, _)) = listener.accept() else {
                    return;
                };
                // A client that ends in the middle shows up as exchanges that are missing.
                let _ = serve(stream, script, keep, &report);
                let _ = report.send(None);
            }
        });
        Ok(Self {
            address,
            exchanges,
            scripts,
        })
    }

    /// What the next client is told. Bodies are kept only if that is asked for.
    pub(crate) fn expect(&self, script: Script, keep_bodies: bool) {
        let _ = self.scripts.send((script, keep_bodies));
    }

    /// The exchanges with the client that was expected, once it is gone.
    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges
            .iter()
            .map_while(|exchange| exchange)
            .collect()
    }
}

fn serve(
    stream: TcpStream,
    script: Script,
    keep: bool,
    report: &Sender<Option<Exchange>>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut out = stream.try_clone()?;
    let mut input = BufReader::with_capacity(1 << 16, stream);
    for number in 0.. {
        // Made before the request comes, so that its time is nobody's.
        let answer = encode(number, &script(number));
        let Some((begun, body)) = request(&mut input)? else {
            return Ok(());
        };
        let read = Instant::now();
        out.write_all(&answer)?;
        let exchange = Exchange {
            begun,
            read,
            answered: Instant::now(),
            body: if keep { body } else { Vec::new() },
        };
        let _ = report.send(Some(exchange));
    }
    Ok(())
}

/// Reads one request. `None` if the client is gone.
fn request(input: &mut BufReader<TcpStream>) -> io::Result<Option<(Instant, Vec<u8>)>> {
    let mut head = Vec::new();
    let mut byte = [0];
    let mut begun = None;
    while !head.ends_with(b"\r\n\r\n") {
        if input.read(&mut byte)? == 0 {
            return Ok(None);
        }
        begun.get_or_insert_with(Instant::now);
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())
        .ok_or_else(|| io::Error::other("a request without a length"))?;
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(begun.map(|begun| (begun, body)))
}

/// The answer as Anthropic streams it. The usage is small, so that nothing is compacted.
fn encode(number: usize, answer: &Answer) -> Vec<u8> {
    let mut events = String::new();
    let mut event = |value: Value| {
        let name = value.get("type").and_then(Value::as_str).unwrap_or("");
        events.push_str(&format!("event: {name}\ndata: {value}\n\n"));
    };
    event(json!({"type": "message_start", "message": {
        "id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "model": "claude-sonnet-4-5", "content": [], "stop_reason": null,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }}));
    let stop = match answer {
        Answer::Call(name, input) => {
            event(
                json!({"type": "content_block_start", "index": 0, "content_block": {
                    "type": "tool_use", "id": format!("toolu_{number:08}"), "name": name, "input": {},
                }}),
            );
            event(json!({"type": "content_block_delta", "index": 0, "delta": {
                "type": "input_json_delta", "partial_json": input.to_string(),
            }}));
            "tool_use"
        }
        Answer::Text(text) => {
            event(
                json!({"type": "content_block_start", "index": 0, "content_block": {
                    "type": "text", "text": "",
                }}),
            );
            event(json!({"type": "content_block_delta", "index": 0, "delta": {
                "type": "text_delta", "text": text,
            }}));
            "end_turn"
        }
    };
    event(json!({"type": "content_block_stop", "index": 0}));
    event(
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
        "usage": {"output_tokens": 40}}),
    );
    event(json!({"type": "message_stop"}));
    let mut bytes = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
        events.len()
    )
    .into_bytes();
    bytes.extend_from_slice(events.as_bytes());
    bytes
}
