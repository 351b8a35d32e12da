//! A disk that gets full when a test says so.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use pod::session::disk::{DiskFile, LockError};
use pod::session::{Disk, RealDisk};

/// The disk of the machine, with room for a number of lines.
#[derive(Clone, Debug)]
pub struct FillingDisk {
    room: Arc<AtomicU64>,
}

impl Default for FillingDisk {
    fn default() -> Self {
        Self {
            room: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }
}

impl FillingDisk {
    /// Sets for how many more lines there is room.
    pub fn set_room(&self, lines: u64) {
        self.room.store(lines, Ordering::Relaxed);
    }
}

struct FillingFile {
    file: Box<dyn DiskFile>,
    room: Arc<AtomicU64>,
}

impl DiskFile for FillingFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let take_one = |room: u64| room.checked_sub(1);
        match self
            .room
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take_one)
        {
            Ok(_) => self.file.append(bytes),
            // A part of the line still fits, as on a real disk.
            Err(_) if bytes.len() > 10 => self.file.append(&bytes[..10]),
            Err(_) => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.truncate(length)
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }
}

impl FillingDisk {
    fn wrap(&self, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(FillingFile {
            file,
            room: Arc::clone(&self.room),
        })
    }
}

impl Disk for FillingDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_directory(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk.make_directory(path)
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.wrap(RealDisk.create_file(path)?))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.wrap(RealDisk.open_append(path)?))
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        RealDisk.open_read(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_directory(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        RealDisk.list(path)
    }

    fn modified(&self, path: &Path) -> io::Result<SystemTime> {
        RealDisk.modified(path)
    }

    fn lock(&self, path: &Path, note: &str) -> Result<Box<dyn Send + Sync>, LockError> {
        RealDisk.lock(path, note)
    }
}
