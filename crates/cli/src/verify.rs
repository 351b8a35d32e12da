//! `pod verify`: checks a log against every law.

use std::process::ExitCode;

use pod::verify::{Report, verify};

use crate::args::VerifyOptions;
use crate::{home, print_line, terminal};

/// Checks a session. The exit code is 0 only if nothing breaks a law.
pub(crate) fn run(options: &VerifyOptions) -> anyhow::Result<ExitCode> {
    let store = home::session_store()?;
    let directory = home::working_directory()?;
    let info = home::session(&store, &directory, options.session.as_deref())?;
    let report = verify(store.disk(), &info)?;
    if options.json {
        print_line(&serde_json::to_string(&report)?)?;
    } else {
        print_line(&text(&report))?;
    }
    Ok(if report.is_clean() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What a person reads of a report.
pub(crate) fn text(report: &Report) -> String {
    let mut lines = vec![format!("session {}", report.session)];
    for segment in &report.segments {
        lines.push(format!(
            "{}: {} entries, {} tasks",
            segment.path.display(),
            segment.entries,
            segment.tasks.len()
        ));
        if let Some(compaction) = &segment.compaction {
            lines.push(format!("  {compaction}"));
        }
        for finding in &segment.findings {
            let kind = if finding.is_fault { "FAULT" } else { "note" };
            let place = match (finding.line, finding.offset) {
                (Some(line), Some(offset)) => format!("line {line} (byte {offset}): "),
                _ => String::new(),
            };
            lines.push(format!("  {kind}: {place}{}", finding.text));
        }
    }
    lines.push(String::from(if report.is_clean() {
        "every law holds"
    } else {
        "a law is broken; --salvage opens the session up to the first bad line"
    }));
    terminal::clean(&lines.join("\n"))
}
