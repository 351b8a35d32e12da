//! The real binary in a world of its own: a scratch directory, a clean environment.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A scratch directory with a working directory and a `POD_HOME` in it.
pub(crate) struct World {
    root: TempDir,
}

/// What a command printed and how it ended.
#[must_use]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("work")).unwrap();
        Self { root }
    }

    /// The working directory.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work").canonicalize().unwrap()
    }

    /// `POD_HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Writes a file into the working directory and gives its path.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.work().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The program with these arguments, ready to start.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pod"));
        command
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root.path())
            .env("POD_HOME", self.home())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program.
    pub(crate) fn pod(&self, arguments: &[&str]) -> Ran {
        Self::finish(&mut self.command(arguments))
    }

    /// Runs the program with something on standard input.
    pub(crate) fn pod_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        // A file, so that a program that does not read it cannot block the test.
        let path = self.root.path().join("stdin");
        std::fs::write(&path, input).unwrap();
        let stdin = std::fs::File::open(path).unwrap();
        Self::finish(self.command(arguments).stdin(stdin))
    }

    pub(crate) fn finish(command: &mut Command) -> Ran {
        let output = command.output().unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The directories of all sessions.
    fn sessions(&self) -> Vec<PathBuf> {
        let projects = children(&self.home().join("sessions"));
        projects.iter().flat_map(|it| children(it)).collect()
    }

    /// The directory of the only session.
    pub(crate) fn session(&self) -> PathBuf {
        let mut found = self.sessions();
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    /// The text of the only session's first segment, if there is one yet.
    pub(crate) fn log(&self) -> Option<String> {
        let session = self.sessions().into_iter().next()?;
        std::fs::read_to_string(session.join("0001.jsonl")).ok()
    }

    /// Replaces what differs from run to run.
    pub(crate) fn steady(&self, text: &str) -> String {
        let root = self.root.path().canonicalize().unwrap();
        let mut steady = text
            .replace(&*root.to_string_lossy(), "[ROOT]")
            .replace(&*self.root.path().to_string_lossy(), "[ROOT]");
        // The project is named by a hash of the path. From the end, so that places stay.
        let projects = steady.rmatch_indices("/sessions/work-");
        let hashes: Vec<usize> = projects.map(|(begin, found)| begin + found.len()).collect();
        for hash in hashes {
            steady.replace_range(hash..hash + 16, "[HASH]");
        }
        // Ids, by their form.
        while let Some((begin, id)) = find_id(&steady) {
            let end = begin + id.len();
            steady.replace_range(begin..end, "[ID]");
        }
        steady
    }
}

impl Ran {
    /// The code and both outputs, for a snapshot.
    pub(crate) fn shown(&self, world: &World) -> String {
        let code = self
            .code
            .map_or(String::from("signal"), |it| it.to_string());
        format!(
            "exit {code}\n--- stdout\n{}\n--- stderr\n{}",
            world.steady(self.stdout.trim_end()),
            world.steady(self.stderr.trim_end())
        )
    }

    /// The standard output of a command that must have succeeded.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }
}

fn children(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory)
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default()
}

fn find_id(text: &str) -> Option<(usize, &str)> {
    const LENGTH: usize = 36;
    (0..text.len().saturating_sub(LENGTH - 1)).find_map(|begin| {
        let candidate = text.get(begin..begin + LENGTH)?;
        candidate
            .parse::<uuid::Uuid>()
            .is_ok()
            .then_some((begin, candidate))
    })
}
