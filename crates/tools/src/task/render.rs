//! The task list as text.
//!
//! Task text is untrusted: a model may have copied it from a web page. A row begins at the margin
//! with `#ID [status]`, and every line of a subject or description is folded or indented, so that no
//! text can pass for a row or end the list.

use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Change, Counts, Dialect, Status, Task};

/// The most bytes of the summary of a change, at any list size and for any subject.
pub(crate) const SUMMARY_LIMIT: usize = 199;

/// The bytes of a description that are shown when not all descriptions fit.
const SHORT_DESCRIPTION: usize = 200;

/// The bytes of a subject that are shown when not even the rows of all tasks fit.
const SHORT_SUBJECT: usize = 100;

/// What a change did, in two lines: the task, and the counts.
pub fn change(change: &Change) -> String {
    let task = &change.task;
    let status = match change.previous_status {
        Some(before) if before != task.status => format!("{before} -> {}", task.status),
        _ => task.status.to_string(),
    };
    let head = format!("#{} [{status}] ", task.id);
    let counts = format!("\n{}", change.counts);
    let room = SUMMARY_LIMIT.saturating_sub(head.len() + counts.len());
    let subject = short(&subject(task), room);
    format!("{head}{subject}{counts}")
}

/// A task whole, in at most about `budget` bytes. If the description has more, its last line says
/// how much was left out.
pub fn task(task: &Task, budget: usize) -> String {
    let mut text = row(task);
    if let Some(active_form) = &task.active_form {
        text.push_str("\n    active form: ");
        text.push_str(&one_line(active_form));
    }
    let body = body(&task.description);
    let room = budget.saturating_sub(text.len());
    if body.len() <= room {
        return text + &body;
    }
    let head = short(&body, room);
    let missing = body.len() - head.strip_suffix('…').unwrap_or(&head).len();
    let _ = write!(text, "{head}\n({missing} more bytes are left out here.)");
    text
}

/// All tasks in at most `budget` bytes, which must be 1,000 or more.
///
/// First descriptions are shortened, then left out. Then finished tasks are told by their ids only,
/// and open ones by a row each as far as they fit. Where not even all ids fit, it is said how many
/// are missing, so that every task is accounted for. The first lines say what was left out and how
/// to see it.
pub fn list(tasks: &[Task], budget: usize) -> String {
    if tasks.is_empty() {
        return String::from("There are no tasks.");
    }
    let counts: Counts = tasks.iter().collect();
    [Detail::Whole, Detail::Cut, Detail::None]
        .into_iter()
        .find_map(|detail| rows(tasks, counts, detail, budget))
        .unwrap_or_else(|| brief(tasks, Dialect::Pod, budget))
}

/// How much of the descriptions a list shows.
#[derive(Clone, Copy)]
enum Detail {
    Whole,
    Cut,
    None,
}

impl Detail {
    fn note(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Cut => "\n(Long descriptions are cut here; TaskGet shows one whole.)",
            Self::None => "\n(Descriptions are left out here; TaskGet shows one.)",
        }
    }
}

/// A row a task, if they fit.
fn rows(tasks: &[Task], counts: Counts, detail: Detail, budget: usize) -> Option<String> {
    let mut text = format!("{counts}{}", detail.note());
    for task in tasks {
        text.push('\n');
        text.push_str(&row(task));
        match detail {
            Detail::Whole => text.push_str(&body(&task.description)),
            Detail::Cut => {
                let line = one_line(&task.description);
                text.push_str(&body(&short(&line, SHORT_DESCRIPTION)));
            }
            Detail::None => {}
        }
        if text.len() > budget {
            return None;
        }
    }
    Some(text)
}

/// Open tasks by row as far as they fit, everything else by id.
pub(crate) fn brief(tasks: &[Task], dialect: Dialect, budget: usize) -> String {
    // What one line of ids may take.
    let ids_room = budget / 8;
    let of = |status: Status| tasks.iter().filter(move |task| task.status == status);
    let counts: Counts = tasks.iter().collect();
    let mut text = format!(
        "{}\n(The list is long: finished tasks are shown by id, open ones without description; TaskGet shows any.)",
        dialect.counts(counts)
    );
    for status in [Status::Completed, Status::Deleted] {
        if of(status).next().is_some() && dialect.lists(status) {
            let start = format!("\n{status}: ");
            text.push_str(&start);
            text.push_str(&ids(of(status), ids_room.saturating_sub(start.len())));
        }
    }
    let mut open = open_tasks(tasks).peekable();
    while let Some(task) = open.peek() {
        let row = format!("\n{}", short_row(task, dialect));
        if text.len() + row.len() > budget - ids_room {
            break;
        }
        text.push_str(&row);
        open.next();
    }
    let hidden: Vec<&Task> = open.collect();
    if !hidden.is_empty() {
        let start = format!("\n{} more open tasks: ", hidden.len());
        text.push_str(&start);
        text.push_str(&ids(hidden, ids_room.saturating_sub(start.len())));
    }
    text
}

