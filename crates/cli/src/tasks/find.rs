//! From what a person names to the logs that are meant.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use globset::GlobBuilder;
use transcripts::{Format, Report};

use super::environment::Environment;
use super::load::{Source, of_file};

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) sources: Vec<Source>,
    /// A folder, a pattern or nothing was named, so that even a single log is one of a list.
    pub(crate) searched: bool,
    /// What could not be looked at.
    pub(crate) errors: Vec<io::Error>,
}

/// The logs that these names mean. `sessions` is the folder of the Pod sessions of this directory.
pub(crate) fn named(
    names: &[PathBuf],
    sessions: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<Found> {
    let mut found = Found::default();
    for name in names {
        if name.as_os_str() == "-" {
            found.sources.push(Source::stdin());
        } else if let Some(source) = session_folder(name) {
            found.sources.push(source);
        } else if name.is_dir() {
            found.searched = true;
            let files = files_below(name, &mut found.errors);
            found.add_logs(files);
        } else if name.exists() {
            found.sources.push(with_sub_agents(name.clone()));
        } else if is_pattern(name) {
            found.searched = true;
            let files = matching(name, &mut found.errors)?;
            found.add_logs(files);
        } else {
            let source = session_called(name, sessions, environment)?;
            found.sources.push(source);
        }
    }
    Ok(found)
}

/// The sessions of this directory: Pod's own, and those of Claude Code and codex in their usual places.
pub(crate) fn of_directory(sessions: Option<&Path>, environment: &Environment) -> Found {
    let mut found = Found {
        searched: true,
        ..Found::default()
    };
    for entry in sessions
        .into_iter()
        .flat_map(|folder| entries(folder, &mut found.errors))
    {
        found.sources.extend(session_folder(&entry));
    }
    if let Some(folder) = claude_project(environment).filter(|folder| folder.is_dir()) {
        let files = files_below(&folder, &mut found.errors);
        found.add_logs(files);
    }
    if let Some(folder) = environment
        .codex
        .as_ref()
        .map(|codex| codex.join("sessions"))
        && folder.is_dir()
    {
        let files = files_below(&folder, &mut found.errors);
        let here = |head: &Report| {
            head.directory.as_deref().map(Path::new) == Some(environment.directory.as_path())
        };
        found.add_if(files, here);
    }
    found
}

/// Claude Code names the folder of a project after its path, with a dash for all that is no letter or
/// digit.
fn claude_project(environment: &Environment) -> Option<PathBuf> {
    let path = environment.directory.to_str()?;
    let dashed: String = path
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect();
    Some(environment.claude.as_ref()?.join("projects").join(dashed))
}

impl Found {
    /// Takes in those of the files that are logs.
    fn add_logs(&mut self, files: Vec<PathBuf>) {
        self.add_if(files, |_| true);
    }

    /// Takes in those of the files that are logs and that this holds for. Files of sub-agents go with
    /// their session where that is among them; segments of a Pod session are one.
    fn add_if(&mut self, files: Vec<PathBuf>, wanted: impl Fn(&Report) -> bool) {
        let mut of_session: HashMap<String, usize> = HashMap::new();
        let mut sub_agents = Vec::new();
        for file in files {
            let head = match head(&file) {
                Ok(head) => head,
                Err(error) => {
                    self.errors.push(of_file(&file, &error));
                    continue;
                }
            };
            let Some(format) = head.format.filter(|_| wanted(&head)) else {
                continue;
            };
            if format == Format::PodSession {
                let session = file.parent().and_then(session_folder);
                let source = session.unwrap_or_else(|| Source::file(file));
                if !self.sources.contains(&source) {
                    self.sources.push(source);
                }
                continue;
            }
            let session = head.sessions.into_iter().next();
            if let (Some(_), Some(session)) = (&head.sub_agent, &session) {
                sub_agents.push((session.clone(), file));
                continue;
            }
            if let Some(session) = session {
                of_session.entry(session).or_insert(self.sources.len());
            }
            self.sources.push(Source::file(file));
        }
        for (session, file) in sub_agents {
            let parent = of_session.get(&session);
            match parent.and_then(|&index| self.sources.get_mut(index)) {
                Some(source) => source.files.push(file),
                None => self.sources.push(Source::file(file)),
            }
        }
    }
}

/// What the beginning of a file tells. Nothing if it does not even look like JSON.
fn head(path: &Path) -> io::Result<Report> {
    let mut file = File::open(path)?;
    let mut beginning = [0; 4096];
    let read = file.read(&mut beginning)?;
    let beginning = beginning.get(..read).unwrap_or(&[]);
    let begins = |line: &[u8]| line.trim_ascii_start().first() == Some(&b'{');
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    if !text.split(|&byte| byte == b'\n').any(begins) {
        return Ok(Report::default());
    }
    transcripts::detect(beginning.chain(file))
}

/// A session's log, with the files that its sub-agents wrote: `SESSION/subagents/agent-*.jsonl` beside
/// `SESSION.jsonl`.
fn with_sub_agents(path: PathBuf) -> Source {
    let folder = path.with_extension("").join("subagents");
    let mut source = Source::file(path);
    if folder.is_dir() {
        source.files.extend(
            files_below(&folder, &mut Vec::new())
                .into_iter()
                .filter(|file| head(file).is_ok_and(|head| head.sub_agent.is_some())),
        );
    }
    source
}

/// The newest segment of a Pod session, if the folder is one: it is self-contained.
pub(crate) fn session_folder(folder: &Path) -> Option<Source> {
    let is_segment = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "jsonl")
            && path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .is_some_and(|stem| {
                    stem.len() >= 4 && stem.bytes().all(|byte| byte.is_ascii_digit())
                })
    };
    let mut segments: Vec<PathBuf> = entries(folder, &mut Vec::new())
        .into_iter()
        .filter(is_segment)
        .collect();
    segments.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    // A newest segment without a header was never begun: the one before it is the session.
    segments.into_iter().rev().find_map(|segment| {
        let head = head(&segment).ok()?;
        (head.format == Some(Format::PodSession)).then(|| Source::file(segment))
    })
}

