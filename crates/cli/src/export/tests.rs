use std::path::Path;

use llm::{Image, ToolResult};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};
use tools::task::{Change, Counts, Status, Task, TaskId};

use super::story::{Part, Step, Story, Who};
use super::{html, markdown, prose};

/// What somebody may write who wants the page to do something.
const HOSTILE: [&str; 15] = [
    "`<b>",
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</pre></details></style></title><script>alert(1)</script>",
    "[click](javascript:alert(1)) [me](JaVaScRiPt:alert(1) \"t\") <javascript:alert(1)>",
    "[[a](javascript:x)](javascript:y) ![a <b>](http://tracker/x.png) ![r][ref]\n\n[ref]: http://tracker/y.png",
    "[data](data:text/html,<script>alert(1)</script>) [file](file:///etc/passwd)",
    "safe\u{202e}evil\u{2066}x\u{200f}",
    "\u{1b}[31mred\u{1b}[0m \u{7}bell \u{0}nul",
    "```\nunclosed fence\n<script>",
    "- ```\n  ```\n<script>alert(1)</script>\n```",
    "<!-- comment\n\n# not a heading of the document\n",
    "````\n```\n````\n| a | <b>x</b> |\n| --- | --- |\n| 1 | 2 |",
    "&lt;script&gt; &amp;lt; &#60;script&#62;",
];

fn task(id: u32, status: Status, subject: &str) -> Task {
    let id: TaskId = serde_json::from_value(serde_json::json!(id)).unwrap();
    Task {
        status,
        ..Task::new(id, subject, format!("About {subject}"))
    }
}

fn story(text: &str) -> Story {
    let at = "2026-03-01T12:00:00Z".parse().unwrap();
    let tasks = vec![
        task(1, Status::Completed, text),
        task(2, Status::InProgress, "second"),
        task(3, Status::Deleted, "third"),
    ];
    let counts: Counts = tasks.iter().collect();
    let change = |task: &Task, previous_status| Change {
        task: task.clone(),
        previous_status,
        fields: vec!["status"],
        counts,
    };
    Story {
        session: "0198c0de-0001-7000-8000-000000000001".parse().unwrap(),
        title: text.to_owned(),
        directory: text.to_owned(),
        models: vec![text.to_owned()],
        began: Some(at),
        ended: Some(at),
        timeline: vec![
            Step {
                at,
                who: Who::Model,
                change: change(&tasks[0], None),
            },
            Step {
                at,
                who: Who::User,
                change: change(&tasks[0], Some(Status::Pending)),
            },
        ],
        tasks,
        counts,
        parts: vec![
            Part::User {
                at,
                text: text.to_owned(),
                images: vec![
                    Image {
                        media_type: text.to_owned(),
                        data: text.to_owned(),
                    },
                    Image {
                        media_type: String::from("image/png"),
                        data: text.to_owned(),
                    },
                ],
            },
            Part::Reasoning {
                text: text.to_owned(),
            },
            Part::Answer {
                at,
                text: text.to_owned(),
            },
            Part::Call {
                at,
                name: text.to_owned(),
                arguments: text.to_owned(),
                result: Some(ToolResult::error("c1", text)),
            },
            Part::Call {
                at,
                name: String::from("Read"),
                arguments: String::from("{}"),
                result: None,
            },
            Part::System {
                at,
                origin: llm::Origin::Summary,
                text: text.to_owned(),
            },
            Part::Compaction {
                text: text.to_owned(),
            },
        ],
    }
}

/// The tags of a page, but for those that every page has.
fn tags(page: &str) -> Vec<String> {
    let body = page.split_once("<body>").unwrap().1;
    let pieces = body.split('<').skip(1);
    pieces
        .map(|piece| piece.split_once('>').map_or(piece, |it| it.0).to_owned())
        .collect()
}

/// What a page may be made of. Attributes with a value from outside are looked at one by one.
fn check_page(page: &str) -> Result<(), String> {
    const ELEMENTS: &[&str] = &[
        "header",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "dl",
        "div",
        "dt",
        "dd",
        "nav",
        "a",
        "main",
        "section",
        "p",
        "progress",
        "ul",
        "ol",
        "li",
        "span",
        "details",
        "summary",
        "pre",
        "time",
        "article",
        "code",
        "img",
        "em",
        "strong",
        "del",
        "blockquote",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "hr",
        "br",
        "br /",
        "hr /",
        "input",
        "/body",
        "/html",
    ];
    for tag in tags(page) {
        let name = tag.split_whitespace().next().unwrap_or_default();
        let name = name.trim_start_matches('/').trim_end_matches('/');
        let known = ELEMENTS.contains(&name) || tag == "/body" || tag == "/html";
        if !known {
            return Err(format!("element {tag}"));
        }
        for attribute in tag.split_whitespace().skip(1) {
            let name = attribute.split_once('=').map_or(attribute, |it| it.0);
            if name.len() > 2 && name.starts_with("on") && attribute.contains('=') {
                return Err(format!("handler {tag}"));
            }
        }
        if let Some((_, address)) = tag.split_once("href=\"") {
            let ok = ["#", "http://", "https://", "mailto:"];
            if !ok.iter().any(|scheme| address.starts_with(scheme)) {
                return Err(format!("link {tag}"));
            }
        }
        if let Some((_, address)) = tag.split_once("src=\"")
            && !address.starts_with("data:image/")
        {
            return Err(format!("source {tag}"));
        }
    }
    let is_bad = |it: char| {
        (it.is_control() && it != '\n')
            || ('\u{202a}'..='\u{202e}').contains(&it)
            || ('\u{2066}'..='\u{2069}').contains(&it)
    };
    match page.chars().find(|it| is_bad(*it)) {
        Some(bad) => Err(format!("character {bad:?}")),
        None => Ok(()),
    }
}

