//! Where the compact worker's calls are done: its four tools.

use llm::{ToolCall, ToolResult, ToolSpec, tokens};
use serde_json::{Value, json};
use tools::Tracker;
use tools::bounded::head;
use tools::task::render::{one_line, short};

use super::files::FileReader;
use super::worker::{Assignment, RequiredFile, Work, WorkError};

const READ: &str = "read_file";
const MARK: &str = "mark_read_required";
const REFER: &str = "add_reference";
const WRITE: &str = "write_summary";

/// The most references; more would be no help to the agent.
const REFERENCES: usize = 20;

/// What an item costs beside its text.
const PER_FILE: u64 = 20;

/// What the worker has done so far.
pub(super) struct Desk<'a> {
    work: Work,
    reader: Option<FileReader<'a>>,
    /// For what only the worker sees.
    glanced: Tracker,
    /// How many tokens the worker may still read itself.
    reading_left: u64,
    /// How many tokens the files may still have that the agent is shown.
    files_left: u64,
    summary_limit: u64,
}

impl<'a> Desk<'a> {
    /// An empty desk, at which `reading` tokens may be read.
    pub(super) fn new(assignment: &Assignment<'a>, reading: u64) -> Self {
        Self {
            work: Work {
                seen: assignment
                    .reader
                    .map(FileReader::tracker)
                    .unwrap_or_default(),
                ..Work::default()
            },
            reader: assignment.reader,
            glanced: Tracker::new(),
            reading_left: reading,
            files_left: assignment.files_limit,
            summary_limit: assignment.summary_limit,
        }
    }

    /// Does a call. Whatever is wrong with it is told to the worker.
    pub(super) async fn run(&mut self, call: &ToolCall) -> ToolResult {
        match self.done_or_refused(call).await {
            Ok(text) => ToolResult {
                is_error: false,
                ..ToolResult::error(&call.id, text)
            },
            Err(text) => ToolResult::error(&call.id, text),
        }
    }

    /// The work, once there is a summary.
    pub(super) fn done(&mut self) -> Option<Work> {
        (!self.work.summary.is_empty()).then(|| std::mem::take(&mut self.work))
    }

    /// Takes a text for the summary, if it can be one.
    pub(super) fn take_summary(&mut self, text: &str) -> Result<(), WorkError> {
        let text = without_thoughts(text).trim();
        let tokens = tokens::of_text(text);
        if text.is_empty() {
            return Err(WorkError::Empty);
        }
        if is_protocol(text) {
            return Err(WorkError::Protocol);
        }
        if tokens > self.summary_limit {
            return Err(WorkError::TooLong(tokens, self.summary_limit));
        }
        text.clone_into(&mut self.work.summary);
        Ok(())
    }

    async fn done_or_refused(&mut self, call: &ToolCall) -> Result<String, String> {
        let arguments: Value = call
            .arguments
            .parse()
            .map_err(|error| format!("the arguments are not valid JSON: {error}"))?;
        match (call.name.as_str(), self.reader) {
            (READ, Some(reader)) => self.read(reader, &arguments).await,
            (MARK, Some(reader)) => self.mark(reader, &arguments).await,
            (REFER, Some(reader)) => self.refer(reader, &arguments),
            (WRITE, _) => self.write(&arguments),
            (other, reader) => {
                let tools = tools(reader.is_some());
                let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
                Err(format!(
                    "there is no tool {}; there are {}",
                    one_line(head(other, 40)),
                    names.join(", ")
                ))
            }
        }
    }

    async fn read(&mut self, reader: FileReader<'a>, arguments: &Value) -> Result<String, String> {
        let part = FilePart::new(arguments)?;
        let text = reader.read(&part.arguments, &self.glanced).await?;
        let tokens = tokens::of_text(&text);
        let left = self.reading_left;
        self.reading_left = left.checked_sub(tokens).ok_or_else(|| {
            format!(
                "this has about {tokens} tokens, and {left} are left for reading; read a smaller part with offset and limit, or write the summary"
            )
        })?;
        Ok(text)
    }

    async fn mark(&mut self, reader: FileReader<'a>, arguments: &Value) -> Result<String, String> {
        let part = FilePart::new(arguments)?;
        let name = part.name(&reader.display(&part.path)?);
        if self.work.files.iter().any(|file| file.name == name) {
            return Ok(format!("{name} is marked already"));
        }
        let left = self.files_left;
        let seen = self.work.seen.separate();
        let content = reader.read(&part.arguments, &seen).await?;
        let text = format!("The content of {name} at this moment:\n\n{content}");
        let tokens = tokens::of_text(&text) + PER_FILE;
        self.files_left = left.checked_sub(tokens).ok_or_else(|| {
            format!(
                "{name} has about {tokens} tokens, and {left} are left for files; mark a part of it with offset and limit, or use {REFER}"
            )
        })?;
        self.work.seen.adopt(&seen);
        self.work.files.push(RequiredFile { name, text });
        Ok(format!(
            "marked, about {tokens} tokens; {} are left for files",
            self.files_left
        ))
    }

