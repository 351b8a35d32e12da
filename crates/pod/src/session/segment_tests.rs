use insta::assert_snapshot;
use serde_json::json;

use super::*;
use crate::session::{MemoryDisk, Reason};
use crate::testing::{put, sixty_items, store_on, user, write_session};

fn path() -> &'static Path {
    Path::new("/s/0001.jsonl")
}

/// What a file of these bytes says.
fn read_bytes(bytes: &[u8], salvage: bool) -> Result<Contents, LogError> {
    let disk = MemoryDisk::new();
    put(&disk, path(), bytes);
    read(&disk, path(), salvage)
}

#[track_caller]
fn error_of(bytes: &[u8]) -> String {
    let error = read_bytes(bytes, true).unwrap_err().to_string();
    // Only the first line is needed to see it.
    let disk = MemoryDisk::new();
    put(&disk, path(), bytes);
    assert_eq!(read_header(&disk, path()).unwrap_err().to_string(), error);
    error
}

/// A segment with this many entries, each a line of its own.
fn segment(entries: usize) -> Vec<Vec<u8>> {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    let items = (1..=entries)
        .map(|number| user(&format!("Satz {number} — 文")))
        .collect();
    write_session(&store, items);
    let info = crate::testing::only_session(&store);
    let bytes = crate::testing::bytes_of(&disk, &info.newest_segment());
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

#[test]
fn the_header_of_each_kind() {
    let header = Header {
        kind: header::SessionKind::Session,
        version: 1,
        session: "019b76da-a800-7000-8000-000000000001".parse().unwrap(),
        segment: 1,
        created: String::from("2026-01-01T00:00:00.001Z"),
        directory: "/work/ß".into(),
        reason: Reason::Start,
        parent: None,
        instructions: None,
        details: None,
    };
    assert_snapshot!(serde_json::to_string(&header).unwrap(), @r#"{"type":"session","version":1,"session":"019b76da-a800-7000-8000-000000000001","segment":1,"created":"2026-01-01T00:00:00.001Z","directory":"/work/ß","reason":"start"}"#);
    let parent = crate::session::Parent {
        session: header.session,
        segment: 1,
        entry: Some("019b76da-a800-7000-8000-000000000007".parse().unwrap()),
    };
    let compacted = Header {
        segment: 2,
        reason: Reason::Compact,
        parent: Some(parent.clone()),
        details: Some(json!({"trigger": "manual"})),
        ..header.clone()
    };
    assert_snapshot!(serde_json::to_string(&compacted).unwrap(), @r#"{"type":"session","version":1,"session":"019b76da-a800-7000-8000-000000000001","segment":2,"created":"2026-01-01T00:00:00.001Z","directory":"/work/ß","reason":"compact","parent":{"session":"019b76da-a800-7000-8000-000000000001","segment":1,"entry":"019b76da-a800-7000-8000-000000000007"},"details":{"trigger":"manual"}}"#);
    for reason in [
        Reason::Start,
        Reason::Compact,
        Reason::Fork,
        Reason::Rewind,
        Reason::Salvage,
    ] {
        let header = Header {
            reason,
            parent: Some(crate::session::Parent {
                entry: None,
                ..parent.clone()
            }),
            ..header.clone()
        };
        let mut line = serde_json::to_vec(&header).unwrap();
        line.push(b'\n');
        assert_eq!(read_bytes(&line, false).unwrap().header, header);
    }
}

#[test]
fn a_header_of_a_newer_writer_keeps_what_is_known() {
    let line = br#"{"type":"session","version":1,"session":"019b76da-a800-7000-8000-000000000001","segment":3,"created":"soon","directory":"/w","reason":"merge","branch":[1],"parent":null}
"#;
    let header = read_bytes(line, false).unwrap().header;
    assert_eq!(header.reason, Reason::Other);
    assert_eq!(header.created(), None);
    assert_eq!(header.segment, 3);
}

#[test]
fn what_does_not_begin_as_a_segment_does() {
    let long = vec![b'x'; HEADER_LIMIT + 10];
    let cases: [(&str, &[u8]); 9] = [
        ("empty", b""),
        ("only a line end", b"\n"),
        ("no line end", br#"{"type":"session","version":1}"#),
        ("text", b"hello\nworld\n"),
        ("an entry", b"{\"type\":\"user\",\"version\":1}\n"),
        ("too little", b"{\"type\":\"session\",\"version\":1}\n"),
        (
            "newer",
            b"{\"type\":\"session\",\"version\":7,\"session\":[],\"what\":\"else\"}\n",
        ),
        (
            "far newer",
            b"{\"type\":\"session\",\"version\":18446744073709551615}\n",
        ),
        ("a long line", &long),
    ];
    let errors = cases.map(|(name, bytes)| format!("{name}: {}", error_of(bytes)));
    assert_snapshot!(errors.join("\n"), @r#"
    empty: /s/0001.jsonl: not a session log: the file is empty. It is left as it is; `--salvage` goes back to the segment before it, if there is one
    only a line end: /s/0001.jsonl: not a session log: EOF while parsing a value. It is left as it is; `--salvage` goes back to the segment before it, if there is one
    no line end: /s/0001.jsonl: not a session log: its first line has no end. It is left as it is; `--salvage` goes back to the segment before it, if there is one
    text: /s/0001.jsonl: not a session log: expected value. It is left as it is; `--salvage` goes back to the segment before it, if there is one
    an entry: /s/0001.jsonl: not a session log: unknown variant `user`, expected `session`. It is left as it is; `--salvage` goes back to the segment before it, if there is one
    too little: /s/0001.jsonl: not a session log: missing field `session`. It is left as it is; `--salvage` goes back to the segment before it, if there is one
    newer: /s/0001.jsonl: written in format 7, this version reads up to 1; update pod to open it
    far newer: /s/0001.jsonl: written in format 18446744073709551615, this version reads up to 1; update pod to open it
    a long line: /s/0001.jsonl: not a session log: its first line is too long. It is left as it is; `--salvage` goes back to the segment before it, if there is one
    "#);
}

#[test]
fn br_119_a_huge_file_without_line_ends_is_found_out_at_its_beginning() {
    struct Endless(u64);
    impl io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += buffer.len() as u64;
            assert!(self.0 < 4 << 20, "it is read on and on");
            buffer.fill(0);
            Ok(buffer.len())
        }
    }
    let error = parse(BufReader::new(Endless(0)), path(), true).unwrap_err();
    assert_snapshot!(error, @"/s/0001.jsonl: not a session log: its first line is too long. It is left as it is; `--salvage` goes back to the segment before it, if there is one");
}

#[test]
fn br_108_tails() {
    let lines = segment(3);
    let whole = lines.concat();
    let torn = &lines[2][..lines[2].len() / 2];
    let two = lines[..2].concat();
    let unended = &lines[2][..lines[2].len() - 1];
    let tails: [(&str, Vec<u8>); 14] = [
        ("whole", lines[2].clone()),
        ("torn", torn.to_vec()),
        ("torn, LF", [torn, b"\n"].concat()),
        ("torn, LF, LF", [torn, b"\n\n"].concat()),
        ("torn, CRLF", [torn, b"\r\n"].concat()),
        ("valid without LF", unended.to_vec()),
        ("valid, CRLF", [unended, b"\r\n"].concat()),
        ("LF", b"\n".to_vec()),
        ("CRLF, spaces, LF", b"\r\n  \t\n".to_vec()),
        ("spaces", b"   ".to_vec()),
        ("NULs", vec![0; 4096]),
        ("NULs, LF", [vec![0; 4096], b"\n".to_vec()].concat()),
        ("valid, NULs", [lines[2].clone(), vec![0; 64]].concat()),
        (
            "cut in a character",
            lines[2][..lines[2].len() - 6].to_vec(),
        ),
    ];
    let mut told = Vec::new();
    for (name, tail) in tails {
        let bytes = [two.as_slice(), &tail].concat();
        let contents = read_bytes(&bytes, false).unwrap();
        let salvaged = read_bytes(&bytes, true).unwrap();
        assert_eq!(salvaged.damage, None, "{name}");
        assert_eq!(salvaged.torn, contents.torn, "{name}");
        let torn = match &contents.torn {
            None => {
                assert_eq!(contents.end, bytes.len() as u64, "{name}");
                String::from("-")
            }
            Some(torn) => {
                assert_eq!(contents.end, torn.offset, "{name}");
                assert_eq!(torn.offset + torn.length, bytes.len() as u64, "{name}");
                format!("line {}, {} bytes: {}", torn.line, torn.length, torn.reason)
            }
        };
        told.push(format!(
            "{name}: {} entries; {torn}",
            contents.entries.len()
        ));
    }
    assert_eq!(whole.len() as u64, read_bytes(&whole, false).unwrap().end);
    assert_snapshot!(told.join("\n"), @r#"
    whole: 2 entries; -
    torn: 1 entries; line 3, 72 bytes: it has no line end
    torn, LF: 1 entries; line 3, 73 bytes: EOF while parsing a string at column 72
    torn, LF, LF: 1 entries; line 3, 74 bytes: EOF while parsing a string at column 72
    torn, CRLF: 1 entries; line 3, 74 bytes: EOF while parsing a string at column 72
    valid without LF: 1 entries; line 3, 143 bytes: it has no line end
    valid, CRLF: 2 entries; -
    LF: 1 entries; -
    CRLF, spaces, LF: 1 entries; -
    spaces: 1 entries; line 3, 3 bytes: it has no line end
    NULs: 1 entries; line 3, 4096 bytes: it has no line end
    NULs, LF: 1 entries; line 3, 4097 bytes: it is no JSON object
    valid, NULs: 2 entries; line 4, 64 bytes: it has no line end
    cut in a character: 1 entries; line 3, 138 bytes: it has no line end
    "#);
}

#[test]
fn br_109_a_bad_line_in_the_middle_is_named_and_nothing_behind_it_is_read() {
    let mut lines = segment(4);
    lines[2] = b"{\"type\":\"user\",\"id\":\xe6\x97\n".to_vec();
    let bytes = lines.concat();
    assert_snapshot!(read_bytes(&bytes, false).unwrap_err(), @"/s/0001.jsonl: line 3 (byte 306) cannot be read: incomplete utf-8 byte sequence from index 20; `--salvage` opens the session up to this line and leaves the file as it is");
    let contents = read_bytes(&bytes, true).unwrap();
    assert_eq!(contents.entries.len(), 1);
    assert_eq!(contents.end, (lines[0].len() + lines[1].len()) as u64);
    assert_eq!(contents.torn, None);
    let damage = contents.damage.unwrap();
    assert_eq!((damage.line, damage.offset), (3, contents.end));
    // Blank lines behind it do not make it the end.
    lines.insert(3, b"\n\r\n".to_vec());
    assert_eq!(
        read_bytes(&lines.concat(), true).unwrap().damage,
        Some(damage)
    );
}

#[test]
fn br_105_a_record_that_was_glued_to_half_of_another_is_no_record() {
    let lines = segment(3);
    let glued = [&lines[2][..20], &lines[2]].concat();
    let bytes = [lines[0].as_slice(), &lines[1], &glued, &lines[3]].concat();
    assert_snapshot!(read_bytes(&bytes, false).unwrap_err(), @"/s/0001.jsonl: line 3 (byte 306) cannot be read: invalid type: map, expected a formatted UUID string at column 20; `--salvage` opens the session up to this line and leaves the file as it is");
}

#[test]
fn unknown_lines_are_counted_and_belong_to_what_is_committed() {
    let mut lines = segment(2);
    let mark = b"{\"type\":\"mark\",\"note\":1}\n".to_vec();
    lines.insert(1, mark.clone());
    lines.push(mark);
    let bytes = lines.concat();
    let contents = read_bytes(&bytes, false).unwrap();
    assert_eq!(contents.unknown_lines, 2);
    assert_eq!(contents.entries.len(), 2);
    assert_eq!(contents.end, bytes.len() as u64);
    assert_eq!(contents.entries[0].line, 3);
}

#[test]
fn places_are_those_of_the_file() {
    let lines = segment(3);
    let bytes = lines.concat();
    let index = |number: u64| usize::try_from(number).unwrap();
    for located in read_bytes(&bytes, false).unwrap().entries {
        let place = index(located.begin)..index(located.end);
        assert_eq!(bytes[place], lines[index(located.line) - 1]);
    }
}

#[test]
fn raw_lines_are_the_committed_ones_as_they_stand() {
    let lines = segment(3);
    let disk = MemoryDisk::new();
    let mark = b"{\"type\":\"mark\"}\r\n".to_vec();
    let bytes = [lines[0].as_slice(), &lines[1], &mark, &lines[2], b"{\"to"].concat();
    put(&disk, path(), &bytes);
    let end = read(&disk, path(), false).unwrap().end;
    let raw: Result<Vec<_>, _> = raw_lines(&disk, path(), end).unwrap().collect();
    assert_eq!(raw.unwrap(), [lines[1].clone(), mark, lines[2].clone()]);
}

#[test]
fn a_line_over_the_limit_is_passed_without_being_kept() {
    let text = [b"12345678\n".as_slice(), b"1234567\n", b"12345", b""].concat();
    // Small buffers, so that the end of a line falls on each side of a border.
    for capacity in 1..12 {
        let mut file = BufReader::with_capacity(capacity, text.as_slice());
        let mut buffer = Vec::new();
        let mut read = Vec::new();
        loop {
            let line = read_line(&mut file, &mut buffer, 8).unwrap();
            if line.length == 0 {
                break;
            }
            assert!(buffer.len() <= 8);
            read.push((line.length, line.has_end));
        }
        assert_eq!(read, [(9, true), (8, true), (5, false)], "{capacity}");
    }
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_is_an_error() {
    use crate::testing::faulty_disk::EIO;
    use crate::testing::{Fault, FaultyDisk, Operation};
    let inner = MemoryDisk::new();
    let store = store_on(inner.clone());
    write_session(&store, sixty_items());
    let info = crate::testing::only_session(&store);
    let disk = FaultyDisk::new(std::sync::Arc::new(inner));
    disk.fail_next(Operation::Read, Fault::Fail(EIO));
    let error = read(&disk, &info.newest_segment(), true).unwrap_err();
    assert_snapshot!(error, @"cannot read /pod/sessions/work-1f92008dc8753ba3/00000000-0000-7000-8000-000000000001/0001.jsonl: Input/output error (os error 5)");
    read(&disk, &info.newest_segment(), true).unwrap();
}

/// The page about the format shows a segment that is one.
#[test]
fn the_example_in_the_documentation_is_a_segment() {
    let page = include_str!("../../../../docs/session-log.md");
    let (_, rest) = page.split_once("```jsonl\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let contents = read_bytes(example.as_bytes(), false).unwrap();
    assert_eq!(contents.torn, None);
    let lines: Vec<&str> = example.lines().collect();
    assert_eq!(contents.entries.len(), lines.len() - 1);
    let header = serde_json::to_string(&contents.header).unwrap();
    assert_eq!(header, lines[0]);
    for (located, line) in contents.entries.iter().zip(&lines[1..]) {
        let written = crate::session::entry::encode(&located.entry).unwrap();
        assert_eq!(String::from_utf8(written).unwrap().trim_end(), *line);
    }
    let tasks = crate::testing::tasks_of(contents.entries.iter().map(|it| &it.entry));
    assert_eq!(tasks.len(), 1);
}

/// Ids need not rise: a clock may have been wrong.
#[test]
fn an_id_is_found_again_wherever_it_stands() {
    let id = |number: u64| Uuid::from_u64_pair(number, 0);
    let mut ids = Ids::default();
    for (line, number) in (1..).zip([5, 3, 9, 4, 7]) {
        assert_eq!(ids.insert(id(number), line), None, "{number}");
    }
    for (line, number) in (1..).zip([5, 3, 9, 4, 7]) {
        assert_eq!(ids.insert(id(number), 100), Some(line), "{number}");
    }
}
