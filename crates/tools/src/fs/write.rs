//! The tool that writes a whole file.

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::blocking::{Stop, blocking};
use super::{Scope, file};
use crate::arguments::{Accepted, Arguments};
use crate::{Call, Effect, Tool, ToolError, ToolOutput, Tracker};

const FIELDS: Accepted = &[&["file_path", "path"], &["content"]];

/// Writes a whole file, new or in place of one that the session has seen as it is now.
///
/// The content is written as the model gave it: line breaks are not converted.
#[derive(Clone, Debug)]
pub struct Write {
    scope: Scope,
    tracker: Tracker,
}

impl Write {
    /// The tool for this scope.
    pub fn new(scope: Scope, tracker: Tracker) -> Self {
        Self { scope, tracker }
    }

    fn write(&self, wanted: &Wanted, stop: &Stop) -> Result<ToolOutput, ToolError> {
        let path = self.scope.resolve(&wanted.file_path)?;
        let content = wanted.content.as_bytes();
        let new = self.tracker.fingerprint(content);
        let failed = |error| file::cannot("write", &self.scope, &path, &error);

        let is_new = file::existing(&self.scope, &path)?.is_none();
        let done = if is_new {
            stop.check()?;
            file::create(&path, content).map_err(failed)?;
            "Created"
        } else {
            let mut opened = file::open(&self.scope, &path)?;
            let now = file::fingerprint(&self.tracker, &mut opened.file, stop).map_err(failed)?;
            file::check_seen(&self.scope, &self.tracker, &path, now)?;
            stop.check()?;
            if now == new {
                "Nothing to change in"
            } else {
                file::replace(&path, content).map_err(failed)?;
                "Replaced"
            }
        };
        self.tracker.record(&path, new);
        Ok(self.output(done, is_new, &path, &wanted.content))
    }

    fn output(&self, done: &str, is_new: bool, path: &Path, content: &str) -> ToolOutput {
        let lines = content.lines().count();
        let shown = self.scope.short(path);
        let plural = if lines == 1 { "" } else { "s" };
        let summary = format!(
            "{done} {shown}: {lines} line{plural}, {} bytes",
            content.len()
        );
        ToolOutput::summary(summary).with_value(json!({
            "type": if is_new { "create" } else { "update" },
            "file_path": path.to_string_lossy(),
            "bytes": content.len(),
        }))
    }
}

/// What a call asks for.
struct Wanted {
    file_path: String,
    content: String,
}

impl Wanted {
    fn new(arguments: &Value) -> Result<Self, ToolError> {
        let mut arguments = Arguments::new(arguments, FIELDS)?;
        Ok(Self {
            file_path: arguments.text("file_path")?,
            content: arguments.text("content")?,
        })
    }
}

#[async_trait]
impl Tool for Write {
    fn name(&self) -> &'static str {
        "Write"
    }

    fn description(&self) -> &'static str {
        include_str!("write.md").trim_ascii_end()
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "content": {"type": "string"},
            },
            "required": ["file_path", "content"],
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
        let wanted = Wanted::new(call.arguments)?;
        let tool = self.clone();
        blocking(move |stop| tool.write(&wanted, stop)).await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::fs::Read;
    use crate::fs::testing::{Space, as_seen, call, said, whole};

    fn tool(space: &Space) -> Write {
        Write::new(space.scope.clone(), space.tracker.clone())
    }

    async fn write(space: &Space, path: &str, content: &str) -> Result<ToolOutput, ToolError> {
        let arguments = json!({"file_path": path, "content": content});
        call(&tool(space), arguments).await
    }

    async fn read(space: &Space, path: &str) {
        let read = Read::new(space.scope.clone(), space.tracker.clone());
        call(&read, json!({"file_path": path})).await.unwrap();
    }

    #[test]
    fn as_the_model_sees_it() {
        insta::assert_json_snapshot!(as_seen(&tool(&Space::new())));
    }

    #[tokio::test]
    async fn results() {
        let space = Space::new();
        let mut text = String::new();
        for (path, content) in [
            ("new/dir/a.txt", "one\r\ntwo"),
            ("new/dir/a.txt", "日本\n"),
            ("new/dir/a.txt", "日本\n"),
            ("empty", ""),
        ] {
            let result = write(&space, path, content).await;
            text = format!("{text}{}\n", space.clean(&whole(result)));
            assert_eq!(space.content(path), content);
        }
        insta::assert_snapshot!(text);
        assert_eq!(
            space.tracker.recent(9),
            [space.path("empty"), space.path("new/dir/a.txt")]
        );
    }

    #[tokio::test]
    async fn what_was_not_seen_is_not_replaced() {
        let space = Space::new();
        let path = space.file("a", "old");
        let mut errors = said(write(&space, "a", "new").await);
        read(&space, "a").await;
        fs::write(&path, "meanwhile").unwrap();
        errors += &said(write(&space, "a", "new").await);
        assert_eq!(space.content("a"), "meanwhile");
        // A file that is gone is new.
        fs::remove_file(&path).unwrap();
        write(&space, "a", "again").await.unwrap();
        // What the session wrote itself, it has seen.
        write(&space, "a", "and again").await.unwrap();
        assert_eq!(space.content("a"), "and again");
        insta::assert_snapshot!(errors);
    }

    #[tokio::test]
    async fn a_stopped_write_changes_nothing() {
        let space = Space::new();
        space.file("a", "old");
        read(&space, "a").await;
        for path in ["a", "new"] {
            let wanted = Wanted::new(&json!({"path": path, "content": "new"})).unwrap();
            assert!(tool(&space).write(&wanted, &Stop::set()).is_err());
        }
        assert_eq!(space.content("a"), "old");
        assert!(!space.path("new").exists());
    }

    #[tokio::test]
    async fn a_link_stays_a_link() {
        let space = Space::new();
        space.file("real", "old");
        symlink("real", space.path("link")).unwrap();
        symlink("later", space.path("dangling")).unwrap();
        read(&space, "link").await;
        write(&space, "link", "new").await.unwrap();
        write(&space, "dangling", "new").await.unwrap();
        assert_eq!(space.content("real"), "new");
        assert_eq!(space.content("later"), "new");
        for link in ["link", "dangling"] {
            assert!(fs::symlink_metadata(space.path(link)).unwrap().is_symlink());
        }
    }

    #[tokio::test]
    async fn errors() {
        let space = Space::new();
        space.file("file", "x");
        fs::create_dir(space.path("dir")).unwrap();
        symlink(space.outside("new"), space.path("escape")).unwrap();
        space.pipe("pipe");
        let mut text = String::new();
        for path in [
            "dir",
            "file/x",
            "../outside/new",
            "escape",
            "pipe",
            "/etc/new",
            "",
        ] {
            text += &space.clean(&said(write(&space, path, "x").await));
        }
        for arguments in [
            json!({"file_path": "a"}),
            json!({"content": "a"}),
            json!({"file_path": "a", "content": {"a": 1}}),
            json!({"file_path": "a", "content": "", "mode": "w"}),
        ] {
            text += &said(call(&tool(&space), arguments).await);
        }
        insta::assert_snapshot!(text);
        assert!(!space.outside("new").exists());
    }
}
