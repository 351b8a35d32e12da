//! Requests to end: Ctrl-C, a request of the system, a terminal that goes away.

/// What ends a run in an orderly way, with the processes that it started.
#[cfg(unix)]
pub(crate) struct StopSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// A terminal that goes away tells its foreground group only, to which commands do not belong: if
    /// this process just died of it, they would go on for nobody.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl StopSignals {
    /// Catches them from here on.
    pub(crate) fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = if hangup_is_ignored() {
            None
        } else {
            Some(signal(SignalKind::hangup())?)
        };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whether this process is to outlive its terminal, as `nohup` arranges it. Where nobody can tell
/// (only Linux has the file), it is left as it is.
#[cfg(unix)]
fn hangup_is_ignored() -> bool {
    std::fs::read_to_string("/proc/self/status").map_or(true, |status| ignores_hangup(&status))
}

/// The same by the text of `/proc/[pid]/status`: `SigIgn` is a mask in hexadecimal digits, the lowest
/// bit is signal 1, which is SIGHUP (proc(5)).
#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & 1 == 1)
}

#[cfg(not(unix))]
pub(crate) struct StopSignals;

#[cfg(not(unix))]
impl StopSignals {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_understood() {
        assert!(ignores_hangup("Name:\tpod\nSigIgn:\t0000000000000001\n"));
        assert!(!ignores_hangup("SigIgn:\t0000000000001000\n"));
        // Where nobody can tell, it is left as it is.
        assert!(ignores_hangup(""));
        assert!(ignores_hangup("SigIgn:\tx"));
    }
}
