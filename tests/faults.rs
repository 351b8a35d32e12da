//! The file system fails at each thing that a Pod asks of it, in each way: in runs, in compactions, in
//! a rewind, a fork and a resume. And the clock is wrong.
//!
//! What a model or a listener was told is in the log, the session opens and goes on, the list is what
//! it was, and the person gets one clear message. `POD_FAULTS=all` takes every operation and not only
//! a sample.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use llm::scripted::{Answer, Scripted};
use llm::{Capability, Item, Model};
use pod::session::{Clock, LogError, MemoryDisk, segment};
use pod::{
    Builder, CompactLimits, Compaction, Event, Pod, PodError, SessionInfo, SessionStore, Status,
    Threshold,
};
use serde_json::json;
use testkit::clock::StepClock;
use testkit::faulty_disk::{EACCES, EIO, ENOSPC, EROFS, Fault, FaultyDisk};
use testkit::future::poll_run;
use testkit::laws::{check_session, is_workers};
use testkit::tools::FakeTool;
use tools::task::Task;
use uuid::Uuid;

use crate::program::{Ran, World};

const FAULTS: [Fault; 10] = [
    Fault::Fail(EIO),
    Fault::Fail(EACCES),
    Fault::Fail(EROFS),
    Fault::Short,
    Fault::Torn(ENOSPC),
    Fault::DoneButFailed(EIO),
    Fault::FailFromNowOn(ENOSPC),
    Fault::FailFromNowOn(EROFS),
    Fault::FailFromNowOn(EACCES),
    Fault::Stop,
];

/// Sessions on a disk that fails, and what they were told.
struct Trial {
    disk: FaultyDisk,
    store: SessionStore,
    /// The same files, on a disk that does not fail.
    sound: SessionStore,
    work: std::path::PathBuf,
    place: String,
    /// What a person was told.
    messages: Vec<String>,
}

impl Trial {
    fn new(fault: Fault, nth: usize) -> Self {
        Self::by(Arc::new(StepClock::default()), fault, nth)
    }

    fn by(clock: Arc<dyn Clock>, fault: Fault, nth: usize) -> Self {
        let inner = MemoryDisk::new();
        let disk = FaultyDisk::new(Arc::new(inner.clone()));
        disk.fail_nth(nth, fault);
        let store = SessionStore::new("/pod").with_clock(clock);
        Self {
            sound: store.clone().with_disk(Arc::new(inner)),
            store: store.with_disk(Arc::new(disk.clone())),
            disk,
            work: std::env::temp_dir(),
            place: format!("{fault:?} at {nth}"),
            messages: Vec::new(),
        }
    }

    /// A model that makes two tasks, reads much, and finishes one; on the way it is compacted. It
    /// looks whether the log has what it is told.
    fn model(&self) -> Arc<dyn Model> {
        let sound = self.sound.clone();
        let place = self.place.clone();
        let capability = Capability {
            context_window: 20_000,
            ..Capability::default()
        };
        let create = |subject: &str| json!({"subject": subject, "description": "d"});
        let model = Scripted::from_fn("all", capability, move |request| {
            if is_workers(request) {
                let summary = json!({"text": "It goes on."});
                return Ok(Answer::empty().call("write_summary", &summary).into());
            }
            let items = request.conversation.items();
            assert!(
                is_logged(&sound, items),
                "{place}: told before it was logged"
            );
            let answer = match items.last().map(|item| &**item) {
                Some(Item::User(message)) if message.joined_text() == "begin" => Answer::empty()
                    .call("TaskCreate", &create("a"))
                    .call("TaskCreate", &create("b"))
                    .call("Look", &json!({"text": "words ", "times": 2_500})),
                Some(Item::User(message)) if message.joined_text() == "more" => Answer::empty()
                    .call("TaskUpdate", &json!({"taskid": 1, "status": "completed"}))
                    .call("Look", &json!({"text": "words ", "times": 10_000})),
                Some(Item::User(_)) => Answer::empty().call("TaskCreate", &create("c")),
                _ => Answer::text("Done."),
            };
            Ok(answer.into())
        });
        Arc::new(model)
    }

