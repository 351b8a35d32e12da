//! What a person types: some lines, a cursor, and what was typed before.

use std::ops::Range;

use tools::task::render::{is_control, is_line_break};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr;

/// How many prompts are kept to go back to.
const HISTORY: usize = 500;

/// A text that is being edited. The cursor never stands inside of what a reader sees as one character.
#[derive(Debug)]
pub(super) struct Editor {
    lines: Vec<String>,
    row: usize,
    /// A byte of the line.
    column: usize,
    history: Vec<String>,
    /// The place in the history that is shown, and what was typed before.
    browsing: Option<(usize, String)>,
}

/// What fits into a window of the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The rows.
    pub(super) rows: Vec<String>,
    /// Where the cursor is: column and row.
    pub(super) cursor: (usize, usize),
}

impl Default for Editor {
    fn default() -> Self {
        Self {
            lines: vec![String::new()],
            row: 0,
            column: 0,
            history: Vec::new(),
            browsing: None,
        }
    }
}

impl Editor {
    pub(super) fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(String::is_empty)
    }

    pub(super) fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// The text in front of the cursor, if it has one line only.
    pub(super) fn single_line(&self) -> Option<&str> {
        match self.lines.as_slice() {
            [line] => Some(line),
            _ => None,
        }
    }

    /// Takes the text out and remembers it.
    pub(super) fn take(&mut self) -> String {
        let text = self.text();
        self.remember(&text);
        self.set("");
        text
    }

    /// Remembers a prompt to go back to.
    pub(super) fn remember(&mut self, text: &str) {
        if !text.trim().is_empty() && self.history.last().is_none_or(|last| last != text) {
            self.history.push(text.to_owned());
            let surplus = self.history.len().saturating_sub(HISTORY);
            self.history.drain(..surplus);
        }
    }

    /// Puts a text in place of what is there, with the cursor at its end.
    pub(super) fn set(&mut self, text: &str) {
        self.browsing = None;
        self.replace_all(text);
    }

    fn replace_all(&mut self, text: &str) {
        self.lines = vec![String::new()];
        self.row = 0;
        self.column = 0;
        self.insert_raw(text);
    }

    /// Inserts what was typed or pasted at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        self.browsing = None;
        self.insert_raw(text);
    }

    fn insert_raw(&mut self, text: &str) {
        let mut added = text
            .replace("\r\n", "\n")
            .split(is_line_break)
            .map(|line| line.replace(|it: char| it.is_control() && it != '\t', ""))
            .collect::<Vec<String>>();
        let Some(line) = self.lines.get_mut(self.row) else {
            return;
        };
        let rest = line.split_off(self.column.min(line.len()));
        let Some(first) = added.first_mut() else {
            return;
        };
        first.insert_str(0, line);
        let count = added.len();
        if let Some(last) = added.last_mut() {
            self.column = last.len();
            last.push_str(&rest);
        }
        self.lines.splice(self.row..=self.row, added);
        self.row += count.saturating_sub(1);
    }

    pub(super) fn new_line(&mut self) {
        self.insert("\n");
    }

    /// Takes away the character before the cursor, or joins the line to the one before.
    pub(super) fn backspace(&mut self) {
        self.browsing = None;
        if self.column > 0 {
            let begin = self.before(self.column);
            self.remove(begin..self.column);
        } else if self.row > 0 {
            let line = self.lines.remove(self.row);
            self.row -= 1;
            self.column = self.line().len();
            if let Some(before) = self.lines.get_mut(self.row) {
                before.push_str(&line);
            }
        }
    }

    /// Takes away the character behind the cursor.
    pub(super) fn delete(&mut self) {
        let place = (self.row, self.column);
        self.right();
        if (self.row, self.column) != place {
            self.backspace();
        }
    }

    /// Takes away the word before the cursor.
    pub(super) fn delete_word(&mut self) {
        let end = self.column;
        if end == 0 {
            return self.backspace();
        }
        self.browsing = None;
        self.word_left();
        let begin = self.column;
        self.remove(begin..end);
    }

    pub(super) fn delete_to_begin(&mut self) {
        self.browsing = None;
        self.remove(0..self.column);
    }

    pub(super) fn delete_to_end(&mut self) {
        self.browsing = None;
        self.remove(self.column..self.line().len());
    }

    fn remove(&mut self, range: Range<usize>) {
        let begin = range.start;
        if let Some(line) = self.lines.get_mut(self.row)
            && line.get(range.clone()).is_some()
        {
            line.replace_range(range, "");
        }
        self.column = begin;
    }

    pub(super) fn left(&mut self) {
        if self.column > 0 {
            self.column = self.before(self.column);
        } else if self.row > 0 {
            self.row -= 1;
            self.column = self.line().len();
        }
    }

    pub(super) fn right(&mut self) {
        let rest = self.line().get(self.column..).unwrap_or_default();
        if let Some(cluster) = rest.graphemes(true).next() {
            self.column += cluster.len();
        } else if self.row + 1 < self.lines.len() {
            self.row += 1;
            self.column = 0;
        }
    }

    pub(super) fn word_left(&mut self) {
        let head = self.line().get(..self.column).unwrap_or_default();
        let words = head.split_word_bound_indices();
        let word = words.rev().find(|(_, word)| !word.trim().is_empty());
        if let Some((at, _)) = word {
            self.column = at;
        } else {
            self.column = 0;
            self.left();
        }
    }

    pub(super) fn word_right(&mut self) {
        let rest = self.line().get(self.column..).unwrap_or_default();
        let mut words = rest.split_word_bound_indices();
        if let Some((at, word)) = words.find(|(_, word)| !word.trim().is_empty()) {
            self.column += at + word.len();
        } else {
            self.column = self.line().len();
            self.right();
        }
    }

    pub(super) fn home(&mut self) {
        self.column = 0;
    }

    pub(super) fn end(&mut self) {
        self.column = self.line().len();
    }

    /// A line up; from the first one to what was typed before.
    pub(super) fn up(&mut self) {
        if self.row > 0 {
            self.go_to_row(self.row - 1);
            return;
        }
        let (place, draft) = match self.browsing.take() {
            Some((place, draft)) => (place.saturating_sub(1), draft),
            None if self.history.is_empty() => return,
            None => (self.history.len() - 1, self.text()),
        };
        self.browse(place, draft);
    }

    /// A line down; from the last one to what was typed after.
    pub(super) fn down(&mut self) {
        if self.row + 1 < self.lines.len() {
            self.go_to_row(self.row + 1);
            return;
        }
        let Some((place, draft)) = self.browsing.take() else {
            return;
        };
        if place + 1 < self.history.len() {
            self.browse(place + 1, draft);
        } else {
            self.replace_all(&draft);
        }
    }

    fn browse(&mut self, place: usize, draft: String) {
        let text = self.history.get(place).cloned().unwrap_or_default();
        self.replace_all(&text);
        self.browsing = Some((place, draft));
    }

    fn go_to_row(&mut self, row: usize) {
        let columns = shown_width(self.line().get(..self.column).unwrap_or_default());
        self.row = row;
        let mut taken = 0;
        let mut column = 0;
        for cluster in self.line().graphemes(true) {
            taken += shown_width(cluster);
            if taken > columns {
                break;
            }
            column += cluster.len();
        }
        self.column = column;
    }

    fn line(&self) -> &str {
        self.lines.get(self.row).map_or("", String::as_str)
    }

    /// Where the character before this place begins.
    fn before(&self, column: usize) -> usize {
        let head = self.line().get(..column).unwrap_or_default();
        head.grapheme_indices(true)
            .next_back()
            .map_or(0, |(at, _)| at)
    }

    /// How many rows the text takes at this width, counted up to `most`.
    pub(super) fn height(&self, columns: usize, most: usize) -> usize {
        let mut height = 0;
        for line in &self.lines {
            height += ranges(line, columns).len();
            if height >= most {
                return most;
            }
        }
        height
    }

    /// The part around the cursor that fits. Only what is near the cursor is looked at.
    pub(super) fn window(&self, columns: usize, height: usize) -> Window {
        let here = ranges(self.line(), columns);
        let is_before = |range: &&Range<usize>| range.start <= self.column;
        let inner = here.iter().take_while(is_before).count().saturating_sub(1);
        let begin = here.get(inner).map_or(0, |range| range.start);
        let left = self.line().get(begin..self.column).unwrap_or_default();

        let mut above: Vec<String> = Vec::new();
        let mut below: Vec<String> = Vec::new();
        let shown = |line: &str, range: &Range<usize>| {
            shown_text(line.get(range.clone()).unwrap_or_default())
        };
        // From the cursor upwards, nearest first.
        let lines_above = self.lines.iter().take(self.row).rev();
        let rows = here
            .iter()
            .take(inner)
            .rev()
            .map(|it| shown(self.line(), it));
        above.extend(rows);
        for line in lines_above {
            if above.len() >= height {
                break;
            }
            above.extend(ranges(line, columns).iter().rev().map(|it| shown(line, it)));
        }
        let rows = here.iter().skip(inner).map(|it| shown(self.line(), it));
        below.extend(rows);
        for line in self.lines.iter().skip(self.row + 1) {
            if below.len() >= height {
                break;
            }
            below.extend(ranges(line, columns).iter().map(|it| shown(line, it)));
        }
        // The row of the cursor is the first below.
        let wanted_below = below.len().min(height.div_ceil(2).max(1));
        let shown_above = above.len().min(height.saturating_sub(wanted_below));
        let shown_below = below.len().min(height.saturating_sub(shown_above));
        above.truncate(shown_above);
        below.truncate(shown_below);
        above.reverse();
        let cursor = (shown_width(left), above.len());
        above.extend(below);
        Window {
            rows: above,
            cursor,
        }
    }
}

/// The rows of a line: broken behind a space where there is one, never inside of a character. The last
/// row has room for the cursor behind it.
fn ranges(line: &str, columns: usize) -> Vec<Range<usize>> {
    let columns = columns.max(2);
    let mut ranges = Vec::new();
    let mut begin = 0;
    let mut taken = 0;
    // Behind the last space of the row, and the columns up to there.
    let mut space = None;
    for (at, cluster) in line.grapheme_indices(true) {
        let wide = shown_width(cluster);
        while taken + wide >= columns && at > begin {
            let (end, used) = space.filter(|(end, _)| *end > begin).unwrap_or((at, taken));
            ranges.push(begin..end);
            begin = end;
            taken -= used;
            space = None;
        }
        taken += wide;
        if cluster == " " {
            space = Some((at + cluster.len(), taken));
        }
    }
    ranges.push(begin..line.len());
    ranges
}

fn shown_text(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\t' => String::from("    "),
            character if is_control(character) => String::from(" "),
            character => character.to_string(),
        })
        .collect()
}

fn shown_width(text: &str) -> usize {
    let shown = shown_text(text);
    shown.graphemes(true).map(UnicodeWidthStr::width).sum()
}

#[cfg(test)]
#[path = "editor_tests.rs"]
mod tests;
