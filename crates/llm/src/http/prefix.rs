//! The part of a request that stands in front of the messages.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::ToolSpec;

/// The system prompt and the tools as they were written last; they seldom change.
#[derive(Debug, Default)]
pub(crate) struct Prefix {
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    system: String,
    tools: Vec<ToolSpec>,
    json: Bytes,
}

impl Prefix {
    /// The text for a system prompt and tools; `write` is asked only if the one that is kept does not fit.
    pub(crate) fn of(
        &self,
        system: &str,
        tools: &[ToolSpec],
        write: impl FnOnce(&str, &[ToolSpec]) -> Bytes,
    ) -> Bytes {
        // What is kept is replaced in one step, so a panic elsewhere cannot have broken it.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*kept
            && kept.system == system
            && kept.tools == tools
        {
            return kept.json.clone();
        }
        let json = write(system, tools);
        *kept = Some(Kept {
            system: system.to_owned(),
            tools: tools.to_vec(),
            json: json.clone(),
        });
        json
    }
}
