use insta::assert_snapshot;

use super::*;
use crate::session::MemoryDisk;
use crate::testing::{here, put, store_on, user, write_session};

fn id(text: &str) -> Uuid {
    text.parse().unwrap()
}

fn store() -> (MemoryDisk, SessionStore) {
    let disk = MemoryDisk::new();
    (disk.clone(), store_on(disk))
}

#[test]
fn a_session_is_found_by_its_id_the_beginning_of_it_or_its_path() {
    let (_, store) = store();
    let first = id("019b76da-a800-7000-8000-00000000000a");
    let second = id("019b76da-b000-7000-8000-00000000000b");
    drop(store.create(here(), Some(first)).unwrap());
    // In another working directory: ids are found wherever the session was begun.
    drop(store.create(Path::new("/elsewhere"), Some(second)).unwrap());
    let path = store.find("019b76da-b").unwrap().path.display().to_string();

    for (text, expected) in [
        ("019b76da-a800-7000-8000-00000000000a", first),
        ("019B76DA-A800-7000-8000-00000000000A", first),
        ("019b76daa8007000800000000000000a", first),
        ("019b76da-a", first),
        ("019B76DA-B", second),
        (&path, second),
        (&format!("{path}/"), second),
        (&format!("{path}/0001.jsonl"), second),
    ] {
        assert_eq!(store.find(text).unwrap().id, expected, "{text}");
    }
    let errors: Vec<String> = [
        "",
        "019b76da",
        "019b76db",
        "latest",
        "/nowhere/else",
        ".",
        "lock",
    ]
    .map(|text| format!("{text:?}: {}", store.find(text).unwrap_err()))
    .into();
    assert_snapshot!(errors.join("\n"), @r#"
    "": there is no session ""; `pod sessions` lists what there is
    "019b76da": 2 sessions have ids that begin with 019b76da; give more of the id; `pod sessions` lists what there is
    "019b76db": there is no session "019b76db"; `pod sessions` lists what there is
    "latest": there is no session "latest"; `pod sessions` lists what there is
    "/nowhere/else": /nowhere/else holds no session; `pod sessions` lists what there is
    ".": there is no session "."; `pod sessions` lists what there is
    "lock": there is no session "lock"; `pod sessions` lists what there is
    "#);
}

#[test]
fn a_copy_under_another_name_is_found_by_its_path() {
    let (disk, store) = store();
    let written = write_session(&store, vec![user("a")]);
    let info = crate::testing::only_session(&store);
    let bytes = crate::testing::bytes_of(&disk, &info.newest_segment());
    put(&disk, Path::new("/backup/monday/0001.jsonl"), &bytes);
    let copy = store.find("/backup/monday").unwrap();
    assert_eq!(copy.id, info.id);
    let opened = store.open(&copy, false).unwrap();
    assert_eq!(
        crate::testing::entries_of(&opened.contents.entries),
        written
    );
    // What is there and is no session says so.
    put(&disk, Path::new("/backup/tuesday/0001.jsonl"), b"no");
    assert_snapshot!(store.find("/backup/tuesday").unwrap_err(), @"/backup/tuesday/0001.jsonl: not a session log: its first line has no end. It is left as it is; `--salvage` goes back to the segment before it, if there is one");
}

#[test]
fn the_last_used_session_comes_first() {
    let (disk, store) = store();
    let ids: Vec<Uuid> = (0..3)
        .map(|_| store.create(here(), None).unwrap().id())
        .collect();
    let newest_first = |store: &SessionStore| -> Vec<Uuid> {
        store
            .list(here())
            .unwrap()
            .iter()
            .map(|info| info.id)
            .collect()
    };
    // The disk counts time more coarsely than this test runs; then the younger id is the later one.
    let path = store.find(&ids[0].to_string()).unwrap().newest_segment();
    while disk.modified(&path).unwrap() <= store.list(here()).unwrap()[0].modified
        && newest_first(&store)[0] != ids[0]
    {
        disk.open_append(&path).unwrap().append(b"\n").unwrap();
    }
    assert_eq!(newest_first(&store), [ids[0], ids[2], ids[1]]);
    assert_eq!(store.list(Path::new("/elsewhere")).unwrap().len(), 0);
}

#[test]
fn only_what_is_named_as_we_name_it_is_a_session_or_a_segment() {
    for (name, number) in [
        ("0001.jsonl", Some(1)),
        ("0420.jsonl", Some(420)),
        ("12345.jsonl", Some(12345)),
        ("999999999.jsonl", Some(999_999_999)),
        ("1000000000.jsonl", None),
        ("4294967295.jsonl", None),
        ("0000.jsonl", None),
        ("1.jsonl", None),
        ("00001.jsonl", None),
        ("+001.jsonl", None),
        ("0001.jsonl.tmp", None),
        ("0001.torn", None),
        ("٠٠٠١.jsonl", None),
        ("lock", None),
    ] {
        assert_eq!(segment_number(name), number, "{name}");
    }
    let whole = "019b76da-a800-7000-8000-00000000000a";
    assert!(session_id(whole).is_some());
    for name in [
        whole.to_uppercase(),
        whole.replace('-', ""),
        format!("{{{whole}}}"),
        format!("urn:uuid:{whole}"),
        format!("{whole} copy"),
    ] {
        assert_eq!(session_id(&name), None, "{name}");
    }
}

#[test]
fn an_entry_behind_damage_or_carried_or_nowhere_is_told_apart() {
    let (disk, store) = store();
    let written = write_session(&store, vec![user("a"), user("b"), user("c")]);
    let info = crate::testing::only_session(&store);
    let path = info.newest_segment();
    let find = |wanted: Uuid| match entry(&disk, &info.path, info.id, wanted) {
        Ok(place) => format!("segment {}, byte {}", place.segment, place.end),
        Err(error) => error.to_string(),
    };
    let whole = crate::testing::bytes_of(&disk, &path);
    let mut texts = vec![
        format!("there: {}", find(written[2].id)),
        format!("nowhere: {}", find(Uuid::nil())),
    ];
    let text = String::from_utf8(whole.clone()).unwrap();
    put(&disk, &path, text.replace("\"b\"", "\"b").as_bytes());
    texts.push(format!("before damage: {}", find(written[0].id)));
    texts.push(format!("behind damage: {}", find(written[2].id)));
    let carried = text.replace(
        r#","content":[{"type":"text","text":"c"#,
        r#","carried":true$0"#,
    );
    let carried = carried.replace("$0", r#","content":[{"type":"text","text":"c"#);
    put(&disk, &path, carried.as_bytes());
    texts.push(format!("carried: {}", find(written[2].id)));
    let copied = carried.replacen(
        r#""reason":"start""#,
        r#""reason":"fork","parent":{"session":"019b0000-0000-7000-8000-000000000001","segment":2}"#,
        1,
    );
    put(&disk, &path, copied.as_bytes());
    texts.push(format!("carried, copied: {}", find(written[2].id)));
    let root = info.path.display().to_string();
    assert_snapshot!(texts.join("\n").replace(&root, "[session]"), @r#"
    there: segment 1, byte 555
    nowhere: session 00000000-0000-7000-8000-000000000001 has no entry 00000000-0000-0000-0000-000000000000; `pod tasks 00000000-0000-7000-8000-000000000001 --timeline` shows ids
    before damage: segment 1, byte 293
    behind damage: [session]/0001.jsonl: line 3 (byte 293) cannot be read: EOF while parsing a string at column 129; `--salvage` opens the session up to this line and leaves the file as it is
    carried: session 00000000-0000-7000-8000-000000000001 has entry 00000000-0000-7000-8000-000000000005 only as carried over a compaction; go back to an entry behind the compaction, or fork the session that it was copied from
    carried, copied: session 00000000-0000-7000-8000-000000000001 has entry 00000000-0000-7000-8000-000000000005 only as carried over a compaction; go back to an entry behind the compaction, or fork the session that it was copied from: 019b0000-0000-7000-8000-000000000001
    "#);
}