/// Markdown in which nothing but the document's own folds is HTML.
fn check_markdown(text: &str) -> Result<(), String> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                let rest = html
                    .replace("<details>", "")
                    .replace("</details>", "")
                    .replace("<summary>", "")
                    .replace("</summary>", "");
                if rest.contains('<') {
                    return Err(format!("html {html}"));
                }
            }
            Event::Start(Tag::Image { dest_url, .. }) => return Err(format!("image {dest_url}")),
            Event::Start(Tag::Link { dest_url, .. })
                if !["http://", "https://", "mailto:"]
                    .iter()
                    .any(|it| dest_url.to_lowercase().trim().starts_with(it)) =>
            {
                return Err(format!("link {dest_url}"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn hostile_text_stays_text() {
    for text in HOSTILE {
        let story = story(text);
        let page = html::page(&story);
        assert_eq!(check_page(&page), Ok(()), "{text:?}\n{page}");
        let document = markdown::document(&story);
        assert_eq!(check_markdown(&document), Ok(()), "{text:?}\n{document}");
    }
}

#[test]
fn the_page_loads_nothing_and_runs_nothing() {
    let page = html::page(&story("plain"));
    for word in [
        "<script", "<link", "@import", "url(", "<iframe", "<object", "<form",
    ] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn hostile_text_as_it_is_shown() {
    let shown: Vec<String> = HOSTILE
        .iter()
        .map(|text| {
            format!(
                "{}\n{}",
                prose::to_html(text).trim_end(),
                prose::to_markdown(text)
            )
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn a_document_and_a_page() {
    let story = story("Fix *the* parser in `src/a_b.rs`, see https://example.org/x");
    insta::assert_snapshot!("document", markdown::document(&story));
    let page = html::page(&story);
    let body = page.split_once("<body>").unwrap().1;
    insta::assert_snapshot!("page", body);
}

#[test]
fn the_headings_of_the_document_are_its_own() {
    let document = markdown::document(&story("# big\n\nx\n=\n\n## Tasks"));
    let mut depth = 0;
    let mut headings = 0;
    for event in Parser::new(&document) {
        match event {
            Event::Start(Tag::BlockQuote(_)) => depth += 1,
            Event::End(pulldown_cmark::TagEnd::BlockQuote(_)) => depth -= 1,
            Event::Start(Tag::Heading { .. }) if depth == 0 => headings += 1,
            _ => {}
        }
    }
    assert_eq!(headings, 6, "{document}");
}

proptest! {
    #[test]
    fn no_text_gets_out_of_its_place(
        text in "([<>\\[\\]()!\"'`~#|&:\\\\ \n-]|script|javascript:|http://|x|<b>|\\]\\(|!\\[|```|\u{202e}|\u{1b}){0,40}"
    ) {
        let story = story(&text);
        prop_assert_eq!(check_page(&html::page(&story)), Ok(()));
        let document = markdown::document(&story);
        prop_assert_eq!(check_markdown(&document), Ok(()), "{}", document);
    }
}

/// A session whose history was compacted, then taken back to an entry before that.
#[test]
fn the_story_goes_on_over_segments() {
    use pod::SessionStore;

    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path());
    let session = store.create(Path::new("/work"), None).unwrap();
    let path = session.path().to_owned();
    let id = session.id();
    drop(session);
    let uuid = |number: u32| format!("0198c0de-0000-7000-8000-{number:012}");
    let header = |segment: u32, reason: &str, parent: &str| {
        format!(
            "{{\"type\":\"session\",\"version\":1,\"session\":\"{id}\",\"segment\":{segment},\"created\":\"2026-01-01T09:00:00Z\",\"directory\":\"/work\",\"reason\":\"{reason}\"{parent}}}\n"
        )
    };
    let parent = |segment: u32, entry: u32| {
        format!(
            ",\"parent\":{{\"session\":\"{id}\",\"segment\":{segment},\"entry\":\"{}\"}}",
            uuid(entry)
        )
    };
    let user = |number: u32, carried: bool| {
        let carried = if carried { ",\"carried\":true" } else { "" };
        format!(
            "{{\"type\":\"user\",\"id\":\"{}\",\"at\":\"2026-01-01T09:00:00Z\"{carried},\"content\":[{{\"type\":\"text\",\"text\":\"say {number}\"}}]}}\n",
            uuid(number)
        )
    };
    let write = |segment: u32, text: String| {
        std::fs::write(path.join(format!("{segment:04}.jsonl")), text).unwrap();
    };
    write(
        1,
        header(1, "start", "") + &user(1, false) + &user(2, false) + &user(3, false),
    );
    write(
        2,
        header(2, "compact", &parent(1, 3)) + &user(3, true) + &user(4, false),
    );
    write(
        3,
        header(3, "rewind", &parent(1, 2)) + &user(1, false) + &user(2, false) + &user(5, false),
    );
    let said = |segment: u32| {
        let info = pod::SessionInfo {
            segment,
            ..store.find(&id.to_string()).unwrap()
        };
        let lineage = crate::lineage::read(&store, &info).unwrap();
        let texts = lineage.entries.iter().map(|entry| match &*entry.item {
            llm::Item::User(message) => message.joined_text(),
            _ => String::new(),
        });
        (
            texts.collect::<Vec<_>>().join(", "),
            lineage.compactions.len(),
        )
    };
    assert_eq!(said(1), (String::from("say 1, say 2, say 3"), 0));
    assert_eq!(said(2), (String::from("say 1, say 2, say 3, say 4"), 1));
    assert_eq!(said(3), (String::from("say 1, say 2, say 5"), 0));
}
