//! A large file, searched by several threads.
//!
//! A log of a gigabyte is read in the time that it takes to copy it out of the page cache and to search
//! it. Each thread does that for every other [section](crate::section) of the file and keeps only the
//! lines that matter. Those are taken in here, in order.
//!
//! What matters depends on what was read before: behind a call its result does. So a thread keeps more
//! of the lines behind a call. Where that is not enough, those lines are read once more, here.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::format::Needles;
use crate::lines::{Lines, Step, TAIL};
use crate::section::{self, Digest, Entry, Wanted};

/// The bytes of a section. Long enough that few lines go over from one to the next.
const SECTION: u64 = 2 * 1024 * 1024;

/// How many threads search. The one that takes in the records has little to do.
const THREADS: usize = 2;

/// How many sections a thread may be ahead.
const QUEUE: usize = 8;

/// A line that matters, or a place where one was that is too long.
pub(crate) enum Found<'a> {
    Line {
        number: u64,
        bytes: &'a [u8],
        complete: bool,
    },
    TooLong(u64),
    End,
}

/// A file, from some line on.
pub(crate) struct Ahead {
    file: Arc<File>,
    wanted: Wanted,
    threads: Vec<Receiver<io::Result<Digest>>>,
    turn: usize,
    digest: Digest,
    /// The next entry of the digest.
    next: usize,
    /// How many lines lie before the section of the digest.
    before: u64,
    /// How far the file was taken in.
    at: Place,
    /// Up to this line the digest has all that may be wanted while a call is open.
    sure: u64,
    /// Lines that the digest may lack are read here.
    gap: Option<(Place, Lines<Rest>)>,
}

/// A place between two lines: how many lie before it, and how many bytes.
#[derive(Clone, Copy)]
struct Place {
    lines: u64,
    offset: u64,
}

impl Ahead {
    /// Begins behind so many lines, which take so many bytes.
    pub(crate) fn new(file: File, lines: u64, offset: u64, wanted: Wanted) -> Self {
        let file = Arc::new(file);
        let threads = (0..THREADS)
            .map(|thread| {
                let (give, digests) = sync_channel(QUEUE);
                let file = Arc::clone(&file);
                thread::spawn(move || search(&file, offset, thread as u64, wanted, &give));
                digests
            })
            .collect();
        Self {
            file,
            wanted,
            threads,
            turn: 0,
            digest: Digest::default(),
            next: 0,
            before: lines,
            at: Place { lines, offset },
            sure: 0,
            gap: None,
        }
    }

    /// How many lines and bytes were taken in.
    pub(crate) fn position(&self) -> (u64, u64) {
        (self.at.lines, self.at.offset)
    }

    /// The last bytes of the file.
    pub(crate) fn tail(&self) -> Vec<u8> {
        let mut tail = vec![0; TAIL];
        let from = self.at.offset.saturating_sub(tail.len() as u64);
        let read = self.file.read_at(&mut tail, from).unwrap_or(0);
        tail.truncate(read);
        tail
    }

