//! Server-sent events: bytes in, events out, the same ones for every way of cutting the bytes.
//!
//! The grammar is that of the HTML standard, section 9.2.6 "Interpreting an event stream". The fields
//! `id` and `retry` are of no use here and are ignored, as the standard has it for unknown fields.

use memchr::{memchr, memchr2};

use crate::ModelError;

/// The most bytes that one event may have. A response with more is not from a language model.
const LONGEST_EVENT: usize = 16 * 1024 * 1024;

/// One event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    /// Its name; empty if the stream gave none.
    pub(crate) name: &'a str,
    /// Its data lines, joined by line feeds.
    pub(crate) data: &'a [u8],
}

/// Finds the events in a stream that arrives in pieces.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// The begin of a line whose end has not arrived.
    line: Vec<u8>,
    /// The name and the data of the event that is being read.
    name: String,
    data: Vec<u8>,
    has_data: bool,
    /// Whether the last byte was a carriage return, so that a line feed now belongs to it.
    after_return: bool,
    /// Whether the first line, which may begin with a byte order mark, has been read.
    begun: bool,
    longest: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            line: Vec::new(),
            name: String::new(),
            data: Vec::new(),
            has_data: false,
            after_return: false,
            begun: false,
            longest: LONGEST_EVENT,
        }
    }
}

