//! Where the entries of a session go: to its newest segment, or, as long as nobody was told of the
//! session, to a first segment that is made with the first of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::{Entry, encode};
use super::writer::{Parents, Writer};
use super::{Clock, Disk, Header, LogError};

pub(super) enum Log {
    Begun(Writer),
    Due(Box<Due>),
}

/// A first segment that is still to be made.
///
/// It is made whole or not at all as any other, with the first entry in it. So what the disk is waited
/// for at the begin of a session is one file and its name, and not a file, its name, and the entry.
pub(super) struct Due {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) path: PathBuf,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) header: Header,
    /// Why it must not be made any more, if so.
    pub(super) broken: Option<String>,
}

impl Log {
    /// Appends an entry. When this returns, it outlives this process.
    pub(super) fn append(&mut self, entry: &Entry) -> Result<(), LogError> {
        match self {
            Self::Begun(writer) => writer.append(entry),
            Self::Due(_) => {
                let line = encode(entry)?;
                self.begin(Some(line))
            }
        }
    }

    /// Makes what was appended outlive a power cut, and the session in any case.
    pub(super) fn sync(&mut self) -> Result<(), LogError> {
        match self {
            Self::Begun(writer) => writer.sync(),
            Self::Due(_) => self.begin(None),
        }
    }

    /// That the log is still there; if it is still to be made, it is made.
    pub(super) fn check(&mut self) -> Result<(), LogError> {
        match self {
            Self::Begun(writer) => writer.check(),
            Self::Due(_) => self.begin(None),
        }
    }

    /// Writes nothing more here, for this reason.
    pub(super) fn give_up(&mut self, reason: String) {
        match self {
            Self::Begun(writer) => writer.give_up(reason),
            Self::Due(due) => due.broken = Some(reason),
        }
    }

    /// Makes the segment, with this line, if it is still to be made.
    pub(super) fn begin(&mut self, line: Option<Vec<u8>>) -> Result<(), LogError> {
        if let Self::Due(due) = self {
            *self = Self::Begun(due.make(line)?);
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Begun(writer) => writer.path(),
            Self::Due(due) => &due.path,
        }
    }
}

impl Due {
    fn make(&mut self, line: Option<Vec<u8>>) -> Result<Writer, LogError> {
        if let Some(reason) = &self.broken {
            return Err(LogError::Broken {
                path: self.path.clone(),
                reason: reason.clone(),
            });
        }
        let lines = line.into_iter().map(Ok);
        let made = Writer::create(
            &*self.disk,
            &self.path,
            self.clock.new_id(),
            &self.header,
            lines,
            Parents::AreNew,
        );
        if let Err(LogError::Unsettled { path, reason }) = &made {
            // Whoever looks for the session next may find what was not acknowledged here.
            let path = path.display();
            self.broken = Some(format!("nobody knows whether {path} is there ({reason})"));
        }
        made.map(|(writer, _)| writer)
    }
}
