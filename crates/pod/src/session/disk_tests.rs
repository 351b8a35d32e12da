use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;
use tempfile::TempDir;

use super::*;
use crate::session::{Entry, LogError, SessionStore, entry};
use crate::testing::{here, new_entry, only_session, user};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn store() -> (TempDir, SessionStore) {
    let root = tempfile::tempdir().unwrap();
    let store = SessionStore::new(root.path().join("data/pod"));
    (root, store)
}

/// Everything below a directory, with its permissions.
fn modes(directory: &Path) -> Vec<(bool, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        found.push((path.is_dir(), mode(&path)));
        if path.is_dir() {
            found.extend(modes(&path));
        }
    }
    found
}

#[test]
fn files_and_directories_are_for_the_owner_only() {
    let (root, store) = store();
    let mut session = store.create(here(), None).unwrap();
    let first = new_entry(&session, user("a"));
    session.append(&first).unwrap();
    session.rewind(first.id).unwrap();
    drop(session);
    let info = only_session(&store);
    // A torn end, so that there is a file of each kind.
    let mut file = OpenOptions::new()
        .append(true)
        .open(info.newest_segment())
        .unwrap();
    file.write_all(b"{\"to").unwrap();
    drop(store.open(&info, false).unwrap());

    let found = modes(root.path());
    let files = found
        .iter()
        .filter(|(is_directory, _)| !is_directory)
        .count();
    assert_eq!(files, 4, "two segments, the torn end, the lock");
    for (is_directory, mode) in found {
        assert_eq!(mode, if is_directory { 0o700 } else { 0o600 });
    }
}

#[test]
fn a_session_on_a_real_disk_is_what_it_is_in_memory() {
    let (_root, store) = store();
    let mut session = store.create(here(), None).unwrap();
    let entries: Vec<Entry> = (0..3)
        .map(|number| {
            let entry = new_entry(&session, user(&format!("{number} 文")));
            session.append(&entry).unwrap();
            entry
        })
        .collect();
    session.sync().unwrap();
    session.rewind(entries[1].id).unwrap();
    drop(session);
    let info = only_session(&store);
    assert_eq!(info.segment, 2);
    let opened = store.open(&info, false).unwrap();
    assert_eq!(
        crate::testing::entries_of(&opened.contents.entries),
        entries[..2]
    );
    let mut names = RealDisk.list(&info.path).unwrap();
    names.sort();
    assert_eq!(names, ["0001.jsonl", "0002.jsonl", "lock"]);
}

/// The whole directory is removed under a running session, or replaced by an older copy.
#[test]
fn a_removed_or_replaced_log_is_noticed() {
    for replace in [false, true] {
        let (_root, store) = store();
        let mut session = store.create(here(), None).unwrap();
        let path = session.segment_path().to_owned();
        let entry = new_entry(&session, user("a"));
        session.append(&entry).unwrap();
        if replace {
            let copy = path.with_extension("copy");
            fs::copy(&path, &copy).unwrap();
            fs::rename(&copy, &path).unwrap();
        } else {
            fs::remove_dir_all(session.path()).unwrap();
        }
        let error = session.append(&entry).unwrap_err();
        let error = error
            .to_string()
            .replace(&path.display().to_string(), "[segment]");
        assert_eq!(
            error,
            "cannot go on with [segment]: it was removed or replaced; put it back and resume the session, or begin a new one"
        );
        session.sync().unwrap_err();
        // A session that was moved is still the same.
        assert!(
            session
                .begin_segment(crate::session::Reason::Rewind, None, None, [])
                .is_err()
                || replace
        );
    }
}

#[test]
fn a_moved_session_goes_on() {
    let (root, store) = store();
    let mut session = store.create(here(), None).unwrap();
    let entry = new_entry(&session, user("a"));
    fs::rename(session.path(), root.path().join("moved")).unwrap();
    session.append(&entry).unwrap();
    let line = entry::encode(&entry).unwrap();
    assert!(
        fs::read(root.path().join("moved/0001.jsonl"))
            .unwrap()
            .ends_with(&line)
    );
}

#[test]
fn the_lock_names_its_holder_and_ends_with_it() {
    let (_root, store) = store();
    let session = store.create(here(), None).unwrap();
    let info = only_session(&store);
    let error = store.open(&info, false).unwrap_err();
    let text = error.to_string().replace(&info.id.to_string(), "[id]");
    let text = text.replace(&format!("pid {}", std::process::id()), "pid [pid]");
    assert_snapshot!(text, @"session [id] is in use (pid [pid]); stop that process, or go on with a copy: --fork-session");
    drop(session);
    drop(store.open(&info, false).unwrap());
    // The note of somebody who is gone is no lock.
    fs::write(info.path.join("lock"), "pid 1").unwrap();
    drop(store.open(&info, false).unwrap());
    assert_eq!(
        fs::read_to_string(info.path.join("lock")).unwrap(),
        format!("pid {}", std::process::id())
    );
}

