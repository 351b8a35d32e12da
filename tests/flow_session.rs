//! A session that is left and comes back: resume, fork, rewind.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use llm::Model;
use llm::scripted::{Answer, Scripted};
use pod::session::{Disk as _, RealDisk};
use pod::{Pod, SessionStore};
use serde_json::json;
use testkit::flow::play;
use testkit::laws::{check_session, session_info};

/// BR-021, BR-022: the list is there before the first prompt, on every way back into a session.
#[test]
fn br_022_the_list_is_there_before_the_first_prompt() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
assistant: Done.
[resume]
[tasks]
[fork]
[tasks]
[rewind 3]
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
04 assistant: Done.
== completed, turns: 2: "Done."
== resumed: 1 to 4
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
== forked: 1 to 4
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
== rewound: 1 to 3
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
"#);
}

/// BR-024: after a rewind everything is what it was there, the next id too.
#[test]
fn br_024_a_rewind_takes_the_list_back() {
    insta::assert_snapshot!(play(r#"
user: first
assistant:
  > TaskCreate {"subject":"a","description":""}
assistant: Here.
user: second
assistant:
  > TaskUpdate {"taskid":1,"status":"completed"}
  > TaskCreate {"subject":"b","description":""}
assistant: There.
[rewind 4]
[tasks]
user: otherwise
assistant:
  > TaskCreate {"subject":"c","description":""}
assistant: Elsewhere.
[resume]
"#), @r#"
== user: first
01 user: first
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
-> the model is asked with 1 to 3
04 assistant: Here.
== completed, turns: 2: "Here."
== user: second
05 user: second
-> the model is asked with 1 to 5
06 assistant:
06   > TaskUpdate#call_2 {"taskid":1,"status":"completed"}
06   > TaskCreate#call_3 {"subject":"b","description":""}
07 result call_2: #1 [pending -> completed] a
   | 1 task: 0 pending, 0 inprogress, 1 completed, 0 deleted
   * #1 [pending -> completed] a
08 result call_3: #2 [pending] b
   | 2 tasks: 1 pending, 0 inprogress, 1 completed, 0 deleted
   * #2 [pending] b
-> the model is asked with 1 to 8
09 assistant: There.
== completed, turns: 2: "There."
== rewound: 1 to 4
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
== user: otherwise
05 user: otherwise
-> the model is asked with 1 to 5
06 assistant:
06   > TaskCreate#call_4 {"subject":"c","description":""}
07 result call_4: #2 [pending] c
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] c
-> the model is asked with 1 to 7
08 assistant: Elsewhere.
== completed, turns: 2: "Elsewhere."
== resumed: 1 to 8
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] c
"#);
}

/// BR-025: a rewind is undone by going to an entry that only an older segment has. The list is what
/// it was at once, without another prompt, and the task comes back under the same id.
#[tokio::test]
async fn br_025_a_rewind_can_be_undone() {
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let model = Scripted::from_answers([
        Answer::empty().call("TaskCreate", &json!({"subject": "a", "description": ""})),
        Answer::text("Done."),
    ]);
    let mut pod = Pod::builder(Arc::new(model))
        .directory(home.path())
        .start(&store, None)
        .unwrap();
    pod.run("go").outcome().await;
    let shown = pod.tasks().clone();
    let (first, last) = (pod.entries()[0].id, pod.entries()[3].id);

    pod.rewind(first).unwrap();
    assert_eq!(shown.snapshot(), []);
    pod.rewind(last).unwrap();
    assert_eq!(shown.snapshot()[0].subject, "a");
    assert_eq!(pod.session().segment(), 3);
    check_session(&pod, &store);
}

