//! What a user and a model wrote is Markdown. It keeps its form and loses its power: HTML in it is
//! text, nothing is loaded, and no link runs a program.

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

use crate::terminal::clean;

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The text as HTML.
pub(super) fn to_html(text: &str) -> String {
    let text = clean(text);
    // For each open link or picture, whether it became a link.
    let mut links: Vec<bool> = Vec::new();
    let events = Parser::new_ext(&text, options()).filter_map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Some(Event::Text(html)),
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let harmless = is_harmless(&dest_url);
            links.push(harmless);
            harmless.then_some(Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }))
        }
        // A picture would be loaded from elsewhere, which tells that somebody reads.
        Event::Start(Tag::Image { dest_url, id, .. }) => {
            let harmless = is_harmless(&dest_url);
            links.push(harmless);
            harmless.then_some(Event::Start(Tag::Link {
                link_type: LinkType::Inline,
                dest_url,
                title: CowStr::Borrowed("picture"),
                id,
            }))
        }
        Event::End(TagEnd::Link | TagEnd::Image) => links
            .pop()
            .unwrap_or_default()
            .then_some(Event::End(TagEnd::Link)),
        other => Some(other),
    });
    let mut page = String::new();
    html::push_html(&mut page, events);
    page
}

/// The text as Markdown that may stand in a document of others: each line of it is quoted, so that it
/// can neither begin a heading of the document nor leave a block open.
pub(super) fn to_markdown(text: &str) -> String {
    let mut text = clean(text);
    // What is mended may mean something new, so it is read again.
    for _ in 0..ROUNDS {
        match mended(&text) {
            None => return quoted(&text),
            Some(better) => text = better,
        }
    }
    // Somebody made it on purpose. Then it is shown as it is, and nothing of it means anything.
    let fence = super::markdown::fence(&text);
    quoted(&format!("{fence}text\n{text}\n{fence}"))
}

/// How often a text is mended. Twice is enough for all that is not made up.
const ROUNDS: usize = 4;

fn quoted(text: &str) -> String {
    let lines: Vec<String> = text
        .trim_end()
        .split('\n')
        .map(|line| format!("> {line}").trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// The text without what is more than text; `None` if there is no such thing in it.
fn mended(text: &str) -> Option<String> {
    let mut harmless = String::with_capacity(text.len());
    let mut copied = 0;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        let mend: fn(&str) -> String = match event {
            Event::Html(_) | Event::InlineHtml(_) => |html| html.replace('<', "&lt;"),
            Event::Start(Tag::Link { dest_url, .. }) if !is_harmless(&dest_url) => {
                |link| link.replace('<', "&lt;").replace('[', "\\[")
            }
            // What loads by itself becomes a link.
            Event::Start(Tag::Image { .. }) => {
                |image| image.replace('<', "&lt;").replace("![", "\\![")
            }
            _ => continue,
        };
        // What stands within something that was mended already is looked at in the next round.
        if range.start < copied {
            continue;
        }
        harmless.push_str(text.get(copied..range.start).unwrap_or_default());
        harmless.push_str(&mend(text.get(range.clone()).unwrap_or_default()));
        copied = range.end;
    }
    if copied == 0 {
        return None;
    }
    harmless.push_str(text.get(copied..).unwrap_or_default());
    Some(harmless)
}

/// Whether following an address is no more than reading.
fn is_harmless(address: &str) -> bool {
    let folded = address.trim().to_ascii_lowercase();
    ["https://", "http://", "mailto:"]
        .iter()
        .any(|scheme| folded.starts_with(scheme))
}
