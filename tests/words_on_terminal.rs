//! `pod -p` and the first run with a person at the terminal: a pseudo terminal of the system.

#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::io::Read as _;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::World;

const SCRIPT: &str = r#"
assistant: Two steps.
  > TaskCreate {"subject":"lexer","description":"Tokens.","activeForm":"Writing the \u001b[2Jlexer"}
  > TaskCreate {"subject":"parser 日本","description":"A tree."}
assistant:
  > TaskUpdate {"taskid":1,"status":"in_progress"}
assistant:
  > Bash {"command":"sleep 0.1"}
assistant:
  > TaskUpdate {"taskid":1,"status":"completed"}
assistant: Done: ESC[31mred.
"#;

/// Which of its outputs are the terminal.
enum On {
    Both,
    StandardError,
}

/// Runs a command at a terminal of so many columns: the exit code, what was piped, what the terminal got.
fn at_terminal(mut command: Command, on: On, columns: u16) -> (Option<i32>, String, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name)
        .unwrap();
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    command.stderr(Stdio::from(slave.try_clone().unwrap()));
    match on {
        On::Both => command.stdout(Stdio::from(slave)),
        On::StandardError => {
            // The terminal ends when nobody has it open any more.
            drop(slave);
            command.stdout(Stdio::piped())
        }
    };
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut screen = Vec::new();
    let mut master = std::fs::File::from(master);
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = master.read(&mut buffer) {
        screen.extend_from_slice(&buffer[..length]);
    }
    let mut piped = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut piped).unwrap();
    }
    let code = child.wait().unwrap().code();
    let screen = String::from_utf8(screen).unwrap().replace("\r\n", "\n");
    (code, piped, screen)
}

fn world() -> World {
    let world = World::new();
    world.write("script.txt", &SCRIPT.replace("ESC", "\u{1b}"));
    world
}

const RUN: [&str; 6] = [
    "-p",
    "plan",
    "--model",
    "scripted:script.txt",
    "--allowedTools",
    "Bash",
];

#[test]
fn a_live_line_shows_what_is_done_and_the_list_stands_at_the_end() {
    let world = world();
    let (code, piped, screen) = at_terminal(world.command(&RUN), On::StandardError, 80);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("] 0/2 Writing the"), "{screen:?}");
    assert!(screen.contains("] 1/2 parser 日本"), "{screen:?}");
    assert!(!screen.contains("\u{1b}[2Jlexer"), "{screen:?}");
    let list = screen.rsplit("\u{1b}[2K").next().unwrap();
    assert!(list.contains("1 of 2 done\n"), "{screen:?}");
    assert!(list.contains("[x] #1 lexer"), "{screen:?}");
    assert!(list.contains("[ ] #2 parser 日本"), "{screen:?}");
    // The pipe has the answer as the model gave it, and nothing else.
    assert!(
        piped.starts_with("Done: ") && piped.ends_with("red.\n"),
        "{piped:?}"
    );
    assert_eq!(piped.lines().count(), 1);
}

#[test]
fn a_narrow_terminal_is_never_overflown() {
    let world = world();
    let (_, _, screen) = at_terminal(world.command(&RUN), On::StandardError, 24);
    let escapes = regex::Regex::new("\u{1b}\\[[0-9;]*[A-Za-z]").unwrap();
    for line in screen.split(['\n', '\r']) {
        let line = escapes.replace_all(line, "");
        assert!(
            unicode_width::UnicodeWidthStr::width(&*line) <= 24,
            "{line:?}"
        );
    }
    assert!(
        !screen.contains("[#"),
        "there is no room for a bar: {screen:?}"
    );
}

#[test]
fn an_answer_cannot_drive_the_terminal() {
    let world = world();
    let (_, _, screen) = at_terminal(world.command(&RUN), On::Both, 80);
    assert!(screen.contains("red."), "{screen:?}");
    assert!(!screen.contains("\u{1b}[31mred"), "{screen:?}");
}

#[test]
fn quiet_is_quiet() {
    let world = world();
    let arguments = [&RUN[..], &["--quiet"]].concat();
    let (code, piped, screen) = at_terminal(world.command(&arguments), On::StandardError, 80);
    assert_eq!((code, screen.as_str()), (Some(0), ""));
    assert!(piped.starts_with("Done: "));
}

#[test]
fn a_terminal_without_colours_gets_none() {
    let world = world();
    let mut command = world.command(&RUN);
    command.env("NO_COLOR", "1");
    let (_, _, screen) = at_terminal(command, On::StandardError, 80);
    let colours = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
    assert!(!colours.is_match(&screen), "{screen:?}");
}

#[test]
fn who_has_neither_key_nor_model_is_shown_the_ways_on() {
    let world = World::new();
    let mut command = world.command(&["-p", "hello"]);
    // Nobody listens there.
    command.env("OLLAMA_HOST", "127.0.0.1:1");
    let (code, _, screen) = at_terminal(command, On::Both, 80);
    assert_eq!(code, Some(1));
    insta::assert_snapshot!("first_run", world.steady(&screen));
    // A model that was chosen has its own error, in one line.
    let mut command = world.command(&["-p", "hello", "--model", "openai:x"]);
    command.env("OLLAMA_HOST", "127.0.0.1:1");
    let (code, _, screen) = at_terminal(command, On::Both, 80);
    assert_eq!(code, Some(1));
    assert!(screen.contains("OPENAI_API_KEY is not set"), "{screen}");
    assert!(!screen.contains("Ollama"), "{screen}");
}
