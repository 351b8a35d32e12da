//! The task list of a session, and the four tools through which a model keeps it.
//!
//! - [`model`]: a task, its status, the counts. [`store`]: the list and **the one function that
//!   changes it**, [`TaskStore::apply`].
//! - [`arguments`]: what a model meant by the arguments it sent; used live and on replay.
//! - [`fold`]: from the entries of a history to the list. Nothing else calls `apply` in a session:
//!   the tools only plan a change and report it; it happens when their result enters the history.
//! - [`render`]: the list as text. [`create`], [`list`], [`get`], [`update`]: the tools.
//! - [`dialect`]: the tools as the Agent SDK knows them, and [`todo_write`], which is there a tool in
//!   place of the four. One store and one fold are behind all of them.

pub mod arguments;
pub mod create;
pub mod dialect;
pub mod fold;
pub mod get;
pub mod list;
pub mod model;
pub mod render;
mod report;
pub mod store;
pub mod todo_write;
pub mod update;

use std::sync::Arc;

pub use dialect::Dialect;
pub use fold::{TaskFold, Warning};
pub use model::{Counts, Status, Task, TaskId};
pub use store::{Change, TaskError, TaskOperation, TaskStore};

use crate::Tool;

/// The four task tools over one store.
pub fn all(store: &TaskStore) -> Vec<Arc<dyn Tool>> {
    all_in(store, Dialect::Pod)
}

/// The four task tools over one store, as a dialect shows them.
pub fn all_in(store: &TaskStore, dialect: Dialect) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(create::TaskCreate::new(store.clone()).speaking(dialect)),
        Arc::new(list::TaskList::new(store.clone()).speaking(dialect)),
        Arc::new(get::TaskGet::new(store.clone()).speaking(dialect)),
        Arc::new(update::TaskUpdate::new(store.clone()).speaking(dialect)),
    ]
}

/// The names of the four tools.
pub const NAMES: [&str; 4] = [create::NAME, list::NAME, get::NAME, update::NAME];

/// Whether a name belongs to a tool whose calls the task list is folded from.
pub fn is_reserved(name: &str) -> bool {
    NAMES.contains(&name) || name == todo_write::NAME
}

#[cfg(test)]
mod limits_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
