//! `pod sessions`: what there is to go on with.

use std::path::Path;
use std::process::ExitCode;

use jiff::Timestamp;
use pod::session::SessionSummary;
use pod::{SessionInfo, SessionStore};
use serde_json::json;
use tools::task::Counts;
use transcripts::{Chain, State};

use crate::age::{self, age};
use crate::args::SessionsOptions;
use crate::tasks::terminal::{Style, Terminal};
use crate::tasks::text::{clean, cut, cut_front, pad, width};
use crate::tasks::{Source, load_all};
use crate::{home, print_line, terminal};

/// Lists the sessions, the last used one first. One that cannot be read is listed too.
pub(crate) fn run(options: &SessionsOptions) -> anyhow::Result<ExitCode> {
    let store = home::session_store()?;
    let directory = home::working_directory()?;
    let sessions = if options.all {
        store.list_all()?
    } else {
        store.list(&directory)?
    };
    if sessions.is_empty() && !options.json {
        let place = if options.all {
            store.root().display().to_string()
        } else {
            directory.display().to_string()
        };
        terminal::notice(&format!("there are no sessions of {place}"));
    }
    let rows = rows(&store, sessions);
    if options.json {
        for row in &rows {
            print_line(&row.json())?;
        }
    } else if !rows.is_empty() {
        let now = Timestamp::now();
        for line in table(&rows, options.all, now, Terminal::of_stdout()) {
            print_line(&line)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct Row {
    info: SessionInfo,
    summary: SessionSummary,
}

/// What is to be said of each session. Where the end of a log does not tell how many tasks there are,
/// its newest segment is searched for the lines that do.
fn rows(store: &SessionStore, sessions: Vec<SessionInfo>) -> Vec<Row> {
    let mut rows: Vec<Row> = sessions
        .into_iter()
        .map(|info| Row {
            summary: store.summary(&info),
            info,
        })
        .collect();
    let mut open: Vec<&mut Row> = rows
        .iter_mut()
        .filter(|row| row.summary.counts.is_none() && row.summary.trouble.is_none())
        .collect();
    let sources: Vec<Source> = open
        .iter()
        .map(|row| Source::file(row.info.newest_segment()))
        .collect();
    for (row, (_, loaded)) in open.iter_mut().zip(load_all(&sources, false)) {
        match loaded {
            Ok(loaded) => {
                let tasks = loaded.list.tasks();
                let todos = loaded.list.todos(&Chain::Main);
                let states = tasks
                    .iter()
                    .copied()
                    .chain(todos)
                    .map(transcripts::Task::state);
                row.summary.counts = Some(counts(states));
            }
            Err(error) => row.summary.trouble = Some(error.to_string()),
        }
    }
    rows
}

fn counts(states: impl Iterator<Item = State>) -> Counts {
    let mut counts = Counts::default();
    for state in states {
        match state {
            State::Pending | State::Unknown => counts.pending += 1,
            State::Working => counts.inprogress += 1,
            State::Done => counts.completed += 1,
            State::Cancelled | State::Deleted => counts.deleted += 1,
        }
    }
    counts
}

/// The columns of a time stamp at the beginning of an id: no two sessions of a person begin in the
/// same millisecond.
const SHORT_ID: usize = 13;

/// From so many columns on there is room for whole ids.
const WIDE: usize = 120;

/// The most columns of a directory.
const DIRECTORY: usize = 32;

/// The table, with its head.
fn table(rows: &[Row], all: bool, now: Timestamp, terminal: Terminal) -> Vec<String> {
    let columns = terminal.width.unwrap_or(usize::MAX);
    let ids: Vec<String> = rows.iter().map(|row| row.info.id.to_string()).collect();
    let short: Vec<&str> = ids.iter().filter_map(|id| id.get(..SHORT_ID)).collect();
    let mut distinct = short.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let whole = columns >= WIDE || distinct.len() < ids.len();
    let ids = if whole {
        ids.iter().map(String::as_str).collect()
    } else {
        short
    };
    let tasks: Vec<String> = rows.iter().map(Row::tasks).collect();
    let directories: Vec<String> = rows
        .iter()
        .map(|row| clean(&row.summary.directory.to_string_lossy()))
        .collect();
    let widest = |texts: &mut dyn Iterator<Item = &str>, head: &str| {
        texts.map(width).chain([head.len()]).max().unwrap_or(0)
    };
    let id_columns = widest(&mut ids.iter().copied(), "SESSION");
    let task_columns = widest(&mut tasks.iter().map(String::as_str), "TASKS");
    let directory_columns = if all {
        widest(&mut directories.iter().map(String::as_str), "DIRECTORY").min(DIRECTORY)
    } else {
        0
    };
    let lead = |id: &str, used: &str, tasks: &str, directory: &str| {
        let mut lead = format!(
            "{}  {}  {}",
            pad(id, id_columns),
            pad(used, age::COLUMNS),
            pad(tasks, task_columns)
        );
        if directory_columns > 0 {
            lead.push_str("  ");
            lead.push_str(&pad(
                &cut_front(directory, directory_columns),
                directory_columns,
            ));
        }
        lead
    };
    let head = lead("SESSION", "USED", "TASKS", "DIRECTORY");
    // Where too little room is left beside it, the prompt gets a line of its own.
    let beside = columns >= width(&head) + 2 + NARROW;
    let columns = columns.min(LONGEST);
    let join = |lead: &str, what: &str| {
        if beside {
            let line = format!("{lead}  {what}");
            vec![cut(&line, columns).trim_end().to_owned()]
        } else {
            let what = cut(&format!("  {what}"), columns);
            vec![
                cut(lead, columns).trim_end().to_owned(),
                what.trim_end().to_owned(),
            ]
        }
    };
    let mut lines: Vec<String> = join(&head, "FIRST PROMPT")
        .iter()
        .map(|line| terminal.paint(Style::Faint, line))
        .collect();
    for (((row, id), tasks), directory) in rows.iter().zip(&ids).zip(&tasks).zip(&directories) {
        let used = Timestamp::try_from(row.info.modified)
            .map_or_else(|_| String::new(), |time| age(time, now));
        let style = match row.summary.trouble {
            Some(_) => Style::Wrong,
            None => Style::Plain,
        };
        let row_lines = join(&lead(id, &used, tasks, directory), &row.what());
        lines.extend(row_lines.iter().map(|line| terminal.paint(style, line)));
    }
    lines
}

/// The fewest columns in which a prompt says something.
const NARROW: usize = 24;

/// The most columns of a line where nothing else limits it.
const LONGEST: usize = 200;

impl Row {
    fn tasks(&self) -> String {
        match self.summary.counts {
            None => String::from("?"),
            Some(counts) if counts.kept() == 0 => String::from("none"),
            Some(counts) => format!("{}/{} done", counts.completed, counts.kept()),
        }
    }

    fn what(&self) -> String {
        let summary = &self.summary;
        if let Some(trouble) = &summary.trouble {
            return format!("damaged: {}; pod verify tells more", clean(trouble));
        }
        let what = clean(&summary.first_prompt);
        match summary.compactions.len() {
            0 => what,
            // In front, so that a long prompt does not hide it.
            times => format!("(compacted {times}x) {what}"),
        }
    }

    fn json(&self) -> String {
        let Self { info, summary } = self;
        let modified = Timestamp::try_from(info.modified).ok();
        json!({
            "session": info.id,
            "path": info.path,
            "segment": info.segment,
            "directory": shown(&summary.directory),
            "modified": modified.map(|time| time.to_string()),
            "bytes": summary.bytes,
            "first_prompt": summary.first_prompt,
            "counts": summary.counts,
            "compactions": summary.compactions,
            "trouble": summary.trouble,
        })
        .to_string()
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, seconds: i64, first_prompt: &str, counts: Counts) -> Row {
        let time = now() - jiff::SignedDuration::from_secs(seconds);
        Row {
            info: SessionInfo {
                id: id.parse().unwrap(),
                path: "/pod/sessions/x".into(),
                segment: 1,
                modified: std::time::UNIX_EPOCH
                    + std::time::Duration::from_secs(time.as_second().unsigned_abs()),
            },
            summary: SessionSummary {
                directory: "/home/ada/a/rather/long/path/to/a/project".into(),
                first_prompt: first_prompt.to_owned(),
                counts: Some(counts),
                ..SessionSummary::default()
            },
        }
    }

    fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    fn some() -> Vec<Row> {
        let counts = |pending, completed, deleted| Counts {
            pending,
            inprogress: 0,
            completed,
            deleted,
        };
        let mut rows = vec![
            row(
                "0198c0de-0001-7000-8000-000000000001",
                2,
                "Make the tests of src/parse.rs pass and write down what was wrong with them",
                counts(3, 2, 1),
            ),
            row(
                "0198c0de-0002-7000-8000-000000000002",
                400,
                "日本語のとても長いプロンプト、表の幅に収まらないほど長い",
                counts(0, 0, 2),
            ),
            row(
                "0198c0de-0003-7000-8000-000000000003",
                90_000,
                "hostile \u{1b}[2J\u{202e}txt\nsecond line",
                counts(0, 120, 0),
            ),
            row(
                "0198c0de-0004-7000-8000-000000000004",
                9_000_000,
                "",
                counts(0, 0, 0),
            ),
        ];
        rows[1].summary.compactions = vec![
            serde_json::from_value(json!({
                "trigger": "manual", "tokens_before": 1, "tokens_after": 1, "duration_ms": 1,
                "tasks": 1, "kept_entries": 1, "without_model": null
            }))
            .unwrap(),
        ];
        rows[3].summary.trouble = Some(String::from("line 3 cannot be read"));
        rows
    }

    #[test]
    fn the_table_fits_any_width() {
        let mut shown = Vec::new();
        for columns in [40, 80, 140] {
            for all in [false, true] {
                let terminal = Terminal {
                    width: Some(columns),
                    ..Terminal::default()
                };
                let lines = table(&some(), all, now(), terminal);
                for line in &lines {
                    assert!(width(line) <= columns, "{line}");
                }
                shown.push(format!(
                    "{columns} columns, all: {all}\n{}",
                    lines.join("\n")
                ));
            }
        }
        insta::assert_snapshot!(shown.join("\n\n"));
    }

    #[test]
    fn ids_that_begin_alike_are_shown_whole() {
        let mut rows = some();
        rows[1].info.id = "0198c0de-0001-7000-8000-000000000009".parse().unwrap();
        let terminal = Terminal {
            width: Some(80),
            ..Terminal::default()
        };
        let lines = table(&rows, false, now(), terminal).join("\n");
        assert!(
            lines.contains("\n0198c0de-0001-7000-8000-000000000009"),
            "{lines}"
        );
    }
}
