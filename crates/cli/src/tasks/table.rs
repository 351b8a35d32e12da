//! The list as a table: how far it is, and an entry a line.

use std::io::{self, Write};

use transcripts::{Chain, Origin, State, Task, What};

use super::load::Loaded;
use super::progress::{Progress, mark, style};
use super::terminal::{Style, Terminal};
use super::text::{clean, pad, width, wrap};
use super::timeline::short_time;

/// Below this many columns there is no room for the status in words.
const NARROW: usize = 50;

/// The widest id that gets a column of its own.
const ID_COLUMNS: usize = 8;

/// Writes the lists of a log.
pub(crate) fn write(
    loaded: &Loaded,
    all: bool,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    head(loaded, terminal, out)?;
    let list = &loaded.list;
    let tasks = list.tasks();
    let todos = list.todos(&Chain::Main);
    let both = !tasks.is_empty() && !todos.is_empty();
    if tasks.is_empty() && todos.is_empty() {
        let text = if list.is_touched() {
            "The list is empty now."
        } else {
            "No tasks found."
        };
        writeln!(out, "{text}")?;
    }
    if !tasks.is_empty() {
        section(both.then_some("Tasks"), &tasks, terminal, out)?;
    }
    if !todos.is_empty() {
        if both {
            writeln!(out)?;
        }
        let todos: Vec<&Task> = todos.iter().collect();
        section(both.then_some("Todos"), &todos, terminal, out)?;
    }
    agents(loaded, all, terminal, out)?;
    pending(loaded, terminal, out)
}

/// What the list is of.
fn head(loaded: &Loaded, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let started = loaded.reports.iter().filter_map(|it| it.started).min();
    let time = match (started, loaded.ended()) {
        (Some(from), Some(to)) if from != to => {
            format!("{} to {}", short_time(from), short_time(to))
        }
        (Some(at), _) | (None, Some(at)) => short_time(at),
        (None, None) => String::new(),
    };
    let parts = [loaded.source.name(), loaded.format(), time];
    let parts: Vec<String> = parts
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| clean(part))
        .collect();
    let columns = terminal.width.unwrap_or(usize::MAX);
    for line in wrap(&parts.join("  "), columns) {
        writeln!(out, "{}", terminal.paint(Style::Faint, &line))?;
    }
    Ok(())
}

fn section(
    title: Option<&str>,
    tasks: &[&Task],
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    if let Some(title) = title {
        writeln!(out, "{}", terminal.paint(Style::Strong, &clean(title)))?;
    }
    let progress = Progress::of(tasks.iter().copied());
    let columns = terminal.width.unwrap_or(usize::MAX);
    let bar = progress.bar(if columns < NARROW { 10 } else { 20 });
    for line in wrap(&format!("{bar} {}", progress.describe()), columns) {
        writeln!(out, "{line}")?;
    }
    for line in rows(tasks, terminal) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The entries as lines.
pub(crate) fn rows(tasks: &[&Task], terminal: Terminal) -> Vec<String> {
    let columns = terminal.width.unwrap_or(usize::MAX);
    let ids: Vec<String> = tasks
        .iter()
        .map(|task| format!("#{}", clean(&task.id)))
        .collect();
    let id_columns = ids.iter().map(|id| width(id)).max().unwrap_or(0);
    let id_columns = id_columns.min(ID_COLUMNS);
    let status_columns = tasks
        .iter()
        .map(|task| width(task.state().as_str()))
        .max()
        .unwrap_or(0);
    let mut lines = Vec::new();
    for (task, id) in tasks.iter().zip(&ids) {
        let state = task.state();
        let mut lead = format!("{} {}", mark(state), pad(id, id_columns));
        if columns >= NARROW {
            lead.push_str("  ");
            lead.push_str(&pad(state.as_str(), status_columns));
        }
        lead.push_str("  ");
        let indent = width(&lead);
        let room = columns.saturating_sub(indent);
        for (index, line) in wrap(&label(task), room).into_iter().enumerate() {
            let lead = if index == 0 {
                terminal.paint(style(state), &lead)
            } else {
                " ".repeat(indent)
            };
            lines.push(format!(
                "{lead}{}",
                terminal.paint(text_style(state), &line)
            ));
        }
        let note = note(task);
        if !note.is_empty() {
            for line in wrap(&note, room) {
                let line = terminal.paint(Style::Faint, &line);
                lines.push(format!("{}{line}", " ".repeat(indent)));
            }
        }
    }
    lines
}

fn text_style(state: State) -> Style {
    match state {
        State::Working => Style::Strong,
        State::Done | State::Deleted | State::Cancelled => Style::Faint,
        State::Pending | State::Unknown => Style::Plain,
    }
}

/// The subject, or that it is not known.
pub(crate) fn label(task: &Task) -> String {
    match &task.subject {
        Some(subject) => clean(subject),
        None if task.origin == Origin::Stub => {
            String::from("(subject unknown: created outside of this log)")
        }
        None => String::from("(no subject)"),
    }
}

/// What else is worth knowing.
fn note(task: &Task) -> String {
    let mut notes = Vec::new();
    if task.state() == State::Working
        && let Some(active_form) = &task.active_form
    {
        notes.push(format!("> {}", clean(active_form)));
    }
    if task.state() == State::Unknown
        && let Some(status) = task
            .status
            .as_deref()
            .filter(|status| *status != State::UNKNOWN)
    {
        notes.push(format!("status \"{}\"", clean(status)));
    }
    if let Some(owner) = task.owner.as_ref().filter(|owner| !owner.is_empty()) {
        notes.push(format!("owner {}", clean(owner)));
    }
    if !task.blocked_by.is_empty() && task.state() != State::Done {
        let ids: Vec<String> = task
            .blocked_by
            .iter()
            .map(|id| format!("#{}", clean(id)))
            .collect();
        notes.push(format!("waits for {}", ids.join(", ")));
    }
    if task.absent {
        notes.push(String::from("no longer in the agent's own list"));
    }
    notes.join("  ")
}

/// The todo lists of sub-agents, or that there are some.
fn agents(loaded: &Loaded, all: bool, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let lists = loaded.list.todos_by_agent();
    if all {
        for (chain, todos) in lists {
            let todos: Vec<&Task> = todos.iter().collect();
            writeln!(out)?;
            section(Some(&format!("Todos of {chain}")), &todos, terminal, out)?;
        }
        return Ok(());
    }
    let note = match lists.count() {
        0 => return Ok(()),
        1 => String::from("1 sub-agent has a todo list of its own; --all shows it."),
        more => format!("{more} sub-agents have todo lists of their own; --all shows them."),
    };
    for line in wrap(&note, terminal.width.unwrap_or(usize::MAX)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The calls that have no result.
fn pending(loaded: &Loaded, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    for event in loaded.list.pending() {
        let tool = event.call.as_ref().map_or("", |call| call.tool.name());
        let lost = matches!(event.what, What::Pending { lost: true, .. });
        let yet = if lost { "" } else { " yet" };
        let text = format!("{tool} in line {} has no result{yet}.", event.place.line);
        for line in wrap(&text, terminal.width.unwrap_or(usize::MAX)) {
            writeln!(out, "{}", terminal.paint(Style::Faint, &line))?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
