//! The reasons why no further run begins, watched from the beginning so that none is missed.

use std::sync::Arc;

use tokio::sync::watch;

use crate::signals::StopSignals;

/// Why no further run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopping {
    /// There is no reason.
    Not,
    /// Nobody reads what Pod writes.
    Unread,
    /// What Pod writes cannot be kept: the disk is full, for instance.
    Unwritable,
    /// The system asked the process to end.
    Signal,
}

/// The first reason that there was. Clones share it.
#[derive(Clone)]
pub(super) struct Stops {
    reason: Arc<watch::Sender<Stopping>>,
}

impl Stops {
    /// No reason yet.
    pub(super) fn new() -> Self {
        Self {
            reason: Arc::new(watch::Sender::new(Stopping::Not)),
        }
    }

    /// Gives a reason. The first one counts.
    pub(super) fn give(&self, reason: Stopping) {
        self.reason.send_if_modified(|current| {
            let is_first = *current == Stopping::Not;
            if is_first {
                *current = reason;
            }
            is_first
        });
    }

    /// Takes it for a reason when the system asks the process to end.
    pub(super) fn watch_signals(&self) {
        let stops = self.clone();
        // They are caught from here on: a command must not begin before.
        let signals = StopSignals::new();
        tokio::spawn(async move {
            if let Ok(mut signals) = signals {
                signals.next().await;
                stops.give(Stopping::Signal);
            }
        });
    }

    /// The reason that there is by now.
    pub(super) fn so_far(&self) -> Stopping {
        *self.reason.borrow()
    }

    /// Waits for a reason.
    pub(super) async fn next(&self) -> Stopping {
        let mut reason = self.reason.subscribe();
        match reason.wait_for(|reason| *reason != Stopping::Not).await {
            Ok(reason) => *reason,
            // The sender is in `self`, so this does not happen.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_counts_and_none_is_missed() {
        let stops = Stops::new();
        let waiting = stops.clone();
        stops.give(Stopping::Unread);
        stops.give(Stopping::Signal);
        assert_eq!(waiting.next().await, Stopping::Unread);
        assert_eq!(waiting.next().await, Stopping::Unread);
    }
}
