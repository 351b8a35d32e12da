//! The screen, as a person at a terminal drives it: the real program on a pseudo terminal.

use std::sync::Arc;

use llm::scripted::Scripted;
use pod::session::segment;
use pod::{Event, Pod, Rule, SessionStore};
use rustix::process::Signal;
use serde_json::Value;
use tools::task::{Status, Task, TaskId, TaskOperation};

use crate::program::World;
use crate::screen_world::Screen;

const USUAL: (u16, u16) = (80, 24);

/// The arguments for a script.
const SCRIPTED: [&str; 2] = ["--model", "scripted:script.txt"];

fn start(world: &World, script: &str) -> Screen {
    world.write("script.txt", script);
    let screen = Screen::start(world, USUAL, &SCRIPTED, &[]);
    screen.wait_for("say what to do");
    screen
}

/// The lines of the newest segment, in which the test finds what was logged.
fn log(world: &World) -> Vec<Value> {
    let log = world.log().unwrap_or_default();
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.collect()
}

#[track_caller]
fn assert_restored(screen: &Screen) {
    assert_eq!(screen.modes(), (false, true), "{}", screen.text());
    assert!(screen.is_cooked());
    assert!(
        screen.raw().windows(8).any(|it| it == b"\x1b[?2004l"),
        "pastes stay marked"
    );
}

/// A session with everything in it: tasks, files, a command, a compaction, an edit by hand.
const WHOLE: &str = r##"
model: demo
window: 20000

user: word counter
assistant: Two steps.
  > TaskCreate {"subject":"Write words.sh","description":"A shell script that counts words."}
  > TaskCreate {"subject":"Count","description":"Run it on itself."}
  > TaskUpdate {"taskid":1,"status":"inprogress"}
assistant:
  > Write {"file_path":"words.sh","content":"#!/bin/sh\ntr -s '[:space:]' '\\n' | grep -c .\n"}
  > TaskUpdate {"taskid":1,"status":"completed"}
  > TaskUpdate {"taskid":2,"status":"inprogress"}
assistant:
  > Bash {"command":"seq 1 6000 && sh words.sh < words.sh"}
assistant: Written and counted.
user: finish
assistant:
  > TaskUpdate {"taskid":2,"status":"completed"}
assistant: All of it is done.

lane: write_summary
assistant:
  > write_summary {"text":"words.sh is written and was run. What is left: nothing but to say so."}
"##;

/// The same session, driven through the library.
fn tasks_of_the_library() -> Vec<Task> {
    let directory = tempfile::tempdir().unwrap();
    let store = SessionStore::new(directory.path().join("home"));
    let work = directory.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let model = Arc::new(Scripted::parse(WHOLE).unwrap());
        let mut pod = Pod::builder(model)
            .directory(&work)
            .allow(Rule::parse_list("Write,Bash").unwrap())
            .start(&store, None)
            .unwrap();
        pod.run("a word counter").outcome().await;
        let add = TaskOperation::Create {
            subject: String::from("Look at it"),
            description: String::from("by hand"),
            active_form: None,
        };
        pod.edit_tasks(&add).unwrap();
        let mut compaction = pod.compact();
        let mut finished = 0;
        while let Some(event) = compaction.next().await {
            finished += usize::from(matches!(
                event,
                Event::Compaction(pod::Compaction::Finished(_))
            ));
        }
        drop(compaction);
        assert_eq!(finished, 1);
        pod.run("finish").outcome().await;
        let done = TaskOperation::Update {
            id: TaskId::new(3),
            status: Some(Status::Completed),
            subject: None,
            description: None,
            active_form: None,
        };
        pod.edit_tasks(&done).unwrap();
        pod.tasks().snapshot()
    })
}