    fn refer(&mut self, reader: FileReader<'a>, arguments: &Value) -> Result<String, String> {
        let path = reader.display(&FilePart::new(arguments)?.path)?;
        // In the room of the files, so that nothing comes out larger than planned.
        let tokens = tokens::of_text(&path) + 1;
        if self.work.references.contains(&path) {
            return Ok(String::from("noted already"));
        }
        if self.work.references.len() == REFERENCES {
            return Err(format!(
                "there are {REFERENCES} references, and no more are taken"
            ));
        }
        self.files_left = self
            .files_left
            .checked_sub(tokens)
            .ok_or("there is no room left for references")?;
        self.work.references.push(path);
        Ok(String::from("noted"))
    }

    fn write(&mut self, arguments: &Value) -> Result<String, String> {
        let text = arguments
            .get("text")
            .or_else(|| arguments.get("summary"))
            .and_then(Value::as_str)
            .ok_or("text is missing; accepted: text (text)")?;
        self.take_summary(text).map_err(|error| error.to_string())?;
        Ok(String::from("written"))
    }
}

/// A file or a part of it, as the worker names it.
struct FilePart {
    path: String,
    /// The arguments of the Read tool that show it.
    arguments: Value,
}

impl FilePart {
    fn new(arguments: &Value) -> Result<Self, String> {
        let path = arguments
            .get("path")
            .or_else(|| arguments.get("file_path"))
            .and_then(Value::as_str)
            .filter(|path| !path.is_empty())
            .ok_or("path is missing; accepted: path, offset, limit")?;
        let mut read = json!({ "file_path": path });
        for name in ["offset", "limit"] {
            if let Some(value) = arguments.get(name).filter(|value| !value.is_null())
                && let Some(fields) = read.as_object_mut()
            {
                fields.insert(name.to_owned(), value.clone());
            }
        }
        Ok(Self {
            path: path.to_owned(),
            arguments: read,
        })
    }

    /// The file as it is displayed, and which part of it.
    fn name(&self, displayed: &str) -> String {
        let field = |name: &str| {
            self.arguments
                .get(name)
                .map(|value| short(&value.to_string(), 20))
        };
        match (field("offset"), field("limit")) {
            (None, None) => displayed.to_owned(),
            (Some(offset), None) => format!("{displayed} from line {offset}"),
            (None, Some(limit)) => format!("{displayed} (the first {limit} lines)"),
            (Some(offset), Some(limit)) => {
                format!("{displayed} ({limit} lines from line {offset})")
            }
        }
    }
}

/// The text behind the thoughts that some local models write into their answer.
fn without_thoughts(text: &str) -> &str {
    let text = text.trim_start();
    for (begin, end) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some(thoughts) = text.strip_prefix(begin) {
            return thoughts.split_once(end).map_or("", |(_, rest)| rest);
        }
    }
    text
}

/// Whether a text is a call in one of the forms that models fall into when they mean to make one.
fn is_protocol(text: &str) -> bool {
    const MARKS: [&str; 7] = [
        "<tool_call",
        "<function_call",
        "<invoke",
        "<function=",
        "<|tool",
        "[TOOL_CALLS]",
        "<tool_use",
    ];
    let text = text
        .trim_start_matches("```json")
        .trim_matches(['`', '\n', ' ']);
    if MARKS.iter().any(|mark| text.starts_with(mark)) {
        return true;
    }
    let value: Value = match text.get(..1) {
        Some("{" | "[") => serde_json::from_str(text).unwrap_or(Value::Null),
        _ => Value::Null,
    };
    let first = match &value {
        Value::Array(values) => values.first().unwrap_or(&Value::Null),
        value => value,
    };
    ["name", "function", "tool", "tool_calls", "arguments"]
        .iter()
        .any(|key| first.get(key).is_some())
}

/// The worker's tools, with or without those for files.
pub(super) fn tools(with_files: bool) -> Vec<ToolSpec> {
    let part = json!({
        "path": {"type": "string"},
        "offset": {"type": "integer", "description": "First line, from 1"},
        "limit": {"type": "integer", "description": "How many lines"},
    });
    let path = json!({"path": {"type": "string"}});
    let text = json!({"text": {"type": "string"}});
    let spec = |name: &str, description: &str, properties: &Value, required: &str| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({
            "type": "object",
            "properties": properties,
            "required": [required],
            "additionalProperties": false,
        }),
    };
    let mut tools = Vec::new();
    if with_files {
        tools.extend([
            spec(READ, "Shows a file, or a part of it.", &part, "path"),
            spec(
                MARK,
                "Has a file, or a part of it, shown to the agent again right away.",
                &part,
                "path",
            ),
            spec(
                REFER,
                "Names a file that the agent may want to read later.",
                &path,
                "path",
            ),
        ]);
    }
    tools.push(spec(
        WRITE,
        "Takes the finished text and ends the work.",
        &text,
        "text",
    ));
    tools
}
