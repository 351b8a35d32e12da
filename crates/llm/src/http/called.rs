//! A call as far as it has come when its response ends.

use crate::{Arguments, AssistantBlock, ModelError, ToolCall};

/// What is known of a call when the response ends.
pub(crate) struct Called {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    /// Whether its end was told.
    pub(crate) is_finished: bool,
    /// Whether nothing stands behind it in the response.
    pub(crate) is_last: bool,
}

impl Called {
    /// The block of the call. None if the end of the response cut it, which only one that is not
    /// whole (`is_whole`: the model ended it itself) may do.
    pub(crate) fn block(self, is_whole: bool) -> Result<Option<AssistantBlock>, ModelError> {
        let Self { id, name, .. } = self;
        let is_begun = !self.arguments.is_empty() || !self.is_last;
        let arguments = Arguments::new(self.arguments);
        let is_cut = !self.is_finished || !is_begun || arguments.parse().is_err();
        if is_cut && !is_whole {
            tracing::debug!(name, "a call that the answer's end cut is left out");
            return Ok(None);
        }
        if !self.is_finished {
            return Err(ModelError::Cut(format!(
                "it ended within a call of `{name}`"
            )));
        }
        Ok(Some(AssistantBlock::ToolCall(ToolCall {
            id,
            name,
            arguments,
        })))
    }
}
