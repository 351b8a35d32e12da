//! How far a list is: counts, a bar, marks.

use transcripts::{State, Task};

use super::terminal::Style;

/// How many entries of a list there are of each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    counts: [usize; State::ALL.len()],
}

impl Progress {
    pub(crate) fn of<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Self {
        let mut progress = Self::default();
        for task in tasks {
            let state = task.state();
            for (count, of) in progress.counts.iter_mut().zip(State::ALL) {
                *count += usize::from(of == state);
            }
        }
        progress
    }

    /// How many there are in this state.
    pub(crate) fn count(&self, state: State) -> usize {
        let counts = self.counts.iter().zip(State::ALL);
        counts
            .filter(|(_, of)| *of == state)
            .map(|(&count, _)| count)
            .sum()
    }

    /// How many count as work: all but deleted and cancelled ones.
    pub(crate) fn total(&self) -> usize {
        let counts = self.counts.iter().zip(State::ALL);
        counts
            .filter(|(_, of)| of.counts())
            .map(|(&count, _)| count)
            .sum()
    }

    pub(crate) fn done(&self) -> usize {
        self.count(State::Done)
    }

    /// Both lists together.
    pub(crate) fn and(mut self, other: Self) -> Self {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self
    }

    /// A bar of this many characters and the brackets around it.
    pub(crate) fn bar(&self, length: usize) -> String {
        // Full only when all is done.
        let filled = (self.done() * length)
            .checked_div(self.total())
            .unwrap_or(0);
        format!("[{}{}]", "#".repeat(filled), "-".repeat(length - filled))
    }

    /// One line, such as `2 of 5 done: 2 pending, 1 in progress; 1 deleted not counted`.
    pub(crate) fn describe(&self) -> String {
        let told = |states: &[State]| {
            let told: Vec<String> = states
                .iter()
                .filter(|state| self.count(**state) > 0)
                .map(|state| format!("{} {}", self.count(*state), state.as_str()))
                .collect();
            told.join(", ")
        };
        let mut line = format!("{} of {} done", self.done(), self.total());
        let open = told(&[State::Pending, State::Working, State::Unknown]);
        if !open.is_empty() {
            line.push_str(": ");
            line.push_str(&open);
        }
        let dropped = told(&[State::Cancelled, State::Deleted]);
        if !dropped.is_empty() {
            line.push_str("; ");
            line.push_str(&dropped);
            line.push_str(" not counted");
        }
        line
    }
}

/// The mark of a state: the words say the same, so it needs no colour.
pub(crate) fn mark(state: State) -> &'static str {
    match state {
        State::Pending => "[ ]",
        State::Working => "[>]",
        State::Done => "[x]",
        State::Cancelled | State::Deleted => "[-]",
        State::Unknown => "[?]",
    }
}

pub(crate) fn style(state: State) -> Style {
    match state {
        State::Pending => Style::Plain,
        State::Working => Style::Working,
        State::Done => Style::Done,
        State::Cancelled | State::Deleted => Style::Faint,
        State::Unknown => Style::Wrong,
    }
}
