//! The flags, the messages and the exit codes of the program.

use serde_json::Value;

use crate::program::World;

/// Two tasks, one of which is begun.
const SCRIPT: &str = r#"
assistant: Two steps.
  > TaskCreate {"subject":"lexer","description":"Tokens."}
  > TaskCreate {"subject":"parser","description":"A tree."}
assistant:
  > TaskUpdate {"taskid":1,"status":"in_progress"}
assistant: The lexer is under way.
assistant:
  > TaskUpdate {"taskid":1,"status":"completed"}
assistant: The lexer is done.
"#;

fn scripted(script: &str) -> World {
    let world = World::new();
    world.write("script.txt", script);
    world
}

const MODEL: &str = "scripted:script.txt";

#[test]
fn an_answer_goes_to_standard_output_and_nothing_else() {
    let world = scripted(SCRIPT);
    let ran = world.pod(&["-p", "plan", "--model", MODEL]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stdout, "The lexer is under way.\n");
    assert_eq!(ran.stderr, "");
}

#[test]
fn json_carries_the_answer_the_figures_and_the_list() {
    let world = scripted(SCRIPT);
    let out = world
        .pod(&["-p", "plan", "--model", MODEL, "--output-format", "json"])
        .success();
    let mut result: Value = serde_json::from_str(&out).unwrap();
    for name in ["session_id", "duration_ms", "duration_api_ms", "usage"] {
        result[name] = Value::from("[VARIES]");
    }
    insta::assert_json_snapshot!(result);
}

#[test]
fn a_prompt_comes_from_standard_input_too() {
    for (arguments, input, seen) in [
        (vec!["-p"], "plan it", "plan it"),
        (vec!["-p", "-"], "plan it", "plan it"),
        (vec!["-p", "review"], "the text", "review\n\nthe text"),
        (vec!["review"], "the text", "review\n\nthe text"),
        (vec!["-p", "sessions"], "", "sessions"),
    ] {
        let world = scripted("assistant: ok\n");
        let arguments: Vec<&str> = [arguments, vec!["--model", MODEL]].concat();
        let _ = world.pod_with_input(&arguments, input).success();
        let log = std::fs::read_to_string(world.session().join("0001.jsonl")).unwrap();
        let user: Value = serde_json::from_str(log.lines().nth(1).unwrap()).unwrap();
        assert_eq!(user["content"][0]["text"], seen);
    }
}

#[test]
fn continue_goes_on_with_the_last_session_and_its_list() {
    let world = scripted(SCRIPT);
    let _ = world.pod(&["-p", "plan", "--model", MODEL]).success();
    let out = world.pod(&["--continue", "-p", "go on", "--model", MODEL]);
    assert_eq!(out.success(), "The lexer is done.\n");
    let log = std::fs::read_to_string(world.session().join("0001.jsonl")).unwrap();
    assert!(
        log.contains(r##""summary":"#1 [inprogress -> completed] lexer"##),
        "{log}"
    );
    insta::assert_snapshot!(world.pod(&["verify"]).shown(&world));
}

#[test]
fn fork_and_rewind_leave_the_session_as_it_was() {
    let world = scripted(SCRIPT);
    let _ = world.pod(&["-p", "plan", "--model", MODEL]).success();
    let segment = world.session().join("0001.jsonl");
    let before = std::fs::read(&segment).unwrap();
    let log = String::from_utf8(before.clone()).unwrap();
    // The first answer's second result: two pending tasks.
    let entry: Value = serde_json::from_str(log.lines().nth(4).unwrap()).unwrap();
    let entry = entry["id"].as_str().unwrap().to_owned();

    let fork = [
        "--continue",
        "--fork-session",
        "--resume-session-at",
        &entry,
    ];
    let rest = [
        "-p",
        "what now",
        "--model",
        "scripted:other.txt",
        "--output-format",
        "json",
    ];
    // A script goes on behind the answers that the session has had, so this one begins with three.
    world.write(
        "other.txt",
        "assistant: -\nassistant: -\nassistant: -\nuser: what now\nassistant: Two are open.\n",
    );
    let out = world.pod(&[&fork[..], &rest[..]].concat()).success();
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["counts"]["pending"], 2);
    assert_eq!(
        std::fs::read(&segment).unwrap(),
        before,
        "a fork changed the original"
    );

    let session = segment.parent().unwrap().to_string_lossy().into_owned();
    let rewind = ["--resume", &session, "--resume-session-at", &entry];
    let out = world.pod(&[&rewind[..], &rest[..]].concat()).success();
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["counts"]["pending"], 2);
    assert_eq!(
        std::fs::read(&segment).unwrap(),
        before,
        "a rewind changed the old segment"
    );
    assert!(segment.with_file_name("0002.jsonl").exists());
}

