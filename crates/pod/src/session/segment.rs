//! One file of a session, as it is read.
//!
//! The line end is the commit mark: what stands behind the last one was never acknowledged.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use llm::Item;
use llm::rules::Row;
use uuid::Uuid;

use super::disk::Disk;
use super::entry::{Decoded, Entry, LINE_LIMIT, Unreadable, decode};
use super::error::{Context as _, LogError};
use super::header::{self, HEADER_LIMIT, Header, NoHeader};

/// What a segment says.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Its first line.
    pub header: Header,
    /// Its entries, in order.
    pub entries: Vec<Located>,
    /// Where the last committed line ends, in bytes.
    pub end: u64,
    /// What stands behind the last committed line, if anything.
    pub torn: Option<Torn>,
    /// The first line that could not be read, or that cannot stand where it does; only what stands
    /// before it is in `entries`. Never set unless asked for.
    pub damage: Option<Damage>,
    /// Lines of types that a newer version knows: they stay in the file and are not in `entries`.
    pub unknown_lines: u64,
    /// Blocks of messages of kinds that a newer version knows: they stay in the file and are not in
    /// the entries.
    pub unknown_blocks: u64,
}

/// An entry and where it stands.
#[derive(Clone, Debug)]
pub struct Located {
    /// The entry.
    pub entry: Entry,
    /// Its line, from 1.
    pub line: u64,
    /// Where its line begins, in bytes.
    pub begin: u64,
    /// Where its line ends, in bytes.
    pub end: u64,
}

/// The unfinished end of a log: one line, and nothing but empty lines behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The line, from 1.
    pub line: u64,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// How many bytes stand from there to the end of the file.
    pub length: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// A line that cannot be read, or that cannot stand where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The line, from 1.
    pub line: u64,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// Reads a segment from its file.
///
/// With `salvage`, a bad line before the end is told in [`Contents::damage`]; otherwise it is an
/// error.
pub fn read(disk: &dyn Disk, path: &Path, salvage: bool) -> Result<Contents, LogError> {
    let file = disk.open_read(path).context("open", path)?;
    parse(BufReader::with_capacity(64 * 1024, file), path, salvage)
}

fn parse(mut file: impl BufRead, path: &Path, salvage: bool) -> Result<Contents, LogError> {
    let mut buffer = Vec::new();
    let header = first_line(&mut file, &mut buffer, path)?;
    let mut contents = Contents {
        header,
        entries: Vec::new(),
        end: buffer.len() as u64,
        torn: None,
        damage: None,
        unknown_lines: 0,
        unknown_blocks: 0,
    };
    // A bad line is the torn end if nothing but empty lines comes behind it.
    let mut suspect: Option<Damage> = None;
    let mut order = Order::default();
    let mut offset = contents.end;
    for line in 2.. {
        let read = read_line(&mut file, &mut buffer, LINE_LIMIT).context("read", path)?;
        if read.length == 0 {
            break;
        }
        let begin = offset;
        offset += read.length;
        let text = buffer.trim_ascii();
        if text.is_empty() && read.has_end {
            if suspect.is_none() {
                contents.end = offset;
            }
            continue;
        }
        if let Some(damage) = suspect.take() {
            return contents.up_to(damage, path, salvage);
        }
        let decoded = if !read.has_end {
            Err(Unreadable::Bad(String::from("it has no line end")))
        } else if read.length > LINE_LIMIT as u64 {
            let reason = format!("it has more than {LINE_LIMIT} bytes");
            Err(Unreadable::Bad(reason))
        } else {
            decode(text)
        };
        match decoded {
            Ok(Decoded {
                entry,
                unknown_blocks,
            }) => {
                if let Err(reason) = order.next(line, &entry, &contents) {
                    let offset = begin;
                    let damage = Damage {
                        line,
                        offset,
                        reason,
                    };
                    return contents.up_to(damage, path, salvage);
                }
                contents.end = offset;
                contents.unknown_blocks += unknown_blocks;
                contents.entries.push(Located {
                    entry,
                    line,
                    begin,
                    end: offset,
                });
            }
            Err(Unreadable::UnknownType) => {
                contents.end = offset;
                contents.unknown_lines += 1;
            }
            Err(Unreadable::Bad(reason)) => {
                suspect = Some(Damage {
                    line,
                    offset: begin,
                    reason,
                });
            }
        }
    }
    contents.torn = suspect.map(|damage| Torn {
        line: damage.line,
        offset: damage.offset,
        length: offset - damage.offset,
        reason: damage.reason,
    });
    Ok(contents)
}

/// Whether entries stand as they were written: each once, and each call with its result.
///
/// Pod never writes them otherwise, however it is interrupted. Where they stand otherwise, somebody
/// lost a line, doubled or moved one: the task list may have lost a change there, and no provider
/// takes a request with a result without its call.
#[derive(Default)]
struct Order {
    ids: Ids,
    row: Row,
}

