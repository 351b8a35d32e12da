//! What the program says: help, configuration, checks, listings, documents.

use serde_json::Value;

use crate::program::World;

const SCRIPT: &str = r#"
assistant: Two steps.
  > TaskCreate {"subject":"lexer","description":"Tokens."}
  > TaskCreate {"subject":"parser <b>","description":"A tree."}
assistant:
  > TaskUpdate {"taskid":1,"status":"in_progress"}
  > Bash {"command":"echo hi"}
assistant: The **lexer** is under way.
assistant:
  > TaskUpdate {"taskid":1,"status":"completed"}
assistant: The lexer is done.
"#;

fn world() -> World {
    let world = World::new();
    world.write("script.txt", SCRIPT);
    world
}

/// Writes the configuration.
pub(crate) fn configure(world: &World, text: &str) {
    let home = world.work().parent().unwrap().join("home");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.toml"), text).unwrap();
}

#[test]
fn every_help_text() {
    let world = World::new();
    let list = {
        let mut command = world.command(&["--help"]);
        World::finish(command.env("COLUMNS", "100")).success()
    };
    insta::assert_snapshot!("help", list);
    for name in [
        "sessions",
        "tasks",
        "watch",
        "demo",
        "compact",
        "verify",
        "export",
        "config",
        "doctor",
        "completions",
        "man",
    ] {
        assert!(list.contains(&format!("\n  {name}")), "{name}");
        let mut command = world.command(&[name, "--help"]);
        let help = World::finish(command.env("COLUMNS", "100")).success();
        insta::assert_snapshot!(format!("help_{name}"), help);
    }
}

#[test]
fn completions_and_the_manual_come_from_the_one_definition() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = world.pod(&["completions", shell]).success();
        for word in ["permission-mode", "export", "sessions", "doctor"] {
            assert!(script.contains(word), "{shell} lacks {word}");
        }
    }
    let bash = std::process::Command::new("bash")
        .args(["-n", "-c"])
        .arg(world.pod(&["completions", "bash"]).success())
        .status();
    assert!(bash.is_ok_and(|it| it.success()), "no shell takes it");
    let page = world.pod(&["man"]).success();
    assert!(page.starts_with(".ie"), "{page}");
    for word in [
        ".TH pod",
        "POD EXPORT",
        "\\-\\-permission\\-mode",
        "POD_MODEL",
    ] {
        assert!(page.contains(word), "the manual lacks {word}");
    }
}

#[test]
fn the_file_is_the_last_to_be_asked() {
    let world = world();
    configure(
        &world,
        "model = \"scripted:script.txt\"\n[permissions]\nallow = [\"Bash(echo:*)\"]\n",
    );
    // The file: the model, and what may run.
    let out = world.pod(&["-p", "plan"]).success();
    assert_eq!(out, "The **lexer** is under way.\n");
    let log = world.log().unwrap();
    assert!(
        log.contains("echo hi") && !log.contains("\"is_error\":true"),
        "{log}"
    );

    // A variable wins over it, a flag over that.
    let with = |arguments: &[&str], variable: &str| {
        let mut command = world.command(arguments);
        World::finish(command.env("POD_MODEL", variable))
    };
    let ran = with(&["-p", "x"], "scripted:nowhere.txt");
    assert!(ran.stderr.contains("nowhere.txt"), "{}", ran.stderr);
    let flag = ["-p", "x", "--model", "scripted:script.txt"];
    assert_eq!(with(&flag, "scripted:nowhere.txt").code, Some(0));
    // A variable that is set to nothing is none.
    assert_eq!(with(&["-p", "x"], "").code, Some(0));
    // A denial of the file holds whatever is allowed on the command line.
    configure(
        &world,
        "model = \"scripted:script.txt\"\n[permissions]\ndeny = [\"Bash\"]\n",
    );
    let ran = world.pod(&["-p", "x", "--allowedTools", "Bash", "--verbose"]);
    assert!(ran.stderr.contains("  ! "), "{}", ran.stderr);
}

#[test]
fn a_program_that_drives_pod_decides_about_permissions_alone() {
    let world = world();
    configure(
        &world,
        "model = \"scripted:script.txt\"\n[permissions]\nmode = \"bypassPermissions\"\nallow = [\"Bash\"]\n",
    );
    let arguments = ["-p", "plan", "--output-format", "stream-json", "--verbose"];
    let mut command = world.command(&arguments);
    command.env("POD_PERMISSION_MODE", "bypassPermissions");
    command.env("POD_ALLOWED_TOOLS", "Bash");
    let out = World::finish(&mut command).success();
    let result: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
    let first: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(first["permissionMode"], "default");
    // Without the protocol the same variables hold.
    let mut command = world.command(&["-p", "plan", "--output-format", "json"]);
    command.env("POD_PERMISSION_MODE", "bypassPermissions");
    let out = World::finish(&mut command).success();
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["permission_denials"], serde_json::json!([]));
}