    fn builder(&self) -> Builder {
        let builder = Pod::builder(self.model())
            .directory(&self.work)
            .compact_limits(CompactLimits {
                between_requests: Threshold::Tokens(12_000),
                ..CompactLimits::default()
            });
        FakeTool::all(|_| {})
            .into_iter()
            .fold(builder, Builder::tool)
    }

    /// Runs a prompt. What it tells is in the log by then, and what goes wrong is told once.
    fn run(&mut self, pod: &mut Pod, prompt: &str) -> bool {
        let (sound, place) = (self.sound.clone(), self.place.clone());
        let id = pod.session().id();
        let mut messages = Vec::new();
        let mut is_completed = false;
        poll_run(&mut pod.run(prompt), usize::MAX, |event| match event {
            Event::Entry(entry) => {
                let has_it = sound
                    .list_all()
                    .unwrap()
                    .iter()
                    .any(|info| info.id == id && logged(&sound, info).contains(&entry.id));
                assert!(has_it, "{place}: an entry was told before it was logged");
            }
            Event::Warning(text) => messages.push(text.clone()),
            Event::Compaction(Compaction::Failed { reason }) => messages.push(reason.clone()),
            Event::Finished(outcome) => match &outcome.status {
                Status::Completed => is_completed = true,
                Status::Failed(error @ PodError::Log(_)) => messages.push(error.to_string()),
                other => panic!("{place}: {other:?}"),
            },
            _ => {}
        });
        assert_eq!(is_completed, self.note(messages) || is_completed);
        is_completed
    }

    /// Notes what was told. Gives whether it was nothing.
    fn note(&mut self, messages: Vec<String>) -> bool {
        let is_nothing = messages.is_empty();
        for message in &messages {
            assert!(message.contains("/pod/"), "{}: {message}", self.place);
            assert!(!message.contains('\n'), "{}: {message}", self.place);
        }
        self.messages.extend(messages);
        is_nothing
    }

    fn tell(&mut self, error: &PodError) {
        assert!(matches!(error, PodError::Log(_)), "{}: {error}", self.place);
        self.note(vec![error.to_string()]);
    }

    /// Everything that a session goes through. Gives the lists that it may have in the end, the last
    /// of which is the one in memory.
    fn go(&mut self) -> Vec<Vec<Task>> {
        let mut pod = match self.builder().start(&self.store, None) {
            Ok(pod) => pod,
            Err(error) => {
                self.tell(&error);
                return vec![Vec::new()];
            }
        };
        let mut possible = vec![Vec::new()];
        if !self.run(&mut pod, "begin") || !self.run(&mut pod, "more") {
            possible.push(pod.tasks().snapshot());
            return possible;
        }
        let info = self.sound.find(&pod.session().id().to_string()).unwrap();
        // Back to where the list was first shown after the compaction, or to the end.
        let target = pod.entries().last().unwrap().id;
        let before = pod.tasks().snapshot();
        match pod.rewind(target) {
            Ok(notices) => drop(self.note(notices)),
            Err(error) => self.tell(&error),
        }
        assert_eq!(pod.tasks().snapshot(), before, "{}", self.place);
        possible.push(before);
        let goes_on = self.run(&mut pod, "and on");
        possible.push(pod.tasks().snapshot());
        if !goes_on {
            return possible;
        }
        match self.builder().fork(&self.store, &info, None, None) {
            Ok(mut fork) => {
                assert_eq!(fork.tasks().snapshot(), pod.tasks().snapshot());
                self.run(&mut fork, "and on");
            }
            Err(error) => self.tell(&error),
        }
        drop(pod);
        match self.builder().resume(&self.store, &info, false) {
            Ok(mut pod) => {
                self.note(pod.notices().to_vec());
                self.run(&mut pod, "and on");
                possible.push(pod.tasks().snapshot());
            }
            Err(error) => self.tell(&error),
        }
        possible
    }

