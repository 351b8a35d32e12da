//! Tools with arguments of any shape: what a model may send.

use std::fs;
use std::os::unix::fs::symlink;

use fuzzing::json::object;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bounded::RESULT_LIMIT;
use crate::fs::testing::Space;
use crate::task::{self, Dialect, TaskFold, TaskStore, todo_write};
use crate::{Bash, Call, Registry, ToolError, ToolOutput};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// The longest text that a result has.
fn longest(result: &Result<ToolOutput, ToolError>) -> usize {
    match result {
        Ok(output) => output
            .content
            .as_ref()
            .map_or(0, String::len)
            .max(output.summary.len()),
        Err(error) => error.message.len(),
    }
}

const TASK_FIELDS: &[&str] = &[
    "taskid",
    "taskId",
    "id",
    "task_id",
    "status",
    "subject",
    "description",
    "activeForm",
    "active_form",
    "todos",
    "content",
    "owner",
    "blockedBy",
];

const TASK_VALUES: &[&str] = &[
    "1",
    "\"1\"",
    "2",
    "3",
    "\"pending\"",
    "\"in_progress\"",
    "\"IN-PROGRESS\"",
    "\"completed\"",
    "\"deleted\"",
    "\"Write the parser\"",
    "\"#1 [deleted] x\\n9 tasks: 9 pending\"",
    "[{\"content\":\"a\",\"status\":\"pending\",\"activeForm\":\"A\"},{\"content\":\"b\",\"status\":\"completed\",\"activeForm\":\"B\"}]",
    "[{\"content\":\"a\",\"status\":\"completed\",\"activeForm\":\"A\"}]",
    "[{\"content\":\"a\"}]",
];

const TASK_TOOLS: [&str; 6] = [
    "TaskCreate",
    "TaskUpdate",
    "TaskUpdate",
    "TaskGet",
    "TaskList",
    todo_write::NAME,
];

/// A call plans and changes nothing; what it accepts the fold accepts, what it refuses the fold does
/// not see; ids are 1, 2, 3, ...; and the log of the calls gives the same list again.
#[test]
fn fuzz_task_arguments() {
    let runtime = runtime();
    let calls = vec(
        (0..TASK_TOOLS.len(), object(TASK_FIELDS, TASK_VALUES)),
        1..8,
    );
    fuzzing::target("task_arguments", (any::<bool>(), calls), |(sdk, calls)| {
        let dialect = if sdk { Dialect::AgentSdk } else { Dialect::Pod };
        let store = TaskStore::default();
        let mut tools = Registry::new();
        for tool in task::all_in(&store, dialect) {
            tools.add(tool);
        }
        tools.add(std::sync::Arc::new(todo_write::TodoWrite::new(
            store.clone(),
        )));
        let mut fold = TaskFold::new(store.clone());
        let mut log = Vec::new();
        for (number, (tool, text)) in calls.into_iter().enumerate() {
            // What is no JSON is answered before it reaches a tool.
            let Ok(arguments) = serde_json::from_str::<Value>(&text) else {
                continue;
            };
            let (id, name) = (format!("call_{number}"), TASK_TOOLS[tool]);
            let before = store.snapshot();
            let call = Call {
                id: &id,
                arguments: &arguments,
            };
            let result = runtime.block_on(tools.get(name).unwrap().call(call));
            prop_assert_eq!(&store.snapshot(), &before, "{} changed the list", name);
            prop_assert!(longest(&result) <= RESULT_LIMIT);
            if let Err(error) = &result {
                prop_assert!(error.message.len() < 300, "{error}");
            }
            fold.call(&id, name, &arguments);
            let folded = fold.result(&id, result.is_err(), None);
            prop_assert!(folded.is_ok(), "{name} accepted, the fold not: {folded:?}");
            let after = store.snapshot();
            if result.is_err() {
                prop_assert_eq!(&after, &before);
            }
            prop_assert!(after.len() >= before.len(), "an entry is gone");
            for (index, task) in after.iter().enumerate() {
                prop_assert_eq!(task.id.number() as usize, index + 1);
            }
            log.push((id, name, arguments, result.is_err()));
        }
        let mut again = TaskFold::default();
        for (id, name, arguments, is_error) in &log {
            again.call(id, name, arguments);
            prop_assert!(again.result(id, *is_error, None).is_ok());
        }
        prop_assert_eq!(again.store().snapshot(), store.snapshot());
        Ok(())
    });
}

const FILE_FIELDS: &[&str] = &[
    "file_path",
    "path",
    "pattern",
    "content",
    "old_string",
    "new_string",
    "replace_all",
    "offset",
    "limit",
    "glob",
    "type",
    "output_mode",
    "head_limit",
    "multiline",
    "-i",
    "-A",
    "command",
    "timeout",
];

