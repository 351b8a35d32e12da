//! The log of a session for a session store of the program (`--session-mirror`), and back.
//!
//! The store takes what Pod writes, and gives it back on another machine as a file below
//! `CLAUDE_CONFIG_DIR`. It holds two kinds of entries: the lines of Pod's log as they are, from which
//! a session goes on, and the messages in the form of Claude Code's transcripts, for the functions of
//! the SDKs that list sessions and show their messages.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use llm::{Item, UserPart};
use pod::SessionStore;
use pod::session::{Disk, Entry};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::message::{self, PROTOCOL_VERSION};

/// The most bytes of the log in one entry. As a string in JSON it is at the most twice as long, so
/// that the line of an entry stays below what the SDKs read.
const LONGEST_PIECE: usize = 200_000;

/// The type of the entries that hold lines of Pod's log.
const LOG: &str = "pod-log";

/// A piece of the log in a store: bytes of a segment, in order. A store may repeat or reorder entries.
#[derive(Serialize, Deserialize)]
struct Piece {
    #[serde(rename = "type")]
    kind: String,
    segment: u32,
    offset: u64,
    text: String,
}

/// Tells of a session's log what a store does not have yet.
pub(super) struct Mirror {
    session: Uuid,
    /// The directory of the segments.
    segments: PathBuf,
    directory: PathBuf,
    /// The file that the SDKs take the name of the session from.
    file: String,
    segment: u32,
    offset: u64,
    /// Messages that are not told yet.
    messages: Vec<Value>,
    parent: Option<Uuid>,
}

impl Mirror {
    /// A mirror of the session whose segments are in this directory. What a store had when the session
    /// was taken from there (`known`) is not told again.
    pub(super) fn new(
        session: Uuid,
        segments: &Path,
        segment: u32,
        directory: &Path,
        known: Option<Extent>,
    ) -> Self {
        let known = known.filter(|known| known.segment == segment);
        Self {
            session,
            segments: segments.to_owned(),
            directory: directory.to_owned(),
            file: transcript_path(session, directory)
                .to_string_lossy()
                .into_owned(),
            segment,
            offset: known.map_or(0, |known| known.length),
            messages: Vec::new(),
            parent: None,
        }
    }

    /// Takes note of an entry.
    pub(super) fn note(&mut self, entry: &Entry) {
        if entry.carried {
            return;
        }
        let mut lines = message::of_entry(self.session, entry);
        if let Item::User(user) = &*entry.item {
            let content: Vec<Value> = user.content.iter().map(part).collect();
            lines.push(json!({
                "type": "user",
                "uuid": entry.id,
                "message": {"role": "user", "content": content},
            }));
        }
        for mut line in lines {
            let result = line["tool_use_result"].take();
            let message = line["message"].take();
            let id: Option<Uuid> = line["uuid"].as_str().and_then(|id| id.parse().ok());
            let mut told = json!({
                "type": line["type"],
                "uuid": id,
                "parentUuid": self.parent,
                "sessionId": self.session,
                "timestamp": entry.at.to_string(),
                "cwd": self.directory,
                "version": PROTOCOL_VERSION,
                "isSidechain": false,
                "userType": "external",
                "message": message,
            });
            if !result.is_null() {
                told["toolUseResult"] = result;
            }
            self.parent = id;
            self.messages.push(told);
        }
    }

    /// The lines that bring a store up to date.
    pub(super) fn new_lines(&mut self) -> io::Result<Vec<Value>> {
        let mut frames = Vec::new();
        loop {
            self.new_pieces(&mut frames)?;
            let next = self.segments.join(segment_name(self.segment + 1));
            if !next.exists() {
                break;
            }
            self.segment += 1;
            self.offset = 0;
        }
        // One frame each: a long message is cut to fit its line, and must not take others with it.
        for message in self.messages.drain(..) {
            frames.push(frame(&self.file, &message));
        }
        Ok(frames)
    }

    /// What was added to the segment, whole lines only: the newline is the commit mark.
    fn new_pieces(&mut self, frames: &mut Vec<Value>) -> io::Result<()> {
        let mut file = File::open(self.segments.join(segment_name(self.segment)))?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(end.map_or(0, |end| end + 1));
        let mut text = String::from_utf8(bytes).map_err(io::Error::other)?;
        while !text.is_empty() {
            let rest = text.split_off(text.floor_char_boundary(LONGEST_PIECE));
            let length = text.len() as u64;
            let piece = Piece {
                kind: LOG.to_owned(),
                segment: self.segment,
                offset: self.offset,
                text,
            };
            frames.push(frame(&self.file, &json!(piece)));
            self.offset += length;
            text = rest;
        }
        Ok(())
    }
}

