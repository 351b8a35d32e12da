//! Lines to the program.

use std::io::Write as _;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::stops::{Stopping, Stops};
use crate::terminal;

/// The most bytes of a line. The Python SDK gives up on a line of more than 1 MiB
/// (`agent-sdk.md` 1.3).
const LONGEST_LINE: usize = 1_000_000;

/// How many lines may wait for a program that reads slowly, before the run waits with them.
const WAITING_LINES: usize = 64;

/// How long a process that was asked to end still writes.
const GRACE: Duration = Duration::from_secs(1);

/// The way out: whole lines, in order, each flushed.
pub(super) struct Output {
    lines: mpsc::Sender<Vec<u8>>,
    stops: Stops,
    /// Ends when all is written.
    written: oneshot::Receiver<()>,
}

impl Output {
    /// Begins to write to standard output, on a thread of its own: a program that does not read must
    /// not keep Pod from hearing what it says. That nobody reads any more is a reason to stop.
    pub(super) fn start(stops: &Stops) -> Self {
        let (lines, mut waiting) = mpsc::channel::<Vec<u8>>(WAITING_LINES);
        let (end, written) = oneshot::channel();
        watch_for_hangup(stops.clone());
        let gone = stops.clone();
        std::thread::spawn(move || {
            let mut out = std::io::stdout();
            while let Some(line) = waiting.blocking_recv() {
                if let Err(error) = out.write_all(&line).and_then(|()| out.flush()) {
                    gone.give(why_not(&error));
                    break;
                }
            }
            let _ = end.send(());
        });
        Self {
            lines,
            stops: stops.clone(),
            written,
        }
    }

    /// Writes a line. Waits while the program does not read, but not once there is a reason to stop.
    pub(super) async fn send(&self, message: &Value) {
        tokio::select! {
            biased;
            _ = self.lines.send(line_of(message)) => {}
            _ = self.stops.next() => {}
        }
    }

    /// Writes what waits, and ends.
    pub(super) async fn finish(self) {
        drop(self.lines);
        let too_long = async {
            self.stops.next().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            _ = self.written => {}
            () = too_long => {}
        }
    }
}

/// What it means that a line was not written, told if nobody else would notice.
fn why_not(error: &std::io::Error) -> Stopping {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        return Stopping::Unread;
    }
    terminal::notice(&format!("cannot write to standard output: {error}"));
    Stopping::Unwritable
}

/// Tells when the reader of standard output is gone, also while there is nothing to write: a model
/// that works for nobody costs money.
#[cfg(unix)]
fn watch_for_hangup(stops: Stops) {
    use rustix::event::{PollFd, PollFlags, poll};
    std::thread::spawn(move || {
        let out = std::io::stdout();
        let mut watched = [PollFd::new(&out, PollFlags::empty())];
        // Errors and hang-ups are told without being asked for. A file has neither.
        if poll(&mut watched, None).is_ok() {
            let bad = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
            if watched.iter().any(|fd| fd.revents().intersects(bad)) {
                stops.give(Stopping::Unread);
            }
        }
    });
}

#[cfg(not(unix))]
fn watch_for_hangup(_stops: Stops) {}

/// The line of a message. One that would be too long has its texts cut, and arrays that are too long
/// for any text their ends.
fn line_of(message: &Value) -> Vec<u8> {
    let mut line = message.to_string();
    if line.len() > LONGEST_LINE {
        let mut shortened = message.clone();
        let mut limit = tools::bounded::RESULT_LIMIT;
        while line.len() > LONGEST_LINE && limit > 0 {
            shorten(&mut shortened, limit);
            line = shortened.to_string();
            limit /= 4;
        }
    }
    line.push('\n');
    line.into_bytes()
}

/// Cuts what is longer than the limit: texts to so many bytes, with a note of what was left out, and
/// lists to so many items.
fn shorten(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) => {
            if text.len() > limit.max(200) {
                *text = tools::bounded::middle_out(text, limit.max(100));
            }
        }
        Value::Array(items) => {
            items.truncate(limit);
            for item in items {
                shorten(item, limit);
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                shorten(field, limit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_back(message: &Value) -> Value {
        let line = line_of(message);
        assert!(line.len() <= LONGEST_LINE + 1, "{} bytes", line.len());
        assert_eq!(
            line.iter().position(|byte| *byte == b'\n'),
            Some(line.len() - 1)
        );
        serde_json::from_slice(&line).unwrap()
    }

    #[test]
    fn a_short_line_is_as_it_is() {
        let message = json!({"type": "user", "text": "日本語\n\u{2028}"});
        assert_eq!(read_back(&message), message);
    }

    #[test]
    fn a_long_line_is_cut_where_it_is_long() {
        let message = json!({"type": "user", "id": "toolu_1", "text": "\u{1}".repeat(1_000_000)});
        let short = read_back(&message);
        assert_eq!(short["id"], "toolu_1");
        assert!(short["text"].as_str().unwrap().contains("bytes left out"));
    }

    #[test]
    fn many_texts_and_many_items_fit_too() {
        read_back(&json!({"list": vec!["x".repeat(1000); 3000]}));
        read_back(&json!({"list": vec![json!({"id": 1, "text": "日本"}); 60_000]}));
        read_back(&json!({"list": vec![vec![1; 1000]; 800]}));
    }
}
