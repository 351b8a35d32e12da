use std::sync::Barrier;

use super::super::render;
use super::*;

fn create(subject: &str) -> TaskOperation {
    TaskOperation::Create {
        subject: subject.to_owned(),
        description: format!("All about {subject}."),
        active_form: None,
    }
}

/// An update of nothing, to be filled in by the caller.
fn update(id: u32) -> TaskOperation {
    TaskOperation::Update {
        id: TaskId::new(id),
        status: None,
        subject: None,
        description: None,
        active_form: None,
    }
}

fn set_status(id: u32, status: Status) -> TaskOperation {
    let mut operation = update(id);
    if let TaskOperation::Update { status: field, .. } = &mut operation {
        *field = Some(status);
    }
    operation
}

fn set_subject(id: u32, subject: &str) -> TaskOperation {
    let mut operation = update(id);
    if let TaskOperation::Update { subject: field, .. } = &mut operation {
        *field = Some(subject.to_owned());
    }
    operation
}

fn set_description(id: u32, description: &str) -> TaskOperation {
    let mut operation = update(id);
    if let TaskOperation::Update {
        description: field, ..
    } = &mut operation
    {
        *field = Some(description.to_owned());
    }
    operation
}

/// Applies operations in order and shows each as its summary or its error, then the whole list.
/// `plan` must foretell each of them and change nothing.
#[track_caller]
fn check(operations: &[TaskOperation], expected: &str) {
    let store = TaskStore::new();
    let mut shown = Vec::new();
    for operation in operations {
        let before = store.snapshot();
        let planned = store.plan(operation);
        assert_eq!(store.snapshot(), before, "plan changed the list");
        let applied = store.apply(operation);
        assert_eq!(applied, planned, "plan foretold something else");
        match applied {
            Ok(change) => shown.push(render::change(&change)),
            Err(error) => {
                assert_eq!(store.snapshot(), before, "an error changed the list");
                shown.push(format!("error: {error}"));
            }
        }
        let recount: Counts = store.with(|tasks| tasks.iter().collect());
        assert_eq!(store.counts(), recount);
    }
    shown.push(String::from("---"));
    shown.push(store.with(|tasks| render::list(tasks, 10_000)));
    assert_eq!(shown.join("\n"), expected.trim());
}

#[test]
fn creates_number_from_one() {
    check(
        &[create("A"), create("B")],
        "
#1 [pending] A
1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#2 [pending] B
2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
---
2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] A
    All about A.
#2 [pending] B
    All about B.",
    );
}

#[test]
fn a_failed_create_takes_no_id() {
    check(
        &[create("A"), create(" \n"), create("B")],
        "
#1 [pending] A
1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
error: subject is empty: give a short line that says what the task is about
#2 [pending] B
2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
---
2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] A
    All about A.
#2 [pending] B
    All about B.",
    );
}

#[test]
fn unknown_ids_and_empty_updates() {
    check(
        &[
            set_status(1, Status::Completed),
            create("A"),
            set_status(0, Status::Completed),
            set_status(2, Status::Completed),
            create("B"),
            set_status(u32::MAX, Status::Deleted),
            update(1),
            update(7),
            set_subject(1, "\u{200b}"),
        ],
        "
error: task 1 does not exist; there are no tasks yet, TaskCreate makes one
#1 [pending] A
1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
error: task 0 does not exist; the only task is 1
error: task 2 does not exist; the only task is 1
#2 [pending] B
2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
error: task 4294967295 does not exist; ids run from 1 to 2, TaskList shows them
error: nothing to update: give at least one of status, subject, description
error: task 7 does not exist; ids run from 1 to 2, TaskList shows them
error: subject is empty: give a short line that says what the task is about
---
2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] A
    All about A.
#2 [pending] B
    All about B.",
    );
}

#[test]
fn br_047_equal_tasks_are_separate() {
    check(
        &[create("A"), create("A"), create("A")],
        "
#1 [pending] A
1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#2 [pending] A
2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#3 [pending] A
3 tasks: 3 pending, 0 inprogress, 0 completed, 0 deleted
---
3 tasks: 3 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] A
    All about A.
#2 [pending] A
    All about A.
#3 [pending] A
    All about A.",
    );
}

