//! Real sessions of another agent drive Pod: their task calls run against Pod's own tools.
//!
//! `cargo test --locked --test suite recorded_sessions -- --nocapture` prints the table of results.

use std::path::PathBuf;

use serde_json::Value;

use crate::program::World;

/// Recordings in which every change of the list was made by the recorded agent itself. In the others
/// of the folder sub-agents or other sessions write to the same list, which a recording of one agent
/// cannot show.
const RECORDINGS: [&str; 7] = [
    "cc-agentv-5tasks",
    "cc-cipherbox-3tasks",
    "cc-entire-3tasks",
    "cc-entire-4tasks-small",
    "cc-packmind-3tasks",
    "cc-packmind-3tasks-b",
    "cc-packmind-5tasks-deleted",
];

/// The folder with what is not in the repository; `None`, said aloud, where it is not there.
pub(crate) fn shared() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("POD_SHARED").map_or(beside, PathBuf::from);
    if shared.join("cases/logs").is_dir() {
        return Some(shared);
    }
    eprintln!(
        "skipped: no real logs in {}; POD_SHARED names another folder",
        shared.display()
    );
    None
}

/// Id, status, subject and description, in the words of the expected files.
fn fields(task: &Value) -> [String; 4] {
    let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
    let id = match task.get("taskid") {
        Some(id) => id.to_string(),
        None => text("id"),
    };
    let status = text("status").replace("inprogress", "in_progress");
    [id, status, text("subject"), text("description")]
}

#[test]
fn real_sessions_end_with_the_expected_list_live_and_resumed() {
    let Some(shared) = shared() else { return };
    println!(
        "{:<28} {:>5} {:>6} {:>8}",
        "recording", "tasks", "live", "resumed"
    );
    let mut wrong = Vec::new();
    for name in RECORDINGS {
        let log = shared.join(format!("cases/logs/{name}.jsonl"));
        let expected = std::fs::read_to_string(log.with_extension("jsonl.expected.json")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();
        let expected: Vec<_> = expected["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(fields)
            .collect();

        let world = World::new();
        let tasks = |arguments: &[&str]| -> Vec<[String; 4]> {
            let common = ["-p", "--output-format", "json"];
            let out = world.pod(&[&common[..], arguments].concat()).success();
            let result: Value = serde_json::from_str(&out).unwrap();
            result["tasks"]
                .as_array()
                .unwrap()
                .iter()
                .map(fields)
                .collect()
        };
        let live = tasks(&["--model", &format!("recorded:{}", log.display())]);
        // The list as a new process has it, which knows nothing but the log. A script goes on behind
        // the answers that the session has had.
        let script = "assistant: seen\n".repeat(1_000);
        world.write("look.txt", &script);
        let session = world.session();
        let resumed = tasks(&[
            "look",
            "--resume",
            &session.to_string_lossy(),
            "--model",
            "scripted:look.txt",
        ]);
        let verdict = |tasks: &[[String; 4]]| if tasks == expected { "equal" } else { "WRONG" };
        println!(
            "{name:<28} {:>5} {:>6} {:>8}",
            expected.len(),
            verdict(&live),
            verdict(&resumed)
        );
        if live != expected || resumed != expected {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "the list differs for {wrong:?}");
}
