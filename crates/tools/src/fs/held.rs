//! Real paths that are opened as they were looked up, whatever takes their place in between.
//!
//! [`Scope::resolve`](super::Scope::resolve) gives a path without symlinks that is inside the scope.
//! Somebody else may put a symlink in the place of one of its directories before it is used. So the
//! system is asked to follow none (`openat2` of Linux 5.6), and new names are made relative to a
//! directory that is open. Elsewhere only the last part of a path is safe from that.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};

/// Opens what is at a real path, and follows no symlink on the way.
pub(super) fn open_real(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, ResolveFlags, openat2};
        use rustix::io::Errno;

        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // An old kernel, or a sandbox around this program that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            result => return Ok(result?),
        }
    }
    Ok(openat(rustix::fs::CWD, path, flags, Mode::empty())?)
}

/// A directory that is open, so that names in it stay names in it.
pub(super) struct Held {
    directory: OwnedFd,
    /// Its path when it was opened.
    path: PathBuf,
}

/// How directories are held: where that is possible, without the right to list them.
#[cfg(target_os = "linux")]
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
const DIRECTORY: OFlags = OFlags::DIRECTORY;

impl Held {
    /// Holds the directory at a real path.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            directory: open_real(path, DIRECTORY)?,
            path: path.to_owned(),
        })
    }

    /// A path to a name in this directory, for calls that know paths only.
    pub(super) fn join(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.reach().join(name.as_ref())
    }

    /// A path to this very directory, whatever stands at the path where it was opened.
    pub(super) fn reach(&self) -> PathBuf {
        let by_number = format!("/proc/self/fd/{}", self.directory.as_raw_fd());
        let by_number = PathBuf::from(by_number);
        if cfg!(target_os = "linux") && by_number.exists() {
            by_number
        } else {
            self.path.clone()
        }
    }

    fn make_directory(&self, name: &OsStr) -> io::Result<Self> {
        match mkdirat(&self.directory, name, Mode::from_raw_mode(0o777)) {
            Err(error) if error != rustix::io::Errno::EXIST => return Err(error.into()),
            _ => {}
        }
        let flags = DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self {
            directory: openat(&self.directory, name, flags, Mode::empty())?,
            path: self.path.join(name),
        })
    }
}

/// Directories that were made on the way to a new file.
pub(super) struct Made {
    /// Each with the directory that it is in.
    directories: Vec<(Held, OsString)>,
    /// The last one, where the file goes.
    pub(super) last: Held,
}

impl Made {
    /// Holds the directory at a real path; those that are missing are made.
    pub(super) fn all(path: &Path) -> io::Result<Self> {
        let there = path.ancestors().find(|it| it.exists()).unwrap_or(path);
        let mut made = Self {
            directories: Vec::new(),
            last: Held::open(there)?,
        };
        for part in path.strip_prefix(there).unwrap_or(path).components() {
            match made.last.make_directory(part.as_os_str()) {
                Ok(next) => {
                    let parent = std::mem::replace(&mut made.last, next);
                    made.directories.push((parent, part.as_os_str().to_owned()));
                }
                Err(error) => {
                    made.remove();
                    return Err(error);
                }
            }
        }
        Ok(made)
    }

    /// Removes what was made. What is not empty holds what somebody else has put there.
    pub(super) fn remove(self) {
        for (parent, name) in self.directories.iter().rev() {
            let _ = unlinkat(&parent.directory, name, AtFlags::REMOVEDIR);
        }
    }
}

/// Opens the file at a real path, and follows no symlink on the way.
pub(super) fn open_file(path: &Path, flags: OFlags) -> io::Result<File> {
    // A pipe would wait for its other end, and a terminal would become that of this process.
    open_real(path, flags | OFlags::NONBLOCK | OFlags::NOCTTY).map(File::from)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::fs::file;
    use crate::fs::testing::Space;

    /// What a path was when it was looked up: a directory of the scope. Then it becomes a symlink.
    fn swapped(space: &Space) -> PathBuf {
        fs::write(space.outside("file"), "secret").unwrap();
        space.file("dir/file", "inside");
        let real = space.scope.resolve("dir/file").unwrap();
        fs::rename(space.path("dir"), space.path("moved")).unwrap();
        symlink(space.outside(""), space.path("dir")).unwrap();
        real
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_directory_that_becomes_a_symlink_leads_nowhere() {
        let space = Space::new();
        let real = swapped(&space);
        assert!(file::open(&space.scope, &real).is_err());
        assert!(file::replace(&real, b"changed").is_err());
        assert!(file::create(&real.with_file_name("new"), b"made").is_err());
        assert!(file::create(&real.with_file_name("a/b/new"), b"made").is_err());
        assert_eq!(fs::read(space.outside("file")).unwrap(), b"secret");
        assert_eq!(fs::read_dir(space.outside("")).unwrap().count(), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn names_in_a_held_directory_stay_in_it() {
        let space = Space::new();
        space.file("dir/file", "inside");
        let held = Held::open(&space.path("dir")).unwrap();
        swapped(&space);
        assert_eq!(fs::read(held.join("file")).unwrap(), b"inside");
        fs::write(held.join("new"), "made").unwrap();
        assert_eq!(space.content("moved/new"), "made");
        assert_eq!(fs::read_dir(space.outside("")).unwrap().count(), 1);
    }

    #[test]
    fn directories_are_made_and_removed_again() {
        let space = Space::new();
        let made = Made::all(&space.path("a/b/c")).unwrap();
        fs::write(made.last.join("file"), "x").unwrap();
        assert_eq!(space.content("a/b/c/file"), "x");
        fs::remove_file(space.path("a/b/c/file")).unwrap();
        made.remove();
        assert!(!space.path("a").exists());

        space.file("file", "");
        assert!(Made::all(&space.path("file/a")).is_err());
        let long = "x".repeat(300);
        assert!(Made::all(&space.path(&format!("a/b/{long}"))).is_err());
        assert!(!space.path("a").exists());
    }
}
