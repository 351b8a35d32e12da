//! `pod tasks`: the task list that a session of any agent ended with, and how it got there.
//!
//! - [`find`]: what is meant by the arguments. [`load`]: reading it.
//! - [`table`], [`json`], [`markdown`], [`timeline`], [`overview`]: one module a form of output.
//! - [`follow`]: a log that grows; [`live`]: the view that it shares with `pod watch`.
//! - [`faults`]: what could not be read.

mod environment;
mod faults;
mod find;
mod follow;
mod json;
pub(crate) mod live;
mod load;
mod markdown;
mod overview;
mod progress;
mod table;
pub(crate) mod terminal;
pub(crate) mod text;
mod timeline;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) use environment::Environment;
pub(crate) use faults::write as write_faults;
pub(crate) use load::{Folder, Loaded, Source, load_all};
pub(crate) use table::write as write_table;
pub(crate) use terminal::variable;

use find::Found;

/// The options of `pod tasks`.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Options {
    /// Logs of any agent, ids of sessions, folders, or patterns; `-` is standard input. Without any:
    /// the sessions of this directory, of Pod, Claude Code and codex
    #[arg(value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,

    /// One JSON object a log, see docs/tasks-json.md
    #[arg(long)]
    pub(crate) json: bool,

    /// Check boxes for an issue or a note
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,

    /// Who changed what, when, from what to what
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) timeline: bool,

    /// The todo lists of sub-agents too
    #[arg(long)]
    pub(crate) all: bool,

    /// The logs are of one list: an agent team, or a session and its sub-agents
    #[arg(long, requires = "logs")]
    pub(crate) merge: bool,

    /// Go on as the log grows
    #[arg(long, short, requires = "logs", conflicts_with_all = ["merge", "markdown"])]
    pub(crate) follow: bool,

    /// Say in which lines something could not be read
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// The folder of the Pod sessions of this directory.
    #[arg(skip)]
    pub(crate) sessions: Option<PathBuf>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// The list is good.
    Good,
    /// No log has tasks.
    NoTasks,
    /// Something that the list should have may be missing.
    Gaps,
    /// A log could not be read.
    Failed,
}

impl Outcome {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Failed => 1,
            Self::Gaps => 3,
            Self::NoTasks => 4,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        outcome.code().into()
    }
}

/// Runs `pod tasks`.
pub(crate) fn run(
    options: &Options,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let mut environment = Environment::of_process()?;
    run_in(options, &mut environment, out, err).map(ExitCode::from)
}

/// Runs `pod tasks` in a process of this kind.
pub(crate) fn run_in(
    options: &Options,
    environment: &mut Environment,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let sessions = options.sessions.as_deref();
    let found = if options.logs.is_empty() {
        find::of_directory(sessions, environment)
    } else {
        find::named(&options.logs, sessions, environment)?
    };
    let shown = if options.follow {
        follow::run(&found, options, environment, out, err)
    } else {
        show(found, options, environment, out, err)
    };
    match shown {
        // Nobody reads on, as in `pod tasks | head`.
        Err(error) if is_broken_pipe(&error) => Ok(Outcome::Good),
        other => other,
    }
}

pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn show(
    mut found: Found,
    options: &Options,
    environment: &mut Environment,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    if options.merge {
        let files = found.sources.drain(..).flat_map(|source| source.files);
        let files = files.collect();
        found.searched = false;
        found.sources = vec![Source {
            files,
            merged: true,
        }];
    }
    let mut failed = !found.errors.is_empty();
    for error in &found.errors {
        complain(error, err)?;
    }
    let keep = options.timeline;
    let mut loaded = Vec::new();
    let (stdin, files): (Vec<Source>, Vec<Source>) = found
        .sources
        .into_iter()
        .partition(|it| it.files.is_empty());
    let mut results = load::load_all(&files, keep);
    for source in stdin {
        let result = load::load(source.clone(), &mut environment.stdin, keep);
        results.push((source, result));
    }
    for (_, result) in results {
        match result {
            Ok(it) => loaded.push(it),
            Err(error) => {
                failed = true;
                complain(&error, err)?;
            }
        }
    }
    if found.searched {
        overview::sort(&mut loaded);
    }
    print(&loaded, found.searched, options, environment, out)?;
    for it in &loaded {
        faults::write(it, options.verbose, err)?;
    }
    Ok(outcome(&loaded, failed))
}

fn complain(error: &io::Error, err: &mut dyn Write) -> io::Result<()> {
    writeln!(err, "pod: {}", text::clean(&error.to_string()))
}

fn print(
    loaded: &[Loaded],
    searched: bool,
    options: &Options,
    environment: &Environment,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = environment.out;
    if options.json {
        for it in loaded {
            json::write(it, options.timeline, out)?;
        }
    } else if options.markdown || options.timeline {
        for (index, it) in loaded.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            if options.markdown {
                markdown::write(it, options.all, out)?;
            } else {
                timeline::write(it, terminal, out)?;
            }
        }
    } else {
        match loaded {
            [] if !searched => {}
            [it] if !searched || options.logs.is_empty() => {
                table::write(it, options.all, terminal, out)?;
            }
            several => overview::write(several, environment.now, terminal, out)?,
        }
    }
    out.flush()
}

/// What all of it comes to.
pub(crate) fn outcome(loaded: &[Loaded], failed: bool) -> Outcome {
    if failed {
        Outcome::Failed
    } else if !loaded.iter().any(|it| it.list.is_touched()) {
        Outcome::NoTasks
    } else if loaded.iter().any(Loaded::has_gaps) {
        Outcome::Gaps
    } else {
        Outcome::Good
    }
}

#[cfg(test)]
#[path = "cases_tests.rs"]
mod cases;
#[cfg(test)]
mod fuzz_tests;
#[cfg(test)]
pub(crate) mod tests;
