//! One section of a large file, searched for the lines that matter.
//!
//! A line is not gathered to be searched: the bytes are searched as they come, in a buffer that stays in
//! the cache, and the few lines that matter are copied out of it, or read once more if they are longer.
//! So neither time nor memory depends on the long lines, which are 40 % of the bytes of real logs.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use memchr::memchr_iter;

use crate::format::{LONGEST_NEEDLE, Needles};
use crate::lines::{LONGEST, looks_whole};

/// How much is read at once. Reads of more than 128 KB were three times slower where it was measured.
const CHUNK: usize = 32 * 1024;

/// In how many lines behind a call its result is expected. In real logs it is one of the next few.
const EXPECTED: u64 = 4;

/// A line that is wanted only while a call is open is not kept if it is longer. The longest line with
/// a task call or its result has 8 KB in real logs.
const LONG: usize = 64 * 1024;

/// What to search for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// While no call is open.
    pub(crate) idle: &'static Needles,
    /// While a call is open. What is wanted then is among it.
    pub(crate) open: &'static Needles,
}

/// What matters in a section.
#[derive(Default)]
pub(crate) struct Digest {
    pub(crate) bytes: Vec<u8>,
    pub(crate) entries: Vec<Entry>,
    /// How many lines begin in the section, and where the first behind it does.
    pub(crate) lines: u64,
    pub(crate) end: u64,
    /// The file ends in it.
    pub(crate) is_last: bool,
}

pub(crate) struct Entry {
    /// The line, from 1, counted from the beginning of the section.
    pub(crate) number: u64,
    /// Where the next line begins in the file.
    pub(crate) end: u64,
    /// Up to this line of the section all was kept that may be wanted while a call is open.
    pub(crate) sure: u64,
    /// It is wanted also while no call is open.
    pub(crate) idle: bool,
    /// Where its bytes are; `None` if it is too long.
    pub(crate) range: Option<Range<usize>>,
    /// It has a line end.
    pub(crate) complete: bool,
}

/// What matters in the lines that begin in this part of the file. The first part begins with a line,
/// another may begin in the middle of one.
pub(crate) fn digest(
    file: &Arc<File>,
    part: Range<u64>,
    is_first: bool,
    wanted: Wanted,
    buffer: &mut Vec<u8>,
) -> io::Result<Digest> {
    buffer.resize(LONGEST_NEEDLE + CHUNK, 0);
    // A line begins where the byte before is a line end.
    let begin = if is_first { part.start } else { part.start - 1 };
    let mut scan = Scan {
        file,
        wanted,
        digest: Digest {
            end: begin,
            ..Digest::default()
        },
        line: Line::at(begin),
        // The line that this begins in belongs to the section before.
        skipping: !is_first,
        sure: 0,
    };
    let mut at = begin;
    // So many bytes of the chunk before stand in front, for a needle that lies in both.
    let mut kept = 0;
    loop {
        let room = buffer.get_mut(kept..kept + CHUNK).unwrap_or(&mut []);
        let read = match file.read_at(room, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        if read == 0 {
            scan.end_of_file(at)?;
            return Ok(scan.finish());
        }
        let chunk = Chunk {
            bytes: buffer.get(..kept + read).unwrap_or(&[]),
            at: at - kept as u64,
            fresh: kept,
        };
        if scan.chunk(&chunk, part.end)? {
            return Ok(scan.finish());
        }
        at += read as u64;
        let length = kept + read;
        kept = LONGEST_NEEDLE.min(length);
        buffer.copy_within(length - kept..length, 0);
    }
}

/// Bytes of the file.
struct Chunk<'a> {
    bytes: &'a [u8],
    /// Where they stand in the file.
    at: u64,
    /// Where those begin that were not there the last time.
    fresh: usize,
}

impl Chunk<'_> {
    /// The bytes from one place of the file to another, if they are here.
    fn get(&self, range: Range<u64>) -> Option<&[u8]> {
        let begin = usize::try_from(range.start.checked_sub(self.at)?).ok()?;
        let end = usize::try_from(range.end.checked_sub(self.at)?).ok()?;
        self.bytes.get(begin..end)
    }
}

/// A line whose end was not met yet.
struct Line {
    begin: u64,
    /// It has one of the needles that are always wanted.
    has_needle: bool,
    /// The first and the last byte so far that is no white space, of a line that began in another chunk.
    ends: Option<(u8, u8)>,
}

impl Line {
    fn at(begin: u64) -> Self {
        Self {
            begin,
            has_needle: false,
            ends: None,
        }
    }

    /// Takes note of a part of the line.
    fn add(&mut self, part: &[u8]) {
        let part = part.trim_ascii();
        if let (Some(&first), Some(&last)) = (part.first(), part.last()) {
            self.ends = Some((self.ends.map_or(first, |(first, _)| first), last));
        }
    }
}