#[test]
fn config_says_what_holds_and_what_is_wrong() {
    let world = World::new();
    insta::assert_snapshot!("config_default", world.pod(&["config"]).shown(&world));
    configure(
        &world,
        "model = \"ollama:qwen3\"\ncompact_threshold = \"100k\"\n",
    );
    let mut command = world.command(&["config"]);
    command.env("POD_COMPACT_THRESHOLD", "0.5");
    insta::assert_snapshot!("config_file", World::finish(&mut command).shown(&world));
    configure(&world, "modle = \"x\"\n[permissions]\nmode = 3\n");
    for (name, arguments) in [
        ("config_wrong", vec!["config"]),
        ("config_wrong_run", vec!["-p", "x"]),
        ("config_wrong_compact", vec!["compact"]),
    ] {
        let ran = world.pod(&arguments);
        assert_eq!(ran.code, Some(2));
        insta::assert_snapshot!(name, ran.shown(&world));
    }
    // What asks no model needs no configuration.
    assert_eq!(world.pod(&["sessions"]).code, Some(0));
}

#[test]
fn the_doctor_never_shows_a_key_and_fails_where_a_run_would() {
    let world = World::new();
    let ran = world.pod(&["doctor", "--model", "gpt-9"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("FAIL  model"), "{}", ran.stdout);

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let length = stream.read(&mut request).unwrap();
        stream
            .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let mut command = world.command(&["doctor", "--model", "claude-x"]);
    command.env("ANTHROPIC_BASE_URL", &address);
    command.env("ANTHROPIC_API_KEY", "sk-very-secret");
    let ran = World::finish(&mut command);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("secret") && !ran.stderr.contains("secret"));
    assert!(ran.stdout.contains("ANTHROPIC_API_KEY is set"));
    assert!(
        !server.join().unwrap().contains("secret"),
        "the key was sent"
    );

    // Nobody is there.
    let mut command = world.command(&["doctor", "--model", "ollama:x"]);
    let ran = World::finish(command.env("OLLAMA_HOST", "127.0.0.1:1"));
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("FAIL  endpoint"), "{}", ran.stdout);

    configure(&world, "modle = 1\n");
    let ran = world.pod(&["doctor", "--model", "scripted:x"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("FAIL  configuration"), "{}", ran.stdout);
}

#[test]
fn sessions_are_a_table() {
    let world = world();
    let model = ["--model", "scripted:script.txt"];
    let _ = world
        .pod(&[&["-p", "Plan\nthe parser"], &model[..]].concat())
        .success();
    let mut command = world.command(&["sessions"]);
    let table = World::finish(command.env("COLUMNS", "80")).success();
    let mut lines = table.lines();
    assert_eq!(
        lines.next().unwrap().split_whitespace().collect::<Vec<_>>(),
        ["SESSION", "USED", "TASKS", "FIRST", "PROMPT"]
    );
    let row = lines.next().unwrap();
    assert!(row.ends_with("0/2 done  Plan the parser"), "{row}");
    let short = row.split_whitespace().next().unwrap();
    assert_eq!(short.len(), 13);
    // The short id is good for everything that takes one.
    assert!(
        world
            .pod(&["verify", short])
            .success()
            .contains("every law")
    );
    let json = world.pod(&["sessions", "--json"]).success();
    let row: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(row["counts"]["inprogress"], 1);
    assert_eq!(row["first_prompt"], "Plan\nthe parser");
}

#[test]
fn a_session_is_exported() {
    let world = world();
    let model = ["--model", "scripted:script.txt"];
    let _ = world
        .pod(&[&["-p", "Plan it"], &model[..]].concat())
        .success();
    let _ = world
        .pod(&[&["--continue", "-p", "Go on"], &model[..]].concat())
        .success();
    let document = world.pod(&["export"]).success();
    let times = regex::Regex::new(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ").unwrap();
    let steady = world.steady(&document);
    insta::assert_snapshot!("export_markdown", times.replace_all(&steady, "[TIME]"));

    let ran = world.pod(&["export", "--html", "--output", "page.html"]);
    assert_eq!(ran.success(), "");
    let page = std::fs::read_to_string(world.work().join("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("parser &lt;b&gt;") && !page.contains("parser <b>"));
    assert!(page.contains("The <strong>lexer</strong> is under way."));
    assert!(page.contains("inprogress -&gt; completed"));

    let ran = world.pod(&["export", "--output", "no/such/place.md"]);
    assert_eq!(ran.code, Some(1));
    insta::assert_snapshot!("export_nowhere", ran.shown(&world));
    let ran = world.pod(&["export", "0000"]);
    assert_eq!(ran.code, Some(1));
}

#[test]
fn verbose_tells_each_call_and_standard_output_stays_the_answer() {
    let world = world();
    let ran = world.pod(&["-p", "plan", "-v", "--model", "scripted:script.txt"]);
    assert_eq!(ran.stdout, "The **lexer** is under way.\n");
    // What holds Bash differs from machine to machine.
    let told: Vec<&str> = ran
        .stderr
        .lines()
        .filter(|line| !line.contains("Bash may"))
        .collect();
    insta::assert_snapshot!("verbose", told.join("\n"));
    let ran = world.pod(&["-p", "plan", "-v", "-q", "--model", "scripted:script.txt"]);
    assert_eq!(ran.code, Some(2));
}