#[test]
fn wrong_usage_exits_with_2_and_says_what_to_do() {
    let world = scripted("assistant: ok\n");
    for (name, arguments) in [
        ("unknown_flag", vec!["--bogus"]),
        ("no_prompt", vec!["-p"]),
        ("bad_mode", vec!["-p", "x", "--permission-mode", "yolo"]),
        (
            "bad_rule",
            vec!["-p", "x", "--model", MODEL, "--allowedTools", "Bash(ls"],
        ),
        (
            "bad_threshold",
            vec!["-p", "x", "--compact-threshold", "huge"],
        ),
        (
            "nothing_to_continue",
            vec!["-p", "x", "--model", MODEL, "--continue"],
        ),
        (
            "fork_without_session",
            vec!["-p", "x", "--model", MODEL, "--fork-session"],
        ),
        ("no_turns", vec!["-p", "x", "--max-turns", "0"]),
    ] {
        let ran = world.pod(&arguments);
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.stderr);
        insta::assert_snapshot!(name, ran.shown(&world));
    }
}

#[test]
fn a_run_that_fails_exits_with_1_and_says_what_to_do() {
    for (name, script, arguments) in [
        ("no_key", "", vec!["-p", "x"]),
        ("unknown_model", "", vec!["-p", "x", "--model", "gpt-9"]),
        (
            "no_script",
            "",
            vec!["-p", "x", "--model", "scripted:nowhere.txt"],
        ),
        (
            "script_ran_out",
            "model: m\n",
            vec!["-p", "x", "--model", MODEL],
        ),
        (
            "unknown_session",
            "",
            vec!["-p", "x", "--model", MODEL, "--resume", "0000"],
        ),
        (
            "provider_fails",
            "fault: refused\n",
            vec!["-p", "x", "--model", MODEL],
        ),
        (
            "max_turns",
            "assistant:\n  > TaskList\nassistant: never\n",
            vec!["-p", "x", "--model", MODEL, "--max-turns", "1"],
        ),
    ] {
        let world = scripted(script);
        let ran = world.pod(&arguments);
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.stderr);
        insta::assert_snapshot!(name, ran.shown(&world));
    }
}

#[test]
fn tools_are_chosen_by_flags() {
    let script = r#"
assistant:
  > TaskList
  > Bash {"command":"echo hi"}
assistant: done
"#;
    // How long it took is the machine's business.
    let times = regex::Regex::new(r"after \d+\.\d s").unwrap();
    for (name, flags) in [
        ("all_tools", vec![]),
        ("two_tools", vec!["--tools", "Read,TaskList"]),
        ("no_tools", vec!["--tools", ""]),
        ("allowed", vec!["--allowedTools", "Bash(echo:*)"]),
        ("disallowed", vec!["--disallowedTools", "Bash"]),
    ] {
        let world = scripted(script);
        let arguments = [vec!["-p", "x", "--model", MODEL], flags].concat();
        let _ = world.pod(&arguments).success();
        let log = std::fs::read_to_string(world.session().join("0001.jsonl")).unwrap();
        let results: Vec<String> = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|line| line["type"] == "tool_result")
            .map(|line| line["summary"].as_str().unwrap().to_owned())
            .collect();
        let results = results.join("\n");
        let results = times.replace_all(&results, "after 0.0 s");
        insta::assert_snapshot!(name, results);
    }
}

