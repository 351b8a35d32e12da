//! Where sessions live, and how one is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::LockError;
use super::error::Context as _;
use super::log::Log;
use super::writer::{Parents, Writer, is_draft, torn_path};
use super::{
    Clock, Contents, Disk, Header, LogError, Parent, RealDisk, Reason, Session, SessionInfo,
    SystemClock, find, segment, segment_path,
};

/// The sessions below one root directory.
///
/// They are grouped by working directory: `ROOT/sessions/PROJECT/SESSION-ID/0001.jsonl`.
#[derive(Clone, Debug)]
pub struct SessionStore {
    root: PathBuf,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) clock: Arc<dyn Clock>,
    durable: bool,
}

/// A session that was opened, with what its newest segment says.
#[derive(Debug)]
pub struct Opened {
    /// The session.
    pub session: Session,
    /// What its segment says.
    pub contents: Contents,
    /// What a person should know: a torn end that was cut off, damage that was passed over.
    pub notices: Vec<String>,
}

/// What is told of a log without its first entries.
pub(crate) const NO_BEGINNING: &str =
    "the log begins with an answer of the model; what stood before it is missing";

impl SessionStore {
    /// The sessions below `root`, on the file system and clock of the machine.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock),
            durable: true,
        }
    }

    /// Uses another file system.
    pub fn with_disk(mut self, disk: Arc<dyn Disk>) -> Self {
        self.disk = disk;
        self
    }

    /// Uses another clock.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Whether tool results are synced to the disk before the model sees them, so that a power cut
    /// loses nothing. On by default; what a killed process had logged is there in any case.
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// The root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file system.
    pub fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// The directory of the sessions that were begun in a working directory.
    pub fn project(&self, directory: &Path) -> PathBuf {
        self.root.join("sessions").join(project_name(directory))
    }

    /// Opens a session to go on with it. A torn end is cut off, kept beside the log and told.
    ///
    /// With `salvage`, a session with a bad line goes on in a new segment with what stands before
    /// that line, and one whose newest segment cannot be read at all with the segment before it; the
    /// damaged files stay as they are.
    pub fn open(&self, info: &SessionInfo, salvage: bool) -> Result<Opened, LogError> {
        let disk = &*self.disk;
        let lock = self.lock(&info.path)?;
        // Looked up again under the lock: another process may have begun a segment since.
        let newest = find::newest_segment(disk, &info.path)?.unwrap_or(info.segment);
        let mut notices = Vec::new();
        let mut number = newest;
        let contents = loop {
            match segment::read(disk, &segment_path(&info.path, number), salvage) {
                Err(error @ LogError::NoHeader { .. }) if salvage && number > 1 => {
                    notices.push(format!("{error}; going back to the segment before it"));
                    number -= 1;
                }
                contents => break contents?,
            }
        };
        let path = segment_path(&info.path, number);
        self.remove_drafts(&info.path);
        if contents.header.session != info.id {
            notices.push(format!(
                "{}: this is a copy of session {}, which its header names",
                path.display(),
                contents.header.session
            ));
        }
        if let Some(unknown) = contents.unknown() {
            notices.push(format!(
                "{}: passed over {unknown}; the log keeps them",
                path.display()
            ));
        }
        if contents.lacks_beginning() {
            notices.push(format!("{}: {NO_BEGINNING}", path.display()));
        }
        if number == newest && contents.damage.is_none() {
            if let Some(torn) = &contents.torn {
                notices.push(format!(
                    "{}: the unfinished line {} ({} bytes at byte {}: {}) was cut off and kept in {}",
                    path.display(),
                    torn.line,
                    torn.length,
                    torn.offset,
                    torn.reason,
                    torn_path(&path).display()
                ));
            }
            let writer = Writer::open(disk, &path, &contents)?;
            let log = Log::Begun(writer);
            let session = self.session(info.path.clone(), &contents.header, log, lock);
            return Ok(Opened {
                session,
                contents,
                notices,
            });
        }

        let entries = contents.entries.len();
        let reason = match &contents.damage {
            Some(damage) => format!(
                "line {} (byte {}) cannot be read: {}; ",
                damage.line, damage.offset, damage.reason
            ),
            None => String::new(),
        };
        notices.push(format!(
            "{}: {reason}going on in a new segment with its first {entries} entries",
            path.display()
        ));
        let header = Header {
            segment: newest + 1,
            created: self.clock.now().to_string(),
            reason: Reason::Salvage,
            parent: Some(Parent {
                session: contents.header.session,
                segment: number,
                entry: contents.entries.last().map(|it| it.entry.id),
            }),
            details: None,
            ..contents.header
        };
        let lines = segment::raw_lines(disk, &path, contents.end)?;
        let file = segment_path(&info.path, header.segment);
        let draft = self.clock.new_id();
        let (writer, contents) =
            Writer::create(disk, &file, draft, &header, lines, Parents::AreKept)?;
        Ok(Opened {
            session: self.session(info.path.clone(), &header, Log::Begun(writer), lock),
            contents,
            notices,
        })
    }

    pub(super) fn session(
        &self,
        path: PathBuf,
        header: &Header,
        log: Log,
        lock: Box<dyn Send + Sync>,
    ) -> Session {
        Session {
            id: header.session,
            path,
            directory: header.directory.clone(),
            segment: header.segment,
            instructions: header.instructions.clone(),
            disk: Arc::clone(&self.disk),
            clock: Arc::clone(&self.clock),
            log,
            durable: self.durable,
            _lock: lock,
        }
    }

    /// Removes what processes that were killed left half made. Called under the lock.
    fn remove_drafts(&self, session: &Path) {
        for name in self.disk.list(session).unwrap_or_default() {
            if is_draft(&name) {
                // It is in nobody's way, so it does not matter if this fails.
                let _ = self.disk.remove(&session.join(name));
            }
        }
    }

    pub(super) fn lock(&self, session: &Path) -> Result<Box<dyn Send + Sync>, LogError> {
        let path = session.join("lock");
        let note = format!("pid {}", std::process::id());
        match self.disk.lock(&path, &note) {
            Ok(lock) => Ok(lock),
            Err(LockError::Held(holder)) => Err(LogError::Locked {
                path: session.to_owned(),
                holder: if holder.is_empty() {
                    String::from("pid unknown")
                } else {
                    holder
                },
            }),
            Err(LockError::Io(error)) => Err(error).context("lock", &path),
        }
    }
}

/// A name for a working directory that is readable, and unlike that of any other directory: its last
/// part and a hash of the whole path.
fn project_name(directory: &Path) -> String {
    // Without what makes no difference: a slash at the end, `.` in the middle.
    let directory: PathBuf = directory.components().collect();
    let last = directory.file_name().unwrap_or_default().to_string_lossy();
    let readable: String = last
        .chars()
        .map(|character| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' => character,
            _ => '-',
        })
        .take(40)
        .collect();
    // No hidden directory, and nothing that a command would take for a flag.
    let readable = match readable.trim_start_matches(['.', '-']) {
        "" => "directory",
        readable => readable,
    };
    // FNV-1a: the name must be the same in every version and on every machine, which the hashers of
    // the standard library do not promise.
    let hash = directory
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{readable}-{hash:016x}")
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
