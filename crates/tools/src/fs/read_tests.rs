use std::fs;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::bounded::RESULT_LIMIT;
use crate::fs::testing::{Space, as_seen, call, read_by_model, said, whole};

fn tool(space: &Space) -> Read {
    Read::new(space.scope.clone(), space.tracker.clone())
}

async fn read(space: &Space, arguments: Value) -> String {
    read_by_model(call(&tool(space), arguments).await)
}

#[test]
fn as_the_model_sees_it() {
    let space = Space::new();
    insta::assert_json_snapshot!(as_seen(&tool(&space)));
    let target = |arguments| tool(&space).target(&arguments);
    assert_eq!(target(json!({"path": "a"})).as_deref(), Some("a"));
    assert_eq!(target(json!({"offset": 1})), None);
}

#[tokio::test]
async fn results() {
    let space = Space::new();
    space.file("five", "one\ntwo\nthree\nfour\nfive\n");
    space.file("open end", "one\n\ntwo");
    space.file("empty", "");
    space.file("crlf", "\u{FEFF}one\r\ntwo\r\n");
    space.file(
        "latin",
        b"a caf\xE9 au lait, s'il vous pla\0EEt, tous les matins\nb\n".as_slice(),
    );
    space.file("名/日本 語.txt", "テスト\n");
    space.file("line\nbreak", "x\n");
    let mut text = String::new();
    for arguments in [
        json!({"file_path": "five"}),
        json!({"file_path": "five", "offset": 2, "limit": 2}),
        json!({"file_path": "five", "offset": "4"}),
        json!({"file_path": "five", "offset": 0, "limit": 1}),
        json!({"file_path": "five", "offset": 6}),
        json!({"file_path": "five", "offset": u64::MAX, "limit": u64::MAX}),
        json!({"file_path": "five", "limit": 0}),
        json!({"file_path": "open end"}),
        json!({"file_path": "empty", "offset": 3}),
        json!({"file_path": "crlf"}),
        json!({"file_path": "名/日本 語.txt"}),
        json!({"file_path": "line\nbreak"}),
    ] {
        let result = call(&tool(&space), arguments.clone()).await;
        text = format!("{text}> {arguments}\n{}\n", space.clean(&whole(result)));
    }
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn errors() {
    let space = Space::new();
    fs::create_dir(space.path("dir")).unwrap();
    space.pipe("pipe");
    space.file("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    space.file("data", b"a\0b");
    space.file("text", "x");
    fs::write(space.outside("secret"), "x").unwrap();
    std::os::unix::fs::symlink(space.outside("secret"), space.path("escape")).unwrap();
    let mut text = String::new();
    for name in [
        "no",
        "dir",
        ".",
        "pipe",
        "logo.png",
        "data",
        "text/x",
        "escape",
        "/proc/self/environ",
    ] {
        let error = said(call(&tool(&space), json!({"file_path": name})).await);
        text += &space.clean(&error);
    }
    insta::assert_snapshot!(text);
    assert_eq!(space.tracker.recent(9), [] as [std::path::PathBuf; 0]);
}

#[tokio::test]
async fn bytes_that_are_not_text_are_said() {
    let space = Space::new();
    let filler = "The quick brown fox jumps over the lazy dog.\n".repeat(300);
    space.file("latin", [b"a caf\xE9\n", filler.as_bytes()].concat());
    space.file("zero", [filler.as_bytes(), b"a\0b\n"].concat());
    space.file("honest", "a \u{FFFD} that is really there\n");
    let page = |path: &str, offset: u64| json!({"path": path, "offset": offset, "limit": 1});
    let mut text = String::new();
    for arguments in [
        page("latin", 1),
        page("latin", 2),
        page("zero", 301),
        page("honest", 1),
    ] {
        text += &read(&space, arguments).await;
    }
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn a_long_line_is_cut_and_said() {
    let space = Space::new();
    space.file("wide", format!("a\n{}\nb\n", "é".repeat(5_000_000)));
    let text = read(&space, json!({"file_path": "wide"})).await;
    assert_eq!(text.matches('é').count(), 2000);
    let rest = text.replace('é', "");
    assert_eq!(
        rest,
        "1\ta\n2\t [... cut; the line has 10000000 bytes]\n3\tb\n"
    );

    for exact in ["x".repeat(2000), "😀".repeat(2000)] {
        space.file("exact", &exact);
        assert_eq!(
            read(&space, json!({"file_path": "exact"})).await,
            format!("1\t{exact}\n")
        );
    }
}

#[tokio::test]
async fn a_long_file_comes_in_parts_that_join() {
    let space = Space::new();
    let line = "日".repeat(30);
    let count = 5000;
    space.file("long", format!("{line}\n").repeat(count));
    let (mut offset, mut lines) = (1, 0);
    while offset <= count {
        let text = read(
            &space,
            json!({"file_path": "long", "offset": offset, "limit": 9999}),
        )
        .await;
        assert!(text.len() <= RESULT_LIMIT);
        for (index, shown) in text.lines().filter(|it| !it.starts_with('[')).enumerate() {
            assert_eq!(shown, format!("{}\t{line}", offset + index));
            lines += 1;
        }
        if let Some((_, next)) = text.split_once("go on with offset=") {
            offset = next.trim_end().trim_end_matches(']').parse().unwrap();
        } else {
            break;
        }
    }
    assert_eq!(lines, count);

    // The default is 2000 lines.
    space.file("short lines", "x\n".repeat(2001));
    let text = read(&space, json!({"file_path": "short lines"})).await;
    assert!(text.ends_with("2000\tx\n[lines 1-2000 of 2001; go on with offset=2001]\n"));
}

#[tokio::test]
async fn a_part_counts_as_read() {
    let space = Space::new();
    let path = space.file("a", "x\n".repeat(100_000));
    read(&space, json!({"file_path": "a", "limit": 1})).await;
    let now = space.tracker.fingerprint(&fs::read(&path).unwrap());
    assert_eq!(space.tracker.check(&path, now), Ok(()));
    assert_eq!(space.tracker.recent(9), [path]);
}

#[tokio::test]
async fn a_link_and_its_target_are_one_file() {
    let space = Space::new();
    let path = space.file("real", "x");
    std::os::unix::fs::symlink("real", space.path("link")).unwrap();
    read(&space, json!({"file_path": "link"})).await;
    assert_eq!(space.tracker.recent(9), [path]);
}

proptest! {
    #[test]
    fn lines_do_not_depend_on_the_pieces(content: Vec<u8>, cut in 0usize..64, first in 1u64..4, limit in 1u64..4) {
        let mut whole = Lines::new(first, limit);
        whole.push(&content);
        let mut pieces = Lines::new(first, limit);
        for piece in content.chunks(cut + 1) {
            pieces.push(piece);
        }
        let (whole, pieces) = (whole.finish(), pieces.finish());
        prop_assert_eq!(&whole.text, &pieces.text);
        prop_assert_eq!(whole.shown, pieces.shown);
        prop_assert_eq!(whole.total, content.split_inclusive(|it| *it == b'\n').count() as u64);
    }
}
