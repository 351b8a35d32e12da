//! A session in Markdown.

use std::fmt::Write as _;

use tools::task::{Status, render};

use super::story::{Part, Story, time, what};
use super::{html, prose};
use crate::terminal::clean;

/// The whole document.
pub(super) fn document(story: &Story) -> String {
    let mut text = format!("# {}\n\n", inline(&story.title));
    let mut facts = vec![
        format!("session `{}`", story.session),
        format!("directory {}", code(&story.directory)),
    ];
    if !story.models.is_empty() {
        let models: Vec<String> = story.models.iter().map(|it| code(it)).collect();
        facts.push(format!("model {}", models.join(", ")));
    }
    if let (Some(began), Some(ended)) = (story.began, story.ended) {
        facts.push(format!("{} to {}", time(began), time(ended)));
    }
    for fact in facts {
        let _ = writeln!(text, "- {fact}");
    }
    tasks(story, &mut text);
    timeline(story, &mut text);
    text.push_str("\n## Conversation\n");
    for part in &story.parts {
        text.push('\n');
        text.push_str(&said(part));
        text.push('\n');
    }
    text
}

fn tasks(story: &Story, text: &mut String) {
    text.push_str("\n## Tasks\n\n");
    if story.tasks.is_empty() {
        text.push_str("There are none.\n");
        return;
    }
    let counts = story.counts;
    let _ = writeln!(text, "{} of {} done\n", counts.completed, counts.kept());
    for task in &story.tasks {
        let subject = inline(&task.subject);
        let _ = match task.status {
            Status::Completed => writeln!(text, "- [x] #{} {subject}", task.id),
            Status::InProgress => writeln!(text, "- [ ] #{} {subject} (in progress)", task.id),
            Status::Pending => writeln!(text, "- [ ] #{} {subject}", task.id),
            Status::Deleted => writeln!(text, "- #{} {subject} (deleted)", task.id),
        };
    }
}

fn timeline(story: &Story, text: &mut String) {
    if story.timeline.is_empty() {
        return;
    }
    text.push_str(
        "\n## Timeline of the tasks\n\n| when | who | task | what |\n| --- | --- | --- | --- |\n",
    );
    for step in &story.timeline {
        let task = &step.change.task;
        let _ = writeln!(
            text,
            "| {} | {} | #{} {} | {} |",
            time(step.at),
            step.who.as_str(),
            task.id,
            inline(&task.subject),
            what(&step.change)
        );
    }
}

fn said(part: &Part) -> String {
    match part {
        Part::User { at, text, images } => {
            let mut said = format!("### User, {}\n\n{}", time(*at), prose::to_markdown(text));
            for image in images {
                let _ = write!(said, "\n>\n> (a picture, {})", inline(&image.media_type));
            }
            said
        }
        Part::Answer { at, text } => {
            format!("### Model, {}\n\n{}", time(*at), prose::to_markdown(text))
        }
        Part::Reasoning { text } => folded("reasoning", &[text]),
        Part::Call {
            at,
            name,
            arguments,
            result,
        } => {
            let (mark, summary, content) = match result {
                None => ("?", String::from("no result"), None),
                Some(result) => (
                    if result.is_error { "!" } else { "=" },
                    first_line(&result.summary),
                    Some(result.text()),
                ),
            };
            let title = format!("{} {name} {mark} {summary}", time(*at));
            let mut bodies = vec![arguments.as_str()];
            bodies.extend(content);
            folded(&title, &bodies)
        }
        Part::System { at, origin, text } => folded(
            &format!("{} system, {}", time(*at), origin.as_str()),
            &[text],
        ),
        Part::Compaction { text } => format!("---\n\n*{}*", inline(text)),
    }
}

/// The first line of a text, shortened.
fn first_line(text: &str) -> String {
    render::short(
        &render::one_line(text.lines().next().unwrap_or_default()),
        120,
    )
}

/// Texts that are shown when somebody asks for them, exactly as they are.
fn folded(title: &str, bodies: &[&str]) -> String {
    let mut text = format!("<details><summary>{}</summary>\n", html::line(title));
    for body in bodies {
        let body = clean(body);
        let fence = fence(&body);
        let _ = write!(text, "\n{fence}text\n{}\n{fence}\n", body.trim_end());
    }
    text.push_str("\n</details>");
    text
}

/// A fence that no line of the text can close.
pub(super) fn fence(text: &str) -> String {
    "`".repeat(longest_ticks(text).max(2) + 1)
}

/// How many back ticks stand in a row at the most.
fn longest_ticks(text: &str) -> usize {
    let rows = text.split(|character| character != '`');
    rows.map(str::len).max().unwrap_or(0)
}

/// A text in the line of a document: nothing in it is a mark.
fn inline(text: &str) -> String {
    let mut escaped = String::new();
    for character in render::one_line(text).trim().chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ => escaped.push(character),
        }
    }
    // Not even an address is made a link of.
    escaped.replace("://", "&#58;//")
}

/// A text as code in the line of a document.
fn code(text: &str) -> String {
    let text = render::one_line(text);
    let ticks = "`".repeat(longest_ticks(&text) + 1);
    // A space on each side is taken away again, and keeps ticks apart.
    let room = if text.contains('`') { " " } else { "" };
    format!("{ticks}{room}{text}{room}{ticks}")
}
