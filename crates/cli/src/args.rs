//! What can be said on the command line. Each flag is defined here and nowhere else.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{
    Arg, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use pod::{CompactLimits, PermissionMode, Threshold};
use uuid::Uuid;

use crate::sdk::options::SdkOptions;
use crate::{tasks, watch};

/// Runs a language model with tools in the current directory and keeps its task list safe.
#[derive(Debug, Parser)]
#[command(
    name = "pod",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "Try it without a key or a network: pod demo"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// The command line, read. A variable of the environment that is set to nothing is as good as none.
pub(crate) fn parse(argv: &[OsString]) -> Result<(Cli, ArgMatches), clap::Error> {
    let matches = without_empty_variables(Cli::command()).try_get_matches_from(argv)?;
    let cli = Cli::from_arg_matches(&matches)?;
    Ok((cli, matches))
}

fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |argument: &Arg| {
        let variable = argument.get_env().and_then(std::env::var_os);
        variable.is_some_and(|value| value.is_empty())
    };
    command
        .mut_args(|argument| {
            if is_empty(&argument) {
                argument.env(Resettable::Reset)
            } else {
                argument
            }
        })
        .mut_subcommands(without_empty_variables)
}

/// What else the program does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the sessions of this directory
    Sessions(SessionsOptions),
    /// The task list that a session of any agent ended with
    Tasks(tasks::Options),
    /// A live view of any agent's stream on standard input
    Watch(watch::Options),
    /// Show on this machine, without a key or a network, what Pod promises
    Demo(DemoOptions),
    /// Compact the history of a session now; its task list is carried whole
    Compact(CompactOptions),
    /// Check the log of a session against every rule, and say where it breaks one
    Verify(VerifyOptions),
    /// A session as a document: its conversation and the story of its tasks
    Export(ExportOptions),
    /// What holds for a run without flags, and where it comes from
    Config,
    /// Check what a run needs: key, address, data directory, terminal, git, sandbox
    Doctor(DoctorOptions),
    /// Print the completions of a shell
    Completions(CompletionsOptions),
    /// Print the manual page
    Man,
}

/// How to run a prompt.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub(crate) struct RunOptions {
    /// What the model is to do. `-`, or nothing while input is piped in, reads it from there
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,

    /// Run the prompt, print the answer and end
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1, default_missing_value = "")]
    pub(crate) print: Option<String>,

    /// The model: claude-…, openai:NAME, openai-responses:NAME, ollama:NAME, scripted:FILE or recorded:FILE
    #[arg(long, env = "POD_MODEL", value_name = "MODEL", default_value = DEFAULT_MODEL)]
    pub(crate) model: String,

    /// Whether nobody named a model.
    #[arg(skip)]
    pub(crate) model_is_default: bool,

    /// What is printed on standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Text)]
    pub(crate) output_format: OutputFormat,

    /// End the run after this many answers of the model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,

    /// The most tokens one answer may have
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_output_tokens: Option<u32>,

    /// How much may happen without asking: default, acceptEdits, plan, dontAsk, bypassPermissions
    #[arg(
        long,
        env = "POD_PERMISSION_MODE",
        value_name = "MODE",
        default_value = "default"
    )]
    pub(crate) permission_mode: PermissionMode,

    /// Calls that may run without asking, such as `Edit,Bash(git log:*)`
    #[arg(
        long = "allowedTools",
        visible_alias = "allowed-tools",
        env = "POD_ALLOWED_TOOLS",
        value_name = "RULES",
        num_args = 1..
    )]
    pub(crate) allowed_tools: Vec<String>,

    /// Calls that must not run; a tool named without a pattern is not offered at all
    #[arg(
        long = "disallowedTools",
        visible_alias = "disallowed-tools",
        env = "POD_DISALLOWED_TOOLS",
        value_name = "RULES",
        num_args = 1..
    )]
    pub(crate) disallowed_tools: Vec<String>,

    /// The built-in tools to offer, by name; `default` is all, an empty text none
    #[arg(long, value_name = "NAMES", value_delimiter = ',', num_args = 1..)]
    pub(crate) tools: Option<Vec<String>>,

    /// A system prompt in place of Pod's own
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,

    /// A text behind the system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system_prompt: Option<String>,

    /// Leave the project's AGENTS.md and CLAUDE.md out of the system prompt
    #[arg(long)]
    pub(crate) bare: bool,

    /// One more directory that file tools may work in
    #[arg(long, value_name = "DIRECTORY", num_args = 1..)]
    pub(crate) add_dir: Vec<PathBuf>,

    /// Let Bash write wherever you may, also where Linux can hold it to the working directory, added
    /// and temporary directories, and caches
    #[arg(long, env = "POD_NO_SANDBOX", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) no_sandbox: bool,

    /// Go on with the last session of this directory
    #[arg(short, long = "continue", conflicts_with = "resume")]
    pub(crate) continue_last: bool,

    /// Go on with a session: its id, the beginning of its id, or its directory
    #[arg(short, long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,

    /// Go on in a copy and leave the session as it is
    #[arg(long)]
    pub(crate) fork_session: bool,

    /// Go back to this entry first; what came after it is left out
    #[arg(long, value_name = "ENTRY")]
    pub(crate) resume_session_at: Option<Uuid>,

    /// The id that a new session is to have
    #[arg(long, value_name = "UUID")]
    pub(crate) session_id: Option<Uuid>,

    /// Open a session with a damaged log up to the damage
    #[arg(long, conflicts_with = "fork_session")]
    pub(crate) salvage: bool,

    /// Do not wait for the disk after each step: faster, but a power cut may lose the last steps
    #[arg(long)]
    pub(crate) no_sync: bool,

    #[command(flatten)]
    pub(crate) compact: CompactSizes,

    /// Remind the model of open tasks when it left the list alone for this many requests; 0: never
    #[arg(long, env = "POD_REMIND_AFTER", value_name = "N", default_value_t = pod::REMIND_AFTER)]
    pub(crate) remind_after: u32,

    /// Print nothing but the answer and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Tell each call and its result on standard error
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) sdk: SdkOptions,
}

