//! What a model can do: the [`Tool`] trait, the task list and its four tools, and the tools that
//! work on files and run commands.
//!
//! - [`tool`]: the trait, what a call gets and gives. [`registry`]: the tools of one session.
//! - [`fs`]: the tools that work on files, and their scope. [`tracker`]: what they have read and
//!   written. `bash`: the tool that runs commands.
//! - [`bounded`]: texts cut to a limit, at a character boundary, with a note of what is missing.
//!
//! This crate knows no model, no session and no log.

mod arguments;
#[cfg(unix)]
pub mod bash;
pub mod bounded;
pub mod fs;
#[cfg(test)]
mod fuzz_tests;
pub mod registry;
pub mod task;
pub mod tool;
pub mod tracker;

#[cfg(unix)]
pub use bash::Bash;
pub use fs::Scope;
pub use registry::Registry;
pub use tool::{Call, Effect, Tool, ToolError, ToolOutput};
pub use tracker::Tracker;
