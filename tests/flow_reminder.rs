//! The quiet reminder of open tasks: when it comes, what it says, and that it is true.

use std::fmt::Write as _;
use std::io::Read as _;
use std::sync::{Arc, Mutex};

use llm::scripted::{Answer, Scripted};
use llm::{AssistantMessage, Capability, Item, Model, ModelError, Origin, Request};
use pod::session::MemoryDisk;
use pod::{Builder, Event, Pod, SessionStore, Status, TaskTools};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::flow::play;
use testkit::laws::{Witness, check_reminders, check_session};
use testkit::server::{Block, Reply, Server};
use testkit::tools::FakeTool;
use tools::task::Dialect;

/// A Pod that may do anything, with a model of this function whose requests are checked.
struct Session {
    pod: Pod,
    store: SessionStore,
    _home: TempDir,
}

impl Session {
    fn begin(
        set_up: impl FnOnce(Builder) -> Builder,
        answer: impl FnMut(&Request<'_>) -> Result<AssistantMessage, ModelError> + Send + 'static,
    ) -> Self {
        // Large enough that no history here is compacted by itself.
        let capability = Capability {
            context_window: 10_000_000,
            ..Capability::default()
        };
        let model = Scripted::from_fn("reminded", capability, answer);
        Self::with(Arc::new(Witness::new(Arc::new(model))), set_up)
    }

    fn with(model: Arc<dyn Model>, set_up: impl FnOnce(Builder) -> Builder) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = SessionStore::new("/pod").with_disk(Arc::new(MemoryDisk::new()));
        let builder = Pod::builder(model).directory(home.path());
        let builder = FakeTool::all(|_| {})
            .into_iter()
            .fold(builder, Builder::tool);
        Self {
            pod: set_up(builder).start(&store, None).unwrap(),
            store,
            _home: home,
        }
    }

    async fn run(&mut self, prompt: &str) -> Status {
        let mut run = self.pod.run(prompt);
        while let Some(event) = run.next().await {
            if let Event::Finished(outcome) = event {
                assert!(!matches!(outcome.status, Status::Failed(_)), "{outcome:?}");
            }
        }
        let outcome = run.outcome().await;
        drop(run);
        check_session(&self.pod, &self.store);
        if matches!(outcome.status, Status::MaxTurns) {
            Status::MaxTurns
        } else {
            Status::Completed
        }
    }

    fn reminders(&self) -> Vec<String> {
        let items = self.pod.entries().iter().map(|entry| &entry.item);
        items.filter_map(|item| reminder(item)).collect()
    }
}

fn reminder(item: &Item) -> Option<String> {
    match item {
        Item::System(message) if message.origin == Origin::Reminder => Some(message.text.clone()),
        _ => None,
    }
}

fn look() -> Answer {
    Answer::empty().call("Look", &json!({"text": "."}))
}

fn create(subject: &str) -> Answer {
    let arguments = json!({"subject": subject, "description": "d"});
    Answer::empty().call("TaskCreate", &arguments)
}

fn update(task: usize, status: &str) -> Answer {
    let arguments = json!({"taskid": task, "status": status});
    Answer::empty().call("TaskUpdate", &arguments)
}

/// When it comes and what it says: the third request after the list was used last, and again three
/// requests later; the run and the program in between make no difference, and a compaction begins
/// anew.
#[test]
fn a_reminder_comes_when_open_tasks_are_left_alone() {
    insta::assert_snapshot!(play(
        r#"
[remind after 3]
lane: write_summary
assistant:
  > write_summary {"text":"Two tasks were planned."}
lane: main
user: plan
assistant:
  > TaskCreate {"subject":"lexer","description":"Tokens with positions."}
  > TaskCreate {"subject":"parser","description":""}
assistant:
  > TaskUpdate {"taskid":2,"status":"inprogress"}
assistant: Planned.
user: go
assistant:
  > Look {"text":"a"}
assistant: Seen.
[resume]
user: more
assistant:
  > Look {"text":"b"}
  > TaskUpdate {"taskid":7,"status":"completed"}
assistant:
  > Look {"text":"c"}
assistant:
  > Look {"text":"d"}
assistant:
  > TaskUpdate {"taskid":2,"status":"completed"}
assistant: Done.
[compact]
user: on
assistant: One.
user: on
assistant: Two.
user: on
assistant: Three.
user: on
assistant: Four.
"#
    ));
}

/// BR-086: whoever keeps the list is never reminded, and each use of the list counts, looking too.
#[tokio::test]
async fn br_086_a_list_that_is_used_brings_no_reminder() {
    let mut request = 0;
    let mut session = Session::begin(
        |builder| builder.remind_after(5),
        move |_| {
            request += 1;
            Ok(match request {
                1 => create("the only one").into(),
                200 => Answer::text("Done.").into(),
                number if number % 10 == 0 => update(1, "inprogress").into(),
                number if number % 5 == 0 => Answer::empty().call("TaskList", &json!({})).into(),
                _ => look().into(),
            })
        },
    );
    session.run("go").await;
    assert_eq!(session.reminders(), [""; 0]);
    check_reminders(session.pod.entries(), 5);
}

