//! What was said and done, in rows. Each block is laid out once for a width.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style as Cells;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tools::task::render::one_line;

use super::Style;
use crate::tasks::text::{cut, width};
use crate::ui::lines::{source_lines, wrapped, wrapped_head};
use crate::ui::state::{Scroll, State};
use crate::ui::transcript::{Block, Call, Kind, Tone, Transcript};

/// The rows of a block, and for what they were made.
#[derive(Debug)]
pub(in crate::ui) struct LaidOut {
    width: usize,
    details: bool,
    rows: Vec<Line<'static>>,
}

/// The lines of a prompt that are shown without details.
const PROMPT_LINES: usize = 10;

/// The lines of the details of a call.
const DETAIL_LINES: usize = 200;

/// The lines of an error of a call that are shown without details.
const ERROR_LINES: usize = 4;

/// Draws the part that is to be seen.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut State, style: Style, area: Rect) {
    let mut rows = Rows {
        width: usize::from(area.width.max(4)),
        details: state.details,
        style,
        arriving: state.transcript.arriving().map(|text| {
            let mut rows = vec![Line::default()];
            rows.extend(answer(&text, usize::from(area.width.max(4)), style));
            rows
        }),
        transcript: &mut state.transcript,
    };
    let height = usize::from(area.height);
    state.scroll.page = height;
    place(&mut state.scroll, &mut rows, height);
    let shown = match state.scroll.top {
        Some((block, row)) => rows.from(block, row, height),
        None => rows.end(height),
    };
    let mut lines = shown;
    if state.scroll.top.is_some()
        && let Some(last) = lines.last_mut()
    {
        *last = Line::styled(
            "-- more below: PageDown, or Ctrl-End for the end --",
            style.faint(),
        );
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// Moves the place as far as was asked for.
fn place(scroll: &mut Scroll, rows: &mut Rows<'_>, height: usize) {
    let by = std::mem::take(&mut scroll.by);
    if by == 0 && scroll.top.is_none() {
        return;
    }
    let mut top = scroll.top.unwrap_or_else(|| rows.top_of_end(height));
    if by < 0 {
        top = rows.up(top, by.unsigned_abs());
    } else {
        top = rows.down(top, by.unsigned_abs());
    }
    // At the end it is followed again.
    let rest = rows.from(top.0, top.1, height + 1).len();
    scroll.top = (rest > height).then_some(top);
}

/// The rows of all blocks, made where they are needed.
struct Rows<'a> {
    width: usize,
    details: bool,
    style: Style,
    transcript: &'a mut Transcript,
    /// The rows of what is arriving, which stands behind all blocks.
    arriving: Option<Vec<Line<'static>>>,
}

impl Rows<'_> {
    fn blocks(&self) -> usize {
        self.transcript.blocks().len() + usize::from(self.arriving.is_some())
    }

    fn of(&mut self, index: usize) -> &[Line<'static>] {
        let (width, details, style) = (self.width, self.details, self.style);
        let before = index
            .checked_sub(1)
            .and_then(|before| self.transcript.blocks().get(before));
        let gap = before.is_some_and(|before| {
            let here = self.transcript.blocks().get(index);
            here.is_some_and(|here| has_gap(&before.kind, &here.kind))
        });
        let Some(block) = self.transcript.blocks_mut().get_mut(index) else {
            return self.arriving.as_deref().unwrap_or_default();
        };
        let is_right = |it: &LaidOut| it.width == width && it.details == details;
        if !block.laid_out.as_ref().is_some_and(is_right) {
            block.laid_out = Some(LaidOut {
                width,
                details,
                rows: lay_out(block, gap, width, details, style),
            });
        }
        block.laid_out.as_ref().map_or(&[], |it| &it.rows)
    }

    /// The last rows.
    fn end(&mut self, height: usize) -> Vec<Line<'static>> {
        let top = self.top_of_end(height);
        self.from(top.0, top.1, height)
    }

    fn top_of_end(&mut self, height: usize) -> (usize, usize) {
        let last = self.blocks();
        self.up((last, 0), height)
    }

    fn from(&mut self, block: usize, row: usize, height: usize) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        let mut skip = row;
        for index in block..self.blocks() {
            let missing = height.saturating_sub(rows.len());
            if missing == 0 {
                break;
            }
            rows.extend(self.of(index).iter().skip(skip).take(missing).cloned());
            skip = 0;
        }
        rows
    }

    fn up(&mut self, (mut block, mut row): (usize, usize), by: usize) -> (usize, usize) {
        let mut left = by;
        // It may have become shorter.
        row = row.min(self.of(block).len());
        loop {
            if row >= left {
                return (block, row - left);
            }
            left -= row;
            let Some(before) = block.checked_sub(1) else {
                return (0, 0);
            };
            block = before;
            row = self.of(block).len();
        }
    }

    fn down(&mut self, (mut block, mut row): (usize, usize), by: usize) -> (usize, usize) {
        let mut left = by;
        while block < self.blocks() {
            let rest = self.of(block).len().saturating_sub(row);
            if left < rest {
                return (block, row + left);
            }
            left -= rest;
            block += 1;
            row = 0;
        }
        (block, 0)
    }
}

