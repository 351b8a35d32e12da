//! A session as one page: no script, nothing that is loaded, light and dark, for a telephone too.

use std::fmt::Write as _;

use llm::Image;
use tools::task::{Status, render};

use super::prose;
use super::story::{Part, Story, time, what};
use crate::terminal::clean;

/// Should some text get through as markup after all, this keeps it from doing anything.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

/// The whole page.
pub(super) fn page(story: &Story) -> String {
    let mut page = String::new();
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n<dl>\n",
        title = line(&story.title),
        style = include_str!("page.css"),
    );
    facts(story, &mut page);
    page.push_str(
        "</dl>\n<nav><a href=\"#tasks\">Tasks</a> <a href=\"#timeline\">Timeline</a> \
         <a href=\"#conversation\">Conversation</a></nav>\n</header>\n<main>\n",
    );
    tasks(story, &mut page);
    timeline(story, &mut page);
    page.push_str("<section id=\"conversation\">\n<h2>Conversation</h2>\n");
    for part in &story.parts {
        said(part, &mut page);
    }
    page.push_str("</section>\n</main>\n</body>\n</html>\n");
    page
}

fn facts(story: &Story, page: &mut String) {
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", line(value));
    };
    fact("Session", &story.session.to_string());
    fact("Directory", &story.directory);
    if !story.models.is_empty() {
        fact("Model", &story.models.join(", "));
    }
    if let (Some(began), Some(ended)) = (story.began, story.ended) {
        fact("Time", &format!("{} to {}", time(began), time(ended)));
    }
}

fn tasks(story: &Story, page: &mut String) {
    page.push_str("<section id=\"tasks\">\n<h2>Tasks</h2>\n");
    if story.tasks.is_empty() {
        page.push_str("<p>There are none.</p>\n</section>\n");
        return;
    }
    let counts = story.counts;
    let (done, kept) = (counts.completed, counts.kept());
    let _ = writeln!(
        page,
        "<p><progress value=\"{done}\" max=\"{}\"></progress> {done} of {kept} done</p>\n<ul class=\"tasks\">",
        kept.max(1)
    );
    for task in &story.tasks {
        let (mark, words) = match task.status {
            Status::Pending => ("☐", "pending"),
            Status::InProgress => ("▶", "in progress"),
            Status::Completed => ("☑", "completed"),
            Status::Deleted => ("✕", "deleted"),
        };
        let head = format!(
            "<span class=\"mark\" aria-hidden=\"true\">{mark}</span> <span class=\"id\">#{}</span> \
             <span class=\"subject\">{}</span> <span class=\"status\">{words}</span>",
            task.id,
            line(&task.subject)
        );
        let class = task.status.as_str();
        let _ = if task.description.trim().is_empty() {
            writeln!(page, "<li class=\"{class}\">{head}</li>")
        } else {
            writeln!(
                page,
                "<li class=\"{class}\"><details><summary>{head}</summary>\n<pre>{}</pre></details></li>",
                text(&task.description)
            )
        };
    }
    page.push_str("</ul>\n</section>\n");
}

fn timeline(story: &Story, page: &mut String) {
    page.push_str("<section id=\"timeline\">\n<h2>Timeline of the tasks</h2>\n");
    if story.timeline.is_empty() {
        page.push_str("<p>Nothing was changed.</p>\n</section>\n");
        return;
    }
    page.push_str("<ol class=\"timeline\">\n");
    for step in &story.timeline {
        let task = &step.change.task;
        let _ = writeln!(
            page,
            "<li class=\"{}\"><time datetime=\"{}\">{}</time> <span class=\"who\">{}</span> \
             <span class=\"what\">#{} {}</span> <span class=\"subject\">{}</span></li>",
            task.status.as_str(),
            step.at,
            time(step.at),
            step.who.as_str(),
            task.id,
            line(&what(&step.change)),
            line(&task.subject)
        );
    }
    page.push_str("</ol>\n</section>\n");
}

fn said(part: &Part, page: &mut String) {
    let _ = match part {
        Part::User { at, text, images } => {
            let _ = writeln!(
                page,
                "<article class=\"user\">\n<h3>User <time datetime=\"{at}\">{}</time></h3>\n{}",
                time(*at),
                prose::to_html(text)
            );
            for image in images {
                page.push_str(&picture(image));
            }
            writeln!(page, "</article>")
        }
        Part::Answer { at, text } => writeln!(
            page,
            "<article class=\"model\">\n<h3>Model <time datetime=\"{at}\">{}</time></h3>\n{}</article>",
            time(*at),
            prose::to_html(text)
        ),
        Part::Reasoning { text: reasoning } => writeln!(
            page,
            "<details class=\"aside\"><summary>Reasoning</summary>\n<pre>{}</pre></details>",
            text(reasoning)
        ),
        Part::Call {
            at,
            name,
            arguments,
            result,
        } => {
            let (class, state, summary) = match result {
                None => ("call open", "no result", ""),
                Some(result) if result.is_error => {
                    ("call failed", "failed", first(&result.summary))
                }
                Some(result) => ("call", "", first(&result.summary)),
            };
            let _ = write!(
                page,
                "<details class=\"{class}\"><summary><time datetime=\"{at}\">{}</time><code>{}</code> \
                 <span class=\"status\">{state}</span> <span class=\"summary\">{}</span></summary>\n<pre>{}</pre>",
                time(*at),
                line(name),
                line(summary),
                text(arguments)
            );
            if let Some(result) = result {
                let _ = write!(page, "\n<pre>{}</pre>", text(result.text()));
            }
            writeln!(page, "</details>")
        }
        Part::System {
            at,
            origin,
            text: said,
        } => writeln!(
            page,
            "<details class=\"aside\"><summary><time datetime=\"{at}\">{}</time>System, {}</summary>\n<pre>{}</pre></details>",
            time(*at),
            line(origin.as_str()),
            text(said)
        ),
        Part::Compaction { text: said } => {
            writeln!(page, "<p class=\"compaction\">{}</p>", line(said))
        }
    };
}

fn first(summary: &str) -> &str {
    summary.lines().next().unwrap_or_default()
}

/// A picture in the page itself, if it is one that browsers take for no more than a picture.
fn picture(image: &Image) -> String {
    let is_known =
        ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&image.media_type.as_str());
    let is_base64 = |it: char| it.is_ascii_alphanumeric() || "+/=".contains(it);
    if is_known && image.data.chars().all(is_base64) {
        format!(
            "<p><img alt=\"A picture of the user\" src=\"data:{};base64,{}\"></p>\n",
            image.media_type, image.data
        )
    } else {
        format!("<p>(a picture, {})</p>\n", line(&image.media_type))
    }
}

/// Text of several lines.
fn text(text: &str) -> String {
    escape(&clean(text))
}

/// Text in one line.
pub(super) fn line(text: &str) -> String {
    escape(render::one_line(text).trim())
}

/// The text with nothing left that means something in HTML, within an attribute too.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}
