use super::super::tests::environment;
use super::*;

#[test]
fn a_file_with_a_name_that_looks_like_a_pattern_is_that_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a[1].jsonl");
    fs::write(&path, "{}\n").unwrap();
    let found = named(std::slice::from_ref(&path), None, &environment()).unwrap();
    assert_eq!(found.sources, [Source::file(path)]);
    assert!(!found.searched);
}

#[test]
fn only_logs_are_taken_from_a_folder_and_hidden_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let log = "{\"type\":\"user\",\"sessionId\":\"s\"}\n";
    let one = put("a/notes.txt", log);
    put(".git/b.jsonl", log);
    put("c.json", "{\"name\": \"a package\"}\n");
    put("d.bin", "\0\u{1}{\"type\"");
    put("e.jsonl", "");
    let found = named(&[folder.path().to_owned()], None, &environment()).unwrap();
    assert_eq!(found.sources, [Source::file(one)]);
    assert!(found.searched);
    assert!(found.errors.is_empty());
}

#[test]
fn the_newest_segment_of_a_session_is_the_one_with_the_highest_number() {
    let folder = tempfile::tempdir().unwrap();
    let header = "{\"type\":\"session\",\"version\":1,\"session\":\"s\",\"segment\":1}\n";
    for name in [
        "0002.jsonl",
        "9999.jsonl",
        "10000.jsonl",
        "0001.jsonl.tmp",
        "lock",
    ] {
        fs::write(folder.path().join(name), header).unwrap();
    }
    let source = session_folder(folder.path()).unwrap();
    assert_eq!(source, Source::file(folder.path().join("10000.jsonl")));
}
