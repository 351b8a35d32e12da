//! Every kind of damage that a log can have, made on a real session: `pod verify` names the file, the
//! line and the byte, and `--salvage` goes on without writing over anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::World;

/// A session of two segments: four tasks, a compaction, and something behind it.
const SCRIPT: &str = r#"
window: 30000
assistant: Three steps.
  > TaskCreate {"subject":"lexer — 字句","description":"Tokens."}
  > TaskCreate {"subject":"parser","description":"A tree."}
  > TaskCreate {"subject":"printer","description":"Text."}
  > Read {"file_path":"grammar.txt"}
assistant:
  > TaskUpdate {"taskid":1,"status":"completed"}
  > TaskList {}
assistant: The lexer stands.
assistant:
  > TaskUpdate {"taskid":2,"status":"inprogress"}
  > TaskGet {"taskid":2}
assistant: The parser is under way.
assistant: On it goes.
lane: write_summary
assistant:
  > write_summary {"text":"The lexer stands, the parser comes next."}
"#;

const MODEL: &str = "scripted:script.txt";

struct Session {
    world: World,
    directory: PathBuf,
}

impl Session {
    fn new() -> Self {
        let world = World::new();
        world.write("script.txt", SCRIPT);
        world.write("grammar.txt", &"rule = token token\n".repeat(1_000));
        let _ = world.pod(&["-p", "plan", "--model", MODEL]).success();
        let _ = world.pod(&["compact", "--model", MODEL]).success();
        let _ = world
            .pod(&["--continue", "-p", "go on", "--model", MODEL])
            .success();
        let directory = world.session();
        assert!(directory.join("0002.jsonl").exists());
        Self { world, directory }
    }

    fn lines(&self, segment: &str) -> Vec<Vec<u8>> {
        let bytes = std::fs::read(self.directory.join(segment)).unwrap();
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    }

    /// The files of the session, but for the lock.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(&self.directory).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let files = paths.map(|path| (name(&path), std::fs::read(&path).unwrap()));
        files.filter(|(name, _)| name != "lock").collect()
    }
}

/// The line of a segment that has a text.
fn line_with(lines: &[Vec<u8>], text: &str) -> usize {
    let has = |line: &Vec<u8>| String::from_utf8_lossy(line).contains(text);
    lines.iter().position(has).unwrap()
}

fn replace(line: &mut Vec<u8>, from: &str, to: &str) {
    let text = String::from_utf8(line.clone()).unwrap();
    assert!(text.contains(from), "{from}: {text}");
    *line = text.replacen(from, to, 1).into_bytes();
}

/// Finds a line of a segment, by its index.
type Place = fn(&[Vec<u8>]) -> usize;

/// What a kind of damage does to the lines of a segment.
type Harm = Box<dyn Fn(&mut Vec<Vec<u8>>)>;

struct Case {
    name: &'static str,
    segment: &'static str,
    harm: Harm,
    /// Where it is told, as a line; `None` if it is no damage that must be told as a fault.
    told_at: Option<Place>,
    /// Whether it must be passed over with `--salvage`.
    needs_salvage: bool,
}

fn case(
    name: &'static str,
    segment: &'static str,
    told_at: Option<Place>,
    needs_salvage: bool,
    harm: impl Fn(&mut Vec<Vec<u8>>) + 'static,
) -> Case {
    let harm = Box::new(harm);
    Case {
        name,
        segment,
        harm,
        told_at,
        needs_salvage,
    }
}

/// The call of `TaskGet` in the newest segment stands in the middle of it.
fn get(lines: &[Vec<u8>]) -> usize {
    line_with(lines, "\"name\":\"TaskGet\"")
}

fn after_get(lines: &[Vec<u8>]) -> usize {
    get(lines) + 1
}

fn first(_: &[Vec<u8>]) -> usize {
    0
}

fn snapshot(lines: &[Vec<u8>]) -> usize {
    line_with(lines, "task_snapshot")
}

