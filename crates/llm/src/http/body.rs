//! Request bodies that are made of shared pieces.

use std::convert::Infallible;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use serde::Serialize;

/// The body of a request: pieces that are sent one after the other. To clone one copies no text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    pieces: Vec<Bytes>,
    length: usize,
}

impl Body {
    pub(crate) fn push(&mut self, piece: impl Into<Bytes>) {
        let piece = piece.into();
        self.length += piece.len();
        self.pieces.push(piece);
    }

    pub(crate) fn extend(&mut self, pieces: &[Bytes]) {
        self.length += pieces.iter().map(Bytes::len).sum::<usize>();
        self.pieces.extend_from_slice(pieces);
    }

    /// Appends pieces, with another text in the middle of theirs.
    pub(crate) fn extend_around(&mut self, pieces: &[Bytes], position: usize, text: &'static str) {
        let mut before = position;
        for piece in pieces {
            if (1..=piece.len()).contains(&before) {
                self.push(piece.slice(..before));
                self.push(text);
                if before < piece.len() {
                    self.push(piece.slice(before..));
                }
                before = 0;
            } else {
                before = before.saturating_sub(piece.len());
                self.push(piece.clone());
            }
        }
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The body as it is sent.
    pub(crate) fn to_stream(&self) -> reqwest::Body {
        let pieces = self.pieces.clone().into_iter().map(Ok::<_, Infallible>);
        reqwest::Body::wrap_stream(stream::iter(pieces))
    }

    /// Where the pieces are in memory.
    #[cfg(test)]
    pub(crate) fn places(&self) -> Vec<*const u8> {
        self.pieces.iter().map(|piece| piece.as_ptr()).collect()
    }

    #[cfg(test)]
    pub(crate) fn to_text(&self) -> String {
        String::from_utf8(self.pieces.concat()).unwrap()
    }
}

/// A piece is not made longer than about this. Shorter ones are joined, so that a request has few
/// however many turns it holds, and is not copied but for the last one.
const PIECE: usize = 64 * 1024;

/// JSON text that only grows. What was frozen is shared with the bodies that were made of it.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    frozen: Vec<Bytes>,
    /// The bytes that are frozen.
    length: usize,
    buffer: BytesMut,
}

impl Growing {
    /// Appends JSON text as it is.
    pub(crate) fn raw(&mut self, json: &str) -> &mut Self {
        if self.buffer.len() >= PIECE {
            self.freeze();
        }
        self.buffer.extend_from_slice(json.as_bytes());
        self
    }

    /// Appends a value as JSON.
    pub(crate) fn value(&mut self, value: &(impl Serialize + ?Sized)) -> &mut Self {
        // Strings, maps with string keys and JSON values can always be written to memory.
        let written = serde_json::to_writer((&mut self.buffer).writer(), value);
        debug_assert!(written.is_ok(), "{written:?}");
        self
    }

    /// Appends a string as [`Growing::value`] does, but without the quotes around it.
    pub(crate) fn characters(&mut self, text: &str) -> &mut Self {
        let start = self.buffer.len();
        self.value(text);
        let end = self.buffer.len().saturating_sub(1);
        if start < end {
            self.buffer.copy_within(start + 1..end, start);
            self.buffer.truncate(end - 1);
        }
        self
    }

    /// How long the text is, which is a position in it.
    pub(crate) fn position(&self) -> usize {
        self.length + self.buffer.len()
    }

    /// Everything so far, in shared pieces.
    pub(crate) fn freeze(&mut self) -> &[Bytes] {
        self.length += self.buffer.len();
        match self.frozen.last_mut() {
            _ if self.buffer.is_empty() => {}
            Some(last) if last.len() + self.buffer.len() <= PIECE => {
                let joined = [last, &self.buffer[..]].concat();
                *last = Bytes::from(joined);
                self.buffer.clear();
            }
            _ => self.frozen.push(self.buffer.split().freeze()),
        }
        &self.frozen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_a_string_without_quotes() {
        let mut json = Growing::default();
        json.raw("[\"").characters("a\"\nß").characters("");
        json.characters("z").raw("\"]");
        let mut body = Body::default();
        body.extend(json.freeze());
        assert_eq!(body.to_text(), r#"["a\"\nßz"]"#);
        assert_eq!(body.len(), body.to_text().len());
    }

    #[test]
    fn long_pieces_stay_where_they_are() {
        let mut json = Growing::default();
        assert_eq!(json.freeze().len(), 0);
        let long = "a".repeat(PIECE);
        let first = json.raw(&long).freeze().to_vec();
        assert_eq!(json.freeze().len(), 1, "nothing new, no new piece");
        let second = json.raw("b").freeze().to_vec();
        assert_eq!(second[0].as_ptr(), first[0].as_ptr());
        assert_eq!(second.concat(), format!("{long}b").as_bytes());
        assert_eq!(json.position(), PIECE + 1);
    }

    #[test]
    fn short_pieces_are_joined() {
        let mut json = Growing::default();
        let mut expected = String::new();
        for number in 0..20_000 {
            let text = format!("{number:08},");
            json.raw(&text).freeze();
            expected.push_str(&text);
        }
        assert_eq!(json.freeze().concat(), expected.as_bytes());
        assert!(json.freeze().len() <= 2 * expected.len() / PIECE + 1);
    }

    #[test]
    fn a_text_is_put_at_any_position() {
        let pieces = [Bytes::from("abc"), Bytes::from("de")];
        for position in 1..=5 {
            let mut body = Body::default();
            body.extend_around(&pieces, position, "|");
            let mut expected = String::from("abcde");
            expected.insert(position, '|');
            assert_eq!(body.to_text(), expected);
            assert_eq!(body.len(), expected.len());
        }
    }
}
