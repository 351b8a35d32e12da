//! The laws over random sessions: what is live is what is replayed, ids are 1, 2, 3, ... in call
//! order, every request is well-formed and extends the one before it, reminders stand where they are
//! due, and a compaction carries the list, whatever a model, a person, a program and the world do.
//!
//! `PROPTEST_CASES` sets how many sessions are tried; the default is 2,000.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex};

use llm::scripted::{Answer, Scripted};
use llm::{Arguments, AssistantMessage, Capability, Item, Model, ModelError, Origin, StopReason};
use pod::hook::HookCall;
use pod::permission::{self, Question};
use pod::session::LogError;
use pod::{
    Approver, Builder, Event, Hook, PermissionMode, Pod, PodError, Rule, SessionStore, hook,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use testkit::clock::StepClock;
use testkit::future::{poll_run, yield_once};
use testkit::laws::{Witness, check_reminders, check_session, session_info};
use testkit::tools::FakeTool;
use tools::task::{Status, TaskId, TaskOperation};

/// What is done to a session.
#[derive(Clone, Debug)]
enum Step {
    Run {
        answers: Vec<Reply>,
        /// What the hook and the person say, one after the other.
        deeds: Vec<Deed>,
        /// After how many polls the run is ended early, if it is, and whether by dropping it.
        early: Option<(usize, bool)>,
    },
    Mode(PermissionMode),
    /// A change of the list by hand, and whether it is asked for as one is during a run.
    Edit(TaskOperation, bool),
    /// After so many polls it is ended early, if a number is given, by dropping it.
    Compact(Option<usize>),
    Resume,
    /// To a place in the history, as a share of its length.
    Fork(Option<f64>),
    Rewind(f64),
}

/// What a model answers.
#[derive(Clone, Debug)]
enum Reply {
    Message { calls: Vec<Call>, stop: StopReason },
    Fault,
}

#[derive(Clone, Debug)]
struct Call {
    id: &'static str,
    name: &'static str,
    arguments: String,
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    Nothing,
    Deny,
    End,
    Change,
}

fn call() -> impl Strategy<Value = Call> {
    let text = select(vec!["a", "日本 👩‍👩‍👧", "x\ny", " ", ""]);
    let create = text.prop_map(|subject| {
        let arguments = json!({"subject": subject, "description": "d"});
        ("TaskCreate", arguments.to_string())
    });
    let status = select(vec![
        "pending",
        "in_progress",
        "Completed",
        "deleted",
        "done",
    ]);
    let update = (0..8_u32, status).prop_map(|(id, status)| {
        let arguments = json!({"taskId": id.to_string(), "status": status});
        ("TaskUpdate", arguments.to_string())
    });
    let broken = (
        select(vec!["TaskCreate", "TaskUpdate", "TaskGet", "Look", "Act"]),
        select(vec![
            "",
            "{\"subject\":\"a\"",
            r#"{"subject":"\ud83d","description":""}"#,
            r#"{"subject":"a","description":"","owner":"me"}"#,
            r#""{\"subject\":\"s\",\"description\":\"\"}""#,
            r#"{"taskid":1,"id":1,"status":"pending"}"#,
            "[1]",
            "null",
            "7",
        ]),
    );
    let broken = broken.prop_map(|(name, arguments)| (name, arguments.to_owned()));
    let read = select(vec!["TaskList", "TaskGet", "NoSuchTool", ""])
        .prop_map(|name| (name, json!({"taskid": 1}).to_string()));
    let other = (
        select(vec!["Look", "Change", "Act"]),
        0..4_u8,
        any::<bool>(),
    );
    let other = other.prop_map(|(name, wait, fails)| {
        let mut arguments = json!({"text": "t", "wait": wait});
        if fails {
            arguments["fail"] = json!("failed");
        }
        (name, arguments.to_string())
    });
    // Mostly the ids of a good server, and what others send.
    let id = prop_oneof![
        4 => Just(""),
        1 => select(vec!["same", "same", "other", "functions.X:0", "ä", "a b"]),
    ];
    let what = prop_oneof![4 => create, 3 => update, 2 => broken, 1 => read, 3 => other];
    (id, what).prop_map(|(id, (name, arguments))| Call {
        id,
        name,
        arguments,
    })
}

fn reply() -> impl Strategy<Value = Reply> {
    let stop = prop_oneof![
        8 => Just(StopReason::ToolUse),
        1 => Just(StopReason::MaxTokens),
    ];
    let message =
        (vec(call(), 0..5), stop).prop_map(|(calls, stop)| Reply::Message { calls, stop });
    prop_oneof![12 => message, 1 => Just(Reply::Fault)]
}

/// What a person changes; some of it cannot be.
fn edit() -> impl Strategy<Value = TaskOperation> {
    let text = || select(vec!["by hand", "日本 👩‍👩‍👧", "x\ny", " "]).prop_map(str::to_owned);
    let create = text().prop_map(|subject| TaskOperation::Create {
        subject,
        description: String::from("d"),
        active_form: None,
    });
    let status = proptest::option::of(select(Status::ALL.to_vec()));
    let update = (0..8_u32, status, proptest::option::of(text()));
    let update = update.prop_map(|(id, status, subject)| TaskOperation::Update {
        id: TaskId::new(id),
        status,
        subject,
        description: None,
        active_form: None,
    });
    prop_oneof![create, update]
}

fn step() -> impl Strategy<Value = Step> {
    let deed = prop_oneof![
        6 => Just(Deed::Nothing),
        1 => Just(Deed::Deny),
        1 => Just(Deed::Change),
    ];
    // To end the run is rare, since nothing happens behind it.
    let deed = prop_oneof![20 => deed, 1 => Just(Deed::End)];
    let early = proptest::option::weighted(0.4, (0..60_usize, any::<bool>()));
    let run = (vec(reply(), 0..4), vec(deed, 0..12), early);
    let run = run.prop_map(|(answers, deeds, early)| Step::Run {
        answers,
        deeds,
        early,
    });
    prop_oneof![
        8 => run,
        2 => (edit(), any::<bool>()).prop_map(|(operation, queued)| Step::Edit(operation, queued)),
        1 => select(PermissionMode::ALL.to_vec()).prop_map(Step::Mode),
        2 => proptest::option::weighted(0.3, 0..30_usize).prop_map(Step::Compact),
        2 => Just(Step::Resume),
        1 => proptest::option::of(0.0..1.0).prop_map(Step::Fork),
        1 => (0.0..1.0).prop_map(Step::Rewind),
    ]
}

/// The hook and the person: both take their time and do what is next.
#[derive(Clone, Default)]
struct Deeds(Arc<Mutex<VecDeque<Deed>>>);

impl Deeds {
    async fn next(&self) -> Deed {
        yield_once().await;
        let next = self.0.lock().unwrap().pop_front();
        next.unwrap_or(Deed::Nothing)
    }
}

#[async_trait::async_trait]
impl Hook for Deeds {
    fn name(&self) -> &'static str {
        "random"
    }

    async fn before_tool(&self, call: HookCall<'_>) -> hook::Before {
        match self.next().await {
            Deed::Nothing | Deed::End => hook::Before::Continue,
            Deed::Deny => hook::Before::Deny(String::new()),
            Deed::Change if call.name == "TaskCreate" => {
                hook::Before::Change(json!({"subject": "changed", "description": ""}))
            }
            Deed::Change => hook::Before::Allow {
                changed_arguments: Some(json!({"taskid": 1, "subject": "changed"})),
            },
        }
    }

    async fn after_tool(&self, _: HookCall<'_>, _: &llm::ToolResult) -> hook::After {
        match self.next().await {
            Deed::Deny => hook::After::Fail(String::from("not good")),
            _ => hook::After::Keep,
        }
    }
}

