//! Compactions with the real binary: by hand, on its own, and what people see of them.

use serde_json::Value;

use crate::program::{Ran, World};

const SCRIPT: &str = r#"
window: 30000
assistant: Two steps.
  > TaskCreate {"subject":"lexer","description":"Tokens."}
  > TaskCreate {"subject":"parser","description":"A tree."}
  > Read {"file_path":"grammar.txt"}
assistant:
  > TaskUpdate {"taskid":1,"status":"completed"}
assistant: The lexer stands.
expect: 1 completed
assistant:
  > TaskUpdate {"taskid":2,"status":"inprogress"}
assistant: The parser is under way.
lane: write_summary
assistant:
  > write_summary {"text":"The lexer stands, the parser comes next."}
"#;

const MODEL: &str = "scripted:script.txt";

/// A session of two tasks that has read a large file.
fn planned() -> World {
    let world = World::new();
    world.write("script.txt", SCRIPT);
    world.write("grammar.txt", &"rule = token token\n".repeat(1_000));
    let _ = world.pod(&["-p", "plan", "--model", MODEL]).success();
    world
}

/// What was printed, without the times.
fn shown(world: &World, ran: &Ran) -> String {
    let shown = ran.shown(world);
    let words: Vec<String> = shown
        .split(' ')
        .map(|word| match word.parse::<f64>() {
            Ok(_) if word.contains('.') => String::from("[TIME]"),
            _ => word.to_owned(),
        })
        .collect();
    words.join(" ")
}

#[test]
fn a_dry_run_shows_what_would_be_kept_and_does_nothing() {
    let world = planned();
    // A model that cannot be asked is not asked.
    world.write("script.txt", "window: 30000\n");
    let ran = world.pod(&["compact", "--dry-run", "--model", MODEL]);
    insta::assert_snapshot!(shown(&world, &ran));
    assert!(!world.session().join("0002.jsonl").exists());
}

#[test]
fn a_session_is_compacted_by_hand_and_goes_on() {
    let world = planned();
    insta::assert_snapshot!(
        "compact",
        shown(&world, &world.pod(&["compact", "--model", MODEL]))
    );
    let verified = shown(&world, &world.pod(&["verify"]));
    let lines = verified.lines().filter(|line| !line.starts_with("[ROOT]"));
    insta::assert_snapshot!("verify", lines.collect::<Vec<_>>().join("\n"));
    let sessions = world.pod(&["sessions"]).success();
    assert!(sessions.contains("1/2 done"), "{sessions}");
    assert!(
        sessions.trim_end().ends_with("(compacted 1x) plan"),
        "{sessions}"
    );
    let json = world.pod(&["sessions", "--json"]).success();
    let session: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(session["compactions"][0]["trigger"], "manual");
    assert_eq!(session["compactions"][0]["tasks"], 2);

    // The script goes on behind its third answer; the list is shown before it is asked.
    let ran = world.pod(&["--continue", "-p", "go on", "--model", MODEL]);
    assert_eq!(ran.success(), "The parser is under way.\n");
    let log = std::fs::read_to_string(world.session().join("0002.jsonl")).unwrap();
    let calls = log.matches("\"name\":\"TaskList\"").count();
    assert_eq!(calls, 1, "{log}");
    let _ = world.pod(&["verify"]).success();
}

#[test]
fn the_timeline_goes_back_before_the_compaction() {
    let world = planned();
    let _ = world.pod(&["compact", "--model", MODEL]).success();
    let _ = world
        .pod(&["--continue", "-p", "go on", "--model", MODEL])
        .success();
    let told = world.pod(&["tasks", "--timeline"]).success();
    // Without the first line, which names the log, and the times.
    let lines = told.lines().skip(1).map(|line| {
        let words = line.split_whitespace();
        words
            .skip_while(|word| word.starts_with(char::is_numeric))
            .collect::<Vec<_>>()
            .join(" ")
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_compaction_that_would_not_help_says_so() {
    let world = planned();
    let _ = world.pod(&["compact", "--model", MODEL]).success();
    let ran = world.pod(&["compact", "--model", MODEL]);
    insta::assert_snapshot!(shown(&world, &ran));
}

#[test]
fn a_worker_that_fails_leaves_the_session_as_it_is() {
    let world = planned();
    world.write(
        "script.txt",
        "window: 30000\nlane: write_summary\nassistant:\n",
    );
    let ran = world.pod(&["compact", "--model", MODEL]);
    insta::assert_snapshot!(shown(&world, &ran));
    assert!(!world.session().join("0002.jsonl").exists());
}

#[test]
fn a_run_compacts_on_its_own_and_says_so() {
    let world = World::new();
    world.write("script.txt", SCRIPT);
    world.write("grammar.txt", &"rule = token token\n".repeat(1_000));
    let mut command = world.command(&["-p", "plan", "--model", MODEL]);
    let ran = World::finish(command.env("POD_COMPACT_REQUEST_THRESHOLD", "20%"));
    insta::assert_snapshot!(shown(&world, &ran));
    assert!(world.session().join("0002.jsonl").exists());
}
