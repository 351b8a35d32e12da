//! What is accepted, and how much is told, at the largest inputs.

use serde_json::{Value, json};

use super::tests::{call, read, run};
use super::*;
use crate::bounded::RESULT_LIMIT;

/// Whether a new task with these texts is accepted, live.
#[track_caller]
fn check_limit(arguments: &Value, expected: Result<(), &str>) {
    let store = TaskStore::new();
    let result = call(&store, "TaskCreate", arguments);
    if let Err(error) = &result {
        assert!(error.message.len() < 300, "{error}");
    }
    let found = result.map(drop).map_err(|error| error.message);
    assert_eq!(found, expected.map_err(str::to_owned));
}

#[test]
fn br_118_limits_are_clear_errors() {
    let subject = |text: String| json!({"subject": text, "description": ""});
    let too_long =
        "subject has more than 500 characters: give a short line and put the rest into description";
    for character in ["x", "日", "\u{10ffff}"] {
        check_limit(&subject(character.repeat(500)), Ok(()));
        check_limit(&subject(character.repeat(501)), Err(too_long));
    }
    let active_form = |text: String| json!({"subject": "A", "description": "", "activeForm": text});
    check_limit(&active_form("日".repeat(500)), Ok(()));
    check_limit(
        &active_form("日".repeat(501)),
        Err(
            "activeForm has more than 500 characters: give a short line and put the rest into description",
        ),
    );
    let description = |text: String| json!({"subject": "A", "description": text});
    check_limit(&description("x".repeat(45_000)), Ok(()));
    check_limit(
        &description("x".repeat(16_000_000)),
        Err(
            "description takes 16000005 bytes as TaskGet shows it, the limit is 45900: put the text into a file and name the file here",
        ),
    );
    check_limit(
        &description("x\n".repeat(20_000)),
        Err(
            "description takes 120000 bytes as TaskGet shows it, the limit is 45900: put the text into a file and name the file here",
        ),
    );
    check_limit(
        &description("\u{0}".repeat(50_000)),
        Err(
            "description takes 50000 bytes as TaskGet shows it, the limit is 45900: put the text into a file and name the file here",
        ),
    );
}

#[test]
fn limits_hold_for_updates_too() {
    let mut fold = TaskFold::default();
    run(
        &mut fold,
        "TaskCreate",
        &json!({"subject": "A", "description": ""}),
    )
    .unwrap();
    for (name, length) in [
        ("subject", 501),
        ("activeForm", 501),
        ("description", 50_000),
    ] {
        let arguments = json!({"taskid": 1, name: "x".repeat(length)});
        assert!(run(&mut fold, "TaskUpdate", &arguments).is_err(), "{name}");
    }
    // Limits are about what is given, not about what is there.
    let long = Task::new(TaskId::new(1), "x".repeat(9_000), "x\n".repeat(90_000));
    fold.store().replace(vec![long]).unwrap();
    run(
        &mut fold,
        "TaskUpdate",
        &json!({"taskid": 1, "status": "completed"}),
    )
    .unwrap();
}

#[test]
fn br_007_what_is_accepted_is_shown_whole() {
    for line in [
        "x",
        "x\n",
        "x\n\n",
        "日\u{2028}",
        "\tx\r\n",
        "x\u{85}",
        "👩‍👩‍👧\r",
    ] {
        // The longest description of such lines that is accepted.
        let fits = |count: &usize| {
            let arguments = json!({
                "subject": "\u{10ffff}".repeat(500),
                "description": line.repeat(*count),
                "activeForm": "\u{10ffff}".repeat(500),
            });
            call(&TaskStore::new(), "TaskCreate", &arguments).is_ok()
        };
        let count = (0..50_000).collect::<Vec<_>>().partition_point(fits) - 1;
        assert!(count > 1_000);
        let mut task = Task::new(
            TaskId::new(u32::MAX),
            "\u{10ffff}".repeat(500),
            line.repeat(count),
        );
        task.status = Status::InProgress;
        task.active_form = Some("\u{10ffff}".repeat(500));
        let shown = render::task(&task, RESULT_LIMIT);
        assert!(!shown.contains("left out"), "{line:?}");
        assert!(shown.len() <= RESULT_LIMIT, "{line:?}");
    }
}

#[test]
fn an_overlong_task_of_an_older_log_is_shown_bounded() {
    let store = TaskStore::new();
    let task = Task::new(TaskId::new(1), "A", "#2 [pending] fake\n".repeat(100_000));
    store.replace(vec![task]).unwrap();
    let output = call(&store, "TaskGet", &json!({"taskid": 1})).unwrap();
    let text = read(&output);
    assert!(text.len() < RESULT_LIMIT + 100);
    assert!(text.ends_with(" more bytes are left out here.)"));
    assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 1);
}

/// A store with so many tasks, all alike.
pub(super) fn store_of(count: u32, subject: &str, description: &str) -> TaskStore {
    let store = TaskStore::new();
    let tasks = (1..=count).map(|id| Task::new(TaskId::new(id), subject, description));
    store.replace(tasks.collect()).unwrap();
    store
}

#[test]
fn the_summary_at_10_000_tasks() {
    for subject in [
        "x".repeat(500),
        "👩‍👩‍👧".repeat(71),
        format!("e{}", "\u{301}".repeat(499)),
    ] {
        let store = store_of(9_999, &subject, "");
        for (name, arguments) in [
            (
                "TaskCreate",
                json!({"subject": subject, "description": "x".repeat(40_000)}),
            ),
            (
                "TaskUpdate",
                json!({"taskid": 9_999, "status": "inprogress"}),
            ),
        ] {
            let output = call(&store, name, &arguments).unwrap();
            assert!(output.summary.len() < 200);
            assert_eq!(output.content, None);
        }
        let listed = call(&store, "TaskList", &json!({})).unwrap();
        assert!(listed.summary.len() < 200);
        assert!(read(&listed).len() <= RESULT_LIMIT);
    }
}

#[test]
fn the_list_as_data_is_bounded_and_says_what_is_left_out() {
    for (count, subject, description, left_out) in [
        (0, "A", "B", None),
        (200, "A", "B", None),
        (
            1_000,
            "A",
            "0123456789".repeat(10).as_str(),
            Some("description"),
        ),
        (10_000, "A", "B", Some("tasks")),
        (2, "A", "\u{1}".repeat(49_000).as_str(), None),
        (3, "A", "\u{1}".repeat(49_000).as_str(), Some("description")),
    ] {
        let store = store_of(count, subject, description);
        let output = call(&store, "TaskList", &json!({})).unwrap();
        let value = output.value.clone().unwrap();
        assert_eq!(value["counts"]["pending"], count);
        match left_out {
            None => assert_eq!(value["tasks"], serde_json::to_value(&store).unwrap()),
            Some(name) => assert_eq!(value["left_out"], json!([name])),
        }
        if left_out == Some("description") {
            assert_eq!(
                value["tasks"].as_array().unwrap().len(),
                usize::try_from(count).unwrap()
            );
            assert_eq!(
                value["tasks"][0],
                json!({"taskid": 1, "status": "pending", "subject": subject})
            );
        }
        // As one line of the Agent SDK's protocol: text and data together.
        let line = json!({"text": read(&output), "value": value}).to_string();
        assert!(line.len() < 1 << 20, "{count}: {} bytes", line.len());
    }
}