#[test]
fn br_053_reopening_is_said_and_partial_updates_are_partial() {
    check(
        &[
            create("A"),
            set_status(1, Status::Completed),
            set_status(1, Status::InProgress),
            set_status(1, Status::Deleted),
            set_status(1, Status::Completed),
            set_status(1, Status::Completed),
            set_subject(1, "A2"),
            set_description(1, "New."),
        ],
        "
#1 [pending] A
1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending -> completed] A
1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
#1 [completed -> inprogress] A
1 task: 0 pending, 1 inprogress, 0 completed, 0 deleted
#1 [inprogress -> deleted] A
1 task: 0 pending, 0 inprogress, 0 completed, 1 deleted
#1 [deleted -> completed] A
1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
#1 [completed] A
1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
#1 [completed] A2
1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
#1 [completed] A2
1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
---
1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
#1 [completed] A2
    New.",
    );
}

#[test]
fn br_071_finished_and_deleted_tasks_stay() {
    check(
        &[
            create("A"),
            create("B"),
            set_status(1, Status::Completed),
            set_status(2, Status::Deleted),
            create("C"),
        ],
        "
#1 [pending] A
1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#2 [pending] B
2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending -> completed] A
2 tasks: 1 pending, 0 inprogress, 1 completed, 0 deleted
#2 [pending -> deleted] B
2 tasks: 0 pending, 0 inprogress, 1 completed, 1 deleted
#3 [pending] C
3 tasks: 1 pending, 0 inprogress, 1 completed, 1 deleted
---
3 tasks: 1 pending, 0 inprogress, 1 completed, 1 deleted
#1 [completed] A
    All about A.
#2 [deleted] B
    All about B.
#3 [pending] C
    All about C.",
    );
}

#[test]
fn br_075_counts_are_per_status() {
    let store = TaskStore::new();
    for subject in ["1", "2", "3", "4", "5", "6"] {
        store.apply(&create(subject)).unwrap();
    }
    for id in [1, 3, 4, 5] {
        store.apply(&set_status(id, Status::Completed)).unwrap();
    }
    store.apply(&set_status(2, Status::InProgress)).unwrap();
    let change = store.apply(&set_status(6, Status::Deleted)).unwrap();
    let line = "6 tasks: 0 pending, 1 inprogress, 4 completed, 1 deleted";
    assert_eq!(change.counts.to_string(), line);
    assert_eq!(store.counts(), change.counts);
    assert_eq!((change.counts.total(), change.counts.kept()), (6, 5));
    assert!(render::change(&change).ends_with(line));
    assert!(
        store
            .with(|tasks| render::list(tasks, 10_000))
            .starts_with(line)
    );
}

#[track_caller]
fn check_subject_is(subject: &str, visible: bool) {
    let store = TaskStore::new();
    store.apply(&create("A")).unwrap();
    let expected = if visible {
        Ok(())
    } else {
        Err(TaskError::EmptySubject)
    };
    assert_eq!(store.apply(&create(subject)).map(drop), expected);
    assert_eq!(store.apply(&set_subject(1, subject)).map(drop), expected);
}

#[test]
fn a_subject_has_a_visible_character() {
    for blank in [
        "",
        " ",
        "\n\t\r",
        "\u{3000}\u{a0}",
        "\u{1b}\u{7}",
        "\u{85}\u{9b}\u{7f}",
        "\u{200b}\u{200d}\u{2060}",
        "\u{202e}\u{feff}",
        "\u{301}",
        "\u{fe0f}",
        "\u{e0067}",
    ] {
        check_subject_is(blank, false);
    }
    for text in ["a", " . ", "日", "👩‍👩‍👧", "é", "\u{202e}a", "0", "ก็"] {
        check_subject_is(text, true);
    }
}

#[test]
fn a_change_tells_the_fields_that_were_given() {
    let store = TaskStore::new();
    assert!(store.apply(&create("A")).unwrap().fields.is_empty());
    let change = store
        .apply(&TaskOperation::Update {
            id: TaskId::new(1),
            status: Some(Status::Pending),
            subject: Some(String::from("A")),
            description: None,
            active_form: Some(String::from("Doing A")),
        })
        .unwrap();
    assert_eq!(change.fields, ["status", "subject", "active_form"]);
    assert_eq!(change.previous_status, Some(Status::Pending));
    assert_eq!(change.task.active_form.as_deref(), Some("Doing A"));
    // An active form stays until another one is given.
    let change = store.apply(&set_status(1, Status::Completed)).unwrap();
    assert_eq!(change.task.active_form.as_deref(), Some("Doing A"));
}

#[test]
fn clones_are_handles_of_one_list() {
    let store = TaskStore::new();
    let other = store.clone();
    other.apply(&create("A")).unwrap();
    assert_eq!(store.get(TaskId::new(1)).unwrap().subject, "A");
    assert_eq!(
        serde_json::to_value(&store).unwrap(),
        serde_json::to_value(other.snapshot()).unwrap()
    );
}

