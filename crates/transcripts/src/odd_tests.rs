//! Logs that are odd without being wrong: each was once read otherwise than the contract says.

use super::*;
use crate::{Chain, Task, TaskList};

fn call(id: &str, name: &str, input: &str) -> String {
    format!(
        r#"{{"type":"assistant","sessionId":"s","message":{{"content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}]}}}}"#
    )
}

fn result(id: &str, text: &str) -> String {
    format!(
        r#"{{"type":"user","sessionId":"s","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{text}"}}]}}}}"#
    )
}

fn create(id: &str, subject: &str) -> String {
    let input = format!(r#"{{"subject":"{subject}"}}"#);
    let made = format!("Task #{id} created successfully");
    call(id, "TaskCreate", &input) + "\n" + &result(id, &made) + "\n"
}

fn folded(log: &[u8]) -> (TaskList, Report) {
    let mut reader = read(log, Options::default());
    let list = TaskList::fold(reader.by_ref().map(Result::unwrap));
    (list, reader.into_report())
}

fn subjects<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Vec<&'a str> {
    let subject = |task: &'a Task| task.subject.as_deref().unwrap_or("none");
    tasks.into_iter().map(subject).collect()
}

const MESSAGES: &str = r#"{"sessionId":"s","messages":[{"toolCalls":[{"name":"write_todos","args":{"todos":["a"]}}]}]}"#;

#[test]
fn a_record_with_messages_makes_no_document_of_the_lines_behind_it() {
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(200_000));
    for first in [
        r#"{"type":"request","sessionId":"s","messages":[{"role":"user"}]}"#,
        r#"{"messages":[],"sessionId":"s"}"#,
        r#"{"messages":{},"sessionId":"s"}"#,
        r#"{"messages":3,"sessionId":"s"}"#,
        &format!(r#"{{"sessionId":"s","messages":[{long}]}}"#),
    ] {
        for behind in ["\n", "\r\n", "\n \n"] {
            let log = first.to_owned() + behind + &create("1", "a");
            let (list, report) = folded(log.as_bytes());
            assert_eq!(subjects(list.tasks()), ["a"], "{first:.60}");
            assert_eq!(report.format, Some(Format::ClaudeTranscript), "{first:.60}");
            assert_eq!(report.fault_counts().count(), 0, "{first:.60}");
        }
    }
    let twice = r#"{"type":"request","sessionId":"s","messages":[]}"#;
    let log = format!("{twice}\n{twice}\n{}", create("1", "a"));
    assert_eq!(subjects(folded(log.as_bytes()).0.tasks()), ["a"]);
}

#[test]
fn a_document_on_one_line_is_one_whatever_white_space_is_behind_it() {
    for behind in ["", "\n", "\r\n\n  \n"] {
        let (list, report) = folded((MESSAGES.to_owned() + behind).as_bytes());
        assert_eq!(subjects(list.todos(&Chain::Main)), ["a"]);
        assert_eq!(report.format, Some(Format::GeminiChat));
        assert_eq!(report.fault_counts().count(), 0);
    }
    // Of several the first is read, and it is told.
    let (list, report) = folded(format!("{MESSAGES}\n{MESSAGES}\n").as_bytes());
    assert_eq!(subjects(list.todos(&Chain::Main)), ["a"]);
    assert!(report.has_gaps());
}

#[test]
fn a_document_may_begin_with_a_byte_order_mark() {
    let log = format!("\u{feff}{MESSAGES}\n");
    let (list, report) = folded(log.as_bytes());
    assert_eq!(subjects(list.todos(&Chain::Main)), ["a"]);
    assert_eq!(report.bytes, log.len() as u64);
    assert_eq!(report.fault_counts().count(), 0);
}

/// The text of a list is JSON inside of JSON, so its escapes are not those of the record.
#[test]
fn half_a_character_in_a_list_that_is_told_as_text_costs_no_more_than_itself() {
    let input = r#"{"todos":"[{\"content\":\"half \\ud83d\"}]"}"#;
    let log = call("a", "TodoWrite", input) + "\n" + &result("a", "ok") + "\n";
    let (list, _) = folded(log.as_bytes());
    assert_eq!(subjects(list.todos(&Chain::Main)), ["half \u{fffd}"]);

    let log = r#"{"type":"response_item","payload":{"type":"function_call","name":"update_plan","arguments":"{\"plan\":[{\"step\":\"half \\udc00\"}]}","call_id":"c"}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"Plan updated"}}
"#;
    let (list, report) = folded(log.as_bytes());
    assert_eq!(subjects(list.todos(&Chain::Main)), ["half \u{fffd}"]);
    let faults: Vec<_> = report.fault_counts().collect();
    assert_eq!(faults, [(FaultKind::LoneSurrogate, 1)]);
}