/// Whether an empty row stands between two blocks: not among calls, nor among notes.
fn has_gap(before: &Kind, here: &Kind) -> bool {
    !matches!(
        (before, here),
        (Kind::Call(_), Kind::Call(_)) | (Kind::Note { .. }, Kind::Note { .. })
    )
}

fn lay_out(
    block: &Block,
    gap: bool,
    width: usize,
    details: bool,
    style: Style,
) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    match &block.kind {
        Kind::User(text) => {
            let most = if details { usize::MAX } else { PROMPT_LINES };
            let (lines, missing) = wrapped_head(text, width.saturating_sub(2), most);
            rows.extend(led("> ", lines, style.user()));
            if missing > 0 {
                let text = format!("  and {missing} more lines (Ctrl-O shows them)");
                rows.push(Line::styled(cut(&text, width), style.faint()));
            }
        }
        Kind::Answer(text) => rows.extend(answer(text, width, style)),
        Kind::Reasoning(text) if details => {
            rows.extend(led(
                "~ ",
                wrapped(text, width.saturating_sub(2)),
                style.faint(),
            ));
        }
        // Nothing at all, not even a gap.
        Kind::Reasoning(_) => return rows,
        Kind::Call(call) => rows.extend(call_rows(call, width, details, style)),
        Kind::Note { tone, text } => {
            let (lead, cells) = match tone {
                Tone::Info => ("* ", style.faint()),
                Tone::Warning => ("* ", style.warning()),
                Tone::Error => ("! ", style.bad()),
            };
            rows.extend(led(lead, wrapped(text, width.saturating_sub(2)), cells));
        }
        Kind::Summary(text) if details => {
            rows.extend(led(
                "= ",
                wrapped(text, width.saturating_sub(2)),
                style.faint(),
            ));
        }
        Kind::Summary(_) => {
            let text = "= a summary stands for what was before (Ctrl-O shows it)";
            rows.push(Line::styled(cut(text, width), style.faint()));
        }
    }
    if gap {
        rows.insert(0, Line::default());
    }
    rows
}

