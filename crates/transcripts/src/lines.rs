//! Finds the lines that matter in a stream of bytes, in memory that does not grow with it.
//!
//! Most of a log has nothing to do with tasks (98 % of the bytes of 375 real ones), so its speed is how
//! fast that is skipped: a chunk is searched for needles as a whole, and only a line with one is looked
//! at. The lines between are counted, and those that do not look like a record are given out too.

use std::io::{self, Read};
use std::ops::Range;
use std::ptr;

use memchr::{memchr, memchr_iter, memrchr};

use crate::format::Needles;

/// How much is read at once. It stays in the second-level cache together with what else is used. Reads
/// of more than 128 KB were three times slower where it was measured.
const CHUNK: usize = 64 * 1024;

/// So many bytes at the end of the input are known to the last, so that it can be told when it ended.
pub(crate) const TAIL: usize = 16 * 1024;

/// How long the buffer may stay once a long line made it so.
const KEPT: usize = 8 * 1024 * 1024;

/// The longest line that is held. The longest in 375 real logs has 1.9 MB (`real-logs.md` 1.10).
pub(crate) const LONGEST: usize = 256 * 1024 * 1024;

/// A stream of bytes as lines.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// Where the first line begins that was not given out or skipped.
    start: usize,
    /// Where the last line end that was read lies, and one.
    complete: usize,
    /// Where the bytes that were read end.
    end: usize,
    /// How many lines lie before `start`.
    number: u64,
    /// How many bytes lie before the buffer.
    offset: u64,
    /// The next needle, and the needles it was found with.
    found: Option<(&'static Needles, Option<usize>)>,
    /// In the middle of a line that is longer than can be held.
    overlong: bool,
}

/// A line that may matter.
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: u64,
    /// Where it stands in the buffer, without its end.
    pub(crate) range: Range<usize>,
    /// It has a line end.
    pub(crate) complete: bool,
}

