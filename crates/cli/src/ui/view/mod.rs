//! From the state to cells: nothing is decided here but what is shown where.
//!
//! - [`conversation`]: what was said and done. [`panel`]: the task list in view. [`bottom`]: input,
//!   question, status. [`overlay`]: what lies over it all. [`style`]: colours, where there are any.

mod bottom;
mod conversation;
mod overlay;
mod panel;
mod style;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::state::State;
pub(super) use conversation::LaidOut;
pub(super) use style::Style;

/// From this width on the task list stands beside the conversation.
const WIDE: u16 = 120;

/// The columns of the task list there.
const SIDE: u16 = 46;

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut State, style: Style) {
    let area = frame.area();
    if area.width < 12 || area.height < 4 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    if state.overlay.is_some() && state.questions.is_empty() {
        overlay::draw(frame, state, style, area);
        return;
    }
    let area = if area.width >= WIDE && state.board.has_work() {
        let [area, _, side] = Layout::horizontal([
            Constraint::Fill(1),
            Constraint::Length(1),
            Constraint::Length(SIDE),
        ])
        .areas(area);
        let lines = panel::lines(state, style, side.width, side.height);
        frame.render_widget(Paragraph::new(lines), side);
        area
    } else {
        area
    };
    let is_beside = frame.area().width != area.width;
    // The conversation keeps a third of the screen, and a line at the least beside the one that says
    // what goes on: the last line of the answer is always in view.
    let least = (area.height / 3).max(2);
    let bottom = bottom::Bottom::of(state, style, area.width, area.height.saturating_sub(least));
    let room = area.height.saturating_sub(bottom.height() + least);
    let tasks = if is_beside {
        Vec::new()
    } else {
        panel::lines(state, style, area.width, panel::height(state, area, room))
    };
    let activity = bottom::activity(state, style, area.width);
    let [top, activity_area, panel_area, bottom_area] = Layout::vertical([
        Constraint::Fill(1),
        Constraint::Length(u16::from(activity.is_some())),
        Constraint::Length(u16::try_from(tasks.len()).unwrap_or(u16::MAX)),
        Constraint::Length(bottom.height()),
    ])
    .areas(area);
    conversation::draw(frame, state, style, top);
    if let Some(line) = activity {
        frame.render_widget(Paragraph::new(line), activity_area);
    }
    frame.render_widget(Paragraph::new(tasks), panel_area);
    bottom.draw(frame, bottom_area);
}

/// Draws lines from a place on, and gives the place, which is moved where it would show nothing.
fn draw_page(frame: &mut Frame<'_>, lines: Vec<Line<'static>>, top: usize, area: Rect) -> usize {
    let height = usize::from(area.height);
    let top = top.min(lines.len().saturating_sub(height));
    let shown: Vec<Line<'_>> = lines.into_iter().skip(top).take(height).collect();
    frame.render_widget(Paragraph::new(shown), area);
    top
}

#[cfg(test)]
#[path = "../view_tests.rs"]
pub(in crate::ui) mod tests;
