//! Patterns of rules against paths.

use std::io;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// Where paths in rules and calls start from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bases<'a> {
    /// The working directory.
    pub(super) directory: &'a Path,
    /// What `~` means in a rule, if it is known.
    pub(super) home: Option<&'a Path>,
}

/// Whether the path leads, once links are followed, to one that the pattern means.
pub(super) fn is_allowed(pattern: &str, path: &str, bases: Bases<'_>) -> bool {
    let pattern = Pattern::new(pattern, bases);
    resolved(&bases.directory.join(path)).is_ok_and(|path| pattern.matches(&path))
}

/// Whether the path may be one that the pattern means: by what it says, or by where it leads.
pub(super) fn is_forbidden(pattern: &str, path: &str, bases: Bases<'_>) -> bool {
    let joined = bases.directory.join(path);
    let pattern = Pattern::new(pattern, bases);
    pattern.is_broken
        || pattern.matches(&lexical(&joined))
        || resolved(&joined).is_ok_and(|path| pattern.matches(&path))
}

/// A pattern made absolute.
struct Pattern {
    /// The path that it is when no character of it is special.
    literal: PathBuf,
    globs: Vec<GlobMatcher>,
    /// Whether it is no glob: then nobody knows what it means.
    is_broken: bool,
}

impl Pattern {
    fn new(pattern: &str, bases: Bases<'_>) -> Self {
        let Bases { directory, home } = bases;
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        let below_home = pattern
            .strip_prefix('~')
            .filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let pattern = match (below_home, home) {
            (Some(rest), Some(home)) => {
                format!("{}{rest}", globset::escape(&home.to_string_lossy()))
            }
            // Two slashes mark an absolute path in the rules of the Agent SDK.
            _ => match pattern.strip_prefix("//") {
                Some(rest) => format!("/{rest}"),
                None => pattern.to_owned(),
            },
        };
        let absolute = if Path::new(&pattern).is_absolute() {
            pattern.clone()
        } else {
            // A pattern without a slash is about names, as in ignore files.
            let directory = globset::escape(&directory.to_string_lossy());
            let anywhere = if pattern.contains('/') { "" } else { "**/" };
            format!("{}/{anywhere}{pattern}", directory.trim_end_matches('/'))
        };
        let absolute = lexical(Path::new(&absolute)).to_string_lossy().into_owned();
        let texts = [format!("{absolute}/**"), absolute];
        let globs: Vec<GlobMatcher> = texts.iter().filter_map(|text| glob(text)).collect();
        Self {
            literal: lexical(&directory.join(&pattern)),
            is_broken: globs.len() < texts.len(),
            globs,
        }
    }

    fn matches(&self, path: &Path) -> bool {
        path.starts_with(&self.literal) || self.globs.iter().any(|glob| glob.is_match(path))
    }
}

fn glob(text: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    Some(glob.ok()?.compile_matcher())
}

/// The path without `.` and `..`, as its text says.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Where the path leads: links are followed in the part of it that exists.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut missing = Vec::new();
    for existing in path.ancestors() {
        match existing.canonicalize() {
            Ok(real) => {
                return Ok(missing
                    .iter()
                    .rev()
                    .fold(real, |path, name| path.join(name)));
            }
            // What a link that leads nowhere would become, nobody knows.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !existing.is_symlink() => {
                let Some(name) = existing.file_name() else {
                    return Err(error);
                };
                missing.push(name);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}
