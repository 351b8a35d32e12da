//! The tool that searches the content of files.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Value, json};

use super::blocking::{Stop, blocking};
use super::kept::Kept;
use super::search::{Found, Mode, Search, Settings};
use super::{Scope, file, walk::walk};
use crate::arguments::{Accepted, Arguments};
use crate::{Call, Effect, Tool, ToolError, ToolOutput, bounded};

const FIELDS: Accepted = &[
    &["pattern"],
    &["path"],
    &["glob"],
    &["output_mode"],
    &["-i"],
    &["-n"],
    &["-A"],
    &["-B"],
    &["-C"],
    &["head_limit"],
    &["multiline"],
];

/// How many lines are shown unless the call says otherwise.
const DEFAULT_LIMIT: u64 = 250;

/// Searches files with a regular expression, by the libraries of ripgrep. Results are in the order
/// of the paths.
#[derive(Clone, Debug)]
pub struct Grep {
    scope: Scope,
}

/// What was found in all files.
struct Tally {
    kept: Kept<PathBuf>,
    /// Files that were searched.
    files: usize,
    /// Files in which something was found.
    matched: usize,
    /// Files that are no text, and were searched as far as they were.
    binary: usize,
    failed: usize,
    /// The first of the failures, in the order of their texts.
    failure: Option<String>,
}

impl Grep {
    /// The tool for this scope.
    pub fn new(scope: Scope) -> Self {
        Self { scope }
    }

    fn search(&self, wanted: &Wanted, stop: &Stop) -> Result<ToolOutput, ToolError> {
        let root = self.scope.resolve(&wanted.path)?;
        let filter = wanted.glob.as_deref().map(Filter::new).transpose()?;
        let search = Search::new(&wanted.pattern, wanted.search, stop)?;
        let tally = Mutex::new(Tally {
            kept: Kept::new(wanted.search.line_limit),
            files: 0,
            matched: 0,
            binary: 0,
            failed: 0,
            failure: None,
        });
        let look_into = |path: &Path| {
            let shown = self.scope.display(path);
            let found =
                file::open(&self.scope, path).and_then(|opened| search.file(opened.file, &shown));
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.add(path, found);
        };
        let mut unreadable = 0;
        if root.is_dir() {
            unreadable = walk(&self.scope, &root, stop, |entry| {
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                let relative = entry.path().strip_prefix(&root).unwrap_or(entry.path());
                if is_file && filter.as_ref().is_none_or(|filter| filter.admits(relative)) {
                    look_into(entry.path());
                }
            });
        } else {
            // The one file that was asked for: what is wrong with it is an error of the call.
            let opened = file::open(&self.scope, &root)?;
            let shown = self.scope.display(&root);
            let found = search.file(opened.file, &shown)?;
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.add(&root, Ok(found));
        }
        stop.check()?;
        let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        tally.failed += unreadable;
        Ok(tally.output(wanted.search.mode))
    }
}

impl Tally {
    fn add(&mut self, path: &Path, found: Result<Found, ToolError>) {
        self.files += 1;
        match found {
            Ok(found) => {
                self.binary += usize::from(found.is_binary);
                if found.block.finds() > 0 {
                    self.matched += 1;
                    self.kept.add(path.to_owned(), found.block);
                }
            }
            Err(error) => {
                self.failed += 1;
                let earlier = self.failure.take().into_iter();
                self.failure = earlier.chain([error.message]).min();
            }
        }
    }

    fn output(self, mode: Mode) -> ToolOutput {
        let finds = self.kept.finds();
        let files = counted(self.matched as u64, "file");
        let mut summary = match mode {
            _ if finds == 0 => format!("No matches in {}", counted(self.files as u64, "file")),
            Mode::Files => format!("Found {files}"),
            Mode::Content | Mode::Count => {
                format!("Found {} in {files}", counted(finds, "matching line"))
            }
        };
        if finds == 0 && self.binary > 0 {
            summary = format!("{summary} ({} binary)", self.binary);
        }
        if self.failed > 0 {
            let example = self.failure.map(|it| format!(": {it}")).unwrap_or_default();
            let failed = counted(self.failed as u64, "file");
            summary = format!("{summary} ({failed} could not be searched{example})");
        }
        let value = json!({"num_files": self.matched, "num_matches": finds});
        if finds == 0 {
            return ToolOutput::summary(summary).with_value(value);
        }
        let page = self.kept.page();
        let mut content = format!("{summary}\n{}", page.text);
        if page.left_out > 0 {
            let what = match mode {
                Mode::Files => "file",
                Mode::Content | Mode::Count => "matching line",
            };
            let left_out = counted(page.left_out, what);
            content =
                format!("{content}[{left_out} left out; narrow the search or raise head_limit]\n");
        }
        ToolOutput::summary(summary)
            .with_content(content)
            .with_value(value)
    }
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Which files are searched. A pattern without a slash is about the name of a file, one with a slash
/// about its path from where the search starts; `!` in front turns it around.
struct Filter {
    matcher: GlobMatcher,
    excludes: bool,
}

impl Filter {
    fn new(glob: &str) -> Result<Self, ToolError> {
        let (excludes, pattern) = match glob.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, glob),
        };
        let pattern = match pattern.strip_prefix('/') {
            Some(rest) => rest.to_owned(),
            None if pattern.contains('/') => pattern.to_owned(),
            None => format!("**/{pattern}"),
        };
        let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
        let matcher = glob.map(|it| it.compile_matcher()).map_err(|error| {
            let pattern = bounded::head(&pattern, 100);
            let kind = error.kind();
            ToolError::new(format!("cannot understand the glob {pattern:?}: {kind}"))
        })?;
        Ok(Self { matcher, excludes })
    }

    fn admits(&self, path: &Path) -> bool {
        self.matcher.is_match(path) != self.excludes
    }
}

