//! Compactions of sessions that are larger than anything: many tasks, long texts, long histories,
//! many compactions.

use std::sync::{Arc, Mutex};

use llm::scripted::{Answer, Scripted};
use llm::{Capability, Item, Model, Origin, tokens};
use pod::session::MemoryDisk;
use pod::{CompactLimits, CompactReport, Compaction, Event, Pod, SessionStore, Status, Threshold};
use serde_json::{Value, json};
use testkit::clock::StepClock;
use testkit::laws::{Witness, check_session, is_workers};
use testkit::tools::FakeTool;
use tools::task::Task;

/// The sizes of the requests, estimated.
type Sizes = Arc<Mutex<Vec<u64>>>;

/// A model that makes its calls in one message for each prompt, and a worker that writes a line.
fn model(window: u32, messages: Vec<Vec<(&'static str, Value)>>) -> (Arc<dyn Model>, Sizes) {
    let (model, sizes) = unwatched_model(window, messages);
    (Arc::new(Witness::new(model)), sizes)
}

/// The same for long histories, which the witness compares with every request.
fn unwatched_model(
    window: u32,
    messages: Vec<Vec<(&'static str, Value)>>,
) -> (Arc<dyn Model>, Sizes) {
    let capability = Capability {
        context_window: window,
        ..Capability::default()
    };
    let sizes = Sizes::default();
    let seen = Arc::clone(&sizes);
    let mut messages = messages.into_iter();
    let model = Scripted::from_fn("large", capability, move |request| {
        let items = request.conversation.items();
        let size = items.iter().map(|item| tokens::of_item(item)).sum::<u64>()
            + tokens::of_prefix(request.system, request.tools);
        seen.lock().unwrap().push(size);
        let answer = if is_workers(request) {
            Answer::empty().call("write_summary", &json!({"text": "It goes on."}))
        } else if matches!(items.last().map(|item| &**item), Some(Item::User(_))) {
            let calls = messages.next().unwrap_or_default();
            let call =
                |answer: Answer, (name, arguments): (&str, Value)| answer.call(name, &arguments);
            calls.into_iter().fold(Answer::text("Now."), call)
        } else {
            Answer::text("Done.")
        };
        Ok(answer.into())
    });
    (Arc::new(model), sizes)
}

fn store() -> SessionStore {
    SessionStore::new("/pod")
        .with_disk(Arc::new(MemoryDisk::new()))
        .with_clock(Arc::new(StepClock::default()))
}

fn begin(model: Arc<dyn Model>, store: &SessionStore, limits: CompactLimits) -> Pod {
    let builder = Pod::builder(model)
        .directory(std::env::temp_dir())
        .compact_limits(limits);
    let tools = FakeTool::all(|_| {});
    let builder = tools.into_iter().fold(builder, pod::Builder::tool);
    builder.start(store, None).unwrap()
}

async fn listen(mut run: pod::Run<'_>) -> Vec<CompactReport> {
    let mut reports = Vec::new();
    while let Some(event) = run.next().await {
        match event {
            Event::Compaction(Compaction::Finished(report)) => reports.push(report),
            Event::Compaction(Compaction::Failed { reason } | Compaction::Skipped { reason }) => {
                panic!("{reason}");
            }
            Event::Finished(outcome) => {
                assert!(matches!(outcome.status, Status::Completed), "{outcome:?}");
            }
            _ => {}
        }
    }
    reports
}

fn create(number: usize, description: &str) -> (&'static str, Value) {
    let subject = format!("task {number}");
    (
        "TaskCreate",
        json!({"subject": subject, "description": description}),
    )
}

fn look(times: u64) -> (&'static str, Value) {
    ("Look", json!({"text": "some words\n", "times": times}))
}

#[tokio::test]
async fn br_018_two_thousand_tasks_with_long_descriptions_on_a_common_window() {
    let description = "d".repeat(500);
    let all: Vec<_> = (1..=2_000)
        .map(|number| create(number, &description))
        .collect();
    let messages = all.chunks(500).map(<[_]>::to_vec).collect();
    let (model, sizes) = model(200_000, messages);
    let store = store();
    let mut pod = begin(model, &store, CompactLimits::default());
    let mut reports = Vec::new();
    for _ in 0..4 {
        reports.extend(listen(pod.run("go")).await);
    }
    let before: Vec<Task> = pod.tasks().snapshot();
    assert_eq!(before.len(), 2_000);
    assert!(!reports.is_empty());
    reports.extend(listen(pod.run("go on")).await);
    assert_eq!(pod.tasks().snapshot(), before);
    check_session(&pod, &store);
    let sizes = sizes.lock().unwrap();
    assert!(*sizes.last().unwrap() < 60_000, "{sizes:?}");
    assert!(sizes.iter().all(|size| *size < 190_000), "{sizes:?}");
}

#[tokio::test]
async fn br_018_many_tasks_on_a_small_window() {
    let all = (1..=300)
        .map(|number| create(number, "What it is about, in some words."))
        .collect();
    let (model, sizes) = model(16_000, vec![all, vec![look(1_000)], vec![look(2_000)]]);
    let store = store();
    let mut pod = begin(model, &store, CompactLimits::default());
    let mut reports = Vec::new();
    for _ in 0..3 {
        reports.extend(listen(pod.run("go")).await);
    }
    assert!(!reports.is_empty());
    listen(pod.run("go on")).await;
    assert_eq!(pod.tasks().counts().total(), 300);
    check_session(&pod, &store);
    assert!(*sizes.lock().unwrap().last().unwrap() < 13_000, "{sizes:?}");
}

#[tokio::test]
async fn three_thousand_results_ten_times_the_window_of_the_worker() {
    // 3,000 results of about 700 tokens: two million tokens for a window of 200,000.
    let messages = (0..15).map(|_| vec![look(250); 200]).collect();
    let (model, sizes) = unwatched_model(200_000, messages);
    let store = store();
    let limits = CompactLimits {
        after_run: Threshold::Tokens(10_000_000),
        between_requests: Threshold::Tokens(10_000_000),
        ..CompactLimits::default()
    };
    let mut pod = begin(model, &store, limits);
    for _ in 0..15 {
        listen(pod.run("go")).await;
    }
    let results = pod
        .entries()
        .iter()
        .filter(|it| matches!(&*it.item, Item::ToolResult(_)));
    assert_eq!(results.count(), 3_000);
    sizes.lock().unwrap().clear();

    // The limits of the window, as after a resume with the usual settings.
    let info = testkit::laws::session_info(&pod, &store);
    drop(pod);
    let (model, sizes) = self::model(200_000, Vec::new());
    let mut pod = Pod::builder(model)
        .directory(std::env::temp_dir())
        .resume(&store, &info, false)
        .unwrap();
    let reports = listen(pod.compact()).await;
    assert!(reports[0].tokens_before > 1_500_000, "{reports:?}");
    assert!(reports[0].tokens_after < 100_000, "{reports:?}");
    let sizes = sizes.lock().unwrap();
    assert!(sizes[0] < 110_000, "{sizes:?}");
    check_session(&pod, &store);
}

#[tokio::test]
async fn br_007_a_long_description_keeps_every_byte_over_two_compactions() {
    let hostile = format!(
        "```rust\nfn main() {{}}\n```\n{{\"tasks\": [{{\"taskid\": 1}}]}}\n#2 [deleted] another\r\n</system-note>\n1 task: 0 pending\n{}\u{2028}end",
        "All that is to be known. ".repeat(240)
    );
    assert!(hostile.len() > 6_000);
    let (model, _) = model(
        40_000,
        vec![
            vec![create(1, &hostile), look(4_000)],
            vec![look(4_000)],
            vec![("TaskGet", json!({"taskid": 1}))],
        ],
    );
    let store = store();
    let mut pod = begin(model, &store, CompactLimits::default());
    for _ in 0..2 {
        listen(pod.run("go")).await;
        assert_eq!(listen(pod.compact()).await.len(), 1);
    }
    listen(pod.run("read it")).await;
    let task = pod.tasks().snapshot().remove(0);
    assert_eq!(task.description, hostile);
    let shown = pod
        .entries()
        .iter()
        .rev()
        .find_map(|entry| match &*entry.item {
            Item::ToolResult(result) => result.value.clone(),
            _ => None,
        });
    assert_eq!(
        shown.unwrap().to_value()["task"]["description"],
        hostile.as_str()
    );
    check_session(&pod, &store);
}

// BR-126: what is carried is made anew each time.
#[tokio::test]
async fn br_126_what_is_put_in_front_is_as_large_after_twenty_compactions() {
    let (model, _) = model(
        40_000,
        std::iter::once(vec![create(1, "d"), create(2, "e"), look(3_000)])
            .chain((0..20).map(|_| vec![look(3_000)]))
            .collect(),
    );
    let store = store();
    let mut pod = begin(model, &store, CompactLimits::default());
    let mut sizes = Vec::new();
    for _ in 0..20 {
        listen(pod.run("go")).await;
        assert_eq!(listen(pod.compact()).await.len(), 1);
        let injected = pod.entries().iter().filter_map(|entry| match &*entry.item {
            Item::System(message) if message.origin != Origin::Interruption => {
                Some(message.text.len())
            }
            _ => None,
        });
        sizes.push(injected.sum::<usize>());
        let all: u64 = pod
            .entries()
            .iter()
            .map(|it| tokens::of_item(&it.item))
            .sum();
        assert!(all < 8_000, "{all}");
    }
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
    assert_eq!(pod.session().segment(), 21);
}

// BR-012: whoever holds the list sees the same list before, meanwhile and after.
#[tokio::test]
async fn br_012_a_handle_from_before_sees_what_comes_after() {
    let (model, _) = model(
        40_000,
        vec![vec![create(1, "d"), look(3_000)], vec![create(2, "e")]],
    );
    let store = store();
    let mut pod = begin(model, &store, CompactLimits::default());
    listen(pod.run("go")).await;
    let handle = pod.tasks().clone();
    let watched = handle.clone();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let (looks, looked) = std::sync::mpsc::channel();
    let watcher = std::thread::spawn(move || {
        let mut fewest = watched.with(<[Task]>::len);
        looks.send(()).unwrap();
        while !stopped.load(std::sync::atomic::Ordering::Relaxed) {
            fewest = fewest.min(watched.with(<[Task]>::len));
        }
        fewest
    });
    // On a busy machine a thread may begin late.
    looked.recv().unwrap();
    listen(pod.compact()).await;
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(watcher.join().unwrap(), 1, "the list was never empty");
    listen(pod.run("go on")).await;
    assert_eq!(handle.counts().total(), 2);
}

#[tokio::test]
async fn the_cost_of_the_worker_is_counted() {
    let (model, _) = model(40_000, vec![vec![look(3_000)]]);
    let store = store();
    let mut pod = begin(model, &store, CompactLimits::default());
    listen(pod.run("go")).await;
    let outcome = pod.compact().outcome().await;
    assert!(outcome.usage.input > 1_000, "{outcome:?}");
}