fn tasks_of_the_log(world: &World) -> Vec<Task> {
    let store = SessionStore::new(world.session().ancestors().nth(3).unwrap());
    let info = store.find(&world.session().display().to_string()).unwrap();
    let contents = segment::read(store.disk(), &info.newest_segment(), false).unwrap();
    let mut fold = tools::task::TaskFold::default();
    for located in &contents.entries {
        pod::replay::fold_entry(&mut fold, &located.entry).unwrap();
    }
    fold.store().snapshot()
}

#[test]
fn a_whole_session_by_keys_only_ends_with_the_list_of_the_library() {
    let world = World::new();
    let mut screen = start(&world, WHOLE);
    screen.send("a word counter");
    screen.wait_for("May Write do this?");
    screen.press("a");
    screen.wait_for("May Bash do this?");
    screen.wait_for("seq 1 6000");
    screen.press("y");
    screen.wait_for("Written and counted.");
    screen.wait_for("1/2 done");

    screen.press("\x14");
    screen.wait_for("Run it on itself.");
    screen.press("t");
    screen.wait_for("#1 inprogress -> completed: Write words.sh");
    screen.press("\x1b");
    screen.wait_for("Written and counted.");

    screen.send("/tasks add Look at it :: by hand");
    screen.wait_for("you changed the list: #3 [pending] Look at it");
    screen.send("/compact");
    screen.wait_for("compacted (manual)");
    screen.send("finish");
    screen.wait_for("All of it is done.");
    screen.send("/tasks done 3");
    screen.wait_for("3/3 done");
    screen.send("/verify");
    screen.wait_for("every law holds");
    screen.press("\x1b");
    screen.wait_for("3/3 done");
    screen.send("/quit");
    assert_eq!(screen.wait_for_end(), 0);
    assert_restored(&screen);
    screen.wait_for("3 tasks: 0 pending, 0 inprogress, 3 completed, 0 deleted");
    screen.wait_for("go on with: pod --resume ");

    let tasks = tasks_of_the_log(&world);
    assert_eq!(tasks.len(), 3);
    assert_eq!(tasks, tasks_of_the_library());
    let _ = world.pod(&["verify"]).success();
}

#[test]
fn a_session_is_continued_forked_and_taken_back() {
    let world = World::new();
    let mut screen = start(&world, WHOLE);
    screen.send("a word counter");
    screen.wait_for("May Write do this?");
    // Not this one: the run goes on without it.
    screen.press("n");
    screen.wait_for("May Bash do this?");
    screen.press("\x1b");
    screen.wait_for("interrupted");
    screen.press("\x04");
    assert_eq!(screen.wait_for_end(), 0);

    let arguments = ["--continue", "--model", "scripted:script.txt"];
    let mut screen = Screen::start(&world, USUAL, &arguments, &[]);
    screen.wait_for("1/2 done");
    screen.send("/fork");
    screen.wait_for("this is a copy of");
    screen.send("/tasks drop 1");
    screen.wait_for("0/1 done, 1 deleted");
    screen.send("/rewind");
    screen.wait_for("Go back to before which message?");
    screen.wait_for("There were no tasks then.");
    screen.press("\r");
    screen.wait_for("this is a new session");
    screen.wait_for("> a word counter");
    // The text is there to be changed; nothing is sent by itself.
    screen.press("\x03");
    screen.send("/resume");
    screen.wait_for("Go on with which session?");
    screen.wait_for("0/1 done");
    screen.press("\x1b");
    screen.wait_for("say what to do");
    screen.send("/reusme");
    screen.wait_for("did you mean /resume?");
    screen.send("/quit");
    assert_eq!(screen.wait_for_end(), 0);
    assert_restored(&screen);
}

