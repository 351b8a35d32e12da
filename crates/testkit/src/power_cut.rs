//! A file system that forgets, at a power cut, what was not synced.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::session::Disk;
use super::session::disk::{DiskFile, LockError};

/// A disk in memory that knows what would be left of it after a power cut.
///
/// A handle: clones share the files. The content of a file is safe up to where it was when it was
/// synced; the names in a directory are safe as they were when the directory was synced, those of
/// directories too.
#[derive(Clone, Default)]
pub struct PowerCutDisk {
    tree: Arc<Mutex<Tree>>,
}

/// What became of names that were not synced: the system may have written them or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// They are as they were at the last sync.
    Synced,
    /// They are all there, the content of the files or not.
    Written,
}

type Shared = Arc<Mutex<Content>>;
type Files = BTreeMap<PathBuf, Shared>;

#[derive(Default)]
struct Tree {
    directories: BTreeSet<PathBuf>,
    safe_directories: BTreeSet<PathBuf>,
    files: Files,
    safe_files: Files,
    locked: BTreeSet<PathBuf>,
}

#[derive(Default)]
struct Content {
    bytes: Vec<u8>,
    safe: usize,
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PowerCutDisk {
    /// What is left after a power cut at this moment.
    pub fn after_power_cut(&self, names: Names) -> Self {
        let tree = lock(&self.tree);
        let (directories, files) = match names {
            Names::Synced => (&tree.safe_directories, &tree.safe_files),
            Names::Written => (&tree.directories, &tree.files),
        };
        let is_reached = |file: &Path| file.parent().is_some_and(|it| directories.contains(it));
        let left: Files = files
            .iter()
            .filter(|(path, _)| is_reached(path.as_path()))
            .map(|(path, file)| {
                let file = lock(file);
                let bytes: Vec<u8> = file.bytes.iter().take(file.safe).copied().collect();
                let safe = bytes.len();
                (path.clone(), Arc::new(Mutex::new(Content { bytes, safe })))
            })
            .collect();
        let tree = Tree {
            directories: directories.clone(),
            safe_directories: directories.clone(),
            safe_files: left.clone(),
            files: left,
            locked: BTreeSet::new(),
        };
        Self {
            tree: Arc::new(Mutex::new(tree)),
        }
    }

    fn file(&self, path: &Path) -> io::Result<Shared> {
        let tree = lock(&self.tree);
        let file = tree.files.get(path).map(Arc::clone);
        file.ok_or_else(|| ErrorKind::NotFound.into())
    }
}

impl fmt::Debug for PowerCutDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tree = lock(&self.tree);
        formatter.debug_set().entries(tree.files.keys()).finish()
    }
}

impl Disk for PowerCutDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let tree = &mut *lock(&self.tree);
        for made in path.ancestors() {
            tree.directories.insert(made.to_owned());
            tree.safe_directories.insert(made.to_owned());
        }
        Ok(())
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        lock(&self.tree).directories.insert(path.to_owned());
        Ok(())
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut tree = lock(&self.tree);
        if tree.files.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let file = Shared::default();
        tree.files.insert(path.to_owned(), Arc::clone(&file));
        Ok(Box::new(OpenFile(file)))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OpenFile(self.file(path)?)))
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        let bytes = lock(&*self.file(path)?).bytes.clone();
        Ok(Box::new(io::Cursor::new(bytes)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut tree = lock(&self.tree);
        let file = tree.files.remove(from).ok_or(ErrorKind::NotFound)?;
        tree.files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = lock(&self.tree).files.remove(path);
        removed.map(|_| ()).ok_or(ErrorKind::NotFound.into())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut tree = lock(&self.tree);
        let is_here = |file: &Path| file.parent() == Some(path);
        let now: Vec<(PathBuf, Shared)> = tree
            .files
            .iter()
            .filter(|(file, _)| is_here(file))
            .map(|(path, file)| (path.clone(), Arc::clone(file)))
            .collect();
        tree.safe_files.retain(|file, _| !is_here(file));
        tree.safe_files.extend(now);
        let inside: Vec<PathBuf> = tree
            .directories
            .iter()
            .filter(|it| it.parent() == Some(path))
            .cloned()
            .collect();
        tree.safe_directories.extend(inside);
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let tree = lock(&self.tree);
        let all = tree.files.keys().chain(&tree.directories);
        Ok(all
            .filter(|it| it.parent() == Some(path))
            .filter_map(|it| Some(it.file_name()?.to_string_lossy().into_owned()))
            .collect())
    }

    fn modified(&self, path: &Path) -> io::Result<SystemTime> {
        self.file(path).map(|_| SystemTime::UNIX_EPOCH)
    }

    fn lock(&self, path: &Path, _note: &str) -> Result<Box<dyn Send + Sync>, LockError> {
        if !lock(&self.tree).locked.insert(path.to_owned()) {
            return Err(LockError::Held(String::from("this process")));
        }
        Ok(Box::new(Lock(Arc::clone(&self.tree), path.to_owned())))
    }
}

struct OpenFile(Shared);

impl DiskFile for OpenFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut file = lock(&self.0);
        file.safe = file.bytes.len();
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut file = lock(&self.0);
        let length = usize::try_from(length).map_err(|_| ErrorKind::FileTooLarge)?;
        file.bytes.truncate(length);
        file.safe = file.safe.min(length);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(lock(&self.0).bytes.len() as u64)
    }
}

struct Lock(Arc<Mutex<Tree>>, PathBuf);

impl Drop for Lock {
    fn drop(&mut self) {
        lock(&self.0).locked.remove(&self.1);
    }
}
