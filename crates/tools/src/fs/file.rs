//! Opening, reading and replacing regular files. The only module that touches their content.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{Gid, OFlags, Uid};

use super::Scope;
use super::blocking::Stop;
use super::held::{Held, Made, open_file};
use crate::tracker::{Fingerprint, Fingerprinter};
use crate::{ToolError, Tracker};

/// An open regular file.
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) metadata: Metadata,
}

/// Opens a regular file for reading.
///
/// What is not a regular file is refused before it is opened, because opening a pipe waits for its
/// other end and opening a device may do anything. As the path may have changed since, the open
/// neither waits nor follows a symlink, and the file is looked at again.
pub(super) fn open(scope: &Scope, path: &Path) -> Result<Opened, ToolError> {
    let failed = |error| cannot("read", scope, path, &error);
    let metadata = std::fs::symlink_metadata(path).map_err(failed)?;
    refuse_special(scope, path, &metadata)?;
    let file = open_file(path, OFlags::RDONLY).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    refuse_special(scope, path, &metadata)?;
    Ok(Opened { file, metadata })
}

/// The metadata of a regular file, or `None` if there is nothing at the path.
pub(super) fn existing(scope: &Scope, path: &Path) -> Result<Option<Metadata>, ToolError> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => {
            refuse_special(scope, path, &metadata)?;
            Ok(Some(metadata))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("write", scope, path, &error)),
    }
}

