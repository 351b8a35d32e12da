//! The protocol of the Claude Agent SDKs: a program drives Pod over its standard input and output,
//! one JSON object a line.
//!
//! `agent-sdk.md` is the contract as it was measured; `docs/agent-sdk.md` says what of it stands and
//! where Pod differs. Nothing below this module knows of the protocol: here it is translated at the
//! edge, from lines to a [`pod::Pod`] and from its events to lines.
//!
//! - `argv` and `options`: the command line as the SDKs write it. `offer`: which task tools a session
//!   gets. `setup`: from these and the request `initialize` to a Pod.
//! - `input` and `output`: lines in and out, each on a thread of its own. `questions`: what Pod asks
//!   the program, and its answers. `run`: the loop that holds them together, `turn`: one run,
//!   `waiting`: messages on their way to theirs, `stops`: why no further one begins. `control`: the
//!   program's requests.
//! - `message`, `preview`, `result`, `cost`, `state`: the lines. `mirror`: the log for a session store.
//! - `approver`, `hooks`, `mcp`: permission, hooks and tools that live in the program.

mod approver;
pub(crate) mod argv;
mod control;
mod cost;
mod hooks;
mod input;
mod mcp;
mod message;
mod mirror;
mod offer;
pub(crate) mod options;
mod output;
mod preview;
mod questions;
mod result;
mod run;
mod settings;
mod setup;
mod state;
mod stops;
mod turn;
mod waiting;

use crate::args::{OutputFormat, RunOptions};
use options::InputFormat;

pub(crate) use run::run;

/// Whether the command line asks for the protocol.
pub(crate) fn is_asked_for(options: &RunOptions) -> bool {
    options.output_format == OutputFormat::StreamJson
        || options.sdk.input_format == InputFormat::StreamJson
}
