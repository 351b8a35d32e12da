//! The tool that reads a file.

use std::io::Read as _;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::blocking::{Stop, blocking};
use super::lines::Lines;
use super::{Scope, binary, file};
use crate::arguments::{Accepted, Arguments};
use crate::{Call, Effect, Tool, ToolError, ToolOutput, Tracker};

const FIELDS: Accepted = &[&["file_path", "path"], &["offset"], &["limit"]];

/// How many lines are shown unless the call says otherwise.
const DEFAULT_LIMIT: u64 = 2000;

/// How much of a file is read at a time, in bytes.
const PIECE: usize = 64 * 1024;

/// Reads a text file and notes in the [`Tracker`] that the session has seen it.
///
/// The whole file goes through, for the fingerprint and the number of lines, but piece by piece: the
/// memory does not depend on its size. Seeing a part counts as having read it.
#[derive(Clone, Debug)]
pub struct Read {
    scope: Scope,
    tracker: Tracker,
}

impl Read {
    /// The tool for this scope.
    pub fn new(scope: Scope, tracker: Tracker) -> Self {
        Self { scope, tracker }
    }

    fn read(&self, wanted: &Wanted, stop: &Stop) -> Result<ToolOutput, ToolError> {
        let path = self.scope.resolve(&wanted.file_path)?;
        let shown = self.scope.short(&path);
        let opened = file::open(&self.scope, &path)?;
        let failed = |error| file::cannot("read", &self.scope, &path, &error);

        // A log that grows while it is read must come to an end. Some file systems give no length.
        let mut content = opened.file.take(opened.metadata.len().max(1024 * 1024));
        let mut fingerprinter = self.tracker.fingerprinter();
        let mut lines = Lines::new(wanted.offset, wanted.limit);
        let mut piece = Vec::with_capacity(PIECE);
        let mut is_first = true;
        loop {
            stop.check()?;
            piece.clear();
            let mut part = content.by_ref().take(PIECE as u64);
            if part.read_to_end(&mut piece).map_err(failed)? == 0 {
                break;
            }
            if is_first && let Some(kind) = binary::kind(&piece) {
                let size = opened.metadata.len();
                let message = format!(
                    "{shown} is {kind} of {size} bytes, which Read does not show; Bash can look into it"
                );
                return Err(ToolError::new(message));
            }
            is_first = false;
            fingerprinter.add(&piece);
            lines.push(&piece);
        }
        let page = lines.finish();

        if page.total > 0 && wanted.offset > page.total {
            let message = format!(
                "offset {} is past the end: {shown} has {} lines",
                wanted.offset, page.total
            );
            return Err(ToolError::new(message));
        }
        self.tracker.record(&path, fingerprinter.finish());
        let value = json!({
            "file_path": path.to_string_lossy(),
            "start_line": wanted.offset,
            "num_lines": page.shown,
            "total_lines": page.total,
        });
        let first = wanted.offset;
        let output = match (page.shown, page.total) {
            (_, 0) => ToolOutput::summary(format!("{shown} is empty")),
            (all, total) if all == total => {
                let plural = if total == 1 { "" } else { "s" };
                let summary = format!("Read {shown}: {total} line{plural}");
                ToolOutput::summary(summary).with_content(page.text)
            }
            (part, total) => {
                let last = (first + part).saturating_sub(1);
                let range = match part {
                    1 => format!("line {first} of {total}"),
                    _ => format!("lines {first}-{last} of {total}"),
                };
                let mut text = page.text;
                if last < total {
                    text = format!("{text}[{range}; go on with offset={}]\n", last + 1);
                }
                ToolOutput::summary(format!("Read {shown}: {range}")).with_content(text)
            }
        };
        Ok(output.with_value(value))
    }
}

/// What a call asks for.
struct Wanted {
    file_path: String,
    offset: u64,
    limit: u64,
}

impl Wanted {
    fn new(arguments: &Value) -> Result<Self, ToolError> {
        let mut arguments = Arguments::new(arguments, FIELDS)?;
        let limit = arguments.number("limit")?.unwrap_or(DEFAULT_LIMIT);
        if limit == 0 {
            return Err(ToolError::new("limit must be at least 1"));
        }
        Ok(Self {
            file_path: arguments.text("file_path")?,
            // Line numbers start at 1, and 0 is what one who counts from 0 means by the first line.
            offset: arguments.number("offset")?.unwrap_or(1).max(1),
            limit,
        })
    }
}

#[async_trait]
impl Tool for Read {
    fn name(&self) -> &'static str {
        "Read"
    }

    fn description(&self) -> &'static str {
        include_str!("read.md").trim_ascii_end()
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "offset": {"type": "integer", "description": "First line, from 1"},
                "limit": {"type": "integer", "description": "Number of lines; default 2000"},
            },
            "required": ["file_path"],
            "additionalProperties": false,
        })
    }

    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn target(&self, arguments: &Value) -> Option<String> {
        Some(Wanted::new(arguments).ok()?.file_path)
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let wanted = Wanted::new(call.arguments)?;
        let tool = self.clone();
        blocking(move |stop| tool.read(&wanted, stop)).await
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
