//! The tool that finds files by their names.

use std::cmp::Reverse;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use ignore::DirEntry;
use serde_json::{Value, json};

use super::blocking::{Stop, blocking};
use super::kept::{Block, Kept};
use super::{Scope, walk::walk};
use crate::arguments::{Accepted, Arguments};
use crate::{Call, Effect, Tool, ToolError, ToolOutput, bounded};

const FIELDS: Accepted = &[&["pattern"], &["path"]];

/// The most files that one result names.
const FILE_LIMIT: usize = 200;

/// Finds the files whose path matches a pattern, the one that was changed last first.
///
/// `*` and `?` stay within one part of a path, `**` goes over any number. Directories are not
/// found, symlinks to files are.
#[derive(Clone, Debug)]
pub struct Glob {
    scope: Scope,
}

impl Glob {
    /// The tool for this scope.
    pub fn new(scope: Scope) -> Self {
        Self { scope }
    }

    fn find(&self, wanted: &Wanted, stop: &Stop) -> Result<ToolOutput, ToolError> {
        let root = self.scope.resolve(&wanted.directory)?;
        let shown = self.scope.short(&root);
        if !root.is_dir() {
            let message = format!("{shown} is not a directory; path names where to start");
            return Err(ToolError::new(message));
        }
        let matcher = matcher(&wanted.pattern)?;
        let kept = Mutex::new(Kept::new(FILE_LIMIT));
        let unreadable = walk(&self.scope, &root, stop, |entry| {
            if let Some(changed) = matched(entry, &root, &matcher) {
                let path = entry.path().to_owned();
                let block = Block::of(self.scope.display(&path), 1);
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.add((Reverse(changed), path), block);
            }
        });
        stop.check()?;
        let kept = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(output(kept, &wanted.pattern, &shown, unreadable))
    }
}

fn output(
    kept: Kept<(Reverse<SystemTime>, PathBuf)>,
    pattern: &str,
    shown: &str,
    unreadable: usize,
) -> ToolOutput {
    let finds = kept.finds();
    let mut summary = match finds {
        0 => format!(
            "No file below {shown} matches {}",
            bounded::head(pattern, 200)
        ),
        1 => String::from("Found 1 file"),
        finds => format!("Found {finds} files"),
    };
    if finds == 0 && !pattern.contains("**") {
        let pattern = bounded::head(pattern, 200);
        summary = format!("{summary}; **/{pattern} looks into its directories too");
    }
    if unreadable > 0 {
        summary = format!("{summary} ({unreadable} entries could not be read)");
    }
    let value = json!({"num_files": finds});
    if finds == 0 {
        return ToolOutput::summary(summary).with_value(value);
    }
    let page = kept.page();
    let mut content = format!("{summary}\n{}", page.text);
    if page.left_out > 0 {
        let left_out = page.left_out;
        content =
            format!("{content}[{left_out} older files left out; a narrower pattern shows them]\n");
    }
    ToolOutput::summary(summary)
        .with_content(content)
        .with_value(value)
}

/// When the entry was changed, if it is a file that matches.
fn matched(entry: &DirEntry, root: &Path, matcher: &GlobMatcher) -> Option<SystemTime> {
    let path = entry.path();
    if !matcher.is_match(path.strip_prefix(root).ok()?) {
        return None;
    }
    let metadata = match entry.file_type()? {
        kind if kind.is_file() => entry.metadata().ok(),
        kind if kind.is_symlink() => Some(path.metadata().ok().filter(Metadata::is_file)?),
        _ => return None,
    };
    // A file that is gone by now, or without a time, comes last.
    let changed = metadata.and_then(|it| it.modified().ok());
    Some(changed.unwrap_or(SystemTime::UNIX_EPOCH))
}

fn matcher(pattern: &str) -> Result<GlobMatcher, ToolError> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.map(|it| it.compile_matcher()).map_err(|error| {
        let kind = error.kind();
        let pattern = bounded::head(pattern, 100);
        ToolError::new(format!("cannot understand the pattern {pattern:?}: {kind}"))
    })
}

/// What a call asks for.
#[derive(Debug, PartialEq)]
struct Wanted {
    /// Where to start.
    directory: String,
    /// Relative to it.
    pattern: String,
}

impl Wanted {
    /// The parts of the pattern that are plain names go to the directory: only what can match is
    /// gone through, patterns may be absolute or start with `..`, and a permission rule sees where
    /// the call really looks.
    fn new(arguments: &Value) -> Result<Self, ToolError> {
        let mut arguments = Arguments::new(arguments, FIELDS)?;
        let pattern = arguments.text("pattern")?;
        let path = arguments.optional_text("path")?;
        let mut directory = PathBuf::from(path.filter(|it| !it.is_empty()).unwrap_or_default());
        let mut rest = pattern.as_str();
        while let Some((part, after)) = rest.split_once('/') {
            if part.contains(['*', '?', '[', ']', '{', '}', '\\']) {
                break;
            }
            // An empty part is the root, at the start, and nothing after that.
            let is_root = part.is_empty() && rest.len() == pattern.len();
            directory.push(if is_root { "/" } else { part });
            rest = after;
        }
        if rest.is_empty() || rest == "." || rest == ".." {
            let message = "the pattern names no files; to find all of a directory, end it with /**";
            return Err(ToolError::new(message));
        }
        let directory = directory.to_string_lossy();
        let directory = if directory.is_empty() {
            "."
        } else {
            &directory
        };
        Ok(Self {
            directory: directory.to_owned(),
            pattern: rest.to_owned(),
        })
    }
}

#[async_trait]
impl Tool for Glob {
    fn name(&self) -> &'static str {
        "Glob"
    }

    fn description(&self) -> &'static str {
        include_str!("glob.md").trim_ascii_end()
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "path": {"type": "string", "description": "Directory to start in"},
            },
            "required": ["pattern"],
            "additionalProperties": false,
        })
    }

    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn target(&self, arguments: &Value) -> Option<String> {
        Some(Wanted::new(arguments).ok()?.directory)
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let wanted = Wanted::new(call.arguments)?;
        let tool = self.clone();
        blocking(move |stop| tool.find(&wanted, stop)).await
    }
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;
