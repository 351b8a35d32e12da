//! Lines from the program.

use std::io::{BufRead, BufReader, Read as _};

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::terminal;

/// The longest line that is read. Pictures make lines long; what is longer is passed over.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;

/// How many lines that say nothing are told on standard error.
const TOLD: u32 = 10;

/// Something that the program said.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// It wants something, and waits for an answer.
    Request {
        /// The name that the answer must bear.
        id: String,
        /// What it wants.
        request: Value,
    },
    /// A message of the user.
    User(Value),
    /// The answer to a question of ours; an error is a text.
    Answer {
        /// The name of the question.
        id: String,
        /// What it answers.
        answer: Result<Value, String>,
    },
    /// It will say nothing more.
    End,
}

/// Begins to read standard input, on a thread of its own: a read cannot be called off.
///
/// There is no limit to what may wait here. With one, a program that writes much before it reads
/// would wait for Pod while Pod waits for it.
pub(super) fn start() -> UnboundedReceiver<Incoming> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || read(BufReader::new(std::io::stdin()), &sender, &terminal::notice));
    receiver
}

/// Reads lines until there are no more.
fn read(mut input: impl BufRead, sender: &UnboundedSender<Incoming>, notice: &dyn Fn(&str)) {
    let mut line = Vec::new();
    let mut told = 0;
    loop {
        line.clear();
        let read = input
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line);
        let incoming = match read {
            // A pipe that cannot be read will say nothing more either.
            Ok(0) | Err(_) => {
                let _ = sender.send(Incoming::End);
                return;
            }
            Ok(_) if !line.ends_with(b"\n") && line.len() as u64 == LONGEST_LINE => {
                skip_line(&mut input);
                Err(String::from("it is too long"))
            }
            Ok(_) => parse(&line),
        };
        match incoming {
            Ok(Some(incoming)) => {
                if sender.send(incoming).is_err() {
                    return;
                }
            }
            Ok(None) => {}
            Err(reason) => {
                if told < TOLD {
                    told += 1;
                    let text = String::from_utf8_lossy(&line);
                    let begin = tools::bounded::head(&text, 80).trim_end();
                    notice(&format!(
                        "a line on standard input was ignored: {reason}: {begin}"
                    ));
                }
            }
        }
    }
}

fn skip_line(input: &mut impl BufRead) {
    loop {
        let (length, found) = match input.fill_buf() {
            Ok([]) | Err(_) => return,
            Ok(bytes) => match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (bytes.len(), false),
            },
        };
        input.consume(length);
        if found {
            return;
        }
    }
}

