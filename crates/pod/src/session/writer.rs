//! One file of a session, as it is written: made whole or not at all, and appended to.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::disk::{Disk, DiskFile};
use super::entry::{Entry, encode};
use super::error::{Context as _, LogError};
use super::header::{HEADER_LIMIT, Header};
use super::segment::{self, Contents, Damage};

/// A segment that is open for appending.
pub(crate) struct Writer {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    /// The length of what is committed. What the file has beyond it must go.
    length: u64,
    /// Whether the file may have more than `length` bytes, after a write that failed.
    overhang: bool,
    /// Whether something was written since the last sync.
    unsynced: bool,
    /// Why nothing more may be written here, if so.
    broken: Option<String>,
}

/// Whether the directory of a new segment outlives a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parents {
    /// It does.
    AreKept,
    /// It was made and is to be kept from here on, with the segment.
    AreNew,
}

impl Writer {
    /// Makes a segment that begins with the header and the given lines, whole or not at all: it is
    /// written under another name, synced, read back, and renamed.
    pub(crate) fn create(
        disk: &dyn Disk,
        path: &Path,
        draft_id: Uuid,
        header: &Header,
        lines: impl IntoIterator<Item = Result<Vec<u8>, LogError>>,
        parents: Parents,
    ) -> Result<(Self, Contents), LogError> {
        let draft = draft_path(path, draft_id);
        let file = disk.create_file(&draft).context("create", &draft)?;
        let mut writer = Self::at(&draft, file, 0);
        let finished = writer
            .fill(disk, header, lines)
            .and_then(|contents| install(disk, &draft, path, parents).map(|()| contents));
        match finished {
            Ok(contents) => {
                path.clone_into(&mut writer.path);
                Ok((writer, contents))
            }
            Err(error) => {
                // The draft is worthless; if this fails too, the next one who opens the session
                // removes it.
                let _ = disk.remove(&draft);
                Err(error)
            }
        }
    }

    fn at(path: &Path, file: Box<dyn DiskFile>, length: u64) -> Self {
        Self {
            path: path.to_owned(),
            file,
            length,
            overhang: false,
            unsynced: false,
            broken: None,
        }
    }

    fn fill(
        &mut self,
        disk: &dyn Disk,
        header: &Header,
        lines: impl IntoIterator<Item = Result<Vec<u8>, LogError>>,
    ) -> Result<Contents, LogError> {
        let mut head = serde_json::to_vec(header)?;
        head.push(b'\n');
        if head.len() > HEADER_LIMIT {
            let text = format!("the header has {} bytes, too many", head.len());
            return Err(LogError::Encode(serde::ser::Error::custom(text)));
        }
        self.append_line(&head)?;
        for line in lines {
            self.append_line(&line?)?;
        }
        self.file.sync().context("sync", &self.path)?;
        self.unsynced = false;
        // What cannot be read must not become the truth.
        let mut contents = segment::read(disk, &self.path, false)?;
        match contents.torn.take() {
            None => Ok(contents),
            Some(torn) => Err(Damage {
                line: torn.line,
                offset: torn.offset,
                reason: torn.reason,
            }
            .into_error(&self.path)),
        }
    }

    /// Opens a segment at the end of what is committed. What stands behind it is moved to a file
    /// beside it, see [`torn_path`].
    pub(crate) fn open(
        disk: &dyn Disk,
        path: &Path,
        contents: &Contents,
    ) -> Result<Self, LogError> {
        let file = disk.open_append(path).context("open", path)?;
        let length = file.length().context("examine", path)?;
        let mut writer = Self::at(path, file, contents.end);
        if length > contents.end {
            keep_torn(disk, path, contents.end)?;
            writer.roll_back()?;
            writer.unsynced = true;
        }
        Ok(writer)
    }

    /// Appends an entry: one write, committed by its line end. If it fails, the file is as it was,
    /// or is made so before the next write.
    pub(crate) fn append(&mut self, entry: &Entry) -> Result<(), LogError> {
        self.append_line(&encode(entry)?)
    }

    fn append_line(&mut self, line: &[u8]) -> Result<(), LogError> {
        self.check()?;
        let mut rest = line;
        while !rest.is_empty() {
            let written = match self.file.append(rest) {
                Ok(0) => Err(io::Error::from(io::ErrorKind::WriteZero)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result,
            };
            match written {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) => {
                    self.overhang = true;
                    // The error that the caller must see is that of the write. If this fails too,
                    // it is tried again before the next write.
                    let _ = self.roll_back();
                    return Err(error).context("write to", &self.path);
                }
            }
        }
        self.length += line.len() as u64;
        self.unsynced = true;
        Ok(())
    }

