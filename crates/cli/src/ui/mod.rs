//! `pod` on a terminal: the interactive screen.
//!
//! - [`state`]: all that is shown, and what becomes of it when something happens; [`keys`]: what each
//!   key does. [`transcript`], [`board`], [`editor`], [`overlay`]: its parts. None of them touches a
//!   terminal or a clock.
//! - [`view`]: from the state to cells. [`lines`]: text in lines.
//! - [`run`]: the loop that joins keys, the events of a run, questions and time. [`terminal`]: raw mode
//!   and the alternate screen, restored whatever happens. [`ask`]: permission.
//! - [`command`]: what a line that begins with `/` asks for. [`desk`]: doing it.
//!
//! The screen is drawn from committed entries; what is still arriving of an answer stands behind them
//! and goes when the entry comes.

mod ask;
mod board;
mod command;
mod desk;
mod editor;
mod keys;
mod lines;
mod overlay;
mod run;
mod state;
mod terminal;
mod transcript;
mod view;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use anyhow::Context as _;

use crate::args::{OutputFormat, RunOptions};
use crate::{Usage, home, models, print};

/// Whether a person sits there and asked for nothing that is printed.
pub(crate) fn is_asked_for(options: &RunOptions) -> bool {
    options.print.is_none()
        && options.output_format == OutputFormat::Text
        && std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
        // Where no screen can be shown, a prompt is run and its answer printed.
        && (!terminal::is_dumb() || options.prompt.is_none())
}

/// Shows the screen until the person leaves.
pub(crate) fn run(options: &RunOptions) -> anyhow::Result<ExitCode> {
    if terminal::is_dumb() {
        return Err(Usage(String::from(
            "this terminal cannot show the screen (TERM=dumb); write pod -p \"what to do\"",
        ))
        .into());
    }
    let directory = home::working_directory()?;
    let store = home::session_store()?.durable(!options.no_sync);
    let session = print::session_to_go_on_with(options, &store, &directory)?;
    let answered = session
        .as_ref()
        .map_or(0, |info| print::answers_so_far(&store, info));
    let chosen = models::choose(&options.model, answered)?;
    // One thread is enough: what takes long is waiting.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime cannot start")?;
    runtime.block_on(async {
        let (asker, questions) = ask::channel();
        let desk = desk::Desk::new(options, store, directory, chosen, asker);
        let opened = desk.open_first(session.as_ref())?;
        run::run(desk, opened, questions, options.prompt.clone()).await
    })
}
