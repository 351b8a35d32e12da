//! A file system that fails when it is told to.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::session::Disk;
use super::session::disk::{DiskFile, LockError};

/// Passes everything on to another file system, counts it, and fails at one operation.
///
/// A handle: clones share the count and the plan.
#[derive(Clone)]
pub struct FaultyDisk {
    inner: Arc<dyn Disk>,
    plan: Arc<Mutex<Plan>>,
}

/// How an operation fails. The numbers are error numbers of the system, see [`ENOSPC`] and others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails and nothing was done.
    Fail(i32),
    /// A write takes half of the bytes and says so. Anything else is not affected.
    Short,
    /// A write takes half of the bytes and fails. Anything else fails.
    Torn(i32),
    /// It is done, and fails all the same, as on a network.
    DoneButFailed(i32),
    /// It fails, and so does everything after it.
    FailFromNowOn(i32),
    /// The process is killed here: a write takes half of the bytes, and nothing after it is done.
    Stop,
}

/// There is no room.
pub const ENOSPC: i32 = 28;
/// The device failed.
pub const EIO: i32 = 5;
/// It is not allowed.
pub const EACCES: i32 = 13;
/// Nothing may be written here.
pub const EROFS: i32 = 30;

/// What the file system is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `Disk::create_directory`.
    CreateDirectory,
    /// `Disk::make_directory`.
    MakeDirectory,
    /// `Disk::create_file`.
    CreateFile,
    /// `Disk::open_append`.
    OpenAppend,
    /// `Disk::open_read`.
    OpenRead,
    /// `Read::read`.
    Read,
    /// `Disk::rename`.
    Rename,
    /// `Disk::remove`.
    Remove,
    /// `Disk::sync_directory`.
    SyncDirectory,
    /// `Disk::list`.
    List,
    /// `Disk::modified`.
    Modified,
    /// `Disk::lock`.
    Lock,
    /// `DiskFile::append`.
    Append,
    /// `DiskFile::sync`.
    Sync,
    /// `DiskFile::truncate`.
    Truncate,
    /// `DiskFile::length`.
    Length,
}

#[derive(Default)]
struct Plan {
    count: usize,
    /// Which operation fails: the nth from the beginning, or the next one of a kind.
    at: Option<(Moment, Fault)>,
    /// What fails everything from now on.
    down: Option<i32>,
    /// Whether the fault has happened.
    is_over: bool,
}

#[derive(Clone, Copy)]
enum Moment {
    Nth(usize),
    Next(Operation),
}

/// What becomes of one operation.
enum Fate {
    Done,
    Half,
    HalfAndFailed(i32),
    DoneButFailed(i32),
    Failed(i32),
}

impl FaultyDisk {
    /// A file system that does what the other one does, until it is told to fail.
    pub fn new(inner: Arc<dyn Disk>) -> Self {
        Self {
            inner,
            plan: Arc::default(),
        }
    }

    /// The file system below, which does not fail.
    pub fn inner(&self) -> &dyn Disk {
        &*self.inner
    }

    /// Fails at the nth operation of all, counted from 0.
    pub fn fail_nth(&self, nth: usize, fault: Fault) {
        self.plan().at = Some((Moment::Nth(nth), fault));
    }

    /// Fails at the next operation of a kind.
    pub fn fail_next(&self, operation: Operation, fault: Fault) {
        self.plan().at = Some((Moment::Next(operation), fault));
    }

    /// Does from now on what it is asked to.
    pub fn heal(&self) {
        let mut plan = self.plan();
        plan.at = None;
        plan.down = None;
    }

    /// How many operations there were.
    pub fn count(&self) -> usize {
        self.plan().count
    }