impl Order {
    fn next(&mut self, line: u64, entry: &Entry, before: &Contents) -> Result<(), String> {
        if let Some(first) = self.ids.insert(entry.id, line) {
            return Err(format!("entry {} stands at line {first} too", entry.id));
        }
        self.row.push(&entry.item).map_err(|violation| {
            let what = violation.what();
            // It may be that nothing is missing but the knowledge of it.
            let unknown = before
                .unknown()
                .map(|it| format!("; before it stand {it}: try a newer pod first"));
            let unknown = unknown.unwrap_or_default();
            format!("a line is missing, moved or doubled here ({what}){unknown}")
        })
    }
}

/// The ids of entries and their lines. Later ids sort behind earlier ones unless a clock was wrong, so
/// most are seen to be new by one look at the last.
#[derive(Default)]
struct Ids {
    rising: Vec<(Uuid, u64)>,
    others: HashMap<Uuid, u64>,
}

impl Ids {
    /// Adds an id. Gives the line where it stands already, if it does.
    fn insert(&mut self, id: Uuid, line: u64) -> Option<u64> {
        if self.rising.last().is_none_or(|(last, _)| *last < id) {
            self.rising.push((id, line));
            return None;
        }
        match self.rising.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(at) => self.rising.get(at).map(|(_, line)| *line),
            Err(_) => self.others.insert(id, line),
        }
    }
}

impl Contents {
    /// What stands before the damage, if it is to be passed over.
    fn up_to(mut self, damage: Damage, path: &Path, salvage: bool) -> Result<Self, LogError> {
        if !salvage {
            return Err(damage.into_error(path));
        }
        self.damage = Some(damage);
        Ok(self)
    }

    /// Whether the first entry is one that Pod never begins with, so that somebody lost what was before.
    pub(crate) fn lacks_beginning(&self) -> bool {
        let first = self.entries.first().map(|located| &*located.entry.item);
        matches!(first, Some(Item::Assistant(_)))
    }

    /// What a newer version wrote, in words; `None` if it wrote nothing.
    pub(crate) fn unknown(&self) -> Option<String> {
        let counted = |count: u64, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            count => Some(format!("{count} {what}s")),
        };
        let counts = [
            counted(self.unknown_lines, "line"),
            counted(self.unknown_blocks, "block"),
        ];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        let text = counts.join(" and ");
        (!text.is_empty()).then(|| format!("{text} of a type that this version does not know"))
    }
}

impl Damage {
    pub(super) fn into_error(self, path: &Path) -> LogError {
        LogError::BadLine {
            path: path.to_owned(),
            line: self.line,
            offset: self.offset,
            reason: self.reason,
        }
    }
}

/// Reads only the first line of a segment.
pub fn read_header(disk: &dyn Disk, path: &Path) -> Result<Header, LogError> {
    let file = disk.open_read(path).context("open", path)?;
    first_line(&mut BufReader::new(file), &mut Vec::new(), path)
}

fn first_line(
    file: &mut impl BufRead,
    buffer: &mut Vec<u8>,
    path: &Path,
) -> Result<Header, LogError> {
    // Not `read_line`, which would go to the end of a file without line ends.
    file.take(HEADER_LIMIT as u64)
        .read_until(b'\n', buffer)
        .context("read", path)?;
    header::parse(buffer).map_err(|fault| match fault {
        NoHeader::Newer(version) => LogError::NewerVersion {
            path: path.to_owned(),
            version,
        },
        NoHeader::Bad(reason) => LogError::NoHeader {
            path: path.to_owned(),
            reason,
        },
    })
}

/// A line that was read into a buffer.
pub(super) struct Line {
    /// Its length in bytes, with its end; 0 at the end of the file.
    pub(super) length: u64,
    /// Whether it has an end.
    has_end: bool,
}

/// Reads a line with its end into the buffer. Of one that is longer than the limit only the
/// beginning is kept, but the whole is passed.
pub(super) fn read_line(
    file: &mut impl BufRead,
    buffer: &mut Vec<u8>,
    limit: usize,
) -> io::Result<Line> {
    buffer.clear();
    let mut length = file.by_ref().take(limit as u64).read_until(b'\n', buffer)?;
    let mut has_end = buffer.ends_with(b"\n");
    while !has_end && length >= limit {
        let chunk = file.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', chunk);
        has_end = end.is_some();
        let passed = end.map_or(chunk.len(), |index| index + 1);
        file.consume(passed);
        length += passed;
    }
    Ok(Line {
        length: length as u64,
        has_end,
    })
}

/// The committed lines of a segment up to the byte `end`, without its header, as they stand in the
/// file: also those that this version cannot interpret.
pub(crate) fn raw_lines(
    disk: &dyn Disk,
    path: &Path,
    end: u64,
) -> Result<impl Iterator<Item = Result<Vec<u8>, LogError>> + use<>, LogError> {
    let file = disk.open_read(path).context("open", path)?;
    let mut reader = BufReader::new(file).take(end);
    let mut header = Vec::new();
    reader
        .read_until(b'\n', &mut header)
        .context("read", path)?;
    let path = path.to_owned();
    Ok(std::iter::from_fn(move || {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line).context("read", &path) {
            Ok(0) => None,
            Ok(_) => Some(Ok(line)),
            Err(error) => Some(Err(error)),
        }
    }))
}

#[cfg(test)]
#[path = "segment_tests.rs"]
mod tests;