#[test]
fn reading_needs_no_lock() {
    let (_root, store) = store();
    let mut session = store.create(here(), None).unwrap();
    let entry = new_entry(&session, user("a"));
    session.append(&entry).unwrap();
    let info = only_session(&store);
    assert_eq!(store.list(here()).unwrap().len(), 1);
    assert_eq!(store.find(&info.id.to_string()).unwrap().id, info.id);
    assert!(
        crate::verify::verify(store.disk(), &info)
            .unwrap()
            .is_clean()
    );
    let fork = store.fork(&info, here(), None, None).unwrap();
    assert_eq!(fork.contents.entries[0].entry, entry);
}

/// BR-115, BR-119: nothing that lies about gets in the way of a session or makes it slow.
#[test]
fn br_119_huge_corrupt_and_foreign_things_are_passed_over() {
    let (root, store) = store();
    let mut session = store.create(here(), None).unwrap();
    let entry = new_entry(&session, user("a"));
    session.append(&entry).unwrap();
    let id = session.id();
    drop(session);
    let project = store.project(here());
    let beside = |name: &str| project.join(format!("019b0000-0000-7000-8000-00000000000{name}"));

    // A session of 3 GB, one of garbage, one that is empty, one without segments.
    fs::create_dir(beside("1")).unwrap();
    let huge = File::create(beside("1").join("0001.jsonl")).unwrap();
    huge.set_len(3 << 30).unwrap();
    fs::create_dir(beside("2")).unwrap();
    fs::write(beside("2").join("0001.jsonl"), b"\xff\xfe garbage \n\n{").unwrap();
    fs::create_dir(beside("3")).unwrap();
    fs::write(beside("3").join("0001.jsonl"), b"").unwrap();
    fs::create_dir(beside("4")).unwrap();
    // A segment that is a directory, a session that is a file, names of all kinds.
    fs::create_dir_all(beside("5").join("0001.jsonl")).unwrap();
    fs::write(beside("6"), "file").unwrap();
    fs::create_dir(project.join("notes")).unwrap();
    fs::write(project.join("notes/0001.jsonl"), "note").unwrap();
    fs::write(project.join(".DS_Store"), "x").unwrap();
    fs::write(root.path().join("data/pod/sessions/README"), "x").unwrap();
    fs::create_dir(root.path().join("data/pod/sessions/elsewhere")).unwrap();
    let broken_name = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff\xfe");
    fs::write(project.join::<&std::ffi::OsStr>(broken_name), "x").unwrap();
    std::os::unix::fs::symlink("/nowhere", project.join("link")).unwrap();
    let closed = root.path().join("data/pod/sessions/closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o0)).unwrap();

    // Those with a segment are listed, readable or not.
    assert_eq!(store.list(here()).unwrap().len(), 5);
    assert_eq!(store.list_all().unwrap().len(), 5);
    let info = store.find(&id.to_string()).unwrap();
    let opened = store.open(&info, false).unwrap();
    assert_eq!(opened.contents.entries[0].entry, entry);
    drop(store.create(here(), None).unwrap());

    // What cannot be opened says so; nothing is waited for.
    for name in ["1", "2", "3", "5"] {
        let path = beside(name);
        let info = store.find(&path.display().to_string()).unwrap();
        for salvage in [false, true] {
            let error = store.open(&info, salvage).unwrap_err();
            assert!(
                error.to_string().contains(&*path.to_string_lossy()),
                "{error}"
            );
            assert!(
                matches!(error, LogError::NoHeader { .. } | LogError::Io { .. }),
                "{error}"
            );
        }
        assert!(
            !crate::verify::verify(store.disk(), &info)
                .unwrap()
                .is_clean()
        );
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error_that_names_it() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "x").unwrap();
    let store = SessionStore::new(root.path().join("file/pod"));
    let error = store.create(here(), None).unwrap_err().to_string();
    let path = root.path().join("file/pod").display().to_string();
    assert!(
        error.starts_with(&format!("cannot create the directory {path}")),
        "{error}"
    );
    assert_eq!(store.list_all().unwrap().len(), 0);
}

#[test]
fn a_relative_root_works() {
    // Only what is asked of the disk: the current directory belongs to all tests.
    assert_eq!(or_here(Path::new("")), Path::new("."));
    assert!(
        RealDisk
            .list(Path::new(""))
            .unwrap()
            .contains(&String::from("Cargo.toml"))
    );
    RealDisk.sync_directory(Path::new("")).unwrap();
    assert_eq!(
        RealDisk.list(Path::new("Cargo.toml")).unwrap(),
        [] as [String; 0]
    );
    assert_eq!(
        RealDisk.list(Path::new("no such")).unwrap(),
        [] as [String; 0]
    );
}
