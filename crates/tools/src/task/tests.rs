//! The four tools as a model meets them.

use std::fmt::Write as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};

use super::*;
use crate::{Call, Effect, ToolError, ToolOutput};

/// Calls a task tool. None of them ever waits.
pub(super) fn call(
    store: &TaskStore,
    name: &str,
    arguments: &Value,
) -> Result<ToolOutput, ToolError> {
    let tools = all(store);
    let tool = tools.iter().find(|tool| tool.name() == name).unwrap();
    let id = "call_1";
    let mut future = pin!(tool.call(Call { id, arguments }));
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("{name} waits"),
    }
}

/// Calls a tool and, if it succeeds, puts the result into the history, as a session does.
pub(super) fn run(
    fold: &mut TaskFold,
    name: &str,
    arguments: &Value,
) -> Result<ToolOutput, ToolError> {
    let store = fold.store().clone();
    let id = format!("{name} {arguments} {:?}", store.counts());
    let result = call(&store, name, arguments);
    fold.call(&id, name, arguments);
    fold.result(&id, result.is_err(), None).unwrap();
    result
}

pub(super) fn read(output: &ToolOutput) -> &str {
    output.content.as_deref().unwrap_or(&output.summary)
}

/// Runs calls, one a line: the name and the arguments. Shows each with what the model reads.
fn script(calls: &str) -> String {
    let mut fold = TaskFold::default();
    let mut shown = String::new();
    for line in calls.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (name, arguments) = line.split_once(' ').unwrap();
        let text = match run(&mut fold, name, &serde_json::from_str(arguments).unwrap()) {
            Ok(output) => read(&output).to_owned(),
            Err(error) => {
                assert!(error.message.len() < 300, "{error}");
                format!("error: {error}")
            }
        };
        let _ = writeln!(shown, "> {line}\n{text}");
    }
    shown
}

#[test]
fn specs() {
    let mut specs = String::new();
    for tool in all(&TaskStore::new()) {
        let schema = serde_json::to_string(&tool.schema()).unwrap();
        let _ = writeln!(specs, "{}: {}\n{schema}\n", tool.name(), tool.description());
    }
    insta::assert_snapshot!(specs, @r#"
    TaskCreate: Adds a pending task to your list. Keep a list when the work takes three or more steps or runs long, when the user names several things, or asks for one: create all tasks first, one call each. Skip it for a single simple step or a question. The list lasts for the whole session, also when old messages are summarised.
    {"type":"object","properties":{"subject":{"type":"string","description":"One short line"},"description":{"type":"string","description":"All that is needed to do it"}},"required":["subject","description"],"additionalProperties":false}

    TaskList: Shows all tasks, deleted ones too: status, subject, description. Use it to see what is left or to find a taskid.
    {"type":"object","properties":{},"additionalProperties":false}

    TaskGet: Shows one task with its whole description.
    {"type":"object","properties":{"taskid":{"type":"integer"}},"required":["taskid"],"additionalProperties":false}

    TaskUpdate: Changes a task. Its life: pending; inprogress just before you begin it; completed as soon as it is really done, not while tests fail or parts are missing. Set deleted when it is no longer wanted. Give only the fields that change.
    {"type":"object","properties":{"taskid":{"type":"integer"},"status":{"type":"string","enum":["pending","inprogress","completed","deleted"]},"subject":{"type":"string"},"description":{"type":"string"}},"required":["taskid"],"additionalProperties":false}
    "#);
}

#[test]
fn the_four_specs_take_at_most_600_tokens() {
    let tools: Vec<Value> = all(&TaskStore::new())
        .iter()
        .map(|tool| {
            json!({"name": tool.name(), "description": tool.description(), "input_schema": tool.schema()})
        })
        .collect();
    // Four bytes a token, which is on the safe side for JSON and English.
    let bytes = Value::Array(tools).to_string().len();
    assert!(bytes <= 2_400, "{bytes} bytes");
}

#[test]
fn names_and_effects() {
    let tools = all(&TaskStore::new());
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, NAMES);
    for tool in &tools {
        // Also of those that only read: they must stand in line with the others (law 3).
        assert_eq!(tool.effect(), Effect::Task);
        assert_eq!(tool.target(&json!({})), None);
    }
}