#[async_trait::async_trait]
impl Approver for Deeds {
    async fn ask(&self, _: Question<'_>) -> permission::Answer {
        match self.next().await {
            Deed::Nothing => permission::Answer::Allow {
                changed_arguments: None,
            },
            Deed::Change => permission::Answer::Allow {
                changed_arguments: Some(json!({"text": "secret"})),
            },
            deed => permission::Answer::Deny {
                reason: String::from("no"),
                interrupt: matches!(deed, Deed::End),
            },
        }
    }
}

/// The answers of the run that goes on; when there are none left, the model is done.
type Replies = Arc<Mutex<VecDeque<Reply>>>;

fn model(replies: Replies) -> Scripted {
    let capability = Capability {
        context_window: 30_000,
        ..Capability::default()
    };
    let mut summaries = 0;
    Scripted::from_fn("random", capability, move |request| {
        if request
            .tools
            .iter()
            .any(|tool| tool.name == "write_summary")
        {
            summaries += 1;
            let summary = json!({"text": format!("Summary {summaries}: something was done.")});
            return Ok(Answer::empty().call("write_summary", &summary).into());
        }
        let reply = replies.lock().unwrap().pop_front();
        match reply {
            None => Ok(Answer::text("Done.").into()),
            Some(Reply::Fault) => Err(ModelError::Cut(String::from("in the middle"))),
            Some(Reply::Message { calls, stop }) => {
                let answer = calls.into_iter().fold(Answer::empty(), |answer, call| {
                    answer.raw_call(call.id, call.name, Arguments::new(call.arguments))
                });
                Ok(AssistantMessage::from(answer.stop(stop)))
            }
        }
    })
}