fn frame(file: &str, entry: &Value) -> Value {
    json!({"type": "transcript_mirror", "filePath": file, "entries": [entry]})
}

fn part(part: &UserPart) -> Value {
    match part {
        UserPart::Text(text) => json!({"type": "text", "text": text}),
        UserPart::Image(image) => json!({"type": "image", "source": {
            "type": "base64", "media_type": image.media_type, "data": image.data}}),
    }
}

fn segment_name(number: u32) -> String {
    format!("{number:04}.jsonl")
}

/// How far a store has a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    segment: u32,
    length: u64,
}

/// Brings a session to this machine that a store gave (as the SDKs do: as a file below
/// `CLAUDE_CONFIG_DIR`). What stands here already is not changed, only added to; where the two have
/// gone apart, that is an error.
pub(super) fn restore(
    store: &SessionStore,
    directory: &Path,
    id: &str,
) -> anyhow::Result<Option<Extent>> {
    let Ok(session) = id.parse::<Uuid>() else {
        return Ok(None);
    };
    if std::env::var_os("CLAUDE_CONFIG_DIR").is_none() {
        return Ok(None);
    }
    let path = transcript_path(session, directory);
    let Ok(file) = File::open(&path) else {
        return Ok(None);
    };
    let segments =
        segments_in(file).with_context(|| format!("{} cannot be used", path.display()))?;
    let here = match store.find(&session.to_string()) {
        Ok(info) => info.path,
        Err(_) => store.project(directory).join(session.to_string()),
    };
    let extent = segments.last_key_value().map(|(number, text)| Extent {
        segment: *number,
        length: text.len() as u64,
    });
    store.disk().create_directory(&here)?;
    for (number, text) in &segments {
        let path = here.join(segment_name(*number));
        add_what_is_missing(store.disk(), &path, text).with_context(|| {
            format!("the session {session} of the session store cannot be brought to this machine")
        })?;
    }
    Ok(extent)
}

/// The segments of Pod's log in a transcript that a store gave.
fn segments_in(file: impl io::Read) -> anyhow::Result<BTreeMap<u32, String>> {
    let mut pieces: BTreeMap<(u32, u64), String> = BTreeMap::new();
    for line in BufReader::new(file).lines() {
        let line = line?;
        // Cheaper than to read all that is told for others.
        if !line.contains(LOG) {
            continue;
        }
        if let Ok(piece) = serde_json::from_str::<Piece>(&line)
            && piece.kind == LOG
        {
            pieces.insert((piece.segment, piece.offset), piece.text);
        }
    }
    let mut segments: BTreeMap<u32, String> = BTreeMap::new();
    for ((segment, offset), text) in pieces {
        let whole = segments.entry(segment).or_default();
        anyhow::ensure!(
            whole.len() as u64 == offset,
            "the store has lost a part of segment {segment}, at byte {}",
            whole.len()
        );
        whole.push_str(&text);
    }
    Ok(segments)
}

/// Adds to a file what it lacks of a text. It is no error if it has more.
fn add_what_is_missing(disk: &dyn Disk, path: &Path, text: &str) -> anyhow::Result<()> {
    let mut here = Vec::new();
    match disk.open_read(path) {
        Ok(mut file) => {
            file.read_to_end(&mut here)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            disk.create_file(path)?;
        }
        Err(error) => return Err(error.into()),
    }
    let text = text.as_bytes();
    let common = here.len().min(text.len());
    anyhow::ensure!(
        here.get(..common) == text.get(..common),
        "{} is not what the store has; move one of the two out of the way",
        path.display()
    );
    let mut rest = text.get(common..).unwrap_or_default();
    if rest.is_empty() {
        return Ok(());
    }
    let mut file = disk.open_append(path)?;
    while !rest.is_empty() {
        let written = file.append(rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    file.sync()?;
    Ok(())
}

/// Where Claude Code would keep the transcript of a session. The SDKs take its name apart.
fn transcript_path(session: Uuid, directory: &Path) -> PathBuf {
    let root = match std::env::var_os("CLAUDE_CONFIG_DIR").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => dirs::home_dir().unwrap_or_default().join(".claude"),
    };
    root.join("projects")
        .join(project_key(&directory.to_string_lossy()))
        .join(format!("{session}.jsonl"))
}

/// The name of a directory's projects in a store, as the SDKs make it: letters and digits, and `-` for
/// all else; where it is long, its beginning and a hash of the whole.
fn project_key(directory: &str) -> String {
    const LONGEST: usize = 200;
    let key: String = directory
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() {
                character
            } else {
                '-'
            }
        })
        .collect();
    match key.get(..LONGEST) {
        Some(start) if key.len() > LONGEST => format!("{start}-{}", base36(hash(directory))),
        _ => key,
    }
}

