//! `pod sessions`: what there is to go on with.

use std::process::ExitCode;
use std::time::SystemTime;

use llm::Item;
use pod::replay::fold_entry;
use pod::session::{Contents, segment};
use pod::{CompactRecord, SessionInfo, SessionStore};
use serde_json::json;
use tools::task::{Counts, TaskFold, render};

use crate::args::SessionsOptions;
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
    for info in &sessions {
        let row = Row::read(&store, info);
        print_line(&if options.json { row.json() } else { row.text() })?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Row<'a> {
    info: &'a SessionInfo,
    directory: String,
    entries: usize,
    first_prompt: String,
    counts: Counts,
    compactions: Vec<CompactRecord>,
    trouble: Option<String>,
}

impl<'a> Row<'a> {
    fn read(store: &SessionStore, info: &'a SessionInfo) -> Self {
        let mut row = Self {
            info,
            directory: String::new(),
            entries: 0,
            first_prompt: String::new(),
            counts: Counts::default(),
            compactions: compactions(store, info),
            trouble: None,
        };
        let contents = match segment::read(store.disk(), &info.newest_segment(), true) {
            Ok(contents) => contents,
            Err(error) => {
                row.trouble = Some(error.to_string());
                return row;
            }
        };
        let mut fold = TaskFold::default();
        for located in &contents.entries {
            // What the fold cannot use is for `pod verify` to tell.
            let _ = fold_entry(&mut fold, &located.entry);
        }
        row.first_prompt = first_prompt(&contents).unwrap_or_default();
        if !row.compactions.is_empty() {
            // The first words are in the first segment still.
            let path = info.path.join("0001.jsonl");
            let first = segment::read(store.disk(), &path, true).ok();
            if let Some(prompt) = first.as_ref().and_then(first_prompt) {
                row.first_prompt = prompt;
            }
        }
        row.directory = contents.header.directory.display().to_string();
        row.entries = contents.entries.len();
        row.counts = fold.store().counts();
        row.trouble = contents
            .damage
            .map(|damage| format!("line {} cannot be read", damage.line));
        row
    }

    fn text(&self) -> String {
        let counts = self.counts;
        let tasks = if counts.kept() == 0 {
            String::from("no tasks")
        } else {
            format!("{}/{} done", counts.completed, counts.kept())
        };
        let what = match &self.trouble {
            Some(trouble) => format!("damaged: {trouble}"),
            None => render::short(&render::one_line(&self.first_prompt), 60),
        };
        let what = match self.compactions.len() {
            0 => what,
            times => format!("{what} (compacted {times}x)"),
        };
        let age = age(self.info.modified);
        terminal::clean(&format!("{}  {age:>8}  {tasks:<10}  {what}", self.info.id))
    }

    fn json(&self) -> String {
        let modified = jiff::Timestamp::try_from(self.info.modified).ok();
        json!({
            "session": self.info.id,
            "path": self.info.path,
            "segment": self.info.segment,
            "directory": self.directory,
            "modified": modified.map(|time| time.to_string()),
            "entries": self.entries,
            "first_prompt": self.first_prompt,
            "counts": self.counts,
            "compactions": self.compactions,
            "trouble": self.trouble,
        })
        .to_string()
    }
}

/// The compactions of a session. What cannot be read is left out; `pod verify` tells of it.
fn compactions(store: &SessionStore, info: &SessionInfo) -> Vec<CompactRecord> {
    let headers = (2..=info.segment).filter_map(|number| {
        let path = info.path.join(format!("{number:04}.jsonl"));
        segment::read_header(store.disk(), &path).ok()
    });
    headers
        .filter_map(|header| CompactRecord::of(&header))
        .collect()
}

fn first_prompt(contents: &Contents) -> Option<String> {
    contents
        .entries
        .iter()
        .find_map(|located| match &*located.entry.item {
            Item::User(message) => Some(message.joined_text()),
            _ => None,
        })
}

/// How long ago, in the largest unit that says something.
fn age(time: SystemTime) -> String {
    let seconds = time.elapsed().map_or(0, |elapsed| elapsed.as_secs());
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}
