use insta::assert_snapshot;
use uuid::Uuid;

use super::*;
use crate::session::MemoryDisk;
use crate::testing::{assistant, bytes_of, here, only_session, put, store_on, user, write_session};

#[test]
fn project_names_are_readable_and_never_the_same() {
    let long = format!("/{}", "langer-name/".repeat(400));
    let directories = [
        "/work/pod",
        "/other/pod",
        "/work/pod/",
        "/work/./pod",
        "/work/Pod",
        "/work/my project",
        "/work/my-project",
        "/work/my\nproject",
        "/work/.hidden",
        "/work/--force",
        "/work/日本語",
        "/work/日本",
        "/work/...",
        "/",
        "relative",
        &long,
    ];
    let names: Vec<String> = directories
        .iter()
        .map(|it| project_name(Path::new(it)))
        .collect();
    for (directory, name) in directories.iter().zip(&names) {
        assert!(name.len() < 80, "{directory}");
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)),
            "{directory}: {name}"
        );
        assert!(!name.starts_with(['.', '-']), "{directory}: {name}");
    }
    // The first four are two directories.
    let unique: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!(names[0], names[2]);
    assert_eq!(names[0], names[3]);
    assert_eq!(unique.len(), directories.len() - 2);
    // They must stay what they are: a changed name hides the sessions of a directory.
    assert_snapshot!(names.join("\n"), @r#"
    pod-44d4dc29746e9977
    pod-1806160f549eb7e8
    pod-44d4dc29746e9977
    pod-44d4dc29746e9977
    Pod-5addfc2a1227a5d7
    my-project-b99fc25c1998b923
    my-project-2c11863b8fd2d96a
    my-project-688ce4307d351259
    hidden-2f41177467e93696
    force-18b4f3cb06171299
    directory-8bdefbbadc99231c
    directory-4ee1f3be1e9f62c4
    directory-195d5a2a7e08bcfa
    directory-af63a24c860189fe
    relative-62cc3e310323dd7d
    langer-name-575a463be76708e5
    "#);
}

#[cfg(unix)]
#[test]
fn a_directory_whose_name_is_no_utf_8_has_sessions_too() {
    use std::os::unix::ffi::OsStrExt as _;
    let directory = Path::new(std::ffi::OsStr::from_bytes(b"/work/\xff\xfe"));
    let other = Path::new(std::ffi::OsStr::from_bytes(b"/work/\xff\xff"));
    let store = store_on(MemoryDisk::new());
    let session = store.create(directory, None).unwrap();
    assert_eq!(session.directory(), directory);
    drop(session);
    assert_eq!(store.list(other).unwrap().len(), 0);
    let info = store.list(directory).unwrap().remove(0);
    let opened = store.open(&info, false).unwrap();
    assert_eq!(
        opened.session.directory(),
        Path::new("/work/\u{fffd}\u{fffd}")
    );
}

#[test]
fn a_session_is_begun_under_the_id_that_is_asked_for_and_only_once() {
    let store = store_on(MemoryDisk::new());
    let id: Uuid = "0198c0de-0000-7000-8000-000000000001".parse().unwrap();
    let session = store.create(here(), Some(id)).unwrap();
    assert_eq!(session.id(), id);
    assert_eq!(session.segment(), 1);
    // In use or not, here or in another working directory: one id is one session.
    let in_use = store.create(here(), Some(id)).unwrap_err();
    drop(session);
    let here_too = store.create(here(), Some(id)).unwrap_err();
    let elsewhere = store.create(Path::new("/elsewhere"), Some(id)).unwrap_err();
    let info = only_session(&store);
    let as_fork = store.fork(&info, here(), Some(id), None).unwrap_err();
    assert_snapshot!(in_use, @"session 0198c0de-0000-7000-8000-000000000001 exists already (/pod/sessions/work-1f92008dc8753ba3/0198c0de-0000-7000-8000-000000000001); go on with it: --resume 0198c0de-0000-7000-8000-000000000001");
    for error in [here_too, elsewhere, as_fork] {
        assert_eq!(error.to_string(), in_use.to_string());
    }
}

