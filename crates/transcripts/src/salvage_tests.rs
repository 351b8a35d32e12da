use proptest::prelude::*;

use super::*;

fn salvaged(line: &str) -> (Vec<String>, Vec<FaultKind>) {
    let salvaged = records(line.as_bytes());
    (salvaged.records, salvaged.faults)
}

#[test]
fn two_records_on_a_line_are_two_records() {
    let (records, faults) = salvaged(r#"{"a":1} {"b":"}{"}{"c":3}"#);
    assert_eq!(records, [r#"{"a":1}"#, r#"{"b":"}{"}"#, r#"{"c":3}"#]);
    assert_eq!(faults, [FaultKind::Glued]);
}

#[test]
fn behind_a_cut_only_whole_records_count() {
    let (records, faults) = salvaged(
        r#"{"type":"x","content":[{"type":"tool_use","id":"1"},{"type":"{"type":"user","sessionId":"s"}"#,
    );
    assert_eq!(records, [r#"{"type":"user","sessionId":"s"}"#]);
    assert_eq!(faults, [FaultKind::Malformed]);
}

/// What was read of the broken record is not paid for again and again.
#[test]
fn a_record_behind_a_cut_one_with_many_parts_is_found() {
    let parts =
        r#"{"type":"text","text":"long enough to be a paragraph of some message"},"#.repeat(3_000);
    let line = format!(r#"{{"type":"x","content":[{parts}{{"ty{{"type":"user","sessionId":"s"}}"#);
    let (records, faults) = salvaged(&line);
    assert_eq!(records, [r#"{"type":"user","sessionId":"s"}"#]);
    assert_eq!(faults, [FaultKind::Malformed]);
}

#[test]
fn json_that_is_no_object_is_no_record() {
    let (records, faults) = salvaged(r#""massive error""#);
    assert!(records.is_empty());
    assert_eq!(faults, [FaultKind::NotARecord]);
}

#[test]
fn half_a_surrogate_pair_is_replaced_and_a_whole_one_stays() {
    let (records, faults) = salvaged(r#"{"a":"\ud83d\ude00 \uD83D x \\ud83d \ude00\ude00"}"#);
    assert_eq!(
        records,
        [r#"{"a":"\ud83d\ude00 \ufffd x \\ud83d \ufffd\ufffd"}"#]
    );
    assert_eq!(faults, [FaultKind::LoneSurrogate]);
    assert!(needs_mending(br#"{"a":"\ud83d"}"#));
    assert!(!needs_mending(br#"{"a":"\ud83d\ude00 \\ud83d \u00e9"}"#));
}

#[test]
fn the_last_of_a_field_given_twice_counts() {
    assert_eq!(
        normal(r#"{"a":1,"b":2,"a":3}"#).unwrap(),
        r#"{"a":3,"b":2}"#
    );
}

/// Each opening brace is a beginning of a record that has no end.
#[test]
fn a_hostile_line_costs_linear_time() {
    let line = r#"{"type":"#.repeat(200_000);
    let begin = std::time::Instant::now();
    let (records, faults) = salvaged(&line);
    assert!(records.is_empty());
    assert_eq!(faults, [FaultKind::Malformed]);
    // Quadratic work would take minutes.
    assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
}

proptest! {
    #[test]
    fn no_bytes_at_all_make_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for record in records(&bytes).records {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&record).is_ok());
        }
    }

    #[test]
    fn a_cut_costs_only_the_record_that_is_cut(cut in 1usize..60) {
        let whole = r#"{"type":"user","sessionId":"s","uuid":"é任務"}"#;
        let at = (0..=cut.min(whole.len() - 1)).rev().find(|&at| whole.is_char_boundary(at)).unwrap();
        prop_assume!(at > 0);
        let line = format!("{}{whole}", whole.get(..at).unwrap());
        let salvaged = records(line.as_bytes());
        prop_assert_eq!(salvaged.records, [whole]);
    }
}
