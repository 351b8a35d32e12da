//! `--markdown`: the list as check boxes, to be pasted into an issue or a note.

use std::io::{self, Write};

use transcripts::{Chain, State, Task};

use super::load::Loaded;
use super::progress::Progress;
use super::table::label;
use super::text::clean;

/// Writes the lists of a log.
pub(crate) fn write(loaded: &Loaded, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let list = &loaded.list;
    let tasks = list.tasks();
    let todos: Vec<&Task> = list.todos(&Chain::Main).iter().collect();
    let name = escaped(&clean(&loaded.source.name()));
    writeln!(out, "## {name}\n")?;
    if tasks.is_empty() && todos.is_empty() {
        writeln!(out, "No tasks.")?;
    }
    section(None, &tasks, out)?;
    if !tasks.is_empty() && !todos.is_empty() {
        writeln!(out)?;
    }
    section(None, &todos, out)?;
    if all {
        for (chain, todos) in list.todos_by_agent() {
            let todos: Vec<&Task> = todos.iter().collect();
            writeln!(out)?;
            section(Some(&chain.to_string()), &todos, out)?;
        }
    }
    Ok(())
}

fn section(title: Option<&str>, tasks: &[&Task], out: &mut dyn Write) -> io::Result<()> {
    if let Some(title) = title {
        writeln!(out, "### {}\n", escaped(&clean(title)))?;
    }
    if tasks.is_empty() {
        return Ok(());
    }
    let progress = Progress::of(tasks.iter().copied());
    writeln!(out, "{}\n", progress.describe())?;
    for task in tasks {
        writeln!(out, "{}", item(task))?;
    }
    Ok(())
}

fn item(task: &Task) -> String {
    let state = task.state();
    let tick = if state == State::Done { 'x' } else { ' ' };
    let id = escaped(&clean(&task.id));
    let subject = escaped(&label(task));
    match state {
        State::Pending | State::Done => format!("- [{tick}] {id}. {subject}"),
        State::Cancelled | State::Deleted => {
            format!("- [{tick}] {id}. ~~{subject}~~ ({})", state.as_str())
        }
        State::Working => match task.active_form.as_deref().map(clean) {
            Some(form) => format!(
                "- [{tick}] {id}. **{subject}** (in progress: {})",
                escaped(&form)
            ),
            None => format!("- [{tick}] {id}. **{subject}** (in progress)"),
        },
        State::Unknown => format!("- [{tick}] {id}. {subject} (unknown)"),
    }
}

/// The text so that Markdown shows it as it is: nothing in it makes a link, an image, HTML or a mark.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(
            letter,
            '\\' | '`'
                | '*'
                | '_'
                | '{'
                | '}'
                | '['
                | ']'
                | '<'
                | '>'
                | '#'
                | '|'
                | '~'
                | '!'
                | '&'
                | '@'
                | '$'
        ) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
