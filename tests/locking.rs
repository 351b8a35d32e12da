//! A session is in use by this process while the program looks at it, copies it, or wants to work on it.
//!
//! The other way round, with the program as the holder, is in `signals`.

use pod::session::SessionStore;

use crate::program::World;

const SCRIPT: &str = r#"
assistant:
  > TaskCreate {"subject":"lexer","description":"Tokens."}
assistant: first
assistant: second
assistant: third
assistant: fourth
assistant: fifth
"#;

/// A world with a session, and the store that it is in.
fn world() -> (World, SessionStore) {
    let world = World::new();
    world.write("script.txt", SCRIPT);
    assert_eq!(
        world
            .pod(&["-p", "begin", "--model", "scripted:script.txt"])
            .success(),
        "first\n"
    );
    let home = world.session();
    let home = home.ancestors().nth(3).unwrap().to_owned();
    (world, SessionStore::new(home))
}

#[test]
fn the_program_names_the_holder_and_changes_nothing() {
    let (world, store) = world();
    let info = store.list(&world.work()).unwrap().remove(0);
    let held = store.open(&info, false).unwrap();
    let before = world.log().unwrap();
    let ran = world.pod(&[
        "--continue",
        "-p",
        "me too",
        "--model",
        "scripted:script.txt",
    ]);
    assert_eq!(ran.code, Some(1));
    let own = format!("pid {}", std::process::id());
    assert!(ran.stderr.contains(&own), "{}", ran.stderr);
    let text = world.steady(&ran.stderr.replace(&own, "pid [PID]"));
    insta::assert_snapshot!(text, @"pod: session [ID] is in use (pid [PID]); stop that process, or go on with a copy: --fork-session");
    assert_eq!(world.log().unwrap(), before);

    drop(held);
    let ran = world.pod(&["--continue", "-p", "now", "--model", "scripted:script.txt"]);
    assert_eq!(ran.success(), "second\n");
}

#[test]
fn what_only_reads_works_while_the_session_is_in_use() {
    let (world, store) = world();
    let info = store.list(&world.work()).unwrap().remove(0);
    let id = info.id.to_string();
    let held = store.open(&info, false).unwrap();
    assert!(world.pod(&["sessions"]).success().contains(&id));
    assert!(
        world
            .pod(&["verify", &id])
            .success()
            .contains("every law holds")
    );
    let before = world.log().unwrap();
    let ran = world.pod(&[
        "--resume",
        &id,
        "--fork-session",
        "-p",
        "a copy",
        "--model",
        "scripted:script.txt",
    ]);
    assert_eq!(ran.success(), "second\n");
    assert_eq!(store.list(&world.work()).unwrap().len(), 2);
    let log = std::fs::read_to_string(info.newest_segment()).unwrap();
    assert_eq!(log, before);
    drop(held);
}

/// The note of a process that is gone, or of one that now has another program, is no lock.
#[test]
fn what_a_dead_process_left_in_the_lock_does_not_block() {
    let (world, _store) = world();
    let lock = world.session().join("lock");
    let notes = ["pid 1", "pid 4294967295", "", "\u{fffd}\n\n"];
    for (note, answer) in notes
        .iter()
        .zip(["second\n", "third\n", "fourth\n", "fifth\n"])
    {
        std::fs::write(&lock, note).unwrap();
        let ran = world.pod(&[
            "--continue",
            "-p",
            "go on",
            "--model",
            "scripted:script.txt",
        ]);
        assert_eq!(ran.success(), answer);
    }
}
