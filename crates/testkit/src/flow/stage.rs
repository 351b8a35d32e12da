//! The Pod that a script is played against, and what comes out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use llm::scripted::outline;
use llm::{Item, Model, Origin, Request};
use pod::{Builder, Compaction, Event, Handle, Outcome, Pod, SessionInfo, SessionStore, Status};
use tempfile::TempDir;
use tools::task::{TaskOperation, render};

use super::cast::Cast;
use super::direction::{Direction, Step};
use crate::clock::StepClock;
use crate::disk::FillingDisk;
use crate::future::poll_run;
use crate::laws::{Witness, check_session, is_workers, session_info};
use crate::tools::FakeTool;

/// How long nothing must move before a run counts as still.
const STILL: Duration = Duration::from_millis(50);

pub(super) struct Stage {
    witness: Arc<Witness>,
    cast: Cast,
    asks_somebody: bool,
    disk: FillingDisk,
    store: SessionStore,
    /// How the Pod is set up when it is opened the next time.
    setup: Vec<Direction>,
    pod: Option<Pod>,
    /// What happens in the next run.
    interrupt_at_start: bool,
    interrupt_when_still: bool,
    drop_after: Option<usize>,
    work: TempDir,
    _home: TempDir,
}

impl Stage {
    pub(super) fn new(model: Arc<dyn Model>, steps: &[Step]) -> Self {
        let cast = Cast::default();
        let asked = Asked::new(cast.clone());
        let witness = Witness::new(model).watch(move |request| asked.tell(request));
        let home = temporary_directory();
        let disk = FillingDisk::default();
        let store = SessionStore::new(home.path())
            .with_disk(Arc::new(disk.clone()))
            .with_clock(Arc::new(StepClock::default()))
            .durable(false);
        let is_answer = |step: &Step| matches!(step, Step::Direction(Direction::Answer(_)));
        Self {
            witness: Arc::new(witness),
            cast,
            asks_somebody: steps.iter().any(is_answer),
            disk,
            store,
            setup: Vec::new(),
            pod: None,
            interrupt_at_start: false,
            interrupt_when_still: false,
            drop_after: None,
            work: temporary_directory(),
            _home: home,
        }
    }

