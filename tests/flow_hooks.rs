//! Hooks at the moments of a run that are not about a single call: a prompt, the results of a message,
//! the end, a compaction.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use llm::scripted::Scripted;
use llm::{Item, Origin, ToolResult, UserMessage};
use pod::hook::{After, AtEnd, BeforeCompaction, HookCall, Prompt};
use pod::session::MemoryDisk;
use pod::{Event, Hook, Pod, PodError, SessionStore, Status, Trigger};

/// Says what a test wants, and keeps what it was asked.
#[derive(Default)]
struct Says {
    prompt: Option<Prompt>,
    after: Option<After>,
    end: Option<AtEnd>,
    compaction: Option<BeforeCompaction>,
    /// Never answers about a prompt.
    is_stuck: bool,
    asked: Mutex<Vec<String>>,
}

impl Says {
    fn note(&self, text: String) {
        self.asked.lock().unwrap().push(text);
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Hook for Says {
    fn name(&self) -> &'static str {
        "of the test"
    }

    async fn after_tool(&self, call: HookCall<'_>, _: &ToolResult) -> After {
        self.note(format!("after {}", call.name));
        self.after.clone().unwrap_or(After::Keep)
    }

    async fn before_prompt(&self, prompt: &UserMessage) -> Prompt {
        self.note(format!("prompt {}", prompt.joined_text()));
        if self.is_stuck {
            std::future::pending::<()>().await;
        }
        self.prompt.clone().unwrap_or(Prompt::Continue)
    }

    async fn before_end(&self, text: &str, again: bool) -> AtEnd {
        self.note(format!("end {text} {again}"));
        match &self.end {
            Some(end) if !again => end.clone(),
            _ => AtEnd::End,
        }
    }

    async fn before_compaction(&self, trigger: Trigger) -> BeforeCompaction {
        self.note(format!("compaction {}", trigger.as_str()));
        self.compaction
            .clone()
            .unwrap_or(BeforeCompaction::Continue)
    }
}

fn pod(home: &tempfile::TempDir, script: &str, hook: &Arc<Says>) -> Pod {
    let store = SessionStore::new("/sessions").with_disk(Arc::new(MemoryDisk::new()));
    Pod::builder(Arc::new(Scripted::parse(script).unwrap()))
        .directory(home.path())
        .hook(Arc::clone(hook) as Arc<dyn Hook>)
        .start(&store, None)
        .unwrap()
}

/// The history: who speaks, and what they say.
fn told(pod: &Pod) -> Vec<String> {
    let entries = pod.entries().iter();
    let told = entries.map(|entry| match &*entry.item {
        Item::User(message) => format!("user: {}", message.joined_text()),
        Item::Assistant(message) => format!("assistant: {}", message.joined_text()),
        Item::ToolResult(result) => format!("result: {}", result.is_error),
        Item::System(message) => format!("{}: {}", message.origin, message.text),
    });
    told.collect()
}

#[tokio::test]
async fn the_model_reads_a_note_behind_the_prompt() {
    let home = tempfile::tempdir().unwrap();
    let hook = Arc::new(Says {
        prompt: Some(Prompt::Note(String::from("It is Monday."))),
        ..Says::default()
    });
    let mut pod = pod(&home, "assistant: Hello.", &hook);
    pod.run("Go.").outcome().await;
    assert_eq!(
        told(&pod),
        ["user: Go.", "hook: It is Monday.", "assistant: Hello."]
    );
    assert_eq!(hook.asked(), ["prompt Go.", "end Hello. false"]);
}

#[tokio::test]
async fn a_prompt_that_is_refused_leaves_no_trace() {
    let home = tempfile::tempdir().unwrap();
    let refused = |reason: &str| {
        Arc::new(Says {
            prompt: Some(Prompt::Deny(reason.to_owned())),
            ..Says::default()
        })
    };
    for (reason, expected) in [
        ("Not that.", "Not that."),
        ("", "refused by the hook of the test, which gave no reason"),
    ] {
        let mut pod = pod(&home, "assistant: Hello.", &refused(reason));
        let outcome = pod.run("Go.").outcome().await;
        let Status::Failed(PodError::PromptDenied(told_reason)) = &outcome.status else {
            panic!("{:?}", outcome.status);
        };
        assert_eq!(told_reason, expected);
        assert!(pod.entries().is_empty());
    }
}

#[tokio::test]
async fn what_no_hook_has_let_pass_does_not_enter_the_history() {
    let home = tempfile::tempdir().unwrap();
    let hook = Arc::new(Says {
        is_stuck: true,
        ..Says::default()
    });
    let mut pod = pod(&home, "assistant: Hello.", &hook);
    let handle = pod.handle();
    let mut run = pod.run("Go.");
    let outcome = tokio::select! {
        biased;
        outcome = run.outcome() => outcome,
        () = tokio::task::yield_now() => {
            handle.interrupt();
            run.outcome().await
        }
    };
    assert!(matches!(outcome.status, Status::Interrupted));
    drop(run);
    assert!(pod.entries().is_empty());
}

#[tokio::test]
async fn what_is_said_of_a_result_stands_behind_all_results() {
    let home = tempfile::tempdir().unwrap();
    let hook = Arc::new(Says {
        after: Some(After::Note(String::from("Mind the gap."))),
        ..Says::default()
    });
    let script = r#"
assistant:
  > TaskCreate {"subject":"a","description":""}
  > TaskCreate {"subject":"b","description":""}
assistant: Done.
"#;
    let mut pod = pod(&home, script, &hook);
    pod.run("Go.").outcome().await;
    let note = "hook: Mind the gap.";
    let expected = [
        "user: Go.",
        "assistant: ",
        "result: false",
        "result: false",
        note,
        note,
        "assistant: Done.",
    ];
    assert_eq!(told(&pod), expected);
    assert_eq!(pod.tasks().counts().total(), 2, "the results stand");
}

#[tokio::test]
async fn a_hook_may_keep_the_run_going() {
    let home = tempfile::tempdir().unwrap();
    let hook = Arc::new(Says {
        end: Some(AtEnd::GoOn(String::from("And the tests?"))),
        ..Says::default()
    });
    let mut pod = pod(&home, "assistant: Done.\nassistant: Now really.", &hook);
    let outcome = pod.run("Go.").outcome().await;
    assert_eq!((outcome.text.as_str(), outcome.turns), ("Now really.", 2));
    assert_eq!(
        hook.asked()[1..],
        ["end Done. false", "end Now really. true"]
    );
    let is_note = |item: &Item| matches!(item, Item::System(note) if note.origin == Origin::Hook);
    assert_eq!(
        pod.entries().iter().filter(|it| is_note(&it.item)).count(),
        1
    );
}

#[tokio::test]
async fn a_compaction_that_is_refused_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let hook = Arc::new(Says {
        compaction: Some(BeforeCompaction::Deny(String::from("Keep it all."))),
        ..Says::default()
    });
    let long = "word ".repeat(20_000);
    let script = format!("assistant: {long}\nassistant: {long}");
    let mut pod = pod(&home, &script, &hook);
    for prompt in ["One.", "Two."] {
        pod.run(prompt).outcome().await;
    }
    let before = told(&pod);
    let mut run = pod.compact();
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    drop(run);
    let Some(Event::Finished(outcome)) = events.last() else {
        panic!("{events:?}");
    };
    let Status::Failed(PodError::NotCompacted(reason)) = &outcome.status else {
        panic!("{:?}", outcome.status);
    };
    assert!(reason.contains("Keep it all."), "{reason}");
    assert_eq!(told(&pod), before);
    assert_eq!(
        hook.asked().last().map(String::as_str),
        Some("compaction manual")
    );
}