/// What comes next.
pub(crate) enum Step {
    Line(Line),
    /// A line, from 1, that was longer than can be held.
    TooLong(u64),
    /// The input has no more, for now.
    End,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            start: 0,
            complete: 0,
            end: 0,
            number: 0,
            offset: 0,
            found: None,
            overlong: false,
        }
    }

    /// What was read and not given out.
    pub(crate) fn ahead(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or(&[])
    }

    /// Whether a line of that is whole.
    pub(crate) fn has_line(&self) -> bool {
        self.complete > self.start
    }

    /// What was read and not given out, and the rest of the input.
    pub(crate) fn into_rest(mut self) -> (Vec<u8>, R) {
        self.buffer.truncate(self.end);
        self.buffer.drain(..self.start);
        (self.buffer, self.input)
    }

    pub(crate) fn input(&mut self) -> &mut R {
        &mut self.input
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.buffer.get(range).unwrap_or(&[])
    }

    /// How many line ends were met, and how many bytes.
    pub(crate) fn position(&self) -> (u64, u64) {
        (self.number, self.offset + self.end as u64)
    }

    /// How many lines were given out or skipped, and how many bytes they have.
    pub(crate) fn taken(&self) -> (u64, u64) {
        (self.number, self.offset + self.start as u64)
    }

    /// Where a line ends in the stream, its line end included.
    pub(crate) fn end_of(&self, line: &Line) -> u64 {
        self.offset + line.range.end as u64 + u64::from(line.complete)
    }

    /// The last bytes that were read, as many as anybody asks for. (Not so behind a line that is too long.)
    pub(crate) fn tail(&self) -> &[u8] {
        let from = self.end.saturating_sub(TAIL);
        self.buffer.get(from..self.end).unwrap_or(&[])
    }

    /// The next line with one of the needles, or one that is no record.
    pub(crate) fn next(&mut self, needles: &'static Needles) -> io::Result<Step> {
        loop {
            if let Some(step) = self.search(needles) {
                return Ok(step);
            }
            if !self.fill()? {
                return Ok(Step::End);
            }
        }
    }

    /// The last line, which has no end.
    pub(crate) fn last(&mut self) -> Option<Step> {
        if self.overlong {
            self.overlong = false;
            self.number += 1;
            return Some(Step::TooLong(self.number));
        }
        if self.start >= self.end {
            return None;
        }
        let range = self.start..self.end;
        self.start = self.end;
        self.complete = self.end;
        self.found = None;
        self.number += 1;
        Some(Step::Line(Line {
            number: self.number,
            range,
            complete: false,
        }))
    }

    /// Looks at the whole lines in the buffer.
    fn search(&mut self, needles: &'static Needles) -> Option<Step> {
        if self.start >= self.complete {
            return None;
        }
        if self.overlong {
            return Some(self.end_overlong());
        }
        let hit = self.hit(needles);
        let until = match hit {
            Some(at) => {
                let before = self.buffer.get(self.start..at).unwrap_or(&[]);
                memrchr(b'\n', before).map_or(self.start, |found| self.start + found + 1)
            }
            None => self.complete,
        };
        if let Some(line) = self.skip(until) {
            return Some(Step::Line(line));
        }
        hit?;
        let line = self.take();
        self.found = None;
        Some(Step::Line(line))
    }

    /// Where the first needle lies behind `start`.
    fn hit(&mut self, needles: &'static Needles) -> Option<usize> {
        if let Some((with, found)) = self.found
            && ptr::eq(with, needles)
        {
            return found;
        }
        let ahead = self.buffer.get(self.start..self.complete).unwrap_or(&[]);
        let found = needles.find(ahead).map(|at| self.start + at);
        self.found = Some((needles, found));
        found
    }

    /// Skips the lines up to there. Stops behind the first that is no record, and gives that one.
    fn skip(&mut self, until: usize) -> Option<Line> {
        let region = self.buffer.get(self.start..until).unwrap_or(&[]);
        let mut begin = 0;
        for end in memchr_iter(b'\n', region) {
            let line = region.get(begin..end).unwrap_or(&[]);
            self.number += 1;
            if !looks_whole(line) {
                let range = self.start + begin..self.start + end;
                self.start += end + 1;
                return Some(Line {
                    number: self.number,
                    range,
                    complete: true,
                });
            }
            begin = end + 1;
        }
        self.start = until;
        None
    }

    /// The line at `start`.
    fn take(&mut self) -> Line {
        let ahead = self.buffer.get(self.start..self.complete).unwrap_or(&[]);
        let length = memchr(b'\n', ahead).unwrap_or(ahead.len());
        let range = self.start..self.start + length;
        self.start = range.end + 1;
        self.number += 1;
        Line {
            number: self.number,
            range,
            complete: true,
        }
    }

    fn end_overlong(&mut self) -> Step {
        self.overlong = false;
        self.found = None;
        Step::TooLong(self.take().number)
    }

    /// Reads more. `false` if there is none, for now.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        self.make_room();
        // A chunk and no more, however long the buffer is: so it stays in the cache.
        let until = self.buffer.len().min(self.end + CHUNK);
        let room = self.buffer.get_mut(self.end..until).unwrap_or(&mut []);
        let read = loop {
            match self.input.read(room) {
                Ok(read) => break read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        let fresh = self.end..self.end + read;
        self.end = fresh.end;
        if let Some(found) = memrchr(b'\n', self.buffer.get(fresh.clone()).unwrap_or(&[])) {
            self.complete = fresh.start + found + 1;
        }
        Ok(read > 0)
    }

    /// Moves what is left to the front, and makes the buffer longer if it is full all the same.
    fn make_room(&mut self) {
        if self.overlong {
            // Nothing of it is needed; only its end is.
            self.offset += self.end as u64;
            self.start = 0;
            self.complete = 0;
            self.end = 0;
        } else if self.start > TAIL {
            let from = self.start - TAIL;
            self.buffer.copy_within(from..self.end, 0);
            self.offset += from as u64;
            self.end -= from;
            self.complete = self.complete.saturating_sub(from);
            self.start = TAIL;
        }
        self.found = None;
        if self.end < self.buffer.len() {
            if self.buffer.len() > KEPT && self.end < CHUNK {
                self.buffer.truncate(TAIL + CHUNK);
                self.buffer.shrink_to_fit();
            }
            return;
        }
        if self.end - self.start > LONGEST {
            self.overlong = true;
            self.make_room();
            return;
        }
        // Half as much again: memory stays near the longest line. But no more than the longest line and its
        // end, so that all readers agree on which one that is.
        let length = self.end + (self.end / 2).max(TAIL + CHUNK);
        let length = length.min(self.start + LONGEST + 1);
        self.buffer.reserve_exact(length - self.end);
        self.buffer.resize(length, 0);
    }
}

/// Whether a line is empty or begins and ends like a record. Only a line that does not, or that has a
/// needle, is worth a closer look.
pub(crate) fn looks_whole(line: &[u8]) -> bool {
    let trimmed = line.trim_ascii();
    trimmed.is_empty() || (trimmed.first() == Some(&b'{') && trimmed.last() == Some(&b'}'))
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