    pub(super) async fn play(&mut self, step: &Step) {
        match step {
            Step::User(prompt) => {
                self.cast.tell(&format!("== user: {prompt}"));
                self.run(Some(prompt)).await;
            }
            Step::Direction(Direction::Compact) => {
                self.cast.tell("== compact");
                self.run(None).await;
            }
            Step::Direction(direction) => self.follow(direction),
        }
        if let Some(pod) = &self.pod {
            check_session(pod, &self.store);
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.follow(&Direction::Tasks);
        let session = self.info().path;
        let transcript = std::mem::take(&mut self.cast.plan().transcript);
        transcript
            .replace(&session.display().to_string(), "SESSION")
            .replace(&self.work.path().display().to_string(), "WORK")
            // The ids of a `StepClock` differ in their last digits only.
            .replace("00000000000070008000", "")
    }

    fn follow(&mut self, direction: &Direction) {
        match direction {
            Direction::Mode(mode) => {
                if let Some(pod) = &self.pod {
                    pod.handle().set_permission_mode(*mode);
                }
                self.setup.push(direction.clone());
            }
            Direction::Allow(_)
            | Direction::Forbid(_)
            | Direction::Offer(_)
            | Direction::Limits(_)
            | Direction::RemindAfter(_)
            | Direction::MaxTurns(_) => self.setup.push(direction.clone()),
            Direction::File(name, text) => {
                std::fs::write(self.work.path().join(name), text).unwrap();
            }
            Direction::Compact => panic!("this is a step of its own"),
            Direction::Plan => {
                let plan = self.pod().plan_compaction();
                let kept: Vec<_> = plan.kept.iter().map(|it| Arc::clone(&it.item)).collect();
                self.cast.tell(&format!(
                    "== a compaction would summarise {} entries and keep these; it {}:\n{}",
                    plan.summarised,
                    plan.useless.as_deref().map_or("helps", |_| "does not help"),
                    shortened(outline(&kept).trim_end())
                ));
            }
            Direction::Answer(deed) => self.cast.plan().answers.push_back(deed.clone()),
            Direction::Before(tool, deed) => {
                self.cast.plan().before.push((tool.clone(), deed.clone()));
            }
            Direction::After(tool, deed) => {
                self.cast.plan().after.push((tool.clone(), deed.clone()));
            }
            Direction::InterruptAtStart => self.interrupt_at_start = true,
            Direction::InterruptWhenStill => self.interrupt_when_still = true,
            Direction::DropAfter(polls) => self.drop_after = Some(*polls),
            Direction::Room(lines) => self.disk.set_room(*lines),
            Direction::Resume => {
                let before = self.pod().entries().len();
                let info = self.info();
                self.pod = None;
                let pod = self.builder().resume(&self.store, &info, false).unwrap();
                self.enter(pod, "resumed", before);
            }
            Direction::Fork(at) => {
                let info = self.info();
                let entry = at.map(|number| self.pod().entries()[number - 1].id);
                let before = at.unwrap_or(self.pod().entries().len());
                let pod = self
                    .builder()
                    .fork(&self.store, &info, None, entry)
                    .unwrap();
                if at.is_some() {
                    self.witness.expect_another_past();
                }
                self.enter(pod, "forked", before);
            }
            Direction::Rewind(number) => {
                let entry = self.pod().entries()[number - 1].id;
                self.witness.expect_another_past();
                let mut pod = self.pod.take().unwrap();
                let notices = pod.rewind(entry).unwrap();
                assert_eq!(notices, [""; 0]);
                self.enter(pod, "rewound", *number);
            }
            Direction::Edit(operation) => self.edit(operation),
            Direction::Tasks => {
                let list = self.pod().tasks().with(|tasks| render::list(tasks, 4_000));
                self.cast.tell(&format!("tasks: {list}"));
            }
            Direction::Log => {
                let path = self.info().newest_segment();
                let log = std::fs::read_to_string(path).unwrap();
                self.cast.tell(&format!("log:\n{}", log.trim_end()));
            }
        }
    }

    /// Changes the list by hand, with no run going on.
    fn edit(&mut self, operation: &TaskOperation) {
        self.pod();
        let mut pod = self.pod.take().unwrap();
        let known = pod.entries().len();
        self.cast.tell("== edit by hand");
        if let Err(error) = pod.edit_tasks(operation) {
            self.cast.tell(&format!("   not done: {error}"));
        }
        for number in known + 1..=pod.entries().len() {
            self.cast.tell(&told(&pod, number));
        }
        self.pod = Some(pod);
    }

    /// Goes on with another Pod, of whose entries the first `known` were told before.
    fn enter(&mut self, pod: Pod, how: &str, known: usize) {
        let entries = pod.entries().len();
        self.cast.tell(&format!("== {how}: 1 to {entries}"));
        for notice in pod.notices() {
            self.cast.tell(&format!("   notice: {notice}"));
        }
        for number in known + 1..=entries {
            self.cast.tell(&told(&pod, number));
        }
        self.pod = Some(pod);
    }

    fn info(&mut self) -> SessionInfo {
        let store = self.store.clone();
        session_info(self.pod(), &store)
    }

    fn pod(&mut self) -> &Pod {
        if self.pod.is_none() {
            let pod = self.builder().start(&self.store, None).unwrap();
            self.pod = Some(pod);
        }
        self.pod.as_ref().unwrap()
    }

    fn builder(&self) -> Builder {
        let cast = self.cast.clone();
        let mut builder = Pod::builder(Arc::clone(&self.witness) as Arc<dyn Model>)
            .directory(self.work.path())
            .hook(Arc::new(self.cast.clone()));
        if self.asks_somebody {
            builder = builder.approver(Arc::new(self.cast.clone()));
        }
        for tool in FakeTool::all(move |line| cast.tell(&format!("   ~ {line}"))) {
            builder = builder.tool(tool);
        }
        for direction in &self.setup {
            builder = match direction.clone() {
                Direction::Mode(mode) => builder.permission_mode(mode),
                Direction::Allow(rules) => builder.allow(rules),
                Direction::Forbid(rules) => builder.deny(rules),
                Direction::Offer(names) => {
                    builder.offer(move |name| names.iter().any(|it| it == name))
                }
                Direction::MaxTurns(turns) => builder.max_turns(turns),
                Direction::RemindAfter(requests) => builder.remind_after(requests),
                Direction::Limits(limits) => builder.compact_limits(limits),
                other => panic!("not about how a Pod is set up: {other:?}"),
            };
        }
        builder
    }

    /// Runs a prompt, or compacts if there is none.
    async fn run(&mut self, prompt: Option<&str>) {
        self.pod();
        let mut pod = self.pod.take().unwrap();
        let handle = pod.handle();
        self.cast.plan().handle = Some(handle.clone());
        let known = pod.entries().len();
        let log = session_info(&pod, &self.store).newest_segment();
        self.cast.plan().told = known;
        self.cast.plan().log = Some(log.clone());
        let mut teller = Teller {
            cast: self.cast.clone(),
            number: known,
            log,
        };
        let mut run = match prompt {
            Some(prompt) => pod.run(prompt),
            None => pod.compact(),
        };
        if std::mem::take(&mut self.interrupt_at_start) {
            handle.interrupt();
        }
        if let Some(polls) = self.drop_after.take() {
            let ended = poll_run(&mut run, polls, |event| teller.tell(event));
            assert!(!ended, "the run ended within {polls} polls");
            self.cast.tell("== the run is dropped");
        } else {
            let still = std::mem::take(&mut self.interrupt_when_still).then_some(handle);
            while let Some(event) = next(&mut run, still.as_ref()).await {
                teller.tell(&event);
            }
        }
        drop(run);
        self.cast.plan().log = None;
        let told = teller.number.max(carried_to(&pod));
        assert_eq!(told, pod.entries().len(), "every entry is told");
        self.pod = Some(pod);
    }
}

/// How many entries a compaction put in front.
fn carried_to(pod: &Pod) -> usize {
    let last = pod.entries().iter().rposition(|entry| entry.carried);
    last.map_or(0, |place| place + 1)
}

/// The next event. If nothing moves and there is a handle, the run is interrupted.
async fn next(run: &mut pod::Run<'_>, handle: Option<&Handle>) -> Option<Event> {
    let Some(handle) = handle else {
        return run.next().await;
    };
    tokio::select! {
        event = run.next() => return event,
        () = tokio::time::sleep(STILL) => handle.interrupt(),
    }
    run.next().await
}

/// An entry of the history, as the model sees it.
fn told(pod: &Pod, number: usize) -> String {
    entry_line(number, &pod.entries()[number - 1].item)
}

fn entry_line(number: usize, item: &Arc<llm::Item>) -> String {
    let text = outline(&[Arc::clone(item)]);
    shortened(text.trim_end())
        .lines()
        .map(|line| match line.strip_prefix("01 ") {
            Some(rest) => format!("{number:02} {rest}"),
            None => line.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Tells what the model is asked. What stands in a request is told when it happens; only the first
/// request after a compaction, and what the worker is asked, is told whole.
struct Asked {
    cast: Cast,
    state: Mutex<AskedState>,
}

#[derive(Default)]
struct AskedState {
    summary: Option<Arc<Item>>,
    workers: usize,
}

impl Asked {
    fn new(cast: Cast) -> Self {
        Self {
            cast,
            state: Mutex::default(),
        }
    }

    fn tell(&self, request: &Request<'_>) {
        let mut state = self.state.lock().unwrap();
        let items = request.conversation.items();
        let count = items.len();
        if is_workers(request) {
            // A worker begins with one item.
            let known = if count == 1 { 0 } else { state.workers };
            state.workers = count;
            let lines: Vec<String> = (known..count)
                .map(|index| indented(&entry_line(index + 1, &items[index])))
                .collect();
            let lines = lines.join("\n");
            self.cast.tell(&format!("-> the worker is asked:\n{lines}"));
            return;
        }
        self.cast
            .tell(&format!("-> the model is asked with 1 to {count}"));
        let is_summary =
            |item: &Item| matches!(item, Item::System(it) if it.origin == Origin::Summary);
        let summary = items.first().filter(|item| is_summary(item));
        if summary.is_some() && summary != state.summary.as_ref() {
            state.summary = summary.cloned();
            let text = shortened(outline(items).trim_end());
            self.cast.tell(&indented(&text));
        }
    }
}

/// The text without the rest of very long lines.
fn shortened(text: &str) -> String {
    const LONG: usize = 400;
    const SHOWN: usize = 80;
    let lines = text
        .lines()
        .map(|line| match line.char_indices().nth(SHOWN) {
            Some((end, _)) if line.len() > LONG => {
                format!("{}… ({} bytes)", &line[..end], line.len())
            }
            _ => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

fn indented(text: &str) -> String {
    format!("     {}", text.replace('\n', "\n     "))
}

/// Tells events, and checks that each entry is in the log before it is told.
struct Teller {
    cast: Cast,
    /// How many entries were told, and those before them.
    number: usize,
    log: PathBuf,
}

impl Teller {
    fn tell(&mut self, event: &Event) {
        match event {
            Event::Entry(entry) => {
                let number = place_in(&self.log, &entry.id.to_string(), self.number);
                self.number = number;
                let line = match &*entry.item {
                    // The next request has it whole.
                    Item::System(message) if is_carrier(&message.origin) => {
                        format!("{number:02} system({})", message.origin)
                    }
                    _ => entry_line(number, &entry.item),
                };
                self.cast.tell_entry(number, &line);
            }
            Event::Task(change) => {
                let text = render::change(change);
                let line = text.lines().next().unwrap_or_default();
                self.cast.tell_of_entry(&format!("   * {line}"));
            }
            Event::Warning(text) => self.cast.tell_of_entry(&format!("   warning: {text}")),
            Event::Compaction(compaction) => self.tell_compaction(compaction),
            Event::Finished(outcome) => self.cast.tell(&ending(outcome)),
            // Previews say nothing that the message does not say.
            _ => {}
        }
    }

    fn tell_compaction(&mut self, compaction: &Compaction) {
        let line = match compaction {
            Compaction::Started { trigger, tokens } => {
                format!("== compacting {tokens} tokens: {trigger}")
            }
            Compaction::Finished(report) => {
                self.log = next_segment(&self.log);
                self.number = 0;
                self.cast.enter(&self.log);
                let mut line = format!(
                    "== compacted ({}): {} -> {} tokens, {} tasks, {} entries kept",
                    report.trigger.as_str(),
                    report.tokens_before,
                    report.tokens_after,
                    report.tasks,
                    report.kept_entries
                );
                if let Some(reason) = &report.without_model {
                    let _ = write!(line, ", without a model: {reason}");
                }
                self.cast.tell_of_entry(&line);
                return;
            }
            Compaction::Failed { reason } => format!("== not compacted: {reason}"),
            Compaction::Skipped { reason } => format!("== no compaction: {reason}"),
            other => panic!("{other:?}"),
        };
        self.cast.tell(&line);
    }
}

fn is_carrier(origin: &Origin) -> bool {
    matches!(
        origin,
        Origin::Summary | Origin::TaskSnapshot | Origin::AutoRead | Origin::References
    )
}

fn next_segment(log: &Path) -> PathBuf {
    let number: u32 = log.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    log.with_file_name(format!("{:04}.jsonl", number + 1))
}

/// The number of an entry in the log. Those between the last one that was told and this one are
/// carried, and were told before.
fn place_in(log: &Path, id: &str, told: usize) -> usize {
    let log = std::fs::read_to_string(log).unwrap();
    let id = format!("\"{id}\"");
    let lines = log.split_inclusive('\n').enumerate().skip(told + 1);
    for (number, line) in lines {
        if line.contains(&id) {
            assert!(line.ends_with('\n'), "half a line is told");
            return number;
        }
        assert!(line.contains("\"carried\":true"), "not told: {line}");
    }
    panic!("{id} is told and not in the log");
}

fn ending(outcome: &Outcome) -> String {
    let mut line = String::from("== ");
    match &outcome.status {
        Status::Failed(error) => {
            let _ = write!(line, "failed: {error}");
        }
        Status::Completed => line.push_str("completed"),
        Status::MaxTurns => line.push_str("stopped at the most turns"),
        Status::Interrupted => line.push_str("interrupted"),
        other => panic!("{other:?}"),
    }
    let _ = write!(line, ", turns: {}", outcome.turns);
    if !outcome.text.is_empty() {
        let _ = write!(line, ": {:?}", outcome.text);
    }
    for call in &outcome.denials {
        let _ = write!(line, "\n   denied: {}#{}", call.name, call.id);
    }
    line
}

/// A directory in memory where there is one, since these tests write much and keep nothing.
fn temporary_directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}
