//! What could not be read, on standard error.

use std::io::{self, Write};

use transcripts::{Event, What};

use super::load::Loaded;
use super::text::clean;

/// The most lines that one kind of fault gets under `--verbose`.
const SHOWN: usize = 100;

/// Says what could not be read of a log and what that means; with line numbers if `verbose`.
pub(crate) fn write(loaded: &Loaded, verbose: bool, err: &mut dyn Write) -> io::Result<()> {
    for (index, report) in loaded.reports.iter().enumerate() {
        let name = match loaded.source.files.get(index) {
            Some(path) => clean(&path.display().to_string()),
            None => String::from("standard input"),
        };
        for (kind, times) in report.fault_counts() {
            writeln!(err, "pod: {name}: {}", kind.describe(times))?;
            if !verbose {
                continue;
            }
            let faults = report.faults().iter().filter(|fault| fault.kind == kind);
            for fault in faults.clone().take(SHOWN) {
                let detail = match clean(&fault.detail) {
                    detail if detail.is_empty() => detail,
                    detail => format!(": {detail}"),
                };
                writeln!(err, "pod: {name}:{}{detail}", fault.line)?;
            }
            let more = times.saturating_sub(faults.count().min(SHOWN) as u64);
            if more > 0 {
                writeln!(err, "pod: {name}: and {more} more")?;
            }
        }
        if let Some(&lost) = report.counts.get("results_lost") {
            let calls = if lost == 1 { "call has" } else { "calls have" };
            writeln!(
                err,
                "pod: {name}: {lost} {calls} no result; this format loses them, so they count as done"
            )?;
        }
    }
    stubs(loaded, err)?;
    lost(loaded, verbose, err)
}

fn stubs(loaded: &Loaded, err: &mut dyn Write) -> io::Result<()> {
    let ids: Vec<String> = loaded
        .list
        .stubs()
        .map(|task| format!("#{}", clean(&task.id)))
        .collect();
    let listed = ids
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let name = clean(&loaded.source.name());
    match ids.len() {
        0 => Ok(()),
        1 => writeln!(
            err,
            "pod: {name}: task {listed} was created outside of this log; name the other logs of the session or team too, with --merge"
        ),
        _ => writeln!(
            err,
            "pod: {name}: tasks {listed} were created outside of this log; name the other logs of the session or team too, with --merge"
        ),
    }
}

/// Calls whose results never came, though the session went on.
fn lost(loaded: &Loaded, verbose: bool, err: &mut dyn Write) -> io::Result<()> {
    let is_lost = |event: &&Event| matches!(event.what, What::Pending { lost: true, .. });
    let lost: Vec<&Event> = loaded.list.pending().iter().filter(is_lost).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let name = clean(&loaded.source.name());
    let (calls, them) = if lost.len() == 1 {
        ("call has", "it")
    } else {
        ("calls have", "them")
    };
    writeln!(
        err,
        "pod: {name}: {} {calls} no result though the session went on; what came of {them} is not known",
        lost.len()
    )?;
    if verbose {
        for event in lost.iter().take(SHOWN) {
            let tool = event.call.as_ref().map_or("", |call| call.tool.name());
            writeln!(err, "pod: {name}:{}: {tool}", event.place.line)?;
        }
    }
    Ok(())
}
