//! Text from logs on a terminal: what it may do there (nothing), how wide it is, where it may be cut.

use tools::task::render::one_line;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr;

/// The most characters of one text that a view shows. `--json` shows all.
const LONGEST: usize = 1_000;

/// The text in one line without anything that moves the cursor, colours, or turns the direction of
/// what follows. Whatever comes from a log or a file name goes through here.
pub(crate) fn clean(text: &str) -> String {
    let text = text.trim_start();
    let line = if is_plain(text) {
        text.trim_end().to_owned()
    } else {
        one_line(text)
    };
    // Most texts are far too short to be measured.
    if line.len() <= LONGEST {
        return line;
    }
    match line.grapheme_indices(true).nth(LONGEST) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or("")),
        None => line,
    }
}

/// Whether each byte is a character of one column, as in most texts: there is nothing to be cleaned,
/// and nothing to be measured. The views of long lists spend most of their time on the others.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// How many columns the text takes.
pub(crate) fn width(text: &str) -> usize {
    if is_plain(text) {
        return text.len();
    }
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// The text with spaces behind it up to this width; cut where it is wider.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let mut text = cut(text, columns);
    let missing = columns.saturating_sub(width(&text));
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

/// The beginning of the text that fits, with a mark if something is missing. Never cut inside of what
/// a reader sees as one character.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut head = String::new();
    let mut taken = 0;
    for cluster in text.graphemes(true) {
        taken += cluster.width();
        if taken >= columns {
            break;
        }
        head.push_str(cluster);
    }
    if columns > 0 {
        head.push('…');
    }
    head
}

/// The end of the text that fits, with a mark if something is missing: of a path that is the telling part.
pub(crate) fn cut_front(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut taken = usize::from(columns > 0);
    let mut begin = text.len();
    for (at, cluster) in text.grapheme_indices(true).rev() {
        taken += cluster.width();
        if taken > columns {
            break;
        }
        begin = at;
    }
    let mark = if columns > 0 { "…" } else { "" };
    format!("{mark}{}", text.get(begin..).unwrap_or(""))
}

/// The most columns that one character takes (U+17D8 takes them).
const WIDEST: usize = 3;

/// The text in lines of at most this width (three columns at the least, so that each character has
/// room), broken at spaces where there are any.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(WIDEST);
    let inner = text.trim_matches(' ');
    if inner.len() <= columns && is_plain(inner) {
        return vec![inner.to_owned()];
    }
    wrap_characters(text, columns)
}

/// [`wrap`] for any text.
fn wrap_characters(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut taken = 0;
    for word in text.split_inclusive(' ') {
        let wide = width(word.trim_end());
        if taken > 0 && taken + wide > columns && wide <= columns {
            end_line(&mut line, &mut taken, &mut lines);
        }
        for cluster in word.graphemes(true).flat_map(|it| pieces(it, columns)) {
            let blank = cluster.trim().is_empty();
            if taken + cluster.width() > columns && !blank {
                end_line(&mut line, &mut taken, &mut lines);
            }
            if !(blank && (taken == 0 || taken + cluster.width() > columns)) {
                line.push_str(cluster);
                taken += cluster.width();
            }
        }
    }
    end_line(&mut line, &mut taken, &mut lines);
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// The cluster whole; if it is wider than a whole line (a letter with spacing marks can be), its characters.
fn pieces(cluster: &str, columns: usize) -> impl Iterator<Item = &str> {
    let too_wide = cluster.width() > columns;
    cluster.split_inclusive(move |_: char| too_wide)
}

fn end_line(line: &mut String, taken: &mut usize, lines: &mut Vec<String>) {
    line.truncate(line.trim_end().len());
    if !line.is_empty() {
        lines.push(std::mem::take(line));
    }
    *taken = 0;
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
