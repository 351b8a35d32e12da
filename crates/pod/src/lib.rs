//! An agent runtime: a language model works in a loop with tools, in a directory, and keeps a task
//! list that survives compaction, resume, fork and rewind.
//!
//! - [`Pod`], set up by its [`Builder`], at work in a [`Run`], controlled by its [`Handle`]. [`event`]:
//!   what a run tells.
//! - [`session`]: the log. `history`: the one place where it grows. [`replay`]: from entries to tasks.
//! - `edit`: what a person changes in the list by hand.
//! - `turn`: the loop, where a request is built. `dispatch`: runs the calls of one message.
//! - `reminder`: open tasks that were left alone are named to the model.
//! - [`compact`]: the history made small, the task list carried whole.
//! - `instructions`: what the project tells agents. [`mention`]: files that a prompt names.
//! - [`permission`] and [`hook`]: who may run what.
//!
//! This crate does not print, end the process or read its environment.

mod admit;
mod builder;
pub mod compact;
mod dispatch;
mod edit;
mod error;
pub mod event;
mod handle;
mod history;
pub mod hook;
mod instructions;
#[doc(hidden)]
pub mod measured;
pub mod mention;
pub mod permission;
mod pod;
mod prompt;
mod reminder;
pub mod replay;
mod run;
pub mod session;
mod stuck;
#[cfg(test)]
mod testing;
mod turn;
pub mod verify;

pub use builder::{Builder, TaskTools};
pub use compact::{
    CompactLimits, CompactPlan, CompactRecord, CompactReport, Compaction, Threshold, Trigger,
};
pub use error::PodError;
pub use event::{Event, Outcome, Status};
pub use handle::Handle;
pub use hook::Hook;
pub use instructions::INSTRUCTIONS_LIMIT;
pub use mention::Mention;
pub use permission::{Answer, Approver, PermissionMode, Question, Rule};
pub use pod::Pod;
pub use reminder::REMIND_AFTER;
pub use run::Run;
pub use session::{Entry, SessionInfo, SessionStore};

// A program that embeds Pod needs only this crate.
pub use llm;
pub use tools;

/// The name that stands for a model in messages that Pod itself made, such as the call of `TaskList`
/// after a compaction.
pub const RUNTIME: &str = "pod";

/// The examples of the guide for programs are compiled with the others.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;