/// What a line says. `None` if it says nothing to Pod, an error if it says nothing at all.
fn parse(line: &[u8]) -> Result<Option<Incoming>, String> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let mut message: Value =
        serde_json::from_slice(line).map_err(|error| format!("it is no JSON ({error})"))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match message["type"].as_str() {
        Some("control_request") => {
            let id = text(&message["request_id"]).ok_or("it has no request_id")?;
            let request = message["request"].take();
            Ok(Some(Incoming::Request { id, request }))
        }
        Some("control_response") => {
            let mut response = message["response"].take();
            let id = text(&response["request_id"]).ok_or("it has no request_id")?;
            let answer = match response["subtype"].as_str() {
                Some("error") => Err(text(&response["error"])
                    .unwrap_or_else(|| String::from("the program gave no reason"))),
                _ => Ok(response["response"].take()),
            };
            Ok(Some(Incoming::Answer { id, answer }))
        }
        Some("user") => Ok(Some(Incoming::User(message))),
        // Such as `keep_alive`. Newer programs may say more than Pod knows.
        Some(_) => Ok(None),
        None => Err(String::from("it has no type")),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn all(input: &[u8]) -> Vec<Incoming> {
        said_and_told(input).0
    }

    /// What the program said, and what was told of the rest.
    fn said_and_told(input: &[u8]) -> (Vec<Incoming>, Vec<String>) {
        let (sender, mut receiver) = unbounded_channel();
        let notices = RefCell::new(Vec::new());
        read(input, &sender, &|notice| {
            notices.borrow_mut().push(notice.to_owned());
        });
        let said = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
        (said, notices.into_inner())
    }

    /// By a reading of its own: whether a line says something, nothing, or is to be told of.
    fn expected(line: &[u8]) -> Option<bool> {
        if line.trim_ascii().is_empty() {
            return Some(false);
        }
        let message: Value = serde_json::from_slice(line).ok()?;
        match message.get("type")?.as_str()? {
            "user" => Some(true),
            "control_request" => message.get("request_id")?.as_str().map(|_| true),
            "control_response" => {
                let response = message.get("response")?;
                response.get("request_id")?.as_str().map(|_| true)
            }
            _ => Some(false),
        }
    }

    /// Each line is said, passed over for a good reason, or told of; the end comes once, at the end.
    #[test]
    fn fuzz_sdk_stdin() {
        let good = concat!(
            "{\"type\":\"control_request\",\"request_id\":\"a\",\"request\":{\"subtype\":\"initialize\",\"hooks\":null}}\n",
            "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"},\"session_id\":\"\"}\n",
            "{\"type\":\"keep_alive\"}\n\r\n",
            "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"b\",\"response\":{\"behavior\":\"allow\"}}}\n",
            "{\"type\":\"control_response\",\"response\":{\"subtype\":\"error\",\"request_id\":\"d\",\"error\":\"no\"}}\n",
        );
        let words = &[
            "\"type\":\"user\",",
            "\"type\":7,",
            "\"request_id\":null,",
            "\"request\":[],",
            "\"response\":{},",
        ];
        let input = fuzzing::mutate::bytes(vec![good.as_bytes().to_vec()], words);
        fuzzing::target("sdk_stdin", input, |fuzzing::mutate::Bytes(bytes)| {
            let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(expected);
            let (mut says, mut is_told) = (0, 0);
            for line in lines {
                says += usize::from(line == Some(true));
                is_told += usize::from(line.is_none());
            }
            let (said, told) = said_and_told(&bytes);
            prop_assert_eq!(said.len(), says + 1, "{:?}", said);
            prop_assert_eq!(said.last(), Some(&Incoming::End));
            prop_assert_eq!(told.len(), is_told.min(TOLD as usize));
            prop_assert!(told.iter().all(|notice| notice.len() < 300), "{told:?}");
            Ok(())
        });
    }

    #[test]
    fn what_is_said_is_understood_and_the_rest_passed_over() {
        let lines = concat!(
            "\n  \r\n",
            "not json\n",
            "{\"type\":\n",
            "[1]\n",
            "null\n",
            "{\"type\":\"keep_alive\"}\n",
            "{\"type\":\"of tomorrow\",\"x\":1}\n",
            "{\"type\":\"control_request\"}\n",
            "{\"type\":\"control_request\",\"request_id\":\"a\",\"request\":{\"subtype\":\"interrupt\"}}\r\n",
            "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"b\",\"response\":{\"x\":1}}}\n",
            "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"c\"}}\n",
            "{\"type\":\"control_response\",\"response\":{\"subtype\":\"error\",\"request_id\":\"d\",\"error\":\"no\"}}\n",
            "{\"type\":\"control_response\",\"response\":{\"subtype\":\"error\",\"request_id\":\"e\"}}\n",
            "{\"type\":\"control_response\",\"response\":7}\n",
            "{\"type\":\"user\",\"message\":{\"content\":\"hi\"}}",
        );
        let answer = |id: &str, answer| Incoming::Answer {
            id: id.to_owned(),
            answer,
        };
        assert_eq!(
            all(lines.as_bytes()),
            [
                Incoming::Request {
                    id: String::from("a"),
                    request: json!({"subtype": "interrupt"}),
                },
                answer("b", Ok(json!({"x": 1}))),
                answer("c", Ok(Value::Null)),
                answer("d", Err(String::from("no"))),
                answer("e", Err(String::from("the program gave no reason"))),
                Incoming::User(json!({"type": "user", "message": {"content": "hi"}})),
                Incoming::End,
            ]
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_passed_over() {
        assert_eq!(all(b"\xff\xfe\n\x00\n"), [Incoming::End]);
    }

    #[test]
    fn what_is_too_long_is_passed_over_to_its_end() {
        let mut input: &[u8] = b"xxxx\n{}\n";
        skip_line(&mut input);
        assert_eq!(input, b"{}\n");
        skip_line(&mut input);
        skip_line(&mut input);
        assert_eq!(input, b"");
    }
}
