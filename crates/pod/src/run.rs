//! [`Run`]: what goes on between a prompt and its outcome, as a stream of events.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::event::{Event, Outcome, Queue};

/// A run: a stream of its events.
pub struct Run<'a> {
    progress: RunProgress<'a>,
    events: Queue,
}

enum RunProgress<'a> {
    Going(Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>),
    Ended(Arc<Outcome>),
}

impl<'a> Run<'a> {
    /// A run that this does, and that tells of itself in the queue.
    pub(crate) fn new(drive: impl Future<Output = Outcome> + Send + 'a, events: Queue) -> Self {
        Self {
            progress: RunProgress::Going(Box::pin(drive)),
            events,
        }
    }
}

impl Run<'_> {
    /// The next event; `None` after [`Event::Finished`].
    pub async fn next(&mut self) -> Option<Event> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Lets the run go on to its end and gives the outcome, which [`Event::Finished`] gives too.
    pub async fn outcome(&mut self) -> Arc<Outcome> {
        loop {
            if let RunProgress::Ended(outcome) = &self.progress {
                return Arc::clone(outcome);
            }
            self.next().await;
        }
    }
}

impl Stream for Run<'_> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        if let Some(event) = self.events.pop() {
            return Poll::Ready(Some(event));
        }
        let RunProgress::Going(drive) = &mut self.progress else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(outcome) = drive.as_mut().poll(context) {
            let outcome = Arc::new(outcome);
            self.progress = RunProgress::Ended(Arc::clone(&outcome));
            self.events.push(Event::Finished(outcome));
        }
        match self.events.pop() {
            Some(event) => Poll::Ready(Some(event)),
            None => Poll::Pending,
        }
    }
}