    /// That the file is still what was written here, so that no line goes where nobody finds it.
    ///
    /// The lock keeps other Pods out, but not somebody who removes the session, restores an older
    /// copy of the file, or deletes the lock.
    pub(crate) fn check(&mut self) -> Result<(), LogError> {
        if let Some(reason) = &self.broken {
            return Err(LogError::Broken {
                path: self.path.clone(),
                reason: reason.clone(),
            });
        }
        if self.overhang {
            self.roll_back()?;
        }
        let found = self.file.length().context("go on with", &self.path)?;
        if found == self.length {
            return Ok(());
        }
        Err(LogError::Changed {
            path: self.path.clone(),
            expected: self.length,
            found,
        })
    }

    fn roll_back(&mut self) -> Result<(), LogError> {
        self.file
            .truncate(self.length)
            .context("cut back", &self.path)?;
        self.overhang = false;
        Ok(())
    }

    /// Makes what was written outlive a power cut.
    ///
    /// If this fails, nobody knows what of it reached the disk, and the system may report success
    /// the next time all the same. So it is not tried again: nothing more is written here.
    pub(crate) fn sync(&mut self) -> Result<(), LogError> {
        self.check()?;
        if self.unsynced {
            if let Err(error) = self.file.sync() {
                self.give_up(format!(
                    "a sync failed ({error}), so what was written before may not outlive a power cut"
                ));
                return self.check();
            }
            self.unsynced = false;
        }
        Ok(())
    }

    /// Writes nothing more here, for this reason.
    pub(crate) fn give_up(&mut self, reason: String) {
        self.broken = Some(reason);
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Gives a finished draft its name, for good or not at all.
fn install(disk: &dyn Disk, draft: &Path, path: &Path, parents: Parents) -> Result<(), LogError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let installed = disk
        .rename(draft, path)
        .context("rename to", path)
        .and_then(|()| disk.sync_directory(directory).context("sync", directory))
        .and_then(|()| keep_parents(disk, directory, parents));
    let Err(error) = installed else {
        return Ok(());
    };
    // The file may be there now, or after a power cut, all the same. Then the next one who opens the
    // session goes on there, while this process goes on where it was: so it must not be there.
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    match gone(disk.remove(path)).and_then(|()| gone(disk.sync_directory(directory))) {
        Ok(()) => Err(error),
        Err(_) => Err(LogError::Unsettled {
            path: path.to_owned(),
            reason: error.to_string(),
        }),
    }
}

fn keep_parents(disk: &dyn Disk, directory: &Path, parents: Parents) -> Result<(), LogError> {
    let Some(parent) = directory.parent().filter(|_| parents == Parents::AreNew) else {
        return Ok(());
    };
    match disk.sync_directory(parent) {
        // As in `Disk::create_directory`: it is written to and cannot be opened.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        result => result.context("sync", parent),
    }
}

/// The name of a file while it is prepared, in the same directory.
fn draft_path(path: &Path, id: Uuid) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}{DRAFT_ENDING}", id.simple()));
    path.with_file_name(name)
}

const DRAFT_ENDING: &str = ".tmp";

/// Whether a file in the directory of a session is a draft, which somebody who was killed left.
pub(super) fn is_draft(name: &str) -> bool {
    let parts = name
        .strip_suffix(DRAFT_ENDING)
        .and_then(|name| name.rsplit_once('.'));
    parts.is_some_and(|(segment, id)| {
        super::segment_number(segment).is_some() && Uuid::try_parse(id).is_ok()
    })
}

/// Where the unfinished end of a segment is kept.
pub(crate) fn torn_path(segment: &Path) -> PathBuf {
    segment.with_extension("torn")
}

/// Appends what stands behind the committed end to the torn file, so that nothing is thrown away.
fn keep_torn(disk: &dyn Disk, path: &Path, end: u64) -> Result<(), LogError> {
    let torn = torn_path(path);
    let file = match disk.create_file(&torn) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => disk.open_append(&torn),
        result => result,
    }
    .context("open", &torn)?;
    let begin = file.length().context("examine", &torn)?;
    let mut kept = Writer::at(&torn, file, begin);
    let copied = copy_tail(disk, path, end, &mut kept).and_then(|()| kept.sync());
    if copied.is_err() {
        // Half of it would be there twice when it is tried again.
        kept.length = begin;
        let _ = kept.roll_back();
    }
    copied
}

fn copy_tail(disk: &dyn Disk, path: &Path, end: u64, kept: &mut Writer) -> Result<(), LogError> {
    let mut file = disk.open_read(path).context("open", path)?;
    io::copy(&mut file.by_ref().take(end), &mut io::sink()).context("read", path)?;
    let mut chunk = Vec::new();
    loop {
        chunk.clear();
        let part = file.by_ref().take(64 * 1024).read_to_end(&mut chunk);
        if part.context("read", path)? == 0 {
            return Ok(());
        }
        kept.append_line(&chunk)?;
    }
}
