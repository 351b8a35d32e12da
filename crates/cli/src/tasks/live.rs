//! A list that changes while somebody looks: redrawn in place on a terminal, else a line a change.

use std::io::{self, Write};
use std::time::Duration;

use transcripts::{Chain, Change, ChangeKind, State, Task, TaskList, What};

use super::load::Step;
use super::progress::{Progress, mark, style};
use super::table::label;
use super::terminal::{Style, Terminal};
use super::text::{clean, cut, pad, width};

/// The view.
pub(crate) struct Live {
    terminal: Terminal,
    /// How many lines stand on the terminal that the next drawing replaces.
    drawn: usize,
}

impl Live {
    pub(crate) fn new(terminal: Terminal) -> Self {
        Self { terminal, drawn: 0 }
    }

    /// Whether it is redrawn in place.
    pub(crate) fn in_place(&self) -> bool {
        self.terminal.interactive
    }

    /// Shows what an event did, where the view is one of lines.
    pub(crate) fn step(
        &self,
        step: &Step,
        list: &TaskList,
        elapsed: Duration,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if self.in_place() {
            return Ok(());
        }
        let time = clock(elapsed);
        if let What::Failed { reason } = &step.event.what {
            let tool = step.event.call.as_ref().map_or("", |call| call.tool.name());
            writeln!(out, "{time}  [!] {tool} failed: {}", clean(reason))?;
        }
        let progress = progress(list);
        for text in step.changes.iter().filter_map(|it| change(it, step, list)) {
            let share = format!("({} of {} done)", progress.done(), progress.total());
            writeln!(out, "{time}  {text}  {share}")?;
        }
        out.flush()
    }

    /// Draws the list where it stood before.
    pub(crate) fn draw(
        &mut self,
        list: &TaskList,
        elapsed: Duration,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if !self.in_place() {
            return Ok(());
        }
        let lines = self.lines(list, elapsed);
        let mut text = self.erased();
        for line in &lines {
            text.push_str(line);
            text.push('\n');
        }
        self.drawn = lines.len();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Takes the drawing away, so that something else can stand there.
    pub(crate) fn clear(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let text = self.erased();
        self.drawn = 0;
        out.write_all(text.as_bytes())
    }

    fn erased(&self) -> String {
        match self.drawn {
            0 => String::new(),
            // Up to the first of them, and all below goes.
            lines => format!("\r\u{1b}[{lines}A\u{1b}[J"),
        }
    }

    fn lines(&self, list: &TaskList, elapsed: Duration) -> Vec<String> {
        // The last column stays free: some terminals break the line there.
        let columns = self.terminal.width.unwrap_or(80).saturating_sub(1).max(8);
        let rows = self.terminal.height.unwrap_or(24).saturating_sub(2).max(1);
        let progress = progress(list);
        let bar = progress.bar(if columns < 50 { 10 } else { 20 });
        let head = format!("{}  {bar} {}", clock(elapsed), progress.describe());
        let mut lines = vec![cut(&head, columns)];
        let tasks = tasks(list);
        let (shown, hidden) = fitting(&tasks, rows);
        let ids = shown.iter().map(|task| width(&clean(&task.id)) + 1);
        let id_columns = ids.max().unwrap_or(0).min(8);
        for task in shown {
            let id = pad(&format!("#{}", clean(&task.id)), id_columns);
            let line = cut(
                &format!("{} {id}  {}", mark(task.state()), doing(task)),
                columns,
            );
            lines.push(self.terminal.paint(style(task.state()), &line));
        }
        if hidden > 0 {
            let line = cut(&format!("and {hidden} more"), columns);
            lines.push(self.terminal.paint(Style::Faint, &line));
        }
        lines
    }
}

/// Those that fit, in their order: what is finished goes first when there is not room for all. And how
/// many do not fit.
fn fitting<'a>(tasks: &[&'a Task], rows: usize) -> (Vec<&'a Task>, usize) {
    if tasks.len() <= rows {
        return (tasks.to_vec(), 0);
    }
    let room = rows.saturating_sub(1);
    let rank = |task: &Task| match task.state() {
        State::Working => 0,
        State::Pending | State::Unknown => 1,
        State::Done => 2,
        State::Cancelled | State::Deleted => 3,
    };
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&index| tasks.get(index).map(|task| rank(task)));
    order.truncate(room);
    order.sort_unstable();
    let shown: Vec<&Task> = order
        .iter()
        .filter_map(|&index| tasks.get(index).copied())
        .collect();
    let hidden = tasks.len() - shown.len();
    (shown, hidden)
}

fn tasks(list: &TaskList) -> Vec<&Task> {
    let mut tasks = list.tasks();
    tasks.extend(list.todos(&Chain::Main));
    tasks
}

fn progress(list: &TaskList) -> Progress {
    Progress::of(tasks(list))
}

/// What is shown of a task: while it is worked on, the label for that.
fn doing(task: &Task) -> String {
    match &task.active_form {
        Some(form) if task.state() == State::Working => clean(form),
        _ => label(task),
    }
}

/// A change in a line, if it is one that a person who looks on would ask for.
fn change(change: &Change, step: &Step, list: &TaskList) -> Option<String> {
    let id = clean(&change.id);
    let subject = || change.subject.as_deref().map(clean).unwrap_or_default();
    match &change.kind {
        ChangeKind::Removed(_) => return Some(format!("[-] #{id} taken out: {}", subject())),
        ChangeKind::Added(_)
        | ChangeKind::Field {
            name: "status" | "subject",
            ..
        } => {}
        ChangeKind::Field { .. } | ChangeKind::Absent | ChangeKind::Back => return None,
    }
    let task = if change.todo {
        let todos = list.todos(&step.event.chain);
        todos.iter().find(|task| task.id == change.id)
    } else {
        list.task(&change.id)
    };
    let task = task?;
    let mut text = format!("{} #{id} {}", mark(task.state()), doing(task));
    if step.event.chain != Chain::Main {
        text.push_str("  by ");
        text.push_str(&clean(&step.event.chain.to_string()));
    }
    Some(text)
}

/// A length of time as `0:07` or `1:02:03`.
fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
