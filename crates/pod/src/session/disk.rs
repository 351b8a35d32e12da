//! What a session asks of the file system, so that tests can make each step fail.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// The file system under the sessions.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Makes a directory and those above it, for the owner only. When this returns, they outlive a
    /// power cut. It is no error if they are there.
    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// Makes a directory in one that is there, for the owner only. It outlives a power cut from when
    /// the directory that it is in is synced. It is no error if it is there.
    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.create_directory(path)
    }

    /// Makes a file that must not exist yet, for the owner only.
    fn create_file(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Opens an existing file for appending.
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Opens a file for reading.
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>>;

    /// The end of a file, at most so many bytes of it, and the length of the whole file.
    fn read_end(&self, path: &Path, most: u64) -> io::Result<(Vec<u8>, u64)> {
        let mut bytes = Vec::new();
        self.open_read(path)?.read_to_end(&mut bytes)?;
        let length = bytes.len();
        let begin = length.saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
        Ok((bytes.split_off(begin), length as u64))
    }

    /// Gives a file another name, in one step, in place of what has that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes sure that the names in a directory outlive a power cut.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// The names in a directory. Empty if there is nothing there, or something else.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// When a file was last written.
    fn modified(&self, path: &Path) -> io::Result<std::time::SystemTime>;

    /// Takes the lock of a file, which is made if need be, until the returned value is dropped.
    /// `note` is left in the file for those who come later, if possible.
    fn lock(&self, path: &Path, note: &str) -> Result<Box<dyn Send + Sync>, LockError>;
}

/// A file that is open for appending.
pub trait DiskFile: Send + Sync {
    /// Writes at the end, possibly less than all.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Makes sure that what was written outlives a power cut (`fdatasync`).
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Its length in bytes. An error if the file was removed, as far as the system can tell, since
    /// nobody would ever find what is written to it.
    fn length(&self) -> io::Result<u64>;
}

/// Why a lock was not taken.
#[derive(Debug)]
pub enum LockError {
    /// Someone else has it; this is the note that they left.
    Held(String),
    /// The file system failed.
    Io(io::Error),
}

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|it| !it.is_dir()).collect();
        directory_builder().recursive(true).create(path)?;
        for parent in missing.iter().filter_map(|made| made.parent()) {
            match self.sync_directory(parent) {
                // A directory that one may enter and write but not list cannot be opened to be synced.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                result => result?,
            }
        }
        Ok(())
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        match directory_builder().create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            result => result,
        }
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = owner_only(OpenOptions::new().append(true).create_new(true)).open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(RealFile(
            OpenOptions::new().append(true).open(path)?,
        )))
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(File::open(path)?))
    }

    fn read_end(&self, path: &Path, most: u64) -> io::Result<(Vec<u8>, u64)> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
        let mut bytes = Vec::new();
        // It may grow meanwhile, and what was not counted is not read.
        file.take(length.min(most)).read_to_end(&mut bytes)?;
        Ok((bytes, length))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        // Directories can only be opened, and need to be synced, on Unix.
        if cfg!(unix) {
            File::open(or_here(path))?.sync_all()?;
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        match fs::read_dir(or_here(path)) {
            Ok(entries) => entries
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect(),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(Vec::new()),
                _ => Err(error),
            },
        }
    }

    fn modified(&self, path: &Path) -> io::Result<std::time::SystemTime> {
        fs::metadata(path)?.modified()
    }

    fn lock(&self, path: &Path, note: &str) -> Result<Box<dyn Send + Sync>, LockError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = owner_only(&mut options).open(path).map_err(LockError::Io)?;
        match file.try_lock() {
            Ok(()) => {
                // The lock is the system's and ends with the process. The note only helps people: that
                // the disk is full is no reason to refuse the lock.
                let _ = file
                    .set_len(0)
                    .and_then(|()| file.write_all(note.as_bytes()));
                Ok(Box::new(HeldLock(file)))
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.take(200).read_to_string(&mut holder);
                Err(LockError::Held(holder))
            }
            Err(TryLockError::Error(error)) => Err(LockError::Io(error)),
        }
    }
}

fn directory_builder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// The lock of a file, given back when this is dropped.
///
/// To close the file would not be enough: a process that is being started has a copy of the handle
/// until it runs its own program, and the system keeps the lock as long as any copy is open.
#[derive(Debug)]
struct HeldLock(File);

impl Drop for HeldLock {
    fn drop(&mut self) {
        // If this fails, the lock ends with the last copy of the handle.
        let _ = self.0.unlock();
    }
}

/// A file of the machine.
#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        let metadata = self.0.metadata()?;
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&metadata) == 0 {
            return Err(removed());
        }
        Ok(metadata.len())
    }
}

/// That a file has no name any more.
pub(super) fn removed() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotFound,
        "it was removed or replaced; put it back and resume the session, or begin a new one",
    )
}

/// The empty path, which is the parent of a bare file name, is the current directory.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "disk_tests.rs"]
mod tests;
