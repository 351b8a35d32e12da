//! A disk in memory: for a session that is to leave nothing behind, and for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::disk::{Disk, DiskFile, LockError, removed};

/// A disk in memory. A handle: clones share the files.
///
/// With it a session takes the same road as any other, rewind and compaction included, and is gone
/// with the process.
#[derive(Clone, Default)]
pub struct MemoryDisk {
    tree: Arc<Mutex<Tree>>,
}

#[derive(Default)]
struct Tree {
    directories: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, Shared<File>>,
    /// The locks that are held, with the notes of their holders.
    locks: BTreeMap<PathBuf, String>,
}

struct File {
    bytes: Vec<u8>,
    modified: SystemTime,
    /// Whether it can still be found under some name.
    is_named: bool,
}

type Shared<T> = Arc<Mutex<T>>;

/// Nothing can panic while a lock is held, so a poisoned one is as good as any.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    fn file(&self, path: &Path) -> io::Result<Shared<File>> {
        let tree = lock(&self.tree);
        tree.files
            .get(path)
            .map(Arc::clone)
            .ok_or_else(|| ErrorKind::NotFound.into())
    }
}

impl fmt::Debug for MemoryDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_set()
            .entries(lock(&self.tree).files.keys())
            .finish()
    }
}

impl Disk for MemoryDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut tree = lock(&self.tree);
        if path.ancestors().any(|it| tree.files.contains_key(it)) {
            return Err(ErrorKind::NotADirectory.into());
        }
        tree.directories
            .extend(path.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut tree = lock(&self.tree);
        if !path
            .parent()
            .is_some_and(|it| tree.directories.contains(it))
        {
            return Err(ErrorKind::NotFound.into());
        }
        if tree.files.contains_key(path) || tree.directories.contains(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let file = Arc::new(Mutex::new(File {
            bytes: Vec::new(),
            modified: SystemTime::now(),
            is_named: true,
        }));
        tree.files.insert(path.to_owned(), Arc::clone(&file));
        Ok(Box::new(OpenFile(file)))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OpenFile(self.file(path)?)))
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(Reader {
            file: self.file(path)?,
            position: 0,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut tree = lock(&self.tree);
        let file = tree.files.remove(from).ok_or(ErrorKind::NotFound)?;
        if let Some(replaced) = tree.files.insert(to.to_owned(), file) {
            lock(&replaced).is_named = false;
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut tree = lock(&self.tree);
        let file = tree.files.remove(path).ok_or(ErrorKind::NotFound)?;
        lock(&file).is_named = false;
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let exists = lock(&self.tree).directories.contains(path);
        exists.then_some(()).ok_or(ErrorKind::NotFound.into())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let tree = lock(&self.tree);
        let children = tree.files.keys().chain(&tree.directories);
        Ok(children
            .filter(|child| child.parent() == Some(path))
            .filter_map(|child| Some(child.file_name()?.to_string_lossy().into_owned()))
            .collect())
    }

    fn modified(&self, path: &Path) -> io::Result<SystemTime> {
        Ok(lock(&*self.file(path)?).modified)
    }

    fn lock(&self, path: &Path, note: &str) -> Result<Box<dyn Send + Sync>, LockError> {
        let mut tree = lock(&self.tree);
        if let Some(holder) = tree.locks.get(path) {
            return Err(LockError::Held(holder.clone()));
        }
        tree.locks.insert(path.to_owned(), note.to_owned());
        Ok(Box::new(Lock {
            tree: Arc::clone(&self.tree),
            path: path.to_owned(),
        }))
    }
}

struct OpenFile(Shared<File>);

impl DiskFile for OpenFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = lock(&self.0);
        file.bytes.extend_from_slice(bytes);
        file.modified = SystemTime::now();
        Ok(bytes.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(|_| ErrorKind::FileTooLarge)?;
        lock(&self.0).bytes.truncate(length);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        let file = lock(&self.0);
        if !file.is_named {
            return Err(removed());
        }
        Ok(file.bytes.len() as u64)
    }
}

struct Reader {
    file: Shared<File>,
    position: usize,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let file = lock(&self.file);
        let mut rest = file.bytes.get(self.position..).unwrap_or_default();
        let count = rest.read(buffer)?;
        self.position += count;
        Ok(count)
    }
}

struct Lock {
    tree: Shared<Tree>,
    path: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        lock(&self.tree).locks.remove(&self.path);
    }
}
