use super::super::terminal::Terminal;
use super::super::tests::{environment, window};
use super::super::{Options, run_in};

/// A stream with one task of each kind and text of each width.
const LOG: &str = concat!(
    r#"{"type":"system","subtype":"init","session_id":"s1"}"#,
    "\n",
    r#"{"type":"assistant","session_id":"s1","message":{"id":"m1","content":[{"type":"tool_use","id":"a","name":"TaskCreate","input":{"subject":"任務の一覧を読む、そして全部を端末に表示する","description":"d"}},{"type":"tool_use","id":"b","name":"TaskCreate","input":{"subject":"Emoji 👩‍👩‍👧‍👦 and 🇩🇪 in one line with words behind them","description":"d","activeForm":"Drawing 👩‍👩‍👧‍👦"}},{"type":"tool_use","id":"c","name":"TaskCreate","input":{"subject":"Cafe\u0301 au lait, e\u0301te\u0301, combining marks","description":"d"}},{"type":"tool_use","id":"d","name":"TaskCreate","input":{"subject":"Dropped","description":"d"}}]}}"#,
    "\n",
    r#"{"type":"user","session_id":"s1","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"Task #1 created successfully"},{"type":"tool_result","tool_use_id":"b","content":"Task #2 created successfully"},{"type":"tool_result","tool_use_id":"c","content":"Task #10 created successfully"},{"type":"tool_result","tool_use_id":"d","content":"Task #11 created successfully"}]}}"#,
    "\n",
    r#"{"type":"assistant","session_id":"s1","message":{"id":"m2","content":[{"type":"tool_use","id":"e","name":"TaskUpdate","input":{"taskId":"1","status":"completed"}},{"type":"tool_use","id":"f","name":"TaskUpdate","input":{"taskId":"2","status":"in_progress","owner":"ann"}},{"type":"tool_use","id":"g","name":"TaskUpdate","input":{"taskId":"10","addBlockedBy":["1","2"]}},{"type":"tool_use","id":"h","name":"TaskUpdate","input":{"taskId":"11","status":"deleted"}},{"type":"tool_use","id":"i","name":"TaskUpdate","input":{"taskId":"12","status":"on hold"}}]}}"#,
    "\n",
    r#"{"type":"user","session_id":"s1","message":{"content":[{"type":"tool_result","tool_use_id":"e","content":"ok"},{"type":"tool_result","tool_use_id":"f","content":"ok"},{"type":"tool_result","tool_use_id":"g","content":"ok"},{"type":"tool_result","tool_use_id":"h","content":"ok"},{"type":"tool_result","tool_use_id":"i","content":"ok"}]}}"#,
    "\n",
    r#"{"type":"assistant","session_id":"s1","message":{"id":"m3","content":[{"type":"tool_use","id":"j","name":"TodoWrite","input":{"todos":[{"content":"One","status":"completed"},{"content":"Two","status":"cancelled"}]}}]}}"#,
    "\n",
    r#"{"type":"user","session_id":"s1","message":{"content":[{"type":"tool_result","tool_use_id":"j","content":"ok"}]}}"#,
    "\n",
    r#"{"type":"assistant","session_id":"s1","message":{"id":"m4","content":[{"type":"tool_use","id":"k","name":"TaskUpdate","input":{"taskId":"10","status":"in_progress"}}]}}"#,
    "\n",
);

fn shown(terminal: Terminal) -> String {
    let mut environment = environment();
    environment.stdin = Box::new(LOG.as_bytes());
    environment.out = terminal;
    let options = Options {
        logs: vec!["-".into()],
        ..Options::default()
    };
    let mut out = Vec::new();
    run_in(&options, &mut environment, &mut out, &mut Vec::new()).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn wide() {
    insta::assert_snapshot!("table_wide", shown(window(100)));
}

#[test]
fn narrow() {
    let text = shown(window(40));
    for line in text.lines() {
        assert!(super::super::text::width(line) <= 40, "{line:?}");
    }
    insta::assert_snapshot!("table_narrow", text);
}

#[test]
fn through_a_pipe_nothing_is_cut() {
    insta::assert_snapshot!("table_pipe", shown(Terminal::default()));
}

#[test]
fn colours_say_nothing_that_the_text_does_not_say() {
    let mut colourful = window(100);
    colourful.colour = true;
    let painted = shown(colourful);
    insta::assert_snapshot!(
        "table_colour",
        painted.escape_debug().to_string().replace("\\n", "\n")
    );
    // With NO_COLOR it is the same text.
    let mut plain = painted;
    for code in ["1", "2", "31", "32", "33", "0"] {
        plain = plain.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(plain, shown(window(100)));
}