/// BR-086: it can be turned off, and asking for it at each request does not make it one.
#[tokio::test]
async fn br_086_a_reminder_has_an_off_switch_and_a_cool_down() {
    for (after, reminders) in [(0, 0), (1, 9), (2, 9), (20, 0), (10, 1)] {
        let mut request = 0;
        let mut session = Session::begin(
            |builder| builder.remind_after(after),
            move |_| {
                request += 1;
                Ok(match request {
                    1 => create("left alone").into(),
                    20 => Answer::text("Done.").into(),
                    _ => look().into(),
                })
            },
        );
        session.run("go").await;
        assert_eq!(session.reminders().len(), reminders, "after {after}");
    }
}

/// BR-087: however long the list and its texts are, a reminder names ten tasks by a short row.
#[tokio::test]
async fn br_087_a_reminder_is_short_however_long_the_list_is() {
    let mut request = 0;
    let mut session = Session::begin(
        |builder| builder.remind_after(4),
        move |_| {
            request += 1;
            let create = |answer: Answer, number| {
                let subject = format!("Nummer {number}: {}", "sehr lang 👩‍👩‍👧 ".repeat(20));
                let description = "Der Grund ist 日本. ".repeat(100);
                let arguments = json!({"subject": subject, "description": description});
                answer.call("TaskCreate", &arguments)
            };
            Ok(match request {
                1 => (0..175).fold(Answer::empty(), create).into(),
                10 => Answer::text("Done.").into(),
                _ => look().into(),
            })
        },
    );
    session.run("go").await;
    let reminders = session.reminders();
    assert_eq!(reminders.len(), 2);
    for text in &reminders {
        assert!(text.len() < 2_000, "{}", text.len());
        assert_eq!(
            text.lines().filter(|line| line.starts_with('#')).count(),
            10
        );
        assert!(text.ends_with("\nand 165 more open tasks"), "{text}");
        assert!(!text.contains("Der Grund"), "{text}");
    }
}

/// BR-088: it is marked as what it is in the log, it is no word of the user or the model, and what
/// counts is answers, not the pieces or the calls that they are made of.
#[tokio::test]
async fn br_088_a_reminder_is_marked_and_counted_by_requests() {
    let mut request = 0;
    let mut session = Session::begin(
        |builder| builder.remind_after(3),
        move |_| {
            request += 1;
            let looks = (0..8).fold(Answer::text("Some words. ".repeat(50)), |answer, _| {
                answer.call("Look", &json!({"text": "."}))
            });
            Ok(match request {
                1 => create("left alone").into(),
                5 => Answer::text("Done.").into(),
                _ => looks.into(),
            })
        },
    );
    session.run("go").await;
    let entries = session.pod.entries();
    let place = entries.iter().position(|it| reminder(&it.item).is_some());
    let before = entries.iter().take(place.unwrap());
    let answers = before.filter(|it| matches!(&*it.item, Item::Assistant(_)));
    assert_eq!(answers.count(), 4);

    let id = session.pod.session().id().to_string();
    let info = session.store.find(&id).unwrap();
    let mut log = String::new();
    let mut file = session
        .store
        .disk()
        .open_read(&info.newest_segment())
        .unwrap();
    file.read_to_string(&mut log).unwrap();
    let line = log
        .lines()
        .find(|line| line.contains("left alone") && line.contains("system"));
    let line: Value = serde_json::from_str(line.unwrap()).unwrap();
    assert_eq!(
        (&line["type"], &line["origin"]),
        (&json!("system"), &json!("reminder"))
    );
}

/// BR-091, BR-092: the rows show the tasks as they are, and so do the counts; in each dialect.
#[tokio::test]
async fn br_091_a_reminder_shows_each_task_as_it_is() {
    let statuses = ["pending", "inprogress", "completed", "deleted"];
    for dialect in [Dialect::Pod, Dialect::AgentSdk] {
        let mut request = 0;
        let mut session = Session::begin(
            |builder| builder.remind_after(6).task_tools(TaskTools::Four(dialect)),
            move |_| {
                request += 1;
                Ok(match request {
                    1..=13 => create(&format!("task {request}")).into(),
                    14..=26 => {
                        let task = request - 13;
                        update(task, statuses[task % 4]).into()
                    }
                    33 => Answer::text("Done.").into(),
                    _ => look().into(),
                })
            },
        );
        session.run("go").await;
        let reminders = session.reminders();
        let [text] = reminders.as_slice() else {
            panic!("{reminders:?}")
        };
        let shown: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(str::to_owned)
            .collect();
        let mut open = session.pod.tasks().snapshot();
        open.retain(|task| task.status.is_open());
        open.sort_by_key(|task| (task.status == tools::task::Status::Pending, task.id));
        let rows: Vec<String> = open
            .iter()
            .map(|task| {
                format!(
                    "#{} [{}] {}",
                    task.id,
                    dialect.status(task.status),
                    task.subject
                )
            })
            .collect();
        assert_eq!(shown, rows);
        let counts = match dialect {
            Dialect::Pod => "13 tasks: 3 pending, 4 inprogress, 3 completed, 3 deleted",
            Dialect::AgentSdk => "10 tasks: 3 pending, 4 in_progress, 3 completed",
        };
        assert!(text.contains(counts), "{text}");
    }
}