    /// Whether it has failed as it was told to.
    pub fn has_failed(&self) -> bool {
        self.plan().is_over
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fate(&self, operation: Operation) -> Fate {
        let mut plan = self.plan();
        let number = plan.count;
        plan.count += 1;
        if let Some(errno) = plan.down {
            return Fate::Failed(errno);
        }
        let fault = match plan.at {
            Some((Moment::Nth(nth), fault)) if nth == number => fault,
            Some((Moment::Next(next), fault)) if next == operation => fault,
            _ => return Fate::Done,
        };
        plan.at = None;
        plan.is_over = true;
        let is_write = operation == Operation::Append;
        match fault {
            Fault::Short if is_write => Fate::Half,
            Fault::Short => Fate::Done,
            Fault::Torn(errno) if is_write => Fate::HalfAndFailed(errno),
            Fault::Fail(errno) | Fault::Torn(errno) => Fate::Failed(errno),
            Fault::DoneButFailed(errno) => Fate::DoneButFailed(errno),
            Fault::FailFromNowOn(errno) => {
                plan.down = Some(errno);
                Fate::Failed(errno)
            }
            Fault::Stop => {
                plan.down = Some(EIO);
                if is_write {
                    Fate::HalfAndFailed(EIO)
                } else {
                    Fate::Failed(EIO)
                }
            }
        }
    }

    fn pass<T>(
        &self,
        operation: Operation,
        doing: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        match self.fate(operation) {
            Fate::Done | Fate::Half => doing(),
            Fate::Failed(errno) | Fate::HalfAndFailed(errno) => {
                Err(io::Error::from_raw_os_error(errno))
            }
            Fate::DoneButFailed(errno) => {
                doing()?;
                Err(io::Error::from_raw_os_error(errno))
            }
        }
    }

    fn file(&self, inner: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(FaultyFile {
            disk: self.clone(),
            inner,
        })
    }
}

impl fmt::Debug for FaultyDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FaultyDisk")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

impl Disk for FaultyDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.pass(Operation::CreateDirectory, || {
            self.inner.create_directory(path)
        })
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.pass(Operation::MakeDirectory, || self.inner.make_directory(path))
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = self.pass(Operation::CreateFile, || self.inner.create_file(path))?;
        Ok(self.file(file))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = self.pass(Operation::OpenAppend, || self.inner.open_append(path))?;
        Ok(self.file(file))
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        let reader = self.pass(Operation::OpenRead, || self.inner.open_read(path))?;
        Ok(Box::new(FaultyReader {
            disk: self.clone(),
            inner: reader,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pass(Operation::Rename, || self.inner.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.pass(Operation::Remove, || self.inner.remove(path))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.pass(Operation::SyncDirectory, || self.inner.sync_directory(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.pass(Operation::List, || self.inner.list(path))
    }

    fn modified(&self, path: &Path) -> io::Result<SystemTime> {
        self.pass(Operation::Modified, || self.inner.modified(path))
    }

    fn lock(&self, path: &Path, note: &str) -> Result<Box<dyn Send + Sync>, LockError> {
        match self.fate(Operation::Lock) {
            Fate::Failed(errno) | Fate::HalfAndFailed(errno) | Fate::DoneButFailed(errno) => {
                Err(LockError::Io(io::Error::from_raw_os_error(errno)))
            }
            Fate::Done | Fate::Half => self.inner.lock(path, note),
        }
    }
}

struct FaultyFile {
    disk: FaultyDisk,
    inner: Box<dyn DiskFile>,
}

impl DiskFile for FaultyFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let half = bytes.split_at(bytes.len() / 2).0;
        match self.disk.fate(Operation::Append) {
            Fate::Done => self.inner.append(bytes),
            Fate::Half => self.inner.append(half),
            Fate::HalfAndFailed(errno) => {
                self.inner.append(half)?;
                Err(io::Error::from_raw_os_error(errno))
            }
            Fate::DoneButFailed(errno) => {
                self.inner.append(bytes)?;
                Err(io::Error::from_raw_os_error(errno))
            }
            Fate::Failed(errno) => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        let inner = &mut self.inner;
        self.disk.pass(Operation::Sync, || inner.sync())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let inner = &mut self.inner;
        self.disk
            .pass(Operation::Truncate, || inner.truncate(length))
    }

    fn length(&self) -> io::Result<u64> {
        self.disk.pass(Operation::Length, || self.inner.length())
    }
}

struct FaultyReader {
    disk: FaultyDisk,
    inner: Box<dyn Read + Send>,
}

impl Read for FaultyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let inner = &mut self.inner;
        self.disk.pass(Operation::Read, || inner.read(buffer))
    }
}
