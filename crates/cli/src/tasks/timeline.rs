//! `--timeline`: who changed what, when, from what to what.

use std::io::{self, Write};

use jiff::Timestamp;
use transcripts::{Change, ChangeKind, State, What};

use super::load::{Loaded, Step};
use super::terminal::{Style, Terminal};
use super::text::{clean, cut, pad, width, wrap};

/// The widest name of a chain that gets a column of its own.
const CHAIN_COLUMNS: usize = 20;

/// Writes what happened to the lists of a log.
pub(crate) fn write(loaded: &Loaded, terminal: Terminal, out: &mut dyn Write) -> io::Result<()> {
    let name = clean(&format!("{}  {}", loaded.source.name(), loaded.format()));
    writeln!(out, "{}", terminal.paint(Style::Faint, &name))?;
    let chains = loaded.steps.iter().map(chain_name);
    let columns = chains.map(|name| width(&name)).max().unwrap_or(0);
    for step in &loaded.steps {
        for line in lines(step, columns.min(CHAIN_COLUMNS), terminal) {
            writeln!(out, "{line}")?;
        }
    }
    if loaded.steps.is_empty() {
        writeln!(out, "No tasks found.")?;
    }
    Ok(())
}

/// What an event did, a line a change; nothing if it changed nothing that a person would ask for.
pub(crate) fn lines(step: &Step, chain_columns: usize, terminal: Terminal) -> Vec<String> {
    let event = &step.event;
    let time = event.time.map_or_else(String::new, short_time);
    let chain = pad(&chain_name(step), chain_columns);
    let lead = format!("{}  {chain}  ", pad(&time, TIME_COLUMNS));
    let indent = width(&lead);
    let columns = terminal.width.unwrap_or(usize::MAX);
    // On a narrow terminal the text gets lines of its own.
    let (indent, alone) = if columns < indent + 30 {
        (2, true)
    } else {
        (indent, false)
    };
    let room = columns.saturating_sub(indent);
    let mut lines = Vec::new();
    for (style, text) in texts(step) {
        if alone {
            lines.push(terminal.paint(Style::Faint, &cut(lead.trim_end(), columns)));
        }
        for (index, line) in wrap(&text, room).into_iter().enumerate() {
            let lead = if index == 0 && !alone {
                terminal.paint(Style::Faint, &lead)
            } else {
                " ".repeat(indent)
            };
            lines.push(format!("{lead}{}", terminal.paint(style, &line)));
        }
    }
    lines
}

fn chain_name(step: &Step) -> String {
    clean(&step.event.chain.to_string())
}

fn texts(step: &Step) -> Vec<(Style, String)> {
    let event = &step.event;
    let tool = event.call.as_ref().map_or("", |call| call.tool.name());
    match &event.what {
        What::Failed { reason } => vec![(
            Style::Wrong,
            format!(
                "failed: {tool} in line {}: {}",
                event.place.line,
                clean(reason)
            ),
        )],
        What::Unreadable { reason } => vec![(
            Style::Wrong,
            format!(
                "not understood: {tool} in line {}: {}",
                event.place.line,
                reason.replace('_', " ")
            ),
        )],
        What::Pending { lost, .. } => {
            let what = if *lost { "no result" } else { "pending" };
            vec![(
                Style::Wrong,
                format!("{what}: {tool} in line {}", event.place.line),
            )]
        }
        What::Compaction => vec![(Style::Faint, String::from("the context was compacted"))],
        _ => step.changes.iter().map(text).collect(),
    }
}

fn text(change: &Change) -> (Style, String) {
    let id = format!("#{}", clean(&change.id));
    let subject = change.subject.as_deref().map(clean).unwrap_or_default();
    match &change.kind {
        ChangeKind::Added(status) => {
            let style = style_of(status.as_deref());
            let status = words(status.as_deref());
            (style, format!("{id} new, {status}: {subject}"))
        }
        ChangeKind::Field {
            name: "status",
            from,
            to,
        } => (
            style_of(to.as_deref()),
            format!(
                "{id} {} -> {}: {subject}",
                words(from.as_deref()),
                words(to.as_deref())
            ),
        ),
        ChangeKind::Field { name, from, to } => {
            let value = |value: &Option<String>| match value {
                Some(value) => format!("\"{}\"", clean(value)),
                None => String::from("nothing"),
            };
            let text = format!("{id} {name}: {} -> {}", value(from), value(to));
            (Style::Plain, text)
        }
        ChangeKind::Removed(_) => (Style::Faint, format!("{id} taken out: {subject}")),
        ChangeKind::Absent => (
            Style::Faint,
            format!("{id} no longer in the agent's own list: {subject}"),
        ),
        ChangeKind::Back => (
            Style::Plain,
            format!("{id} in the agent's own list again: {subject}"),
        ),
    }
}

fn words(status: Option<&str>) -> String {
    match (State::of(status), status) {
        (State::Unknown, Some(status)) => clean(status),
        (state, _) => state.as_str().to_owned(),
    }
}

fn style_of(status: Option<&str>) -> Style {
    super::progress::style(State::of(status))
}

/// The columns of [`short_time`].
const TIME_COLUMNS: usize = 20;

/// A time to the second, in UTC.
pub(crate) fn short_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}
