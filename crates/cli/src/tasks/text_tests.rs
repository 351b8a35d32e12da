use proptest::prelude::*;

use super::*;

/// Texts with wide, narrow, joined and combining characters.
const TEXTS: [&str; 8] = [
    "plain",
    "任務を追加する",
    "e\u{301}a\u{308} combining",
    "👩‍👩‍👧‍👦 family",
    "🇩🇪 flag",
    "한국어 띄어쓰기",
    "",
    "a\u{200b}b",
];

#[test]
fn what_is_padded_has_just_the_width() {
    for text in TEXTS {
        for columns in 0..20 {
            assert_eq!(width(&pad(text, columns)), columns, "{text:?} in {columns}");
        }
    }
}

#[test]
fn a_cut_is_marked_and_never_inside_of_a_character() {
    assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
    assert_eq!(cut("任務任務", 4), "任…");
    assert_eq!(cut("任務任務", 5), "任務…");
    assert_eq!(cut("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 3), "👩‍👩‍👧‍👦…");
    assert_eq!(cut("abc", 3), "abc");
    assert_eq!(cut("abc", 0), "");
}

#[test]
fn of_a_path_the_end_stays() {
    assert_eq!(cut_front("/home/me/log.jsonl", 10), "…log.jsonl");
    assert_eq!(cut_front("/a/任務任務", 6), "…任務");
    assert_eq!(cut_front("abc", 3), "abc");
    assert_eq!(cut_front("abc", 0), "");
}

#[test]
fn lines_are_broken_between_words_and_long_words_anywhere() {
    assert_eq!(wrap("one two three", 8), ["one two", "three"]);
    assert_eq!(wrap("incomprehensible", 8), ["incompre", "hensible"]);
    assert_eq!(wrap("任務を追加する", 6), ["任務を", "追加す", "る"]);
    assert_eq!(
        wrap("one 任務を追加する", 6),
        ["one 任", "務を追", "加する"]
    );
    assert_eq!(
        wrap("2026-01-02 03:00:01Z", 12),
        ["2026-01-02", "03:00:01Z"]
    );
    assert_eq!(wrap("", 8), [""]);
    // One cluster of four columns: a sign with three spacing marks.
    assert_eq!(wrap("®ಂᤰᤰ", 3), ["®ಂᤰ", "ᤰ"]);
    assert_eq!(wrap("\u{17d8}", 2), ["\u{17d8}"]);
}

#[test]
fn no_character_is_wider_than_the_narrowest_line() {
    let widest = ('\0'..=char::MAX)
        .map(|it| width(it.encode_utf8(&mut [0; 4])))
        .max();
    assert_eq!(widest, Some(WIDEST));
}

#[test]
fn control_characters_and_marks_that_turn_text_are_gone() {
    assert_eq!(
        clean("a\u{1b}[31mb\u{202e}c\u{9b}d\r\n\te"),
        "a [31mb c d e"
    );
    assert_eq!(clean(" \u{0} "), "");
    let long = "x".repeat(5_000);
    assert_eq!(clean(&long).chars().count(), 1_001);
}

proptest! {
    #[test]
    fn no_line_is_wider_than_asked_and_nothing_but_space_is_lost(text in "\\PC{0,60}", columns in 3usize..40) {
        let text = clean(&text);
        let lines = wrap(&text, columns);
        for line in &lines {
            prop_assert!(width(line) <= columns, "{line:?}");
        }
        let letters = |text: &str| text.chars().filter(|it| !it.is_whitespace()).collect::<String>();
        prop_assert_eq!(letters(&lines.concat()), letters(&text));
    }
}

proptest! {
    #[test]
    fn the_short_ways_for_plain_text_end_where_the_long_ones_do(text in "[ -~]{0,40}", columns in 3usize..45) {
        prop_assert_eq!(width(&text), text.graphemes(true).map(UnicodeWidthStr::width).sum::<usize>());
        prop_assert_eq!(clean(&text), one_line(text.trim_start()));
        prop_assert_eq!(wrap(&text, columns), wrap_characters(&text, columns));
    }
}
