//! What a wire has already written of each conversation.
//!
//! A conversation only grows, so its text on the wire only grows too: each item is written once, and
//! a request shares the text of the requests before it.

use std::sync::{Arc, Mutex};

use crate::{Conversation, Item, ModelError, rules};

/// How many conversations are kept. A session uses one, a compaction a second one for a while.
const KEPT: usize = 4;

/// The text of one conversation.
pub(crate) trait Transcript {
    /// Writes the next item of the conversation.
    fn push(&mut self, item: &Arc<Item>);
}

/// The transcripts of the conversations that were asked about last.
#[derive(Debug)]
pub(crate) struct Transcripts<T> {
    /// The latest stands first.
    kept: Mutex<Vec<Kept<T>>>,
}

#[derive(Debug)]
struct Kept<T> {
    conversation: u64,
    items: usize,
    transcript: T,
}

impl<T> Default for Transcripts<T> {
    fn default() -> Self {
        Self {
            kept: Mutex::new(Vec::new()),
        }
    }
}

impl<T: Transcript> Transcripts<T> {
    /// Brings the transcript of a conversation up to date and hands it to `read`. `start` makes an
    /// empty one.
    pub(crate) fn read<R>(
        &self,
        conversation: &Conversation,
        start: impl FnOnce() -> T,
        read: impl FnOnce(&mut T) -> R,
    ) -> R {
        let mut kept = match self.kept.lock() {
            Ok(kept) => kept,
            Err(poisoned) => {
                // Whoever panicked may have left half an item behind.
                let mut kept = poisoned.into_inner();
                kept.clear();
                self.kept.clear_poison();
                kept
            }
        };
        let found = kept
            .iter()
            .position(|kept| kept.conversation == conversation.id());
        let mut current = match found {
            Some(index) => kept.remove(index),
            None => Kept {
                conversation: conversation.id(),
                items: 0,
                transcript: start(),
            },
        };
        for item in conversation.items().iter().skip(current.items) {
            current.transcript.push(item);
        }
        current.items = conversation.items().len();
        let result = read(&mut current.transcript);
        kept.insert(0, current);
        kept.truncate(KEPT);
        result
    }
}

/// Checks that a conversation may be sent. A release build trusts the rules to hold, since checking
/// them costs more with every item.
pub(crate) fn check(conversation: &Conversation) -> Result<(), ModelError> {
    if cfg!(debug_assertions) {
        rules::check(conversation.items())
            .map_err(|violation| ModelError::Malformed(violation.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UserMessage;

    #[derive(Default)]
    struct Counter(usize);

    impl Transcript for Counter {
        fn push(&mut self, _: &Arc<Item>) {
            self.0 += 1;
        }
    }

    fn conversation(items: usize) -> Conversation {
        let item = Arc::new(Item::User(UserMessage::text("x")));
        Conversation::new(vec![item; items])
    }

    fn count(transcripts: &Transcripts<Counter>, conversation: &Conversation) -> (usize, bool) {
        let mut new = false;
        let start = || {
            new = true;
            Counter::default()
        };
        let count = transcripts.read(conversation, start, |counter| counter.0);
        (count, new)
    }

    #[test]
    fn each_item_is_written_once() {
        let transcripts = Transcripts::default();
        let mut first = conversation(2);
        let second = conversation(5);
        assert_eq!(count(&transcripts, &first), (2, true));
        assert_eq!(count(&transcripts, &second), (5, true));
        first.push(Arc::new(Item::User(UserMessage::text("y"))));
        assert_eq!(count(&transcripts, &first), (3, false));
    }

    #[test]
    fn only_the_latest_conversations_are_kept() {
        let transcripts = Transcripts::default();
        let first = conversation(1);
        count(&transcripts, &first);
        for _ in 0..KEPT {
            count(&transcripts, &conversation(1));
        }
        assert_eq!(count(&transcripts, &first), (1, true));
    }

    #[test]
    fn a_panic_leaves_nothing_half_written() {
        let transcripts = Transcripts::<Counter>::default();
        let conversation = conversation(1);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            transcripts.read(&conversation, Counter::default, |_| panic!("on purpose"));
        }));
        assert!(panicked.is_err());
        assert_eq!(count(&transcripts, &conversation), (1, true));
        assert_eq!(count(&transcripts, &conversation), (1, false));
    }
}
