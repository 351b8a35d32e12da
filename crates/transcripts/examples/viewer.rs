//! Where a person who writes a viewer would begin: what happened in a log, and the list at its end.
//!
//! ```text
//! cargo run -p transcripts --example viewer -- ~/.claude/projects/some-project/some-session.jsonl
//! ```

use std::io::{self, Read, Write};

use transcripts::{Chain, ChangeKind, Options, Reader, State, TaskList};

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    // The format is found by what stands in the log. Memory does not grow with it.
    match std::env::args_os().nth(1) {
        Some(path) => view(
            transcripts::open(path.as_ref(), Options::default())?,
            &mut out,
        ),
        None => view(transcripts::read(io::stdin(), Options::default()), &mut out),
    }
}

fn view<R: Read>(mut reader: Reader<R>, out: &mut impl Write) -> io::Result<()> {
    let mut list = TaskList::new();
    for event in &mut reader {
        let event = event?;
        // Each event says where it stands; the list says what it changed.
        for change in list.apply(&event) {
            let (line, id) = (event.place.line, &change.id);
            match &change.kind {
                ChangeKind::Added(_) => writeln!(out, "line {line}: task {id:?} is new")?,
                ChangeKind::Field { name, from, to } => {
                    writeln!(out, "line {line}: task {id:?}: {name} {from:?} -> {to:?}")?;
                }
                other => writeln!(out, "line {line}: task {id:?}: {other:?}")?,
            }
        }
    }
    // The text of a log is not to be trusted: `{:?}` keeps control characters off the terminal.
    for task in list.tasks().into_iter().chain(list.todos(&Chain::Main)) {
        let done = task.state() == State::Done;
        let tick = if done { 'x' } else { ' ' };
        writeln!(out, "[{tick}] {:?} {:?}", task.id, task.subject)?;
    }
    let report = reader.report();
    writeln!(out, "{:?}, {} lines", report.format, report.lines)?;
    for (kind, times) in report.fault_counts() {
        writeln!(out, "{}", kind.describe(times))?;
    }
    Ok(())
}
