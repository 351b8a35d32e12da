//! Ends a run that goes in circles.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use llm::AssistantMessage;

use crate::PodError;

/// How many messages in a row may make the same calls, all of which fail. A person who polls for
/// something by a failing command stays well below it; a model that does not understand an error
/// repeats it for as long as it is asked.
const MOST: u32 = 10;

/// Watches for a model that makes the same failing calls again and again.
#[derive(Debug, Default)]
pub(crate) struct StuckGuard {
    /// A hash of the last message's calls, if all of them failed.
    failed: Option<u64>,
    times: u32,
}

impl StuckGuard {
    /// Looks at a message whose calls have run. An error says that the model is stuck.
    pub(crate) fn watch(
        &mut self,
        message: &AssistantMessage,
        all_failed: bool,
    ) -> Result<(), PodError> {
        if !all_failed {
            *self = Self::default();
            return Ok(());
        }
        let mut hasher = DefaultHasher::new();
        for call in message.calls() {
            (&call.name, call.arguments.text()).hash(&mut hasher);
        }
        let calls = Some(hasher.finish());
        self.times = if self.failed == calls {
            self.times + 1
        } else {
            1
        };
        self.failed = calls;
        match message.calls().next() {
            Some(call) if self.times >= MOST => Err(PodError::Stuck {
                tool: tools::bounded::head(&call.name, 60).to_owned(),
                times: self.times,
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use llm::scripted::Answer;
    use serde_json::json;

    use super::*;

    /// After how many of the messages the guard says that the model is stuck. A message is the
    /// number that its call sends, and whether that failed.
    fn stuck_after(messages: impl IntoIterator<Item = (u32, bool)>) -> Option<usize> {
        let mut guard = StuckGuard::default();
        let mut messages = messages.into_iter();
        messages.position(|(number, failed)| {
            let message = Answer::empty().call("A", &json!(number)).into();
            guard.watch(&message, failed).is_err()
        })
    }

    #[test]
    fn the_same_failure_ten_times_in_a_row_is_too_often() {
        assert_eq!(stuck_after([(1, true); 20]), Some(9));
    }

    #[test]
    fn a_success_or_another_call_begins_the_count_anew() {
        let same = || [(1, true); 9].into_iter();
        assert_eq!(stuck_after(same().chain([(1, false)]).chain(same())), None);
        assert_eq!(stuck_after(same().chain([(2, true)]).chain(same())), None);
    }
}