/// Said often enough to be worth a compaction.
const PROMPT: &str = "Do what has to be done, and do not say more than needs to be said. ";

/// Few enough that it comes to reminders in sessions as short as these.
const REMIND_AFTER: u32 = 3;

/// A session to which things are done.
struct Random {
    home: tempfile::TempDir,
    store: SessionStore,
    witness: Arc<Witness>,
    replies: Replies,
    deeds: Deeds,
    begun: Arc<Mutex<HashMap<String, u32>>>,
    /// Changes by hand that are asked for during the next run.
    edits: VecDeque<TaskOperation>,
    /// Whether a run may have left some that were asked for.
    has_queued: bool,
    pod: Option<Pod>,
}

impl Random {
    fn new() -> Self {
        let home = match std::path::Path::new("/dev/shm") {
            memory if memory.is_dir() => tempfile::tempdir_in(memory).unwrap(),
            _ => tempfile::tempdir().unwrap(),
        };
        let replies = Replies::default();
        let store = SessionStore::new(home.path())
            .with_clock(Arc::new(StepClock::default()))
            .durable(false);
        let mut random = Self {
            store,
            home,
            witness: Arc::new(Witness::new(Arc::new(model(Arc::clone(&replies))))),
            replies,
            deeds: Deeds::default(),
            begun: Arc::default(),
            edits: VecDeque::new(),
            has_queued: false,
            pod: None,
        };
        random.pod = Some(random.builder().start(&random.store, None).unwrap());
        random
    }

    fn builder(&self) -> Builder {
        let begun = Arc::clone(&self.begun);
        let count = move |line: String| {
            if let Some(call) = line.strip_suffix(" begins") {
                *begun.lock().unwrap().entry(call.to_owned()).or_default() += 1;
            }
        };
        let builder = Pod::builder(Arc::clone(&self.witness) as Arc<dyn Model>)
            .directory(self.home.path())
            .deny(Rule::parse_list("Act(secret)").unwrap())
            .max_turns(6)
            .remind_after(REMIND_AFTER)
            .hook(Arc::new(self.deeds.clone()))
            .approver(Arc::new(self.deeds.clone()));
        FakeTool::all(count)
            .into_iter()
            .fold(builder, Builder::tool)
    }

    fn pod(&mut self) -> &mut Pod {
        self.pod.as_mut().unwrap()
    }