/// What a call asks for.
struct Wanted {
    pattern: String,
    path: String,
    glob: Option<String>,
    search: Settings,
}

impl Wanted {
    fn new(arguments: &Value) -> Result<Self, ToolError> {
        let mut arguments = Arguments::new(arguments, FIELDS)?;
        let non_empty = |text: &String| !text.is_empty();
        let around = lines(&mut arguments, "-C")?.unwrap_or(0);
        let limit = arguments.number("head_limit")?.unwrap_or(DEFAULT_LIMIT);
        let mode = arguments.optional_text("output_mode")?;
        Ok(Self {
            pattern: arguments.text("pattern")?,
            path: arguments
                .optional_text("path")?
                .filter(non_empty)
                .unwrap_or_else(|| String::from(".")),
            glob: arguments.optional_text("glob")?.filter(non_empty),
            search: Settings {
                mode: mode_of(mode.as_deref())?,
                ignores_case: arguments.flag("-i")?,
                has_numbers: arguments.optional_flag("-n")?.unwrap_or(true),
                before: lines(&mut arguments, "-B")?.unwrap_or(around),
                after: lines(&mut arguments, "-A")?.unwrap_or(around),
                is_multiline: arguments.flag("multiline")?,
                // Without a limit of lines there is still that of bytes.
                line_limit: match usize::try_from(limit) {
                    Ok(0) | Err(_) => usize::MAX,
                    Ok(limit) => limit,
                },
            },
        })
    }
}

fn mode_of(text: Option<&str>) -> Result<Mode, ToolError> {
    match text {
        None | Some("files_with_matches") => Ok(Mode::Files),
        Some("content") => Ok(Mode::Content),
        Some("count") => Ok(Mode::Count),
        Some(_) => Err(ToolError::new(
            "output_mode must be files_with_matches, content or count",
        )),
    }
}

/// A number of context lines. More than a result can show is as good as all.
fn lines(arguments: &mut Arguments, name: &str) -> Result<Option<usize>, ToolError> {
    let number = arguments.number(name)?;
    Ok(number.map(|number| usize::try_from(number).map_or(10_000, |it| it.min(10_000))))
}

#[async_trait]
impl Tool for Grep {
    fn name(&self) -> &'static str {
        "Grep"
    }

    fn description(&self) -> &'static str {
        include_str!("grep.md").trim_ascii_end()
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "path": {"type": "string", "description": "File or directory"},
                "glob": {"type": "string", "description": "Only such files, e.g. *.rs"},
                "output_mode": {
                    "enum": ["files_with_matches", "content", "count"],
                    "description": "Default files_with_matches",
                },
                "-i": {"type": "boolean", "description": "Ignore case"},
                "-n": {"type": "boolean", "description": "Line numbers; default true"},
                "-A": {"type": "integer", "description": "Lines after"},
                "-B": {"type": "integer", "description": "Lines before"},
                "-C": {"type": "integer", "description": "Lines around"},
                "head_limit": {"type": "integer", "description": "Lines shown; default 250"},
                "multiline": {"type": "boolean", "description": "Match across lines"},
            },
            "required": ["pattern"],
            "additionalProperties": false,
        })
    }

    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn target(&self, arguments: &Value) -> Option<String> {
        Some(Wanted::new(arguments).ok()?.path)
    }

    async fn call(&self, call: Call<'_>) -> Result<ToolOutput, ToolError> {
        let wanted = Wanted::new(call.arguments)?;
        let tool = self.clone();
        blocking(move |stop| tool.search(&wanted, stop)).await
    }
}

#[cfg(test)]
#[path = "grep_tests.rs"]
mod tests;
