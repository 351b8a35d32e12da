//! Futures that wait at known places, so that a test can stop at each of them.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use pod::{Event, Run};

/// Waits once and goes on when it is polled again.
pub async fn yield_once() {
    let mut waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Polls a run a number of times, or until it ends, and tells its events. Gives whether it ended.
///
/// Between two polls it may stand anywhere where it waits, or where an event was told.
pub fn poll_run(run: &mut Run<'_>, times: usize, mut told: impl FnMut(&Event)) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..times {
        match pin!(run.next()).poll(&mut context) {
            Poll::Ready(None) => return true,
            Poll::Ready(Some(event)) => told(&event),
            Poll::Pending => {}
        }
    }
    false
}
