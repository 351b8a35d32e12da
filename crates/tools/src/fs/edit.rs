//! The tool that replaces text in a file.

use std::io::Read as _;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};
use similar::DiffTag;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;

use super::blocking::{Stop, blocking};
use super::matching::{self, Mismatch, Replaced};
use super::{Scope, file};
use crate::arguments::{Accepted, Arguments};
use crate::{Call, Effect, Tool, ToolError, ToolOutput, Tracker, bounded};

const FIELDS: Accepted = &[
    &["file_path", "path"],
    &["old_string"],
    &["new_string"],
    &["replace_all"],
];

/// The largest file that is edited, in bytes. It is held in memory, as is its successor.
const SIZE_LIMIT: u64 = 32 * 1024 * 1024;

/// The most bytes of the diff in a result. The model knows what it asked for; the diff is to show it
/// where that went.
const DIFF_LIMIT: usize = 10_000;

/// The lines that a hunk shows before and behind what has changed.
const CONTEXT: usize = 3;

/// How long the diff may be searched for. After that a coarser one is good enough.
const DIFF_TIME: Duration = Duration::from_millis(200);

/// Replaces text in a file that the session has seen as it is now. `matching` says how line breaks
/// are treated.
#[derive(Clone, Debug)]
pub struct Edit {
    scope: Scope,
    tracker: Tracker,
}

impl Edit {
    /// The tool for this scope.
    pub fn new(scope: Scope, tracker: Tracker) -> Self {
        Self { scope, tracker }
    }

    fn edit(&self, wanted: &Wanted, stop: &Stop) -> Result<ToolOutput, ToolError> {
        let path = self.scope.resolve(&wanted.file_path)?;
        let shown = self.scope.short(&path);
        let opened = file::open(&self.scope, &path)?;
        if opened.metadata.len() > SIZE_LIMIT {
            let size = opened.metadata.len();
            let message =
                format!("{shown} has {size} bytes, more than Edit takes ({SIZE_LIMIT}); use Bash");
            return Err(ToolError::new(message));
        }
        let mut content = Vec::new();
        let mut reader = opened.file.take(SIZE_LIMIT);
        reader
            .read_to_end(&mut content)
            .map_err(|error| file::cannot("read", &self.scope, &path, &error))?;
        let now = self.tracker.fingerprint(&content);
        file::check_seen(&self.scope, &self.tracker, &path, now)?;

        let replaced = wanted
            .replace(&content)
            .map_err(|mismatch| explained(&mismatch, &shown))?;
        stop.check()?;
        file::replace(&path, &replaced.content)
            .map_err(|error| file::cannot("write", &self.scope, &path, &error))?;
        let new = self.tracker.fingerprint(&replaced.content);
        self.tracker.record(&path, new);

        let plural = if replaced.count == 1 { "" } else { "s" };
        let summary = format!("Edited {shown}: {} replacement{plural}", replaced.count);
        let diff = bounded::middle_out(&diff(&content, &replaced.content), DIFF_LIMIT);
        let content = format!("{summary}\n{diff}");
        Ok(ToolOutput::summary(summary)
            .with_content(content)
            .with_value(json!({
                "file_path": path.to_string_lossy(),
                "replacements": replaced.count,
            })))
    }
}

/// What a call asks for.
struct Wanted {
    file_path: String,
    old: String,
    new: String,
    all: bool,
}

impl Wanted {
    fn new(arguments: &Value) -> Result<Self, ToolError> {
        let mut arguments = Arguments::new(arguments, FIELDS)?;
        Ok(Self {
            file_path: arguments.text("file_path")?,
            old: arguments.text("old_string")?,
            new: arguments.text("new_string")?,
            all: arguments.flag("replace_all")?,
        })
    }

    fn check(self) -> Result<Self, ToolError> {
        if self.old.is_empty() {
            let message = "old_string is empty; to make a file or replace all of it, use Write";
            return Err(ToolError::new(message));
        }
        if self.old == self.new {
            let message = "old_string and new_string are the same; nothing would change";
            return Err(ToolError::new(message));
        }
        Ok(self)
    }

    fn replace(&self, content: &[u8]) -> Result<Replaced, Mismatch> {
        matching::replace(content, &self.old, &self.new, self.all)
    }
}

