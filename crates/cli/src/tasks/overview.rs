//! Many logs, a line each, the newest first.

use std::cmp::Reverse;
use std::io::{self, Write};

use jiff::Timestamp;
use transcripts::{Chain, State, Task};

use super::load::Loaded;
use super::progress::Progress;
use super::table::label;
use super::terminal::{Style, Terminal};
use super::text::{clean, cut, cut_front, pad, width};
use crate::age::{self, age};

/// The length of the bar.
const BAR: usize = 10;

/// Puts the newest first; those that do not tell a time come last.
pub(crate) fn sort(loaded: &mut [Loaded]) {
    loaded.sort_by_cached_key(|it| (Reverse(it.ended()), it.source.files.clone()));
}

/// Writes a line for each log that has a list, and how many have none.
pub(crate) fn write(
    loaded: &[Loaded],
    now: Timestamp,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let with_list: Vec<&Loaded> = loaded.iter().filter(|it| it.list.is_touched()).collect();
    let formats = with_list.iter().map(|it| width(&it.format()));
    let format_columns = formats.max().unwrap_or(0);
    for it in &with_list {
        writeln!(out, "{}", line(it, format_columns, now, terminal))?;
    }
    let without = loaded.len() - with_list.len();
    let text = match (with_list.len(), without) {
        (0, 0) => String::from("No logs found."),
        (0, 1) => String::from("No tasks found in 1 log."),
        (0, _) => format!("No tasks found in {without} logs."),
        (_, 0) => return Ok(()),
        (_, 1) => String::from("1 more log has no tasks."),
        _ => format!("{without} more logs have no tasks."),
    };
    writeln!(out, "{}", terminal.paint(Style::Faint, &text))
}

/// Below this many columns there is no room for the format.
const NARROW: usize = 90;

fn line(loaded: &Loaded, format_columns: usize, now: Timestamp, terminal: Terminal) -> String {
    let tasks = loaded.list.tasks();
    let todos = loaded.list.todos(&Chain::Main);
    let all = || tasks.iter().copied().chain(todos);
    let progress = Progress::of(all());
    let time = loaded
        .ended()
        .map_or_else(String::new, |time| age(time, now));
    let time = pad(&time, age::COLUMNS);
    let share = format!("{:>3} of {:<3}", progress.done(), progress.total());
    let doubt = if loaded.has_gaps() { "!" } else { " " };
    let mut lead = format!("{time}  {share} {}{doubt} ", progress.bar(BAR));
    let columns = terminal.width.unwrap_or(usize::MAX);
    if columns >= NARROW {
        lead.push_str(&pad(&loaded.format(), format_columns));
        lead.push_str("  ");
    }
    let room = columns.saturating_sub(width(&lead)).max(12);
    let name = cut_front(&clean(&loaded.source.name()), room);
    let mut text = format!("{lead}{name}");
    if let Some(task) = all().find(|task| task.state() == State::Working) {
        text.push_str("  > ");
        text.push_str(&in_words(task));
    }
    cut(&text, columns)
}

/// What is being done, in words.
fn in_words(task: &Task) -> String {
    match &task.active_form {
        Some(form) => clean(form),
        None => label(task),
    }
}