#[test]
fn the_lock_is_per_session_and_ends_with_it() {
    let store = store_on(MemoryDisk::new());
    let first = store.create(here(), None).unwrap();
    let info = only_session(&store);
    let second = store.create(here(), None).unwrap();
    assert!(matches!(
        store.open(&info, false),
        Err(LogError::Locked { .. })
    ));
    drop(second);
    assert!(matches!(
        store.open(&info, false),
        Err(LogError::Locked { .. })
    ));
    drop(first);
    store.open(&info, false).unwrap();
}

#[test]
fn opening_takes_the_segment_that_is_newest_when_the_lock_is_held() {
    let store = store_on(MemoryDisk::new());
    let written = write_session(&store, vec![user("a"), user("b")]);
    let old = only_session(&store);
    store
        .open(&old, false)
        .unwrap()
        .session
        .rewind(written[0].id)
        .unwrap();
    let opened = store.open(&old, false).unwrap();
    assert_eq!(opened.session.segment(), 2);
    drop(opened);
    let fork = store.fork(&old, here(), None, None).unwrap();
    assert_eq!(fork.contents.entries.len(), 1);
    assert_eq!(fork.contents.header.parent.unwrap().segment, 2);
}

#[test]
fn br_066_drafts_of_a_killed_process_are_removed_and_nothing_else_is() {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    write_session(&store, vec![user("a")]);
    let info = only_session(&store);
    let draft = "0002.jsonl.019b76daa8007000800000000000000a.tmp";
    let others = [
        "0002.jsonl.tmp",
        "notes.tmp",
        "x.019b76daa8007000800000000000000a.tmp",
    ];
    for name in others.iter().chain([&draft]) {
        put(&disk, &info.path.join(name), b"{");
    }
    drop(store.open(&info, false).unwrap());
    let names = disk.list(&info.path).unwrap();
    assert!(!names.iter().any(|name| name == draft), "{names:?}");
    for name in others {
        assert_eq!(bytes_of(&disk, &info.path.join(name)), b"{");
    }
}

/// What stood before it is gone, and who goes on with the session or checks it reads of that.
#[test]
fn a_log_that_begins_with_an_answer_says_so() {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    write_session(&store, vec![user("a"), assistant("b", &[]), user("c")]);
    let info = only_session(&store);
    let path = info.newest_segment();
    assert!(store.open(&info, false).unwrap().notices.is_empty());
    let bytes = bytes_of(&disk, &path);
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    lines.remove(1);
    put(&disk, &path, &lines.concat());
    let opened = store.open(&info, false).unwrap();
    assert_eq!(opened.contents.entries.len(), 2);
    let told = format!("{}: {NO_BEGINNING}", path.display());
    assert_eq!(opened.notices, [told]);
    drop(opened);
    let report = crate::verify::verify(&disk, &info).unwrap();
    let finding = &report.segments[0].findings[0];
    assert_eq!(
        (finding.line, finding.text.as_str()),
        (Some(2), NO_BEGINNING)
    );
}

#[test]
fn a_copy_of_a_session_directory_says_whose_it_is() {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    write_session(&store, vec![user("a")]);
    let info = only_session(&store);
    let bytes = bytes_of(&disk, &info.newest_segment());
    let copy = info
        .path
        .with_file_name("0198c0de-0000-7000-8000-000000000001");
    put(&disk, &copy.join("0001.jsonl"), &bytes);
    let copy = store.find("0198c0de").unwrap();
    let opened = store.open(&copy, false).unwrap();
    assert_eq!(opened.session.id(), info.id);
    assert_snapshot!(opened.notices.join("\n"), @"/pod/sessions/work-1f92008dc8753ba3/0198c0de-0000-7000-8000-000000000001/0001.jsonl: this is a copy of session 00000000-0000-7000-8000-000000000001, which its header names");
}