    /// The next line that matters, if these are the needles.
    pub(crate) fn next(&mut self, needles: &'static Needles) -> io::Result<Found<'_>> {
        let idle = ptr::eq(needles, self.wanted.idle);
        if idle {
            self.gap = None;
        }
        loop {
            if self.gap.is_some() {
                return self.read_gap(needles);
            }
            while self
                .entry()
                .is_some_and(|entry| self.before + entry.number <= self.at.lines)
            {
                self.next += 1;
            }
            let section_end = self.before + self.digest.lines;
            let passed = self
                .entry()
                .map_or(section_end, |entry| self.before + entry.number - 1);
            if !idle && passed > self.sure.max(self.at.lines) {
                let file = Arc::clone(&self.file);
                let rest = Rest {
                    file,
                    at: self.at.offset,
                };
                self.gap = Some((self.at, Lines::new(rest)));
            } else if self.entry().is_some() {
                if self.is_wanted(needles, idle) {
                    return Ok(self.give());
                }
                self.give();
            } else if !self.next_section()? {
                return Ok(Found::End);
            }
        }
    }

    fn entry(&self) -> Option<&Entry> {
        self.digest.entries.get(self.next)
    }

    /// Whether the next entry is wanted now: the threads keep more behind a call than may be.
    fn is_wanted(&self, needles: &'static Needles, idle: bool) -> bool {
        let Some(entry) = self.entry() else {
            return false;
        };
        if entry.idle || ptr::eq(needles, self.wanted.open) {
            return true;
        }
        let range = entry.range.clone();
        let line = range.and_then(|range| self.digest.bytes.get(range));
        !idle && line.is_some_and(|line| needles.find(line).is_some())
    }

    /// Gives the next entry of the digest.
    fn give(&mut self) -> Found<'_> {
        let Some(entry) = self.digest.entries.get(self.next) else {
            return Found::End;
        };
        self.next += 1;
        let number = self.before + entry.number;
        self.at = Place {
            lines: number,
            offset: entry.end,
        };
        self.sure = self.sure.max(self.before + entry.sure);
        match &entry.range {
            Some(range) => Found::Line {
                number,
                bytes: self.digest.bytes.get(range.clone()).unwrap_or(&[]),
                complete: entry.complete,
            },
            None => Found::TooLong(number),
        }
    }

    /// Gives the next line that is wanted out of those that the digest may lack.
    fn read_gap(&mut self, needles: &'static Needles) -> io::Result<Found<'_>> {
        let Some((from, lines)) = &mut self.gap else {
            return Ok(Found::End);
        };
        let step = match lines.next(needles)? {
            Step::End => lines.last().unwrap_or(Step::End),
            other => other,
        };
        let (number, end) = match &step {
            Step::Line(line) => (line.number, lines.end_of(line)),
            Step::TooLong(number) => (*number, lines.position().1),
            Step::End => lines.position(),
        };
        self.at = Place {
            lines: from.lines + number,
            offset: from.offset + end,
        };
        Ok(match step {
            Step::Line(line) => Found::Line {
                number: self.at.lines,
                bytes: lines.bytes(line.range),
                complete: line.complete,
            },
            Step::TooLong(_) => Found::TooLong(self.at.lines),
            Step::End => Found::End,
        })
    }

    /// Goes on with the next section. `false` if this was the last.
    fn next_section(&mut self) -> io::Result<bool> {
        self.before += self.digest.lines;
        if self.before > self.at.lines {
            self.at = Place {
                lines: self.before,
                offset: self.digest.end,
            };
        }
        if self.digest.is_last {
            self.digest.lines = 0;
            return Ok(false);
        }
        let gone = || io::Error::other("a thread that searches the file is gone");
        let thread = self.threads.get(self.turn).ok_or_else(gone)?;
        self.digest = thread.recv().map_err(|_| gone())??;
        self.next = 0;
        self.turn = (self.turn + 1) % THREADS;
        Ok(true)
    }
}

/// Searches every other section until the file or the interest in it ends.
fn search(
    file: &Arc<File>,
    offset: u64,
    thread: u64,
    wanted: Wanted,
    give: &SyncSender<io::Result<Digest>>,
) {
    let mut buffer = Vec::new();
    for index in (thread..).step_by(THREADS) {
        let begin = offset + index * SECTION;
        let digest = section::digest(
            file,
            begin..begin + SECTION,
            index == 0,
            wanted,
            &mut buffer,
        );
        let more = digest.as_ref().is_ok_and(|digest| !digest.is_last);
        if give.send(digest).is_err() || !more {
            return;
        }
    }
}

/// A file from a place on.
struct Rest {
    file: Arc<File>,
    at: u64,
}

impl Read for Rest {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
#[path = "ahead_tests.rs"]
mod tests;
