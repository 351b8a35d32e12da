//! Faults of the file system on demand, so that tests of the program can end it at each write.
//!
//! In debug builds only: a release build does not know the variable.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use anyhow::Context as _;
use pod::session::disk::{DiskFile, LockError};
use pod::session::{Disk, RealDisk, SessionStore};
use rustix::process::{Signal, getpid, kill_process};

/// `N:before`, `N:half` and `N:after` kill the process around its nth change of the file system, from
/// 1; `N:ERRNO` lets that one and all later ones fail with an error number of the system; `N:panic` is a
/// mistake of the program there.
const VARIABLE: &str = "POD_FAULT_AT";

/// The store, on a file system that fails as the environment says, if it says so.
pub(crate) fn arranged(store: SessionStore) -> anyhow::Result<SessionStore> {
    match std::env::var(VARIABLE) {
        Err(_) => Ok(store),
        Ok(text) => {
            let plan =
                Plan::parse(&text).with_context(|| format!("{VARIABLE}={text} says nothing"))?;
            Ok(store.with_disk(Arc::new(FaultyDisk(Arc::new(plan)))))
        }
    }
}

#[derive(Debug)]
struct Plan {
    nth: u64,
    fault: Fault,
    count: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    KillBefore,
    /// Of a write only half is done. Anything else is whole or not there.
    KillHalf,
    KillAfter,
    Panic,
    Errno(i32),
}

impl Plan {
    fn parse(text: &str) -> Option<Self> {
        let (nth, fault) = text.split_once(':')?;
        let fault = match fault {
            "before" => Fault::KillBefore,
            "half" => Fault::KillHalf,
            "after" => Fault::KillAfter,
            "panic" => Fault::Panic,
            errno => Fault::Errno(errno.parse().ok()?),
        };
        Some(Self {
            nth: nth.parse().ok()?,
            fault,
            count: AtomicU64::new(0),
        })
    }

    /// Makes a change, or what the plan has in its place; `half` is half of the change.
    fn change<T>(
        &self,
        half: impl FnOnce(),
        whole: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        match self.fault {
            Fault::Errno(errno) if number >= self.nth => Err(io::Error::from_raw_os_error(errno)),
            Fault::KillBefore if number == self.nth => die(),
            Fault::Panic if number == self.nth => mistake(),
            Fault::KillHalf if number == self.nth => {
                half();
                die()
            }
            Fault::KillAfter if number == self.nth => {
                let _ = whole();
                die()
            }
            _ => whole(),
        }
    }
}

/// Ends the process as a power switch would: nothing is written, closed or told any more.
fn die() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    std::process::abort()
}

#[expect(clippy::panic, reason = "what a test asks for")]
fn mistake() -> ! {
    panic!("{VARIABLE}")
}

/// The file system of the machine, with a fault.
#[derive(Clone, Debug)]
struct FaultyDisk(Arc<Plan>);

struct FaultyFile {
    inner: Box<dyn DiskFile>,
    plan: Arc<Plan>,
}

impl DiskFile for FaultyFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let half = bytes.split_at(bytes.len() / 2).0;
        let file = std::cell::RefCell::new(&mut self.inner);
        self.plan.change(
            || drop(file.borrow_mut().append(half)),
            || file.borrow_mut().append(bytes),
        )
    }

    fn sync(&mut self) -> io::Result<()> {
        let inner = &mut self.inner;
        self.plan.change(|| {}, || inner.sync())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let inner = &mut self.inner;
        self.plan.change(|| {}, || inner.truncate(length))
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }
}

impl FaultyDisk {
    fn file(&self, inner: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        let plan = Arc::clone(&self.0);
        Box::new(FaultyFile { inner, plan })
    }
}

impl Disk for FaultyDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.0.change(|| {}, || RealDisk.create_directory(path))
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.0.change(|| {}, || RealDisk.make_directory(path))
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = self.0.change(|| {}, || RealDisk.create_file(path))?;
        Ok(self.file(file))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.file(RealDisk.open_append(path)?))
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        RealDisk.open_read(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.change(|| {}, || RealDisk.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.change(|| {}, || RealDisk.remove(path))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.0.change(|| {}, || RealDisk.sync_directory(path))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_variable_says_is_understood_or_refused() {
        let said = |text| Plan::parse(text).map(|plan| (plan.nth, plan.fault));
        assert_eq!(said("1:before"), Some((1, Fault::KillBefore)));
        assert_eq!(said("20:half"), Some((20, Fault::KillHalf)));
        assert_eq!(said("3:after"), Some((3, Fault::KillAfter)));
        assert_eq!(said("7:28"), Some((7, Fault::Errno(28))));
        for text in ["", "1", "1:", ":half", "x:half", "1:sometimes"] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
