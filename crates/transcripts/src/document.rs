//! Logs that are one JSON document with a list of messages: exports of opencode, chats of Gemini CLI,
//! and transcripts wrapped into `{"loglines": [...]}`. One message at a time is in memory.

use std::cell::Cell;
use std::fmt;
use std::io::{BufReader, Read};

use memchr::memchr;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::event::Event;
use crate::format::{Decode, Format, Output};
use crate::json::{Maybe, Text, object, parse};
use crate::lossy::LossyReader;
use crate::report::FaultKind;
use crate::{claude, gemini, opencode, salvage};

/// Whether what a log begins with is the beginning of such a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Yes,
    No,
    /// More of it must be seen.
    Unsure,
    /// It is one if nothing else comes behind it.
    IfAlone,
}

/// What a text may begin with on some systems.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Judges the beginning of a log, all that there is of it so far.
pub(crate) fn verdict(head: &[u8]) -> Verdict {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let head = head.trim_ascii_start();
    match has_messages(head) {
        Verdict::Yes => alone(head),
        other => other,
    }
}

/// A record may have a list of messages too. It is no document if it has a line to itself and others
/// follow, unless those are documents again: of several exports one behind the other the first is read.
fn alone(head: &[u8]) -> Verdict {
    let Some((line, behind)) = memchr(b'\n', head).and_then(|end| head.split_at_checked(end))
    else {
        return Verdict::IfAlone;
    };
    let Ok(first) = parse::<First<'_>>(line) else {
        return Verdict::Yes;
    };
    let behind = behind.trim_ascii_start();
    if behind.is_empty() {
        return Verdict::IfAlone;
    }
    match has_messages(behind) {
        Verdict::No => Verdict::No,
        // Documents do not say of what type they are, records do.
        _ if first.kind.filled().is_some() => Verdict::No,
        Verdict::Unsure => Verdict::IfAlone,
        Verdict::IfAlone | Verdict::Yes => Verdict::Yes,
    }
}

/// Whether this is the beginning of an object with a list of messages.
fn has_messages(head: &[u8]) -> Verdict {
    match head.first() {
        None => return Verdict::Unsure,
        Some(b'{') => {}
        Some(_) => return Verdict::No,
    }
    let found = Cell::new(false);
    let mut deserializer = serde_json::Deserializer::from_slice(head);
    let read = deserializer.deserialize_map(Keys(&found));
    match read {
        _ if found.get() => Verdict::Yes,
        Err(error) if error.is_eof() => Verdict::Unsure,
        _ => Verdict::No,
    }
}

/// What tells a record from a document.
#[derive(Deserialize, Default)]
#[serde(default)]
struct First<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
}

/// Looks at the fields of the document until one of the telling ones comes.
struct Keys<'a>(&'a Cell<bool>);

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'_>>()? {
            if key.is("messages") || key.is("loglines") {
                return map.next_value_seed(Begun(self.0));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Notes that a list begins, and reads no further. Anything else is an error.
struct Begun<'a>(&'a Cell<bool>);

impl<'de> DeserializeSeed<'de> for Begun<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Begun<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        self.0.set(true);
        Ok(())
    }
}

/// Reads a document to its end.
pub(crate) fn read(input: impl Read, out: &mut Output) {
    let input = BufReader::with_capacity(64 * 1024, LossyReader::new(input));
    let mut deserializer = serde_json::Deserializer::from_reader(input);
    let mut document = Document {
        out,
        wrapped: claude::Decoder::default(),
        pending: Vec::new(),
        messages: 0,
    };
    let read = deserializer.deserialize_map(&mut document);
    // What stands behind the document is not read, so it is told.
    let read = read.and_then(|()| deserializer.end());
    let Document {
        mut wrapped,
        mut pending,
        messages,
        ..
    } = document;
    // A list without messages says nothing more.
    out.report.format = out.report.format.or(Some(Format::GeminiChat));
    if let Err(error) = read {
        let kind = if error.is_eof() {
            FaultKind::Cut
        } else {
            FaultKind::Malformed
        };
        let detail = format!("the document cannot be read on from there: {error}");
        out.report.fault(kind, error.line() as u64, detail);
    }
    for event in &mut pending {
        if let crate::What::Pending { lost, .. } = &mut event.what {
            *lost = event.place.line + 1 < messages;
        }
    }
    out.events.extend(pending);
    if out.report.format == Some(Format::ClaudeTranscript) {
        out.report.lines = messages;
        wrapped.end(out);
    }
}