/// What a compaction made is one thing: to go back to a part of it is to go back to all of it, and the
/// list does not get lost on the way.
#[tokio::test]
async fn a_rewind_to_a_summary_keeps_the_list() {
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let model = Scripted::parse(
        r#"
assistant:
  > TaskCreate {"subject":"a","description":""}
assistant: Done.
assistant: Done again.
lane: write_summary
assistant:
  > write_summary {"text":"A task was made."}
"#,
    );
    let mut pod = Pod::builder(Arc::new(model.unwrap()))
        .directory(home.path())
        .start(&store, None)
        .unwrap();
    pod.run("many words ".repeat(5_000)).outcome().await;
    let outcome = pod.compact().outcome().await;
    assert!(
        matches!(outcome.status, pod::Status::Completed),
        "{outcome:?}"
    );
    pod.run("go on").outcome().await;
    let (tasks, made) = (pod.tasks().snapshot(), pod.entries()[0].id);

    pod.rewind(made).unwrap();
    assert_eq!(pod.tasks().snapshot(), tasks);
    check_session(&pod, &store);
}

#[test]
fn a_rewind_into_the_middle_of_calls_closes_them() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
  > TaskCreate {"subject":"b","description":""}
  > TaskCreate {"subject":"c","description":""}
assistant: Done.
[rewind 3]
user: go on
assistant:
  > TaskCreate {"subject":"d","description":""}
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > TaskCreate#call_1 {"subject":"a","description":""}
02   > TaskCreate#call_2 {"subject":"b","description":""}
02   > TaskCreate#call_3 {"subject":"c","description":""}
03 result call_1: #1 [pending] a
   | 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
   * #1 [pending] a
04 result call_2: #2 [pending] b
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] b
05 result call_3: #3 [pending] c
   | 3 tasks: 3 pending, 0 inprogress, 0 completed, 0 deleted
   * #3 [pending] c
-> the model is asked with 1 to 5
06 assistant: Done.
== completed, turns: 2: "Done."
== rewound: 1 to 5
04 error call_2: interrupted: the session was taken back to before the result
05 error call_3: interrupted: the session was taken back to before the result
== user: go on
06 user: go on
-> the model is asked with 1 to 6
07 assistant:
07   > TaskCreate#call_4 {"subject":"d","description":""}
08 result call_4: #2 [pending] d
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] d
-> the model is asked with 1 to 8
09 assistant: Done.
== completed, turns: 2: "Done."
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] d
"#);
}

#[test]
fn a_fork_goes_its_own_way() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
  > TaskCreate {"subject":"b","description":""}
assistant: Done.
[fork 3]
user: go on
assistant:
  > TaskCreate {"subject":"c","description":""}
assistant: Done.
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
05 assistant: Done.
== completed, turns: 2: "Done."
== forked: 1 to 4
04 error call_2: interrupted; outcome unknown: the program ended before the call did. Check before you repeat it
== user: go on
05 user: go on
-> the model is asked with 1 to 5
06 assistant:
06   > TaskCreate#call_3 {"subject":"c","description":""}
07 result call_3: #2 [pending] c
   | 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
   * #2 [pending] c
-> the model is asked with 1 to 7
08 assistant: Done.
== completed, turns: 2: "Done."
== resumed: 1 to 8
tasks: 2 tasks: 2 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
#2 [pending] c
"#);
}

