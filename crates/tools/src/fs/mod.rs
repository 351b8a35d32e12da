//! The tools that work on files: Read, Write, Edit, Glob and Grep, inside a [`Scope`].
//!
//! Paths come from the model and may be anything. [`Scope::resolve`] gives the real path or an
//! error, and `file` is the only module that opens or changes a file; it takes regular files only, and
//! `held` sees to it that a path still means what it meant when it was looked up.
//! All of it blocks, so it runs off the threads of the runtime (`blocking`).
//!
//! - Read goes through `binary` and `lines`, Edit through `matching` and `hint`.
//! - Glob and Grep go through `walk`, `search` and `kept`.

mod binary;
mod blocking;
pub mod edit;
mod file;
pub mod glob;
pub mod grep;
mod held;
mod hint;
mod kept;
mod lines;
mod matching;
pub mod read;
pub mod scope;
mod search;
mod walk;
pub mod write;

#[cfg(test)]
pub(crate) mod testing;

use std::sync::Arc;

pub use edit::Edit;
pub use glob::Glob;
pub use grep::Grep;
pub use read::Read;
pub use scope::Scope;
pub use write::Write;

use crate::{Tool, Tracker};

/// All file tools, for one session.
pub fn all(scope: &Scope, tracker: &Tracker) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Read::new(scope.clone(), tracker.clone())),
        Arc::new(Write::new(scope.clone(), tracker.clone())),
        Arc::new(Edit::new(scope.clone(), tracker.clone())),
        Arc::new(Glob::new(scope.clone())),
        Arc::new(Grep::new(scope.clone())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bash;
    use testing::{Space, as_seen};

    /// They are part of every request, so each byte is paid for each time. At four bytes a token
    /// this is 900 tokens.
    #[test]
    fn what_the_model_sees_of_the_tools_is_short() {
        let space = Space::new();
        let mut tools = all(&space.scope, &space.tracker);
        tools.push(Arc::new(Bash::new(space.scope)));
        let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
        assert_eq!(names, ["Read", "Write", "Edit", "Glob", "Grep", "Bash"]);
        let bytes: usize = tools
            .iter()
            .map(|tool| as_seen(&**tool).to_string().len())
            .sum();
        assert!(bytes <= 3600, "{bytes}");
    }
}
