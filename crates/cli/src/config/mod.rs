//! What a person set once: `config.toml`, and what of it holds for this run.
//!
//! A flag wins over a variable of the environment, that over the file, and that over what is built
//! in. Rules about tools add up: those of the file hold whatever else is given, so that a flag for
//! one run takes no denial away.
//!
//! A program that drives Pod by the Agent SDK protocol says itself what may run, so neither the file
//! nor a variable has a say about permissions there.
//!
//! - [`file`]: the file. [`show`]: `pod config`.

pub(crate) mod file;
pub(crate) mod show;

use clap::ArgMatches;
use clap::parser::ValueSource;
use pod::PermissionMode;

use crate::args::{Cli, Command, DEFAULT_MODEL};
use crate::{home, sdk};
use file::File;

/// A key: what it is called in the file and in the environment. The flag is the one that has this variable.
pub(crate) struct Key {
    /// The name in the file; a dot stands between a table and its key.
    pub(crate) name: &'static str,
    /// The variable.
    pub(crate) variable: &'static str,
}

/// All keys, in the order in which they are shown.
pub(crate) const KEYS: [Key; 7] = [
    Key {
        name: "model",
        variable: "POD_MODEL",
    },
    Key {
        name: "compact_threshold",
        variable: "POD_COMPACT_THRESHOLD",
    },
    Key {
        name: "compact_request_threshold",
        variable: "POD_COMPACT_REQUEST_THRESHOLD",
    },
    Key {
        name: "remind_after",
        variable: "POD_REMIND_AFTER",
    },
    Key {
        name: "permissions.mode",
        variable: "POD_PERMISSION_MODE",
    },
    Key {
        name: "permissions.allow",
        variable: "POD_ALLOWED_TOOLS",
    },
    Key {
        name: "permissions.deny",
        variable: "POD_DISALLOWED_TOOLS",
    },
];

/// Fills in what the command line left open, from the file. Reads it once, and only for commands
/// that it is about.
pub(crate) fn settle(cli: &mut Cli, matches: &ArgMatches) -> anyhow::Result<()> {
    match &mut cli.command {
        None => {
            let file = File::load(&home::root()?)?;
            let is_open = |flag: &str| is_open(matches, flag);
            let run = &mut cli.run;
            if is_open("model")
                && let Some(model) = file.model
            {
                run.model = model;
            } else if is_open("model") {
                run.model_is_default = true;
            }
            let sizes = &mut run.compact;
            sizes.compact_threshold = sizes.compact_threshold.or(file.compact_threshold);
            sizes.compact_request_threshold = sizes
                .compact_request_threshold
                .or(file.compact_request_threshold);
            if is_open("remind_after")
                && let Some(requests) = file.remind_after
            {
                run.remind_after = requests;
            }
            if sdk::is_asked_for(run) {
                // The program that drives Pod decides, and nobody else.
                if !is_flag(matches, "permission_mode") {
                    run.permission_mode = PermissionMode::Default;
                }
                if !is_flag(matches, "allowed_tools") {
                    run.allowed_tools.clear();
                }
                if !is_flag(matches, "disallowed_tools") {
                    run.disallowed_tools.clear();
                }
                return Ok(());
            }
            if is_open("permission_mode")
                && let Some(mode) = file.mode
            {
                run.permission_mode = mode;
            }
            run.allowed_tools.extend(file.allow);
            run.disallowed_tools.extend(file.deny);
        }
        Some(Command::Compact(options)) => {
            let file = File::load(&home::root()?)?;
            let matches = matches.subcommand().map(|(_, matches)| matches);
            if matches.is_some_and(|matches| is_open(matches, "model")) {
                options.model = file.model.unwrap_or_else(|| DEFAULT_MODEL.to_owned());
            }
            let sizes = &mut options.sizes;
            sizes.compact_threshold = sizes.compact_threshold.or(file.compact_threshold);
            sizes.compact_request_threshold = sizes
                .compact_request_threshold
                .or(file.compact_request_threshold);
        }
        Some(_) => {}
    }
    Ok(())
}

/// Whether neither a flag nor a variable says it.
fn is_open(matches: &ArgMatches, flag: &str) -> bool {
    matches!(
        matches.value_source(flag),
        None | Some(ValueSource::DefaultValue)
    )
}

fn is_flag(matches: &ArgMatches, flag: &str) -> bool {
    matches.value_source(flag) == Some(ValueSource::CommandLine)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_key_is_also_a_flag_and_a_variable() {
        let command = Cli::command();
        for key in KEYS {
            let flags = command
                .get_arguments()
                .filter(|it| it.get_env().is_some_and(|env| env == key.variable));
            let names: Vec<_> = flags.filter_map(clap::Arg::get_long).collect();
            assert_eq!(names.len(), 1, "{}: {names:?}", key.name);
        }
    }
}