#[test]
fn a_change_by_hand_during_a_run_is_logged_before_the_next_request() {
    let world = World::new();
    let script = r#"
assistant:
  > TaskCreate {"subject":"wait","description":"For the file."}
assistant:
  > Bash {"command":"while [ ! -e go ]; do sleep 0.02; done"}
assistant: I have seen it.
"#;
    world.write("script.txt", script);
    let arguments = [&["work"], &SCRIPTED[..], &["--allowedTools", "Bash"]].concat();
    let mut screen = Screen::start(&world, USUAL, &arguments, &[]);
    screen.wait_for("running Bash");
    screen.send("/tasks done 9");
    screen.wait_for("there is no task 9");
    screen.send("/tasks done 1");
    screen.wait_for("before the next request");
    world.write("go", "");
    screen.wait_for("I have seen it.");
    screen.wait_for("1/1 done");
    screen.send("/quit");
    assert_eq!(screen.wait_for_end(), 0);

    let kinds: Vec<String> = log(&world)
        .iter()
        .filter_map(|line| line.get("origin").or(line.get("type")))
        .map(|kind| kind.as_str().unwrap().to_owned())
        .collect();
    insta::assert_snapshot!(kinds.join(" "), @"session user assistant tool_result assistant tool_result task_edit assistant");
    let _ = world.pod(&["verify"]).success();
}

/// A mistake in the program: what it says stands on a terminal that is as it was, nothing of the session
/// is lost, and what a command started is ended.
#[test]
fn a_panic_leaves_the_terminal_and_the_session_in_order() {
    let script = "assistant:\n  > TaskCreate {\"subject\":\"kept\",\"description\":\"\"}\n\
        assistant: Now.\n  > TaskCreate {\"subject\":\"not told of\",\"description\":\"\"}\nassistant: Done.\n";
    let asked_for = "POD_FAULT_AT";
    let mut met = 0;
    for nth in 1..60 {
        let world = World::new();
        world.write("script.txt", script);
        let fault = format!("{nth}:panic");
        let mut screen = Screen::start(&world, USUAL, &SCRIPTED, &[("POD_FAULT_AT", &fault)]);
        screen.wait("the screen or the end", |text| {
            text.contains("say what to do") || text.contains(asked_for)
        });
        if !screen.text().contains(asked_for) {
            screen.send("go");
            screen.wait("an answer or the end", |text| {
                text.contains("Done.") || text.contains(asked_for)
            });
            if !screen.text().contains(asked_for) {
                break;
            }
            met += 1;
            assert_restored(&screen);
            let _ = world.pod(&["verify"]).success();
        }
        assert_eq!(screen.wait_for_end(), 101, "{nth}");
        assert!(screen.is_cooked());
    }
    assert!(met > 3, "{met}");
}

/// An answer that takes its time.
fn slow_answer() -> String {
    let lines: Vec<String> = (1..=60)
        .map(|line| format!("  Line {line} of a long answer."))
        .collect();
    format!(
        "delay: 10ms\nassistant: Beginning.\n{}\n  The very end.\n",
        lines.join("\n")
    )
}

#[test]
fn the_window_is_resized_while_an_answer_arrives() {
    let world = World::new();
    let mut screen = start(&world, &slow_answer());
    screen.send("go");
    screen.wait_for("Beginning.");
    for (columns, rows) in [(40, 12), (200, 60), (13, 5), (80, 24)] {
        screen.resize(columns, rows);
        screen.wait_for("Line");
    }
    screen.resize(40, 12);
    screen.wait_for("The very end.");
    screen.wait("rest", |text| !text.contains("Esc stops"));
    insta::assert_snapshot!(world.steady(&screen.text()));
    screen.press("\x04");
    assert_eq!(screen.wait_for_end(), 0);
    assert_restored(&screen);
}

#[test]
fn ten_thousand_lines_are_pasted() {
    let world = World::new();
    let mut screen = start(&world, "assistant: That was long.\n");
    let lines: Vec<String> = (1..=10_000)
        .map(|line| format!("line {line} \u{65e5}\u{672c}"))
        .collect();
    let text = lines.join("\n");
    screen.press("\x1b[200~");
    for part in lines.chunks(500) {
        screen.press(&part.join("\r"));
        screen.press("\r");
    }
    screen.press("end\x1b[201~");
    screen.wait_for("10001 lines");
    screen.press("\r");
    screen.wait_for("That was long.");
    screen.wait_for("and 9991 more lines (Ctrl-O shows them)");
    screen.press("\x04");
    assert_eq!(screen.wait_for_end(), 0);
    let sent = log(&world)[1]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(sent == format!("{text}\nend"), "{} bytes", sent.len());
}

