use std::sync::LazyLock;

use super::*;
use crate::format::ALL_LINES;

static HAY: LazyLock<Needles> = LazyLock::new(|| Needles::new(["needle"]));

/// Gives its bytes in pieces of a size, as a pipe does.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.1.min(into.len()).min(self.0.len());
        let (now, later) = self.0.split_at(length);
        into[..length].copy_from_slice(now);
        self.0 = later;
        Ok(length)
    }
}

/// The lines that are given out, with their numbers, and how many there are.
fn found(bytes: &[u8], piece: usize, needles: &'static Needles) -> (Vec<(u64, String)>, u64) {
    let mut lines = Lines::new(Pieces(bytes, piece));
    let mut found = Vec::new();
    let mut note = |lines: &Lines<_>, line: &Line| {
        let text = String::from_utf8_lossy(lines.bytes(line.range.clone())).into_owned();
        found.push((line.number, text));
    };
    loop {
        match lines.next(needles).unwrap() {
            Step::Line(line) => note(&lines, &line),
            Step::TooLong(number) => panic!("line {number} is too long"),
            Step::End => break,
        }
    }
    if let Some(Step::Line(line)) = lines.last() {
        note(&lines, &line);
    }
    let (count, length) = lines.position();
    assert_eq!(length, bytes.len() as u64);
    (found, count)
}

#[test]
fn lines_with_a_needle_and_lines_that_are_no_records_are_found_in_pieces_of_any_size() {
    let text = b"{\"a\":1}\n{\"needle\":2}\n\nnot a record\n{\"b\":3}\r\n  {\"needle and needle\"}\n{\"c\"\n{\"d\":4}";
    for piece in 1..=text.len() {
        let (lines, count) = found(text, piece, &HAY);
        assert_eq!(
            lines,
            [
                (2, String::from("{\"needle\":2}")),
                (4, String::from("not a record")),
                (6, String::from("  {\"needle and needle\"}")),
                (7, String::from("{\"c\"")),
                (8, String::from("{\"d\":4}")),
            ],
            "in pieces of {piece}"
        );
        assert_eq!(count, 8);
    }
}

#[test]
fn a_line_longer_than_the_buffer_is_whole() {
    let long = format!("{{{}needle{}}}", "x".repeat(3 * CHUNK), "y".repeat(CHUNK));
    let text = format!("{{}}\n{long}\n{{}}\n{long}\n");
    for piece in [1_000, CHUNK, usize::MAX] {
        let (lines, count) = found(text.as_bytes(), piece, &HAY);
        assert_eq!(lines, [(2, long.clone()), (4, long.clone())]);
        assert_eq!(count, 4);
    }
}

#[test]
fn the_needles_may_change_from_line_to_line() {
    let text = b"{\"needle\"}\n{\"a\"}\n{\"needle\"}\n{\"b\"}\n";
    let mut lines = Lines::new(&text[..]);
    let mut numbers = Vec::new();
    for needles in [&*HAY, &*ALL_LINES, &*HAY, &*HAY] {
        if let Step::Line(line) = lines.next(needles).unwrap() {
            numbers.push(line.number);
        }
    }
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn what_is_written_later_is_found_later() {
    /// A file that has an end and then goes on.
    struct Growing(Vec<&'static [u8]>);
    impl Read for Growing {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let mut part = self.0.remove(0);
            part.read(into)
        }
    }
    let mut lines = Lines::new(Growing(vec![
        b"{\"needle\"}\n{\"nee",
        b"",
        b"dle\"}\n",
        b"",
    ]));
    let mut steps = Vec::new();
    for _ in 0..4 {
        steps.push(match lines.next(&HAY).unwrap() {
            Step::Line(line) => line.number,
            _ => 0,
        });
    }
    assert_eq!(steps, [1, 0, 2, 0]);
}
