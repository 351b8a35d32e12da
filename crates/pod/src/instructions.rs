//! The instructions of a project: its `AGENTS.md` and `CLAUDE.md`, as the system prompt has them.
//!
//! They are read when a session begins and kept in the header of its segments. So a session that is
//! resumed asks with the same prompt, whatever became of the files, and the provider's cache stays
//! warm. A fork is a new session and reads them anew.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use tools::bounded::head;

/// The most bytes of all files together. What is nearest to the working directory is kept first.
pub const INSTRUCTIONS_LIMIT: usize = 32 * 1024;

/// The names of the files, in the order in which they stand in the prompt.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// What the files of a project say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Instructions {
    /// The part of the system prompt; empty if there are none.
    pub(crate) text: String,
    /// What a person should know: files that cannot be read, and what did not fit.
    pub(crate) notices: Vec<String>,
}

impl Instructions {
    /// Reads the files of a directory and of those above it, up to the root of the repository, or to
    /// the home directory where that is nearer. Where neither is above it, only its own.
    pub(crate) fn read(directory: &Path, home: Option<&Path>) -> Self {
        let directories = directories(directory, home);
        let outermost = directories.first().copied().unwrap_or(directory);
        let mut notices = Vec::new();
        let mut files: Vec<Found> = Vec::new();
        for path in directories
            .iter()
            .flat_map(|directory| NAMES.map(|name| directory.join(name)))
        {
            match find(&path, outermost) {
                // One file may have two names, and one text two files.
                Ok(Some(found)) if !files.iter().any(|it| it.is_same(&found)) => files.push(found),
                Ok(_) => {}
                Err(reason) => notices.push(format!(
                    "the instructions in {} are left out: {reason}",
                    path.display()
                )),
            }
        }
        let mut room = INSTRUCTIONS_LIMIT;
        for file in files.iter_mut().rev() {
            file.shorten(room);
            room -= file.text.len();
            if file.left_out > 0 {
                notices.push(format!(
                    "{}: {} of its bytes are left out of the instructions, which have at most {INSTRUCTIONS_LIMIT} bytes together",
                    file.path.display(),
                    file.left_out
                ));
            }
        }
        Self {
            text: told(&files),
            notices,
        }
    }
}

/// The directories whose files count, the outermost first.
fn directories<'a>(directory: &'a Path, home: Option<&Path>) -> Vec<&'a Path> {
    let is_root = |it: &&Path| Some(*it) == home || it.join(".git").symlink_metadata().is_ok();
    let root = directory.ancestors().find(is_root).unwrap_or(directory);
    let mut found = Vec::new();
    for ancestor in directory.ancestors() {
        // What stands in a directory like `/tmp` may come from anybody.
        if ancestor != directory && is_open_to_all(ancestor) {
            break;
        }
        found.push(ancestor);
        if ancestor == root {
            break;
        }
    }
    found.reverse();
    found
}

#[cfg(unix)]
fn is_open_to_all(directory: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = directory.metadata();
    metadata.is_ok_and(|it| it.permissions().mode() & 0o002 != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_: &Path) -> bool {
    false
}

/// A file that was found.
struct Found {
    path: PathBuf,
    real: PathBuf,
    text: String,
    /// How many bytes of the file are not in the text.
    left_out: u64,
}

impl Found {
    fn is_same(&self, other: &Self) -> bool {
        self.real == other.real || self.text == other.text
    }

    fn shorten(&mut self, room: usize) {
        let kept = head(&self.text, room).len();
        self.left_out += (self.text.len() - kept) as u64;
        self.text.truncate(kept);
    }
}

/// The file at the path, or `None` if there is nothing in it or nothing there. An error is why it
/// cannot be used.
fn find(path: &Path, outermost: &Path) -> Result<Option<Found>, String> {
    let failed = |error: io::Error| error.to_string();
    if let Err(error) = path.symlink_metadata() {
        return match error.kind() {
            io::ErrorKind::NotFound => Ok(None),
            _ => Err(failed(error)),
        };
    }
    let real = path.canonicalize().map_err(failed)?;
    // A project from elsewhere must not have a file of this machine sent to a model.
    if !real.starts_with(outermost) {
        let real = real.display();
        return Err(format!("it leads to {real}, outside the project"));
    }
    let metadata = real.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(String::from("it is no regular file"));
    }
    let mut bytes = Vec::new();
    // A few more, so that the limit does not cut the last character twice.
    let most = INSTRUCTIONS_LIMIT as u64 + 4;
    let file = File::open(&real).map_err(failed)?;
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    let whole = metadata.len().max(bytes.len() as u64);
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // The last character may be cut, and nothing else.
        Err(error) if error.error_len().is_none() && whole > bytes.len() as u64 => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
        Err(_) => return Err(String::from("it is not UTF-8 text")),
    };
    let left_out = whole - text.len() as u64;
    let text = text.trim_start_matches('\u{feff}').trim();
    Ok((!text.is_empty()).then(|| Found {
        path: path.to_owned(),
        text: text.to_owned(),
        real,
        left_out,
    }))
}

/// The files as the model reads them.
fn told(files: &[Found]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let mut text = String::from(include_str!("instructions.md").trim_end());
    for file in files {
        // As JSON, so that no name of a directory can end the line.
        let path = serde_json::Value::from(file.path.to_string_lossy());
        let _ = write!(text, "\n\n<instructions file={path}>\n{}\n", file.text);
        if file.left_out > 0 {
            let _ = writeln!(
                text,
                "[{} more bytes of this file are left out here, since all files together have at most {INSTRUCTIONS_LIMIT}]",
                file.left_out
            );
        }
        text.push_str("</instructions>");
    }
    text
}

#[cfg(test)]
#[path = "instructions_tests.rs"]
mod tests;
