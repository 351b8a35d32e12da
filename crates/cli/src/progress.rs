//! What a person sees of a prompt at work: a live line on standard error, each call if that is asked
//! for, and the list at the end.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use llm::{Item, ToolCall, ToolResult};
use pod::Event;
use tools::task::render::{one_line, short};
use tools::task::{Status, Task, TaskStore};

use crate::args::RunOptions;
use crate::tasks::terminal::{Style, Terminal};
use crate::tasks::text::{clean, cut};
use crate::terminal;

/// Below this many columns there is no room for a bar.
const NARROW: usize = 50;

/// How often the line is drawn anew while nothing happens, so that its time goes on.
const TICK: Duration = Duration::from_secs(1);

/// The most tasks of the list at the end.
const MOST_TASKS: usize = 20;

/// Shows the task in progress and how many are done, on a terminal; elsewhere nothing moves.
pub(crate) struct Progress {
    bar: ProgressBar,
    verbose: bool,
}

impl Progress {
    /// A line that is shown if a person looks and did not ask for quiet.
    pub(crate) fn new(options: &RunOptions) -> Self {
        let err = Terminal::of_stderr();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if err.interactive && !options.quiet {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.set_style(style(false, err));
            bar.set_message("working");
            bar.enable_steady_tick(TICK);
        }
        Self {
            bar,
            verbose: options.verbose,
        }
    }

    /// Brings the line up to date, and tells the calls if that is asked for.
    pub(crate) fn update(&self, event: &Event, tasks: &TaskStore) {
        match event {
            Event::Entry(entry) if self.verbose => {
                for line in told(&entry.item) {
                    self.say(|| terminal::lines(&line));
                }
            }
            _ => {}
        }
        if self.bar.is_hidden() {
            return;
        }
        match event {
            Event::Entry(_) | Event::Task(_) => self.show(tasks),
            Event::Preview(llm::Delta::Retry { wait, error, .. }) => {
                let text = format!("waiting {} s: {error}", wait.as_secs());
                self.bar.set_message(clean(&text));
            }
            _ => {}
        }
    }

    fn show(&self, tasks: &TaskStore) {
        let counts = tasks.counts();
        if counts.kept() > 0 {
            if self.bar.length().is_none() {
                self.bar.set_style(style(true, Terminal::of_stderr()));
            }
            self.bar.set_length(counts.kept().into());
            self.bar.set_position(counts.completed.into());
        }
        self.bar.set_message(message(tasks));
    }

    /// Says something above the line.
    pub(crate) fn say(&self, speak: impl FnOnce()) {
        self.bar.suspend(speak);
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// How the line looks. It never wraps: the message gives way.
fn style(has_tasks: bool, terminal: Terminal) -> ProgressStyle {
    let template = match (has_tasks, terminal.width) {
        (true, Some(columns)) if columns < NARROW => "{pos}/{len} {wide_msg} {elapsed}",
        (true, _) => "[{bar:16}] {pos}/{len} {wide_msg} {elapsed}",
        (false, _) => "{wide_msg} {elapsed}",
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("#>-")
}

/// What is being done: the active form of the task in progress, or the next one that is open.
pub(crate) fn message(tasks: &TaskStore) -> String {
    if tasks.counts().kept() == 0 {
        return String::from("working");
    }
    let current = tasks.with(|tasks| {
        let current = tasks
            .iter()
            .find(|task| task.status == Status::InProgress)
            .or_else(|| tasks.iter().find(|task| task.status == Status::Pending));
        current.map(|task| match (&task.active_form, task.status) {
            (Some(label), Status::InProgress) => clean(label),
            _ => clean(&task.subject),
        })
    });
    current.unwrap_or_else(|| String::from("all tasks are done"))
}

/// The calls and results of an entry, a line each.
fn told(item: &Item) -> Vec<String> {
    match item {
        Item::Assistant(message) => message.calls().map(call_line).collect(),
        Item::ToolResult(result) => vec![result_line(result)],
        Item::User(_) | Item::System(_) => Vec::new(),
    }
}

/// The most bytes of such a line.
const LINE: usize = 90;

/// A call in one line, such as `  > Read {"path":"a"}`.
pub(crate) fn call_line(call: &ToolCall) -> String {
    let line = one_line(&format!("{} {}", call.name, call.arguments.text()));
    format!("  > {}", short(&line, LINE))
}

/// A result in one line. The counts on its second line would drown what changed.
pub(crate) fn result_line(result: &ToolResult) -> String {
    let mark = if result.is_error { "!" } else { "=" };
    let summary = result.summary.lines().next().unwrap_or_default();
    format!("  {mark} {}", short(&one_line(summary), LINE))
}

/// The list as it is at the end, without deleted tasks.
pub(crate) fn final_list(tasks: &TaskStore, terminal: Terminal) -> Vec<String> {
    let counts = tasks.counts();
    let columns = terminal.width.unwrap_or(usize::MAX);
    let line = |task: &Task| {
        let (mark, style) = match task.status {
            Status::Pending => ("[ ]", Style::Plain),
            Status::InProgress => ("[>]", Style::Working),
            Status::Completed => ("[x]", Style::Done),
            Status::Deleted => ("[-]", Style::Faint),
        };
        let text = format!("{mark} #{} {}", task.id, clean(&task.subject));
        terminal.paint(style, &cut(&text, columns))
    };
    tasks.with(|tasks| {
        let kept = || tasks.iter().filter(|task| task.status != Status::Deleted);
        let mut lines = vec![format!("{} of {} done", counts.completed, counts.kept())];
        lines.extend(kept().take(MOST_TASKS).map(line));
        let more = kept().count().saturating_sub(MOST_TASKS);
        if more > 0 {
            lines.push(format!("and {more} more; pod tasks shows them"));
        }
        lines
    })
}