/// The fingerprint of a file, read piece by piece.
pub(super) fn fingerprint(
    tracker: &Tracker,
    file: &mut File,
    stop: &Stop,
) -> io::Result<Fingerprint> {
    let mut fingerprinter: Fingerprinter = tracker.fingerprinter();
    let mut piece = vec![0; 64 * 1024];
    loop {
        if stop.is_set() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match file.read(&mut piece) {
            Ok(0) => return Ok(fingerprinter.finish()),
            Ok(length) => fingerprinter.add(piece.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// An error unless the session has seen the file with the content that it has now.
pub(super) fn check_seen(
    scope: &Scope,
    tracker: &Tracker,
    path: &Path,
    now: Fingerprint,
) -> Result<(), ToolError> {
    tracker
        .check(path, now)
        .map_err(|unseen| ToolError::new(format!("{} {unseen}", scope.short(path))))
}

/// Writes a new file, with its directories. It appears whole or not at all.
///
/// # Errors
/// `AlreadyExists` if there is something at the path by now. Directories that were made for a file
/// that could not be written are removed again.
pub(super) fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = name_of(path)?;
    let made = Made::all(directory_of(path))?;
    let path = made.last.join(name);
    let new =
        temporary_in(&made.last, content).and_then(|new| match new.persist_noclobber(&path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(error.error),
            // Some network file systems know no rename that spares what exists, and no hard links.
            Err(_) => create_directly(&path, content),
        });
    if new.is_err() {
        made.remove();
    }
    new
}

/// Replaces the content of a file, which keeps its permissions and its owner.
///
/// Others see the old content or the new one, never a part: the new one is written beside the file
/// and renamed over it. Where a rename would break something (further hard links, an owner that
/// cannot be given, a directory that takes no new file, a mount point) the file is written in place
/// instead. Extended attributes do not survive a rename.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    // Also tells whether the file may be written at all, which a rename would not ask.
    let mut file = open_file(path, OFlags::WRONLY)?;
    let metadata = file.metadata()?;
    if metadata.nlink() == 1 {
        match rename_over(path, content, &metadata) {
            Err(error) if is_about_renaming(&error) => {}
            result => return result,
        }
    }
    // Only what is written over can be lost: what is longer than the new content is cut off last.
    let mut before = Vec::new();
    open_file(path, OFlags::RDONLY)?
        .take(content.len() as u64)
        .read_to_end(&mut before)?;
    overwrite(&mut file, content, content.len() as u64).inspect_err(|_| {
        // The disk is full, say. The old content has its place still.
        let _ = overwrite(&mut file, &before, metadata.len());
    })
}

/// The error of the operating system, for the model.
pub(super) fn cannot(verb: &str, scope: &Scope, path: &Path, error: &io::Error) -> ToolError {
    let path = scope.short(path);
    ToolError::new(match error.kind() {
        io::ErrorKind::NotFound => format!("{path} does not exist"),
        io::ErrorKind::AlreadyExists => {
            format!("cannot {verb} {path}: it exists by now; Read it first")
        }
        // An error that was wrapped on the way here names a temporary file.
        kind => match error.raw_os_error() {
            Some(_) => format!("cannot {verb} {path}: {error}"),
            None => format!("cannot {verb} {path}: {kind}"),
        },
    })
}

fn create_directly(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    let result = file.write_all(content).and_then(|()| file.sync_data());
    if result.is_err() {
        let _ = std::fs::remove_file(path);
    }
    result
}

/// Whether a file may be written although no other can be put in its place.
fn is_about_renaming(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ResourceBusy, Unsupported};

    matches!(
        error.kind(),
        CrossesDevices | PermissionDenied | ResourceBusy | Unsupported
    )
}

/// Writes over the beginning of a file and gives it a length.
fn overwrite(file: &mut File, begin: &[u8], length: u64) -> io::Result<()> {
    file.rewind()?;
    file.write_all(begin)?;
    file.sync_data()?;
    file.set_len(length)?;
    file.sync_data()
}

fn rename_over(path: &Path, content: &[u8], metadata: &Metadata) -> io::Result<()> {
    let directory = Held::open(directory_of(path))?;
    let temporary = temporary_in(&directory, content)?;
    let file = temporary.as_file();
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (metadata.uid(), metadata.gid()) {
        let owner = Uid::from_raw(metadata.uid());
        rustix::fs::fchown(file, Some(owner), Some(Gid::from_raw(metadata.gid())))?;
    }
    // After the change of the owner, which clears some of the bits.
    file.set_permissions(metadata.permissions())?;
    temporary.persist(directory.join(name_of(path)?))?;
    Ok(())
}

/// The content in a temporary file of the directory, on the disk.
fn temporary_in(directory: &Held, content: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt as _;

    let mut temporary = tempfile::Builder::new()
        .prefix(".pod-")
        .suffix(".tmp")
        // Less the bits of the umask, as for any new file.
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(directory.reach())?;
    temporary.write_all(content)?;
    temporary.as_file().sync_data()?;
    Ok(temporary)
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn name_of(path: &Path) -> io::Result<&OsStr> {
    path.file_name()
        .ok_or_else(|| io::ErrorKind::IsADirectory.into())
}

fn refuse_special(scope: &Scope, path: &Path, metadata: &Metadata) -> Result<(), ToolError> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let path = scope.short(path);
    if kind.is_dir() {
        let message = format!("{path} is a directory; Glob lists its files");
        return Err(ToolError::new(message));
    }
    let kind = if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_symlink() {
        "a symlink that has just been made"
    } else {
        "a device"
    };
    let message = format!("{path} is {kind}; only regular files can be read and written");
    Err(ToolError::new(message))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::fs::testing::{Space, said};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_regular_files_are_opened() {
        let space = Space::new();
        space.file("file", "x");
        fs::create_dir(space.path("dir")).unwrap();
        symlink("file", space.path("link")).unwrap();
        space.pipe("pipe");
        let _socket = std::os::unix::net::UnixListener::bind(space.path("socket")).unwrap();

        assert!(open(&space.scope, &space.path("file")).is_ok());
        let mut errors = String::new();
        for name in ["dir", "link", "pipe", "socket", "no", "file/x"] {
            errors += &said(open(&space.scope, &space.path(name)));
            errors += &said(existing(&space.scope, &space.path(name)));
        }
        errors += &said(open(&space.scope, Path::new("/dev/null")));
        insta::assert_snapshot!(errors);
    }

    #[test]
    fn a_new_file_comes_with_its_directories_and_never_over_another() {
        let space = Space::new();
        let path = space.path("a/b/c.txt");
        create(&path, b"one").unwrap();
        assert_eq!(space.content("a/b/c.txt"), "one");
        assert_eq!(mode(&path) & 0o600, 0o600);
        assert_eq!(mode(&path) & 0o111, 0);

        let error = create(&path, b"two").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(space.content("a/b/c.txt"), "one");
        assert_eq!(names(&space.path("a/b")), ["c.txt"]);
    }

    #[test]
    fn a_file_can_be_made_without_a_rename() {
        let space = Space::new();
        create_directly(&space.path("a"), b"one").unwrap();
        let error = create_directly(&space.path("a"), b"two").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(space.content("a"), "one");
    }

    #[test]
    fn a_file_that_cannot_be_made_leaves_nothing() {
        let space = Space::new();
        let too_long = "x".repeat(300);
        assert!(create(&space.path(&format!("a/b/{too_long}")), b"").is_err());
        assert_eq!(names(&space.path("")), [] as [&str; 0]);
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions_and_leaves_nothing_beside() {
        let space = Space::new();
        let path = space.file("run.sh", "old and long");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4751)).unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        replace(&path, b"new").unwrap();
        assert_eq!(space.content("run.sh"), "new");
        assert_eq!(mode(&path), 0o4751);
        assert_ne!(fs::metadata(&path).unwrap().ino(), before);
        assert_eq!(names(&space.path("")), ["run.sh"]);
    }

    #[test]
    fn hard_links_stay_together() {
        let space = Space::new();
        let path = space.file("a", "old and long");
        fs::hard_link(&path, space.path("b")).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(space.content("b"), "new");
        assert_eq!(names(&space.path("")), ["a", "b"]);
    }

    /// Who writes a few bytes over a file holds a few bytes of it, however long it is.
    #[test]
    fn a_huge_file_is_written_in_place_without_being_held() {
        let space = Space::new();
        let path = space.file("a", "old");
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        fs::hard_link(&path, space.path("b")).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(space.content("b"), "new");
    }

    #[test]
    fn the_owner_stays() {
        let space = Space::new();
        let path = space.file("a", "old");
        if std::os::unix::fs::chown(&path, Some(12345), Some(12345)).is_err() {
            println!("skipped: only root can give a file away");
            return;
        }
        replace(&path, b"new").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (12345, 12345));
        assert_eq!(space.content("a"), "new");
    }

    #[test]
    fn permissions_are_respected() {
        if rustix::process::geteuid().is_root() {
            println!("skipped: root may do anything");
            return;
        }
        let space = Space::new();
        let path = space.file("dir/file", "old");
        let directory = space.path("dir");
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };

        set(&directory, 0o555);
        let error = create(&space.path("dir/new"), b"").unwrap_err();
        let text = cannot("write", &space.scope, &space.path("dir/new"), &error).message;
        assert_eq!(text, "cannot write dir/new: permission denied");
        // The file itself may be written, in place.
        replace(&path, b"new").unwrap();
        assert_eq!(space.content("dir/file"), "new");

        set(&directory, 0o755);
        set(&path, 0o444);
        assert_eq!(
            replace(&path, b"newer").unwrap_err().kind(),
            io::ErrorKind::PermissionDenied
        );
        set(&path, 0o000);
        assert_eq!(
            said(open(&space.scope, &path)),
            "cannot read dir/file: Permission denied (os error 13)\n"
        );
    }
}
