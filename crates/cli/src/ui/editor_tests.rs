use proptest::prelude::*;

use super::*;

fn editor(text: &str) -> Editor {
    let mut editor = Editor::default();
    editor.insert(text);
    editor
}

#[test]
fn keys_edit_what_a_reader_sees_as_characters() {
    let mut editor = editor("naïve 👩‍👩‍👧 日本");
    editor.backspace();
    editor.left();
    editor.backspace();
    editor.backspace();
    assert_eq!(editor.text(), "naïve 日");
    editor.word_left();
    editor.insert("very ");
    assert_eq!(editor.text(), "very naïve 日");
    editor.home();
    editor.delete();
    editor.end();
    editor.delete_word();
    assert_eq!(editor.text(), "ery naïve ");
    editor.home();
    editor.word_right();
    editor.delete_to_end();
    assert_eq!(editor.text(), "ery");
    editor.delete_to_begin();
    assert!(editor.is_empty());
}

#[test]
fn lines_are_split_and_joined() {
    let mut editor = editor("one\r\ntwo\rthree");
    assert_eq!(editor.text(), "one\ntwo\nthree");
    editor.home();
    editor.backspace();
    assert_eq!(editor.text(), "one\ntwothree");
    editor.up();
    editor.end();
    editor.delete();
    assert_eq!(editor.text(), "onetwothree");
    editor.left();
    editor.new_line();
    assert_eq!(editor.text(), "on\netwothree");
    editor.insert("\u{1b}[2J");
    assert_eq!(editor.text(), "on\n[2Jetwothree");
}

#[test]
fn up_and_down_go_through_lines_and_then_through_what_was_typed() {
    let mut editor = Editor::default();
    for text in ["first", "second\nwith two lines", "second\nwith two lines"] {
        editor.insert(text);
        assert_eq!(editor.take(), text);
    }
    editor.insert("draft");
    editor.up();
    assert_eq!(editor.text(), "second\nwith two lines");
    editor.up();
    editor.up();
    assert_eq!(editor.text(), "first");
    editor.up();
    assert_eq!(editor.text(), "first");
    editor.down();
    editor.down();
    assert_eq!(editor.text(), "draft");
    editor.down();
    assert_eq!(editor.text(), "draft");
}

#[test]
fn the_cursor_keeps_its_column_among_wide_characters() {
    let mut editor = editor("日本語日本語\nabcdefg");
    editor.up();
    assert_eq!(editor.window(40, 5).cursor, (6, 0));
    editor.down();
    assert_eq!(editor.window(40, 5).cursor, (6, 1));
}

#[test]
fn a_window_shows_what_is_around_the_cursor() {
    let mut editor = editor("1\n2\n3\n4\n5");
    let window = |editor: &Editor| {
        let window = editor.window(10, 3);
        (window.rows.join(","), window.cursor)
    };
    assert_eq!(window(&editor), (String::from("3,4,5"), (1, 2)));
    editor.up();
    editor.up();
    assert_eq!(window(&editor), (String::from("2,3,4"), (1, 1)));
    editor.up();
    editor.up();
    assert_eq!(window(&editor), (String::from("1,2,3"), (1, 0)));
}

#[test]
fn rows_break_at_spaces() {
    let editor = editor("one two three");
    let window = editor.window(9, 5);
    assert_eq!(window.rows, ["one two ", "three"]);
    assert_eq!(window.cursor, (5, 1));
    assert_eq!(editor.height(9, 10), 2);
}

#[test]
fn ten_thousand_lines_are_pasted_and_shown() {
    let text: Vec<String> = (1..=10_000)
        .map(|line| format!("line {line} {}", "x".repeat(90)))
        .collect();
    let mut editor = editor(&text.join("\n"));
    assert_eq!(editor.line_count(), 10_000);
    assert_eq!(editor.height(40, 8), 8);
    assert_eq!(editor.window(40, 8).rows.len(), 8);
    assert_eq!(editor.take(), text.join("\n"));
}

proptest! {
    #[test]
    fn the_cursor_is_always_in_the_window(
        text in "([a-z 日👩\t]|\n){0,60}",
        moves in proptest::collection::vec(0..9_u8, 0..30),
        columns in 5..20_usize,
        height in 1..6_usize,
    ) {
        let mut editor = editor(&text);
        for step in moves {
            match step {
                0 => editor.left(),
                1 => editor.right(),
                2 => editor.up(),
                3 => editor.down(),
                4 => editor.word_left(),
                5 => editor.word_right(),
                6 => editor.backspace(),
                7 => editor.delete_word(),
                _ => editor.insert("日"),
            }
            let window = editor.window(columns, height);
            prop_assert!(window.rows.len() <= height);
            prop_assert!(window.cursor.1 < window.rows.len());
            prop_assert!(window.cursor.0 <= shown_width(&window.rows[window.cursor.1]));
            prop_assert!(window.cursor.0 < columns, "{window:?}");
        }
    }
}
