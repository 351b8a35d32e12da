//! What a power cut, a killed process or a careless editor leaves behind, and what becomes of it.

use insta::assert_snapshot;

use super::*;
use crate::testing::{
    bytes_of, entries_of, files_of, harmless_after, new_entry, only_session, put, sixty_items,
    store_on, tasks_of, user, write_session,
};

/// BR-105, BR-109, BR-116: evidence 5. The log is cut at every byte.
#[test]
fn br_105_a_log_cut_at_any_byte_is_opened_told_and_appended_to() {
    let disk = MemoryDisk::new();
    let written = write_session(&store_on(disk.clone()), sixty_items());
    assert_eq!(written.len(), 60);
    let path = only_session(&store_on(disk.clone())).newest_segment();
    let bytes = bytes_of(&disk, &path);
    let ends: Vec<usize> = (1..=bytes.len())
        .filter(|end| bytes[end - 1] == b'\n')
        .collect();
    let header = ends[0];
    let torn_path = writer::torn_path(&path);
    // The list after each number of entries, from a fold that knows nothing of files.
    let lists: Vec<_> = (0..=60).map(|count| tasks_of(&written[..count])).collect();

    for cut in header..=bytes.len() {
        let disk = MemoryDisk::new();
        put(&disk, &path, &bytes[..cut]);
        let store = store_on(disk.clone());
        let mut opened = store.open(&only_session(&store), false).unwrap();
        let complete = ends.iter().filter(|end| **end <= cut).count() - 1;
        let end = ends[complete];

        let entries = &opened.contents.entries;
        assert!(
            entries.iter().map(|it| &it.entry).eq(&written[..complete]),
            "cut at {cut}"
        );
        if end == cut {
            assert_eq!(opened.notices, [] as [String; 0], "cut at {cut}");
            assert!(disk.open_read(&torn_path).is_err(), "cut at {cut}");
        } else {
            let [notice] = opened.notices.as_slice() else {
                panic!("cut at {cut}: {:?}", opened.notices)
            };
            let place = format!("line {} ({} bytes at byte {end}: ", complete + 2, cut - end);
            assert!(notice.contains(&place), "cut at {cut}: {notice}");
            assert!(notice.contains("0001.torn"), "cut at {cut}: {notice}");
            assert_eq!(bytes_of(&disk, &torn_path), bytes[end..cut], "cut at {cut}");
        }

        let entry = new_entry(&opened.session, harmless_after(&written[..complete]));
        opened.session.append(&entry).unwrap();
        drop(opened);
        let expected = [&bytes[..end], &entry::encode(&entry).unwrap()].concat();
        assert!(bytes_of(&disk, &path) == expected, "cut at {cut}");
        if end == cut {
            // What the log says now is the same for all cuts in one line.
            let again = store.open(&only_session(&store), false).unwrap();
            assert_eq!(again.notices, [] as [String; 0], "cut at {cut}");
            let entries = entries_of(&again.contents.entries);
            assert_eq!(tasks_of(&entries), lists[complete], "cut at {cut}");
            assert_eq!(entries[..complete], written[..complete], "cut at {cut}");
            assert_eq!(entries[complete..], [entry], "cut at {cut}");
        }
    }
}

/// A file is given its name only when it is whole, so a header is never torn by a crash. If it is
/// damaged all the same, the error says so, and nothing is changed.
#[test]
fn a_log_cut_within_its_header_is_refused_and_left_alone() {
    let disk = MemoryDisk::new();
    write_session(&store_on(disk.clone()), vec![user("a")]);
    let path = only_session(&store_on(disk.clone())).newest_segment();
    let bytes = bytes_of(&disk, &path);
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for cut in 0..=header {
        let disk = MemoryDisk::new();
        put(&disk, &path, &bytes[..cut]);
        let store = store_on(disk.clone());
        for salvage in [false, true] {
            let error = store.open(&only_session(&store), salvage).unwrap_err();
            assert!(matches!(error, LogError::NoHeader { .. }), "{cut}: {error}");
        }
        assert_eq!(bytes_of(&disk, &path), bytes[..cut]);
    }
}