#[test]
fn half_a_character_beside_bytes_that_are_no_text_costs_no_more_than_itself() {
    let log = create("1", r"half \ud83d").replacen("sessionId", "junk\":\"\u{1}\",\"sessionId", 1);
    let log: Vec<u8> = log
        .bytes()
        .map(|byte| if byte == 1 { 0xff } else { byte })
        .collect();
    assert_eq!(subjects(folded(&log).0.tasks()), ["half \u{fffd}"]);
}

#[test]
fn a_field_given_twice_does_not_hide_the_format() {
    let log = r#"{"v":1,"agent":"x","ts":1,"ts":"t","type":"assistant","content":[{"type":"tool_use","id":"a","name":"TaskCreate","input":{"subject":"a"},"result":{"output":""}}]}"#;
    let (list, report) = folded(log.as_bytes());
    assert_eq!(subjects(list.tasks()), ["a"]);
    assert_eq!(report.format, Some(Format::EntireV1));
}

#[test]
fn a_forwarded_result_is_structured_if_it_says_so() {
    let forwarded = |message: &str| {
        format!(
            r#"{{"type":"progress","sessionId":"s","data":{{"type":"agent_progress","agentId":"a","message":{message}}}}}"#
        )
    };
    let told = result("a", "done").replacen('{', r#"{"toolUseResult":{"task":{"id":"7"}},"#, 1);
    let log = forwarded(&call("a", "TaskCreate", "{}")) + "\n" + &forwarded(&told);
    assert!(folded(log.as_bytes()).0.task("7").is_some());
}

#[test]
fn the_time_of_the_last_record_is_the_end_also_if_it_has_nothing_to_do_with_tasks() {
    let line = |second: u32, padding: usize| {
        let text = "x".repeat(padding);
        format!(
            "{{\"type\":\"user\",\"sessionId\":\"s\",\"text\":\"{text}\",\"timestamp\":\"2026-01-02T03:04:{second:02}Z\"}}\n"
        )
    };
    let ended = |report: &Report| report.ended.unwrap().to_string();
    // Padded, it is longer than what is read at once, and than what one thread reads.
    for padding in [0, 3_000, 500_000] {
        let log: String = (0..40).map(|second| line(second, padding)).collect();
        let (_, report) = folded(log.as_bytes());
        assert_eq!(ended(&report), "2026-01-02T03:04:39Z");
        assert_eq!(report.started.unwrap().to_string(), "2026-01-02T03:04:00Z");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &log).unwrap();
        let mut reader = open(file.path(), Options::default()).unwrap();
        assert_eq!(reader.by_ref().count(), 0);
        assert_eq!(ended(reader.report()), "2026-01-02T03:04:39Z");
    }
}

/// Gives its bytes one by one.
struct Drops<'a>(&'a [u8]);

impl Read for Drops<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.0.len().min(1);
        self.0.read(&mut into[..length])
    }
}

/// How many bytes are looked at until it is known what the log is, and how many there are then.
fn work_of(log: &str) -> (usize, usize) {
    let mut reader = read(Drops(log.as_bytes()), Options::default());
    let mut work = (0, 0);
    while let State::Start(lines, asked) = &reader.state {
        work = (asked.work, lines.ahead().len());
        if !reader.advance().unwrap() {
            break;
        }
    }
    work
}

/// In the smallest pieces that is a few times the whole and no more: a square would be thousands of
/// times as much here.
#[test]
fn whether_a_log_is_a_document_costs_no_more_than_its_beginning_is_long() {
    let fields = "\"field\":{\n\"a\":[1,\"messages\"]},".repeat(2_000);
    for log in [
        format!("{{{fields}\"messages\":[]}}"),
        format!("{{{fields}\"last\":1}}\n"),
        format!("{{{fields}"),
        format!("{{\"a\":\"{}", "x".repeat(50_000)),
        MESSAGES.to_owned() + &" \n".repeat(20_000),
    ] {
        let (work, length) = work_of(&log);
        assert!(length > 20_000, "{length}");
        assert!(work <= 5 * length, "{work} for {length}");
    }
}

/// A line that is there is not waited behind: of a stream it may be the last for long.
#[test]
fn the_first_line_is_read_as_soon_as_it_is_whole() {
    let line = create("1", "a");
    let first = line.split_inclusive('\n').next().unwrap();
    let (_, length) = work_of(&line);
    assert_eq!(length, first.len());
}
