//! A compaction that ends at every place at which it can end: at each poll, and at each thing that
//! the file system is asked to do. The session opens, with the old or the new state, and goes on.

use std::sync::Arc;

use llm::scripted::{Answer, Scripted};
use llm::{Capability, Item, Model, Origin};
use pod::hook::HookCall;
use pod::session::MemoryDisk;
use pod::{Builder, Event, Hook, Pod, SessionStore, Status, hook};
use serde_json::json;
use testkit::clock::StepClock;
use testkit::faulty_disk::{EIO, ENOSPC, Fault, FaultyDisk};
use testkit::future::{poll_run, yield_once};
use testkit::laws::{Witness, check_session, is_workers, session_info};
use testkit::tools::FakeTool;
use tools::task::Task;

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

fn model() -> Witness {
    let capability = Capability {
        context_window: 20_000,
        ..Capability::default()
    };
    let model = Scripted::from_fn("all", capability, |request| {
        let items = request.conversation.items();
        let answer = if is_workers(request) {
            Answer::empty().call("write_summary", &json!({"text": "Two tasks stand."}))
        } else if items.len() == 1 {
            Answer::empty()
                .call(
                    "TaskCreate",
                    &json!({"subject": "a", "description": "first"}),
                )
                .call(
                    "TaskCreate",
                    &json!({"subject": "b", "description": "second"}),
                )
                .call("TaskUpdate", &json!({"taskid": 1, "status": "completed"}))
                .call("Look", &json!({"text": "words ", "times": 3_000}))
        } else {
            Answer::text("Done.")
        };
        Ok(answer.into())
    });
    Witness::new(Arc::new(model))
}

/// A session with two tasks and a history that is worth a compaction.
struct Large {
    disk: FaultyDisk,
    store: SessionStore,
    work: tempfile::TempDir,
    pod: Option<Pod>,
    tasks: Vec<Task>,
    runtime: tokio::runtime::Runtime,
}

impl Large {
    fn new() -> Self {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
        let store = SessionStore::new("/pod")
            .with_disk(Arc::new(disk.clone()))
            .with_clock(Arc::new(StepClock::default()));
        let work = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let mut large = Self {
            disk,
            store,
            work,
            pod: None,
            tasks: Vec::new(),
            runtime: runtime.unwrap(),
        };
        let mut pod = large.builder().start(&large.store, None).unwrap();
        assert!(matches!(
            large.runtime.block_on(pod.run("go").outcome()).status,
            Status::Completed
        ));
        large.tasks = pod.tasks().snapshot();
        assert_eq!(large.tasks.len(), 2);
        large.pod = Some(pod);
        large
    }

    fn builder(&self) -> Builder {
        let builder = Pod::builder(Arc::new(model()) as Arc<dyn Model>)
            .directory(self.work.path())
            .hook(Arc::new(Slow));
        FakeTool::all(|_| {})
            .into_iter()
            .fold(builder, Builder::tool)
    }

    /// Compacts, at most for so many polls. Gives the outcome if it came to one.
    fn compact(&mut self, polls: usize, interrupted: bool) -> Option<Status> {
        let _guard = self.runtime.enter();
        let mut status = None;
        let mut tell = |event: &Event| {
            if let Event::Finished(outcome) = event {
                status = Some(match &outcome.status {
                    Status::Completed => Status::Completed,
                    Status::Interrupted => Status::Interrupted,
                    _ => Status::MaxTurns,
                });
            }
        };
        let pod = self.pod.as_mut().unwrap();
        let handle = pod.handle();
        let mut run = pod.compact();
        poll_run(&mut run, polls, &mut tell);
        if interrupted {
            handle.interrupt();
            assert!(poll_run(&mut run, usize::MAX, &mut tell));
        }
        drop(run);
        status
    }

    fn is_compacted(&self) -> bool {
        let first = self.pod.as_ref().unwrap().entries().first();
        first.is_some_and(|entry| {
            matches!(&*entry.item, Item::System(message) if message.origin == Origin::Summary)
        })
    }

    /// That the list is whole in memory, and that a run goes on.
    fn goes_on(&mut self, place: &str) {
        let pod = self.pod.as_mut().unwrap();
        assert_eq!(pod.tasks().snapshot(), self.tasks, "{place}");
        check_session(pod, &self.store);
        let outcome = self.runtime.block_on(pod.run("go on").outcome());
        assert!(
            matches!(outcome.status, Status::Completed),
            "{place}: {outcome:?}"
        );
        assert_eq!(pod.tasks().snapshot(), self.tasks, "{place}");
        check_session(pod, &self.store);
    }

    fn resume(&mut self) {
        let info = session_info(self.pod.as_ref().unwrap(), &self.store);
        self.pod = None;
        self.pod = Some(self.builder().resume(&self.store, &info, false).unwrap());
    }
}

#[test]
fn br_130_ended_at_every_poll_it_leaves_the_old_or_the_new_state() {
    for interrupted in [false, true] {
        let mut seen = (0, 0);
        for polls in 0.. {
            let mut large = Large::new();
            let status = large.compact(polls, interrupted);
            let place = format!("poll {polls}, interrupted: {interrupted}");
            assert_eq!(
                large.pod.as_ref().unwrap().tasks().snapshot(),
                large.tasks,
                "{place}"
            );
            check_session(large.pod.as_ref().unwrap(), &large.store);
            if large.is_compacted() {
                seen.1 += 1;
            } else {
                seen.0 += 1;
            }
            // In the same process, and in another one.
            if polls % 2 == 0 {
                large.resume();
            }
            large.goes_on(&place);
            if matches!(status, Some(Status::Completed)) {
                break;
            }
        }
        assert!(seen.0 >= 3 && seen.1 >= 3, "{seen:?}");
    }
}

#[test]
fn a_disk_that_fails_at_any_moment_leaves_the_old_or_the_new_state() {
    let faults = [
        Fault::Fail(ENOSPC),
        Fault::Short,
        Fault::Torn(ENOSPC),
        Fault::DoneButFailed(EIO),
        Fault::FailFromNowOn(EIO),
        Fault::Stop,
    ];
    for fault in faults {
        let mut seen = (0, 0);
        for nth in 0.. {
            let mut large = Large::new();
            large.disk.fail_nth(large.disk.count() + nth, fault);
            large.compact(usize::MAX, false);
            let place = format!("operation {nth}, {fault:?}");
            let is_over = !large.disk.has_failed();
            assert_eq!(
                large.pod.as_ref().unwrap().tasks().snapshot(),
                large.tasks,
                "{place}"
            );

            // The next process, on a disk that works again.
            let path = large.pod.as_ref().unwrap().session().path().to_owned();
            large.pod = None;
            large.disk.heal();
            let info = large.store.find(path.to_str().unwrap()).unwrap();
            let resumed = large.builder().resume(&large.store, &info, false);
            large.pod = Some(resumed.unwrap_or_else(|error| panic!("{place}: {error}")));
            if large.is_compacted() {
                seen.1 += 1;
            } else {
                seen.0 += 1;
            }
            large.goes_on(&place);
            if is_over {
                break;
            }
        }
        assert!(seen.1 > 0, "{fault:?}: {seen:?}");
    }
}

#[test]
fn a_disk_without_room_for_the_new_segment_fails_the_compaction_and_not_the_run() {
    let mut large = Large::new();
    // Nothing is written before the new segment.
    large
        .disk
        .fail_next(testkit::faulty_disk::Operation::Append, Fault::Torn(ENOSPC));
    assert!(large.compact(usize::MAX, false).is_some());
    assert!(!large.is_compacted());
    large.disk.heal();
    large.goes_on("no room");
}
