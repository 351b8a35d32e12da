//! Many sessions at once, many processes on one store, and one session that is very long.
//!
//! Small versions run with the suite; `POD_LOAD=full` makes them as large as `docs/reliability.md` says
//! and prints figures.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Instant;

use llm::scripted::{Answer, Scripted};
use llm::{Capability, Model};
use pod::{CompactLimits, Pod, SessionStore, Status, Threshold};
use serde_json::{Value, json};
use testkit::future::yield_once;
use testkit::laws::{check_session, is_workers, session_info};
use testkit::tools::FakeTool;

use crate::program::World;

fn is_full() -> bool {
    std::env::var("POD_LOAD").is_ok_and(|it| it == "full")
}

/// The memory of this process in KiB: now, and at most (proc(5)). Known on Linux only.
fn memory() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

/// A model that works through twelve tasks in a run, under the name of its session.
fn worker(name: String) -> Arc<dyn Model> {
    let capability = Capability {
        context_window: 20_000,
        ..Capability::default()
    };
    let mut made = 0;
    let model = Scripted::from_fn("many", capability, move |request| {
        if is_workers(request) {
            let summary = json!({"text": "It goes on."});
            return Ok(Answer::empty().call("write_summary", &summary).into());
        }
        made += 1;
        let create = json!({"subject": format!("{name}, task {made}"), "description": "d"});
        let update = json!({"taskid": made, "status": "completed"});
        let answer = match made {
            1..=12 => Answer::text("On.")
                .call("TaskCreate", &create)
                .call("TaskUpdate", &update)
                .call(
                    "Look",
                    &json!({"text": "words ", "times": 600, "wait": made % 3}),
                ),
            _ => Answer::text("Done."),
        };
        Ok(answer.into())
    });
    Arc::new(model)
}

/// Sessions that all work at once in one process never see each other.
#[test]
fn br_033_many_sessions_at_once_in_one_process() {
    let count = if is_full() { 200 } else { 20 };
    let begin = Instant::now();
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let before = memory();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let pods = runtime.block_on(async {
        let gate = Arc::new(tokio::sync::Barrier::new(count));
        let mut runs = tokio::task::JoinSet::new();
        for number in 0..count {
            let (store, gate) = (store.clone(), Arc::clone(&gate));
            let directory = home.path().to_owned();
            runs.spawn(async move {
                let builder = Pod::builder(worker(format!("session {number}")))
                    .directory(directory)
                    .compact_limits(CompactLimits {
                        between_requests: Threshold::Tokens(9_000),
                        ..CompactLimits::default()
                    });
                let tools = FakeTool::all(|_| {});
                let builder = tools.into_iter().fold(builder, pod::Builder::tool);
                let mut pod = builder.start(&store, None).unwrap();
                // None begins before all are there.
                gate.wait().await;
                let mut run = pod.run("go");
                while run.next().await.is_some() {
                    yield_once().await;
                }
                let outcome = run.outcome().await;
                assert!(matches!(outcome.status, Status::Completed), "{outcome:?}");
                drop(run);
                (number, pod)
            });
        }
        runs.join_all().await
    });
    let after = memory();
    let worked = begin.elapsed();
    let mut segments = 0;
    for (number, pod) in &pods {
        let tasks = pod.tasks().snapshot();
        assert_eq!(tasks.len(), 12);
        for (task, id) in tasks.iter().zip(1..) {
            assert_eq!(task.id.number(), id);
            assert_eq!(task.subject, format!("session {number}, task {id}"));
            assert_eq!(task.status.as_str(), "completed");
        }
        check_session(pod, &store);
        segments += session_info(pod, &store).segment;
    }
    assert!(segments as usize > count, "none was compacted");
    assert_eq!(store.list_all().unwrap().len(), count);
    if let (Some((before, _)), Some((after, peak))) = (before, after) {
        println!(
            "{count} sessions at once: {:.1} s, {segments} segments, {} KiB a session, at most {} MiB",
            worked.as_secs_f64(),
            after.saturating_sub(before) / count as u64,
            peak / 1024
        );
    }
}

