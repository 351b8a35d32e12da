//! Text in lines that a screen can show: cleaned, tabs widened, wrapped with its indentation kept.

use tools::task::render::{is_line_break, one_line};

use crate::tasks::text::{width, wrap};

/// The columns of a tab.
const TAB: &str = "    ";

/// The fewest columns that wrapped text has beside its indentation.
const LEAST: usize = 8;

/// The text in lines of at most so many columns. Nothing in it can move a cursor or colour anything.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in source_lines(text) {
        wrap_line(&line, columns, &mut lines);
    }
    lines
}

/// The first `most` source lines wrapped, and how many source lines are left out.
pub(super) fn wrapped_head(text: &str, columns: usize, most: usize) -> (Vec<String>, usize) {
    let mut source = source_lines(text);
    let mut lines = Vec::new();
    for line in source.by_ref().take(most) {
        wrap_line(&line, columns, &mut lines);
    }
    (lines, source.count())
}

/// The lines of a text, each cleaned. Line breaks at the end of the text make no line.
pub(super) fn source_lines(text: &str) -> impl Iterator<Item = String> {
    let text = text.trim_end_matches(is_line_break);
    // In this way a line break of two characters is one line break.
    text.split('\n').flat_map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.split(is_line_break).map(cleaned)
    })
}

fn cleaned(line: &str) -> String {
    one_line(&line.replace('\t', TAB))
}

fn wrap_line(line: &str, columns: usize, lines: &mut Vec<String>) {
    if width(line) <= columns {
        lines.push(line.to_owned());
        return;
    }
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    // Where the indentation would leave no room, the text is worth more.
    let indent = if indent + LEAST > columns { 0 } else { indent };
    let lead = " ".repeat(indent);
    lines.extend(
        wrap(text, columns.saturating_sub(indent))
            .into_iter()
            .map(|wrapped| format!("{lead}{wrapped}")),
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn indentation_is_kept() {
        assert_eq!(
            wrapped("one\r\n\tlet a = some(call);\n\nend\n", 16),
            ["one", "    let a =", "    some(call);", "", "end"]
        );
        assert_eq!(wrapped("", 10), [""]);
        assert_eq!(wrapped("日本語日本語", 6), ["日本語", "日本語"]);
        assert_eq!(wrapped("\u{1b}[31mred\u{202e}", 20), [" [31mred"]);
        assert_eq!(
            wrapped_head("a\nb\nc", 9, 2),
            (vec![String::from("a"), String::from("b")], 1)
        );
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_none_can_drive_a_terminal(text in any::<String>(), columns in 3..40_usize) {
            for line in wrapped(&text, columns) {
                prop_assert!(width(&line) <= columns, "{line:?}");
                prop_assert!(!line.chars().any(tools::task::render::is_control));
            }
        }
    }
}