#[test]
fn br_108_each_tail_is_kept_and_the_log_goes_on() {
    let disk = MemoryDisk::new();
    let written = write_session(&store_on(disk.clone()), vec![user("a"), user("b — 文")]);
    let path = only_session(&store_on(disk.clone())).newest_segment();
    let bytes = bytes_of(&disk, &path);
    let last = bytes[..bytes.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap()
        + 1;
    let (begin, line) = bytes.split_at(last);
    let torn = &line[..line.len() - 9];
    for tail in [
        torn.to_vec(),
        [torn, b"\n"].concat(),
        [torn, b"\n\n"].concat(),
        [torn, b"\r\n"].concat(),
        line[..line.len() - 1].to_vec(),
        vec![0; 5_000],
        // More than is copied at once.
        vec![0; 200_000],
    ] {
        let disk = MemoryDisk::new();
        put(&disk, &path, &[begin, &tail].concat());
        let store = store_on(disk.clone());
        let mut opened = store.open(&only_session(&store), false).unwrap();
        assert_eq!(opened.notices.len(), 1);
        assert_eq!(bytes_of(&disk, &writer::torn_path(&path)), tail);
        assert_eq!(bytes_of(&disk, &path), begin);
        let entry = new_entry(&opened.session, user("c"));
        opened.session.append(&entry).unwrap();
        drop(opened);
        let again = store.open(&only_session(&store), false).unwrap();
        assert_eq!(
            entries_of(&again.contents.entries),
            [written[0].clone(), entry]
        );
    }
    // Only line ends: nothing is wrong, and nothing is cut off.
    put(&disk, &path, &[&bytes, b"\n\r\n".as_slice()].concat());
    let store = store_on(disk.clone());
    let mut opened = store.open(&only_session(&store), false).unwrap();
    assert_eq!(opened.notices, [] as [String; 0]);
    let entry = new_entry(&opened.session, user("c"));
    opened.session.append(&entry).unwrap();
    drop(opened);
    let again = store.open(&only_session(&store), false).unwrap();
    assert_eq!(again.contents.entries.len(), 3);
}

/// Each torn end is kept, also when there was one before.
#[test]
fn torn_ends_gather_in_one_file() {
    let disk = MemoryDisk::new();
    write_session(&store_on(disk.clone()), vec![user("a")]);
    let store = store_on(disk.clone());
    let path = only_session(&store).newest_segment();
    for tail in ["{\"one", "{\"zwei „"] {
        disk.open_append(&path)
            .unwrap()
            .append(tail.as_bytes())
            .unwrap();
        drop(store.open(&only_session(&store), false).unwrap());
    }
    assert_eq!(
        bytes_of(&disk, &writer::torn_path(&path)),
        "{\"one{\"zwei „".as_bytes()
    );
}

#[test]
fn salvage_goes_on_before_the_bad_line_and_leaves_the_damaged_file_alone() {
    let disk = MemoryDisk::new();
    let written = write_session(&store_on(disk.clone()), sixty_items());
    let store = store_on(disk.clone());
    let info = only_session(&store);
    let mut bytes = bytes_of(&disk, &info.newest_segment());
    // In the middle of line 32, which is entry 31.
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    bytes[ends[30] + 40] = b'\0';
    put(&disk, &info.newest_segment(), &bytes);

    let error = store.open(&info, false).unwrap_err();
    assert_snapshot!(error, @r#"/pod/sessions/work-1f92008dc8753ba3/00000000-0000-7000-8000-000000000001/0001.jsonl: line 32 (byte 6689) cannot be read: control character (\u0000-\u001F) found while parsing a string at column 40; `--salvage` opens the session up to this line and leaves the file as it is"#);
    assert_eq!(
        files_of(&disk, &info.path),
        [(String::from("0001.jsonl"), bytes.clone())]
    );

    let mut opened = store.open(&info, true).unwrap();
    assert_snapshot!(opened.notices.join("\n"), @r#"/pod/sessions/work-1f92008dc8753ba3/00000000-0000-7000-8000-000000000001/0001.jsonl: line 32 (byte 6689) cannot be read: control character (\u0000-\u001F) found while parsing a string at column 40; going on in a new segment with its first 30 entries"#);
    assert_eq!(entries_of(&opened.contents.entries), written[..30]);
    assert_eq!(opened.session.segment(), 2);
    let entry = new_entry(&opened.session, user("weiter"));
    opened.session.append(&entry).unwrap();
    drop(opened);

    assert_eq!(bytes_of(&disk, &info.newest_segment()), bytes);
    // From now on it needs no salvage.
    let again = store.open(&info, false).unwrap();
    assert_eq!(again.contents.header.reason, Reason::Salvage);
    let parent = again.contents.header.parent.as_ref().unwrap();
    assert_eq!((parent.segment, parent.entry), (1, Some(written[29].id)));
    assert_eq!(again.contents.entries.len(), 31);
    assert_eq!(again.contents.entries[30].entry, entry);
}

#[test]
fn salvage_goes_back_to_the_segment_before_one_that_is_no_segment_at_all() {
    let disk = MemoryDisk::new();
    let written = write_session(&store_on(disk.clone()), sixty_items());
    let store = store_on(disk.clone());
    let info = only_session(&store);
    let mut opened = store.open(&info, false).unwrap();
    opened.session.rewind(written[9].id).unwrap();
    drop(opened);
    put(&disk, &info.path.join("0002.jsonl"), b"");

    assert_snapshot!(store.open(&info, false).unwrap_err(), @"/pod/sessions/work-1f92008dc8753ba3/00000000-0000-7000-8000-000000000001/0002.jsonl: not a session log: the file is empty. It is left as it is; `--salvage` goes back to the segment before it, if there is one");
    let opened = store.open(&info, true).unwrap();
    assert_snapshot!(opened.notices.join("\n"), @r#"
    /pod/sessions/work-1f92008dc8753ba3/00000000-0000-7000-8000-000000000001/0002.jsonl: not a session log: the file is empty. It is left as it is; `--salvage` goes back to the segment before it, if there is one; going back to the segment before it
    /pod/sessions/work-1f92008dc8753ba3/00000000-0000-7000-8000-000000000001/0001.jsonl: going on in a new segment with its first 60 entries
    "#);
    assert_eq!(opened.session.segment(), 3);
    assert_eq!(entries_of(&opened.contents.entries), written);
    assert_eq!(bytes_of(&disk, &info.path.join("0002.jsonl")), b"");
}

#[test]
fn what_a_newer_version_wrote_is_told_and_stays() {
    let disk = MemoryDisk::new();
    let written = write_session(&store_on(disk.clone()), vec![user("a"), user("b")]);
    let store = store_on(disk.clone());
    let info = only_session(&store);
    let mark = b"{\"type\":\"mark\",\"note\":\"\xe6\x96\x87\"}\n";
    let mut file = disk.open_append(&info.newest_segment()).unwrap();
    file.append(mark).unwrap();
    let mut opened = store.open(&info, false).unwrap();
    assert_snapshot!(opened.notices.join("\n"), @"/pod/sessions/work-1f92008dc8753ba3/00000000-0000-7000-8000-000000000001/0001.jsonl: passed over 1 line of a type that this version does not know; the log keeps them");
    opened.session.rewind(written[1].id).unwrap();
    let contents = opened.session.rewind(written[0].id).unwrap();
    assert_eq!(contents.unknown_lines, 0, "it stood behind the entry");
    drop(opened);
    let fork = store.fork(&info, here(), None, None).unwrap();
    drop(fork);
    assert!(bytes_of(&disk, &info.path.join("0001.jsonl")).ends_with(mark));
}

fn here() -> &'static Path {
    crate::testing::here()
}
