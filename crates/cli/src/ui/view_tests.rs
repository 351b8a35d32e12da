use jiff::Timestamp;
use llm::{AssistantBlock, Delta, Item};
use pod::session::Entry;
use pod::{CompactReport, Compaction, Event, Rule, Trigger};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;
use testkit::talk;
use tools::task::{Change, Status, TaskId, TaskOperation, TaskStore};
use uuid::Uuid;

use super::*;
use crate::ui::ask::Question;
use crate::ui::overlay::{Filter, Overlay, Page, TaskView};
use crate::ui::state::State;

const SIZES: [(u16, u16); 3] = [(40, 12), (80, 24), (200, 60)];

pub(in crate::ui) fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_760_000_000 + seconds).unwrap()
}

pub(in crate::ui) fn entry(seconds: i64, item: Item) -> Entry {
    Entry {
        id: Uuid::from_u64_pair(1, u64::try_from(seconds).unwrap()),
        at: time(seconds),
        carried: false,
        item: std::sync::Arc::new(item),
    }
}

fn cells(state: &mut State, (columns, rows): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal
        .draw(|frame| draw(frame, state, Style { colour: false }))
        .unwrap();
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(columns)).map(|cells| {
        let mut row = String::new();
        let mut skip = 0;
        for cell in cells {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            row.push_str(cell.symbol());
            skip = crate::tasks::text::width(cell.symbol()).saturating_sub(1);
        }
        row.trim_end().to_owned()
    });
    let rows: Vec<String> = rows.collect();
    rows.join("\n")
}

/// The three sizes of one situation.
fn screens(mut state: impl FnMut() -> State) -> String {
    let screens = SIZES.map(|size| {
        let (columns, rows) = size;
        format!("== {columns}x{rows}\n{}", cells(&mut state(), size))
    });
    screens.join("\n")
}

fn operation(id: u32, status: Status) -> TaskOperation {
    TaskOperation::Update {
        id: TaskId::new(id),
        status: Some(status),
        subject: None,
        description: None,
        active_form: None,
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is written where it is called"
)]
fn tool_call(id: &str, name: &str, arguments: serde_json::Value) -> AssistantBlock {
    AssistantBlock::ToolCall(llm::ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: llm::Arguments::from(&arguments),
    })
}

fn fresh() -> State {
    let mut state = State::new(time(0));
    state.session.model = String::from("claude-sonnet-4-6");
    state.session.directory = String::from("/home/ada/projects/parser");
    state.context.window = 200_000;
    state
}

/// A session in the middle of its work.
pub(in crate::ui) fn at_work() -> State {
    let mut state = fresh();
    state.begin_work();
    let store = TaskStore::new();
    let tell = |state: &mut State, seconds: i64, item: Item, changes: Vec<Change>| {
        state.on_event(&Event::Entry(entry(seconds, item)));
        for change in changes {
            state.on_event(&Event::Task(change));
        }
    };
    tell(
        &mut state,
        1,
        talk::user("Write the parser, with tests.\nUse no generator."),
        vec![],
    );
    let subjects = [
        "Write the lexer",
        "Write the parser",
        "日本語のテスト 👩‍👩‍👧 in the tokens",
        "Test the errors",
        "Write the page about it",
        "Ask for a review",
    ];
    let mut blocks = vec![talk::text("Six steps. I begin with the lexer.")];
    let calls = subjects.iter().enumerate().map(|(index, subject)| {
        tool_call(
            &format!("c{index}"),
            "TaskCreate",
            json!({"subject": subject, "description": "As said."}),
        )
    });
    blocks.extend(calls);
    tell(&mut state, 2, talk::assistant(blocks), vec![]);
    for (index, subject) in subjects.iter().enumerate() {
        let change = store
            .apply(&TaskOperation::Create {
                subject: (*subject).to_owned(),
                description: String::from("As said.\nWith a second line."),
                active_form: (index == 1).then(|| String::from("Writing the parser")),
            })
            .unwrap();
        let text = tools::task::render::change(&change);
        tell(
            &mut state,
            3,
            talk::result(&format!("c{index}"), &text),
            vec![change],
        );
    }
    let calls = [
        tool_call(
            "w",
            "Write",
            json!({"file_path": "src/lexer.rs", "content": "fn lex() {}\nfn peek() {}\n"}),
        ),
        tool_call("b", "Bash", json!({"command": "cargo test lexer"})),
        tool_call(
            "u",
            "TaskUpdate",
            json!({"taskid": 1, "status": "completed"}),
        ),
        tool_call(
            "v",
            "TaskUpdate",
            json!({"taskid": 2, "status": "inprogress"}),
        ),
    ];
    tell(&mut state, 10, talk::assistant(calls), vec![]);
    tell(
        &mut state,
        11,
        talk::result("w", "Wrote src/lexer.rs (2 lines)"),
        vec![],
    );
    let failure = "Exit code 101\nerror[E0425]: cannot find value `x`\n --> src/lexer.rs:3:5";
    tell(&mut state, 15, talk::failure("b", failure), vec![]);
    for (call, id, status) in [("u", 1, Status::Completed), ("v", 2, Status::InProgress)] {
        let change = store.apply(&operation(id, status)).unwrap();
        let text = tools::task::render::change(&change);
        tell(&mut state, 16, talk::result(call, &text), vec![change]);
    }
    state.context.tokens = 68_000;
    state.set_now(time(95));
    state
}

#[test]
fn at_the_beginning() {
    let screen = screens(|| {
        let mut state = fresh();
        state.transcript.note(
            crate::ui::transcript::Tone::Info,
            "Pod. Say what to do. /help shows keys and commands.",
        );
        state
    });
    insta::assert_snapshot!(screen);
}

