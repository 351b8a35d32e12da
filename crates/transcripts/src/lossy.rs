//! Bytes that are no text, replaced on the way, for readers that stop at them.

use std::io::{self, Read};

/// Passes its input on with each invalid sequence of UTF-8 replaced by U+FFFD.
pub(crate) struct LossyReader<R> {
    input: R,
    raw: Vec<u8>,
    /// Bytes of `raw` that are the beginning of a character whose rest is not read yet.
    kept: usize,
    text: Vec<u8>,
    given: usize,
}

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// The longest character has four bytes, so less than that can be a beginning of one.
const LONGEST_BEGINNING: usize = 3;

impl<R: Read> LossyReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            raw: vec![0; CHUNK],
            kept: 0,
            text: Vec::new(),
            given: 0,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.given = 0;
        let read = self
            .input
            .read(self.raw.get_mut(self.kept..).unwrap_or(&mut []))?;
        let filled = self.raw.get(..self.kept + read).unwrap_or(&[]);
        let mut kept = 0;
        let mut chunks = filled.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.text.extend_from_slice(chunk.valid().as_bytes());
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            let at_end = chunks.peek().is_none();
            if at_end && read > 0 && invalid.len() <= LONGEST_BEGINNING && is_beginning(invalid) {
                kept = invalid.len();
            } else {
                self.text.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
        let total = self.kept + read;
        self.raw.copy_within(total - kept..total, 0);
        self.kept = kept;
        if read > 0 && self.text.is_empty() {
            return self.fill();
        }
        Ok(())
    }
}

/// Whether these bytes are the beginning of a character.
fn is_beginning(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

impl<R: Read> Read for LossyReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() {
            self.fill()?;
        }
        let mut rest = self.text.get(self.given..).unwrap_or(&[]);
        let read = rest.read(into)?;
        self.given += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_cut_by_the_end_of_a_read_is_whole_and_what_is_no_text_is_replaced() {
        let bytes = "aé漢🦀".as_bytes();
        for cut in 0..=bytes.len() {
            let (one, other) = bytes.split_at(cut);
            let mut text = String::new();
            LossyReader::new(one.chain(other))
                .read_to_string(&mut text)
                .unwrap();
            assert_eq!(text, "aé漢🦀", "cut at {cut}");
        }
        let mut text = String::new();
        LossyReader::new(&b"a\xff\xe6\xbc"[..])
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "a\u{fffd}\u{fffd}");
    }
}
