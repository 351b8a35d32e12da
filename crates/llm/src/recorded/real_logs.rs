//! Recordings of real sessions: their task calls, in the order in which they are played, give the
//! list that the session ended with.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Recorded;
use crate::AssistantMessage;

/// A task: status, subject, description.
type Task = [String; 3];

/// The Claude Code logs of which every writer of the list is in the main chain.
///
/// The others differ for reasons that lie in the log: in `cc-entire-12tasks-subagents-tasklist` and
/// `cc-entire-3tasks-cleared-notfound` sub-agents changed tasks, in `cc-omp-6tasks-hidden-writer` a
/// writer did whose log is missing.
const WHOLE: [&str; 7] = [
    "cc-agentv-5tasks.jsonl",
    "cc-cipherbox-3tasks.jsonl",
    "cc-entire-3tasks.jsonl",
    "cc-entire-4tasks-small.jsonl",
    "cc-packmind-3tasks-b.jsonl",
    "cc-packmind-3tasks.jsonl",
    "cc-packmind-5tasks-deleted.jsonl",
];

#[test]
fn the_played_calls_give_the_list_of_the_session() {
    let Some(logs) = logs() else { return };
    for name in WHOLE {
        let path = logs.join(name);
        let log = BufReader::new(File::open(&path).unwrap());
        let recorded = Recorded::from_log(log, name).unwrap();
        assert_eq!(recorded.warnings(), [""; 0], "{name}");
        assert_eq!(list_of(&recorded), expected(&path), "{name}");
    }
}

/// The list that the task calls make, applied in the order in which they are played.
fn list_of(recorded: &Recorded) -> BTreeMap<usize, Task> {
    let mut tasks: BTreeMap<usize, Task> = BTreeMap::new();
    let turns = recorded.turns().iter();
    for call in turns.flat_map(|turn| AssistantMessage::calls(turn)) {
        let arguments = call.arguments.parse().unwrap();
        let text = |key: &str| {
            arguments
                .get(key)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let id = match call.name.as_str() {
            "TaskCreate" => {
                let pending = [String::from("pending"), String::new(), String::new()];
                tasks.insert(tasks.len() + 1, pending);
                tasks.len()
            }
            "TaskUpdate" => text("taskId").unwrap().parse().unwrap(),
            _ => continue,
        };
        let task = tasks.get_mut(&id).unwrap();
        for (field, key) in task.iter_mut().zip(["status", "subject", "description"]) {
            if let Some(text) = text(key) {
                *field = text;
            }
        }
    }
    tasks
}

fn expected(log: &Path) -> BTreeMap<usize, Task> {
    let path = format!("{}.expected.json", log.display());
    let document: Value = serde_json::from_reader(File::open(path).unwrap()).unwrap();
    let tasks = document["tasks"].as_array().unwrap().iter().map(|task| {
        let text = |key: &str| task[key].as_str().unwrap_or("-").to_owned();
        (
            text("id").parse().unwrap(),
            [text("status"), text("subject"), text("description")],
        )
    });
    tasks.collect()
}

fn logs() -> Option<PathBuf> {
    let shared = std::env::var_os("POD_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let logs = shared.join("cases/logs");
    if logs.is_dir() {
        return Some(logs);
    }
    println!("skipped: {} is not there", logs.display());
    None
}
