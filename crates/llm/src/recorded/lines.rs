//! The lines of a log as records, and what kind of log it is.

use std::io::BufRead;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::tape::Tape;
use super::text::Text;
use super::{claude, pod};
use crate::ModelError;

/// Reads a log to its end, line by line.
pub(super) fn read(mut log: impl BufRead, name: &str) -> Result<Tape, ModelError> {
    let mut reader = Reader::default();
    let mut line = Vec::new();
    let mut number = 0_u64;
    loop {
        line.clear();
        let read = log.read_until(b'\n', &mut line);
        let read = read
            .map_err(|error| ModelError::Script(format!("cannot read the log {name}: {error}")))?;
        if read == 0 {
            break;
        }
        number += 1;
        let text = String::from_utf8_lossy(&line);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            reader.tape.warn(format!(
                "line {number} has bytes that are not UTF-8; they were replaced"
            ));
        }
        reader.line(number, &text);
    }
    if reader.format.is_none() {
        return Err(ModelError::Script(format!(
            "{name} is neither a transcript of Claude Code nor a session of Pod"
        )));
    }
    Ok(reader.tape)
}

#[derive(Default)]
struct Reader {
    format: Option<Format>,
    tape: Tape,
}

enum Format {
    Claude(claude::Reader),
    Pod,
}

/// The fields that tell what kind of log a record belongs to.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Head {
    #[serde(rename = "type", default)]
    kind: Text,
    #[serde(rename = "sessionId", alias = "session_id")]
    session: Option<serde::de::IgnoredAny>,
    #[serde(rename = "isSidechain")]
    is_sidechain: Option<serde::de::IgnoredAny>,
}

impl Reader {
    /// Reads the records of a line. That is one, unless a line end was lost.
    fn line(&mut self, number: u64, line: &str) {
        let mut rest = line.trim();
        let mut is_broken = false;
        while !rest.is_empty() {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
            let value = values.next();
            let behind = values.byte_offset();
            match value {
                Some(Ok(value)) => {
                    if !is_broken || is_whole(value.get()) {
                        self.record(number, value.get());
                    }
                    rest = rest.get(behind..).unwrap_or_default().trim_start();
                }
                Some(Err(error)) => {
                    if !is_broken {
                        self.tape
                            .warn(format!("line {number} cannot be read: {error}"));
                    }
                    is_broken = true;
                    rest = next_record(rest).unwrap_or_default();
                }
                None => break,
            }
        }
    }

    fn record(&mut self, number: u64, record: &str) {
        let read = self
            .format_of(record)
            .and_then(|()| match &mut self.format {
                Some(Format::Claude(reader)) => reader.record(&mut self.tape, record),
                Some(Format::Pod) => pod::record(&mut self.tape, record),
                None => Ok(()),
            });
        if let Err(error) = read {
            self.tape
                .warn(format!("line {number} cannot be read: {error}"));
        }
    }

    /// Decides on the format, if this record shows it.
    fn format_of(&mut self, record: &str) -> serde_json::Result<()> {
        if self.format.is_some() {
            return Ok(());
        }
        let head: Head = serde_json::from_str(record)?;
        if head.kind.0 == "session" {
            self.format = Some(Format::Pod);
        } else if head.session.is_some() || head.is_sidechain.is_some() {
            self.format = Some(Format::Claude(claude::Reader::default()));
        }
        Ok(())
    }
}

/// The next place behind the first byte where a record may begin.
fn next_record(text: &str) -> Option<&str> {
    const BEGINNINGS: [&str; 4] = [
        r#"{"parentUuid":"#,
        r#"{"type":"#,
        r#"{"sessionId":"#,
        r#"{"timestamp":"#,
    ];
    let behind = text.get(1..)?;
    let nearest = BEGINNINGS
        .iter()
        .filter_map(|beginning| behind.find(beginning))
        .min()?;
    behind.get(nearest..)
}

/// Whether an object behind a broken record is a record, and not a part of the broken one.
fn is_whole(record: &str) -> bool {
    let head = serde_json::from_str::<Head>(record);
    head.is_ok_and(|head| head.session.is_some())
}
