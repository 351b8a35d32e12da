use proptest::prelude::*;

use crate::task::{Change, TaskFold};

use super::*;

fn todo(content: &str, status: Status) -> Todo {
    Todo {
        content: content.to_owned(),
        status,
        active_form: None,
    }
}

/// Sets lists one after the other; each is written as `-pending >in progress +completed`.
fn set(lists: &[&str]) -> Vec<String> {
    let mut fold = TaskFold::default();
    for (number, list) in lists.iter().enumerate() {
        let todos: Vec<Value> = list
            .split_whitespace()
            .map(|item| {
                let (mark, content) = item.split_at(1);
                let status = match mark {
                    "-" => "pending",
                    ">" => "in_progress",
                    _ => "completed",
                };
                json!({"content": content, "status": status, "activeForm": content})
            })
            .collect();
        let id = format!("call_{number}");
        fold.call(&id, NAME, &json!({"todos": todos}));
        fold.result(&id, false, None).unwrap();
    }
    let tasks = fold.store().snapshot();
    let row = |task: &Task| format!("{} {} {}", task.id, task.subject, task.status);
    tasks.iter().map(row).collect()
}

#[test]
fn items_keep_their_ids_and_what_is_left_out_is_deleted() {
    assert_eq!(set(&["-a >b"]), ["1 a pending", "2 b inprogress"]);
    assert_eq!(set(&["-a >b", "+b -a"]), ["1 a pending", "2 b completed"]);
    assert_eq!(
        set(&["-a >b", ">c +a"]),
        ["1 a completed", "2 b deleted", "3 c inprogress"]
    );
    assert_eq!(set(&["-a", "", "-a"]), ["1 a deleted", "2 a pending"]);
    assert_eq!(
        set(&["-a -a", "+a -a -a"]),
        ["1 a completed", "2 a pending", "3 a pending"]
    );
    assert_eq!(set(&["-a -a", "+a"]), ["1 a completed", "2 a deleted"]);
    assert_eq!(set(&["", ""]), Vec::<String>::new());
}

#[test]
fn the_other_tools_work_on_the_same_list() {
    let mut fold = TaskFold::default();
    let mut call = |id: &str, name: &str, arguments: Value| {
        fold.call(id, name, &arguments);
        fold.result(id, false, None).unwrap()
    };
    call(
        "a",
        "TaskCreate",
        json!({"subject": "kept", "description": "why"}),
    );
    call(
        "b",
        "TaskCreate",
        json!({"subject": "dropped", "description": ""}),
    );
    let todos = json!([{"content": "kept", "status": "completed", "activeForm": "Keeping"}]);
    let changes = call("c", NAME, json!({"todos": todos.to_string()}));
    assert_eq!(changes.len(), 2);
    let kept = &changes[0].task;
    assert_eq!(
        (kept.description.as_str(), kept.active_form.as_deref()),
        ("why", Some("Keeping"))
    );
    assert_eq!(changes[1].task.status, Status::Deleted);
}

#[tokio::test]
async fn what_is_wrong_is_said_and_changes_nothing() {
    let store = TaskStore::new();
    let tool = TodoWrite::new(store.clone());
    let mut told = String::new();
    for arguments in [
        json!({}),
        json!({"todos": 1}),
        json!({"todos": "no list"}),
        json!({"todos": ["a"]}),
        json!({"todos": [{"content": "a"}]}),
        json!({"todos": [{"status": "pending"}]}),
        json!({"todos": [{"content": "a", "status": "deleted"}]}),
        json!({"todos": [{"content": "a", "status": "done"}]}),
        json!({"todos": [{"content": "a", "status": "pending"}, {"content": " ", "status": "pending"}]}),
        json!({"todos": [{"content": "a".repeat(501), "status": "pending"}]}),
        json!({"todos": [{"content": "a", "status": "pending", "priority": 1}]}),
        json!({"todos": [], "merge": true}),
    ] {
        let call = Call {
            id: "a",
            arguments: &arguments,
        };
        let message = tool.call(call).await.unwrap_err().message;
        assert!(message.len() < 300, "{message}");
        told.push_str(&message);
        told.push('\n');
    }
    assert_eq!(store.snapshot(), []);
    insta::assert_snapshot!(told);
}

#[test]
fn as_the_model_sees_it() {
    let tool = TodoWrite::new(TaskStore::new());
    insta::assert_json_snapshot!(json!({
        "description": tool.description(),
        "schema": tool.schema(),
    }));
}

fn todos() -> impl Strategy<Value = Vec<Todo>> {
    let statuses = vec![Status::Pending, Status::InProgress, Status::Completed];
    let item = ("[ab日]", proptest::sample::select(statuses));
    let item = item.prop_map(|(content, status)| todo(&content, status));
    proptest::collection::vec(item, 0..6)
}

proptest! {
    /// After a call, the tasks that are not deleted are the items, one for one. No id is ever given
    /// twice, no task that was deleted comes back, and nothing is changed that was as it should be.
    #[test]
    fn the_list_is_what_was_set(lists in proptest::collection::vec(todos(), 1..6)) {
        let store = TaskStore::new();
        for todos in &lists {
            let before = store.snapshot();
            let operations = store.with(|tasks| operations(tasks, todos)).unwrap();
            let changes: Vec<Change> = operations
                .iter()
                .map(|operation| store.apply(operation).unwrap())
                .collect();
            let after = store.snapshot();
            let mut kept: Vec<_> = after
                .iter()
                .filter(|task| task.status != Status::Deleted)
                .map(|task| (task.subject.clone(), task.status.as_str()))
                .collect();
            let mut wanted: Vec<_> = todos
                .iter()
                .map(|todo| (todo.content.clone(), todo.status.as_str()))
                .collect();
            kept.sort();
            wanted.sort();
            prop_assert_eq!(kept, wanted);
            for (old, new) in before.iter().zip(&after) {
                prop_assert_eq!(&old.subject, &new.subject);
                if old.status == Status::Deleted {
                    prop_assert_eq!(old, new);
                }
            }
            for change in &changes {
                let same = before.iter().find(|task| **task == change.task);
                prop_assert!(same.is_none(), "a change of nothing");
            }
            let again = store.with(|tasks| super::operations(tasks, todos)).unwrap();
            prop_assert_eq!(again, Vec::new());
        }
    }
}
