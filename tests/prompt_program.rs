//! What the program puts before a model beside the prompt: the instructions of the project, files that
//! the prompt names, and reminders, as a provider receives them.

use serde_json::{Value, json};
use testkit::server::{Block, Received, Reply, Server};

use crate::program::{Ran, World};
use crate::words::configure;

/// Runs the program against a provider that answers with these replies, and gives what it was asked.
fn ask(
    world: &World,
    replies: impl IntoIterator<Item = Reply>,
    arguments: &[&str],
    variables: &[(&str, &str)],
    input: Option<&str>,
) -> (Ran, Vec<Received>) {
    let server = Server::script(replies);
    let mut command = world.command(arguments);
    command
        .args(["--model", "claude-sonnet-4-5"])
        .env("ANTHROPIC_BASE_URL", server.url())
        .env("ANTHROPIC_API_KEY", "sk-secret")
        .envs(variables.iter().copied());
    if let Some(input) = input {
        let path = world.write("../stdin", input);
        command.stdin(std::fs::File::open(path).unwrap());
    }
    let ran = World::finish(&mut command);
    let requests = server.requests();
    server.finish();
    (ran, requests)
}

fn system(request: &Received) -> String {
    request.json["system"].to_string()
}

#[test]
fn the_instructions_of_the_project_are_asked_with_and_what_is_cut_is_said() {
    let world = World::new();
    world.write("AGENTS.md", &format!("Use tabs. {}", "x".repeat(40_000)));
    let (ran, requests) = ask(&world, [Reply::text("Yes.")], &["-p", "hi"], &[], None);
    assert!(
        ran.stderr
            .contains("AGENTS.md: 7242 of its bytes are left out of the instructions"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.success(), "Yes.\n");
    let told = system(&requests[0]);
    assert!(told.contains("Use tabs.") && told.contains("[7242 more bytes"));

    world.write("AGENTS.md", "Use spaces.");
    let arguments = ["--continue", "-p", "go on"];
    let (ran, again) = ask(&world, [Reply::text("Yes.")], &arguments, &[], None);
    assert!(ran.stderr.contains("--fork-session"), "{}", ran.stderr);
    let _ = ran.success();
    assert_eq!(system(&again[0]), told);
    assert!(again[0].extends(&requests[0]));

    let arguments = ["--bare", "-p", "hi"];
    let (ran, requests) = ask(&world, [Reply::text("Yes.")], &arguments, &[], None);
    let _ = ran.success();
    assert!(!system(&requests[0]).contains("spaces"));
}

/// A program that uses the Agent SDK gets the project's instructions if it asks for the project's
/// settings, and otherwise not.
#[test]
fn a_program_gets_the_instructions_of_the_project_only_if_it_asks_for_them() {
    let world = World::new();
    world.write("CLAUDE.md", "Use tabs.");
    let protocol = ["--output-format=stream-json", "--input-format=stream-json"];
    let message = json!({
        "type": "user",
        "session_id": "",
        "message": {"role": "user", "content": "What is in @CLAUDE.md?"},
        "parent_tool_use_id": null,
    });
    let cases: [(&[&str], bool); 6] = [
        (&[], false),
        (&["--setting-sources="], false),
        (&["--setting-sources=user,local"], false),
        (&["--setting-sources=user,project"], true),
        (&["--setting-sources", "project"], true),
        (&["--setting-sources=project", "--bare"], false),
    ];
    for (flags, is_asked_for) in cases {
        let arguments = [&protocol, flags].concat();
        let input = format!("{message}\n");
        let (ran, requests) = ask(&world, [Reply::text("Yes.")], &arguments, &[], Some(&input));
        let _ = ran.success();
        // Neither the prompt nor what it names brings them in.
        let is_told = requests[0].body.contains("Use tabs.");
        assert_eq!(is_told, is_asked_for, "{flags:?}");
    }
}

#[test]
fn a_file_that_is_typed_is_brought_in_and_one_that_is_piped_is_not() {
    let world = World::new();
    world.write("typed.txt", "content of the typed one");
    world.write("piped.txt", "content of the piped one");
    let arguments = ["-p", "Compare @typed.txt, @no.txt and @ada"];
    let input = "See @piped.txt";
    let (ran, requests) = ask(&world, [Reply::text("Yes.")], &arguments, &[], Some(input));
    assert!(
        ran.stderr.contains("@no.txt was not brought in: no.txt"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("ada"), "{}", ran.stderr);
    let _ = ran.success();
    let body = &requests[0].body;
    assert!(body.contains("Compare @typed.txt, @no.txt and @ada"));
    assert!(body.contains("content of the typed one"));
    assert!(!body.contains("content of the piped one"));
}

#[test]
fn reminders_are_set_by_a_flag_a_variable_or_the_configuration() {
    /// Flags, variables, the configuration, and how many reminders come of them.
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str, usize);

    let create = || {
        let arguments = json!({"subject": "left alone", "description": "d"});
        Reply::turn([Block::call("c0", "TaskCreate", &arguments)])
    };
    let look = |id: &str| Reply::turn([Block::call(id, "Glob", &json!({"pattern": "*"}))]);
    let cases: [Case<'_>; 6] = [
        (&[], &[], "", 0),
        (&["--remind-after", "2"], &[], "", 1),
        (&[], &[("POD_REMIND_AFTER", "2")], "", 1),
        (&["--remind-after=0"], &[("POD_REMIND_AFTER", "2")], "", 0),
        (&[], &[], "remind_after = 2", 1),
        (&[], &[("POD_REMIND_AFTER", "0")], "remind_after = 2", 0),
    ];
    for (flags, variables, configuration, reminders) in cases {
        let world = World::new();
        configure(&world, configuration);
        let replies = [create(), look("c1"), look("c2"), Reply::text("Done.")];
        let arguments = [&["-p", "go"], flags].concat();
        let (ran, requests) = ask(&world, replies, &arguments, variables, None);
        let _ = ran.success();
        let body = &requests.last().unwrap().body;
        let told = body.matches("the task list was not used").count();
        assert_eq!(told, reminders, "{flags:?} {variables:?} {configuration}");
    }
    let log = |value: &Value| value["origin"] == "reminder";
    let world = World::new();
    let replies = [create(), look("c1"), look("c2"), Reply::text("Done.")];
    let _ = ask(
        &world,
        replies,
        &["-p", "go", "--remind-after", "2"],
        &[],
        None,
    );
    let lines = world.log().unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    assert_eq!(lines.filter(log).count(), 1);
    let _ = world.pod(&["verify"]).success();
}