    /// The next day, on a disk that works: every session opens with a list that it may have, and goes
    /// on.
    fn check_afterwards(&mut self, possible: &[Vec<Task>]) {
        self.disk.heal();
        let mut sessions = self.sound.list_all().unwrap();
        sessions.sort_by_key(|info| info.id);
        for (index, info) in sessions.iter().enumerate() {
            let resumed = self.builder().resume(&self.sound, info, false);
            let mut pod = resumed.unwrap_or_else(|error| panic!("{}: {error}", self.place));
            let tasks = pod.tasks().snapshot();
            let is_last = possible.last() == Some(&tasks);
            // Where nobody could tell whether a step was made for good, it may have been or not.
            let may_be = is_last || index > 0 || possible.contains(&tasks);
            assert!(may_be, "{}: {tasks:?} {possible:?}", self.place);
            self.store = self.sound.clone();
            assert!(self.run(&mut pod, "and on"), "{}", self.place);
            check_session(&pod, &self.sound);
        }
    }
}

fn logged(store: &SessionStore, info: &SessionInfo) -> Vec<uuid::Uuid> {
    let contents = segment::read(store.disk(), &info.newest_segment(), true).unwrap();
    contents.entries.iter().map(|it| it.entry.id).collect()
}

/// Whether a session has these items, all of them and no more.
fn is_logged(store: &SessionStore, items: &[Arc<Item>]) -> bool {
    store.list_all().unwrap().iter().any(|info| {
        let contents = segment::read(store.disk(), &info.newest_segment(), true).unwrap();
        let logged = contents.entries.iter().map(|it| &it.entry.item);
        logged.eq(items.iter())
    })
}

#[test]
fn br_050_at_every_fault_the_log_has_what_was_told_and_the_session_goes_on() {
    let takes_all = std::env::var("POD_FAULTS").is_ok_and(|it| it == "all");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.unwrap();
    let _guard = runtime.enter();

    let mut clean = Trial::new(Fault::Short, usize::MAX);
    let possible = clean.go();
    assert_eq!(clean.messages, [""; 0]);
    let operations = clean.disk.count();
    assert!(operations > 200, "{operations}");
    let segments = clean.sound.list_all().unwrap();
    assert!(segments.iter().any(|info| info.segment > 2), "{segments:?}");
    clean.check_afterwards(&possible);

    let mut trials = 0;
    for (offset, fault) in FAULTS.into_iter().enumerate() {
        let step = if takes_all { 1 } else { 23 };
        for nth in (if takes_all { 0 } else { offset }..operations).step_by(step) {
            let mut trial = Trial::new(fault, nth);
            let possible = trial.go();
            assert!(trial.disk.has_failed(), "{}", trial.place);
            let messages = std::mem::take(&mut trial.messages);
            // A fault that passes is told once. One that stays is told by each step that it stops,
            // and by a compaction that could not be made before.
            let most = if matches!(fault, Fault::Stop | Fault::FailFromNowOn(_)) {
                3
            } else {
                1
            };
            assert!(messages.len() <= most, "{}: {messages:#?}", trial.place);
            trial.check_afterwards(&possible);
            trials += 1;
        }
    }
    println!("{trials} faults at {operations} operations of the file system");
}

/// A clock that is wrong: its times and ids are those of a step, whatever the step gives.
#[derive(Debug)]
struct WrongClock {
    looks: AtomicU64,
    /// The milliseconds since 1970 at each look.
    time: fn(i64) -> i64,
}

impl WrongClock {
    fn look(&self) -> i64 {
        i64::try_from(self.looks.fetch_add(1, Ordering::Relaxed)).unwrap()
    }
}

