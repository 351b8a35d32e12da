//! The task list that stays in view.

use std::time::Duration;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use tools::task::render::one_line;
use tools::task::{Status, Task};

use super::Style;
use super::style::mark;
use crate::tasks::text::{cut, width};
use crate::ui::state::State;

/// Below this many columns or rows the panel has one line.
const NARROW: u16 = 60;
const SHORT: u16 = 18;

/// The most lines of the panel below the conversation.
const MOST: u16 = 7;

/// How many lines the panel is to have, of those that there is room for.
pub(super) fn height(state: &State, area: Rect, room: u16) -> u16 {
    if !state.board.has_work() {
        return 0;
    }
    let most = if area.width < NARROW || area.height < SHORT {
        1
    } else {
        MOST
    };
    most.min(room)
}

/// The panel in so many lines at the most: how far it is, what is worked on, what is next, what was
/// done last.
pub(super) fn lines(state: &State, style: Style, columns: u16, height: u16) -> Vec<Line<'static>> {
    let board = &state.board;
    let (columns, height) = (usize::from(columns), usize::from(height));
    if height == 0 || !board.has_work() {
        return Vec::new();
    }
    let working: Vec<&Task> = board.with(Status::InProgress).collect();
    if height == 1 {
        return vec![folded(state, &working, style, columns)];
    }
    let mut lines = vec![head(state, style, columns)];
    let pending: Vec<&Task> = board.with(Status::Pending).collect();
    let done = board.with(Status::Completed).rev();
    // What is worked on comes first, then what is next, then what was done last.
    let order = working.iter().copied().chain(pending).chain(done);
    let order: Vec<&Task> = order.collect();
    let room = height - 1;
    let shown = if order.len() > room { room - 1 } else { room };
    for task in order.iter().take(shown) {
        lines.push(row(state, task, style, columns));
    }
    let hidden = order.len().saturating_sub(shown);
    if hidden > 0 {
        let text = format!("    and {hidden} more (Ctrl-T)");
        lines.push(Line::styled(cut(&text, columns), style.faint()));
    }
    lines
}

fn head(state: &State, style: Style, columns: usize) -> Line<'static> {
    let (done, total) = state.board.progress();
    let length = if columns < usize::from(NARROW) {
        10
    } else {
        20
    };
    let text = format!("{} {done}/{total} done", bar(done, total, length));
    let deleted = state.board.with(Status::Deleted).count();
    let text = if deleted > 0 {
        format!("{text}, {deleted} deleted")
    } else {
        text
    };
    Line::styled(cut(&text, columns), style.strong())
}

/// The panel in one line.
fn folded(state: &State, working: &[&Task], style: Style, columns: usize) -> Line<'static> {
    let (done, total) = state.board.progress();
    let head = format!("{} {done}/{total} ", bar(done, total, 6));
    let rest = columns.saturating_sub(width(&head));
    let next = working.first().copied();
    let next = next.or_else(|| state.board.with(Status::Pending).next());
    let (text, status) = match next {
        Some(task) => (doing(state, task), task.status),
        None => (String::from("all done"), Status::Completed),
    };
    Line::from(vec![
        Span::styled(cut(&head, columns), style.strong()),
        Span::styled(cut(&text, rest), style.task(status)),
    ])
}

fn row(state: &State, task: &Task, style: Style, columns: usize) -> Line<'static> {
    let text = format!("{} #{} {}", mark(task.status), task.id, doing(state, task));
    Line::styled(cut(&text, columns), style.task(task.status))
}

/// What a task is about: while it is worked on, the label for that, and for how long it is.
fn doing(state: &State, task: &Task) -> String {
    if task.status != Status::InProgress {
        return one_line(&task.subject).trim_start().to_owned();
    }
    let label = task.active_form.as_deref().unwrap_or(&task.subject);
    let label = one_line(label).trim_start().to_owned();
    match state.board.elapsed(task, state.now) {
        Some(elapsed) => format!("{label}  {}", clock(elapsed)),
        None => label,
    }
}

/// A bar of this many columns. It is full only when all is done.
fn bar(done: usize, total: usize, length: usize) -> String {
    let filled = (done * length).checked_div(total).unwrap_or(0);
    format!("[{}{}]", "#".repeat(filled), "-".repeat(length - filled))
}

/// A length of time as `0:07` or `1:02:03`.
pub(super) fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}