/// The counts, and at most `most` of the open tasks, those in progress first, with a row of at most
/// about 130 bytes each. Where there are more, the last line says how many.
pub fn open(tasks: &[Task], dialect: Dialect, most: usize) -> String {
    let counts: Counts = tasks.iter().collect();
    let mut text = dialect.counts(counts);
    let mut open = open_tasks(tasks);
    for task in open.by_ref().take(most) {
        text.push('\n');
        text.push_str(&short_row(task, dialect));
    }
    let more = open.count();
    if more > 0 {
        let noun = if more == 1 { "task" } else { "tasks" };
        let _ = write!(text, "\nand {more} more open {noun}");
    }
    text
}

/// The open tasks, those in progress first.
fn open_tasks(tasks: &[Task]) -> impl Iterator<Item = &Task> {
    let of = |status: Status| tasks.iter().filter(move |task| task.status == status);
    of(Status::InProgress).chain(of(Status::Pending))
}

/// A task in one line that is never long.
fn short_row(task: &Task, dialect: Dialect) -> String {
    let status = dialect.status(task.status);
    let subject = short(&subject(task), SHORT_SUBJECT);
    format!("#{} [{status}] {subject}", task.id)
}

/// The ids as `#3, #5-#9`, in at most `budget` bytes; ends with ` and 7 more` if not all fit.
fn ids<'a>(tasks: impl IntoIterator<Item = &'a Task>, budget: usize) -> String {
    let room = budget.saturating_sub(" and 4294967295 more".len());
    let mut text = String::new();
    let mut missing = 0;
    for (first, last) in ranges(tasks) {
        let mut range = String::new();
        if !text.is_empty() {
            range.push_str(", ");
        }
        let _ = write!(range, "#{first}");
        if last > first {
            let _ = write!(range, "-#{last}");
        }
        // Once something is missing, all that follows is.
        if missing > 0 || text.len() + range.len() > room {
            missing += last - first + 1;
        } else {
            text.push_str(&range);
        }
    }
    if missing > 0 {
        let _ = write!(text, " and {missing} more");
    }
    text
}

/// The first and last ids of the runs of consecutive ids.
fn ranges<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for task in tasks {
        let id = task.id.number();
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == id => *last = id,
            _ => ranges.push((id, id)),
        }
    }
    ranges
}

/// A task in one line: `#3 [pending] Write the parser`.
pub fn row(task: &Task) -> String {
    format!("#{} [{}] {}", task.id, task.status, subject(task))
}

pub(crate) fn subject(task: &Task) -> String {
    one_line(&task.subject).trim_start().to_owned()
}

/// A description as it stands under its row: each line on a line of its own, indented.
pub(crate) fn body(description: &str) -> String {
    let mut text = String::new();
    // In this order a line break of two characters is one line break.
    for line in description
        .trim_end()
        .replace("\r\n", "\n")
        .split(is_line_break)
    {
        text.push('\n');
        // Code keeps the shape that tabs give it.
        let line = fold(line, |character| character != '\t' && is_control(character));
        if !line.is_empty() {
            text.push_str("    ");
            text.push_str(&line);
        }
    }
    if text.trim().is_empty() {
        return String::new();
    }
    text
}

/// The text with line breaks, control characters and marks that reorder text folded to single
/// spaces. What is shown in one line or on a terminal goes through here.
///
/// Zero-width characters stay: they join emoji and the letters of many scripts, and can neither move
/// a cursor nor reorder text.
pub fn one_line(text: &str) -> String {
    fold(text, is_control)
}

fn fold(text: &str, is_folded: impl Fn(char) -> bool) -> String {
    let mut folded = String::with_capacity(text.len());
    for character in text.chars() {
        if !is_folded(character) {
            folded.push(character);
        } else if !folded.ends_with(' ') {
            folded.push(' ');
        }
    }
    folded.truncate(folded.trim_end().len());
    folded
}

/// The beginning of the text with at most `limit` bytes and a mark if something is missing; never
/// cut inside what a reader sees as one character.
pub fn short(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mark = '…';
    let Some(room) = limit.checked_sub(mark.len_utf8()) else {
        return String::new();
    };
    let mut cut = String::new();
    for cluster in text.graphemes(true) {
        if cut.len() + cluster.len() > room {
            break;
        }
        cut.push_str(cluster);
    }
    cut.push(mark);
    cut
}

/// Whether a reader sees a new line behind the character.
pub fn is_line_break(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Control characters (C0, C1, DEL), line and paragraph separators, and the marks that change the
/// direction of text.
pub fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
                | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
