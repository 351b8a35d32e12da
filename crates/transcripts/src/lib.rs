//! The task list out of the logs and streams of any agent.
//!
//! - [`read`] turns the bytes of a log into [`Event`]s, whatever agent wrote it ([`Format`]); one module
//!   a format. [`Report`] tells what could not be read.
//! - [`TaskList`] folds events into lists, the one fold for all formats. The rules are those of
//!   `docs/foreign-logs.md`.
//! - [`merge`] puts the events of several logs of one list into order.
//!
//! `examples/viewer.rs` is where a person who writes a viewer would begin.

mod ahead;
mod calls;
mod claude;
mod codex;
mod codex_exec;
mod document;
mod edit;
mod effect;
mod entire;
mod event;
mod format;
mod gemini;
mod json;
mod lines;
mod list;
mod lossy;
mod merge;
mod opencode;
mod pod;
mod read;
mod report;
mod salvage;
mod section;
mod state;
mod task;
mod tree;

pub use event::{Call, Chain, Create, Event, Item, Observation, Place, Row, Tool, Update, What};
pub use format::Format;
pub use list::{Count, TaskList};
pub use merge::merge;
pub use read::{Options, Reader, detect, open, read};
pub use report::{Fault, FaultKind, Report};
pub use state::State;
pub use task::{Change, ChangeKind, Origin, Stamp, Task};
