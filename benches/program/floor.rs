//! The floor: what no agent can be faster than that speaks HTTP, reads JSON and keeps a log.
//!
//! No runtime, no TLS, no permissions, no checks, no recovery: one socket, one growing text, one file.
//! It is the same program as the benchmark, started with `floor`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};

const TOOLS: &str = r#"[{"name":"TaskCreate","description":"Add a task.","input_schema":{"type":"object","properties":{"subject":{"type":"string"},"description":{"type":"string"}}}},{"name":"TaskUpdate","description":"Change a task.","input_schema":{"type":"object","properties":{"taskid":{"type":"integer"},"status":{"type":"string"}}}}]"#;

/// The argument that starts it.
pub(crate) const COMMAND: &str = "floor";

/// Runs a session: goes on with the messages in the log, or begins one.
pub(crate) fn run(address: &str, log: &Path, sync: bool, prompt: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .read(true)
        .open(log)?;
    let mut messages = read(&mut file)?;
    let mut next_id = 1;
    append(
        &mut file,
        &mut messages,
        sync,
        &json!({"role": "user", "content": prompt}).to_string(),
    )?;
    let host = address.trim_start_matches("http://");
    let mut out = TcpStream::connect(host)?;
    out.set_nodelay(true)?;
    let mut input = BufReader::new(out.try_clone()?);
    loop {
        ask(&mut out, host, &messages)?;
        let content = answer(&mut input)?;
        let calls = content.as_array().into_iter().flatten();
        let results: Vec<Value> = calls
            .filter(|block| block["type"] == "tool_use")
            .map(|call| {
                let id = match call["name"].as_str() {
                    Some("TaskCreate") => {
                        next_id += 1;
                        next_id - 1
                    }
                    _ => call["input"]["taskid"].as_i64().unwrap_or(0),
                };
                json!({"type": "tool_result", "tool_use_id": call["id"], "content": format!("#{id} done")})
            })
            .collect();
        let message = json!({"role": "assistant", "content": content}).to_string();
        append(&mut file, &mut messages, sync, &message)?;
        if results.is_empty() {
            return Ok(());
        }
        let message = json!({"role": "user", "content": results}).to_string();
        append(&mut file, &mut messages, sync, &message)?;
    }
}

fn read(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let lines: Vec<&str> = text.lines().collect();
    // The JSON is read as a resume must, though nothing is done with it here.
    for line in &lines {
        serde_json::from_str::<Value>(line)?;
    }
    Ok(lines.join(","))
}

fn append(file: &mut File, messages: &mut String, sync: bool, message: &str) -> io::Result<()> {
    file.write_all(format!("{message}\n").as_bytes())?;
    if sync {
        file.sync_data()?;
    }
    if !messages.is_empty() {
        messages.push(',');
    }
    messages.push_str(message);
    Ok(())
}

fn ask(out: &mut TcpStream, host: &str, messages: &str) -> io::Result<()> {
    let begin = format!(
        "{{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":8000,\"stream\":true,\"system\":\"You work with tools.\",\"tools\":{TOOLS},\"messages\":["
    );
    let length = begin.len() + messages.len() + 2;
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\nx-api-key: x\r\nanthropic-version: 2023-06-01\r\ncontent-length: {length}\r\n\r\n{begin}"
    );
    out.write_all(head.as_bytes())?;
    out.write_all(messages.as_bytes())?;
    out.write_all(b"]}")
}

/// The content of the message that is streamed.
fn answer(input: &mut BufReader<TcpStream>) -> io::Result<Value> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    let body = String::from_utf8(body).map_err(io::Error::other)?;
    let mut blocks: Vec<Value> = Vec::new();
    let mut text = String::new();
    for data in body.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(data)?;
        match event["type"].as_str() {
            Some("content_block_start") => blocks.push(event["content_block"].clone()),
            Some("content_block_delta") => {
                for name in ["text", "partial_json"] {
                    text.push_str(event["delta"][name].as_str().unwrap_or(""));
                }
            }
            Some("content_block_stop") => {
                if let Some(block) = blocks.last_mut() {
                    if block["type"] == "tool_use" {
                        block["input"] = serde_json::from_str(&text)?;
                    } else {
                        block["text"] = json!(text);
                    }
                }
                text.clear();
            }
            _ => {}
        }
    }
    Ok(Value::Array(blocks))
}
