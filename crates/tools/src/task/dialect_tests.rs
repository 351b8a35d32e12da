use std::fmt::Write as _;

use serde_json::json;

use crate::task::{TaskFold, TaskStore, all_in, arguments};
use crate::{Call, ToolError, ToolOutput};

use super::*;

/// A session that is driven through the tools of a dialect.
struct Driver {
    fold: TaskFold,
    dialect: Dialect,
    calls: u32,
}

impl Driver {
    fn new(dialect: Dialect) -> Self {
        Self {
            fold: TaskFold::new(TaskStore::new()),
            dialect,
            calls: 0,
        }
    }

    /// Makes a call, and what it says true: the changes are what the fold made of it.
    async fn call(
        &mut self,
        name: &str,
        arguments: Value,
    ) -> (Result<ToolOutput, ToolError>, Vec<Change>) {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        let tools = all_in(self.fold.store(), self.dialect);
        let tool = tools.iter().find(|tool| tool.name() == name).unwrap();
        self.fold.call(&id, name, &arguments);
        let output = tool
            .call(Call {
                id: &id,
                arguments: &arguments,
            })
            .await;
        let changes = self.fold.result(&id, output.is_err(), None).unwrap();
        (output, changes)
    }
}

#[test]
fn as_the_model_sees_the_tools() {
    let tools = all_in(&TaskStore::new(), Dialect::AgentSdk);
    let seen: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name(),
                "description": tool.description(),
                "schema": tool.schema(),
            })
        })
        .collect();
    insta::assert_json_snapshot!(seen);
}

const LIFE: [(&str, &str); 12] = [
    (
        "TaskCreate",
        r#"{"subject":"Log in","description":"With\na key","activeForm":"Logging in"}"#,
    ),
    ("TaskCreate", r#"{"subject":"Log\nout","description":""}"#),
    ("TaskUpdate", r#"{"taskId":"1","status":"in_progress"}"#),
    (
        "TaskUpdate",
        r#"{"id":"1","active_form":"Still logging in","subject":"Log in soon"}"#,
    ),
    ("TaskGet", r#"{"taskId":"1"}"#),
    ("TaskList", "{}"),
    ("TaskUpdate", r#"{"task_id":"1","status":"completed"}"#),
    ("TaskUpdate", r#"{"taskId":"2","status":"deleted"}"#),
    ("TaskList", "{}"),
    ("TaskUpdate", r#"{"taskId":"3","status":"pending"}"#),
    ("TaskUpdate", r#"{"taskId":"1"}"#),
    ("TaskUpdate", r#"{"status":"doing"}"#),
];

#[tokio::test]
async fn results() {
    let mut driver = Driver::new(Dialect::AgentSdk);
    let mut told = String::new();
    for (name, arguments) in LIFE {
        let (output, _) = driver
            .call(name, serde_json::from_str(arguments).unwrap())
            .await;
        let _ = writeln!(told, "{name} {arguments}");
        match output {
            Ok(output) => {
                let text = output.content.unwrap_or(output.summary);
                let _ = writeln!(told, "{text}\n{}\n", output.value.unwrap());
            }
            Err(error) => {
                let _ = writeln!(told, "! {error}\n");
            }
        }
    }
    insta::assert_snapshot!(told);
}

#[tokio::test]
async fn both_dialects_do_the_same_and_tell_the_truth() {
    let mut drivers = [Driver::new(Dialect::Pod), Driver::new(Dialect::AgentSdk)];
    for (name, arguments) in LIFE {
        for driver in &mut drivers {
            let arguments = serde_json::from_str(arguments).unwrap();
            let (output, changes) = driver.call(name, arguments).await;
            for change in &changes {
                assert!(tells(
                    output.as_ref().unwrap().value.as_ref().unwrap(),
                    change
                ));
            }
        }
        let [pod, sdk] = &drivers;
        assert_eq!(pod.fold.store().snapshot(), sdk.fold.store().snapshot());
    }
}

#[test]
fn what_is_not_true_is_noticed() {
    let store = TaskStore::new();
    let create = arguments::create(&json!({"subject": "A", "description": "a"})).unwrap();
    let created = store.apply(&create).unwrap();
    for (value, is_true) in [
        (json!({"task": {"id": "1", "subject": "A"}}), true),
        (json!({"task": {"id": "2", "subject": "A"}}), false),
        (json!({"task": {"id": "1", "subject": "B"}}), false),
        (json!({"task": {"id": 1, "subject": "A"}}), false),
        (json!({"task": created.task}), true),
        (
            json!({"task": {"taskid": 1, "status": "completed", "subject": "A", "description": "a"}}),
            false,
        ),
        (json!({"something": "else"}), true),
        (json!(null), true),
    ] {
        assert_eq!(tells(&value, &created), is_true, "{value}");
    }
    let update = arguments::update(&json!({"taskId": "1", "status": "in_progress"})).unwrap();
    let updated = store.apply(&update).unwrap();
    for (value, is_true) in [
        (
            json!({"taskId": "1", "statusChange": {"from": "pending", "to": "in_progress"}}),
            true,
        ),
        (json!({"taskId": "1"}), true),
        (json!({"taskId": "2"}), false),
        (
            json!({"taskId": "1", "statusChange": {"to": "completed"}}),
            false,
        ),
    ] {
        assert_eq!(tells(&value, &updated), is_true, "{value}");
    }
}

#[test]
fn a_list_of_any_length_is_bounded() {
    for count in [1_u32, 1_000, 20_000] {
        let tasks: Vec<Task> = (1..=count)
            .map(|id| Task {
                status: Status::ALL[id as usize % 4],
                ..Task::new(crate::task::TaskId::new(id), "日本語の仕事".repeat(5), "d")
            })
            .collect();
        for limit in [1_000, RESULT_LIMIT] {
            let text = list_text(&tasks, limit);
            assert!(text.len() <= limit, "{count} tasks, {} bytes", text.len());
            assert!(
                !text.contains("deleted") && !text.contains("inprogress"),
                "{text}"
            );
        }
        let value = list_value(&tasks, 100_000).to_string();
        assert!(
            value.len() <= 110_000,
            "{count} tasks, {} bytes",
            value.len()
        );
    }
}

#[test]
fn errors_speak_of_the_fields_of_the_schema() {
    let error = |dialect| arguments::update_in(&json!({"status": "x"}), dialect).unwrap_err();
    assert!(error(Dialect::Pod).contains("inprogress"));
    assert!(error(Dialect::AgentSdk).contains("in_progress"));
    let missing = |dialect| arguments::get_in(&json!({}), dialect).unwrap_err();
    assert_eq!(
        missing(Dialect::Pod),
        "taskid is missing; accepted: taskid (integer)"
    );
    assert_eq!(
        missing(Dialect::AgentSdk),
        "taskId is missing; accepted: taskId (text)"
    );
}
