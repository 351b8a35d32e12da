//! Where commands may write: Landlock holds them to it on Linux.
//!
//! Reading is free, since a toolchain reads from everywhere. Writing is not: the directories of the
//! scope with the repository that they are in, temporary directories, devices such as `/dev/null`, and
//! the caches of toolchains. Landlock restricts a thread and all that is started from it, so a command
//! is started from a thread of its own and no code runs between fork and exec.
//! Source: the kernel's `userspace-api/landlock.rst`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Scope;

/// What toolchains keep below the home directory: caches, and what they have installed.
const CACHES: &[&str] = &[
    ".bun",
    ".bundle",
    ".cabal",
    ".cache",
    ".cargo",
    ".ccache",
    ".composer",
    ".conan2",
    ".deno",
    ".dotnet",
    ".gem",
    ".gradle",
    ".hex",
    ".ivy2",
    ".julia",
    ".konan",
    ".m2",
    ".mix",
    ".npm",
    ".nuget",
    ".opam",
    ".pub-cache",
    ".rustup",
    ".sbt",
    ".stack",
    ".yarn",
    "go",
];

/// Variables that name such a directory where it is somewhere else.
const CACHE_VARIABLES: &[&str] = &[
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CCACHE_DIR",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GRADLE_USER_HOME",
    "NPM_CONFIG_CACHE",
    "PIP_CACHE_DIR",
    "PNPM_HOME",
    "RUSTUP_HOME",
    "TMPDIR",
    "UV_CACHE_DIR",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "YARN_CACHE_FOLDER",
    "npm_config_cache",
];

/// Places that every program may write to.
const FOR_ALL: &[&str] = &[
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/dev/pts",
    "/dev/ptmx",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/fd",
];

/// Whether commands are held to where they may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// Landlock holds them.
    Landlock,
    /// It was turned off.
    Off,
    /// The system has no Landlock: another system than Linux, a kernel before 5.13, or one that was
    /// started without it.
    Unavailable,
}

impl Confinement {
    /// The name for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Off => "off",
            Self::Unavailable => "unavailable",
        }
    }

    /// What it means, for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Landlock => {
                "Bash may write in the working directory, added and temporary directories and caches only (Landlock)"
            }
            Self::Off => "Bash may write wherever you may: the sandbox is turned off",
            Self::Unavailable => {
                "Bash may write wherever you may: this system has no Landlock (Linux 5.13 or newer)"
            }
        }
    }
}

/// The places that commands may write to.
#[derive(Clone, Debug)]
pub(super) struct Sandbox {
    places: Arc<[PathBuf]>,
}

impl Sandbox {
    /// The sandbox for a scope and the variables that commands get; `None` where there can be none.
    pub(super) fn new(scope: &Scope, environment: &[(OsString, OsString)]) -> Option<Self> {
        if !is_available() {
            return None;
        }
        let variable = |wanted: &str| {
            let found = environment.iter().rfind(|(name, _)| name == wanted);
            found
                .map(|(_, value)| PathBuf::from(value))
                .filter(|path| path.is_absolute())
        };
        let home = variable("HOME").filter(|home| home.parent().is_some());
        let caches = home
            .iter()
            .flat_map(|home| CACHES.iter().map(|name| home.join(name)));
        let named = CACHE_VARIABLES.iter().filter_map(|name| variable(name));
        // A variable that names the root, or the whole home, would take all meaning from this.
        let named = named.filter(|path| {
            path.parent().is_some() && !home.as_ref().is_some_and(|home| home.starts_with(path))
        });
        let repositories = scope
            .directories()
            .iter()
            .filter_map(|directory| repository_of(directory));
        let places = scope
            .directories()
            .iter()
            .cloned()
            .chain(repositories)
            .chain(FOR_ALL.iter().map(PathBuf::from))
            .chain(caches)
            .chain(named);
        Some(Self {
            places: places.collect(),
        })
    }

    /// Does something in a thread that is held to these places, with all that it starts.
    pub(super) fn within<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        std::thread::scope(|threads| {
            let thread = std::thread::Builder::new().name(String::from("sandbox"));
            let confined = thread.spawn_scoped(threads, || {
                restrict_thread(&self.places)?;
                work()
            })?;
            confined
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread that starts it broke down")))
        })
    }
}

/// The `.git` that a directory belongs to, where it is not inside of it: of the directory above, or of
/// the repository that a linked worktree belongs to. Without it `git commit` would fail.
fn repository_of(directory: &Path) -> Option<PathBuf> {
    let dot_git = directory
        .ancestors()
        .map(|it| it.join(".git"))
        .find(|it| it.exists())?;
    if dot_git.is_dir() {
        return (!dot_git.starts_with(directory)).then_some(dot_git);
    }
    // A file that names the directory of the worktree, which names the common one. Both are believed
    // only if they look like what git makes, since whoever writes the scope can write this file.
    let text = std::fs::read_to_string(&dot_git).ok()?;
    let named = text.strip_prefix("gitdir:")?.trim();
    let worktree = dot_git.parent()?.join(named).canonicalize().ok()?;
    let back = std::fs::read_to_string(worktree.join("gitdir")).ok()?;
    if Path::new(back.trim()) != dot_git {
        return None;
    }
    let common = std::fs::read_to_string(worktree.join("commondir")).ok()?;
    let common = worktree.join(common.trim()).canonicalize().ok()?;
    common.join("HEAD").is_file().then_some(common)
}

/// Whether the system can hold commands to where they may write.
#[cfg(target_os = "linux")]
pub(super) fn is_available() -> bool {
    use landlock::{ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _};

    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(ABI::V1))
        .and_then(Ruleset::create)
        .is_ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_available() -> bool {
    false
}

/// Holds this thread, and all that is started from it, to writing in these places. Those that do not
/// exist are left out.
#[cfg(target_os = "linux")]
fn restrict_thread(places: &[PathBuf]) -> io::Result<()> {
    use landlock::{
        ABI, AccessFs, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus,
        path_beneath_rules,
    };

    lose_sight_of_others();
    // Version 3 knows all ways to change a file. What came later is about devices and sockets.
    let write = AccessFs::from_write(ABI::V3);
    let status = Ruleset::default()
        .handle_access(write)
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(places, write)))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(|error| io::Error::other(format!("the sandbox cannot be set up: {error}")))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::other("the system does not hold to the sandbox"));
    }
    Ok(())
}

/// Takes from root what lets it read the memory of any process. It has these rights of its own, so that
/// neither the domain nor that this program hides its memory would stop it (seen with Linux 6.18, where
/// `CAP_PERFMON` opens `/proc/PID/environ`). For others, who lack them, this does nothing.
#[cfg(target_os = "linux")]
fn lose_sight_of_others() {
    use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

    for capability in [
        CapabilitySet::SYS_PTRACE,
        CapabilitySet::SYS_ADMIN,
        CapabilitySet::PERFMON,
    ] {
        let _ = remove_capability_from_bounding_set(capability);
    }
}

#[cfg(not(target_os = "linux"))]
fn restrict_thread(_places: &[PathBuf]) -> io::Result<()> {
    Err(io::Error::other("this system has no Landlock"))
}

#[cfg(test)]
#[path = "sandbox_tests.rs"]
mod tests;
