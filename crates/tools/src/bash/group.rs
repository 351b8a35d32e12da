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

    /// Its number.
    pub(super) fn id(&self) -> Option<Pid> {
        self.0
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

/// What each command and all that it starts has in its environment, so that they can be told from
/// others: a value that no other command has.
pub(super) const MARK: &str = "POD_CALL";

/// Whether a process that carries the mark runs outside of the group. Known on Linux only; a process
/// that took a clean environment carries no mark.
pub(super) fn has_left(mark: &str, group: Option<Pid>) -> bool {
    let carried = format!("{MARK}={mark}\0");
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    processes.filter_map(Result::ok).any(|entry| {
        let path = entry.path();
        // Those of other users cannot be read; those that have ended have none.
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        memchr::memmem::find(&environment, carried.as_bytes()).is_some()
            && std::fs::read_to_string(path.join("stat")).is_ok_and(|stat| {
                // What was just killed is on its way out.
                group.is_none_or(|group| state_in(&stat, group).is_none())
            })
    })
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
