//! How a session is begun: new, or as a fork of another one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::error::Context as _;
use super::find::Place;
use super::header::{self, SessionKind};
use super::log::{Due, Log};
use super::writer::{Parents, Writer};
use super::{
    Header, LogError, Opened, Parent, Reason, Session, SessionInfo, SessionStore, find, segment,
    segment_path,
};

/// How a session is begun.
struct Beginning {
    id: Option<Uuid>,
    reason: Reason,
    parent: Option<Parent>,
    instructions: Option<String>,
}

impl Beginning {
    fn start(id: Option<Uuid>, instructions: Option<String>) -> Self {
        Self {
            id,
            reason: Reason::Start,
            parent: None,
            instructions,
        }
    }
}

/// A session that has its directory and its lock, and no segment yet.
struct Prepared {
    path: PathBuf,
    lock: Box<dyn Send + Sync>,
    header: Header,
}

impl Prepared {
    fn file(&self) -> PathBuf {
        segment_path(&self.path, self.header.segment)
    }
}

impl SessionStore {
    /// Begins a session in a working directory, under the given id or a new one.
    pub fn create(&self, directory: &Path, id: Option<Uuid>) -> Result<Session, LogError> {
        self.create_with(directory, id, None)
    }

    /// The same, with the instructions of the project.
    pub(crate) fn create_with(
        &self,
        directory: &Path,
        id: Option<Uuid>,
        instructions: Option<String>,
    ) -> Result<Session, LogError> {
        let beginning = Beginning::start(id, instructions);
        let opened = self.begin(directory, beginning, std::iter::empty())?;
        Ok(opened.session)
    }

    /// The same, but that its first segment is made with its first entry, or when the session is
    /// synced. Until then nobody can find it, so nobody may be told of it.
    pub(crate) fn create_with_first_entry(
        &self,
        directory: &Path,
        id: Option<Uuid>,
        instructions: Option<String>,
    ) -> Result<Session, LogError> {
        let prepared = self.prepare(
            directory,
            Beginning::start(id, instructions),
            Parents::AreNew,
        )?;
        let log = Log::Due(Box::new(Due {
            disk: Arc::clone(&self.disk),
            path: prepared.file(),
            clock: Arc::clone(&self.clock),
            header: prepared.header.clone(),
            broken: None,
        }));
        Ok(self.session(prepared.path, &prepared.header, log, prepared.lock))
    }

    /// Begins a new session with everything of another one, up to and including an entry if one is
    /// given. The other session is not touched and may be in use.
    pub fn fork(
        &self,
        info: &SessionInfo,
        directory: &Path,
        id: Option<Uuid>,
        at: Option<Uuid>,
    ) -> Result<Opened, LogError> {
        self.fork_with(info, directory, id, at, None)
    }

    /// The same, with the instructions of the project.
    pub(crate) fn fork_with(
        &self,
        info: &SessionInfo,
        directory: &Path,
        id: Option<Uuid>,
        at: Option<Uuid>,
        instructions: Option<String>,
    ) -> Result<Opened, LogError> {
        let disk = &*self.disk;
        let (place, entry) = if let Some(entry) = at {
            let place = find::entry(disk, &info.path, info.id, entry)?;
            (place, Some(entry))
        } else {
            // Looked up again: the session may be in use and in another segment by now.
            let segment = find::newest_segment(disk, &info.path)?.unwrap_or(info.segment);
            let path = segment_path(&info.path, segment);
            let contents = segment::read(disk, &path, false)?;
            let end = contents.end;
            let place = Place { path, segment, end };
            (place, contents.entries.last().map(|it| it.entry.id))
        };
        let parent = Parent {
            session: info.id,
            segment: place.segment,
            entry,
        };
        let lines = segment::raw_lines(disk, &place.path, place.end)?;
        let beginning = Beginning {
            id,
            reason: Reason::Fork,
            parent: Some(parent),
            instructions,
        };
        self.begin(directory, beginning, lines)
    }

    fn begin(
        &self,
        directory: &Path,
        beginning: Beginning,
        lines: impl IntoIterator<Item = Result<Vec<u8>, LogError>>,
    ) -> Result<Opened, LogError> {
        let prepared = self.prepare(directory, beginning, Parents::AreKept)?;
        let (writer, contents) = Writer::create(
            &*self.disk,
            &prepared.file(),
            self.clock.new_id(),
            &prepared.header,
            lines,
            Parents::AreKept,
        )?;
        let log = Log::Begun(writer);
        Ok(Opened {
            session: self.session(prepared.path, &prepared.header, log, prepared.lock),
            contents,
            notices: Vec::new(),
        })
    }

    /// All that a session needs but its first segment. With [`Parents::AreNew`] its directory is to be
    /// made to last with that.
    fn prepare(
        &self,
        directory: &Path,
        beginning: Beginning,
        parents: Parents,
    ) -> Result<Prepared, LogError> {
        let Beginning {
            id,
            reason,
            parent,
            instructions,
        } = beginning;
        if let Some(session) = id
            && let Some(info) = self.with_id(session)?
        {
            return Err(LogError::Exists {
                session,
                path: info.path,
            });
        }
        let id = id.unwrap_or_else(|| self.clock.new_id());
        let project = self.project(directory);
        let path = project.join(id.to_string());
        let made = match parents {
            Parents::AreKept => self.disk.create_directory(&path),
            Parents::AreNew => self
                .disk
                .create_directory(&project)
                .and_then(|()| self.disk.make_directory(&path)),
        };
        made.context("create the directory", &path)?;
        let lock = self.lock(&path)?;
        // Looked up again under the lock: somebody else may have begun it in the meantime.
        if find::newest_segment(&*self.disk, &path)?.is_some() {
            return Err(LogError::Exists { session: id, path });
        }
        let header = Header {
            kind: SessionKind::Session,
            version: header::VERSION,
            session: id,
            segment: 1,
            created: self.clock.now().to_string(),
            directory: directory.to_owned(),
            reason,
            parent,
            instructions,
            details: None,
        };
        Ok(Prepared { path, lock, header })
    }
}
