//! A run that ends at every place at which it can end: dropped, or interrupted, after each poll.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use llm::scripted::{Answer, Scripted};
use llm::{AssistantMessage, Capability, Item, Model, Request};
use pod::hook::HookCall;
use pod::permission::{self, Question};
use pod::{Approver, Event, Hook, Pod, SessionStore, Status, hook};
use serde_json::json;
use testkit::future::{poll_run, yield_once};
use testkit::laws::{Witness, check_session, session_info};
use testkit::tools::FakeTool;

/// Calls of every kind, in two messages, then an answer; whatever came of them before.
fn answer(request: &Request<'_>) -> AssistantMessage {
    let create = |subject: &str| json!({"subject": subject, "description": ""});
    let said = request.conversation.items().iter();
    let answers = said.filter(|item| matches!(***item, Item::Assistant(_)));
    match answers.count() {
        0 => Answer::text("Go.")
            .call("TaskCreate", &create("a"))
            .call("Look", &json!({"text": "one", "wait": 3}))
            .call("TaskCreate", &create("b"))
            .call("Act", &json!({"text": "two", "wait": 2}))
            .call("TaskUpdate", &json!({"taskid": 1, "status": "completed"})),
        1 => Answer::empty()
            .call("Look", &json!({"text": "three", "wait": 1}))
            .call("Look", &json!({"text": "four", "wait": 2}))
            .call("Change", &json!({"text": "five"}))
            .call("TaskCreate", &create("c")),
        _ => Answer::text("Done."),
    }
    .into()
}

/// A hook and a person that take their time.
struct Slow;

#[async_trait::async_trait]
impl Hook for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    async fn before_tool(&self, _: HookCall<'_>) -> hook::Before {
        yield_once().await;
        hook::Before::Continue
    }

    async fn after_tool(&self, _: HookCall<'_>, _: &llm::ToolResult) -> hook::After {
        yield_once().await;
        hook::After::Keep
    }
}

#[async_trait::async_trait]
impl Approver for Slow {
    async fn ask(&self, _: Question<'_>) -> permission::Answer {
        yield_once().await;
        permission::Answer::Allow {
            changed_arguments: None,
        }
    }
}

/// How a run is ended early.
#[derive(Clone, Copy, Debug)]
enum Way {
    Dropped,
    Interrupted,
}

/// Ends a run early at its `polls`-th poll, goes on, and comes back. Gives whether the run was over
/// by then.
fn end_at(polls: usize, way: Way) -> bool {
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let begun: Arc<Mutex<HashMap<String, u32>>> = Arc::default();
    let model = Scripted::from_fn("all", Capability::default(), |request| Ok(answer(request)));
    let witness = Arc::new(Witness::new(Arc::new(model)));
    let builder = || {
        let begun = Arc::clone(&begun);
        let count = move |line: String| {
            if let Some(call) = line.strip_suffix(" begins") {
                *begun.lock().unwrap().entry(call.to_owned()).or_default() += 1;
            }
        };
        let builder = Pod::builder(Arc::clone(&witness) as Arc<dyn Model>)
            .directory(home.path())
            .hook(Arc::new(Slow))
            .approver(Arc::new(Slow));
        let tools = FakeTool::all(count);
        tools.into_iter().fold(builder, pod::Builder::tool)
    };
    let mut pod = builder().start(&store, None).unwrap();
    let handle = pod.handle();

    let mut told = Vec::new();
    let mut tell = |event: &Event| {
        if let Event::Entry(entry) = event {
            told.push(entry.id);
        }
    };
    let mut run = pod.run("go");
    let over = poll_run(&mut run, polls, &mut tell);
    if matches!(way, Way::Interrupted) {
        handle.interrupt();
        assert!(poll_run(&mut run, usize::MAX, &mut tell));
    }
    drop(run);
    let entries: Vec<_> = pod.entries().iter().map(|entry| entry.id).collect();
    assert_eq!(told, entries, "{polls}");
    check_session(&pod, &store);

    let mut completed = false;
    let mut run = pod.run("go on");
    poll_run(&mut run, usize::MAX, |event| {
        if let Event::Finished(outcome) = event {
            completed = matches!(outcome.status, Status::Completed);
        }
    });
    drop(run);
    assert!(completed, "{polls}");
    check_session(&pod, &store);

    let tasks = pod.tasks().snapshot();
    let info = session_info(&pod, &store);
    drop(pod);
    let pod = builder().resume(&store, &info, false).unwrap();
    assert_eq!(pod.tasks().snapshot(), tasks, "{polls}");
    check_session(&pod, &store);
    let begun = begun.lock().unwrap();
    assert!(
        begun.values().all(|times| *times == 1),
        "{polls}: {begun:?}"
    );
    over
}

#[track_caller]
fn end_at_every_poll(way: Way) {
    let polls = (0..10_000).find(|polls| end_at(*polls, way)).unwrap();
    assert!(
        polls > 30,
        "a run that polls only {polls} times proves little"
    );
}

#[test]
fn a_run_can_be_dropped_at_every_poll() {
    end_at_every_poll(Way::Dropped);
}

#[test]
fn a_run_can_be_interrupted_at_every_poll() {
    end_at_every_poll(Way::Interrupted);
}
