//! Starts a program against the server, and what is to be known of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::floor;
use crate::server::{Exchange, Script, Server};

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Pod,
    Floor,
    /// The floor with a sync for each line.
    FloorWithSync,
}

/// A place for sessions, and the server.
pub(crate) struct Bench {
    pub(crate) server: Server,
    pub(crate) folder: tempfile::TempDir,
}

/// What came of a run.
pub(crate) struct Measured {
    pub(crate) start: Instant,
    pub(crate) exchanges: Vec<Exchange>,
    /// The most memory that the process had, in kilobytes, if it was asked for.
    pub(crate) memory: u64,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            server: Server::start().expect("a server"),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Where the programs work.
    pub(crate) fn work(&self) -> PathBuf {
        let work = self.folder.path().join("work");
        fs::create_dir_all(&work).expect("a folder");
        work.canonicalize().expect("a folder")
    }

    pub(crate) fn floor_log(&self) -> PathBuf {
        self.folder.path().join("floor.jsonl")
    }

    /// Removes what sessions there are.
    pub(crate) fn clear(&self) {
        let _ = fs::remove_dir_all(self.home());
        let _ = fs::remove_file(self.floor_log());
    }

    /// Runs one prompt to its end, to see how long that takes.
    pub(crate) fn run(&self, who: Who, go_on: bool, script: Script) -> Measured {
        self.server.expect(script, false);
        self.start(Command::new(program(who)), who, go_on)
    }

    /// Runs one prompt to its end, to see what it needs and says.
    pub(crate) fn examine(&self, who: Who, go_on: bool, script: Script) -> Measured {
        self.server.expect(script, true);
        // GNU time tells the most memory that a program had. It takes time itself.
        let mut command = Command::new("/usr/bin/time");
        command.args(["-f", "%M"]).arg(program(who));
        self.start(command, who, go_on)
    }

    fn start(&self, mut command: Command, who: Who, go_on: bool) -> Measured {
        match who {
            Who::Pod => {
                command.args(["-p", "Check the figures.", "--model", "claude-sonnet-4-5"]);
                command.args(["--quiet"]);
                if go_on {
                    command.arg("--continue");
                }
            }
            Who::Floor | Who::FloorWithSync => {
                let sync = if who == Who::Floor { "-" } else { "sync" };
                command
                    .args([floor::COMMAND, &self.server.address])
                    .arg(self.floor_log())
                    .args([sync, "Check the figures."]);
            }
        }
        command
            .env_clear()
            .env("HOME", self.folder.path())
            .env("POD_HOME", self.home())
            .env("ANTHROPIC_BASE_URL", &self.server.address)
            .env("ANTHROPIC_API_KEY", "none")
            .current_dir(self.work())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let start = Instant::now();
        let output = command.output().expect("the program and GNU time");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{who:?}: {told}");
        let memory = told
            .lines()
            .last()
            .and_then(|line| line.trim().parse().ok());
        Measured {
            start,
            exchanges: self.server.exchanges(),
            memory: memory.unwrap_or_default(),
        }
    }
}

fn program(who: Who) -> PathBuf {
    match who {
        Who::Pod => PathBuf::from(env!("CARGO_BIN_EXE_pod")),
        Who::Floor | Who::FloorWithSync => std::env::current_exe().expect("this program"),
    }
}

/// From an answer to the first byte of the request behind it.
pub(crate) fn gaps(exchanges: &[Exchange]) -> Vec<Duration> {
    exchanges
        .windows(2)
        .map(|pair| pair[1].begun.saturating_duration_since(pair[0].answered))
        .collect()
}

pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The bytes of all files below a directory.
pub(crate) fn bytes_below(path: &Path) -> u64 {
    let Ok(about) = fs::symlink_metadata(path) else {
        return 0;
    };
    if about.is_file() {
        return about.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| bytes_below(&entry.path())).sum()
}

/// The processor time of all children that have ended, to a hundredth of a second.
pub(crate) fn children_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("/proc");
    // proc(5): cutime and cstime are fields 16 and 17; the name in field 2 may hold spaces.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or("")
        .split_whitespace()
        .collect();
    let ticks: u64 = [13, 14]
        .iter()
        .map(|&at| fields[at].parse::<u64>().expect("a number"))
        .sum();
    Duration::from_millis(ticks * 10)
}
