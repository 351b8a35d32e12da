//! Logs that are one JSON document with a list of messages: exports of opencode, chats of Gemini CLI,
//! and transcripts wrapped into `{"loglines": [...]}`. One message at a time is in memory.

use std::cell::RefCell;
use std::fmt;
use std::io::{BufReader, Read};
use std::ops::Range;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::event::Event;
use crate::format::{Decode, Format, Output};
use crate::json::{Maybe, Text, object};
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
}

/// Judges the beginning of a log as it comes in. Each byte is looked at once, whatever the pieces, and
/// once more when a telling field was found.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    /// How many bytes were looked at.
    seen: usize,
    /// In how many objects and lists the next byte stands.
    depth: usize,
    /// What may come next in the document itself.
    next: Next,
    /// Where the text begins that the next byte stands in, behind its quote.
    text: Option<usize>,
    /// The next byte is escaped.
    escaped: bool,
    /// That was decided.
    decided: Option<Verdict>,
    /// How many bytes were looked at, each as often as it was.
    #[cfg(test)]
    work: usize,
}

/// What may come next among the fields of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Name,
    Colon,
    Value,
}

impl Judge {
    /// What the beginning is. It is the same one as before, or a longer one.
    pub(crate) fn look(&mut self, head: &[u8]) -> Verdict {
        let fresh = head.get(self.seen..).unwrap_or(&[]);
        for (at, byte) in (self.seen..).zip(fresh) {
            if self.decided.is_some() {
                break;
            }
            self.seen = at + 1;
            self.decided = self.step(*byte, at, head);
        }
        #[cfg(test)]
        {
            self.work += fresh.len();
        }
        self.decided.unwrap_or(Verdict::Unsure)
    }

    fn step(&mut self, byte: u8, at: usize, head: &[u8]) -> Option<Verdict> {
        if let Some(begin) = self.text {
            return self.step_in_text(byte, begin..at, head);
        }
        if byte.is_ascii_whitespace() {
            return None;
        }
        if self.depth == 1 {
            // What is no document shows itself here most of the time: the rest is looked at when a
            // telling field was found.
            match (self.next, byte) {
                (Next::Name, b'"' | b'}') => {}
                (Next::Colon, b':') => self.next = Next::Value,
                (Next::Value, b',') => self.next = Next::Name,
                (Next::Value, _) => {}
                (Next::Name | Next::Colon, _) => return Some(Verdict::No),
            }
        }
        match byte {
            b'{' if self.depth == 0 => self.depth = 1,
            // It ended, and nothing told of messages; or it never began.
            _ if self.depth == 0 => return Some(Verdict::No),
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth -= 1;
                return (self.depth == 0).then_some(Verdict::No);
            }
            b'"' => self.text = Some(at + 1),
            _ => {}
        }
        None
    }

    fn step_in_text(&mut self, byte: u8, text: Range<usize>, head: &[u8]) -> Option<Verdict> {
        if byte < b' ' {
            // Such as the line end of a record that was cut.
            return Some(Verdict::No);
        }
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.text = None;
            if self.depth == 1 && self.next == Next::Name {
                self.next = Next::Colon;
                let name = head.get(text).unwrap_or(&[]);
                if is_telling(name) {
                    #[cfg(test)]
                    {
                        self.work += head.len();
                    }
                    return Some(verdict(head));
                }
            }
        }
        None
    }
}

/// Whether the name of a field, as it stands between its quotes, is one of those that make a document.
fn is_telling(name: &[u8]) -> bool {
    let is_it = |name: &[u8]| TELLING.iter().any(|it| it.as_bytes() == name);
    if !name.contains(&b'\\') {
        return is_it(name);
    }
    let quoted = [b"\"", name, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).is_ok_and(|name| is_it(name.as_bytes()))
}

/// The fields that have the messages.
const TELLING: [&str; 2] = ["messages", "loglines"];

/// Judges a beginning by all of it.
fn verdict(head: &[u8]) -> Verdict {
    let found = RefCell::new(false);
    let mut deserializer = serde_json::Deserializer::from_slice(head.trim_ascii_start());
    // Whatever stands behind a telling field is for the reading of the document.
    let _ = deserializer.deserialize_map(Keys(&found));
    if found.into_inner() {
        Verdict::Yes
    } else {
        Verdict::No
    }
}

/// Looks at the fields of the document until one of the telling ones comes.
struct Keys<'a>(&'a RefCell<bool>);

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'_>>()? {
            if TELLING.iter().any(|telling| key.is(telling)) {
                *self.0.borrow_mut() = true;
                return Ok(());
            }
            map.next_value::<IgnoredAny>()?;
        }
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