#[test]
fn a_usual_session() {
    insta::assert_snapshot!(script(r#"
        TaskList {}
        TaskCreate {"subject":"Write the lexer","description":"All tokens of the grammar."}
        TaskCreate {"subject":"Write the parser","description":"Recursive descent.\n\nErrors:\n\tline and column"}
        TaskUpdate {"taskid":1,"status":"inprogress"}
        TaskUpdate {"taskid":1,"status":"completed"}
        TaskUpdate {"taskid":2,"subject":"Write the parser by hand"}
        TaskUpdate {"taskid":1,"status":"completed"}
        TaskUpdate {"taskid":2,"status":"deleted","description":"No longer wanted."}
        TaskGet {"taskid":2}
        TaskList {}
    "#), @r#"
    > TaskList {}
    There are no tasks.
    > TaskCreate {"subject":"Write the lexer","description":"All tokens of the grammar."}
    #1 [pending] Write the lexer
    1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
    > TaskCreate {"subject":"Write the parser","description":"Recursive descent.\n\nErrors:\n\tline and column"}
    #2 [pending] Write the parser
    2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
    > TaskUpdate {"taskid":1,"status":"inprogress"}
    #1 [pending -> inprogress] Write the lexer
    2 tasks: 1 pending, 1 inprogress, 0 completed, 0 deleted
    > TaskUpdate {"taskid":1,"status":"completed"}
    #1 [inprogress -> completed] Write the lexer
    2 tasks: 1 pending, 0 inprogress, 1 completed, 0 deleted
    > TaskUpdate {"taskid":2,"subject":"Write the parser by hand"}
    #2 [pending] Write the parser by hand
    2 tasks: 1 pending, 0 inprogress, 1 completed, 0 deleted
    > TaskUpdate {"taskid":1,"status":"completed"}
    #1 [completed] Write the lexer
    2 tasks: 1 pending, 0 inprogress, 1 completed, 0 deleted
    > TaskUpdate {"taskid":2,"status":"deleted","description":"No longer wanted."}
    #2 [pending -> deleted] Write the parser by hand
    2 tasks: 0 pending, 0 inprogress, 1 completed, 1 deleted
    > TaskGet {"taskid":2}
    #2 [deleted] Write the parser by hand
        No longer wanted.
    > TaskList {}
    2 tasks: 0 pending, 0 inprogress, 1 completed, 1 deleted
    #1 [completed] Write the lexer
        All tokens of the grammar.
    #2 [deleted] Write the parser by hand
        No longer wanted.
    "#);
}

#[test]
fn errors_of_create() {
    insta::assert_snapshot!(script(r#"
        TaskCreate {}
        TaskCreate {"subject":"A"}
        TaskCreate {"subject":" ","description":"B"}
        TaskCreate {"subject":1,"description":"B"}
        TaskCreate {"subject":"A","description":"B","blockedBy":["1"]}
        TaskCreate [{"subject":"A","description":"B"}]
        TaskCreate {"tasks":[{"subject":"A","description":"B"}]}
        TaskCreate {"subject":"A","description":"B","activeForm":"x","active_form":"x"}
    "#), @r#"
    > TaskCreate {}
    error: subject is missing; accepted: subject and description (text, both needed), one task a call
    > TaskCreate {"subject":"A"}
    error: description is missing; accepted: subject and description (text, both needed), one task a call
    > TaskCreate {"subject":" ","description":"B"}
    error: subject is empty: give a short line that says what the task is about
    > TaskCreate {"subject":1,"description":"B"}
    error: subject must be text, not a number; accepted: subject and description (text, both needed), one task a call
    > TaskCreate {"subject":"A","description":"B","blockedBy":["1"]}
    error: there is no field "blockedBy"; accepted: subject and description (text, both needed), one task a call
    > TaskCreate [{"subject":"A","description":"B"}]
    error: arguments must be an object, not an array; accepted: subject and description (text, both needed), one task a call
    > TaskCreate {"tasks":[{"subject":"A","description":"B"}]}
    error: there is no field "tasks"; accepted: subject and description (text, both needed), one task a call
    > TaskCreate {"subject":"A","description":"B","activeForm":"x","active_form":"x"}
    error: activeForm is given twice, as activeForm and active_form; accepted: subject and description (text, both needed), one task a call
    "#);
}

#[test]
fn errors_of_update() {
    insta::assert_snapshot!(script(r#"
        TaskUpdate {"taskid":1,"status":"completed"}
        TaskCreate {"subject":"A","description":""}
        TaskUpdate {"taskid":2,"status":"completed"}
        TaskCreate {"subject":"B","description":""}
        TaskUpdate {"taskid":3,"status":"completed"}
        TaskUpdate {"status":"completed"}
        TaskUpdate {"taskid":1}
        TaskUpdate {"taskid":1,"status":"done"}
        TaskUpdate {"taskid":"one","status":"completed"}
        TaskUpdate {"taskid":1,"id":1,"status":"completed"}
        TaskUpdate {"taskid":1,"subject":"\u200b"}
        TaskUpdate {"taskid":1,"owner":"me"}
    "#), @r#"
    > TaskUpdate {"taskid":1,"status":"completed"}
    error: task 1 does not exist; there are no tasks yet, TaskCreate makes one
    > TaskCreate {"subject":"A","description":""}
    #1 [pending] A
    1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
    > TaskUpdate {"taskid":2,"status":"completed"}
    error: task 2 does not exist; the only task is 1
    > TaskCreate {"subject":"B","description":""}
    #2 [pending] B
    2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
    > TaskUpdate {"taskid":3,"status":"completed"}
    error: task 3 does not exist; ids run from 1 to 2, TaskList shows them
    > TaskUpdate {"status":"completed"}
    error: taskid is missing; accepted: taskid (integer) and at least one of status (pending, inprogress, completed, deleted), subject, description (text)
    > TaskUpdate {"taskid":1}
    error: nothing to update: give at least one of status, subject, description
    > TaskUpdate {"taskid":1,"status":"done"}
    error: status must be one of pending, inprogress, completed, deleted, not "done"
    > TaskUpdate {"taskid":"one","status":"completed"}
    error: taskid must be the number of a task, as TaskList shows it, not "one"
    > TaskUpdate {"taskid":1,"id":1,"status":"completed"}
    error: taskid is given twice, as taskid and id; accepted: taskid (integer) and at least one of status (pending, inprogress, completed, deleted), subject, description (text)
    > TaskUpdate {"taskid":1,"subject":"\u200b"}
    error: subject is empty: give a short line that says what the task is about
    > TaskUpdate {"taskid":1,"owner":"me"}
    error: there is no field "owner"; accepted: taskid (integer) and at least one of status (pending, inprogress, completed, deleted), subject, description (text)
    "#);
}

#[test]
fn errors_of_get_and_list() {
    insta::assert_snapshot!(script(r#"
        TaskGet {}
        TaskGet {"taskid":1}
        TaskGet {"taskid":1,"description":"x"}
        TaskGet 7
        TaskList {"status":"pending"}
        TaskList []
    "#), @r#"
    > TaskGet {}
    error: taskid is missing; accepted: taskid (integer)
    > TaskGet {"taskid":1}
    error: task 1 does not exist; there are no tasks yet, TaskCreate makes one
    > TaskGet {"taskid":1,"description":"x"}
    error: there is no field "description"; accepted: taskid (integer)
    > TaskGet 7
    error: arguments must be an object, not a number; accepted: taskid (integer)
    > TaskList {"status":"pending"}
    error: there is no field "status"; accepted: no fields
    > TaskList []
    error: arguments must be an object, not an array; accepted: no fields
    "#);
}

#[test]
fn values_are_the_same_as_data() {
    let mut fold = TaskFold::default();
    let mut values = Vec::new();
    for (name, arguments) in [
        ("TaskCreate", json!({"subject": "A", "description": "B"})),
        (
            "TaskUpdate",
            json!({"taskid": 1, "status": "inprogress", "activeForm": "Doing A"}),
        ),
        ("TaskGet", json!({"taskid": 1})),
        ("TaskList", json!({})),
    ] {
        let output = run(&mut fold, name, &arguments).unwrap();
        values.push(output.value.unwrap().to_string());
    }
    insta::assert_snapshot!(values.join("\n"), @r#"
    {"task":{"taskid":1,"status":"pending","subject":"A","description":"B"},"counts":{"pending":1,"inprogress":0,"completed":0,"deleted":0}}
    {"task":{"taskid":1,"status":"inprogress","subject":"A","description":"B","active_form":"Doing A"},"counts":{"pending":0,"inprogress":1,"completed":0,"deleted":0}}
    {"task":{"taskid":1,"status":"inprogress","subject":"A","description":"B","active_form":"Doing A"}}
    {"tasks":[{"taskid":1,"status":"inprogress","subject":"A","description":"B","active_form":"Doing A"}],"counts":{"pending":0,"inprogress":1,"completed":0,"deleted":0}}
    "#);
}

#[test]
fn br_043_the_same_bad_call_gives_the_same_error_and_changes_nothing() {
    let mut fold = TaskFold::default();
    run(
        &mut fold,
        "TaskCreate",
        &json!({"subject": "A", "description": ""}),
    )
    .unwrap();
    let before = fold.store().snapshot();
    let bad = json!({"taskid": 1, "status": "done"});
    let first = run(&mut fold, "TaskUpdate", &bad).unwrap_err();
    for _ in 0..4 {
        assert_eq!(run(&mut fold, "TaskUpdate", &bad).unwrap_err(), first);
        assert_eq!(fold.store().snapshot(), before);
    }
}

#[test]
fn br_048_an_id_as_any_output_prints_it_is_an_id_of_every_tool() {
    let mut fold = TaskFold::default();
    let created = run(
        &mut fold,
        "TaskCreate",
        &json!({"subject": "A", "description": ""}),
    )
    .unwrap();
    let listed = run(&mut fold, "TaskList", &json!({})).unwrap();
    let got = run(&mut fold, "TaskGet", &json!({"taskid": 1})).unwrap();
    let mut printed = vec![
        created.value.unwrap()["task"]["taskid"].clone(),
        listed.value.clone().unwrap()["tasks"][0]["taskid"].clone(),
        got.value.clone().unwrap()["task"]["taskid"].clone(),
        serde_json::to_value(fold.store()).unwrap()[0]["taskid"].clone(),
    ];
    for text in [&created.summary, read(&listed), read(&got)] {
        let word = text
            .split_whitespace()
            .find(|word| word.starts_with('#'))
            .unwrap();
        printed.push(json!(word));
    }
    for id in printed {
        run(&mut fold, "TaskGet", &json!({"taskid": id})).unwrap();
        run(
            &mut fold,
            "TaskUpdate",
            &json!({"taskid": id, "status": "completed"}),
        )
        .unwrap();
    }
}

#[test]
fn br_078_a_status_update_shows_the_subject() {
    let shown = script(
        r#"
        TaskCreate {"subject":"A","description":""}
        TaskCreate {"subject":"The second","description":""}
        TaskUpdate {"taskid":2,"status":"completed"}
    "#,
    );
    assert!(shown.contains("#2 [pending -> completed] The second"));
}

#[test]
fn br_075_counts_and_rows_of_one_list_agree_while_the_list_changes() {
    let store = limits_tests::store_of(2, "A", "");
    let update = |status| TaskOperation::Update {
        id: TaskId::new(1),
        status: Some(status),
        subject: None,
        description: None,
        active_form: None,
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..5_000 {
                store.apply(&update(Status::Completed)).unwrap();
                store.apply(&update(Status::Pending)).unwrap();
                std::thread::yield_now();
            }
        });
        for _ in 0..1_000 {
            let output = call(&store, "TaskList", &json!({})).unwrap();
            let value = output.value.clone().unwrap();
            let tasks: Vec<Task> = serde_json::from_value(value["tasks"].clone()).unwrap();
            let recount: Counts = tasks.iter().collect();
            assert_eq!(value["counts"], serde_json::to_value(recount).unwrap());
            assert_eq!(output.summary, recount.to_string());
            assert!(read(&output).starts_with(&output.summary));
        }
    });
}

#[test]
#[ignore = "counted by benches/instructions.sh"]
fn counted_changes_of_the_list() {
    let mut fold = TaskFold::default();
    for number in 1..=1_000 {
        let create = json!({"subject": "Write it", "description": "All of it."});
        run(&mut fold, "TaskCreate", &create).unwrap();
        let update = json!({"taskid": number, "status": "completed"});
        run(&mut fold, "TaskUpdate", &update).unwrap();
    }
    assert_eq!(fold.store().counts().completed, 1_000);
}

#[test]
#[ignore = "counted by benches/instructions.sh"]
fn counted_lists_as_text() {
    let mut fold = TaskFold::default();
    for _ in 0..200 {
        let create = json!({"subject": "Write it", "description": "All of it."});
        run(&mut fold, "TaskCreate", &create).unwrap();
    }
    for _ in 0..50 {
        let output = call(fold.store(), "TaskList", &json!({})).unwrap();
        assert!(output.content.unwrap().len() > 200 * 20);
    }
}
