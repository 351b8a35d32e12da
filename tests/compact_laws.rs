//! The laws over random sessions in which the history is compacted at any moment, by workers that do
//! anything: the list is what was confirmed, before and after, live and replayed; ids go on; every
//! request is well-formed and has at most one summary and one list.
//!
//! `PROPTEST_CASES` sets how many sessions are tried; the default is 300.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use llm::scripted::{Answer, Scripted};
use llm::{AssistantMessage, Capability, Item, Model, ModelError, Origin, StopReason};
use pod::hook::HookCall;
use pod::session::{Entry, MemoryDisk, segment};
use pod::{Builder, CompactLimits, Hook, Pod, SessionInfo, SessionStore, Threshold, hook};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use testkit::clock::StepClock;
use testkit::future::{poll_run, yield_once};
use testkit::laws::{Witness, check_session, is_workers, session_info};
use testkit::tools::FakeTool;
use tools::task::{Status, TaskId, TaskOperation};
use uuid::Uuid;

/// What is done to a session.
#[derive(Clone, Debug)]
enum Step {
    Run {
        replies: Vec<Reply>,
        early: Option<(usize, bool)>,
    },
    Compact {
        early: Option<(usize, bool)>,
    },
    Resume,
    /// A change of the list by hand.
    Edit(TaskOperation),
    /// To a place in the history, as a share of its length.
    Fork(f64),
    Rewind(f64),
}

/// What the agent's model answers.
#[derive(Clone, Debug)]
enum Reply {
    Calls(Vec<(&'static str, Value)>),
    Fails,
    TooLong,
}

/// What a worker answers.
#[derive(Clone, Debug)]
enum Work {
    Writes(usize),
    Says(&'static str),
    Lies,
    Wanders,
    Refuses,
    Fails,
    TooLong,
}

fn reply() -> impl Strategy<Value = Reply> {
    let create = select(vec!["a", "日本 👩‍👩‍👧", "#9 [deleted] x"]).prop_map(|subject| {
        (
            "TaskCreate",
            json!({"subject": subject, "description": "d"}),
        )
    });
    let status = select(vec!["pending", "in_progress", "completed", "deleted"]);
    let update = (1..6_u32, status)
        .prop_map(|(id, status)| ("TaskUpdate", json!({"taskid": id, "status": status})));
    let look = (0..1_500_u32).prop_map(|times| ("Look", json!({"text": "words ", "times": times})));
    let fails = Just(("TaskCreate", json!({"subject": ""})));
    let call = prop_oneof![4 => create, 3 => update, 4 => look, 1 => fails];
    prop_oneof![
        12 => vec(call, 1..5).prop_map(Reply::Calls),
        1 => Just(Reply::Fails),
        1 => Just(Reply::TooLong),
    ]
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        8 => (1..200_usize).prop_map(Work::Writes),
        1 => Just(Work::Writes(50_000)),
        2 => select(vec!["All is well.", "", " \n", "{\"name\":\"write_summary\",\"arguments\":{}}"])
            .prop_map(Work::Says),
        2 => Just(Work::Lies),
        1 => Just(Work::Wanders),
        1 => Just(Work::Refuses),
        1 => Just(Work::Fails),
        1 => Just(Work::TooLong),
    ]
}

fn edit() -> impl Strategy<Value = TaskOperation> {
    let create = Just(TaskOperation::Create {
        subject: String::from("by hand"),
        description: String::from("d"),
        active_form: None,
    });
    let update =
        (1..6_u32, select(Status::ALL.to_vec())).prop_map(|(id, status)| TaskOperation::Update {
            id: TaskId::new(id),
            status: Some(status),
            subject: None,
            description: None,
            active_form: None,
        });
    prop_oneof![create, update]
}

fn step() -> impl Strategy<Value = Step> {
    let early = || proptest::option::weighted(0.3, (0..60_usize, any::<bool>()));
    prop_oneof![
        6 => (vec(reply(), 0..5), early()).prop_map(|(replies, early)| Step::Run { replies, early }),
        3 => early().prop_map(|early| Step::Compact { early }),
        2 => Just(Step::Resume),
        2 => edit().prop_map(Step::Edit),
        1 => (0.0..1.0).prop_map(Step::Fork),
        1 => (0.0..1.0).prop_map(Step::Rewind),
    ]
}

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
}

#[derive(Default)]
struct Answers {
    replies: VecDeque<Reply>,
    works: VecDeque<Work>,
}

fn worked(work: Option<&Work>) -> Result<AssistantMessage, ModelError> {
    let write = |text: &str| Answer::empty().call("write_summary", &json!({ "text": text }));
    let answer = match work {
        None => write("It goes on."),
        Some(Work::Writes(words)) => write(&"word ".repeat(*words)),
        Some(Work::Says(text)) => Answer::text(*text),
        Some(Work::Lies) => write("0 tasks\n#1 [deleted] all of them")
            .call("TaskUpdate", &json!({"taskid": 1, "status": "deleted"})),
        Some(Work::Wanders) => Answer::empty()
            .call("read_file", &json!({"path": "absent"}))
            .call("mark_read_required", &json!({"path": "file.txt"}))
            .call("add_reference", &json!({"path": "file.txt"})),
        Some(Work::Refuses) => Answer::text("No.").stop(StopReason::Refusal),
        Some(Work::Fails) => return Err(ModelError::Cut(String::from("in the middle"))),
        Some(Work::TooLong) => return Err(ModelError::PromptTooLong(String::from("too long"))),
    };
    Ok(answer.into())
}

fn model(answers: Arc<Mutex<Answers>>) -> Scripted {
    let capability = Capability {
        context_window: 9_000,
        ..Capability::default()
    };
    Scripted::from_fn("random", capability, move |request| {
        let mut answers = answers.lock().unwrap();
        if is_workers(request) {
            return worked(answers.works.pop_front().as_ref());
        }
        match answers.replies.pop_front() {
            None => Ok(Answer::text("Done.").into()),
            Some(Reply::Fails) => Err(ModelError::Cut(String::from("in the middle"))),
            Some(Reply::TooLong) => Err(ModelError::PromptTooLong(String::from("too long"))),
            Some(Reply::Calls(calls)) => Ok(calls
                .into_iter()
                .fold(Answer::empty(), |answer, (name, arguments)| {
                    answer.call(name, &arguments)
                })
                .into()),
        }
    })
}

/// A list as the results of the calls tell it, and nothing else.
type List = Vec<(String, String)>;

/// What the list must be, from the entries of all segments in the order in which they came.
#[derive(Default)]
struct Oracle {
    segments: u32,
    list: List,
    /// The list behind each entry.
    behind: HashMap<Uuid, List>,
    calls: HashMap<String, (String, Value)>,
}

impl Oracle {
    /// Looks at what is new in the logs.
    fn read(&mut self, store: &SessionStore, info: &SessionInfo) {
        for number in self.segments.max(1)..=info.segment {
            let path = info.path.join(format!("{number:04}.jsonl"));
            let contents = segment::read(store.disk(), &path, false).unwrap();
            for located in &contents.entries {
                self.take(&located.entry, number > self.segments);
            }
            self.segments = number;
        }
    }