#[test]
fn replace_takes_a_whole_list_or_nothing() {
    let store = TaskStore::new();
    store.apply(&create("A")).unwrap();
    let task = |id| Task::new(TaskId::new(id), "X", "");
    for (tasks, error) in [
        (
            vec![task(1), task(3)],
            "the task with id 3 stands at place 2",
        ),
        (vec![task(0)], "the task with id 0 stands at place 1"),
        (
            vec![task(1), task(1)],
            "the task with id 1 stands at place 2",
        ),
    ] {
        assert_eq!(store.replace(tasks).unwrap_err().to_string(), error);
        assert_eq!(store.get(TaskId::new(1)).unwrap().subject, "A");
    }
    store.replace(vec![task(1), task(2)]).unwrap();
    assert_eq!(store.counts().pending, 2);
    assert_eq!(store.apply(&create("B")).unwrap().task.id, TaskId::new(3));
    store.replace(Vec::new()).unwrap();
    assert_eq!(store.counts(), Counts::default());
}

#[test]
fn br_049_a_snapshot_goes_around_unchanged() {
    // `due` and `owner` stand for fields of a newer version.
    let text = r#"[{"taskid":1,"status":"completed","subject":"a\u0000\u001b\u2028日","description":" \r\n","active_form":"Doing a","owner":{"name":"x"}},{"taskid":2,"status":"inprogress","subject":"b","description":"","due":null}]"#;
    let tasks: Vec<Task> = serde_json::from_str(text).unwrap();
    let store = TaskStore::new();
    store.replace(tasks.clone()).unwrap();
    store.apply(&set_status(2, Status::Completed)).unwrap();
    store.apply(&set_status(2, Status::InProgress)).unwrap();
    assert_eq!(store.snapshot(), tasks);
    let again = serde_json::to_string(&store).unwrap();
    assert_eq!(
        again,
        serde_json::to_string(&serde_json::from_str::<serde_json::Value>(text).unwrap()).unwrap()
    );
}

#[test]
fn br_056_br_057_creates_of_many_threads_get_the_ids_1_to_n() {
    for _ in 0..500 {
        let store = TaskStore::new();
        let barrier = Barrier::new(8);
        let changes: Vec<Change> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|number| {
                    let (store, barrier) = (&store, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        store.apply(&create(&format!("thread {number}"))).unwrap()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let mut ids: Vec<u32> = changes.iter().map(|it| it.task.id.number()).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8]);
        for change in changes {
            assert_eq!(store.get(change.task.id).unwrap(), change.task);
            assert_eq!(change.counts.total(), change.task.id.number());
        }
    }
}

#[test]
fn br_062_updates_of_one_task_by_two_threads_both_count() {
    for round in 0..1000 {
        let store = TaskStore::new();
        store.apply(&create("A")).unwrap();
        let barrier = Barrier::new(2);
        let race = |operation: TaskOperation| {
            barrier.wait();
            store.apply(&operation).unwrap().task
        };
        let text = format!("round {round}");
        std::thread::scope(|scope| {
            let one = scope.spawn(|| race(set_status(1, Status::Completed)));
            let two = scope.spawn(|| race(set_description(1, &text)));
            // Each is told the state after its own change.
            assert_eq!(one.join().unwrap().status, Status::Completed);
            assert_eq!(two.join().unwrap().description, text);
        });
        let task = store.get(TaskId::new(1)).unwrap();
        assert_eq!((task.status, task.description), (Status::Completed, text));
    }
}

#[test]
fn br_059_two_updates_of_one_task_in_one_message_take_effect_in_order() {
    let store = TaskStore::new();
    store.apply(&create("A")).unwrap();
    store.apply(&set_status(1, Status::InProgress)).unwrap();
    let last = store.apply(&set_status(1, Status::Completed)).unwrap();
    assert_eq!(last.previous_status, Some(Status::InProgress));
    assert_eq!(store.get(TaskId::new(1)).unwrap().status, Status::Completed);
}

#[test]
fn a_panic_of_a_looker_does_not_break_the_store() {
    let store = TaskStore::new();
    store.apply(&create("A")).unwrap();
    let other = store.clone();
    let looker = std::thread::spawn(move || other.with(|_| panic!("on purpose")));
    assert!(looker.join().is_err());
    assert_eq!(store.apply(&create("B")).unwrap().task.id, TaskId::new(2));
}
