//! What a model is shown before anything was said: the system prompt and the tools.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use llm::scripted::{Answer, Scripted};
use llm::{Capability, Model};
use pod::{Builder, Pod, SessionStore};

/// The system prompt and the tools of the first request.
async fn shown(set_up: impl FnOnce(Builder) -> Builder) -> String {
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let seen: Arc<Mutex<String>> = Arc::default();
    let shown = Arc::clone(&seen);
    let model = Scripted::from_fn("shown", Capability::default(), move |request| {
        let mut text = format!("{}\n", request.system);
        for tool in request.tools {
            let _ = writeln!(
                text,
                "\n# {}\n{}\n{}",
                tool.name, tool.description, tool.schema
            );
        }
        *shown.lock().unwrap() = text;
        Ok(Answer::text("Done.").into())
    });
    let builder = Pod::builder(Arc::new(model) as Arc<dyn Model>).directory(home.path());
    let mut pod = set_up(builder).start(&store, None).unwrap();
    pod.run("go").outcome().await;
    let home = home.path().canonicalize().unwrap();
    let text = seen.lock().unwrap().clone();
    text.replace(&home.display().to_string(), "WORK")
        .replace(std::env::consts::OS, "OS")
}

#[tokio::test]
async fn the_prompt_and_the_tools() {
    insta::assert_snapshot!(shown(|builder| builder).await);
}

/// BR-032: nothing is said about task tools that are not offered, and nothing that needs both of two
/// when only one is.
#[tokio::test]
async fn br_032_nothing_is_said_about_task_tools_that_are_not_offered() {
    let without = shown(|builder| builder.offer(|name| !name.starts_with("Task"))).await;
    assert!(
        !without.contains("Task") && !without.contains("task list"),
        "{without}"
    );
    let create_only = shown(|builder| builder.offer(|name| name == "TaskCreate")).await;
    assert!(!create_only.contains("inprogress"), "{create_only}");
}

#[tokio::test]
async fn a_prompt_of_the_program_takes_the_place_of_pods_own() {
    let shown = shown(|builder| {
        builder
            .offer(|_| false)
            .system_prompt("You plan.")
            .append_system_prompt("In French.")
    });
    assert_eq!(shown.await, "You plan.\n\nIn French.\n");
}

#[tokio::test]
async fn an_empty_prompt_of_the_program_is_an_empty_prompt() {
    let shown = shown(|builder| builder.offer(|_| false).system_prompt(""));
    assert_eq!(shown.await, "\n");
}