/// BR-099: a run that was dropped between a call and its result. The call is closed and not run
/// again, on a resume as well as in the same process.
#[test]
fn br_099_a_call_without_a_result_is_closed_and_not_run_again() {
    insta::assert_snapshot!(play(r#"
[mode bypassPermissions]
[drop after 18]
user: go
assistant:
  > Act {"text":"a","wait":30}
  > TaskCreate {"subject":"b","description":""}
[resume]
[drop after 18]
user: go on
assistant:
  > Act {"text":"c","wait":30}
user: and on
assistant: Done.
"#), @r#"
== user: go
01 user: go
-> the model is asked with 1 to 1
02 assistant:
02   > Act#call_1 {"text":"a","wait":30}
02   > TaskCreate#call_2 {"subject":"b","description":""}
   ~ Act call_1 begins
== the run is dropped
== resumed: 1 to 4
03 error call_1: interrupted; outcome unknown: the program ended before the call did. Check before you repeat it
04 error call_2: interrupted; outcome unknown: the program ended before the call did. Check before you repeat it
== user: go on
05 user: go on
-> the model is asked with 1 to 5
06 assistant:
06   > Act#call_3 {"text":"c","wait":30}
   ~ Act call_3 begins
== the run is dropped
== user: and on
07 error call_3: interrupted; outcome unknown
08 user: and on
-> the model is asked with 1 to 8
09 assistant: Done.
== completed, turns: 1: "Done."
tasks: There are no tasks.
"#);
}

/// BR-032: the state of tools that are not offered is kept, and nothing of it is shown.
#[test]
fn br_032_tasks_are_kept_when_their_tools_are_not_offered() {
    insta::assert_snapshot!(play(r#"
user: go
assistant:
  > TaskCreate {"subject":"a","description":""}
assistant: Done.
[offer Look]
[resume]
user: hello
assistant:
  > TaskUpdate {"taskid":1,"status":"deleted"}
assistant: Hello.
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
04 assistant: Done.
== completed, turns: 2: "Done."
== resumed: 1 to 4
== user: hello
05 user: hello
-> the model is asked with 1 to 5
06 assistant:
06   > TaskUpdate#call_2 {"taskid":1,"status":"deleted"}
07 error call_2: there is no tool `TaskUpdate`; the tools are: Look
-> the model is asked with 1 to 7
08 assistant: Hello.
== completed, turns: 2: "Hello."
tasks: 1 task: 1 pending, 0 inprogress, 0 completed, 0 deleted
#1 [pending] a
"#);
}

/// BR-071: what is done stays in the list.
#[test]
fn br_071_finished_tasks_stay_listed() {
    let idle = "user: more\nassistant: Nothing to do.\n".repeat(20);
    let played = play(&format!(
        r#"
user: go
assistant:
  > TaskCreate {{"subject":"a","description":""}}
  > TaskCreate {{"subject":"b","description":""}}
  > TaskUpdate {{"taskid":1,"status":"completed"}}
  > TaskUpdate {{"taskid":2,"status":"deleted"}}
assistant: Done.
{idle}
[resume]
"#
    ));
    assert!(
        played.ends_with("#1 [completed] a\n#2 [deleted] b\n"),
        "{played}"
    );
}

/// BR-061: two hundred updates, one after the other; all are there after a resume.
#[test]
fn br_061_every_acknowledged_update_is_there_after_a_resume() {
    let statuses = ["inprogress", "completed", "pending", "deleted"];
    let mut updates = String::new();
    for number in 0..200 {
        let (task, status) = (number % 3 + 1, statuses[number % 4]);
        let update = json!({"taskid": task, "status": status, "subject": format!("s{number}")});
        let _ = writeln!(updates, "  > TaskUpdate {update}");
    }
    let played = play(&format!(
        r#"
user: go
assistant:
  > TaskCreate {{"subject":"a","description":""}}
  > TaskCreate {{"subject":"b","description":""}}
  > TaskCreate {{"subject":"c","description":""}}
{updates}
assistant: Done.
[resume]
"#
    ));
    let tail = "#1 [pending] s198\n#2 [deleted] s199\n#3 [completed] s197\n";
    assert!(played.ends_with(tail), "{played}");
}

/// BR-031, BR-033: two sessions of one directory in one process know nothing of each other.
#[tokio::test]
async fn br_033_two_pods_in_one_process_share_nothing() {
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let start = |subject: &str| {
        let answers = (0..5).flat_map(|_| {
            let call = json!({"subject": subject, "description": ""});
            [
                Answer::empty()
                    .call("TaskCreate", &call)
                    .call("TaskCreate", &call),
                Answer::text("Done."),
            ]
        });
        let model: Arc<dyn Model> = Arc::new(Scripted::from_answers(answers.collect::<Vec<_>>()));
        Pod::builder(model)
            .directory(home.path())
            .start(&store, None)
            .unwrap()
    };
    let (mut left, mut right) = (start("left"), start("right"));
    for _ in 0..5 {
        let (mut one, mut other) = (left.run("go"), right.run("go"));
        tokio::join!(one.outcome(), other.outcome());
    }
    for (pod, subject) in [(&left, "left"), (&right, "right")] {
        check_session(pod, &store);
        let tasks = pod.tasks().snapshot();
        assert_eq!(tasks.len(), 10);
        assert!(tasks.iter().all(|task| task.subject == subject));
    }
}

/// BR-058: a second Pod on a session that is in use is refused, also in the same process.
#[test]
fn br_058_a_session_in_use_is_not_opened_again() {
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path()).durable(false);
    let builder = || {
        let model = Scripted::from_answers([]);
        Pod::builder(Arc::new(model)).directory(home.path())
    };
    let pod = builder().start(&store, None).unwrap();
    let error = builder()
        .resume(&store, &session_info(&pod, &store), false)
        .err()
        .unwrap();
    let holder = format!("pid {}", std::process::id());
    assert!(error.to_string().contains(&holder), "{error}");
}

/// A lock that was given back is free at once, also while another thread starts a program: between
/// its fork and its exec the child has every open file of this process, the lock's too.
#[test]
fn a_lock_is_free_as_soon_as_it_is_given_back() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("lock");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::process::Command::new("true").status().unwrap();
            }
        });
        let held = (0..200)
            .filter(|_| RealDisk.lock(&path, "pid 1").is_err())
            .count();
        done.store(true, Ordering::Relaxed);
        assert_eq!(held, 0);
    });
}

