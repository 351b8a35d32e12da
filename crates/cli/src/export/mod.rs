//! `pod export`: a session as a document, in Markdown or as one page for a browser.
//!
//! - [`crate::lineage`]: the entries of a session over all its segments. [`story`]: what a reader wants to
//!   know of them.
//! - [`markdown`], [`html`]: one module a form. [`prose`]: what a user and a model wrote, which is
//!   Markdown, and must stay what it says.

mod html;
mod markdown;
mod prose;
mod story;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use pod::{SessionInfo, SessionStore};

use crate::args::ExportOptions;
use crate::{home, terminal};
use story::Story;

/// Writes a session as a document.
pub(crate) fn run(options: &ExportOptions) -> anyhow::Result<ExitCode> {
    let store = home::session_store()?;
    let directory = home::working_directory()?;
    let info = home::session(&store, &directory, options.session.as_deref())?;
    let (text, notices) = document(&store, &info, options.html)?;
    for notice in &notices {
        terminal::notice(notice);
    }
    if let Some(path) = &options.output {
        std::fs::write(path, text)
            .with_context(|| format!("{} cannot be written; name another file", path.display()))?;
    } else {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A session as a document, and what a reader of its log should know.
pub(crate) fn document(
    store: &SessionStore,
    session: &SessionInfo,
    html: bool,
) -> anyhow::Result<(String, Vec<String>)> {
    let lineage = crate::lineage::read(store, session)?;
    let story = Story::of(session, &lineage);
    let text = if html {
        html::page(&story)
    } else {
        markdown::document(&story)
    };
    Ok((text, lineage.notices))
}
