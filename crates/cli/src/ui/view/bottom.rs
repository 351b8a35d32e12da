//! Below the conversation: what goes on, the question or the input, and the status.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use serde_json::Value;
use tools::task::render::one_line;

use super::Style;
use super::panel::clock;
use crate::tasks::text::{cut, cut_front, width};
use crate::ui::ask::Question;
use crate::ui::lines::wrapped_head;
use crate::ui::state::State;

/// The most lines of the input.
const INPUT_LINES: usize = 10;

/// The lines, with where the cursor is among them.
pub(super) struct Bottom {
    lines: Vec<Line<'static>>,
    cursor: Option<(usize, usize)>,
}

impl Bottom {
    /// As many lines as they need, and at most `height`.
    pub(super) fn of(state: &State, style: Style, columns: u16, height: u16) -> Self {
        let (columns, height) = (usize::from(columns), usize::from(height));
        let mut bottom = Self {
            lines: vec![Line::styled("─".repeat(columns), style.faint())],
            cursor: None,
        };
        match state.questions.front() {
            Some(question) => {
                let count = state.questions.len();
                bottom.question(question, count, style, columns, height);
            }
            None => bottom.input(state, style, columns, height),
        }
        bottom.lines.push(status(state, style, columns));
        bottom.fit(height);
        bottom
    }

    pub(super) fn height(&self) -> u16 {
        u16::try_from(self.lines.len()).unwrap_or(u16::MAX)
    }

    /// Takes lines from the top away until it fits: the keys of a question and the line of the cursor
    /// stand below.
    fn fit(&mut self, height: usize) {
        let surplus = self.lines.len().saturating_sub(height.max(2));
        self.lines.drain(..surplus);
        self.cursor = self
            .cursor
            .and_then(|(column, row)| Some((column, row.checked_sub(surplus)?)));
    }

    pub(super) fn draw(self, frame: &mut Frame<'_>, area: Rect) {
        if let Some((column, row)) = self.cursor {
            let column = u16::try_from(column).unwrap_or(u16::MAX);
            let row = u16::try_from(row).unwrap_or(u16::MAX);
            let x = area
                .x
                .saturating_add(column)
                .min(area.right().saturating_sub(1));
            frame.set_cursor_position(Position::new(x, area.y.saturating_add(row)));
        }
        frame.render_widget(Paragraph::new(self.lines), area);
    }

    fn question(
        &mut self,
        question: &Question,
        count: usize,
        style: Style,
        columns: usize,
        height: usize,
    ) {
        let more = if count > 1 {
            format!("  ({} more wait)", count - 1)
        } else {
            String::new()
        };
        let tool = one_line(&question.tool);
        let text = format!("May {tool} do this?{more}");
        self.lines
            .push(Line::styled(cut(&text, columns), style.warning()));
        // Beside the rule, what is asked, two lines of keys and the status.
        let room = height.saturating_sub(5).max(1);
        let (mut lines, missing) = wrapped_head(&about(question), columns.saturating_sub(2), room);
        let mut missing = missing;
        if missing > 0 || lines.len() > room {
            missing += lines.len().saturating_sub(room - 1);
            lines.truncate(room - 1);
        }
        for line in lines {
            let cells = match line.as_bytes().first() {
                Some(b'+') => style.good(),
                Some(b'-') => style.bad(),
                _ => style.plain(),
            };
            self.lines
                .push(Line::from(vec![Span::raw("  "), Span::styled(line, cells)]));
        }
        if missing > 0 {
            // Nobody should allow what cannot be read.
            let text = format!("  and {missing} more lines: Ctrl-O and PageUp show the whole call");
            self.lines
                .push(Line::styled(cut(&text, columns), style.warning()));
        }
        let rule = question
            .rule
            .as_ref()
            .map(|rule| one_line(&rule.to_string()));
        let always = match rule {
            Some(rule) => format!("a always in this session: {rule}"),
            None => String::from("a always in this session"),
        };
        self.lines.push(Line::styled(
            cut("y yes   n no   Esc no, and stop", columns),
            style.strong(),
        ));
        self.lines
            .push(Line::styled(cut(&always, columns), style.strong()));
    }

