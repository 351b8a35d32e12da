//! Where the file tools may work: the working directory and the directories added to it.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::{ToolError, bounded};

/// The directories in which the file tools may read and write.
///
/// A clone is cheap and the same scope. What is inside is decided after all symlinks are resolved,
/// also those that lead to a file that does not exist yet.
#[derive(Clone, Debug)]
pub struct Scope {
    // The working directory first. All real paths: absolute, without symlinks and dots.
    directories: Arc<[PathBuf]>,
}

impl Scope {
    /// A scope of a working directory, where relative paths start, and additional directories.
    ///
    /// # Errors
    /// If one of them does not exist or is not a directory. The error names it.
    pub fn new(
        working_directory: impl Into<PathBuf>,
        additional_directories: impl IntoIterator<Item = PathBuf>,
    ) -> io::Result<Self> {
        let all = std::iter::once(working_directory.into()).chain(additional_directories);
        Ok(Self {
            directories: all
                .map(|path| real_directory(&path))
                .collect::<io::Result<_>>()?,
        })
    }

    /// Where relative paths start, as a real path.
    pub fn working_directory(&self) -> &Path {
        self.directories.first().map_or(Path::new(""), |it| it)
    }

    /// All directories of the scope, the working directory first, as real paths.
    pub fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    /// The real path that an argument stands for. The file need not exist; of what does exist on the
    /// way to it, symlinks are resolved.
    ///
    /// # Errors
    /// If the path ends outside the scope, goes through a loop of symlinks, or cannot be looked up.
    pub fn resolve(&self, argument: &str) -> Result<PathBuf, ToolError> {
        if argument.is_empty() {
            return Err(ToolError::new("the path is empty"));
        }
        let shown = shortened(&printable(Path::new(argument)));
        if argument == "~" || argument.starts_with("~/") {
            let message = format!("~ is not expanded in {shown}; give an absolute path");
            return Err(ToolError::new(message));
        }
        let path = self
            .locate(Path::new(argument))
            .map_err(|error| ToolError::new(format!("cannot look up {shown}: {error}")))?;
        if !self.is_inside(&path) {
            let mut directories = String::new();
            for directory in self.directories.iter() {
                let comma = if directories.is_empty() { "" } else { ", " };
                directories = format!("{directories}{comma}{}", printable(directory));
            }
            let directories = shortened(&directories);
            let message = format!("{shown} is outside the allowed directories: {directories}");
            return Err(ToolError::new(message));
        }
        Ok(path)
    }

    /// Whether the path, relative to the working directory and with its symlinks resolved, is inside
    /// the scope.
    pub fn contains(&self, path: &Path) -> bool {
        self.locate(path).is_ok_and(|path| self.is_inside(&path))
    }

    /// The path as the model is to see it: relative to the working directory where it is in it, in
    /// JSON quotes where it has control characters.
    pub fn display(&self, path: &Path) -> String {
        match path.strip_prefix(self.working_directory()) {
            Ok(relative) if relative.as_os_str().is_empty() => String::from("."),
            Ok(relative) => printable(relative),
            Err(_) => printable(path),
        }
    }

    /// The same in at most about 120 bytes, for errors.
    pub(super) fn short(&self, path: &Path) -> String {
        shortened(&self.display(path))
    }

    fn is_inside(&self, path: &Path) -> bool {
        self.directories.iter().any(|it| path.starts_with(it)) && !is_pseudo(path)
    }

