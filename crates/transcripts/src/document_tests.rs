//! Whether a log is one document, and what it costs to see it.

use proptest::prelude::*;

use super::*;

/// By all of the beginning at once, as a reader of JSON sees it.
fn judged(head: &[u8]) -> Verdict {
    let head = head.trim_ascii_start();
    match head.first() {
        None => return Verdict::Unsure,
        Some(b'{') => {}
        Some(_) => return Verdict::No,
    }
    let found = RefCell::new(false);
    let mut deserializer = serde_json::Deserializer::from_slice(head);
    match deserializer.deserialize_map(Keys(&found)) {
        _ if found.into_inner() => Verdict::Yes,
        Err(error) if error.is_eof() => Verdict::Unsure,
        _ => Verdict::No,
    }
}

/// What is judged at the end, byte by byte, and with how much work.
fn in_bytes(log: &[u8]) -> (Verdict, usize) {
    let mut judge = Judge::default();
    let mut last = Verdict::Unsure;
    for end in 1..=log.len() {
        last = judge.look(&log[..end]);
        if last != Verdict::Unsure {
            break;
        }
    }
    (last, judge.work)
}

#[test]
fn a_beginning_tells_whether_it_is_a_document() {
    use Verdict::{No, Unsure, Yes};

    for (head, wanted) in [
        ("", Unsure),
        (" \n\t", Unsure),
        ("{", Unsure),
        ("{\"messages\"", Yes),
        ("{\"messages", Unsure),
        ("{\"messages\\\"\"", Unsure),
        ("\n {\"a\":[{\"b\":\"}\"}],\"loglines\":", Yes),
        ("{\"m\\u0065ssages\":", Yes),
        ("{\"a\":\"messages\"", Unsure),
        ("{\"a\":\"messages\",\"b\":{\"messages\":1", Unsure),
        ("{\"a\":\"messages\",\"b\":{\"messages\":1}}", No),
        ("{}", No),
        ("[", No),
        ("x", No),
        ("\u{feff}{\"messages\"", No),
        ("{,", No),
        ("{\"a\" 1", No),
        ("{\"a\":\"b\n", No),
        // What is no JSON is no document, wherever that shows.
        ("{\"a\":tru,\"messages\"", No),
        ("{\"a\":[},\"messages\"", No),
    ] {
        assert_eq!(Judge::default().look(head.as_bytes()), wanted, "{head}");
        assert_eq!(in_bytes(head.as_bytes()).0, wanted, "{head}");
    }
}

/// The smallest pieces are no more work than the whole at once: that of a square would be thousands of
/// times as much here.
#[test]
fn each_byte_is_looked_at_once_however_it_comes_in() {
    let fields: String = (0..2_000)
        .map(|number| format!("\"field_{number}\":{{\"a\":[{number},\"messages\"]}},"))
        .collect();
    let long = format!("{{\"a\":\"{}", "x".repeat(50_000));
    let names = format!("{{{}", "\"m\\u0065ssage\":1,".repeat(5_000));
    for (log, wanted) in [
        (format!("{{{fields}\"messages\":"), Verdict::Yes),
        (format!("{{{fields}\"last\":1}}"), Verdict::No),
        (format!("{{{fields}"), Verdict::Unsure),
        (long, Verdict::Unsure),
        (names, Verdict::Unsure),
    ] {
        let (verdict, work) = in_bytes(log.as_bytes());
        assert_eq!(verdict, wanted);
        assert!(work >= log.len() - 1, "{work} of {}", log.len());
        assert!(work <= 2 * log.len(), "{work} of {}", log.len());
    }
}

/// JSON and what nearly is.
fn heads() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        " ",
        "\n",
        "1",
        "null",
        "tru",
        "\"a\":",
        "\"messages\"",
        "\"loglines\":",
        "\"messages\":[",
        "{\"a\":{}},",
        "\"b\",",
        "\"\\\"\":",
        "{\"a\":1,",
    ]);
    prop::collection::vec(part, 0..12).prop_map(|parts| format!("{{{}", parts.concat()))
}

proptest! {
    /// What a reader of JSON calls a document is one, and nothing else is; and what is none by the
    /// first bytes is none by more of them.
    #[test]
    fn the_judge_and_a_reader_of_json_agree(head in heads()) {
        let bytes = head.as_bytes();
        let whole = judged(bytes);
        let (by_bytes, _) = in_bytes(bytes);
        let at_once = Judge::default().look(bytes);
        prop_assert_eq!(by_bytes, at_once);
        prop_assert_eq!(at_once == Verdict::Yes, whole == Verdict::Yes, "{}", head);
        if at_once == Verdict::No {
            prop_assert_eq!(whole, Verdict::No);
        }
    }
}