/// BR-092: nothing is said of the list while there is nothing to do, and after a compaction no
/// reminder from before it is left.
#[tokio::test]
async fn br_092_what_a_reminder_says_is_true_in_each_request() {
    let wrong = Arc::new(Mutex::new(String::new()));
    let said = Arc::clone(&wrong);
    let mut request = 0;
    let mut session = Session::begin(
        |builder| builder.remind_after(2),
        move |asked| {
            if asked.tools.iter().any(|tool| tool.name == "write_summary") {
                let text = format!("{:?}", asked.conversation.items());
                if text.contains("the task list was not used") {
                    said.lock()
                        .unwrap()
                        .push_str("a reminder was told to the worker\n");
                }
                let summary = json!({"text": "Something was done."});
                return Ok(Answer::empty().call("write_summary", &summary).into());
            }
            let items = asked.conversation.items();
            let reminders = items.iter().filter(|item| reminder(item).is_some()).count();
            // The fifth request has the reminder of the only open task; the compaction drops it.
            let expected = usize::from((5..8).contains(&request));
            if request < 12 && reminders != expected {
                let _ = writeln!(said.lock().unwrap(), "request {request}: {reminders}");
            }
            request += 1;
            Ok(match request {
                1 => create("the only one").into(),
                2 | 7 => update(1, "completed").into(),
                3 => update(1, "pending").into(),
                8 | 20 => Answer::text("Done.").into(),
                _ => look().into(),
            })
        },
    );
    session.run(&"Do what has to be done. ".repeat(400)).await;
    let mut run = session.pod.compact();
    assert!(matches!(run.outcome().await.status, Status::Completed));
    drop(run);
    session.run("go on").await;
    assert_eq!(*wrong.lock().unwrap(), "");
    check_reminders(session.pod.entries(), 2);
}

/// BR-093: open tasks make no run go on, and without a tool to do anything about them they are not
/// spoken of.
#[tokio::test]
async fn br_093_open_tasks_begin_no_request() {
    let requests = Arc::new(Mutex::new(0));
    let count = Arc::clone(&requests);
    let mut session = Session::begin(
        |builder| builder.remind_after(2),
        move |_| {
            let mut count = count.lock().unwrap();
            *count += 1;
            Ok(match *count {
                1 => create("for a person").into(),
                _ => Answer::text("Waiting for you.").into(),
            })
        },
    );
    for prompt in 1..=4 {
        session.run("go").await;
        assert_eq!(*requests.lock().unwrap(), prompt + 1);
    }

    for set_up in [
        (|builder: Builder| builder.offer(|name| name != "TaskUpdate")) as fn(Builder) -> Builder,
        |builder| builder.task_tools(TaskTools::None),
    ] {
        let mut request = 0;
        let mut session = Session::begin(
            |builder| set_up(builder.remind_after(2)),
            move |_| {
                request += 1;
                Ok(match request {
                    1 => create("nobody can change it").into(),
                    9 => Answer::text("Done.").into(),
                    _ => look().into(),
                })
            },
        );
        session.run("go").await;
        assert_eq!(session.reminders(), [""; 0]);
    }
}

/// Every wire sends it so that its rules hold, and each request extends the one before it.
#[tokio::test]
async fn reminders_keep_the_rules_of_every_wire() {
    for name in [
        "claude-sonnet-4-6",
        "claude-opus-5-5",
        "openai:gpt-5.1",
        "openai:local",
        "openai-responses:gpt-5.1",
        "openai-responses:local",
    ] {
        let mut request = 0;
        let server = Server::respond(move |_| {
            request += 1;
            let arguments = json!({"subject": "left alone", "description": "d"});
            let call = |tool, arguments| Block::call(&format!("call_{request}"), tool, arguments);
            match request {
                1 => Reply::turn([call("TaskCreate", &arguments)]),
                2..9 => Reply::turn([call("Look", &json!({"text": "."}))]),
                _ => Reply::text("Done."),
            }
        });
        let model = testkit::talk::model(name, &server.url());
        let mut session = Session::with(model, |builder| builder.remind_after(3));
        session.run("go").await;
        assert_eq!(session.reminders().len(), 2, "{name}");
        let requests = server.requests();
        for pair in requests.windows(2) {
            assert!(pair[1].extends(&pair[0]), "{name}: {}", pair[1].number);
        }
        let told = requests.iter().filter(|it| {
            it.body.contains("left alone") && it.body.contains("the task list was not used")
        });
        assert_eq!(told.count(), 5, "{name}");
        server.finish();
    }
}