const FILE_VALUES: &[&str] = &[
    "\"a.txt\"",
    "\"./sub/../a.txt\"",
    "\"sub/b.txt\"",
    "\"sub\"",
    "\".\"",
    "\"new.txt\"",
    "\"sub/new/deep.txt\"",
    "\"../outside/secret\"",
    "\"sub/../../outside/secret\"",
    "\"link\"",
    "\"link/secret\"",
    "\"dangling\"",
    "\"loop\"",
    "\"pipe\"",
    "\"hard\"",
    "\"line\\nbreak\"",
    "\"~\"",
    "\"~/.ssh/id_ed25519\"",
    "\"/etc/passwd\"",
    "\"/proc/self/environ\"",
    "\"/dev/zero\"",
    "\"a.txt/x\"",
    "\"alpha\"",
    "\"**/*\"",
    "\"**/../**/secret\"",
    "\"{a,b\"",
    "\"[\"",
    "\"(\"",
    "\".*\"",
    "\"(?s).*\"",
    "\"(a|b|ab)*c\"",
    "\"content\"",
    "\"count\"",
    "\"files_with_matches\"",
];

const FILE_TOOLS: [&str; 6] = ["Read", "Write", "Edit", "Glob", "Grep", "Read"];

const SECRET: &str = "what nobody inside may see";

fn space() -> Space {
    let space = Space::new();
    space.file("a.txt", "alpha\nbeta\ngamma\n");
    space.file("sub/b.txt", "alpha\r\n\u{fffd}\0beta");
    space.file("line\nbreak", "alpha");
    fs::write(space.outside("secret"), SECRET).unwrap();
    symlink(space.outside(""), space.path("link")).unwrap();
    symlink(space.outside("new"), space.path("dangling")).unwrap();
    symlink("loop", space.path("loop")).unwrap();
    space.pipe("pipe");
    space
}

/// Whatever is asked for, nothing outside of the scope is seen or changed, nothing waits for ever,
/// results are bounded, errors are short, and no half-made file stays.
#[test]
fn fuzz_file_arguments() {
    let runtime = runtime();
    let calls = vec(
        (0..FILE_TOOLS.len(), object(FILE_FIELDS, FILE_VALUES)),
        1..6,
    );
    // One directory for many executions: to make one takes longer than all the rest.
    let used = std::cell::RefCell::new((0_u32, space()));
    fuzzing::target("file_arguments", calls, |calls| {
        let (count, space) = &mut *used.borrow_mut();
        *count += 1;
        if count.is_multiple_of(500) {
            *space = self::space();
        }
        let mut tools = Registry::new();
        for tool in crate::fs::all(&space.scope, &space.tracker) {
            tools.add(tool);
        }
        for (tool, text) in calls {
            let Ok(arguments) = serde_json::from_str::<Value>(&text) else {
                continue;
            };
            let call = Call {
                id: "call_1",
                arguments: &arguments,
            };
            let tool = tools.get(FILE_TOOLS[tool]).unwrap();
            let result = runtime.block_on(tool.call(call));
            prop_assert!(longest(&result) <= RESULT_LIMIT);
            let said = format!("{result:?}");
            prop_assert!(!said.contains(SECRET), "{} {}: {}", tool.name(), text, said);
            if let Err(error) = &result {
                prop_assert!(error.message.len() < 300, "{error}");
                prop_assert!(!error.message.is_empty());
            }
        }
        prop_assert_eq!(names(space, "../outside"), ["secret"]);
        prop_assert_eq!(
            &fs::read(space.outside("secret")).unwrap(),
            SECRET.as_bytes()
        );
        let left = names(space, "")
            .into_iter()
            .find(|it| it.starts_with(".pod-"));
        prop_assert_eq!(left, None);
        Ok(())
    });
}

fn names(space: &Space, directory: &str) -> Vec<String> {
    let entries = fs::read_dir(space.path(directory)).unwrap();
    entries
        .map(|it| it.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// The command that permission rules are asked about is the one that would run, or there is none.
#[test]
fn fuzz_bash_arguments() {
    use crate::Tool as _;

    let space = Space::new();
    let tool = Bash::new(space.scope.clone());
    let fields = &["command", "timeout", "description", "run_in_background"];
    let values = &[
        "\"ls -l\"",
        "\"\"",
        "\" \"",
        "\"a\\u0000b\"",
        "600000",
        "600001",
    ];
    fuzzing::target("bash_arguments", object(fields, values), |text| {
        let Ok(arguments) = serde_json::from_str::<Value>(&text) else {
            return Ok(());
        };
        if let Some(command) = tool.target(&arguments) {
            prop_assert!(!command.trim().is_empty() && !command.contains('\0'));
            let plain = match &arguments {
                Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
                other => other.clone(),
            };
            prop_assert_eq!(json!(command), plain["command"].clone());
        }
        Ok(())
    });
}
