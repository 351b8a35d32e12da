use serde_json::json;

use super::super::{Status, render};
use super::*;

/// One entry of a history, as the tests write it.
enum Entry {
    Call(&'static str, &'static str, Value),
    Ok(&'static str),
    Changed(&'static str, Value),
    Err(&'static str),
    Snapshot(Value),
    Edit(TaskOperation),
}
use Entry::{Call, Changed, Edit, Err as Failed, Ok as Done, Snapshot};

fn create(id: &'static str, subject: &str) -> Entry {
    Call(
        id,
        "TaskCreate",
        json!({"subject": subject, "description": ""}),
    )
}

fn update(id: &'static str, task: u32, status: &str) -> Entry {
    Call(id, "TaskUpdate", json!({"taskid": task, "status": status}))
}

fn feed(fold: &mut TaskFold, entry: &Entry) -> Result<Vec<Change>, Warning> {
    match entry {
        Call(id, name, arguments) => {
            fold.call(id, name, arguments);
            Ok(Vec::new())
        }
        Done(id) => fold.result(id, false, None),
        Changed(id, arguments) => fold.result(id, false, Some(arguments)),
        Failed(id) => fold.result(id, true, None),
        Snapshot(tasks) => fold.snapshot(tasks).map(|()| Vec::new()),
        Edit(operation) => fold.edit(operation).map(|change| vec![change]),
    }
}

/// Folds a history and compares the rows and the warnings.
#[track_caller]
fn check(history: &[Entry], expected: &[&str]) {
    let mut fold = TaskFold::default();
    let mut warnings = Vec::new();
    for entry in history {
        let before = fold.store().snapshot();
        match feed(&mut fold, entry) {
            Ok(changes) if !changes.is_empty() => {
                for change in &changes {
                    let last = changes.iter().rfind(|it| it.task.id == change.task.id);
                    let last = last.map(|it| it.task.clone());
                    assert_eq!(fold.store().get(change.task.id).ok(), last);
                }
                let counts = changes.last().map(|change| change.counts);
                assert_eq!(Some(fold.store().counts()), counts);
            }
            Ok(_) if matches!(entry, Snapshot(_)) => {}
            Ok(_) => assert_eq!(fold.store().snapshot(), before),
            Err(warning) => {
                assert_eq!(fold.store().snapshot(), before);
                warnings.push(format!("! {warning}"));
            }
        }
    }
    let mut found = fold
        .store()
        .with(|tasks| tasks.iter().map(render::row).collect::<Vec<_>>());
    found.extend(warnings);
    assert_eq!(found, expected);
}

#[test]
fn a_call_counts_at_its_success() {
    check(&[create("a", "A")], &[]);
    check(&[create("a", "A"), Done("a")], &["#1 [pending] A"]);
    check(&[Done("a"), create("a", "A")], &[]);
    check(&[Done("a")], &[]);
}

#[test]
fn br_024_a_rewind_is_the_fold_of_what_is_left() {
    let history = [
        create("a", "A"),
        Done("a"),
        update("b", 1, "completed"),
        Done("b"),
        create("c", "C"),
        Done("c"),
    ];
    check(&history, &["#1 [completed] A", "#2 [pending] C"]);
    check(&history[..4], &["#1 [completed] A"]);
    check(&history[..2], &["#1 [pending] A"]);
    // The next id is that of the moment, not of the abandoned future.
    let mut fold = TaskFold::default();
    for entry in history[..2].iter().chain(&[create("d", "D")]) {
        feed(&mut fold, entry).unwrap();
    }
    let changes = feed(&mut fold, &Done("d")).unwrap();
    assert_eq!(changes[0].task.id.number(), 2);
}

#[test]
fn br_037_a_refused_create_takes_no_id() {
    check(
        &[
            create("a", "A"),
            Done("a"),
            create("b", "B"),
            Failed("b"),
            create("c", "C"),
            Done("c"),
        ],
        &["#1 [pending] A", "#2 [pending] C"],
    );
}

#[test]
fn br_038_only_successes_count() {
    check(
        &[
            create("denied", "denied"),
            create("a", "A"),
            create("cut off", "cut off"),
            create("b", "B"),
            Failed("denied"),
            Done("a"),
            Done("b"),
            update("wrong", 1, "deleted"),
            Failed("wrong"),
            update("no result", 2, "deleted"),
        ],
        &["#1 [pending] A", "#2 [pending] B"],
    );
}

#[test]
fn br_102_a_call_that_stands_twice_counts_once() {
    let a = || create("a", "A");
    let once: &[&str] = &["#1 [pending] A"];
    check(&[a(), Done("a"), a(), Done("a")], once);
    check(&[a(), a(), Done("a")], once);
    check(&[a(), Done("a"), Done("a")], once);
    check(&[a(), create("a", "other"), Done("a")], once);
    check(&[a(), Done("a"), create("a", "other"), Done("a")], once);
    check(&[a(), Done("a"), a(), Failed("a")], once);
}

#[test]
fn br_102_nothing_counts_after_its_failure() {
    check(&[create("a", "A"), Failed("a"), Done("a")], &[]);
    // A retry under the same id is a call of its own, and its success is in the history.
    check(
        &[create("a", "A"), Failed("a"), create("a", "A2"), Done("a")],
        &["#1 [pending] A2"],
    );
}

#[test]
fn br_059_updates_of_one_task_in_one_message() {
    check(
        &[
            create("a", "A"),
            Done("a"),
            update("b", 1, "inprogress"),
            update("c", 1, "completed"),
            Done("b"),
            Done("c"),
        ],
        &["#1 [completed] A"],
    );
}

#[test]
fn results_count_in_their_order() {
    check(
        &[create("a", "A"), create("b", "B"), Done("b"), Done("a")],
        &["#1 [pending] B", "#2 [pending] A"],
    );
}

#[test]
fn other_tools_are_none_of_its_business() {
    check(
        &[
            Call("l", "TaskList", json!({})),
            Done("l"),
            Call("g", "TaskGet", json!({"taskid": 1})),
            Done("g"),
            Call("b", "Bash", json!({"command": "TaskCreate"})),
            Done("b"),
            Call(
                "t",
                "taskcreate",
                json!({"subject": "A", "description": ""}),
            ),
            Done("t"),
        ],
        &[],
    );
}

#[test]
fn a_hook_may_change_the_arguments() {
    check(
        &[
            create("a", "A"),
            Changed("a", json!({"subject": "B", "description": ""})),
        ],
        &["#1 [pending] B"],
    );
    check(
        &[
            create("a", "A"),
            Changed("a", json!({"subject": "", "description": ""})),
            create("b", "B"),
            Done("b"),
        ],
        &[
            "#1 [pending] B",
            "! call a: subject is empty: give a short line that says what the task is about; skipped",
        ],
    );
}

#[test]
fn br_041_br_051_replay_understands_what_live_understood() {
    for taskid in [
        json!({"taskid": "2", "status": "completed"}),
        json!({"id": 2.0, "status": "COMPLETED"}),
        json!({"task_id": "#2", "status": "completed"}),
        json!(r#"{"taskId":2,"status":"completed"}"#),
    ] {
        check(
            &[
                create("a", "A"),
                create("b", "B"),
                Done("a"),
                Done("b"),
                Call("c", "TaskUpdate", taskid),
                Done("c"),
            ],
            &["#1 [pending] A", "#2 [completed] B"],
        );
    }
}

#[test]
fn a_success_that_is_not_understood_is_said() {
    check(
        &[
            Call("a", "TaskCreate", json!({"subject": "A"})),
            Done("a"),
            update("b", 3, "completed"),
            Done("b"),
            Call("c", "TaskUpdate", json!({"taskid": 1, "owner": "x"})),
            Done("c"),
        ],
        &[
            "! call a: description is missing; accepted: subject and description (text, both needed), one task a call; skipped",
            "! call b: task 3 does not exist; there are no tasks yet, TaskCreate makes one; skipped",
            "! call c: there is no field \"owner\"; accepted: taskid (integer) and at least one of status (pending, inprogress, completed, deleted), subject, description (text); skipped",
        ],
    );
}

#[test]
fn br_036_a_snapshot_takes_the_place_of_all_before() {
    let snapshot = json!([
        {"taskid": 1, "status": "completed", "subject": "X", "description": "x"},
        {"taskid": 2, "status": "deleted", "subject": "Y", "description": ""},
    ]);
    check(
        &[
            create("a", "A"),
            Done("a"),
            create("open", "O"),
            Snapshot(snapshot.clone()),
            create("b", "B"),
            Done("b"),
            Done("open"),
        ],
        &[
            "#1 [completed] X",
            "#2 [deleted] Y",
            "#3 [pending] B",
            "#4 [pending] O",
        ],
    );
    // The newest counts, the older ones are inert.
    check(
        &[
            Snapshot(json!([])),
            Snapshot(snapshot.clone()),
            Snapshot(json!([])),
        ],
        &[],
    );
    check(
        &[Snapshot(json!([])), Snapshot(snapshot)],
        &["#1 [completed] X", "#2 [deleted] Y"],
    );
}

#[test]
fn a_broken_snapshot_changes_nothing_and_is_said() {
    let row = |id: Value, status: &str| json!({"taskid": id, "status": status, "subject": "X", "description": ""});
    for (snapshot, reason) in [
        (json!(null), "invalid type: null, expected a sequence"),
        (json!({}), "invalid type: map, expected a sequence"),
        (
            json!([row(json!(2), "pending")]),
            "the task with id 2 stands at place 1",
        ),
        (
            json!([row(json!(0), "pending")]),
            "the task with id 0 stands at place 1",
        ),
        (
            json!([row(json!(1), "pending"), row(json!(1), "pending")]),
            "the task with id 1 stands at place 2",
        ),
        (
            json!([row(json!(-1), "pending")]),
            "invalid value: integer `-1`, expected u32",
        ),
        (
            json!([row(json!("1"), "pending")]),
            "invalid type: string \"1\", expected u32",
        ),
        (
            json!([row(json!(1), "done")]),
            "unknown variant `done`, expected one of `pending`, `inprogress`, `completed`, `deleted`",
        ),
        (
            json!([{"taskid": 1, "status": "pending", "subject": "X"}]),
            "missing field `description`",
        ),
    ] {
        let warning = format!("! task snapshot: {reason}; skipped");
        check(
            &[create("a", "A"), Done("a"), Snapshot(snapshot)],
            &["#1 [pending] A", &warning],
        );
    }
}

#[test]
fn warnings_are_short_and_one_line() {
    let mut fold = TaskFold::default();
    let hostile = "\u{1b}[2J\n日".repeat(10_000);
    let snapshot = json!([{"taskid": 1, "status": hostile, "subject": "", "description": ""}]);
    fold.call(&hostile, "TaskCreate", &json!({ hostile.as_str(): 1 }));
    let edit = TaskOperation::Create {
        subject: String::new(),
        description: hostile.clone(),
        active_form: None,
    };
    for warning in [
        fold.snapshot(&snapshot).unwrap_err(),
        fold.result(&hostile, false, None).unwrap_err(),
        fold.edit(&edit).unwrap_err(),
    ] {
        let text = warning.to_string();
        assert!(text.len() < 450, "{text}");
        assert_eq!(text, render::one_line(&text));
    }
}

#[test]
fn an_edit_by_hand_counts_at_once() {
    let drop_first = TaskOperation::Update {
        id: super::super::TaskId::new(1),
        status: Some(Status::Deleted),
        subject: None,
        description: None,
        active_form: None,
    };
    check(
        &[
            create("a", "A"),
            Edit(drop_first.clone()),
            Done("a"),
            Edit(drop_first),
        ],
        &[
            "#1 [deleted] A",
            "! edit by hand: task 1 does not exist; there are no tasks yet, TaskCreate makes one; skipped",
        ],
    );
}

#[test]
fn the_fold_keeps_the_store_that_it_was_given() {
    let store = TaskStore::new();
    let mut fold = TaskFold::new(store.clone());
    for entry in [create("a", "A"), Done("a")] {
        feed(&mut fold, &entry).unwrap();
    }
    assert_eq!(store.counts().pending, 1);
}

#[test]
fn br_114_replay_does_not_apply_the_limits_of_new_calls() {
    // What was accepted when it was logged stays, also if a limit is lowered later.
    let long = "日".repeat(100_000);
    let mut fold = TaskFold::default();
    fold.call(
        "a",
        "TaskCreate",
        &json!({"subject": long, "description": long}),
    );
    let change = fold.result("a", false, None).unwrap().pop().unwrap();
    assert_eq!(
        (change.task.subject, change.task.description),
        (long.clone(), long)
    );
}
