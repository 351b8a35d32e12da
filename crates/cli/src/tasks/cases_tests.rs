//! The real and the synthetic logs of the shared folder, where it is there: each must come to the list
//! that the reference says. One command prints the table:
//!
//! ```text
//! cargo test --bin pod cases -- --nocapture
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::tests::{environment, run_with};

/// The shared folder, if it is there; says so if it is not.
fn shared(part: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("POD_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
    };
    let folder = folder.join("cases").join(part);
    if !folder.is_dir() {
        println!(
            "skipped: {} is not there (set POD_SHARED)",
            folder.display()
        );
        return None;
    }
    Some(folder)
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The object that `--json` gives.
fn json(arguments: &[&str]) -> Value {
    let run = run_with(&mut environment(), &[&["--json"], arguments].concat());
    serde_json::from_str(&run.out).unwrap()
}

/// The entries of a list without what only this program tells of them.
fn plain(list: &Value) -> Value {
    let mut list = list.clone();
    for entry in list.as_array_mut().unwrap() {
        for more in ["source", "line", "chain", "createdAt", "updatedAt"] {
            entry.as_object_mut().unwrap().remove(more).unwrap();
        }
    }
    list
}

#[test]
fn real_logs_come_to_the_expected_lists() {
    let Some(folder) = shared("logs") else { return };
    let mut checked = 0;
    let mut names: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    println!("{:50} {:>5} {:>5}  equal", "log", "tasks", "todos");
    for expected in names {
        let name = expected.display().to_string();
        let Some(log) = name.strip_suffix(".expected.json") else {
            continue;
        };
        let want = read(&expected);
        let got = match want.get("logs_merged").and_then(Value::as_array) {
            None => json(&[log]),
            Some(logs) => {
                let logs: Vec<String> = logs
                    .iter()
                    .map(|log| folder.join(log.as_str().unwrap()).display().to_string())
                    .collect();
                let mut arguments = vec!["--merge"];
                arguments.extend(logs.iter().map(String::as_str));
                json(&arguments)
            }
        };
        let log = Path::new(log).file_name().unwrap().to_str().unwrap();
        let count = |list: &str| want[list].as_array().unwrap().len();
        let equal = plain(&got["tasks"]) == want["tasks"] && plain(&got["todos"]) == want["todos"];
        println!(
            "{log:50} {:>5} {:>5}  {equal}",
            count("tasks"),
            count("todos")
        );
        assert_eq!(plain(&got["tasks"]), want["tasks"], "{log}");
        assert_eq!(plain(&got["todos"]), want["todos"], "{log}");
        let of_agents = |lists: &Value, by: &dyn Fn(&Value) -> Value| -> Vec<(String, Value)> {
            let lists = lists.as_object().unwrap().iter();
            lists
                .map(|(chain, list)| (chain.clone(), by(list)))
                .collect()
        };
        assert_eq!(
            of_agents(&got["todos_by_agent"], &plain),
            of_agents(&want["todos_by_agent"], &Value::clone),
            "{log}"
        );
        assert_eq!(
            without_lost(&got["pending_calls"]),
            want["pending_calls"],
            "{log}"
        );
        for field in ["format", "lines"] {
            assert_eq!(got[field], want[field], "{log}: {field}");
        }
        for (name, times) in want["counts"].as_object().unwrap() {
            if name.starts_with("calls.")
                || name.starts_with("failed.")
                || name.starts_with("reminder")
            {
                assert_eq!(got["counts"].get(name), Some(times), "{log}: {name}");
            }
        }
        checked += 1;
    }
    assert!(checked >= 30, "only {checked} logs");
}

fn without_lost(calls: &Value) -> Value {
    let mut calls = calls.clone();
    for call in calls.as_array_mut().unwrap() {
        call.as_object_mut().unwrap().remove("lost");
    }
    calls
}

/// What an entry says in the expected files of the synthetic logs.
fn essence(entry: &Value) -> [Value; 5] {
    let id = entry["id"]
        .as_str()
        .map_or_else(|| entry["id"].to_string(), str::to_owned);
    [
        id.into(),
        entry["status"].clone(),
        entry["subject"].clone(),
        entry.get("description").cloned().unwrap_or_default(),
        entry.get("activeForm").cloned().unwrap_or_default(),
    ]
}

/// `claude_store_at_end` is what Claude Code itself held: without what was deleted or dropped.
/// `replay_of_all_calls` has all that was ever created, counted up afresh: the fork, whose ids begin
/// anew, is told by the contract in another way (R5: the entry is replaced).
#[test]
fn synthetic_transcripts_come_to_what_the_agent_itself_held() {
    let Some(folder) = shared("claude-transcripts") else {
        return;
    };
    println!("{:50} {:>5} {:>5}  equal", "log", "tasks", "todos");
    for name in [
        "basic",
        "compact_manual",
        "errors_and_repair",
        "fork_id_reuse",
        "subagent",
        "todowrite",
    ] {
        let path = |ending: &str| folder.join(format!("{name}{ending}"));
        let log = path(".jsonl").display().to_string();
        let sidechain = path(".sidechain.jsonl");
        let got = if sidechain.exists() {
            json(&["--merge", &log, &sidechain.display().to_string()])
        } else {
            json(&[&log])
        };
        let want = read(&path(".expected.json"));
        let tasks = got["tasks"].as_array().unwrap();
        let store: Vec<_> = want["claude_store_at_end"]
            .as_array()
            .unwrap()
            .iter()
            .map(essence)
            .collect();
        let held: Vec<_> = tasks
            .iter()
            .filter(|task| task["status"] != "deleted" && task.get("absent").is_none())
            .map(essence)
            .collect();
        let todos = got["todos"].as_array().unwrap();
        println!(
            "{name:50} {:>5} {:>5}  {}",
            tasks.len(),
            todos.len(),
            held == store
        );
        assert_eq!(held, store, "{name}");
        let replay = &want["replay_of_all_calls"];
        if name != "fork_id_reuse" {
            let all: Vec<_> = tasks
                .iter()
                .map(essence)
                .map(without_active_form_of_deleted)
                .collect();
            let told = replay["tasks"].as_array().unwrap().iter();
            let told: Vec<_> = told
                .map(essence)
                .map(without_active_form_of_deleted)
                .collect();
            assert_eq!(all, told, "{name}");
        }
        if let Some(list) = replay.get("todos") {
            let told: Vec<_> = list
                .as_array()
                .unwrap()
                .iter()
                .map(|todo| {
                    [
                        todo["status"].clone(),
                        todo["content"].clone(),
                        todo["activeForm"].clone(),
                    ]
                })
                .collect();
            let got: Vec<_> = todos
                .iter()
                .map(|todo| {
                    [
                        todo["status"].clone(),
                        todo["subject"].clone(),
                        todo["activeForm"].clone(),
                    ]
                })
                .collect();
            assert_eq!(got, told, "{name}");
        }
    }
}

fn without_active_form_of_deleted(mut entry: [Value; 5]) -> [Value; 5] {
    if entry[1] == "deleted" {
        entry[4] = Value::Null;
    }
    entry
}
