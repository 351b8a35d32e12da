//! The program `pod`.
//!
//! Standard output carries the answer and nothing else; progress and warnings go to standard error.
//! The exit code is 0 if all is done, 1 if the run ended in an error, 2 for wrong usage.

mod age;
mod args;
mod compact;
mod config;
mod definition;
mod demo;
mod doctor;
mod export;
#[cfg(all(debug_assertions, unix))]
mod fault;
mod first_run;
mod home;
mod lineage;
mod models;
mod print;
mod progress;
mod prompt;
mod sdk;
mod sessions;
mod signals;
mod tasks;
mod terminal;
mod ui;
mod verify;
mod watch;

use std::io::Write as _;
use std::process::ExitCode;

use clap::ArgMatches;
use tracing_subscriber::EnvFilter;

use args::{Cli, Command};

fn main() -> ExitCode {
    hide_memory();
    let (cli, matches) = match args::parse(&sdk::argv::prepared()) {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version are no errors and go to standard output.
            if !error.use_stderr() {
                let _ = error.print();
                return ExitCode::SUCCESS;
            }
            // It quotes the command line, which may come from anywhere.
            terminal::lines(&error.render().to_string());
            return ExitCode::from(2);
        }
    };
    log_to_stderr();
    match run(cli, &matches) {
        Ok(code) => code,
        Err(error) => {
            // A reader that closed the pipe has seen enough.
            if is_broken_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            terminal::error(&error);
            let code = if error.is::<Usage>() { 2 } else { 1 };
            ExitCode::from(code)
        }
    }
}

/// Keeps what this process holds, such as API keys, from other processes of the same user: those that
/// the model starts could read it in `/proc` otherwise. No core is written either.
fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // A kernel that cannot do it has nothing to be told about.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

fn run(mut cli: Cli, matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    config::settle(&mut cli, matches)?;
    match cli.command {
        None if sdk::is_asked_for(&cli.run) => sdk::run(&cli.run),
        None if first_run::is_due(&cli.run) => first_run::run(),
        None if ui::is_asked_for(&cli.run) => ui::run(&cli.run),
        None => print::run(&cli.run),
        Some(Command::Compact(options)) => compact::run(&options),
        Some(Command::Completions(options)) => definition::completions(&options),
        Some(Command::Config) => config::show::run(),
        Some(Command::Demo(options)) => demo::run(&options),
        Some(Command::Doctor(options)) => doctor::run(&options),
        Some(Command::Export(options)) => export::run(&options),
        Some(Command::Man) => definition::manual(),
        Some(Command::Sessions(options)) => sessions::run(&options),
        Some(Command::Tasks(options)) => tasks(options),
        Some(Command::Verify(options)) => verify::run(&options),
        Some(Command::Watch(options)) => {
            watch::run(&options, &mut std::io::stdout(), &mut std::io::stderr())
        }
    }
}

/// `pod tasks`, with the sessions of this directory.
fn tasks(mut options: tasks::Options) -> anyhow::Result<ExitCode> {
    let directory = home::working_directory()?;
    options.sessions = Some(home::session_store()?.project(&directory));
    tasks::run(&options, &mut std::io::stdout(), &mut std::io::stderr())
}

/// An error of the person who typed the command.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// Diagnostics for developers, off unless `POD_LOG` asks for them.
fn log_to_stderr() {
    if let Ok(filter) = EnvFilter::try_from_env("POD_LOG") {
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .init();
    }
}

/// Writes a line to standard output.
pub(crate) fn print_line(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}
