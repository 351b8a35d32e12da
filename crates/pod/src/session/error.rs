//! What can go wrong with a log.

use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// What can go wrong with a log. Each text names the file and says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file system failed.
    #[error("cannot {doing} {}: {source}{}", .path.display(), advice(.source))]
    Io {
        /// What was to be done, such as `write to`.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line before the end of a log cannot be read.
    #[error(
        "{}: line {line} (byte {offset}) cannot be read: {reason}; `--salvage` opens the session up to this line and leaves the file as it is",
        .path.display()
    )]
    BadLine {
        /// The segment.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Where it begins, in bytes from 0.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A file does not begin as a segment does.
    #[error(
        "{}: not a session log: {reason}. It is left as it is; `--salvage` goes back to the segment before it, if there is one",
        .path.display()
    )]
    NoHeader {
        /// The file.
        path: PathBuf,
        /// What is wrong with its first line.
        reason: String,
    },
    /// A segment has a format that this version does not know.
    #[error(
        "{}: written in format {version}, this version reads up to {}; update pod to open it",
        .path.display(),
        super::header::VERSION
    )]
    NewerVersion {
        /// The segment.
        path: PathBuf,
        /// The version of its format.
        version: u64,
    },
    /// A log is not what was written to it.
    #[error(
        "{}: somebody else changed it: it has {found} bytes, {expected} were written; nothing more is written to it. Resume the session to see what it says now",
        .path.display()
    )]
    Changed {
        /// The segment.
        path: PathBuf,
        /// How many bytes it must have.
        expected: u64,
        /// How many it has.
        found: u64,
    },
    /// The newest segment of a session is not the one that this process is in.
    #[error(
        "session {}: somebody else changed its segments: {}, this process is in {expected}. Resume the session to see what it says now",
        .path.display(),
        found.map_or_else(|| String::from("none is left"), |number| format!("the newest is {number}"))
    )]
    OtherSegment {
        /// The directory of the session.
        path: PathBuf,
        /// The segment that this process is in.
        expected: u32,
        /// The newest segment, if there is any.
        found: Option<u32>,
    },
    /// Nobody knows what a log will say after a power cut, so nothing more is written to it.
    #[error(
        "{}: nothing more is written to it: {reason}. Check the disk, then resume the session",
        .path.display()
    )]
    Broken {
        /// The segment.
        path: PathBuf,
        /// What happened to it.
        reason: String,
    },
    /// Nobody knows whether a new segment is there for good.
    #[error(
        "nobody knows whether {} is there: {reason}. Nothing more is written to the session; check the disk, then resume it",
        .path.display()
    )]
    Unsettled {
        /// The segment.
        path: PathBuf,
        /// What went wrong when it was made, and could not be undone.
        reason: String,
    },
    /// Somebody works on the session.
    #[error(
        "session {} is in use ({holder}); stop that process, or go on with a copy: --fork-session",
        name(.path)
    )]
    Locked {
        /// The directory of the session.
        path: PathBuf,
        /// Who holds it, as far as it is known.
        holder: String,
    },
    /// A session cannot be begun under the id of another one.
    #[error("session {session} exists already ({}); go on with it: --resume {session}", .path.display())]
    Exists {
        /// The session.
        session: Uuid,
        /// Its directory.
        path: PathBuf,
    },
    /// There is no such session.
    #[error("{0}; `pod sessions` lists what there is")]
    NotFound(String),
    /// The session has no such entry.
    #[error("session {session} has no entry {entry}; `pod tasks {session} --timeline` shows ids")]
    NoEntry {
        /// The session.
        session: Uuid,
        /// The entry that was asked for.
        entry: Uuid,
    },
    /// An entry is there only as something that a compaction carried over, so nobody can tell what
    /// the task list was at that entry.
    #[error(
        "session {session} has entry {entry} only as carried over a compaction; go back to an entry behind the compaction, or fork the session that it was copied from{}",
        origin.map(|id| format!(": {id}")).unwrap_or_default()
    )]
    Carried {
        /// The session.
        session: Uuid,
        /// The entry that was asked for.
        entry: Uuid,
        /// The session that it was copied from, if any.
        origin: Option<Uuid>,
    },
    /// An item has no place in a log.
    #[error("an item cannot be written as a line: {0}")]
    Encode(#[from] serde_json::Error),
}

/// What to do about it, as far as the kind of the error tells.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room on the disk, then try again"
        }
        io::ErrorKind::PermissionDenied => "; it must be yours to read and write",
        io::ErrorKind::ReadOnlyFilesystem => "; set POD_HOME to a directory that can be written",
        _ => "",
    }
}

/// The name of a session, from its directory.
fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// Adds to an I/O error what was being done, and to what.
pub(crate) trait Context<T> {
    /// The same result, with the path and the deed in its error.
    fn context(self, doing: &'static str, path: &Path) -> Result<T, LogError>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, doing: &'static str, path: &Path) -> Result<T, LogError> {
        self.map_err(|source| LogError::Io {
            doing,
            path: path.to_owned(),
            source,
        })
    }
}