#[test]
fn help_says_what_there_is() {
    let world = World::new();
    let mut command = world.command(&["--help"]);
    command.env("COLUMNS", "100");
    let help = World::finish(&mut command).success();
    assert!(help.contains("pod demo"), "{help}");
    for subcommand in ["sessions", "verify", "compact", "demo"] {
        assert!(help.contains(subcommand), "{help}");
        let _ = world.pod(&[subcommand, "--help"]).success();
    }
}

#[test]
fn the_demo_shows_five_equal_columns() {
    let world = World::new();
    let out = world.pod(&["demo"]).success();
    let table: Vec<&str> = out
        .lines()
        .skip_while(|line| !line.contains("before      snapshot"))
        .take(6)
        .collect();
    insta::assert_snapshot!(table.join("\n"));
}

/// The tasks of a session as `pod tasks --json` gives them: id, status, subject.
fn tasks_of(world: &World, session: &str) -> Vec<[String; 3]> {
    let out = world.pod(&["tasks", "--json", session]).success();
    let list: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    let tasks = list["tasks"].as_array().unwrap().iter();
    tasks
        .map(|task| ["id", "status", "subject"].map(|name| task[name].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn br_027_every_change_of_segment_moves_the_list() {
    let world = scripted(SCRIPT);
    let _ = world.pod(&["-p", "plan", "--model", MODEL]).success();
    let session = world.session().to_string_lossy().into_owned();
    let before = tasks_of(&world, &session);
    assert_eq!(before.len(), 2);

    world.write("other.txt", &"assistant: seen\n".repeat(20));
    let other = [
        "-p",
        "look",
        "--model",
        "scripted:other.txt",
        "--output-format",
        "json",
    ];
    let fork = ["--resume", &session, "--fork-session"];
    let out = world.pod(&[&fork[..], &other[..]].concat()).success();
    let forked: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        tasks_of(&world, forked["session_id"].as_str().unwrap()),
        before
    );

    let log = std::fs::read_to_string(format!("{session}/0001.jsonl")).unwrap();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let rewind = [
        "--resume",
        &session,
        "--resume-session-at",
        last["id"].as_str().unwrap(),
    ];
    let _ = world.pod(&[&rewind[..], &other[..]].concat()).success();
    assert!(std::path::Path::new(&format!("{session}/0002.jsonl")).exists());
    assert_eq!(tasks_of(&world, &session), before);
}

#[test]
fn br_028_a_new_session_starts_with_no_tasks_and_leaves_the_old_one_alone() {
    let world = scripted(SCRIPT);
    let _ = world.pod(&["-p", "plan", "--model", MODEL]).success();
    let session = world.session().to_string_lossy().into_owned();
    let before = tasks_of(&world, &session);
    world.write("other.txt", "assistant:\n  > TaskList\nassistant: none\n");
    let out = world
        .pod(&[
            "-p",
            "new",
            "--model",
            "scripted:other.txt",
            "--output-format",
            "json",
        ])
        .success();
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["tasks"], serde_json::json!([]));
    assert_eq!(tasks_of(&world, &session), before);
}

#[test]
fn br_065_a_repeated_entry_is_named_by_verify_and_views_still_work() {
    let world = scripted(SCRIPT);
    let _ = world.pod(&["-p", "plan", "--model", MODEL]).success();
    let path = world.session().join("0001.jsonl");
    let log = std::fs::read_to_string(&path).unwrap();
    let last = log.lines().last().unwrap().to_owned();
    std::fs::write(&path, format!("{log}{last}\n")).unwrap();
    let ran = world.pod(&["verify"]);
    assert_eq!(ran.code, Some(1));
    let line = log.lines().count() + 1;
    assert!(
        ran.stdout.contains(&format!("line {line}")),
        "{}",
        ran.stdout
    );
    let session = world.session().to_string_lossy().into_owned();
    assert_eq!(tasks_of(&world, &session).len(), 2);
}

#[test]
fn br_072_nothing_is_written_into_the_directory_that_is_worked_in() {
    let world = scripted(SCRIPT);
    let _ = world.pod(&["-p", "plan", "--model", MODEL]).success();
    let _ = world.pod(&["tasks"]).success();
    let names: Vec<_> = std::fs::read_dir(world.work())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["script.txt"]);
}
