//! What the sessions are made of: task calls as a model makes them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use llm::scripted::Scripted;
use pod::compact::Threshold;
use pod::{CompactLimits, Pod, SessionStore, Status};
use serde_json::{Value, json};

use crate::server::Answer;

/// How many tasks a session makes, however long it is.
const TASKS: usize = 100;

/// The call of this number, from 0: of two, one makes a task and one completes it. Once all are made,
/// they are worked on.
pub(crate) fn call(number: usize) -> (&'static str, Value) {
    let task = number / 2 % TASKS + 1;
    if number >= 2 * TASKS {
        let status = ["inprogress", "completed"][number % 2];
        let description = format!(
            "Read chapter {task} once more and compare the tables that were changed in round {number} of the review."
        );
        return (
            "TaskUpdate",
            json!({"taskid": task, "status": status, "description": description}),
        );
    }
    if number.is_multiple_of(2) {
        let subject = format!("Check the figures of chapter {task} against the source");
        let description = format!(
            "Read chapter {task}, compare each table with the measurement that it came from, and note what differs."
        );
        (
            "TaskCreate",
            json!({"subject": subject, "description": description}),
        )
    } else {
        ("TaskUpdate", json!({"taskid": task, "status": "completed"}))
    }
}

/// So many calls, then the end.
pub(crate) fn turns<const CALLS: usize>(number: usize) -> Answer {
    if number < CALLS {
        let (name, input) = call(number);
        Answer::Call(name, input)
    } else {
        Answer::Text("All is done.")
    }
}

/// Updates of the first task, so that the list stays as it is; then the end.
pub(crate) fn updates<const CALLS: usize>(number: usize) -> Answer {
    if number < CALLS {
        let status = ["completed", "inprogress"][number % 2];
        Answer::Call("TaskUpdate", json!({"taskid": 1, "status": status}))
    } else {
        Answer::Text("All is done.")
    }
}

/// Makes a session of so many turns with Pod, without a network. Compacts it at the end if asked to.
pub(crate) fn session(home: &Path, directory: &Path, turns: usize, compacted: bool) {
    let calls: Vec<_> = (0..turns).map(|number| vec![call(number)]).collect();
    make(home, directory, &calls, compacted);
}

/// Makes a session with so many tasks, all of which are made in a few turns.
pub(crate) fn session_with_tasks(home: &Path, directory: &Path, tasks: usize) {
    let creates: Vec<_> = (0..tasks)
        .map(|number| {
            let subject = format!("Check the figures of chapter {number} against the source");
            let input =
                json!({"subject": subject, "description": "Each table, and each note below it."});
            ("TaskCreate", input)
        })
        .collect();
    let calls: Vec<_> = creates.chunks(100).map(<[_]>::to_vec).collect();
    make(home, directory, &calls, false);
}

fn make(home: &Path, directory: &Path, turns: &[Vec<(&str, Value)>], compacted: bool) {
    let mut script = String::from("model: claude-sonnet-4-5\nwindow: 200000\n");
    let mut number = 0;
    for calls in turns {
        script.push_str("assistant:\n");
        for (name, input) in calls {
            script.push_str(&format!("  > {name} #toolu_{number:08} {input}\n"));
            number += 1;
        }
        script.push_str("usage: input=10 output=40\n");
    }
    // What the provider says decides what a compaction keeps.
    let size = if compacted { 150_000 } else { 10 };
    script.push_str(&format!(
        "assistant: All is done.\nusage: input={size} output=10\n"
    ));
    script.push_str("lane: write_summary\nassistant:\n  > write_summary {\"text\":\"The figures are checked, chapter by chapter.\"}\n");
    let model = Arc::new(Scripted::parse(&script).expect("a script"));
    let never = Threshold::Tokens(u64::MAX);
    let store = SessionStore::new(home).durable(false);
    let mut pod = Pod::builder(model)
        .directory(directory)
        .compact_limits(CompactLimits {
            after_run: never,
            between_requests: never,
            ..CompactLimits::default()
        })
        .start(&store, None)
        .expect("a session");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let outcome = pod.run("Check the figures.").outcome().await;
        assert!(
            matches!(outcome.status, Status::Completed),
            "{:?}",
            outcome.status
        );
        if compacted {
            let outcome = pod.compact().outcome().await;
            assert!(
                matches!(outcome.status, Status::Completed),
                "{:?}",
                outcome.status
            );
        }
    });
}

/// The same session as the floor keeps it.
pub(crate) fn floor_log(log: &Path, turns: usize) {
    let mut text = json!({"role": "user", "content": "Check the figures."}).to_string() + "\n";
    for number in 0..turns {
        let (name, input) = call(number);
        let id = format!("toolu_{number:08}");
        let calls = json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]});
        let results = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": format!("#{} done", number / 2 + 1)}]});
        text.push_str(&format!("{calls}\n{results}\n"));
    }
    text.push_str(
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"All is done.\"}]}\n",
    );
    fs::write(log, text).expect("a log");
}
