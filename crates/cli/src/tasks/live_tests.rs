use transcripts::{Options, read};

use super::super::tests::{logs, window};
use super::*;

fn list(name: &str) -> TaskList {
    let file = std::fs::File::open(logs().join(name)).unwrap();
    TaskList::fold(read(file, Options::default()).map(Result::unwrap))
}

fn draw(live: &mut Live, list: &TaskList, seconds: u64) -> String {
    let mut out = Vec::new();
    live.draw(list, Duration::from_secs(seconds), &mut out)
        .unwrap();
    String::from_utf8(out).unwrap().replace('\u{1b}', "ESC")
}

#[test]
fn it_is_drawn_where_it_stood_before() {
    let mut live = Live::new(window(60));
    insta::assert_snapshot!(
        "live_first",
        draw(&mut live, &list("r02-partial-messages.jsonl"), 5)
    );
    insta::assert_snapshot!(
        "live_second",
        draw(&mut live, &list("r08-todo-lists.jsonl"), 3_725)
    );
    let mut out = Vec::new();
    live.clear(&mut out).unwrap();
    assert_eq!(out, b"\r\x1b[6A\x1b[J");
}

#[test]
fn in_a_low_window_what_is_open_stays_and_the_rest_is_counted() {
    let mut terminal = window(30);
    terminal.height = Some(5);
    let mut live = Live::new(terminal);
    let text = draw(&mut live, &list("r08-todo-lists.jsonl"), 5);
    assert_eq!(text.lines().count(), 4);
    insta::assert_snapshot!("live_low", text);
}