    fn place(&mut self, share: f64) -> Option<uuid::Uuid> {
        let entries = self.pod().entries();
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
            Step::Run {
                answers,
                deeds,
                early,
            } => self.run(answers, deeds, early),
            Step::Edit(operation, true) => self.edits.push_back(operation),
            Step::Edit(operation, false) => {
                let before = self.pod().tasks().snapshot();
                let planned = self.pod().tasks().plan(&operation);
                match self.pod().edit_tasks(&operation) {
                    Ok(change) => assert_eq!(change, planned.unwrap()),
                    Err(PodError::Edit(_)) => {
                        assert!(planned.is_err());
                        assert_eq!(self.pod().tasks().snapshot(), before);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            Step::Mode(mode) => self.pod().handle().set_permission_mode(mode),
            Step::Compact(polls) => {
                let tasks = self.pod().tasks().snapshot();
                let pod = self.pod.as_mut().unwrap();
                let segment = pod.session().segment();
                poll_run(&mut pod.compact(), polls.unwrap_or(usize::MAX), |_| {});
                if pod.session().segment() != segment {
                    // Ids of calls that were summarised may come again.
                    self.begun.lock().unwrap().clear();
                }
                if !self.has_queued {
                    assert_eq!(pod.tasks().snapshot(), tasks);
                }
            }
            Step::Resume => {
                let info = session_info(self.pod.as_ref().unwrap(), &self.store);
                let tasks = self.pod().tasks().snapshot();
                self.pod = None;
                let pod = self.builder().resume(&self.store, &info, false).unwrap();
                assert_eq!(pod.notices(), [""; 0]);
                assert_eq!(pod.tasks().snapshot(), tasks);
                self.pod = Some(pod);
                self.has_queued = false;
            }
            Step::Fork(share) => {
                let entry = share.and_then(|share| self.place(share));
                let info = session_info(self.pod.as_ref().unwrap(), &self.store);
                match self.builder().fork(&self.store, &info, None, entry) {
                    Ok(pod) => {
                        self.pod = Some(pod);
                        self.has_queued = false;
                        self.forget();
                    }
                    Err(error) => assert!(is_only_carried(&error), "{error}"),
                }
            }
            Step::Rewind(share) => {
                if let Some(entry) = self.place(share) {
                    match self.pod().rewind(entry) {
                        Ok(notices) => {
                            assert_eq!(notices, [""; 0]);
                            self.forget();
                        }
                        Err(error) => assert!(is_only_carried(&error), "{error}"),
                    }
                }
            }
        }
    }

    /// The history was cut: ids of calls that are not in it any more may come again.
    fn forget(&mut self) {
        self.witness.expect_another_past();
        self.begun.lock().unwrap().clear();
    }

    fn run(&mut self, answers: Vec<Reply>, deeds: Vec<Deed>, early: Option<(usize, bool)>) {
        *self.replies.lock().unwrap() = answers.into();
        *self.deeds.0.lock().unwrap() = deeds.into();
        let known = self.pod().entries().len();
        let segment = self.pod().session().segment();
        let mut told = Vec::new();
        let pod = self.pod.as_mut().unwrap();
        let handle = pod.handle();
        let edits = &mut self.edits;
        // What is asked for when the run has ended already waits for the next one.
        self.has_queued |= !edits.is_empty();
        let mut tell = |event: &Event| {
            match event {
                Event::Entry(entry) => told.push(entry.clone()),
                // A person may ask for a change of a task that is not there.
                Event::Warning(text) if text.starts_with("the task list was not changed") => {}
                Event::Warning(text) => panic!("{text}"),
                _ => {}
            }
            if let Some(operation) = edits.pop_front() {
                handle.edit_tasks(operation);
            }
        };
        let mut run = pod.run(PROMPT.repeat(60));
        match early {
            Some((polls, is_drop)) => {
                poll_run(&mut run, polls, &mut tell);
                if !is_drop {
                    handle.interrupt();
                    assert!(poll_run(&mut run, usize::MAX, &mut tell));
                }
            }
            None => assert!(poll_run(&mut run, usize::MAX, &mut tell)),
        }
        drop(run);
        if pod.session().segment() == segment {
            // What was not read of a dropped run is in the history all the same.
            let appended = pod.entries().get(known..).unwrap();
            assert!(appended.starts_with(&told), "told in the order of commit");
        }
    }

    /// What must hold after every step.
    fn check(&mut self) {
        let pod = self.pod.as_ref().unwrap();
        check_session(pod, &self.store);
        check_reminders(pod.entries(), REMIND_AFTER as usize);

        // Law 5, from the results alone: each success is the next id.
        let mut names = HashMap::new();
        let mut created = 0;
        for entry in pod.entries().iter().filter(|entry| !entry.carried) {
            match &*entry.item {
                Item::System(message) if message.origin == Origin::TaskSnapshot => {
                    let tasks = &message.data.as_ref().unwrap()["tasks"];
                    created = tasks.as_array().unwrap().len();
                }
                Item::System(message) if message.origin == Origin::TaskEdit => {
                    created += usize::from(message.data.as_ref().unwrap().get("create").is_some());
                }
                Item::Assistant(message) => {
                    names.extend(message.calls().map(|call| (&call.id, &call.name)));
                }
                Item::ToolResult(result)
                    if !result.is_error && names[&result.call_id] == "TaskCreate" =>
                {
                    created += 1;
                    let task = &result.value.as_ref().unwrap().to_value()["task"];
                    assert_eq!(task["taskid"], created);
                }
                _ => {}
            }
        }
        assert_eq!(pod.tasks().snapshot().len(), created);

        let begun = self.begun.lock().unwrap();
        assert!(begun.values().all(|times| *times == 1), "{begun:?}");
    }
}

/// A fork of a compacted session has entries that stand whole only in the session it comes from. To go
/// back to one of them is refused, and nothing is changed.
fn is_only_carried(error: &PodError) -> bool {
    matches!(error, PodError::Log(LogError::Carried { .. }))
}

static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
});

fn cases() -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn the_laws_hold_in_every_session(steps in vec(step(), 1..10)) {
        // A compaction sets a timer, which is never waited for here.
        let _runtime = RUNTIME.enter();
        let mut random = Random::new();
        for step in steps {
            random.take(step);
            random.check();
        }
    }
}
