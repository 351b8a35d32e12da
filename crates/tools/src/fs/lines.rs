//! The lines of a file as the model sees them, taken from pieces of its content.

use crate::bounded::{self, RESULT_LIMIT};

/// The most characters of one line that are shown.
const LINE_LIMIT: usize = 2000;

/// The most bytes of one line that are kept: enough for the characters, however long each is, and
/// for a part of one at the end.
const LINE_BYTES: usize = LINE_LIMIT * 4 + 4;

/// What is left of the limit of a result for the notes at its end.
const NOTES: usize = 300;

/// Collects a range of lines from the pieces of a content, with their numbers. The memory depends on
/// what is shown, not on the content.
pub(super) struct Lines {
    first: u64,
    limit: u64,
    text: String,
    shown: u64,
    is_full: bool,
    has_replacements: bool,
    /// The number of the line that the next byte belongs to, from 1.
    number: u64,
    /// The beginning of that line, if it is wanted.
    line: Vec<u8>,
    line_length: u64,
}

/// What was collected.
pub(super) struct Page {
    /// The lines, each with its number and a line break, then notes.
    pub(super) text: String,
    /// How many lines the text has. They start at the first one that was wanted.
    pub(super) shown: u64,
    /// How many lines the content has.
    pub(super) total: u64,
}

impl Lines {
    /// Collects at most `limit` lines from line `first` on, as far as a result can hold them.
    pub(super) fn new(first: u64, limit: u64) -> Self {
        Self {
            first,
            limit,
            text: String::new(),
            shown: 0,
            is_full: false,
            has_replacements: false,
            number: 1,
            line: Vec::new(),
            line_length: 0,
        }
    }

    /// Takes the next piece of the content.
    pub(super) fn push(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let (part, ends) = match part.split_last() {
                Some((b'\n', line)) => (line, true),
                _ => (part, false),
            };
            self.line_length += part.len() as u64;
            if self.is_wanted() {
                let room = LINE_BYTES - self.line.len();
                self.line.extend(part.iter().take(room));
            }
            if ends {
                self.end_line();
            }
        }
    }

    /// The end of the content.
    pub(super) fn finish(mut self) -> Page {
        if self.line_length > 0 {
            self.end_line();
        }
        if self.has_replacements {
            self.text += "[bytes that are not UTF-8 text are shown as \u{FFFD}]\n";
        }
        Page {
            text: self.text,
            shown: self.shown,
            total: self.number - 1,
        }
    }

    fn is_wanted(&self) -> bool {
        !self.is_full && self.number >= self.first && self.shown < self.limit
    }

    fn end_line(&mut self) {
        if self.is_wanted() {
            let line = self.rendered();
            if self.text.len() + line.len() > RESULT_LIMIT - NOTES {
                self.is_full = true;
            } else {
                self.text += &line;
                self.shown += 1;
            }
        }
        self.number += 1;
        self.line.clear();
        self.line_length = 0;
    }

    fn rendered(&mut self) -> String {
        let mut bytes = self.line.as_slice();
        if self.number == 1 {
            // The byte order mark is no part of the text; Edit leaves it where it is.
            bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        }
        bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let number = self.number;
        let text = String::from_utf8_lossy(bytes).replace('\0', "\u{FFFD}");
        let cut = match text.char_indices().nth(LINE_LIMIT) {
            Some((end, _)) => bounded::head(&text, end),
            None => &text,
        };
        if cut.contains('\u{FFFD}') && !is_text(bytes) {
            self.has_replacements = true;
        }
        if cut.len() < text.len() {
            let length = self.line_length;
            return format!("{number}\t{cut} [... cut; the line has {length} bytes]\n");
        }
        format!("{number}\t{cut}\n")
    }
}

/// Whether the bytes are text as they are. A character may be cut at the end.
fn is_text(bytes: &[u8]) -> bool {
    let is_utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    is_utf8 && !bytes.contains(&0)
}
