//! A process group that does not outlive the call that started it.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::sleep;

/// The process group of a command, which is killed when this is dropped.
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group that the process leads.
    pub(super) fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    /// Whether there are processes in the group that do not come to their end within this time. To
    /// be asked once the leader is reaped: if there are none, the number of the group is free for
    /// others, so it is forgotten.
    pub(super) async fn has_others(&mut self, time: Duration) -> bool {
        for _ in 0..10 {
            self.0 = self.0.filter(|group| is_alive(*group));
            if self.0.is_none() {
                return false;
            }
            sleep(time / 10).await;
        }
        true
    }

    pub(super) fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            // It fails where nothing is left to be killed.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether a process of the group still runs.
fn is_alive(group: Pid) -> bool {
    test_kill_process_group(group).is_ok() && !has_only_zombies(group)
}

/// Whether all processes of the group have ended and nobody has asked how. In a container whose first
/// process does not reap, such orphans stay for ever. Known on Linux only.
fn has_only_zombies(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    let mut states = processes
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter_map(|stat| state_in(&stat, group))
        .peekable();
    states.peek().is_some() && states.all(|state| state == 'Z')
}

/// The state of a process by its line in `/proc/[pid]/stat`, if it is of the group. The name of the
/// program comes before, in parentheses, and may hold anything.
fn state_in(stat: &str, group: Pid) -> Option<char> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let of = fields.nth(1)?;
    (of.parse() == Ok(group.as_raw_nonzero().get())).then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc_is_understood() {
        let group = Pid::from_raw(42).unwrap();
        assert_eq!(state_in("7 (sh) S 1 42 42 0 -1", group), Some('S'));
        assert_eq!(state_in("7 (a) b ( c)) Z 1 42 42 0 -1", group), Some('Z'));
        assert_eq!(state_in("7 (sh) S 42 1 42 0 -1", group), None);
        assert_eq!(state_in("7 (sh", group), None);
        assert_eq!(state_in("", group), None);
    }
}