#[test]
fn wide_characters_are_typed_and_shown() {
    let world = World::new();
    let script = "assistant: 了解しました 👍🏽 — naïve café ✓\n  > TaskCreate {\"subject\":\"日本語のテスト 👩‍👩‍👧\",\"description\":\"全角\"}\nassistant: 完了\n";
    let mut screen = start(&world, script);
    screen.press("日本語を👍書く");
    screen.wait_for("> 日本語を👍書く");
    screen.press("\x7f\x7f\x7f\r");
    screen.wait_for("完了");
    screen.wait_for("[ ] #1 日本語のテスト");
    screen.press("\x04");
    assert_eq!(screen.wait_for_end(), 0);
    assert_eq!(log(&world)[1]["content"][0]["text"], "日本語を");
}

#[test]
fn a_text_cannot_drive_the_terminal() {
    let world = World::new();
    let script = r#"
assistant:
  > TaskCreate {"subject":"\u001b[2J\u001b]0;title\u0007gone\u202etxet","description":"\u001b[?1049l"}
assistant:
  > Bash {"command":"printf '\\033[?1049l\\033c\\007'"}
assistant: still here
"#;
    world.write("script.txt", script);
    let arguments = [&["work"], &SCRIPTED[..], &["--allowedTools", "Bash"]].concat();
    let mut screen = Screen::start(&world, USUAL, &arguments, &[]);
    screen.wait_for("still here");
    screen.press("\x0f\x14");
    screen.wait_for("gone");
    let raw = screen.raw();
    for bad in [
        &b"\x1b[?1049l"[..],
        b"\x1bc",
        b"\x07",
        b"\x1b]0;",
        "\u{202e}".as_bytes(),
    ] {
        assert!(!raw.windows(bad.len()).any(|it| it == bad), "{bad:?}");
    }
    screen.press("\x1b\x04");
    screen.wait_for_end();
}

#[test]
fn without_colours_nothing_is_lost() {
    let world = World::new();
    world.write("script.txt", WHOLE);
    let arguments = [
        &["a word counter"],
        &SCRIPTED[..],
        &["--allowedTools", "Write,Bash"],
    ]
    .concat();
    let mut screen = Screen::start(&world, USUAL, &arguments, &[("NO_COLOR", "1")]);
    screen.wait_for("Written and counted.");
    screen.wait_for("[x] #1 Write words.sh");
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    let coloured =
        regex::Regex::new("\u{1b}\\[[0-9;]*\\b(3[0-7]|38|4[0-7]|48|9[0-7])[;m]").unwrap();
    assert_eq!(coloured.find(&raw).map(|it| it.as_str()), None);
    screen.press("\x04");
    assert_eq!(screen.wait_for_end(), 0);
}

#[test]
fn a_terminal_that_can_place_nothing_is_told_so() {
    let world = World::new();
    world.write("script.txt", "assistant: printed\n");
    let dumb = [("TERM", "dumb")];
    let mut screen = Screen::start(&world, USUAL, &SCRIPTED, &dumb);
    assert_eq!(screen.wait_for_end(), 2);
    screen.wait_for("this terminal cannot show the screen (TERM=dumb)");
    let arguments = [&SCRIPTED[..], &["work"]].concat();
    let mut screen = Screen::start(&world, USUAL, &arguments, &dumb);
    assert_eq!(screen.wait_for_end(), 0);
    screen.wait_for("printed");
    assert!(!String::from_utf8_lossy(&screen.raw()).contains("\x1b[?1049h"));
}