/// The model that is asked when none is named.
pub(crate) const DEFAULT_MODEL: &str = "claude-sonnet-4-6";

/// What is printed on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer
    Text,
    /// One object with the answer, the task list and the figures of the run
    Json,
    /// Every message, one JSON object a line, as the Agent SDK protocol has it
    StreamJson,
}

/// At which sizes the history is compacted.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct CompactSizes {
    /// Compact after a run above this size: a share of the context window (0.7), or tokens (140k)
    #[arg(long, env = "POD_COMPACT_THRESHOLD", value_name = "SIZE")]
    pub(crate) compact_threshold: Option<Threshold>,

    /// Compact between two requests of a run above this size (default 0.85)
    #[arg(long, env = "POD_COMPACT_REQUEST_THRESHOLD", value_name = "SIZE")]
    pub(crate) compact_request_threshold: Option<Threshold>,
}

impl CompactSizes {
    /// The limits, with what was not given as it is by default.
    pub(crate) fn limits(self) -> CompactLimits {
        let default = CompactLimits::default();
        CompactLimits {
            after_run: self.compact_threshold.unwrap_or(default.after_run),
            between_requests: self
                .compact_request_threshold
                .unwrap_or(default.between_requests),
            ..default
        }
    }
}

/// How to show it.
#[derive(Debug, Args)]
pub(crate) struct DemoOptions {
    /// Keep the scratch folder, with the files and the log
    #[arg(long)]
    pub(crate) keep: bool,
}

/// What to compact.
#[derive(Debug, Args)]
pub(crate) struct CompactOptions {
    /// The session, by id, beginning of id or directory; the last one of this directory if none
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,

    /// The model that writes the summary
    #[arg(long, env = "POD_MODEL", value_name = "MODEL", default_value = DEFAULT_MODEL)]
    pub(crate) model: String,

    /// Show what would be kept, without asking a model and without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) sizes: CompactSizes,
}

/// How to list sessions.
#[derive(Debug, Args)]
pub(crate) struct SessionsOptions {
    /// The sessions of all directories
    #[arg(long)]
    pub(crate) all: bool,

    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to write, and how.
#[derive(Debug, Args)]
pub(crate) struct ExportOptions {
    /// The session, by id, beginning of id or directory; the last one of this directory if none
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,

    /// One page that any browser shows, with nothing beside it; otherwise Markdown
    #[arg(long)]
    pub(crate) html: bool,

    /// Where to write it, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct DoctorOptions {
    /// The model that a run would ask
    #[arg(long, env = "POD_MODEL", value_name = "MODEL")]
    pub(crate) model: Option<String>,
}

/// For which shell.
#[derive(Debug, Args)]
pub(crate) struct CompletionsOptions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// A shell that completions can be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// The Bourne again shell
    Bash,
    /// The Z shell
    Zsh,
    /// The friendly interactive shell
    Fish,
}

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct VerifyOptions {
    /// The session, by id, beginning of id or directory; the last one of this directory if none
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,

    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
