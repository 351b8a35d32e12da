//! The output of a command, of which only the beginning and the end are kept.

use std::collections::VecDeque;

use crate::bounded::{self, RESULT_LIMIT};

/// How much of the beginning is kept, in bytes, and how much of the end. Both together are about
/// 7,500 tokens. Errors stand at either.
const HALF: usize = 15_000;

/// Takes output piece by piece, in memory that does not depend on how much there is.
#[derive(Debug, Default)]
pub(super) struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Output {
    /// Adds the next piece.
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        let room = HALF - self.head.len();
        let (head, tail) = piece.split_at(room.min(piece.len()));
        self.head.extend_from_slice(head);
        let last = tail
            .get(tail.len().saturating_sub(HALF)..)
            .unwrap_or_default();
        let surplus = (self.tail.len() + last.len()).saturating_sub(HALF);
        self.tail.drain(..surplus.min(self.tail.len()));
        self.tail.extend(last);
    }

    /// How many bytes there were.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The output as text, without the line break at its end. Says what was left out; bytes that are
    /// not text are shown as U+FFFD.
    pub(super) fn text(self) -> String {
        let Self {
            mut head,
            tail,
            total,
        } = self;
        let mut tail = Vec::from(tail);
        let missing = total - (head.len() + tail.len()) as u64;
        let text = if missing == 0 {
            head.append(&mut tail);
            printable(&head)
        } else {
            let head_end = complete(&head);
            let tail_start = tail
                .iter()
                .take(3)
                .take_while(|it| is_continuation(**it))
                .count();
            let missing = missing + (head.len() - head_end + tail_start) as u64;
            let head = printable(head.get(..head_end).unwrap_or_default());
            let tail = printable(tail.get(tail_start..).unwrap_or_default());
            format!("{head}\n[... {missing} bytes left out ...]\n{tail}")
        };
        // What is no text takes up to three times as much as text.
        bounded::middle_out(text.trim_end_matches(['\n', '\r']), RESULT_LIMIT - 500)
    }
}

fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{FFFD}")
}

/// The length without a character that is cut at the end.
fn complete(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        Some(chunk)
            if std::str::from_utf8(chunk.invalid()).is_err_and(|it| it.error_len().is_none()) =>
        {
            bytes.len() - chunk.invalid().len()
        }
        _ => bytes.len(),
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(pieces: &[&[u8]]) -> String {
        let mut output = Output::default();
        for piece in pieces {
            output.push(piece);
        }
        output.text()
    }

    #[test]
    fn short_output_is_kept() {
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[b"a\n", b"b\n\n"]), "a\nb");
        assert_eq!(of(&[b"a\xFFb\0"]), "a\u{FFFD}b\u{FFFD}");
        let whole = "日".repeat(2 * HALF / 3);
        assert_eq!(of(&[whole.as_bytes()]), whole);
    }

    #[test]
    fn the_middle_of_long_output_is_left_out() {
        for shift in 0..3 {
            let text = "x".repeat(shift) + &"日".repeat(20_000);
            let shown = of(&[text.as_bytes()]);
            let (head, rest) = shown.split_once("\n[... ").unwrap();
            let (missing, tail) = rest.split_once(" bytes left out ...]\n").unwrap();
            let missing: usize = missing.parse().unwrap();
            assert_eq!(head.len() + missing + tail.len(), text.len());
            assert!(text.starts_with(head) && text.ends_with(tail), "{shift}");
        }
    }

    #[test]
    fn output_that_is_no_text_is_bounded_too() {
        let shown = of(&[&vec![0xFF; 1_000_000]]);
        assert!(shown.len() <= RESULT_LIMIT);
        assert!(shown.contains("bytes left out"));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(sizes in proptest::collection::vec(0usize..9000, 0..12)) {
            let mut bytes = Vec::new();
            let mut output = Output::default();
            for (letter, size) in (b'a'..).zip(&sizes) {
                let piece: Vec<u8> = (0..*size).map(|at| letter + u8::from(at % 7 == 0)).collect();
                output.push(&piece);
                bytes.extend(piece);
                prop_assert!(output.head.len() <= HALF && output.tail.len() <= HALF);
            }
            prop_assert_eq!(output.total(), bytes.len() as u64);
            prop_assert_eq!(output.text(), of(&[&bytes]));
        }
    }
}
