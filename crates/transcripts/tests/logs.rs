//! Every log in `tests/logs`, one for each rule of the contract (`docs/foreign-logs.md`), each fault and
//! each format: what it comes to, as a snapshot.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::fmt::Write as _;
use std::fs::File;
use std::path::PathBuf;

use transcripts::{Chain, Options, Origin, Report, Task, TaskList, What, read};

#[test]
fn each_log_comes_to_its_list() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() > 40, "only {} logs", paths.len());
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut reader = read(File::open(&path).unwrap(), Options::default());
        let mut list = TaskList::new();
        let mut steps = String::new();
        for event in &mut reader {
            let event = event.unwrap();
            let changes = list.apply(&event);
            step(&mut steps, &event, &changes);
        }
        let text = format!("{steps}\n{}", ending(&list, reader.report()));
        insta::assert_snapshot!(name, text);
    }
}

fn step(text: &mut String, event: &transcripts::Event, changes: &[transcripts::Change]) {
    let what = match &event.what {
        What::Create(_) => "create".to_owned(),
        What::Update(_) => "update".to_owned(),
        What::Observe(_) => "observe".to_owned(),
        What::Replace(_) => "replace".to_owned(),
        What::Restore(_) => "restore".to_owned(),
        What::Compaction => "compaction".to_owned(),
        What::Failed { reason } => format!("failed: {reason:?}"),
        What::Unreadable { reason } => format!("unreadable: {reason}"),
        What::Pending { input, lost } => format!("pending, lost: {lost}, {input}"),
    };
    let (line, chain) = (event.place.line, &event.chain);
    writeln!(text, "{line} {chain} {what}").unwrap();
    for change in changes {
        let list = if change.todo { "todo" } else { "task" };
        writeln!(text, "    {list} {:?} {:?}", change.id, change.kind).unwrap();
    }
}

fn ending(list: &TaskList, report: &Report) -> String {
    let mut text = String::new();
    for task in list.tasks() {
        writeln!(text, "task {}", entry(task)).unwrap();
    }
    for todo in list.todos(&Chain::Main) {
        writeln!(text, "todo {}", entry(todo)).unwrap();
    }
    for (chain, todos) in list.todos_by_agent() {
        for todo in todos {
            writeln!(text, "todo of {chain} {}", entry(todo)).unwrap();
        }
    }
    let format = report.format.map_or("unknown", |format| format.name());
    let sessions = report.sessions.join(", ");
    writeln!(text, "{format}, {} lines, session {sessions}", report.lines).unwrap();
    let counts = list
        .counts()
        .map(|(count, times)| (count.to_string(), times));
    let more = report.counts.iter();
    let counts = counts.chain(more.map(|(name, times)| ((*name).to_owned(), *times)));
    for (name, times) in counts {
        writeln!(text, "{name}: {times}").unwrap();
    }
    for fault in report.faults() {
        writeln!(
            text,
            "fault in line {}: {} {}",
            fault.line,
            fault.kind.name(),
            fault.detail
        )
        .unwrap();
    }
    if report.has_gaps() || list.stubs().next().is_some() {
        text.push_str("has gaps\n");
    }
    text
}

fn entry(task: &Task) -> String {
    let mut text = format!("{:?} {:?} {:?}", task.id, task.status, task.subject);
    let mut add = |name: &str, value: String| write!(text, " {name}={value}").unwrap();
    for (name, value) in [
        ("description", &task.description),
        ("activeForm", &task.active_form),
        ("owner", &task.owner),
    ] {
        if let Some(value) = value {
            add(name, format!("{value:?}"));
        }
    }
    for (name, ids) in [("blocks", &task.blocks), ("blockedBy", &task.blocked_by)] {
        if !ids.is_empty() {
            add(name, format!("{ids:?}"));
        }
    }
    if !task.metadata.is_empty() {
        add("metadata", format!("{:?}", task.metadata));
    }
    if let Some(priority) = &task.priority {
        add("priority", priority.to_string());
    }
    if task.origin != Origin::Created {
        add("origin", format!("{:?}", task.origin));
    }
    if task.absent {
        add("absent", String::from("true"));
    }
    let (from, to) = (task.created.place.line, task.updated.place.line);
    add("lines", format!("{from}..{to}"));
    text
}