    fn input(&mut self, state: &State, style: Style, columns: usize, height: usize) {
        let completions = state.completions();
        let usages = completions
            .iter()
            .map(|it| it.name.len() + it.arguments.len() + 2);
        let widest = usages.max().unwrap_or_default();
        let first = state.completion.saturating_sub(5);
        for (index, word) in completions.iter().enumerate().skip(first).take(6) {
            let usage = format!("/{} {}", word.name, word.arguments);
            let text = format!("{usage:<widest$}  {}", word.help);
            let cells = if index == state.completion {
                style.chosen()
            } else {
                style.faint()
            };
            self.lines.push(Line::styled(cut(&text, columns), cells));
        }
        for text in &state.queued {
            let text = format!("next: {}", one_line(text));
            self.lines
                .push(Line::styled(cut(&text, columns), style.faint()));
        }
        let most = INPUT_LINES.min((height / 2).max(1));
        let room = columns.saturating_sub(2);
        let height = state.editor.height(room, most);
        let window = state.editor.window(room, height);
        self.cursor = Some((window.cursor.0 + 2, self.lines.len() + window.cursor.1));
        for (index, row) in window.rows.into_iter().enumerate() {
            let lead = if index == 0 { "> " } else { "  " };
            self.lines.push(Line::from(vec![
                Span::styled(lead, style.user()),
                Span::raw(row),
            ]));
        }
        if state.editor.is_empty()
            && let Some(line) = self.lines.last_mut()
        {
            let text = if state.work.is_some() {
                "say what to do next"
            } else {
                "say what to do; / for commands"
            };
            line.spans
                .push(Span::styled(cut(text, room), style.faint()));
        }
        if state.editor.line_count() > height
            && let Some(rule) = self.lines.first_mut()
        {
            let text = format!("── {} lines ", state.editor.line_count());
            let rest = "─".repeat(columns.saturating_sub(width(&text)));
            *rule = Line::styled(format!("{text}{rest}"), style.faint());
        }
    }
}

/// What a question is about: the command, the change of a file, or the arguments.
fn about(question: &Question) -> String {
    let field = |name: &str| question.arguments.get(name).and_then(Value::as_str);
    let prefixed = |mark: char, text: &str| -> String {
        let lines: Vec<String> = text.lines().map(|line| format!("{mark}{line}")).collect();
        lines.join("\n")
    };
    let mut parts = Vec::new();
    parts.extend(question.target.clone());
    if let (Some(old), Some(new)) = (field("old_string"), field("new_string")) {
        parts.push(prefixed('-', old));
        parts.push(prefixed('+', new));
    } else if let Some(content) = field("content") {
        parts.push(prefixed('+', content));
    } else if parts.is_empty() {
        parts.push(question.arguments.to_string());
    }
    parts.join("\n")
}

/// What goes on, in a line; `None` if nothing does.
pub(super) fn activity(state: &State, style: Style, columns: u16) -> Option<Line<'static>> {
    let work = state.work.as_ref()?;
    let columns = usize::from(columns);
    let elapsed = clock(state.elapsed(work.since));
    let (text, cells) = if let Some(retry) = &work.retry {
        let left = retry.at.duration_since(state.now).as_secs().max(0);
        let text = format!(
            "waiting {left} s to try again ({} of {}): {}",
            retry.attempt,
            retry.attempts,
            one_line(&retry.error)
        );
        (text, style.warning())
    } else if work.stopping {
        (String::from("stopping"), style.warning())
    } else if !state.questions.is_empty() {
        (String::from("waiting for your answer"), style.warning())
    } else if let Some((since, tokens)) = work.compacting {
        let elapsed = clock(state.elapsed(since));
        let text = format!("compacting {} tokens  {elapsed}", thousands(tokens));
        (text, style.warning())
    } else {
        let doing = match (state.transcript.is_calling(), state.transcript.doing()) {
            (Some(tool), _) => format!("running {}", one_line(tool)),
            (None, Some(doing)) => one_line(doing),
            (None, None) => String::from("working"),
        };
        (format!("{doing}  {elapsed}  Esc stops"), style.warning())
    };
    // It moves once a second, so that it can be seen that the program lives.
    let beat = ["|", "/", "-", "\\"];
    let seconds = usize::try_from(state.now.as_second()).unwrap_or(0);
    let lead = beat.get(seconds % beat.len()).copied().unwrap_or("|");
    Some(Line::styled(cut(&format!("{lead} {text}"), columns), cells))
}

fn status(state: &State, style: Style, columns: usize) -> Line<'static> {
    if let Some((hint, _)) = &state.hint {
        return Line::styled(cut(hint, columns), style.warning());
    }
    let session = &state.session;
    let mut parts = vec![one_line(&session.model), session.mode.to_string()];
    if let Some(percent) = state.context.percent() {
        parts.push(format!("context {percent}%"));
    }
    let text = parts.join("  ");
    let rest = columns.saturating_sub(width(&text));
    let directory = one_line(&session.directory);
    let help = "/help";
    if rest > width(help) + 12 {
        let room = rest.saturating_sub(width(help) + 4);
        let directory = cut_front(&directory, room);
        let gap = rest.saturating_sub(2 + width(&directory) + width(help));
        let text = format!("{text}  {directory}{}{help}", " ".repeat(gap));
        return Line::styled(text, style.faint());
    }
    Line::styled(cut(&text, columns), style.faint())
}

/// A count such as `12.3k`.
fn thousands(count: u64) -> String {
    if count < 10_000 {
        count.to_string()
    } else {
        format!("{}.{}k", count / 1_000, count % 1_000 / 100)
    }
}