/// The mismatch as an error that says what to do.
fn explained(mismatch: &Mismatch, shown: &str) -> ToolError {
    ToolError::new(match mismatch {
        Mismatch::Missing { hint: Some(hint) } => {
            format!("old_string was not found in {shown}. {hint}")
        }
        Mismatch::Missing { hint: None } => {
            format!("old_string was not found in {shown}; Read it to see what it has")
        }
        Mismatch::Ambiguous { count, lines } => {
            let more = if lines.len() < *count { ", ..." } else { "" };
            let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
            let lines = lines.join(", ");
            format!(
                "old_string is in {shown} {count} times (lines {lines}{more}); give more of the text around it, or set replace_all"
            )
        }
    })
}

/// The changes as hunks of a unified diff. Line breaks are shown as line feeds, as by Read.
fn diff(old: &[u8], new: &[u8]) -> String {
    let text = |content| String::from_utf8_lossy(content).replace("\r\n", "\n");
    let (old, new) = (text(old), text(new));
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    // Not by `TextDiff`, which brings every algorithm of the crate into the program: half a megabyte.
    let mut found = Compact::new(Replace::new(Capture::new()), &*old, &*new);
    let until = Some(Instant::now() + DIFF_TIME);
    let Ok(()) = myers::diff_deadline(&mut found, &*old, 0..old.len(), &*new, 0..new.len(), until);
    let mut hunks = String::new();
    for hunk in found.into_inner().into_inner().into_grouped_ops(CONTEXT) {
        hunks.push_str(&UnifiedHunkHeader::new(&hunk).to_string());
        hunks.push('\n');
        for change in &hunk {
            let (tag, before, after) = change.as_tag_tuple();
            if tag == DiffTag::Equal {
                push_lines(&mut hunks, ' ', old.get(before));
            } else {
                push_lines(&mut hunks, '-', old.get(before));
                push_lines(&mut hunks, '+', new.get(after));
            }
        }
    }
    hunks
}