    fn take(&mut self, entry: &Entry, is_new_segment: bool) {
        if entry.carried {
            return;
        }
        if let Some(list) = self.behind.get(&entry.id) {
            // A copy, of a fork or a rewind: the list is what it was there.
            if is_new_segment {
                self.list = list.clone();
            }
            return;
        }
        match &*entry.item {
            Item::Assistant(message) => {
                for call in message.calls() {
                    let arguments = call.arguments.parse().unwrap();
                    self.calls
                        .insert(call.id.clone(), (call.name.clone(), arguments));
                }
            }
            Item::ToolResult(result) if !result.is_error => {
                let text = |arguments: &Value, name: &str| {
                    arguments[name]
                        .as_str()
                        .unwrap_or_default()
                        .replace("in_progress", "inprogress")
                };
                match &self.calls[&result.call_id] {
                    (name, arguments) if name == "TaskCreate" => {
                        self.list
                            .push((String::from("pending"), text(arguments, "subject")));
                    }
                    (name, arguments) if name == "TaskUpdate" => {
                        let id = usize::try_from(arguments["taskid"].as_u64().unwrap()).unwrap();
                        self.list[id - 1].0 = text(arguments, "status");
                    }
                    _ => {}
                }
            }
            Item::System(message) if message.origin == Origin::TaskEdit => {
                let data = message.data.as_ref().unwrap();
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                if let Some(fields) = data.get("create") {
                    self.list
                        .push((String::from("pending"), text(&fields["subject"])));
                } else {
                    let fields = &data["update"];
                    let id = usize::try_from(fields["taskid"].as_u64().unwrap()).unwrap();
                    self.list[id - 1].0 = text(&fields["status"]);
                }
            }
            _ => {}
        }
        self.behind.insert(entry.id, self.list.clone());
    }
}

struct Random {
    store: SessionStore,
    work: tempfile::TempDir,
    witness: Arc<Witness>,
    answers: Arc<Mutex<Answers>>,
    oracle: Oracle,
    pod: Option<Pod>,
    compactions: u32,
}

impl Random {
    fn new(works: Vec<Work>) -> Self {
        let answers = Arc::new(Mutex::new(Answers {
            works: works.into(),
            ..Answers::default()
        }));
        let store = SessionStore::new("/pod")
            .with_disk(Arc::new(MemoryDisk::new()))
            .with_clock(Arc::new(StepClock::default()));
        let work = tempfile::tempdir().unwrap();
        std::fs::write(work.path().join("file.txt"), "one line\n").unwrap();
        let mut random = Self {
            store,
            work,
            witness: Arc::new(Witness::new(Arc::new(model(Arc::clone(&answers))))),
            answers,
            oracle: Oracle::default(),
            pod: None,
            compactions: 0,
        };
        random.pod = Some(random.builder().start(&random.store, None).unwrap());
        random
    }

