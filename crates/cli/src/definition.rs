//! What is made from the one definition of the command line: completions and the manual page.

use std::io::Write as _;
use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsOptions, Shell};

/// Prints the completions of a shell.
pub(crate) fn completions(options: &CompletionsOptions) -> anyhow::Result<ExitCode> {
    let shell = match options.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "pod", &mut script);
    print(&script)
}

/// Prints the manual page: the program, and behind it each of its commands.
pub(crate) fn manual() -> anyhow::Result<ExitCode> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for subcommand in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let man = clap_mangen::Man::new(subcommand.clone());
        writeln!(page, ".SH POD {}", subcommand.get_name().to_uppercase())?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    print(&page)
}

fn print(bytes: &[u8]) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