/// Lines with a mark in front of the first one.
fn led(lead: &'static str, lines: Vec<String>, cells: Cells) -> Vec<Line<'static>> {
    let rows = lines.into_iter().enumerate().map(|(index, line)| {
        let lead = if index == 0 { lead } else { "  " };
        Line::from(vec![Span::styled(lead, cells), Span::styled(line, cells)])
    });
    rows.collect()
}

/// The text of an answer. Fenced code and headings stand out; the text stays as it is.
fn answer(text: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    let mut fenced = false;
    for line in source_lines(text) {
        let is_fence = line.trim_start().starts_with("```");
        let cells = if fenced || is_fence {
            style.code()
        } else if line.starts_with('#') {
            style.strong()
        } else {
            style.plain()
        };
        fenced ^= is_fence;
        let lines = wrapped(&line, width).into_iter();
        rows.extend(lines.map(|line| Line::styled(line, cells)));
    }
    rows
}

fn call_rows(call: &Call, columns: usize, details: bool, style: Style) -> Vec<Line<'static>> {
    let (mark, cells) = match &call.result {
        None => ("  …", style.warning()),
        Some(it) if it.is_error => ("  ✗", style.bad()),
        Some(_) => ("  ✓", style.good()),
    };
    let summary = call.result.as_ref().map_or("", |it| it.summary.as_str());
    let mut summary_lines = source_lines(summary);
    let first = summary_lines.next().unwrap_or_default();
    let target = call.target().map(one_line);
    // What the result names already is not said twice.
    let target = target.filter(|target| !first.contains(target.as_str()));
    let name = match target {
        Some(target) => {
            let room = if first.is_empty() {
                columns
            } else {
                columns / 2
            };
            let name = one_line(&call.name);
            let room = room.saturating_sub(width(&name) + 6).max(8);
            format!("{name}({})", cut(&target, room))
        }
        None => one_line(&call.name),
    };
    let head = format!(" {name}");
    let rest = columns.saturating_sub(3 + width(&head));
    let told = if first.is_empty() {
        String::new()
    } else {
        format!("  {first}")
    };
    let mut rows = vec![Line::from(vec![
        Span::styled(mark, cells),
        Span::raw(cut(&head, columns.saturating_sub(3))),
        Span::styled(cut(&told, rest), style.faint()),
    ])];
    let room = columns.saturating_sub(6).max(4);
    let indented = |line: String, cells: Cells| {
        Line::from(vec![Span::raw("      "), Span::styled(line, cells)])
    };
    if details {
        let text = detail(call);
        let (lines, missing) = wrapped_head(&text, room, DETAIL_LINES);
        rows.extend(lines.into_iter().map(|line| {
            let cells = match line.as_bytes().first() {
                Some(b'+') => style.good(),
                Some(b'-') => style.bad(),
                _ => style.faint(),
            };
            indented(line, cells)
        }));
        if missing > 0 {
            rows.push(indented(
                format!("and {missing} more lines; the log has them"),
                style.faint(),
            ));
        }
    } else if call.result.as_ref().is_some_and(|it| it.is_error) {
        let rest: Vec<String> = summary_lines.collect();
        let shown = rest.iter().take(ERROR_LINES).map(|line| cut(line, room));
        rows.extend(shown.map(|line| indented(line, style.faint())));
        if rest.len() > ERROR_LINES {
            let text = format!(
                "and {} more lines (Ctrl-O shows them)",
                rest.len() - ERROR_LINES
            );
            rows.push(indented(cut(&text, room), style.faint()));
        }
    }
    rows
}

/// What a call was made with and what came of it, or the text that a file was given.
fn detail(call: &Call) -> String {
    let mut parts = Vec::new();
    let field = |name: &str| call.arguments.get(name).and_then(serde_json::Value::as_str);
    match (field("command"), field("content")) {
        (Some(command), _) => parts.push(format!("$ {command}")),
        (None, Some(content)) => {
            parts.extend(content.lines().map(|line| format!("+{line}")));
        }
        // The result of an edit has the difference.
        _ if call.result.is_some() && field("old_string").is_some() => {}
        _ if field("old_string").is_some() => {
            let lines = |mark: char, name: &str| -> Vec<String> {
                let text = field(name).unwrap_or_default();
                text.lines().map(|line| format!("{mark}{line}")).collect()
            };
            parts.extend(lines('-', "old_string"));
            parts.extend(lines('+', "new_string"));
        }
        _ => parts.push(call.arguments.to_string()),
    }
    if let Some(result) = &call.result {
        let rest = || result.summary.split_once('\n').map_or("", |(_, rest)| rest);
        let text = result.content.as_deref().unwrap_or_else(rest);
        // The first line of it stands in the line of the call.
        let text = match text.strip_prefix(result.summary.as_str()) {
            Some(rest) if result.content.is_some() => rest.trim_start_matches('\n'),
            _ => text,
        };
        if !text.is_empty() {
            parts.push(text.to_owned());
        }
    }
    parts.join("\n")
}