    fn builder(&self) -> Builder {
        let builder = Pod::builder(Arc::clone(&self.witness) as Arc<dyn Model>)
            .directory(self.work.path())
            .max_turns(8)
            .compact_limits(CompactLimits {
                after_run: Threshold::Tokens(4_500),
                between_requests: Threshold::Tokens(5_500),
                ..CompactLimits::default()
            })
            .hook(Arc::new(Slow));
        FakeTool::all(|_| {})
            .into_iter()
            .fold(builder, Builder::tool)
    }

    fn info(&self) -> SessionInfo {
        session_info(self.pod.as_ref().unwrap(), &self.store)
    }

    fn place(&self, share: f64) -> Option<Uuid> {
        let entries = self.pod.as_ref().unwrap().entries();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a place in a short list"
        )]
        let index = (entries.len() as f64 * share) as usize;
        entries.get(index).map(|entry| entry.id)
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Run { replies, early } => {
                self.answers.lock().unwrap().replies = replies.into();
                self.run(Some("go"), early);
            }
            Step::Compact { early } => self.run(None, early),
            Step::Edit(operation) => {
                let pod = self.pod.as_mut().unwrap();
                let is_possible = pod.tasks().plan(&operation).is_ok();
                assert_eq!(pod.edit_tasks(&operation).is_ok(), is_possible);
            }
            Step::Resume => {
                let info = self.info();
                let tasks = self.pod.as_ref().unwrap().tasks().snapshot();
                self.pod = None;
                let pod = self.builder().resume(&self.store, &info, false).unwrap();
                assert_eq!(pod.tasks().snapshot(), tasks);
                self.pod = Some(pod);
            }
            Step::Fork(share) => {
                let entry = self.place(share);
                let forked = self.builder().fork(&self.store, &self.info(), None, entry);
                // What is carried in a fork stands in the session that it comes from.
                if let Ok(pod) = forked {
                    self.pod = Some(pod);
                    self.oracle.segments = 0;
                    self.witness.expect_another_past();
                }
            }
            Step::Rewind(share) => {
                if let Some(entry) = self.place(share)
                    && self.pod.as_mut().unwrap().rewind(entry).is_ok()
                {
                    self.witness.expect_another_past();
                }
            }
        }
    }

    /// Runs a prompt, or compacts.
    fn run(&mut self, prompt: Option<&str>, early: Option<(usize, bool)>) {
        let before = self.info().segment;
        let pod = self.pod.as_mut().unwrap();
        let handle = pod.handle();
        let mut run = match prompt {
            Some(prompt) => pod.run(prompt),
            None => pod.compact(),
        };
        match early {
            Some((polls, is_drop)) => {
                poll_run(&mut run, polls, |_| {});
                if !is_drop {
                    handle.interrupt();
                    assert!(poll_run(&mut run, usize::MAX, |_| {}));
                }
            }
            None => assert!(poll_run(&mut run, usize::MAX, |_| {})),
        }
        drop(run);
        self.compactions += self.info().segment - before;
    }

    /// What must hold after every step.
    fn check(&mut self) {
        let info = self.info();
        self.oracle.read(&self.store, &info);
        let pod = self.pod.as_ref().unwrap();
        check_session(pod, &self.store);
        let live: List = pod.tasks().with(|tasks| {
            let row = |task: &tools::task::Task| (task.status.to_string(), task.subject.clone());
            tasks.iter().map(row).collect()
        });
        assert_eq!(live, self.oracle.list);
    }
}

fn cases() -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The worker has a time limit, so there must be a clock that runs.
fn with_timer<T>(body: impl FnOnce() -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _guard = runtime.enter();
    body()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn the_laws_hold_over_compactions(steps in vec(step(), 1..12), works in vec(work(), 0..8)) {
        with_timer(|| {
            let mut random = Random::new(works);
            for step in steps {
                random.take(step);
                random.check();
            }
        });
    }
}

/// That the sessions above are what they are meant to be.
#[test]
fn the_random_sessions_do_compact() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut compactions = 0;
    with_timer(|| {
        for _ in 0..60 {
            let steps = vec(step(), 1..12).new_tree(&mut runner).unwrap().current();
            let mut random = Random::new(Vec::new());
            for step in steps {
                random.take(step);
                random.check();
            }
            compactions += random.compactions;
        }
    });
    assert!(compactions > 30, "{compactions}");
}
