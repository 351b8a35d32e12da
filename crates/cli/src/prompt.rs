//! The prompt: from the command line, from standard input, or both.

use std::io::{self, IsTerminal as _, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;

use crate::args::RunOptions;
use crate::{Usage, terminal};

/// How long standard input may stay open without a word before the person is told that it is read.
const PATIENCE: Duration = Duration::from_secs(3);

/// Whether the command line has a prompt, or says that one is piped in.
pub(crate) fn is_given(options: &RunOptions) -> bool {
    options.prompt.is_some()
        || options
            .print
            .as_deref()
            .is_some_and(|text| !text.is_empty())
}

/// What the command line says of the prompt. What is piped in is data: it names no files.
pub(crate) fn typed(options: &RunOptions) -> String {
    words(options).collect::<Vec<_>>().join("\n\n")
}

fn words(options: &RunOptions) -> impl Iterator<Item = &str> {
    let given = [options.print.as_deref(), options.prompt.as_deref()];
    let given = given.into_iter().flatten();
    given.filter(|text| !text.is_empty() && *text != "-")
}

/// The prompt. Piped input stands below what the command line says.
pub(crate) fn read(options: &RunOptions) -> anyhow::Result<String> {
    let given = [options.print.as_deref(), options.prompt.as_deref()];
    let mut parts: Vec<String> = words(options).map(str::to_owned).collect();
    let dash = given.contains(&Some("-"));
    if dash || is_piped() {
        let piped = read_input()?;
        if !piped.trim().is_empty() {
            parts.push(piped);
        }
    }
    let prompt = parts.join("\n\n");
    if prompt.trim().is_empty() {
        return Err(Usage(String::from(
            "there is no prompt; write pod -p \"what to do\", or pipe it in",
        ))
        .into());
    }
    Ok(prompt)
}

/// Whether something is piped or redirected into the program. A terminal is not read, nor is
/// `/dev/null`, nor a socket that a supervisor left open.
fn is_piped() -> bool {
    if io::stdin().is_terminal() {
        return false;
    }
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        use std::os::unix::fs::FileTypeExt as _;
        let file_type = io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .and_then(|fd| std::fs::File::from(fd).metadata())
            .map(|metadata| metadata.file_type());
        file_type.is_ok_and(|it| it.is_fifo() || it.is_file())
    }
    #[cfg(not(unix))]
    true
}

fn read_input() -> anyhow::Result<String> {
    let arrived = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&arrived);
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        if !seen.load(Ordering::Relaxed) {
            terminal::notice(
                "waiting for standard input to end; close it, or start with </dev/null",
            );
        }
    });
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    arrived.store(true, Ordering::Relaxed);
    read.context("standard input cannot be read")?;
    String::from_utf8(bytes)
        .map_err(|_| Usage(String::from("standard input is not UTF-8 text")).into())
}