#[test]
fn while_an_answer_arrives() {
    let screen = screens(|| {
        let mut state = at_work();
        state.on_event(&Event::Preview(Delta::Text {
            index: 0,
            text: String::from("The lexer does not compile yet: a name is missing in the third line.\n\n```rust\nlet x = 1;\n```\nThis is the last line so far"),
        }));
        state
    });
    insta::assert_snapshot!(screen);
}

#[test]
fn a_question() {
    let screen = screens(|| {
        let mut state = at_work();
        state.questions.push_back(Question {
            tool: String::from("Edit"),
            target: Some(String::from("src/lexer.rs")),
            arguments: json!({"file_path": "src/lexer.rs", "old_string": "let y = x;", "new_string": "let x = 1;\nlet y = x;"}),
            rule: Some(Rule::parse_list("Edit").unwrap().remove(0)),
        });
        state
    });
    insta::assert_snapshot!(screen);
}

#[test]
fn the_details_of_calls() {
    let screen = screens(|| {
        let mut state = at_work();
        state.details = true;
        state
    });
    insta::assert_snapshot!(screen);
}

#[test]
fn waiting_and_compacting() {
    let mut state = at_work();
    state.on_event(&Event::Preview(Delta::Retry {
        attempt: 2,
        attempts: 8,
        wait: std::time::Duration::from_secs(20),
        error: llm::ModelError::Overloaded {
            status: 529,
            message: String::from("Overloaded"),
            retry_after: None,
        },
    }));
    state.set_now(time(98));
    let waiting = cells(&mut state, (80, 24));
    state.on_event(&Event::Compaction(Compaction::Started {
        trigger: Trigger::BetweenRequests,
        tokens: 171_234,
    }));
    state.on_event(&Event::Preview(Delta::Text {
        index: 0,
        text: String::from("a summary, which is no answer"),
    }));
    state.set_now(time(103));
    let compacting = cells(&mut state, (80, 24));
    state.on_event(&Event::Compaction(Compaction::Finished(CompactReport {
        trigger: Trigger::BetweenRequests,
        tokens_before: 171_234,
        tokens_after: 9_876,
        duration: std::time::Duration::from_millis(6_540),
        tasks: 6,
        kept_entries: 3,
        without_model: None,
    })));
    let compacted = cells(&mut state, (80, 24));
    insta::assert_snapshot!(format!("{waiting}\n==\n{compacting}\n==\n{compacted}"));
}

#[test]
fn the_whole_list() {
    let screen = screens(|| {
        let mut state = at_work();
        state.overlay = Some(Overlay::Tasks(TaskView::default()));
        state
    });
    insta::assert_snapshot!(screen);
}

#[test]
fn the_timeline_and_a_filter() {
    let mut state = at_work();
    state.overlay = Some(Overlay::Tasks(TaskView {
        timeline: true,
        ..TaskView::default()
    }));
    let narrow = cells(&mut state, (40, 12));
    let usual = cells(&mut state, (80, 24));
    state.overlay = Some(Overlay::Tasks(TaskView {
        filter: Filter::Completed,
        ..TaskView::default()
    }));
    let filtered = cells(&mut state, (80, 24));
    insta::assert_snapshot!(format!("{narrow}\n==\n{usual}\n==\n{filtered}"));
}

#[test]
fn commands_are_offered() {
    let screen = screens(|| {
        let mut state = at_work();
        state.editor.insert("/re");
        state
            .queued
            .push_back(String::from("and then write the page"));
        state
    });
    insta::assert_snapshot!(screen);
}

#[test]
fn the_help_fits() {
    let mut state = fresh();
    state.overlay = Some(Overlay::Page(Page {
        title: String::from("Help"),
        text: crate::ui::desk::help(),
        top: 0,
    }));
    insta::assert_snapshot!(cells(&mut state, (80, 34)));
}

#[test]
fn the_last_line_of_the_answer_is_always_in_view() {
    for columns in [12, 20, 40, 60, 80, 119, 120, 200] {
        for rows in [6, 7, 8, 10, 12, 18, 24, 60] {
            for is_asked in [false, true] {
                let mut state = at_work();
                state.on_event(&Event::Preview(Delta::Text {
                    index: 0,
                    text: String::from("one\ntwo\nthe end"),
                }));
                state.editor.insert(&"a long prompt\n".repeat(30));
                if is_asked {
                    state.questions.push_back(Question {
                        tool: String::from("Bash"),
                        target: Some("x\n".repeat(50)),
                        arguments: json!({}),
                        rule: None,
                    });
                }
                let screen = cells(&mut state, (columns, rows));
                assert!(screen.contains("the end"), "{columns}x{rows}:\n{screen}");
                assert_eq!(
                    is_asked,
                    screen.contains("y yes"),
                    "{columns}x{rows}:\n{screen}"
                );
            }
        }
    }
}

#[test]
fn looking_back_stays_where_it_is() {
    let mut state = at_work();
    let end = cells(&mut state, (80, 24));
    state.scroll.by = -5;
    let back = cells(&mut state, (80, 24));
    assert_ne!(end, back);
    assert!(back.contains("more below"));
    let first = back.lines().next().unwrap().to_owned();
    state.on_event(&Event::Preview(Delta::Text {
        index: 0,
        text: "more\n".repeat(40),
    }));
    assert_eq!(cells(&mut state, (80, 24)).lines().next().unwrap(), first);
    state.scroll.by = isize::MIN / 2;
    assert!(cells(&mut state, (80, 24)).starts_with("> Write the parser"));
    state.scroll.by = isize::MAX / 2;
    assert!(!cells(&mut state, (80, 24)).contains("more below"));
}