/// Processes that share a store, some of them one session.
#[test]
fn br_058_br_119_many_processes_at_once_on_one_store() {
    let count = if is_full() { 50 } else { 8 };
    let begin = Instant::now();
    let world = World::new();
    world.write(
        "script.txt",
        "delay: 2ms\nassistant: I plan.\n  > TaskCreate {\"subject\":\"a\",\"description\":\"d\"}\n  > TaskCreate {\"subject\":\"b\",\"description\":\"d\"}\nassistant:\n  > TaskUpdate {\"taskid\":1,\"status\":\"completed\"}\n  > TaskList {}\nassistant: Planned.\nassistant: More.\nassistant: More.\nassistant: More.\n",
    );
    let start = |arguments: &[&str]| -> Child {
        let mut command = world.command(arguments);
        command.args(["--model", "scripted:script.txt"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let children: Vec<Child> = (0..count).map(|_| start(&["-p", "go"])).collect();
    // Looking never waits for those who work.
    let _ = world.pod(&["sessions"]).success();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert_eq!(output.stdout, b"Planned.\n", "{stderr}");
    }
    let apart = begin.elapsed();

    let listed = world.pod(&["sessions", "--json"]).success();
    let sessions: Vec<Value> = listed
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    assert_eq!(sessions.len(), count);
    let mut ids: Vec<&str> = sessions
        .iter()
        .map(|it| it["session"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    for id in &ids {
        let shown = world.pod(&["tasks", id, "--json"]).success();
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let statuses: Vec<&str> = shown["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| task["status"].as_str().unwrap())
            .collect();
        assert_eq!(statuses, ["completed", "pending"]);
        let _ = world.pod(&["verify", id]).success();
    }

    // All of them on one session: one at a time works, and the others are told whom to wait for.
    let one = ids[0];
    let begin = Instant::now();
    let children: Vec<Child> = (0..count)
        .map(|_| start(&["--resume", one, "-p", "go on"]))
        .collect();
    let mut worked = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => worked += 1,
            _ if stderr.contains("is in use (pid") => {
                assert_eq!(stderr.lines().count(), 1, "{stderr}");
            }
            // The script has three more answers.
            _ => assert!(stderr.contains("script"), "{stderr}"),
        }
    }
    assert!(worked > 0);
    let _ = world.pod(&["verify", one]).success();
    println!(
        "{count} processes on one store: {:.1} s; on one session: {:.1} s, {worked} worked, the others were told who did",
        apart.as_secs_f64(),
        begin.elapsed().as_secs_f64()
    );
}

/// The calls of a very long session: so many tasks, and updates of them until there are so many items.
fn long_model(items: usize, tasks: usize) -> Arc<dyn Model> {
    // Nothing is compacted by itself.
    let capability = Capability {
        context_window: u32::MAX,
        ..Capability::default()
    };
    let mut made = 0;
    let model = Scripted::from_fn("long", capability, move |request| {
        if is_workers(request) {
            let summary = json!({"text": "It was long."});
            return Ok(Answer::empty().call("write_summary", &summary).into());
        }
        let said = request.conversation.items().len();
        if made >= tasks && said >= items {
            return Ok(Answer::text("Done.").into());
        }
        let mut answer = Answer::empty();
        for _ in 0..100 {
            made += 1;
            let create =
                json!({"subject": format!("task {made}"), "description": "What it is about."});
            let statuses = ["inprogress", "completed"];
            let update = json!({"taskid": made % tasks + 1, "status": statuses[made / tasks % 2]});
            answer = if made <= tasks {
                answer.call("TaskCreate", &create)
            } else {
                answer.call("TaskUpdate", &update)
            };
        }
        Ok(answer.into())
    });
    Arc::new(model)
}

#[test]
fn br_117_br_121_a_session_of_many_items_and_tasks_opens_works_and_compacts() {
    let (items, tasks) = if is_full() {
        (100_000, 10_000)
    } else {
        (5_000, 500)
    };
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.unwrap();
    let builder = || Pod::builder(long_model(items, tasks)).directory(home.path());
    let time = |begin: Instant| begin.elapsed().as_secs_f64();

    let begin = Instant::now();
    let mut pod = builder().start(&store, None).unwrap();
    let outcome = runtime.block_on(pod.run("go").outcome());
    assert!(matches!(outcome.status, Status::Completed), "{outcome:?}");
    let made = time(begin);
    let before = pod.tasks().snapshot();
    assert_eq!(before.len(), tasks);
    assert!(pod.entries().len() >= items, "{}", pod.entries().len());
    let info = session_info(&pod, &store);
    drop(pod);
    let size = std::fs::metadata(info.newest_segment()).unwrap().len();

    let base = memory();
    let begin = Instant::now();
    let mut pod = builder().resume(&store, &info, false).unwrap();
    let opened = time(begin);
    let open = memory();
    assert_eq!(pod.tasks().snapshot(), before);

    let begin = Instant::now();
    let outcome = runtime.block_on(pod.run("go on").outcome());
    assert!(matches!(outcome.status, Status::Completed), "{outcome:?}");
    let worked = time(begin);

    let before = pod.tasks().snapshot();
    let begin = Instant::now();
    let outcome = runtime.block_on(pod.compact().outcome());
    assert!(matches!(outcome.status, Status::Completed), "{outcome:?}");
    let compacted = time(begin);
    assert_eq!(pod.tasks().snapshot(), before);
    assert!(pod.entries().len() < items / 2, "{}", pod.entries().len());

    let outcome = runtime.block_on(pod.run("go on").outcome());
    assert!(matches!(outcome.status, Status::Completed), "{outcome:?}");
    let info = session_info(&pod, &store);
    let after = pod.tasks().snapshot();
    drop(pod);
    let begin = Instant::now();
    let pod = builder().resume(&store, &info, false).unwrap();
    let reopened = time(begin);
    assert_eq!(pod.tasks().snapshot(), after);
    let begin = Instant::now();
    check_session(&pod, &store);
    let verified = time(begin);
    println!(
        "{items} items, {tasks} tasks, {} MB: made in {made:.1} s, opened in {opened:.2} s, one run {worked:.2} s, compacted in {compacted:.2} s, opened again in {reopened:.2} s, verified in {verified:.1} s",
        size / 1_000_000
    );
    if let (Some((base, _)), Some((open, peak))) = (base, open) {
        println!(
            "  memory: {} MiB more when opened, {} MiB at most",
            open.saturating_sub(base) / 1024,
            peak / 1024
        );
    }
}
