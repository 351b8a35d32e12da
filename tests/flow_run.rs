//! How a run ends: done, too many turns, a model that fails, a limit, an interruption, a full disk.

use std::sync::Arc;

use pod::{Pod, PodError, SessionStore, Status};
use testkit::flow::play;

/// A run of at most N turns asks N times, and the calls of the last answer run.
#[test]
fn the_calls_of_the_last_turn_run() {
    insta::assert_snapshot!(play(r#"
[max turns 2]
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
assistant:
  > TaskCreate {"subject":"b","description":""}
user: go on
assistant: Two tasks.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
-> the model is asked with 1 to 3
04 assistant:
04   > TaskCreate#call_2 {"subject":"b","description":""}
05 result call_2: #2 [pending] b
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] b
== stopped at the most turns, turns: 2
== user: go on
06 user: go on
-> the model is asked with 1 to 6
07 assistant: Two tasks.
== completed, turns: 1: "Two tasks."
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] b
"#);
}

#[test]
fn an_answer_in_the_last_turn_completes_the_run() {
    insta::assert_snapshot!(play(r"
[max turns 1]
user: go
assistant: Done.
[max turns 0]
[resume]
user: go on
"), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant: Done.
== completed, turns: 1: "Done."
== resumed: 1 to 2
== user: go on
03 user: go on
== stopped at the most turns, turns: 0
tasks: There are no tasks.
"#);
}

#[test]
fn a_model_that_fails_ends_the_run_and_the_next_one_goes_on() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
fault: cut
user: again
fault: overloaded
[resume]
user: and again
assistant:
  > TaskUpdate {"taskid":1,"status":"completed"}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
-> the model is asked with 1 to 3
== failed: the response was cut off: the script says so at line 4; try again, turns: 1
== user: again
04 user: again
-> the model is asked with 1 to 4
== failed: the provider is overloaded (HTTP 529): the script says so at line 5; try again later, turns: 0
== resumed: 1 to 4
== user: and again
05 user: and again
-> the model is asked with 1 to 5
06 assistant:
06   > TaskUpdate#call_2 {"taskid":1,"status":"completed"}
07 result call_2: #1 [pending -> completed] a
   | 1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
   * #1 [pending -> completed] a
-> the model is asked with 1 to 7
08 assistant: Done.
== completed, turns: 2: "Done."
tasks: 1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
#1 [completed] a
"#);
}

/// BR-023: an error at the end of a turn leaves the open tasks in the list, live and after a resume.
#[test]
fn br_023_open_tasks_stay_when_a_run_ends_in_an_error() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
  > TaskCreate {"subject":"b","description":""}
fault: failed
[tasks]
[resume]
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
02   > TaskCreate#call_2 {"subject":"b","description":""}
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
04 result call_2: #2 [pending] b
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] b
-> the model is asked with 1 to 4
== failed: the provider failed (HTTP 500): the script says so at line 5, turns: 1
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] b
== resumed: 1 to 4
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] b
"#);
}

