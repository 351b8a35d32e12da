use serde_json::json;

use super::*;

fn failed(value: &Value, text: &str) -> bool {
    let json = value.to_string();
    let outcome = Outcome {
        is_error: false,
        value: Tree::read(&json).filter(|value| *value != Tree::Null),
        text: Some(text.into()),
    };
    failure(&outcome).is_some()
}

#[test]
fn a_failure_is_known_by_its_flag_its_value_or_its_text() {
    assert!(failed(
        &json!({"success": false, "error": "no"}),
        "Updated task #1"
    ));
    for text in [
        "<tool_use_error>x",
        "  <tool_use_error>x",
        "Error",
        "Error: x",
        "error: x",
        "Task not found",
        "Task #7 not found",
        "Task 7 not found",
    ] {
        assert!(failed(&Value::Null, text), "{text}");
        assert!(failed(&json!("a text for a value"), text), "{text}");
        // A structured result that does not say so is none.
        assert!(!failed(&json!({"taskId": "1"}), text), "{text}");
    }
    for text in [
        "Errors",
        "Error_x",
        "the error: x",
        "Tasks not found",
        "Task \n3 not found",
        "",
    ] {
        assert!(!failed(&Value::Null, text), "{text}");
    }
}

#[test]
fn a_row_of_a_list_in_words_gives_what_can_be_told_for_sure() {
    let rows = |text: &str| {
        list_text(text).map(|rows| {
            rows.into_iter()
                .map(|row| {
                    let subject = row.subject_if_unknown.unwrap_or_else(|| "none".into());
                    (row.id, row.status.unwrap(), subject)
                })
                .collect::<Vec<_>>()
        })
    };
    let told = |id: &str, status: &str, subject: &str| {
        (id.to_owned(), status.to_owned(), subject.to_owned())
    };
    assert_eq!(rows("No tasks found\n"), Some(vec![]));
    assert_eq!(
        rows("#1 [pending] A (b) [c]\n\n  #x-2 [in_progress] B [blocked by #1, #3]\n"),
        Some(vec![
            told("1", "pending", "A (b) [c]"),
            told("x-2", "in_progress", "B")
        ])
    );
    assert_eq!(
        rows("#1 [pending] A [blocked by #1 [blocked by #2]\n#2 [pending]  [blocked by #1]"),
        Some(vec![
            told("1", "pending", "A"),
            told("2", "pending", "none")
        ])
    );
    assert_eq!(rows("#1 [pending] A\nand so on"), None);
    assert_eq!(rows("#1 [not a word] A"), None);
    assert_eq!(rows("anything else"), None);
}

#[test]
fn the_id_of_a_new_task_is_found_in_its_text() {
    assert_eq!(
        created_id("Task #12 created successfully: x").as_deref(),
        Some("12")
    );
    assert_eq!(
        created_id("Task #a done. Task #b created successfully").as_deref(),
        Some("b")
    );
    assert_eq!(created_id("Task # created successfully"), None);
    assert_eq!(created_id("Task #12 was created"), None);
}
