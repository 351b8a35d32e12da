//! HTTP/1.1, as much of it as a client of a provider uses.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::reply::Delivery;
use super::{Shared, Wire};

/// The most bytes that a line of a head may have.
const LONGEST_LINE: u64 = 64 * 1024;

/// A request before anything is known of it.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Answers the requests of one connection until it ends.
pub(super) async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // Small pieces are to arrive as such.
    let _ = stream.set_nodelay(true);
    let mut stream = BufReader::new(stream);
    // An error means that the client has gone, which is its right.
    while let Ok(Some(request)) = read_request(&mut stream).await {
        let bytes = request.body.len();
        let (number, wire, reply) = shared.answer(request);
        let wire = wire.unwrap_or(Wire::Anthropic);
        let content = reply.content(wire, number, bytes);
        let delivered = deliver(stream.get_mut(), &content, reply.delivery()).await;
        if !matches!(delivered, Ok(true)) {
            return;
        }
    }
}

/// Reads a request; `None` at the end of the connection. A body needs a length: clients that send
/// chunks are refused by servers that this one stands for.
async fn read_request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Incoming>> {
    let first = read_line(stream).await?;
    let mut words = first.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let mut headers = Vec::new();
    loop {
        let line = read_line(stream).await?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let value = |name: &str| {
        headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    };
    let length = value("content-length").and_then(|length| length.parse::<usize>().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    Ok(Some(Incoming {
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body,
    }))
}

async fn read_line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    stream.take(LONGEST_LINE).read_line(&mut line).await?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// What is sent.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Sends a response the way its reply asks for. Returns whether the connection can be used again.
async fn deliver(stream: &mut TcpStream, content: &Content, how: &Delivery) -> io::Result<bool> {
    tokio::time::sleep(how.delay).await;
    if how.stall_after == Some(0) {
        std::future::pending::<()>().await;
    }
    let mut head = format!(
        "HTTP/1.1 {} Reply\r\ntransfer-encoding: chunked\r\n",
        content.status
    );
    for (name, value) in &content.headers {
        head = format!("{head}{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    let body = content.body.as_slice();
    let last = [how.cut_after, how.end_after, how.stall_after];
    let end = last.into_iter().flatten().fold(body.len(), usize::min);
    let body = body.get(..end).unwrap_or(body);
    for piece in body.chunks(how.split_every.unwrap_or(body.len()).max(1)) {
        stream
            .write_all(format!("{:x}\r\n", piece.len()).as_bytes())
            .await?;
        stream.write_all(piece).await?;
        stream.write_all(b"\r\n").await?;
        stream.flush().await?;
        if how.split_every.is_some() {
            tokio::task::yield_now().await;
        }
    }
    if how.stall_after == Some(end) {
        std::future::pending::<()>().await;
    }
    if how.cut_after == Some(end) {
        return Ok(false);
    }
    stream.write_all(b"0\r\n\r\n").await?;
    Ok(true)
}
