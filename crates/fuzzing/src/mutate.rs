//! Bytes made out of good ones by a few changes, as bad disks, other versions and ill will make them.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;

/// What is put into texts besides their own parts.
const WORDS: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\r",
    b"\n\n",
    b"\0",
    b"\"",
    b"\\",
    b"\\\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b" ",
    b"{}",
    b"[]",
    b"\"\"",
    b"null",
    b"true",
    b"0",
    b"-1",
    b"1e999",
    b"-0.0",
    b"9007199254740993",
    b"18446744073709551616",
    b"\\u0000",
    b"\\ud83d",
    b"\\ude00",
    b"\\u001b[2J",
    b"\xff",
    b"\xf0\x9f",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    "\u{202e}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{1f469}\u{200d}\u{1f467}".as_bytes(),
    b"\x1b]0;x\x07",
    b"\x1b[2J",
    b"\"type\":",
    b"\"id\":",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}",
];

/// One change. The numbers are taken as parts of what there is, so that each change means something
/// for any bytes.
#[derive(Clone, Debug)]
struct Edit {
    kind: u8,
    at: u16,
    to: u16,
    word: u16,
}

/// Bytes that are shown as text, so that a failure can be read.
#[derive(Clone, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "b\"{}\"", self.0.escape_ascii())
    }
}

/// One of the good inputs with up to eight changes, or now and then none. `words` are texts that mean
/// something to the target, besides those that mean something to all.
///
/// Fewer changes and the first input are the simplest.
pub fn bytes(
    good: Vec<Vec<u8>>,
    words: &'static [&'static str],
) -> impl Strategy<Value = Bytes> + Clone {
    assert!(!good.is_empty(), "there must be something to change");
    let edit =
        any::<(u8, u16, u16, u16)>().prop_map(|(kind, at, to, word)| Edit { kind, at, to, word });
    let good = std::sync::Arc::new(good);
    (any::<prop::sample::Index>(), vec(edit, 0..8)).prop_map(move |(index, edits)| {
        let mut bytes = index.get(good.as_slice()).clone();
        for edit in &edits {
            apply(edit, &mut bytes, &good, words);
        }
        Bytes(bytes)
    })
}

/// Lengths at which a stream is cut; they are used over and over.
pub fn cuts() -> impl Strategy<Value = Vec<usize>> + Clone {
    vec(
        prop_oneof![4 => 1_usize..8, 2 => 8_usize..200, 1 => 200_usize..5000],
        1..6,
    )
}

/// The bytes in pieces of these lengths.
pub fn pieces<'a>(bytes: &'a [u8], cuts: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = bytes;
    let mut cuts = cuts.iter().cycle();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = cuts.next().map_or(rest.len(), |cut| (*cut).max(1));
        let (piece, tail) = rest.split_at(length.min(rest.len()));
        rest = tail;
        Some(piece)
    })
}

/// A place in something of this length.
fn place(part: u16, length: usize) -> usize {
    usize::from(part) * (length + 1) / (usize::from(u16::MAX) + 1)
}

fn apply(edit: &Edit, bytes: &mut Vec<u8>, good: &[Vec<u8>], words: &[&str]) {
    let length = bytes.len();
    let at = place(edit.at, length);
    let to = place(edit.to, length);
    let (from, until) = (at.min(to), at.max(to));
    // Most changes are small: what is far away from a good input is refused at its first byte.
    let near = |from: usize, most: usize| (from + 1 + usize::from(edit.word) % most).min(length);
    let line = |at: usize| line_at(bytes, at);
    match edit.kind % 16 {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << (edit.word % 8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = edit.word.to_le_bytes()[0];
            }
        }
        2 | 3 => insert(bytes, at, word(edit.word, words)),
        4 => {
            // A word in the place of a value.
            let end = near(at, 12);
            bytes.splice(at..end.max(at), word(edit.word, words).iter().copied());
        }
        5 => {
            bytes.drain(at..near(at, 16).max(at));
        }
        6 => bytes.truncate(at),
        7 => {
            let (begin, end) = line(at);
            bytes.drain(begin..end);
        }
        8 => {
            let (begin, end) = line(at);
            let copy = bytes.get(begin..end).unwrap_or_default().to_vec();
            let (to, _) = line(to);
            insert(bytes, to, &copy);
        }
        9 => {
            let (begin, end) = line(at);
            let moved: Vec<u8> = bytes.drain(begin..end).collect();
            let (to, _) = line_at(bytes, to.min(bytes.len()));
            insert(bytes, to, &moved);
        }
        10 => {
            let piece = bytes.get(at..near(at, 64)).unwrap_or_default().to_vec();
            insert(bytes, to, &piece);
        }
        11 => {
            // Some of another good input.
            if let Some(other) = good.get(usize::from(edit.word) % good.len().max(1)) {
                let (begin, end) = line_at(other, place(edit.to, other.len()));
                let piece = other.get(begin..end).unwrap_or_default().to_vec();
                let (to, _) = line_at(bytes, at);
                insert(bytes, to, &piece);
            }
        }
        12 => {
            // A line without its end is glued to the next.
            let (_, end) = line(at);
            if end > 0 && bytes.get(end - 1) == Some(&b'\n') {
                bytes.remove(end - 1);
            }
        }
        13 => number(bytes, at, edit.word),
        14 => {
            let piece = bytes.get(at..near(at, 8)).unwrap_or_default().to_vec();
            let times = 1 + usize::from(edit.to) % 300;
            insert(bytes, at, &piece.repeat(times));
        }
        _ => {
            if edit.word.is_multiple_of(8) {
                bytes.drain(from..until);
            } else {
                insert(bytes, at, word(edit.word, words));
            }
        }
    }
}

fn word<'a>(number: u16, words: &[&'a str]) -> &'a [u8] {
    let number = usize::from(number);
    if !words.is_empty() && number.is_multiple_of(2) {
        return words
            .get(number / 2 % words.len())
            .map_or(b"", |word| word.as_bytes());
    }
    WORDS.get(number / 2 % WORDS.len()).copied().unwrap_or(b"")
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let at = at.min(bytes.len());
    bytes.splice(at..at, piece.iter().copied());
}

/// Where the line at a place begins and ends, with its line end.
fn line_at(bytes: &[u8], at: usize) -> (usize, usize) {
    let (before, behind) = bytes.split_at(at.min(bytes.len()));
    let begin = before.iter().rposition(|byte| *byte == b'\n');
    let end = behind.iter().position(|byte| *byte == b'\n');
    (
        begin.map_or(0, |begin| begin + 1),
        end.map_or(bytes.len(), |end| at + end + 1),
    )
}

/// Puts another digit in the place of the next one.
fn number(bytes: &mut [u8], at: usize, word: u16) {
    let digit = bytes.iter_mut().skip(at).find(|it| it.is_ascii_digit());
    if let Some(digit) = digit {
        *digit = b'0' + u8::try_from(word % 10).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_up_the_bytes() {
        let pieces: Vec<&[u8]> = pieces(b"abcdefg", &[1, 3]).collect();
        assert_eq!(pieces, [&b"a"[..], b"bcd", b"e", b"fg"]);
    }

    proptest! {
        #[test]
        fn every_change_can_be_made_to_anything(
            inputs in vec(vec(any::<u8>(), 0..60), 1..3),
            edits in vec(any::<(u8, u16, u16, u16)>(), 0..30),
        ) {
            let mut bytes = inputs[0].clone();
            for (kind, at, to, word) in edits {
                apply(&Edit { kind, at, to, word }, &mut bytes, &inputs, &["word"]);
                bytes.truncate(100_000);
            }
        }
    }
}