/// The hash that a JavaScript program makes with `hash = (hash << 5) - hash + code | 0`.
fn hash(text: &str) -> u32 {
    let hash = text.chars().fold(0_i32, |hash, character| {
        let code = u32::from(character).cast_signed();
        hash.wrapping_shl(5).wrapping_sub(hash).wrapping_add(code)
    });
    hash.unsigned_abs()
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use pod::session::RealDisk;

    use super::*;

    #[test]
    fn project_keys_are_those_of_the_sdks() {
        assert_eq!(project_key("/srv/my app/日本"), "-srv-my-app---");
        // As `project_key_for_directory` of the Python SDK gives it.
        let long = format!("/{}", "a".repeat(250));
        assert_eq!(
            project_key(&long),
            format!("-{}-{}", "a".repeat(199), LONG_HASH)
        );
    }

    const LONG_HASH: &str = "feo44x";

    fn piece(segment: u32, offset: u64, text: &str) -> String {
        json!({"type": LOG, "segment": segment, "offset": offset, "text": text}).to_string() + "\n"
    }

    #[test]
    fn a_store_may_repeat_and_reorder() {
        let lines = [
            piece(1, 2, "b\n"),
            String::from("{\"type\":\"user\",\"message\":{\"content\":\"pod-log\"}}\n"),
            piece(2, 0, "c\n"),
            piece(1, 0, "a\n"),
            piece(1, 2, "b\n"),
        ];
        let segments = segments_in(lines.concat().as_bytes()).unwrap();
        assert_eq!(
            segments,
            BTreeMap::from([(1, "a\nb\n".to_owned()), (2, "c\n".to_owned())])
        );
        let gap = [piece(1, 0, "a\n"), piece(1, 4, "c\n")];
        assert!(segments_in(gap.concat().as_bytes()).is_err());
    }

    #[test]
    fn what_is_here_is_only_added_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0001.jsonl");
        let content = || std::fs::read_to_string(&path).unwrap();
        add_what_is_missing(&RealDisk, &path, "a\n").unwrap();
        add_what_is_missing(&RealDisk, &path, "a\nb\n").unwrap();
        assert_eq!(content(), "a\nb\n");
        add_what_is_missing(&RealDisk, &path, "a\n").unwrap();
        assert!(add_what_is_missing(&RealDisk, &path, "a\nc\n").is_err());
        assert_eq!(content(), "a\nb\n");
    }

    #[test]
    fn a_mirror_tells_whole_lines_and_follows_segments() {
        let home = tempfile::tempdir().unwrap();
        let path = |number| home.path().join(segment_name(number));
        std::fs::write(path(1), "header\nunfini").unwrap();
        let mut mirror = Mirror::new(Uuid::nil(), home.path(), 1, Path::new("/w"), None);
        let mut told = Vec::new();
        let mut look = |mirror: &mut Mirror| {
            for line in mirror.new_lines().unwrap() {
                assert_eq!(line["type"], "transcript_mirror");
                let name = line["filePath"].as_str().unwrap();
                assert!(name.ends_with("/projects/-w/00000000-0000-0000-0000-000000000000.jsonl"));
                told.push(line["entries"][0].to_string() + "\n");
            }
        };
        look(&mut mirror);
        let long = "日".repeat(LONGEST_PIECE);
        std::fs::write(path(1), format!("header\nunfinished\n{long}\n")).unwrap();
        look(&mut mirror);
        look(&mut mirror);
        std::fs::write(path(2), "second\n").unwrap();
        look(&mut mirror);
        let segments = segments_in(told.concat().as_bytes()).unwrap();
        assert_eq!(segments[&1], format!("header\nunfinished\n{long}\n"));
        assert_eq!(segments[&2], "second\n");
    }
}