fn cases() -> Vec<Case> {
    vec![
        case("a torn end", "0002.jsonl", None, false, |lines| {
            lines.last_mut().unwrap().truncate(30);
        }),
        case(
            "a last line without its end",
            "0002.jsonl",
            None,
            false,
            |lines| {
                lines.last_mut().unwrap().pop();
            },
        ),
        case("NULs behind the end", "0002.jsonl", None, false, |lines| {
            lines.push(vec![0; 64]);
        }),
        case(
            "a torn end and empty lines",
            "0002.jsonl",
            None,
            false,
            |lines| {
                lines.last_mut().unwrap().truncate(30);
                lines.push(b"\n\r\n\n".to_vec());
            },
        ),
        case(
            "a byte that is no text",
            "0002.jsonl",
            Some(get),
            true,
            |lines| {
                let line = get(lines);
                lines[line][40] = 0xff;
            },
        ),
        case(
            "a bit flipped in a key",
            "0002.jsonl",
            Some(get),
            true,
            |lines| {
                let line = get(lines);
                lines[line][1] ^= 1;
            },
        ),
        case(
            "a line cut, the next one glued to it",
            "0002.jsonl",
            Some(get),
            true,
            |lines| {
                let line = get(lines);
                lines[line].truncate(60);
            },
        ),
        case(
            "a line cut in a character",
            "0002.jsonl",
            Some(snapshot),
            true,
            |lines| {
                let line = snapshot(lines);
                let cut = lines[line].iter().position(|byte| *byte > 0x7f).unwrap() + 1;
                lines[line].truncate(cut);
                lines[line].push(b'\n');
            },
        ),
        case("a sector of NULs", "0002.jsonl", Some(get), true, |lines| {
            let line = get(lines);
            lines[line].fill(0);
        }),
        case(
            "a line of something else",
            "0002.jsonl",
            Some(after_get),
            true,
            |lines| {
                let place = after_get(lines);
                lines.insert(place, b"<<<<<<< HEAD\n".to_vec());
            },
        ),
        case(
            "a line that is longer than may be",
            "0002.jsonl",
            Some(after_get),
            true,
            |lines| {
                let place = after_get(lines);
                let mut long = vec![b'x'; 65 * 1024 * 1024];
                long.push(b'\n');
                lines.insert(place, long);
            },
        ),
        case(
            "a line is missing",
            "0002.jsonl",
            Some(after_get),
            true,
            |lines| {
                let place = after_get(lines);
                lines.remove(place);
            },
        ),
        case(
            "two lines in another order",
            "0002.jsonl",
            Some(after_get),
            true,
            |lines| {
                let place = after_get(lines);
                lines.swap(place, place + 1);
            },
        ),
        case(
            "a line twice",
            "0002.jsonl",
            Some(after_get),
            true,
            |lines| {
                let line = lines[get(lines)].clone();
                let place = after_get(lines);
                lines.insert(place, line);
            },
        ),
        case(
            "the snapshot was edited",
            "0002.jsonl",
            Some(snapshot),
            false,
            |lines| {
                let line = snapshot(lines);
                replace(
                    &mut lines[line],
                    "\"subject\":\"printer\"",
                    "\"subject\":\"Printer\"",
                );
            },
        ),
        case(
            "an older segment was edited",
            "0001.jsonl",
            Some(first_result),
            false,
            |lines| {
                let line = first_result(lines);
                replace(
                    &mut lines[line],
                    "\"subject\":\"parser\"",
                    "\"subject\":\"Parser\"",
                );
            },
        ),
        case(
            "an older segment has a bad line",
            "0001.jsonl",
            Some(first_result),
            false,
            |lines| {
                let line = first_result(lines);
                lines[line].truncate(20);
                lines[line].push(b'\n');
            },
        ),
        case(
            "the file is empty",
            "0002.jsonl",
            Some(first),
            true,
            Vec::clear,
        ),
        case(
            "the header is gone",
            "0002.jsonl",
            Some(first),
            true,
            |lines| drop(lines.remove(0)),
        ),
        case(
            "the header is cut",
            "0002.jsonl",
            Some(first),
            true,
            |lines| lines[0].truncate(40),
        ),
        case(
            "the header names another session",
            "0002.jsonl",
            Some(first),
            false,
            |lines| {
                let header: Value = serde_json::from_slice(&lines[0]).unwrap();
                let id = header["session"].as_str().unwrap().to_owned();
                replace(&mut lines[0], &id, "01a00000-0000-7000-8000-000000000000");
            },
        ),
        case(
            "the header names another segment",
            "0002.jsonl",
            Some(first),
            false,
            |lines| {
                replace(&mut lines[0], "\"segment\":2", "\"segment\":7");
            },
        ),
        case(
            "a header of the future",
            "0002.jsonl",
            Some(first),
            true,
            |lines| {
                replace(&mut lines[0], "\"version\":1", "\"version\":9");
            },
        ),
        case(
            "the newest segment is no log",
            "0002.jsonl",
            Some(first),
            true,
            |lines| {
                *lines = vec![b"\x7fELF\x02\x01\x01".to_vec()];
            },
        ),
    ]
}

/// The result of the second `TaskCreate` of the first segment.
fn first_result(lines: &[Vec<u8>]) -> usize {
    let is_it = |line: &Vec<u8>| {
        let text = String::from_utf8_lossy(line);
        text.contains("\"tool_result\"") && text.contains("#2 [pending] parser")
    };
    lines.iter().position(is_it).unwrap()
}