/// Takes in the fields of the document as they come.
struct Document<'a> {
    out: &'a mut Output,
    wrapped: claude::Decoder,
    /// Calls without a result. They are told at the end.
    pending: Vec<Event>,
    messages: u64,
}

/// What opencode tells of a session.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Info<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    directory: Text<'a>,
}

object!(Info);

impl<'de> Visitor<'de> for &mut Document<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with messages")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'_>>()? {
            match key.as_str() {
                Some("messages") => map.next_value_seed(Messages {
                    document: self,
                    wrapped: false,
                })?,
                Some("loglines") => map.next_value_seed(Messages {
                    document: self,
                    wrapped: true,
                })?,
                Some("sessionId") => {
                    let id = map.next_value::<Text<'_>>()?;
                    self.out.report.session(id.filled());
                }
                Some("info") => {
                    let info = map.next_value::<Maybe<Info<'_>>>()?.0.unwrap_or_default();
                    self.out.report.session(info.id.filled());
                    self.out.report.directory = info.directory.filled().map(str::to_owned);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The list of messages, or of lines of a transcript.
struct Messages<'a, 'b> {
    document: &'a mut Document<'b>,
    wrapped: bool,
}

impl<'de> DeserializeSeed<'de> for Messages<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(message) = seq.next_element::<Box<RawValue>>()? {
            if self.wrapped {
                self.document.line(message.get());
            } else {
                self.document.message(message.get());
            }
            self.document.messages += 1;
        }
        Ok(())
    }
}

/// A message of either agent.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    parts: Maybe<Vec<opencode::Part<'a>>>,
    tool_calls: Maybe<Vec<gemini::ToolCall<'a>>>,
    timestamp: Text<'a>,
}

impl Document<'_> {
    fn message(&mut self, json: &str) {
        let index = self.messages;
        let mended;
        let whole = !salvage::needs_mending(json.as_bytes());
        let read = serde_json::from_str::<Message<'_>>(json);
        let message = if let (true, Ok(message)) = (whole, read) {
            message
        } else {
            mended = self.mended(json);
            serde_json::from_str(&mended).unwrap_or_default()
        };
        let report = &mut self.out.report;
        report.time(crate::format::time(&message.timestamp));
        if message.parts.0.is_some() {
            report.format = Some(Format::OpencodeExport);
        } else if report.format.is_none() {
            report.format = Some(Format::GeminiChat);
        }
        let parts = message.parts.0.unwrap_or_default();
        let calls = message.tool_calls.0.unwrap_or_default();
        let events = parts
            .iter()
            .filter_map(|part| opencode::event(part, index))
            .chain(calls.iter().filter_map(|call| gemini::event(call, index)));
        for event in events {
            report.time(event.time);
            if matches!(event.what, crate::What::Pending { .. }) {
                self.pending.push(event);
            } else {
                self.out.events.push_back(event);
            }
        }
    }

    fn line(&mut self, json: &str) {
        self.out.report.format = Some(Format::ClaudeTranscript);
        let line = self.messages + 1;
        let json_bytes = json.as_bytes();
        if salvage::needs_mending(json_bytes)
            || self.wrapped.record(line, json_bytes, self.out).is_err()
        {
            let mended = self.mended(json);
            // What cannot be read even so was noted as a fault.
            let _ = self.wrapped.record(line, mended.as_bytes(), self.out);
        }
    }

    /// A message that can be read, if the only fault of this one is in its text.
    fn mended(&mut self, json: &str) -> String {
        let salvaged = salvage::records(json.as_bytes());
        for kind in salvaged.faults {
            self.out.report.fault(kind, self.messages, "");
        }
        let record = salvaged.records.into_iter().next().unwrap_or_default();
        salvage::normal(&record).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