#[test]
fn control_c_at_ten_moments() {
    /// What is done before it, what then shows, and the script.
    type Moment = (&'static str, &'static str, &'static str);
    const SLOW_CALL: &str = "assistant:\n  > TaskCreate {\"subject\":\"a\",\"description\":\"\"}\nassistant:\n  > Bash {\"command\":\"sleep 60\"}\n  > TaskUpdate {\"taskid\":1,\"status\":\"completed\"}\nassistant: never\n";
    const STALL: &str = "fault: stall\nassistant: This begins and does not end.\n";
    let moments: [Moment; 10] = [
        ("", "say what to do", STALL),
        ("half a sent", "half a sent", STALL),
        ("go\r", "> go", "delay: 5s\nassistant: late\n"),
        ("go\r", "working", STALL),
        (
            "go\r",
            "This",
            "delay: 40ms\nassistant: This is a long answer that goes on and on and on and on and on and on and on and on.\n",
        ),
        ("go\r", "May Bash do this?", SLOW_CALL),
        ("go\ry", "0/1", SLOW_CALL),
        ("go\r", "running", SLOW_CALL),
        ("/help\r", "Alt-Enter", STALL),
        ("go\r\x14", "Tasks:", STALL),
    ];
    for (number, (keys, wanted, script)) in moments.into_iter().enumerate() {
        let world = World::new();
        world.write("script.txt", script);
        let allowed: &[&str] = if wanted == "running" {
            &["--allowedTools", "Bash"]
        } else {
            &[]
        };
        let arguments = [&SCRIPTED[..], allowed].concat();
        let mut screen = Screen::start(&world, USUAL, &arguments, &[]);
        screen.wait_for("say what to do");
        screen.press(keys);
        screen.wait_for(wanted);
        screen.press("\x03");
        screen.wait("a sign that it was heard", |text| {
            text.contains("again leaves") || text.contains("interrupted")
        });
        screen.leave();
        let code = screen.wait_for_end();
        assert_eq!(code, 0, "moment {number}: {}", screen.text());
        assert_restored(&screen);
        if world.log().is_some_and(|log| log.lines().count() > 1) {
            let _ = world.pod(&["verify"]).success();
            // Nothing that was not confirmed counts.
            assert!(
                tasks_of_the_log(&world)
                    .iter()
                    .all(|task| task.status == Status::Pending)
            );
        }
    }
}

#[test]
fn a_stopped_run_can_be_followed_by_another() {
    let world = World::new();
    // The answer begins to arrive twice; the first time it does not end.
    let script = "fault: stall\nassistant: Second answer.\n";
    let mut screen = start(&world, script);
    screen.send("first");
    screen.wait_for("Esc stops");
    screen.send("asked meanwhile");
    screen.wait_for("next: asked meanwhile");
    screen.press("\x1b");
    // What was to be asked next is given back, not sent.
    screen.wait_for("> asked meanwhile");
    screen.wait("rest", |text| !text.contains("Esc stops"));
    screen.press("\r");
    screen.wait_for("Second answer.");
    screen.press("\x04");
    assert_eq!(screen.wait_for_end(), 0);
}

#[test]
fn signals_leave_the_terminal_as_it_was() {
    for (signal, code, keys) in [
        (Signal::TERM, 143, ""),
        (Signal::TERM, 143, "go\r"),
        (Signal::HUP, 129, "go\r"),
    ] {
        let world = World::new();
        let mut screen = start(
            &world,
            "fault: stall\nassistant: This begins and does not end.\n",
        );
        screen.press(keys);
        if !keys.is_empty() {
            screen.wait_for("Esc stops");
        }
        screen.signal(signal);
        assert_eq!(screen.wait_for_end(), code);
        assert_restored(&screen);
        if !keys.is_empty() {
            assert!(world.log().unwrap().contains("interruption"));
            let _ = world.pod(&["verify"]).success();
        }
    }
}
