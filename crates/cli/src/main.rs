//! The program `pod`.
//!
//! Standard output carries the answer and nothing else; progress and warnings go to standard error.
//! The exit code is 0 if all is done, 1 if the run ended in an error, 2 for wrong usage.

mod args;
mod compact;
mod demo;
mod home;
mod models;
mod print;
mod progress;
mod prompt;
mod sdk;
mod sessions;
mod tasks;
mod terminal;
mod ui;
mod verify;
mod watch;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(sdk::argv::prepared()) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors and go to standard output.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    log_to_stderr();
    let result = match cli.command {
        None if sdk::is_asked_for(&cli.run) => sdk::run(&cli.run),
        None if ui::is_asked_for(&cli.run) => ui::run(&cli.run),
        None => print::run(&cli.run),
        Some(Command::Compact(options)) => compact::run(&options),
        Some(Command::Demo(options)) => demo::run(&options),
        Some(Command::Sessions(options)) => sessions::run(&options),
        Some(Command::Tasks(options)) => tasks(options),
        Some(Command::Verify(options)) => verify::run(&options),
        Some(Command::Watch(options)) => {
            watch::run(&options, &mut std::io::stdout(), &mut std::io::stderr())
        }
    };
    match result {
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
