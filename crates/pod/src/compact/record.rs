//! What the log keeps of a compaction: the details in the header of the segment that it began.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::CompactReport;
use crate::session::{Header, Reason};

/// What the log says of a compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactRecord {
    /// What began it, see [`super::Trigger::as_str`].
    pub trigger: String,
    /// The size of the history before, in tokens.
    pub tokens_before: u64,
    /// The size after, estimated.
    pub tokens_after: u64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// How many tasks were carried, deleted ones too.
    pub tasks: u32,
    /// How many entries were kept as they are.
    pub kept_entries: usize,
    /// Why no model wrote the summary, if none did.
    pub without_model: Option<String>,
}

impl CompactRecord {
    /// What the header of a segment says; `None` if the segment was not begun by a compaction, or says
    /// it in a form that is not known.
    pub fn of(header: &Header) -> Option<Self> {
        if header.reason != Reason::Compact {
            return None;
        }
        serde_json::from_value(header.details.clone()?).ok()
    }

    /// The details as the header keeps them.
    pub(super) fn details(&self) -> Value {
        // Texts and numbers can always be written.
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl From<&CompactReport> for CompactRecord {
    fn from(report: &CompactReport) -> Self {
        Self {
            trigger: report.trigger.as_str().to_owned(),
            tokens_before: report.tokens_before,
            tokens_after: report.tokens_after,
            duration_ms: u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
            tasks: report.tasks,
            kept_entries: report.kept_entries,
            without_model: report.without_model.clone(),
        }
    }
}

impl fmt::Display for CompactRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.tasks == 1 { "" } else { "s" };
        write!(
            formatter,
            "compacted ({}): {} tokens before, about {} after, {} task{plural} carried, {}.{} s",
            self.trigger,
            self.tokens_before,
            self.tokens_after,
            self.tasks,
            self.duration_ms / 1_000,
            self.duration_ms % 1_000 / 100,
        )?;
        match &self.without_model {
            Some(reason) => write!(formatter, "; without a model's summary, since {reason}"),
            None => Ok(()),
        }
    }
}
