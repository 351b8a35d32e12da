//! What the views need of the process around them, so that tests can give them another.

use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::terminal::{Terminal, variable};

/// The process around a view.
pub(crate) struct Environment {
    /// Standard input.
    pub(crate) stdin: Box<dyn Read + Send>,
    /// Where standard output goes.
    pub(crate) out: Terminal,
    /// Where standard error goes.
    pub(crate) err: Terminal,
    /// The working directory.
    pub(crate) directory: PathBuf,
    /// Where Claude Code keeps its files, `~/.claude`.
    pub(crate) claude: Option<PathBuf>,
    /// Where codex keeps its files, `~/.codex`.
    pub(crate) codex: Option<PathBuf>,
    /// The time.
    pub(crate) now: Timestamp,
    /// How long it has been at work.
    pub(crate) elapsed: Box<dyn Fn() -> Duration>,
    /// Waits for a log to grow. `false` ends the watch.
    pub(crate) wait: Box<dyn FnMut() -> bool>,
}

/// How often a log that is followed is looked at. A person does not see a quarter of a second, and a
/// look costs one `stat`.
const PAUSE: Duration = Duration::from_millis(250);

impl Environment {
    /// The process that this is.
    pub(crate) fn of_process() -> std::io::Result<Self> {
        let home = variable("HOME").map(PathBuf::from);
        let started = Instant::now();
        let place = |name: &str, folder: &str| {
            variable(name)
                .map(PathBuf::from)
                .or_else(|| home.as_ref().map(|home| home.join(folder)))
        };
        Ok(Self {
            stdin: Box::new(std::io::stdin()),
            out: Terminal::of_stdout(),
            err: Terminal::of_stderr(),
            directory: std::env::current_dir()?,
            claude: place("CLAUDE_CONFIG_DIR", ".claude"),
            codex: place("CODEX_HOME", ".codex"),
            now: Timestamp::now(),
            elapsed: Box::new(move || started.elapsed()),
            wait: Box::new(|| {
                std::thread::sleep(PAUSE);
                true
            }),
        })
    }
}
