//! Work that blocks, off the threads of the runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ToolError;

/// Tells work that nobody waits for it any more. A clone is the same flag.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// An error once nobody waits any more. To be asked before anything is changed and now and then
    /// in long work.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        if self.is_set() {
            return Err(ToolError::new("the call was stopped"));
        }
        Ok(())
    }

    /// A flag that is set already.
    #[cfg(test)]
    pub(super) fn set() -> Self {
        let stop = Self::default();
        stop.0.store(true, Ordering::Relaxed);
        stop
    }

    /// Whether nobody waits any more.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Sets the flag when it is dropped, with the future that waits for the work.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Does work that blocks. When the future is dropped, the work is told to stop.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&Stop) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let guard = StopOnDrop(Stop::default());
    let stop = guard.0.clone();
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(result) => result,
        Err(error) => Err(ToolError::new(format!("the tool broke down: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn dropping_the_future_stops_the_work() {
        let (report, stopped) = tokio::sync::oneshot::channel();
        let work = blocking(move |stop| {
            while !stop.is_set() {
                std::thread::sleep(Duration::from_millis(1));
            }
            let _ = report.send(stop.check());
            Ok(())
        });
        let waited = tokio::time::timeout(Duration::from_millis(20), work).await;
        assert!(waited.is_err());
        let said = stopped.await.unwrap().unwrap_err();
        assert_eq!(said.message, "the call was stopped");
    }

    #[tokio::test]
    async fn a_panic_is_an_error() {
        let result: Result<(), ToolError> = blocking(|_| panic!("oh")).await;
        let message = result.unwrap_err().message;
        assert!(message.contains("oh"), "{message}");
    }
}
