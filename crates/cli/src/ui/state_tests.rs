use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};
use pod::{Event, Outcome, Status};

use super::super::view::tests::{at_work, time};
use super::*;

fn key(code: KeyCode) -> Input {
    Input::Key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn control(letter: char) -> Input {
    Input::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL))
}

fn type_in(state: &mut State, text: &str) {
    for letter in text.chars() {
        assert_eq!(state.on_input(&key(KeyCode::Char(letter))), None);
    }
}

fn finished(status: Status) -> Event {
    Event::Finished(std::sync::Arc::new(Outcome {
        status,
        text: String::new(),
        stop_reason: None,
        turns: 1,
        usage: llm::Usage::default(),
        denials: Vec::new(),
        duration: Duration::ZERO,
        model_duration: Duration::ZERO,
    }))
}

fn question() -> Question {
    Question {
        tool: String::from("Bash"),
        target: Some(String::from("rm -r target")),
        arguments: serde_json::json!({"command": "rm -r target"}),
        rule: None,
    }
}

#[test]
fn a_prompt_is_sent_or_waits_for_its_turn() {
    let mut state = State::new(time(0));
    type_in(&mut state, "go");
    let sent = state.on_input(&key(KeyCode::Enter));
    assert_eq!(sent, Some(Action::Prompt(String::from("go"))));
    state.begin_work();
    type_in(&mut state, "more");
    assert_eq!(state.on_input(&key(KeyCode::Enter)), None);
    assert_eq!(state.queued, ["more"]);
    state.on_event(&finished(Status::Completed));
    assert_eq!(state.queued, ["more"]);
    state.begin_work();
    type_in(&mut state, "draft");
    state.on_event(&finished(Status::Interrupted));
    assert!(state.queued.is_empty());
    assert_eq!(state.editor.text(), "more\ndraft");
}

#[test]
fn once_stops_and_twice_leaves() {
    for press in [control('c'), key(KeyCode::Esc)] {
        let mut state = at_work();
        assert_eq!(state.on_input(&press), Some(Action::Stop));
        assert_eq!(state.on_input(&press), Some(Action::Leave));

        let mut state = at_work();
        assert_eq!(state.on_input(&press), Some(Action::Stop));
        state.set_now(time(200));
        assert_eq!(state.on_input(&press), Some(Action::Stop));

        let mut state = State::new(time(0));
        assert_eq!(state.on_input(&press), None);
        assert!(state.hint.is_some());
        assert_eq!(state.on_input(&press), Some(Action::Leave));
    }
    let mut state = State::new(time(0));
    type_in(&mut state, "typed by mistake");
    assert_eq!(state.on_input(&control('c')), None);
    assert!(state.editor.is_empty());
    state.on_input(&key(KeyCode::Up));
    assert_eq!(state.editor.text(), "typed by mistake");
}

#[test]
fn a_question_is_answered_by_one_key_but_not_by_what_was_being_typed() {
    for (code, answer) in [
        (KeyCode::Char('y'), Answer::Yes),
        (KeyCode::Char('a'), Answer::Always),
        (KeyCode::Char('n'), Answer::No),
        (KeyCode::Esc, Answer::End),
    ] {
        let mut state = at_work();
        state.questions.push_back(question());
        assert_eq!(state.on_input(&key(code)), Some(Action::Answer(answer)));
    }
    let mut state = at_work();
    type_in(&mut state, "the da");
    state.questions.push_back(question());
    type_in(&mut state, "ys ran");
    assert_eq!(state.editor.text(), "the days ran");
    state.set_now(time(99));
    assert_eq!(
        state.on_input(&key(KeyCode::Char('n'))),
        Some(Action::Answer(Answer::No))
    );
}

#[test]
fn a_command_is_completed_and_asked_for() {
    let mut state = State::new(time(0));
    type_in(&mut state, "/re");
    state.on_input(&key(KeyCode::Down));
    state.on_input(&key(KeyCode::Tab));
    assert_eq!(state.editor.text(), "/resume ");
    let action = state.on_input(&key(KeyCode::Enter));
    assert_eq!(action, Some(Action::Command(Command::Resume)));
    type_in(&mut state, "/usr/bin is full");
    let action = state.on_input(&key(KeyCode::Enter));
    assert_eq!(
        action,
        Some(Action::Prompt(String::from("/usr/bin is full")))
    );
    state.begin_work();
    type_in(&mut state, "/compact");
    assert_eq!(state.on_input(&key(KeyCode::Enter)), None);
    assert_eq!(state.editor.text(), "/compact");
}

#[test]
fn lines_are_broken_by_hand() {
    let mut state = State::new(time(0));
    type_in(&mut state, "one\\");
    assert_eq!(state.on_input(&key(KeyCode::Enter)), None);
    type_in(&mut state, "two");
    state.on_input(&control('j'));
    state.on_input(&Input::Paste(String::from("three\r\nfour")));
    assert_eq!(
        state.on_input(&key(KeyCode::Enter)),
        Some(Action::Prompt(String::from("one\ntwo\nthree\nfour")))
    );
}

#[test]
fn the_list_is_opened_filtered_and_closed() {
    let mut state = at_work();
    state.on_input(&control('t'));
    assert_eq!(state.on_input(&key(KeyCode::Char('f'))), None);
    assert_eq!(
        state.on_input(&key(KeyCode::Char('t'))),
        Some(Action::ReadPast)
    );
    assert!(matches!(&state.overlay, Some(Overlay::Tasks(view)) if view.timeline));
    state.on_input(&key(KeyCode::Esc));
    assert!(state.overlay.is_none());
    assert!(state.work.is_some(), "it stops nothing");
}

#[test]
fn what_arrives_is_gone_when_the_entry_comes() {
    let mut state = at_work();
    let text = |text: &str| {
        Event::Preview(Delta::Text {
            index: 0,
            text: text.to_owned(),
        })
    };
    state.on_event(&text("half an"));
    assert_eq!(state.transcript.arriving().as_deref(), Some("half an"));
    state.on_event(&Event::Preview(Delta::Retry {
        attempt: 1,
        attempts: 8,
        wait: Duration::from_secs(1),
        error: llm::ModelError::Cut(String::from("in the middle")),
    }));
    assert_eq!(state.transcript.arriving(), None);
    state.on_event(&text("half an answer"));
    let blocks = state.transcript.blocks().len();
    let item = testkit::talk::assistant([testkit::talk::text("half an answer")]);
    state.on_event(&Event::Entry(super::super::view::tests::entry(99, item)));
    assert_eq!(state.transcript.arriving(), None);
    assert_eq!(state.transcript.blocks().len(), blocks + 1);
}

#[test]
fn a_history_is_opened_as_it_was_told() {
    let told = at_work();
    assert_eq!(told.board.progress(), (1, 6));
    assert_eq!(told.context.percent(), Some(34));
    let mut opened = State::new(time(0));
    opened.open(&[]);
    assert_eq!(opened.context.percent(), None);
    assert!(!opened.board.has_work());
}