/// All files below a folder, in a fixed order. Hidden ones and links are left out.
fn files_below(folder: &Path, errors: &mut Vec<io::Error>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in entries(&folder, errors) {
            let hidden = entry
                .file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            match fs::symlink_metadata(&entry) {
                _ if hidden => {}
                Ok(kind) if kind.is_dir() => folders.push(entry),
                Ok(kind) if kind.is_file() => files.push(entry),
                Ok(_) => {}
                Err(error) => errors.push(of_file(&entry, &error)),
            }
        }
    }
    files.sort();
    files
}

fn entries(folder: &Path, errors: &mut Vec<io::Error>) -> Vec<PathBuf> {
    if !folder.is_dir() {
        return Vec::new();
    }
    let mut entries = Vec::new();
    match fs::read_dir(folder) {
        Ok(found) => {
            for entry in found {
                match entry {
                    Ok(entry) => entries.push(entry.path()),
                    Err(error) => errors.push(of_file(folder, &error)),
                }
            }
        }
        Err(error) => errors.push(of_file(folder, &error)),
    }
    entries
}

fn is_pattern(name: &Path) -> bool {
    let name = name.as_os_str().as_encoded_bytes();
    name.iter()
        .any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'{'))
}

/// The files that a pattern means, for shells that do not expand it.
fn matching(pattern: &Path, errors: &mut Vec<io::Error>) -> anyhow::Result<Vec<PathBuf>> {
    let text = pattern
        .to_str()
        .with_context(|| format!("{} is no Unicode text", pattern.display()))?;
    let glob = GlobBuilder::new(text)
        .literal_separator(true)
        .build()
        .with_context(|| format!("{text} is no pattern of files"))?
        .compile_matcher();
    let mut root = PathBuf::new();
    for part in pattern.components() {
        if is_pattern(Path::new(part.as_os_str())) {
            break;
        }
        root.push(part);
    }
    if root.as_os_str().is_empty() {
        root.push(".");
    }
    let plain = |path: &Path| path.strip_prefix(".").map(Path::to_owned);
    Ok(files_below(&root, errors)
        .into_iter()
        .map(|path| plain(&path).unwrap_or(path))
        .filter(|path| glob.is_match(path))
        .collect())
}

/// The session with this id, or with an id that begins so, among those of this directory.
fn session_called(
    name: &Path,
    sessions: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<Source> {
    let id = name.to_string_lossy();
    let mut found = of_directory(sessions, environment);
    found.sources.retain(|source| {
        let file = source.files.first();
        let stem = file.and_then(|file| file.file_stem());
        let folder = file.and_then(|file| file.parent()?.file_name());
        [stem, folder]
            .into_iter()
            .flatten()
            .any(|part| part.to_string_lossy().contains(id.as_ref()))
    });
    match (found.sources.pop(), found.sources.len()) {
        (Some(source), 0) if id.len() >= 4 => Ok(source),
        (Some(_), more) if id.len() >= 4 => {
            bail!(
                "{id} is neither a file nor the id of one session: {} sessions of this directory have it in their ids",
                more + 1
            )
        }
        _ => bail!(
            "{id} is neither a file nor the id of a session of this directory; `pod tasks` without arguments lists those"
        ),
    }
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