fn push_lines(hunks: &mut String, sign: char, lines: Option<&[&str]>) {
    for line in lines.unwrap_or_default() {
        hunks.push(sign);
        hunks.push_str(line);
        if !line.ends_with('\n') {
            hunks.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[async_trait]
impl Tool for Edit {
    fn name(&self) -> &'static str {
        "Edit"
    }

    fn description(&self) -> &'static str {
        include_str!("edit.md").trim_ascii_end()
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "old_string": {"type": "string"},
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean"},
            },
            "required": ["file_path", "old_string", "new_string"],
            "additionalProperties": false,
        })
    }

    fn effect(&self) -> Effect {
        Effect::Edit
    }

    fn target(&self, arguments: &Value) -> Option<String> {
        Some(Wanted::new(arguments).ok()?.file_path)
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let wanted = Wanted::new(call.arguments)?.check()?;
        let tool = self.clone();
        blocking(move |stop| tool.edit(&wanted, stop)).await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::fs::Read;
    use crate::fs::testing::{Space, as_seen, call, read_by_model, said, whole};

    fn tool(space: &Space) -> Edit {
        Edit::new(space.scope.clone(), space.tracker.clone())
    }

    async fn edit(
        space: &Space,
        name: &str,
        old: &str,
        new: &str,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = json!({"file_path": name, "old_string": old, "new_string": new});
        call(&tool(space), arguments).await
    }

    async fn seen(space: &Space, name: &str, content: impl AsRef<[u8]>) {
        space.file(name, content);
        let read = Read::new(space.scope.clone(), space.tracker.clone());
        call(&read, json!({"file_path": name, "limit": 1}))
            .await
            .unwrap();
    }

    #[test]
    fn as_the_model_sees_it() {
        insta::assert_json_snapshot!(as_seen(&tool(&Space::new())));
    }

    #[tokio::test]
    async fn results() {
        let space = Space::new();
        let numbers: Vec<_> = (1..=30).map(|number| format!("line {number}")).collect();
        let numbers = numbers.join("\n") + "\n";
        seen(&space, "a.txt", &numbers).await;
        let mut text = String::new();
        for (old, new) in [
            ("line 15\n", "line fifteen\nand more\n"),
            ("line 1\n", ""),
            ("line 30\n", "the end, without a line break"),
        ] {
            let result = edit(&space, "a.txt", old, new).await;
            text = format!("{text}{}\n", space.clean(&whole(result)));
        }
        let all = json!({"path": "a.txt", "old_string": "line 2", "new_string": "二", "replace_all": "true"});
        text += &space.clean(&whole(call(&tool(&space), all).await));
        insta::assert_snapshot!(text);
        assert!(space.content("a.txt").starts_with("二\nline 3\n"));
    }

    #[tokio::test]
    async fn a_file_keeps_its_line_breaks_and_its_mark() {
        let space = Space::new();
        seen(&space, "dos", "\u{FEFF}one\r\ntwo\r\nthree\r\n").await;
        let result = edit(&space, "dos", "one\ntwo\n", "1\n2\n").await;
        assert_eq!(space.content("dos"), "\u{FEFF}1\r\n2\r\nthree\r\n");
        assert!(!read_by_model(result).contains('\r'));
    }

    #[tokio::test]
    async fn errors() {
        let space = Space::new();
        seen(&space, "a", "one\n  two\ntwo\nthree\n").await;
        space.file("unread", "x");
        seen(&space, "changed", "x").await;
        fs::write(space.path("changed"), "y").unwrap();
        symlink(space.outside("x"), space.path("escape")).unwrap();
        let mut text = String::new();
        for (name, old, new) in [
            ("a", "two", "2"),
            ("a", "one\ntwo\n", "1"),
            ("a", "1\tone", "1"),
            ("a", "one\nthree", "1"),
            ("a", "four", "4"),
            ("a", "", "4"),
            ("a", "one", "one"),
            ("unread", "x", "y"),
            ("changed", "y", "z"),
            ("no", "x", "y"),
            (".", "x", "y"),
            ("escape", "x", "y"),
        ] {
            text += &space.clean(&said(edit(&space, name, old, new).await));
        }
        text += &said(call(&tool(&space), json!({"path": "a", "old_string": "one"})).await);
        insta::assert_snapshot!(text);
        assert!(text.lines().all(|line| line.len() < 300));
        assert_eq!(space.content("a"), "one\n  two\ntwo\nthree\n");
    }

    #[tokio::test]
    async fn an_edit_can_follow_an_edit_but_not_a_change() {
        let space = Space::new();
        seen(&space, "a", "one two").await;
        edit(&space, "a", "one", "1").await.unwrap();
        edit(&space, "a", "two", "2").await.unwrap();
        assert_eq!(space.content("a"), "1 2");
        fs::write(space.path("a"), "1 2 3").unwrap();
        assert!(edit(&space, "a", "1", "one").await.is_err());
        assert_eq!(space.content("a"), "1 2 3");
    }

    #[tokio::test]
    async fn a_link_stays_a_link() {
        let space = Space::new();
        seen(&space, "real", "old").await;
        symlink("real", space.path("link")).unwrap();
        edit(&space, "link", "old", "new").await.unwrap();
        assert_eq!(space.content("real"), "new");
        assert!(
            fs::symlink_metadata(space.path("link"))
                .unwrap()
                .is_symlink()
        );
    }

    #[tokio::test]
    async fn a_diff_is_bounded() {
        let space = Space::new();
        seen(
            &space,
            "wide",
            format!("{}!{}", "日".repeat(1_000_000), "本".repeat(1_000_000)),
        )
        .await;
        let text = read_by_model(edit(&space, "wide", "!", "?").await);
        assert!(text.len() < DIFF_LIMIT + 200, "{}", text.len());
        assert!(text.contains("bytes left out"));
    }

    #[tokio::test]
    async fn a_stopped_edit_changes_nothing() {
        let space = Space::new();
        seen(&space, "a", "old").await;
        let arguments = json!({"path": "a", "old_string": "old", "new_string": "new"});
        let wanted = Wanted::new(&arguments).unwrap();
        assert!(tool(&space).edit(&wanted, &Stop::set()).is_err());
        assert_eq!(space.content("a"), "old");
    }

    #[tokio::test]
    async fn a_huge_file_is_refused() {
        let space = Space::new();
        let path = space.file("huge", "");
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(SIZE_LIMIT + 1)
            .unwrap();
        insta::assert_snapshot!(
            said(edit(&space, "huge", "a", "b").await),
            @"huge has 33554433 bytes, more than Edit takes (33554432); use Bash"
        );
    }
}
