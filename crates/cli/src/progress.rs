//! The line on standard error that shows, while a prompt runs, what is being worked on.

use std::io::Write as _;

use pod::Event;
use tools::task::{Status, TaskStore, render};
use unicode_width::UnicodeWidthStr as _;

use crate::terminal;

/// Shows the task in progress and how many are done, on a terminal; elsewhere nothing.
pub(crate) struct Progress {
    shown: bool,
    enabled: bool,
}

impl Progress {
    /// A line that is shown if a person looks and did not ask for quiet.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            shown: false,
            enabled: !quiet && terminal::is_watched(),
        }
    }

    /// Brings the line up to date.
    pub(crate) fn update(&mut self, event: &Event, tasks: &TaskStore) {
        if !self.enabled {
            return;
        }
        let text = match event {
            Event::Entry(_) | Event::Task(_) => line(tasks),
            Event::Preview(llm::Delta::Retry { wait, error, .. }) => {
                format!("waiting {} s: {error}", wait.as_secs())
            }
            _ => return,
        };
        self.shown = true;
        let text = shown(&text, width());
        let _ = write!(std::io::stderr().lock(), "\r\x1b[2K{text}");
    }

    /// Takes the line away, so that other text can be printed.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

/// The text as it stands in one line of so many columns.
pub(crate) fn shown(text: &str, columns: usize) -> String {
    fit(&render::one_line(text), columns)
}

/// Such as `2/5 Running the tests`.
pub(crate) fn line(tasks: &TaskStore) -> String {
    let counts = tasks.counts();
    if counts.kept() == 0 {
        return String::from("working");
    }
    let current = tasks.with(|tasks| {
        let current = tasks
            .iter()
            .find(|task| task.status == Status::InProgress)
            .or_else(|| tasks.iter().find(|task| task.status == Status::Pending));
        current.map(|task| match (&task.active_form, task.status) {
            (Some(label), Status::InProgress) => label.clone(),
            _ => task.subject.clone(),
        })
    });
    format!(
        "{}/{} {}",
        counts.completed,
        counts.kept(),
        current.unwrap_or_else(|| String::from("done"))
    )
}

/// The beginning of the text that fits into so many columns.
fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut fitted = String::new();
    for character in text.chars() {
        let mut longer = fitted.clone();
        longer.push(character);
        if longer.width() + 1 > columns {
            break;
        }
        fitted = longer;
    }
    fitted.push('…');
    fitted
}

/// The columns of the terminal, less one so that the line never wraps.
fn width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr())
        .map_or(79, |(columns, _)| usize::from(columns.0).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_by_columns() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
    }
}
