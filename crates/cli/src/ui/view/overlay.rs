//! What lies over the conversation while it is open.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tools::task::Task;
use tools::task::render::one_line;

use super::style::mark;
use super::{Style, draw_page};
use crate::tasks::text::{cut, wrap};
use crate::ui::board::Step;
use crate::ui::lines::wrapped;
use crate::ui::overlay::{Filter, Overlay, TaskView};
use crate::ui::state::State;

/// The most rows of a choice that are shown beside what they would do.
const PREVIEW: u16 = 8;

pub(super) fn draw(frame: &mut Frame<'_>, state: &mut State, style: Style, area: Rect) {
    let [title_area, body, keys_area] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    state.scroll.page = usize::from(body.height);
    let columns = usize::from(area.width);
    let (mut title, mut keys) = (String::new(), "");
    // Taken out, so that the state can be looked at meanwhile.
    let mut overlay = state.overlay.take();
    match &mut overlay {
        None => {}
        Some(Overlay::Tasks(view)) => {
            let (done, total) = state.board.progress();
            title = format!("Tasks: {done} of {total} done");
            let lines = if view.timeline {
                title.push_str(", timeline");
                keys = "t list   Up/Down scroll   Esc back";
                timeline(state, style, columns)
            } else {
                if view.filter != Filter::All {
                    title = format!("{title}, showing {}", view.filter.as_str());
                }
                keys = "f filter   t timeline   Up/Down scroll   Esc back";
                list(state, view, style, columns)
            };
            view.top = draw_page(frame, lines, view.top, body);
        }
        Some(Overlay::Page(page)) => {
            title.clone_from(&page.title);
            keys = "Up/Down scroll   Esc back";
            let lines = wrapped(&page.text, columns).into_iter().map(Line::raw);
            page.top = draw_page(frame, lines.collect(), page.top, body);
        }
        Some(Overlay::Rewind(picker, moments)) => {
            title.clone_from(&picker.title);
            keys = "Enter go back there   Up/Down choose   Esc back";
            let preview = body.height.saturating_sub(3).min(PREVIEW);
            let [rows, below] =
                Layout::vertical([Constraint::Fill(1), Constraint::Length(preview)]).areas(body);
            choice(frame, &picker.rows, picker.selected, style, rows);
            let tasks = moments.get(picker.selected).map(|it| it.tasks.as_slice());
            let lines = list_then(tasks.unwrap_or_default(), style, columns, below.height);
            frame.render_widget(Paragraph::new(lines), below);
        }
        Some(Overlay::Resume(picker)) => {
            title.clone_from(&picker.title);
            keys = "Enter go on with it   Up/Down choose   Esc back";
            choice(frame, &picker.rows, picker.selected, style, body);
        }
    }
    state.overlay = overlay;
    let title = Line::styled(cut(&title, columns), style.strong());
    frame.render_widget(Paragraph::new(title), title_area);
    let keys = Line::styled(cut(keys, columns), style.faint());
    frame.render_widget(Paragraph::new(keys), keys_area);
}

fn choice(frame: &mut Frame<'_>, rows: &[String], selected: usize, style: Style, area: Rect) {
    let columns = usize::from(area.width);
    let height = usize::from(area.height);
    let top = (selected + 1).saturating_sub(height);
    let rows = rows.iter().enumerate().skip(top).take(height);
    let lines = rows.map(|(index, row)| {
        let (lead, cells) = if index == selected {
            ("> ", style.chosen())
        } else {
            ("  ", style.plain())
        };
        Line::styled(cut(&format!("{lead}{}", one_line(row)), columns), cells)
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}

/// The list as it was at another time.
fn list_then(tasks: &[Task], style: Style, columns: usize, height: u16) -> Vec<Line<'static>> {
    let text = if tasks.is_empty() {
        "There were no tasks then."
    } else {
        "The list then:"
    };
    let mut lines = vec![Line::styled(cut(text, columns), style.strong())];
    let room = usize::from(height).saturating_sub(2);
    for task in tasks.iter().take(room) {
        lines.push(row(task, style, columns));
    }
    if tasks.len() > room {
        lines.push(Line::styled(
            format!("and {} more", tasks.len() - room),
            style.faint(),
        ));
    }
    lines
}

fn row(task: &Task, style: Style, columns: usize) -> Line<'static> {
    let subject = one_line(&task.subject);
    let text = format!(
        "{} #{} {} {}",
        mark(task.status),
        task.id,
        task.status,
        subject.trim_start()
    );
    Line::styled(cut(&text, columns), style.task(task.status))
}

/// Every task with its description.
fn list(state: &State, view: &TaskView, style: Style, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for task in state.board.tasks() {
        if !view.filter.shows(task.status) {
            continue;
        }
        let lead = format!("{} #{} {} ", mark(task.status), task.id, task.status);
        let subject = one_line(&task.subject);
        let subject = wrap(subject.trim_start(), columns.saturating_sub(4));
        let mut subject = subject.into_iter();
        let whole = format!("{lead}{}", subject.next().unwrap_or_default());
        for line in wrap(&whole, columns) {
            lines.push(Line::styled(line, style.task(task.status)));
        }
        for line in subject {
            lines.push(Line::styled(format!("    {line}"), style.task(task.status)));
        }
        if !task.description.trim().is_empty() {
            for line in wrapped(&task.description, columns.saturating_sub(4)) {
                lines.push(Line::styled(format!("    {line}"), style.faint()));
            }
        }
    }
    if lines.is_empty() {
        let text = if state.board.tasks().is_empty() {
            "There are no tasks yet. The model makes them as it works; /tasks add SUBJECT adds one."
        } else {
            "No task is of this kind; f shows others."
        };
        lines.extend(wrap(text, columns).into_iter().map(Line::raw));
    }
    lines
}

/// Who changed what, when.
fn timeline(state: &State, style: Style, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for step in state.board.steps() {
        let time = step.at.strftime("%m-%d %H:%M:%SZ");
        let lead = format!("{time}  {:<5}  ", step.by.as_str());
        let text = told(step);
        if columns < lead.len() + 30 {
            lines.push(Line::styled(cut(lead.trim_end(), columns), style.faint()));
            for line in wrap(&text, columns.saturating_sub(2)) {
                lines.push(Line::styled(
                    format!("  {line}"),
                    style.task(step.change.task.status),
                ));
            }
            continue;
        }
        for (index, line) in wrap(&text, columns - lead.len()).into_iter().enumerate() {
            let lead = if index == 0 {
                lead.clone()
            } else {
                " ".repeat(lead.len())
            };
            lines.push(Line::from(vec![
                Span::styled(lead, style.faint()),
                Span::styled(line, style.task(step.change.task.status)),
            ]));
        }
    }
    if lines.is_empty() {
        lines.push(Line::raw("Nothing was changed yet."));
    }
    lines
}

fn told(step: &Step) -> String {
    let change = &step.change;
    let task = &change.task;
    let subject = one_line(&task.subject);
    let subject = subject.trim_start();
    match change.previous_status {
        None => format!("#{} new: {subject}", task.id),
        Some(before) => {
            let fields = change.fields.iter().map(|field| match *field {
                "status" => format!("{before} -> {}", task.status),
                field => format!("new {}", field.replace('_', " ")),
            });
            let fields: Vec<String> = fields.collect();
            format!("#{} {}: {subject}", task.id, fields.join(", "))
        }
    }
}