/// What a line of a stream says.
enum Line<'a> {
    /// It is empty: the event is complete.
    End,
    Data(&'a [u8]),
    Name(&'a [u8]),
    /// A comment, or a field that means nothing here.
    Nothing,
}

impl<'a> Line<'a> {
    fn of(line: &'a [u8]) -> Self {
        if line.is_empty() {
            return Self::End;
        }
        let (field, value) = match memchr(b':', line) {
            Some(colon) => {
                let (field, value) = line.split_at(colon);
                let value = value.strip_prefix(b":").unwrap_or(value);
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match field {
            b"data" => Self::Data(value),
            b"event" => Self::Name(value),
            _ => Self::Nothing,
        }
    }
}

impl Decoder {
    /// Takes the next bytes of the stream and hands on each event that they complete. What an event
    /// says is copied only if it does not lie in one line of these bytes.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        emit: &mut dyn FnMut(Event<'_>) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            self.after_return = false;
        }
        // The only data line so far of the event that is being read, where it lies in `bytes`.
        let mut only = None;
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let (line, tail) = rest.split_at(end);
            rest = match tail {
                [b'\r'] => {
                    self.after_return = true;
                    &[]
                }
                [b'\r', b'\n', after @ ..] | [_, after @ ..] => after,
                [] => &[],
            };
            if !self.line.is_empty() {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                match Line::of(self.without_mark(&whole)) {
                    Line::Data(data) => self.add(data)?,
                    line => self.take(&line, &mut only, emit)?,
                }
                whole.clear();
                self.line = whole;
                continue;
            }
            match Line::of(self.without_mark(line)) {
                Line::Data(data) if !self.has_data && only.is_none() => {
                    self.check_length(data.len())?;
                    only = Some(data);
                }
                Line::Data(data) => {
                    if let Some(first) = only.take() {
                        self.add(first)?;
                    }
                    self.add(data)?;
                }
                line => self.take(&line, &mut only, emit)?,
            }
        }
        if let Some(first) = only {
            self.add(first)?;
        }
        self.line.extend_from_slice(rest);
        self.check_length(self.line.len())
    }

    /// A line without the byte order mark that the first one may have.
    fn without_mark<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        if std::mem::replace(&mut self.begun, true) {
            return line;
        }
        line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
    }

    /// Takes a line without data.
    fn take(
        &mut self,
        line: &Line<'_>,
        only: &mut Option<&[u8]>,
        emit: &mut dyn FnMut(Event<'_>) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        match line {
            Line::End => {
                let data = only.take();
                let emitted = if self.has_data || data.is_some() {
                    emit(Event {
                        name: &self.name,
                        data: data.unwrap_or(&self.data),
                    })
                } else {
                    Ok(())
                };
                self.name.clear();
                self.data.clear();
                self.has_data = false;
                emitted
            }
            Line::Name(name) => {
                self.name.clear();
                self.name.push_str(&String::from_utf8_lossy(name));
                Ok(())
            }
            Line::Data(_) | Line::Nothing => Ok(()),
        }
    }

    /// Keeps a data line of the event that is being read.
    fn add(&mut self, data: &[u8]) -> Result<(), ModelError> {
        self.check_length(self.data.len() + data.len())?;
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(data);
        Ok(())
    }

    fn check_length(&self, length: usize) -> Result<(), ModelError> {
        if length <= self.longest {
            return Ok(());
        }
        Err(ModelError::Provider {
            status: None,
            message: format!(
                "an event of the stream is longer than {} bytes",
                self.longest
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for piece in pieces {
            decoder
                .push(piece, &mut |event| {
                    let data = String::from_utf8_lossy(event.data).into_owned();
                    events.push((event.name.to_owned(), data));
                    Ok(())
                })
                .unwrap();
        }
        events
    }

    fn all(text: &str) -> Vec<(String, String)> {
        decode([text.as_bytes()])
    }

    fn pair(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn names_data_comments_and_unknown_fields() {
        let text = ": hello\nevent: a\nid: 7\ndata: 1\nnonsense\n\ndata:2\ndata\ndata:  3\n\n";
        assert_eq!(all(text), [pair("a", "1"), pair("", "2\n\n 3")]);
    }

    #[test]
    fn every_line_end_counts() {
        for end in ["\n", "\r", "\r\n"] {
            let text = ["event: x", "data: 1", "", "data: 2", "", ""].join(end);
            assert_eq!(all(&text), [pair("x", "1"), pair("", "2")], "{end:?}");
        }
    }

    #[test]
    fn an_event_without_data_or_without_an_end_is_none() {
        assert_eq!(all("event: x\n\ndata: 1\n"), []);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_once() {
        assert_eq!(
            all("\u{feff}data: 1\n\n\u{feff}data: 2\n\n"),
            [pair("", "1")]
        );
    }

    #[test]
    fn an_endless_line_is_an_error() {
        for field in ["data: ", "data: 1\ndata: ", ": "] {
            let mut decoder = Decoder {
                longest: 100,
                ..Decoder::default()
            };
            decoder.push(field.as_bytes(), &mut |_| Ok(())).unwrap();
            let error = (0..200).find_map(|_| decoder.push(b"x", &mut |_| Ok(())).err());
            insta::allow_duplicates! {
                insta::assert_snapshot!(
                    error.unwrap(),
                    @"the provider failed: an event of the stream is longer than 100 bytes"
                );
            }
        }
    }

    #[test]
    fn many_data_lines_are_bounded_together() {
        let mut decoder = Decoder {
            longest: 100,
            ..Decoder::default()
        };
        let failed = (0..200).any(|_| decoder.push(b"data: 1234\n", &mut |_| Ok(())).is_err());
        assert!(failed);
    }

    proptest! {
        #[test]
        fn the_way_of_cutting_does_not_matter(
            lines in proptest::collection::vec(
                prop_oneof![
                    Just(String::new()),
                    Just("\u{feff}".to_owned()),
                    Just("event: delta".to_owned()),
                    Just(": ping".to_owned()),
                    "data:? ?[a-zäö€😀:]{0,8}",
                ],
                0..20,
            ),
            ends in proptest::collection::vec(prop_oneof![Just("\n"), Just("\r"), Just("\r\n")], 20),
            cuts in proptest::collection::vec(1_usize..5, 1..40),
        ) {
            let text: String =
                lines.iter().zip(&ends).flat_map(|(line, end)| [line.as_str(), end]).collect();
            let mut pieces = Vec::new();
            let mut rest = text.as_bytes();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, tail) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = tail;
            }
            prop_assert_eq!(decode(pieces), all(&text));
        }
    }

    #[test]
    #[ignore = "counted by benches/instructions.sh"]
    fn counted_events_of_a_stream() {
        let event = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"some words\"}}\n\n";
        let stream = event.repeat(20_000);
        let mut decoder = Decoder::default();
        let mut bytes = 0;
        for piece in stream.as_bytes().chunks(1_400) {
            decoder
                .push(piece, &mut |event| {
                    bytes += event.data.len();
                    Ok(())
                })
                .unwrap();
        }
        assert!(bytes > 20_000 * 80);
    }
}