/// An answer that was cut by the output limit is gone on with, a few times.
#[test]
fn an_answer_at_the_output_limit_is_gone_on_with() {
    insta::assert_snapshot!(play(r#"
user: go
assistant: The first half
stop: max_tokens
assistant:
  > TaskCreate {"subject":"a","description":""}
stop: max_tokens
assistant: and the second.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant: The first half
03 system(interruption): Your last answer reached the output limit and was cut off here; a tool call that it had begun was not run. Go on from there, in smaller steps.
-> the model is asked with 1 to 3
04 assistant:
04   > TaskCreate#call_1 {"subject":"a","description":""}
05 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
-> the model is asked with 1 to 5
06 assistant: and the second.
== completed, turns: 3: "and the second."
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
"#);
}

#[test]
fn a_model_that_only_runs_into_the_limit_ends() {
    insta::assert_snapshot!(play(r"
user: go
assistant: a
stop: max_tokens
assistant:
stop: max_tokens
assistant: c
stop: max_tokens
assistant: d
stop: max_tokens
assistant: never said
"), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant: a
03 system(interruption): Your last answer reached the output limit and was cut off here; a tool call that it had begun was not run. Go on from there, in smaller steps.
-> the model is asked with 1 to 3
04 assistant:
05 system(interruption): Your last answer reached the output limit and was cut off here; a tool call that it had begun was not run. Go on from there, in smaller steps.
-> the model is asked with 1 to 5
06 assistant: c
07 system(interruption): Your last answer reached the output limit and was cut off here; a tool call that it had begun was not run. Go on from there, in smaller steps.
-> the model is asked with 1 to 7
08 assistant: d
== completed, turns: 4: "d"
tasks: There are no tasks.
"#);
}

#[test]
fn an_empty_answer_ends_the_run() {
    insta::assert_snapshot!(play(r"
user: go
assistant:
user: go on
assistant: Here I am.
"), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
== completed, turns: 1
== user: go on
03 user: go on
-> the model is asked with 1 to 3
04 assistant: Here I am.
== completed, turns: 1: "Here I am."
tasks: There are no tasks.
"#);
}

/// Interrupted before anything happened: the prompt and the interruption are in the history.
#[test]
fn an_interruption_at_the_start_keeps_the_prompt() {
    insta::assert_snapshot!(play(r"
[interrupt at start]
user: go
user: go on
assistant: Done.
"), @r#"
== user: go
01 user: go
02 system(interruption): The user interrupted the work here.
== interrupted, turns: 0
== user: go on
03 user: go on
-> the model is asked with 1 to 3
04 assistant: Done.
== completed, turns: 1: "Done."
tasks: There are no tasks.
"#);
}

/// A hook that has not let a prompt pass yet is not passed over by an interruption.
#[tokio::test]
async fn an_interruption_before_a_hook_has_answered_leaves_the_prompt_out() {
    struct Slow;

    #[async_trait::async_trait]
    impl pod::Hook for Slow {
        fn name(&self) -> &'static str {
            "slow"
        }

        async fn before_prompt(&self, _: &llm::UserMessage) -> pod::hook::Prompt {
            std::future::pending().await
        }
    }

    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let model = llm::scripted::Scripted::from_answers([]);
    let mut pod = Pod::builder(Arc::new(model))
        .directory(home.path())
        .hook(Arc::new(Slow))
        .start(&store, None)
        .unwrap();
    let handle = pod.handle();
    let mut run = pod.run("the password is swordfish");
    testkit::future::poll_run(&mut run, 1, |_| {});
    handle.interrupt();
    let outcome = run.outcome().await;
    assert!(matches!(outcome.status, Status::Interrupted));
    drop(run);
    assert!(pod.entries().is_empty());
}

#[test]
fn an_interruption_while_the_model_speaks_leaves_half_of_nothing() {
    insta::assert_snapshot!(play(r#"
[interrupt when still]
user: go
fault: stall
assistant: never told
  > TaskCreate {"subject":"a","description":""}
user: go on
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 system(interruption): The user interrupted the work here.
== interrupted, turns: 0
== user: go on
03 user: go on
-> the model is asked with 1 to 3
04 assistant: never told
04   > TaskCreate#call_1 {"subject":"a","description":""}
05 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
-> the model is asked with 1 to 5
06 assistant: Done.
== completed, turns: 2: "Done."
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
"#);
}

/// Calls that never began are told apart from those whose outcome is unknown.
#[test]
fn an_interruption_during_calls_says_what_did_not_run() {
    insta::assert_snapshot!(play(r#"
[mode bypassPermissions]
[after Act interrupt]
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
  > Act {"text":"b"}
  > TaskCreate {"subject":"c","description":""}
  > Act {"text":"d"}
[after Look interrupt]
user: go on
assistant:
  > Look {"text":"e"}
  > Look {"text":"f"}
  > TaskCreate {"subject":"g","description":""}
user: and on
assistant: Done.
[resume]
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
02   > Act#call_2 {"text":"b"}
02   > TaskCreate#call_3 {"subject":"c","description":""}
02   > Act#call_4 {"text":"d"}
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
   ~ Act call_2 begins
   ~ Act call_2 ends
04 error call_2: interrupted by the user; outcome unknown
05 error call_3: not run: the user interrupted the work before this call
06 error call_4: not run: the user interrupted the work before this call
07 system(interruption): The user interrupted the work here.
== interrupted, turns: 1
== user: go on
08 user: go on
-> the model is asked with 1 to 8
09 assistant:
09   > Look#call_5 {"text":"e"}
09   > Look#call_6 {"text":"f"}
09   > TaskCreate#call_7 {"subject":"g","description":""}
   ~ Look call_5 begins
   ~ Look call_6 begins
   ~ Look call_5 ends
   ~ Look call_6 ends
10 error call_5: interrupted by the user; outcome unknown
11 error call_6: interrupted by the user; outcome unknown
12 error call_7: not run: the user interrupted the work before this call
13 system(interruption): The user interrupted the work here.
== interrupted, turns: 1
== user: and on
14 user: and on
-> the model is asked with 1 to 14
15 assistant: Done.
== completed, turns: 1: "Done."
== resumed: 1 to 15
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
"#);
}

/// Denials are part of the outcome also when the run is interrupted behind them.
#[test]
fn an_interruption_keeps_the_denials() {
    insta::assert_snapshot!(play(r#"
[answer deny no]
[answer interrupt]
user: go
assistant:
  > Act {"text":"a"}
  > Act {"text":"b"}
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > Act#call_1 {"text":"a"}
02   > Act#call_2 {"text":"b"}
   ? Act a
03 error call_1: permission denied: no
   ? Act b
04 error call_2: not run: the user interrupted the work before this call
05 system(interruption): The user interrupted the work here.
== interrupted, turns: 1
   denied: Act#call_1
tasks: There are no tasks.
"#);
}

/// An interruption when no run goes on, or behind the end of one, stops nothing.
#[tokio::test]
async fn an_interruption_between_runs_stops_nothing() {
    let home = tempfile::tempdir().unwrap();
    let model = llm::scripted::Scripted::parse("assistant: a\nassistant: b").unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let mut pod = Pod::builder(Arc::new(model))
        .directory(home.path())
        .start(&store, None)
        .unwrap();
    for _ in 0..2 {
        pod.handle().interrupt();
        let outcome = pod.run("go").outcome().await;
        assert!(matches!(outcome.status, Status::Completed));
    }
}

#[tokio::test]
async fn an_outcome_can_be_asked_for_at_any_time() {
    let home = tempfile::tempdir().unwrap();
    let model = llm::scripted::Scripted::parse("assistant: a").unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let mut pod = Pod::builder(Arc::new(model))
        .directory(home.path())
        .start(&store, None)
        .unwrap();
    let mut run = pod.run("go");
    while run.next().await.is_some() {}
    assert_eq!(run.outcome().await.text, "a");
    assert_eq!(run.outcome().await.text, "a");
}

#[tokio::test]
async fn an_empty_prompt_is_refused_and_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let model = llm::scripted::Scripted::parse("assistant: a").unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let mut pod = Pod::builder(Arc::new(model))
        .directory(home.path())
        .start(&store, None)
        .unwrap();
    for prompt in ["", " \n\t"] {
        let outcome = pod.run(prompt).outcome().await;
        assert!(matches!(
            outcome.status,
            Status::Failed(PodError::EmptyPrompt)
        ));
    }
    assert!(pod.entries().is_empty());
}

#[test]
fn another_model_answers_from_the_next_request_on() {
    insta::assert_snapshot!(play(r#"
[model second after Look]
user: go
assistant:
  > Look {"text":"a"}
assistant: never said
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > Look#call_1 {"text":"a"}
   ~ Look call_1 begins
   ~ Look call_1 ends
03 result call_1: a
04 assistant: I am second.
== completed, turns: 2: "I am second."
tasks: There are no tasks.
"#);
}

/// BR-050: success is told only when it is on disk. The run stops, memory has not run ahead, and
/// when there is room again the session goes on.
#[test]
fn br_050_a_full_disk_stops_the_run_and_memory_does_not_run_ahead() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
assistant: One task.
[room 3]
user: another two
assistant:
  > TaskCreate {"subject":"b","description":""}
  > TaskCreate {"subject":"c","description":""}
[tasks]
[room]
user: go on
assistant: Done.
[resume]
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
-> the model is asked with 1 to 3
04 assistant: One task.
== completed, turns: 2: "One task."
== user: another two
05 user: another two
-> the model is asked with 1 to 5
06 assistant:
06   > TaskCreate#call_2 {"subject":"b","description":""}
06   > TaskCreate#call_3 {"subject":"c","description":""}
07 result call_2: #2 [pending] b
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] b
== failed: cannot write to SESSION/0001.jsonl: no storage space; make room on the disk, then try again, turns: 1
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] b
== user: go on
08 error call_3: interrupted; outcome unknown
09 user: go on
-> the model is asked with 1 to 9
10 assistant: Done.
== completed, turns: 1: "Done."
== resumed: 1 to 10
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] b
"#);
}

/// The answer is there when the history is compacted behind it; to interrupt that interrupts no work.
#[test]
fn an_interruption_of_the_compaction_behind_a_run_leaves_it_completed() {
    let text = "many words ".repeat(2_000);
    let script = format!(
        "
window: 20000
[interrupt when still]
user: {text}
assistant: Done.
usage: input=19000 output=10
lane: write_summary
fault: stall
"
    );
    let played = play(&script);
    let tail: Vec<&str> = played.lines().rev().take(4).collect();
    insta::assert_snapshot!(tail.into_iter().rev().collect::<Vec<_>>().join("\n"), @r#"
    == compacting 19010 tokens: the history is large
    == not compacted: it was interrupted
    == completed, turns: 1: "Done."
    tasks: There are no tasks.
    "#);
}

/// Whoever listens gets one event for each change, for every status, and the whole list when a session
/// is opened again, before anything is asked.
#[tokio::test]
async fn br_081_each_change_is_one_event_and_a_resume_has_the_whole_list() {
    const SCRIPT: &str = r#"
assistant:
  > TaskCreate {"subject":"a","description":"d"}
  > TaskCreate {"subject":"b","description":"d"}
  > TaskUpdate {"taskid":1,"status":"inprogress"}
  > TaskUpdate {"taskid":7,"status":"completed"}
  > TaskList {}
assistant:
  > TaskUpdate {"taskid":1,"status":"completed"}
  > TaskUpdate {"taskid":2,"status":"deleted"}
assistant: Done.
"#;
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let builder = || {
        let model = llm::scripted::Scripted::parse(SCRIPT).unwrap();
        Pod::builder(Arc::new(model)).directory(home.path())
    };
    let mut pod = builder().start(&store, None).unwrap();
    let mut run = pod.run("go");
    let mut told = Vec::new();
    let mut list = Vec::new();
    while let Some(event) = run.next().await {
        if let pod::Event::Task(change) = event {
            told.push(format!("#{} {}", change.task.id, change.task.status));
            // A client that starts with nothing has the list by the events alone.
            let place = usize::try_from(change.task.id.number()).unwrap() - 1;
            list.resize(list.len().max(place + 1), None);
            list[place] = Some(change.task);
        }
    }
    drop(run);
    assert_eq!(
        told,
        [
            "#1 pending",
            "#2 pending",
            "#1 inprogress",
            "#1 completed",
            "#2 deleted"
        ]
    );
    let list: Vec<_> = list.into_iter().flatten().collect();
    assert_eq!(list, pod.tasks().snapshot());
    let info = testkit::laws::session_info(&pod, &store);
    drop(pod);
    let resumed = builder().resume(&store, &info, false).unwrap();
    assert_eq!(resumed.tasks().snapshot(), list);
}