struct Scan<'a> {
    file: &'a File,
    wanted: Wanted,
    digest: Digest,
    line: Line,
    skipping: bool,
    /// Up to this line all is kept that may be wanted while a call is open.
    sure: u64,
}

impl Scan<'_> {
    /// Searches a chunk. `true` if the last line of the section ended in it.
    fn chunk(&mut self, chunk: &Chunk<'_>, section_end: u64) -> io::Result<bool> {
        let mut needles = self.wanted.idle.find_all(chunk.bytes);
        let mut next_needle = needles.next();
        let fresh = chunk.bytes.get(chunk.fresh..).unwrap_or(&[]);
        for end in memchr_iter(b'\n', fresh) {
            let end = chunk.fresh + end;
            let here = chunk.at + end as u64;
            while let Some(needle) = next_needle.filter(|needle| *needle < end) {
                // One that was met in the chunk before may lie in a line that is over.
                self.line.has_needle |= chunk.at + needle as u64 >= self.line.begin;
                next_needle = needles.next();
            }
            if self.skipping {
                self.skipping = false;
                self.line = Line::at(here + 1);
                self.digest.end = here + 1;
            } else {
                self.end_line(here, true, Some(chunk))?;
            }
            if here + 1 >= section_end {
                return Ok(true);
            }
        }
        // The rest is the beginning of a line, or its middle.
        while let Some(needle) = next_needle {
            self.line.has_needle |= chunk.at + needle as u64 >= self.line.begin;
            next_needle = needles.next();
        }
        let begin = usize::try_from(self.line.begin.saturating_sub(chunk.at)).unwrap_or(usize::MAX);
        let rest = chunk.bytes.get(begin.max(chunk.fresh)..).unwrap_or(&[]);
        self.line.add(rest);
        Ok(false)
    }

    /// Behind this line something may be missing.
    fn be_sure_until(&mut self, number: u64) {
        self.sure = self.sure.min(number);
        let entries = self.digest.entries.iter_mut().rev();
        for entry in entries.take_while(|entry| entry.sure > number) {
            entry.sure = number;
        }
    }

    /// The file ends there, maybe in the middle of a line.
    fn end_of_file(&mut self, at: u64) -> io::Result<()> {
        self.digest.is_last = true;
        if !self.skipping && self.line.begin < at {
            self.end_line(at, false, None)?;
        }
        self.digest.end = at;
        Ok(())
    }

    /// Of the lines behind the section nothing is known.
    fn finish(mut self) -> Digest {
        self.be_sure_until(self.digest.lines);
        self.digest
    }

    /// The line ends there. Keeps it if it matters.
    fn end_line(&mut self, end: u64, complete: bool, chunk: Option<&Chunk<'_>>) -> io::Result<()> {
        let next = end + u64::from(complete);
        let mut line = std::mem::replace(&mut self.line, Line::at(next));
        self.digest.lines += 1;
        self.digest.end = next;
        let number = self.digest.lines;
        let here = chunk.and_then(|chunk| chunk.get(line.begin..end));
        let is_whole = match (here, chunk) {
            (Some(bytes), _) => looks_whole(bytes),
            (None, chunk) => {
                let fresh = chunk.and_then(|chunk| chunk.get(chunk.at + chunk.fresh as u64..end));
                line.add(fresh.unwrap_or(&[]));
                line.ends.is_none_or(|ends| ends == (b'{', b'}'))
            }
        };
        let length = usize::try_from(end - line.begin).unwrap_or(usize::MAX);
        // The last line may go on later; one that is too long is told.
        let idle = line.has_needle || !is_whole || !complete || length > LONGEST;
        if line.has_needle {
            self.sure = number + EXPECTED;
        }
        if !idle && number > self.sure {
            return Ok(());
        }
        if !idle && length > LONG {
            // Hardly the result of a task tool. If it is one, it is read once more.
            self.be_sure_until(number - 1);
            return Ok(());
        }
        let begin = self.digest.bytes.len();
        let range = match here {
            Some(bytes) => {
                self.digest.bytes.extend_from_slice(bytes);
                Some(begin..begin + length)
            }
            None if length > LONGEST => None,
            None => {
                self.digest.bytes.resize(begin + length, 0);
                let room = self.digest.bytes.get_mut(begin..).unwrap_or(&mut []);
                self.file.read_exact_at(room, line.begin)?;
                Some(begin..begin + length)
            }
        };
        if !idle {
            let bytes = range.clone().and_then(|range| self.digest.bytes.get(range));
            if bytes.is_some_and(|bytes| self.wanted.open.find(bytes).is_none()) {
                self.digest.bytes.truncate(begin);
                return Ok(());
            }
        }
        self.digest.entries.push(Entry {
            number,
            end: next,
            sure: self.sure,
            idle,
            range,
            complete,
        });
        Ok(())
    }
}
