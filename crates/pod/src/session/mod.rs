//! Sessions on disk: segments, the log, the lock.
//!
//! A session has one id for life and a directory of segments `0001.jsonl`, `0002.jsonl`, ... Each
//! segment stands for itself: a [`header`] line, then one line an [`entry`]. A compaction, a fork and
//! a rewind are one thing: a new segment, of the same session or of a new one, that begins with
//! copied or carried entries. Only the newest segment is read to go on; old ones stay.
//!
//! - [`entry`] (with `block`): an entry and its line, the only place that knows the format.
//! - [`segment`]: a file as it is read, torn and bad lines included. `writer`: as it is written;
//!   `log`: as a session appends to it.
//! - [`SessionStore`]: where sessions live, how one is opened; `begin`: how one is begun or forked; `find`: how it is found;
//!   `summary`: what a listing says of it.
//! - [`disk`], [`clock`]: what is asked of the machine. [`memory`]: a disk that leaves nothing behind.
//!
//! The log grows in one place: `Session::append`, which only the history calls.

mod begin;
mod block;
pub mod clock;
pub mod disk;
pub mod entry;
mod error;
mod find;
pub mod header;
mod log;
pub mod memory;
pub mod segment;
mod store;
mod summary;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

pub use clock::{Clock, SystemClock};
pub use disk::{Disk, RealDisk};
pub use entry::Entry;
pub use error::LogError;
pub use find::SessionInfo;
pub use header::{Header, Parent, Reason};
pub use memory::MemoryDisk;
pub use segment::{Contents, Located};
pub use store::{Opened, SessionStore};
pub use summary::SessionSummary;

pub(crate) use find::newest_segment;
pub(crate) use store::NO_BEGINNING;

use log::Log;
use writer::{Parents, Writer};

/// A session that this process works on. It holds the lock of the session.
pub struct Session {
    id: Uuid,
    path: PathBuf,
    directory: PathBuf,
    segment: u32,
    instructions: Option<String>,
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    log: Log,
    /// Whether `sync` reaches the disk.
    durable: bool,
    _lock: Box<dyn Send + Sync>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Session")
            .field("id", &self.id)
            .field("path", &self.log.path())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Its id.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// The directory of its segments.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The working directory that it was begun in.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The number of the segment that it is in.
    pub fn segment(&self) -> u32 {
        self.segment
    }

    /// The instructions of the project that it was begun with.
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// Where its time and ids come from.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Its file, the newest segment.
    pub(crate) fn segment_path(&self) -> &Path {
        self.log.path()
    }

    /// Appends an entry to the log. When this returns, the entry outlives this process.
    pub(crate) fn append(&mut self, entry: &Entry) -> Result<(), LogError> {
        self.log.append(entry)
    }

    /// Makes what was appended outlive a power cut, unless that is turned off, and that the log is
    /// still there in any case.
    pub(crate) fn sync(&mut self) -> Result<(), LogError> {
        if self.durable {
            self.log.sync()
        } else {
            self.log.check()
        }
    }

    /// Begins the next segment with the given lines, goes on there, and gives what it says. If this
    /// fails, the session goes on where it was.
    pub(crate) fn begin_segment(
        &mut self,
        reason: Reason,
        parent: Option<Parent>,
        details: Option<Value>,
        lines: impl IntoIterator<Item = Result<Vec<u8>, LogError>>,
    ) -> Result<Contents, LogError> {
        self.log.begin(None)?;
        let newest = find::newest_segment(&*self.disk, &self.path)?;
        if newest != Some(self.segment) {
            return Err(LogError::OtherSegment {
                path: self.path.clone(),
                expected: self.segment,
                found: newest,
            });
        }
        let number = self.segment + 1;
        let header = Header {
            kind: header::SessionKind::Session,
            version: header::VERSION,
            session: self.id,
            segment: number,
            created: self.clock.now().to_string(),
            directory: self.directory.clone(),
            reason,
            parent,
            instructions: self.instructions.clone(),
            details,
        };
        let path = segment_path(&self.path, number);
        let id = self.clock.new_id();
        match Writer::create(&*self.disk, &path, id, &header, lines, Parents::AreKept) {
            Ok((writer, contents)) => {
                self.log = Log::Begun(writer);
                self.segment = number;
                Ok(contents)
            }
            Err(error) => {
                if let LogError::Unsettled { path, reason } = &error {
                    // Whoever opens the session next may go on there, so nobody must go on here.
                    let path = path.display();
                    let reason = format!("nobody knows whether {path} is there ({reason})");
                    self.log.give_up(reason);
                }
                Err(error)
            }
        }
    }

    /// Goes back to an entry: a new segment of this session with everything up to and including it.
    /// The entry may stand in an earlier segment. What came after it stays in the old segments.
    pub(crate) fn rewind(&mut self, entry: Uuid) -> Result<Contents, LogError> {
        let place = find::entry(&*self.disk, &self.path, self.id, entry)?;
        let lines = segment::raw_lines(&*self.disk, &place.path, place.end)?;
        let parent = Parent {
            session: self.id,
            segment: place.segment,
            entry: Some(entry),
        };
        self.begin_segment(Reason::Rewind, Some(parent), None, lines)
    }
}

/// The path of a segment in the directory of its session.
pub(crate) fn segment_path(session: &Path, number: u32) -> PathBuf {
    session.join(format!("{number:04}.jsonl"))
}

/// The number of the segment that has this file name.
fn segment_number(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".jsonl")?;
    let number: u32 = digits.parse().ok()?;
    // The form that `segment_path` gives, and no other spelling of the same number; and small enough
    // that there is always a next one.
    let is_ours = number > 0 && digits.len() <= 9 && format!("{number:04}") == digits;
    is_ours.then_some(number)
}

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod fork_tests;
#[cfg(test)]
mod fuzz_tests;
#[cfg(test)]
mod power_cut_tests;
#[cfg(test)]
mod torn_tests;