/// A hook that refuses without a word: the model is told who refused, and nothing has happened, now and
/// after a resume.
#[tokio::test]
async fn br_084_a_refusal_without_a_reason_names_the_hook_and_changes_nothing() {
    struct Silent(bool);

    #[async_trait]
    impl Hook for Silent {
        fn name(&self) -> &'static str {
            "of the house"
        }

        async fn before_tool(&self, call: HookCall<'_>) -> pod::hook::Before {
            if self.0 && call.name == "TaskUpdate" {
                return pod::hook::Before::Deny(String::new());
            }
            pod::hook::Before::Continue
        }

        async fn after_tool(&self, call: HookCall<'_>, _: &ToolResult) -> After {
            if !self.0 && call.name == "TaskUpdate" {
                return After::Fail(String::from("  "));
            }
            After::Keep
        }
    }

    const SCRIPT: &str = "assistant:\n  > TaskCreate {\"subject\":\"a\",\"description\":\"d\"}\n  > TaskUpdate {\"taskid\":1,\"status\":\"completed\"}\nassistant: Then not.\n";
    let home = tempfile::tempdir().unwrap();
    for is_before in [true, false] {
        let store = SessionStore::new("/sessions").with_disk(Arc::new(MemoryDisk::new()));
        let builder = || {
            Pod::builder(Arc::new(Scripted::parse(SCRIPT).unwrap()))
                .directory(home.path())
                .hook(Arc::new(Silent(is_before)))
        };
        let mut pod = builder().start(&store, None).unwrap();
        pod.run("Go.").outcome().await;
        let refused = pod.entries().iter().find_map(|entry| match &*entry.item {
            Item::ToolResult(result) if result.is_error => Some(result.summary.clone()),
            _ => None,
        });
        let refused = refused.unwrap();
        assert!(refused.contains("of the house"), "{refused}");
        let tasks = pod.tasks().snapshot();
        assert_eq!(tasks[0].status.as_str(), "pending");
        let info = testkit::laws::session_info(&pod, &store);
        drop(pod);
        let resumed = builder().resume(&store, &info, false).unwrap();
        assert_eq!(resumed.tasks().snapshot(), tasks);
    }
}