    /// The real path. Unlike `canonicalize` it also takes paths that do not exist (yet), and follows
    /// a symlink whose target does not exist: writing through such a link would create the target.
    fn locate(&self, path: &Path) -> io::Result<PathBuf> {
        // As many as Linux follows.
        let mut links_left = 40;
        let mut rest = reversed(path);
        let mut real = self.working_directory().to_owned();
        while let Some(part) = rest.pop() {
            if part == ".." {
                real.pop();
                continue;
            }
            real.push(part);
            match std::fs::symlink_metadata(&real) {
                Ok(metadata) if metadata.is_symlink() => {
                    if links_left == 0 {
                        return Err(io::Error::other("too many levels of symlinks"));
                    }
                    links_left -= 1;
                    let target = std::fs::read_link(&real)?;
                    real.pop();
                    rest.extend(reversed(&target));
                }
                Ok(_) => {}
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(real)
    }
}

/// Whether the path is in a tree that the kernel makes up. Its files are no files of a project, and
/// some hold what a model must not see: `/proc/self/environ` has the API keys.
pub(super) fn is_pseudo(path: &Path) -> bool {
    ["/proc", "/sys"].iter().any(|it| path.starts_with(it))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn real_directory(path: &Path) -> io::Result<PathBuf> {
    let explain =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let real = path.canonicalize().map_err(explain)?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(explain(io::ErrorKind::NotADirectory.into()))
    }
}

/// The parts of the path, the last one first. Pushing a root replaces all that was before it.
fn reversed(path: &Path) -> Vec<OsString> {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
        .rev()
        .collect()
}

fn shortened(text: &str) -> String {
    bounded::middle_out(text, 90).replace('\n', " ")
}

fn printable(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.chars().any(char::is_control) {
        return serde_json::Value::from(text.as_ref()).to_string();
    }
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::fs::testing::{Space, said};

    #[test]
    fn what_is_inside_resolves_to_its_real_path() {
        let space = Space::new();
        space.file("src/main.rs", "");
        symlink("src", space.path("link")).unwrap();
        symlink(space.path("src/new.rs"), space.path("dangling")).unwrap();

        for (argument, real) in [
            ("src/main.rs", "src/main.rs"),
            ("./src/../src//main.rs", "src/main.rs"),
            ("link/main.rs", "src/main.rs"),
            ("link/../link/new.rs", "src/new.rs"),
            ("dangling", "src/new.rs"),
            ("no/such/../file", "no/file"),
            ("src/main.rs/x", "src/main.rs/x"),
            ("日本 語/é.txt", "日本 語/é.txt"),
            ("./~/x", "~/x"),
        ] {
            assert_eq!(space.scope.resolve(argument), Ok(space.path(real)));
        }
        assert_eq!(space.scope.resolve("."), Ok(space.path("")));
        let absolute = space.path("src/main.rs");
        let argument = absolute.to_str().unwrap();
        assert_eq!(space.scope.resolve(argument), Ok(absolute.clone()));
    }

    #[test]
    fn what_ends_outside_is_refused() {
        let space = Space::new();
        fs::create_dir(space.outside("dir")).unwrap();
        fs::write(space.outside("secret"), "x").unwrap();
        symlink(space.outside("secret"), space.path("file_link")).unwrap();
        symlink(space.outside("dir"), space.path("dir_link")).unwrap();
        symlink(space.outside("new"), space.path("dangling")).unwrap();
        symlink("../outside/new", space.path("relative")).unwrap();
        symlink("dangling", space.path("chain")).unwrap();
        symlink("loop", space.path("loop")).unwrap();
        // A sibling whose name starts with the name of the working directory.
        fs::create_dir(space.outside("../work-other")).unwrap();

        let mut errors = String::new();
        for argument in [
            "",
            "..",
            "../outside/secret",
            "no/../../outside/secret",
            "../work-other/x",
            "/etc/passwd",
            "file_link",
            "file_link/x",
            "dir_link/x",
            "dir_link/../secret",
            "dangling",
            "relative",
            "chain",
            "loop",
            "~/x",
            "~",
            "a\0b",
            "../line\nbreak",
        ] {
            let result = space.scope.resolve(argument);
            errors.push_str(&space.clean(&said(result)));
            let inside = argument.starts_with('~');
            assert_eq!(
                space.scope.contains(Path::new(argument)),
                inside || argument.is_empty()
            );
        }
        insta::assert_snapshot!(errors);
    }

    #[test]
    fn an_error_is_short_however_long_the_path() {
        let space = Space::new();
        for argument in ["../x".repeat(5000), "/é".repeat(3000), "../é".repeat(60)] {
            let message = space.scope.resolve(&argument).unwrap_err().message;
            assert!(message.len() < 300, "{message}");
        }
    }

    #[test]
    fn additional_directories_are_inside() {
        let space = Space::new();
        let scope = Scope::new(space.path(""), [space.outside("")]).unwrap();
        assert_eq!(scope.resolve("../outside/x"), Ok(space.outside("x")));
        assert!(scope.contains(&space.outside("x/y")));
        assert!(!scope.contains(&space.outside("../x")));
        assert_eq!(scope.display(&space.path("a/b")), "a/b");
        assert_eq!(scope.display(&space.path("")), ".");
        assert_eq!(scope.display(&space.path("a\nb")), r#""a\nb""#);
        assert_eq!(
            scope.display(&space.outside("a")),
            space.outside("a").to_str().unwrap()
        );
    }

    #[test]
    fn the_trees_of_the_kernel_are_never_inside() {
        let scope = Scope::new("/", []).unwrap();
        assert!(scope.contains(Path::new("/etc/passwd")));
        assert!(!scope.contains(Path::new("/proc/self/environ")));
        assert!(!scope.contains(Path::new("/etc/../proc/self/environ")));
        assert!(!scope.contains(Path::new("/sys/kernel")));
    }

    #[test]
    fn a_scope_needs_directories() {
        let space = Space::new();
        let file = space.file("file", "");
        let error = Scope::new(&file, []).unwrap_err().to_string();
        assert_eq!(space.clean(&error), "[work]/file: not a directory");
        let missing = Scope::new(space.path(""), [space.path("no")]).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(missing.to_string().contains("/no: "));
    }
}
