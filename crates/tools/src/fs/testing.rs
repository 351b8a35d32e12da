//! What the tests of the file tools share.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Scope;
use crate::{Call, Tool, ToolError, ToolOutput, Tracker};

/// A working directory that is gone after the test, with a directory outside of it.
pub(crate) struct Space {
    root: tempfile::TempDir,
    pub(crate) scope: Scope,
    pub(crate) tracker: Tracker,
}

impl Space {
    pub(crate) fn new() -> Self {
        Self::in_root(tempfile::tempdir().unwrap())
    }

    /// The same below a directory, which is made.
    pub(crate) fn in_directory(directory: impl AsRef<Path>) -> Self {
        fs::create_dir_all(&directory).unwrap();
        Self::in_root(tempfile::tempdir_in(directory).unwrap())
    }

    fn in_root(root: tempfile::TempDir) -> Self {
        for directory in ["work", "outside"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        let scope = Scope::new(root.path().join("work"), []).unwrap();
        Self {
            root,
            scope,
            tracker: Tracker::new(),
        }
    }

    /// A path in the working directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let root = self.root.path().canonicalize().unwrap();
        join(&root.join("work"), name)
    }

    /// A path next to the working directory.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        let root = self.root.path().canonicalize().unwrap();
        join(&root.join("outside"), name)
    }

    /// Writes a file in the working directory, with its directories.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Makes a named pipe in the working directory. Not by a call, which is not the same everywhere.
    pub(crate) fn pipe(&self, name: &str) {
        let mut command = std::process::Command::new("mkfifo");
        assert!(command.arg(self.path(name)).status().unwrap().success());
    }

    /// The content of a file in the working directory.
    pub(crate) fn content(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// The text without what differs from run to run.
    pub(crate) fn clean(&self, text: &str) -> String {
        let outside = self.outside("").to_string_lossy().into_owned();
        let work = self.path("").to_string_lossy().into_owned();
        text.replace(&outside, "[outside]").replace(&work, "[work]")
    }
}

/// Joins without the slash that an empty name would leave at the end.
fn join(directory: &Path, name: &str) -> PathBuf {
    if name.is_empty() {
        directory.to_owned()
    } else {
        directory.join(name)
    }
}

/// Calls the tool.
pub(crate) async fn call(tool: &dyn Tool, arguments: Value) -> Result<ToolOutput, ToolError> {
    let call = Call {
        id: "call_1",
        arguments: &arguments,
    };
    tool.call(call).await
}

/// The output as the model reads it, or the error.
pub(crate) fn read_by_model(result: Result<ToolOutput, ToolError>) -> String {
    match result {
        Ok(output) => output.content.unwrap_or(output.summary),
        Err(error) => format!("error: {error}"),
    }
}

/// All of a result: what the model reads, the summary and the data.
pub(crate) fn whole(result: Result<ToolOutput, ToolError>) -> String {
    match result {
        Ok(output) => format!(
            "summary: {}\nvalue: {}\n{}",
            output.summary,
            output.value.unwrap_or_default(),
            output.content.unwrap_or_default()
        ),
        Err(ToolError { message, value }) => {
            format!("error: {message}\nvalue: {}", value.unwrap_or_default())
        }
    }
}

/// The error of a result, as one line.
pub(crate) fn said<T>(result: Result<T, ToolError>) -> String {
    match result {
        Ok(_) => String::from("no error\n"),
        Err(error) => format!("{error}\n"),
    }
}

/// The tool as the model sees it.
pub(crate) fn as_seen(tool: &dyn Tool) -> Value {
    json!({
        "name": tool.name(),
        "description": tool.description(),
        "schema": tool.schema(),
    })
}