impl Clock for WrongClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond((self.time)(self.look())).unwrap()
    }

    /// Ids have the time in front, so they go where it goes.
    fn new_id(&self) -> Uuid {
        let look = self.look();
        let time = u64::try_from((self.time)(look).max(0)).unwrap() << 16;
        let low = 0x8000_0000_0000_0000 | u64::try_from(look).unwrap();
        Uuid::from_u64_pair(time | 0x7000, low)
    }
}

/// The time at the nth look.
type Time = fn(i64) -> i64;

/// Order is that of the lines, never that of the times: a machine whose clock stands, runs back or
/// jumps loses nothing.
#[test]
fn a_clock_that_is_wrong_changes_nothing() {
    const YEAR: i64 = 365 * 24 * 3600 * 1000;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.unwrap();
    let _guard = runtime.enter();
    let mut right = Trial::new(Fault::Short, usize::MAX);
    let wanted = right.go();

    let clocks: [(&str, Time); 5] = [
        ("stands", |_| 56 * YEAR),
        ("runs back", |look| 56 * YEAR - look * 1000),
        ("jumps", |look| look * 7919 % 101 * 50 * YEAR),
        ("begins anew, as after a power cut", |look| look % 40),
        ("is before all times", |look| look - 100 * YEAR),
    ];
    for (name, time) in clocks {
        let clock = WrongClock {
            looks: AtomicU64::new(0),
            time,
        };
        let mut trial = Trial::by(Arc::new(clock), Fault::Short, usize::MAX);
        trial.place = String::from(name);
        assert_eq!(trial.go(), wanted, "{name}");
        assert_eq!(trial.messages, [""; 0], "{name}");
        for info in trial.sound.list_all().unwrap() {
            let report = pod::verify::verify(trial.sound.disk(), &info).unwrap();
            assert!(report.is_clean(), "{name}: {report:?}");
        }
        trial.check_afterwards(&wanted);
    }
}

const SCRIPT: &str = r#"
assistant: I begin.
  > TaskCreate {"subject":"first","description":"d"}
  > TaskCreate {"subject":"second","description":"d"}
assistant: Two tasks.
"#;

fn run(world: &World, format: &str, fault: Option<String>) -> Ran {
    let mut command = world.command(&["-p", "work", "--model", "scripted:script.txt"]);
    command.args(["--output-format", format]);
    command.args(["--allowedTools", "TaskCreate", "Bash"]);
    if let Some(fault) = fault {
        command.env("POD_FAULT_AT", fault);
    }
    World::finish(&mut command)
}

/// What a person reads when the disk is full, broken, read-only or forbidden, from the first thing
/// that is written to the last.
#[test]
fn br_111_the_program_says_once_what_is_wrong_with_the_disk() {
    let mut shown = Vec::new();
    for errno in [ENOSPC, EIO, EROFS, EACCES] {
        for nth in 1..100 {
            let world = World::new();
            world.write("script.txt", SCRIPT);
            let ran = run(&world, "text", Some(format!("{nth}:{errno}")));
            if ran.code == Some(0) {
                assert!(nth > 8, "{nth}");
                break;
            }
            let place = format!("{errno} at {nth}: {}", ran.stderr);
            assert_eq!(ran.code, Some(1), "{place}");
            assert_eq!(ran.stderr.lines().count(), 1, "{place}");
            assert!(
                !ran.stderr.contains("--resume"),
                "a session was promised: {place}"
            );
            assert!(ran.stderr.contains("os error"), "{place}");
            // What the model said before is in the log, and may be told.
            let said = ["", "I begin.\n", "Two tasks.\n"];
            assert!(said.contains(&&*ran.stdout), "{place}");
            let text = world.steady(&ran.stderr);
            let text = regex_free_of_drafts(&text);
            if !shown.contains(&text) {
                shown.push(text);
            }
            // Room was made: what was there is in order, and a run goes well.
            if world.log().is_some() {
                let _ = world.pod(&["verify"]).success();
            }
            assert_eq!(run(&world, "text", None).success(), "Two tasks.\n");
        }
    }
    insta::assert_snapshot!(shown.concat());
}

