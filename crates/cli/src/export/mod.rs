//! `pod export`: a session as a document, in Markdown or as one page for a browser.
//!
//! - [`lineage`]: the entries of a session over all its segments. [`story`]: what a reader wants to
//!   know of them.
//! - [`markdown`], [`html`]: one module a form. [`prose`]: what a user and a model wrote, which is
//!   Markdown, and must stay what it says.

mod html;
mod lineage;
mod markdown;
mod prose;
mod story;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;

use crate::args::ExportOptions;
use crate::{home, terminal};
use story::Story;

/// Writes a session as a document.
pub(crate) fn run(options: &ExportOptions) -> anyhow::Result<ExitCode> {
    let store = home::session_store()?;
    let directory = home::working_directory()?;
    let info = home::session(&store, &directory, options.session.as_deref())?;
    let lineage = lineage::read(&store, &info)?;
    for notice in &lineage.notices {
        terminal::notice(notice);
    }
    let story = Story::of(&info, &lineage);
    let text = if options.html {
        html::page(&story)
    } else {
        markdown::document(&story)
    };
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