#[test]
fn a_tool_with_the_name_of_a_task_tool_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path());
    let tool = testkit::tools::FakeTool::new("TaskCreate", tools::Effect::Read, |_| {});
    let error = Pod::builder(Arc::new(Scripted::from_answers([])))
        .directory(home.path())
        .tool(Arc::new(tool))
        .start(&store, None)
        .err()
        .unwrap();
    insta::assert_snapshot!(error, @"the name TaskCreate belongs to a task tool, whose calls a session is restored from; give the tool another name");
    assert_eq!(store.list_all().unwrap().len(), 0, "nothing was begun");
}

/// What was set up wrongly is told before anything is begun.
#[test]
fn a_directory_that_is_missing_is_told_before_a_session_is_begun() {
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path());
    let error = Pod::builder(Arc::new(Scripted::from_answers([])))
        .directory(home.path())
        .add_directory(home.path().join("missing"))
        .start(&store, None)
        .err()
        .unwrap();
    let text = error
        .to_string()
        .replace(&home.path().display().to_string(), "HOME");
    insta::assert_snapshot!(text, @"HOME/missing: No such file or directory (os error 2); give directories that exist");
    assert_eq!(store.list_all().unwrap().len(), 0, "nothing was begun");
}

/// A rule that can never hold is said, since its author thinks that it does.
#[test]
fn a_rule_about_no_tool_is_said() {
    let home = tempfile::tempdir().unwrap();
    let store = SessionStore::new(home.path());
    let pod = Pod::builder(Arc::new(Scripted::from_answers([])))
        .directory(home.path())
        .allow(pod::Rule::parse_list("bash(ls:*),Edit").unwrap())
        .deny(pod::Rule::parse_list("Bash(rm:*),Reed").unwrap())
        .start(&store, None)
        .unwrap();
    insta::assert_snapshot!(pod.notices().join("\n"), @r"
    the rule bash(ls:*) is about no tool of this session; names count in upper and lower case
    the rule Reed is about no tool of this session; names count in upper and lower case
    ");
}