/// The name of a draft has a number that is never the same.
fn regex_free_of_drafts(text: &str) -> String {
    let mut parts = text
        .split(' ')
        .map(|word| match word.split_once(".jsonl.") {
            Some((begin, end)) if end.contains(".tmp") => {
                let rest = end.split_once(".tmp").map_or("", |it| it.1);
                format!("{begin}.jsonl.[DRAFT].tmp{rest}")
            }
            _ => word.to_owned(),
        });
    let mut joined = parts.next().unwrap_or_default();
    for part in parts {
        joined.push(' ');
        joined += &part;
    }
    joined
}

/// The protocol tells it in its last line, and once for people.
#[test]
fn br_111_the_protocol_says_it_too() {
    for nth in 1..100 {
        let world = World::new();
        world.write("script.txt", SCRIPT);
        let ran = run(&world, "stream-json", Some(format!("{nth}:{ENOSPC}")));
        let last = ran.stdout.lines().last().unwrap();
        let last: serde_json::Value = serde_json::from_str(last).unwrap();
        assert_eq!(last["type"], "result", "{nth}");
        if ran.code == Some(0) {
            assert!(nth > 8, "{nth}");
            break;
        }
        assert_eq!(last["is_error"], true, "{nth}: {last}");
        let text = last.to_string();
        assert!(text.contains("No space left on device"), "{nth}: {last}");
        assert!(ran.stderr.lines().count() <= 1, "{nth}: {}", ran.stderr);
    }
}

/// Somebody removes what a running session stands on.
#[test]
fn directories_that_are_removed_under_a_running_session() {
    let mut shown = Vec::new();
    for (what, goes_on) in [
        ("$POD_HOME/sessions/*/*", false),
        ("$POD_HOME/sessions", false),
        ("$POD_HOME", false),
        ("$POD_HOME/sessions/*/*/0001.jsonl", false),
        // The lock is the system's: without its file it still holds.
        ("$POD_HOME/sessions/*/*/lock", true),
        ("$PWD", true),
    ] {
        for format in ["text", "stream-json"] {
            let world = World::new();
            world.write(
                "script.txt",
                &format!(
                    "assistant:\n  > TaskCreate {{\"subject\":\"first\",\"description\":\"d\"}}\n  > Bash {{\"command\":\"rm -rf {what}\"}}\n  > TaskCreate {{\"subject\":\"second\",\"description\":\"d\"}}\nassistant: Gone on.\n"
                ),
            );
            let ran = run(&world, format, None);
            assert_eq!(
                ran.code,
                Some(i32::from(!goes_on)),
                "{what}: {}",
                ran.stderr
            );
            if format == "text" {
                let lines = ran.stderr.lines().count();
                assert_eq!(lines, usize::from(!goes_on), "{what}: {}", ran.stderr);
                shown.push(format!(
                    "{what}: {}{}",
                    world.steady(&ran.stderr),
                    ran.stdout
                ));
            } else {
                let last = ran.stdout.lines().last().unwrap();
                assert_eq!(
                    last.contains("\"is_error\":true"),
                    !goes_on,
                    "{what}: {last}"
                );
            }
        }
    }
    insta::assert_snapshot!(shown.join("\n"));
}

/// A log error of its own kind is what is told, whatever the step.
#[test]
fn a_resume_without_a_disk_says_what_is_wrong() {
    let trial = Trial::new(Fault::Short, usize::MAX);
    let pod = trial.builder().start(&trial.store, None).unwrap();
    let info = trial.sound.find(&pod.session().id().to_string()).unwrap();
    drop(pod);
    for errno in [EIO, EACCES, EROFS, ENOSPC] {
        trial
            .disk
            .fail_nth(trial.disk.count(), Fault::FailFromNowOn(errno));
        let error = trial.builder().resume(&trial.store, &info, false);
        assert!(matches!(error, Err(PodError::Log(LogError::Io { .. }))));
        trial.disk.heal();
    }
}