/// The text without numbers of three digits or more, which differ with the time and the path.
fn without_sizes(text: &str) -> String {
    let mut steady = String::new();
    let mut digits = String::new();
    for character in text.chars().chain(['\n']) {
        if character.is_ascii_digit() {
            digits.push(character);
            continue;
        }
        steady += if digits.len() > 2 { "N" } else { &digits };
        digits.clear();
        steady.push(character);
    }
    steady.trim_end().to_owned()
}

#[test]
fn br_065_br_109_every_damage_is_named_by_file_line_and_byte_and_salvage_keeps_it() {
    let mut table = Vec::new();
    let fresh = Session::new();
    let whole = fresh.files();
    assert_eq!(fresh.world.pod(&["verify"]).code, Some(0));
    for case in cases() {
        let name = case.name;
        for (file, bytes) in &whole {
            std::fs::write(fresh.directory.join(file), bytes).unwrap();
        }
        let before = fresh.lines(case.segment);
        let mut lines = before.clone();
        (case.harm)(&mut lines);
        std::fs::write(fresh.directory.join(case.segment), lines.concat()).unwrap();
        let damaged = fresh.files();

        // Told with its place, and looking changes nothing.
        let ran = fresh.world.pod(&["verify"]);
        assert_eq!(fresh.files(), damaged, "{name}");
        let wanted = i32::from(case.told_at.is_some());
        assert_eq!(ran.code, Some(wanted), "{name}: {}", ran.stdout);
        let kind = if wanted == 1 { "FAULT" } else { "note" };
        // The findings stand below the name of their file.
        let (_, of_file) = ran.stdout.split_once(case.segment).unwrap();
        let of_file = of_file
            .lines()
            .skip(1)
            .take_while(|line| line.starts_with("  "));
        let found = of_file.filter(|line| line.trim_start().starts_with(kind));
        let found: Vec<&str> = found.collect();
        if let Some(told_at) = case.told_at {
            let line = told_at(&before);
            // Where the harmed line begins, by the file as it was: damage changes nothing before it.
            let byte: usize = before.iter().take(line).map(Vec::len).sum();
            let place = format!("line {} (byte {byte})", line + 1);
            let is_first = found
                .first()
                .is_some_and(|finding| finding.contains(&place));
            assert!(is_first, "{name}: {place}: {}", ran.stdout);
        } else {
            assert!(!found.is_empty(), "{name}: {}", ran.stdout);
        }
        let told = found.first().unwrap().trim();
        let told = without_sizes(&fresh.world.steady(told));
        table.push(format!("{name}:\n  {told}"));

        // Listing never needs to read it all.
        let _ = fresh.world.pod(&["sessions"]).success();

        // Without the flag it opens, or says what to do; nothing is changed then.
        let go_on = ["--continue", "-p", "go on", "--model", MODEL];
        if case.needs_salvage {
            let ran = fresh.world.pod(&go_on);
            assert_eq!(ran.code, Some(1), "{name}");
            assert_eq!(ran.stderr.lines().count(), 1, "{name}: {}", ran.stderr);
            let says = ran.stderr.contains("--salvage") || ran.stderr.contains("update pod");
            assert!(says, "{name}: {}", ran.stderr);
            assert_eq!(fresh.files(), damaged, "{name}");
        }

        // With it, every byte that was there is there, under the name that it had, but for an
        // unfinished end, which has a file of its own.
        let ran = fresh.world.pod(&[&go_on[..], &["--salvage"]].concat());
        let after = fresh.files();
        for (file, bytes) in &damaged {
            let kept = &after[file];
            let torn = after.get(&file.replace(".jsonl", ".torn"));
            let is_kept = kept.starts_with(bytes)
                || torn.is_some_and(|torn| {
                    bytes.ends_with(torn) && kept.starts_with(&bytes[..bytes.len() - torn.len()])
                });
            assert!(is_kept, "{name}: {file} was overwritten");
            if case.needs_salvage {
                assert_eq!(kept, bytes, "{name}: {file}");
            }
        }
        if name == "a header of the future" {
            // It is no damage: an older version must keep its hands off.
            assert_eq!(ran.code, Some(1), "{name}");
        } else if case.needs_salvage {
            assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
            assert!(after.contains_key("0003.jsonl"), "{name}");
        }
        for file in ["0003.jsonl", "0002.torn", "0001.torn"] {
            let _ = std::fs::remove_file(fresh.directory.join(file));
        }
    }
    insta::assert_snapshot!(table.join("\n"));
}
