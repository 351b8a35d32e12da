//! The flags that only programs use.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What standard input holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// The prompt
    #[default]
    Text,
    /// The Agent SDK protocol: one JSON object a line
    StreamJson,
}

/// The flags that the Agent SDKs send, beside those that people use too.
#[derive(Debug, Args)]
#[command(next_help_heading = "For programs (Agent SDK)")]
pub(crate) struct SdkOptions {
    /// What is read on standard input
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = InputFormat::Text)]
    pub(crate) input_format: InputFormat,

    /// Also tell of each response while it arrives
    #[arg(long)]
    pub(crate) include_partial_messages: bool,

    /// Repeat the messages of the user on standard output
    #[arg(long)]
    pub(crate) replay_user_messages: bool,

    /// Who is asked for permission; `stdio` is the program
    #[arg(long, value_name = "NAME")]
    pub(crate) permission_prompt_tool: Option<String>,

    /// Tool servers, as JSON or as a file of it; those inside the program (`"type": "sdk"`) work
    #[arg(long, value_name = "JSON", num_args = 1..)]
    pub(crate) mcp_config: Vec<String>,

    /// Accepted for habit: there are no other tool servers than those of --mcp-config
    #[arg(long, hide = true)]
    pub(crate) strict_mcp_config: bool,

    /// Settings, as JSON or as a file of it; `permissions` and `model` are read
    #[arg(long, value_name = "JSON")]
    pub(crate) settings: Option<String>,

    /// Whose settings count: with `project` the AGENTS.md and CLAUDE.md of the project are read
    #[arg(long, hide = true, value_name = "NAMES")]
    pub(crate) setting_sources: Option<String>,

    /// Keep the session in memory only
    #[arg(long)]
    pub(crate) no_session_persistence: bool,

    /// Write the session's log to standard output too, for a session store
    #[arg(long)]
    pub(crate) session_mirror: bool,

    /// End the run when it has cost so much, where the model's price is known
    #[arg(long, value_name = "USD")]
    pub(crate) max_budget_usd: Option<f64>,

    /// How many tokens the model may reason; 0 turns reasoning off
    #[arg(long, value_name = "N")]
    pub(crate) max_thinking_tokens: Option<u32>,

    /// Whether the model reasons: adaptive, enabled or disabled
    #[arg(long, value_name = "HOW")]
    pub(crate) thinking: Option<String>,

    /// A system prompt in place of Pod's own, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "system_prompt")]
    pub(crate) system_prompt_file: Option<PathBuf>,
}
