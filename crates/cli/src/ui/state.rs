//! All that the screen shows, and what becomes of it when something happens. Nothing here touches a
//! terminal or a clock: events and the time come in, and what is to be done goes out.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use llm::{Delta, Item};
use pod::session::Entry;
use pod::{CompactRecord, Compaction, Event, Outcome, PermissionMode, Status};

use super::ask::Question;
use super::board::{Board, By};
use super::command::Command;
use super::editor::Editor;
use super::overlay::Overlay;
use super::transcript::{Tone, Transcript};

/// What the screen shows.
#[derive(Debug)]
pub(super) struct State {
    pub(super) transcript: Transcript,
    pub(super) board: Board,
    pub(super) editor: Editor,
    pub(super) overlay: Option<Overlay>,
    /// What waits for an answer, the first one first.
    pub(super) questions: VecDeque<Question>,
    /// What goes on, if anything does.
    pub(super) work: Option<Work>,
    /// Prompts for after the run.
    pub(super) queued: VecDeque<String>,
    pub(super) session: Session,
    pub(super) context: Context,
    /// Whether the details of calls are shown.
    pub(super) details: bool,
    /// Which of the completions is chosen.
    pub(super) completion: usize,
    pub(super) scroll: Scroll,
    /// A word for the status line, and until when.
    pub(super) hint: Option<(String, Timestamp)>,
    pub(super) now: Timestamp,
    /// When a key was last pressed that stops or leaves.
    pub(super) last_stop: Option<Timestamp>,
    /// When something was last typed into the input.
    pub(super) last_typed: Option<Timestamp>,
    /// The entry that was told last: when, and by whom.
    last_entry: Option<(Timestamp, By)>,
}

/// What the status line says of the session.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) mode: PermissionMode,
    pub(super) directory: String,
}

/// How full the model's window is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Context {
    pub(super) tokens: u64,
    pub(super) window: u64,
}

impl Context {
    /// The share in percent, if it is known.
    pub(super) fn percent(&self) -> Option<u64> {
        let share = (self.tokens * 100).checked_div(self.window)?;
        (self.tokens > 0).then_some(share)
    }
}

/// What goes on.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) since: Timestamp,
    /// Since when, and how many tokens there were, while the history is compacted.
    pub(super) compacting: Option<(Timestamp, u64)>,
    pub(super) retry: Option<Retry>,
    /// Whether it was told to stop.
    pub(super) stopping: bool,
}

/// A request that is sent again.
#[derive(Clone, Debug)]
pub(super) struct Retry {
    pub(super) at: Timestamp,
    pub(super) attempt: u32,
    pub(super) attempts: u32,
    pub(super) error: String,
}

/// Which part of the conversation is shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scroll {
    /// The block and the row of it at the top; `None` follows the end.
    pub(super) top: Option<(usize, usize)>,
    /// By how many rows the next drawing moves it. Up is negative.
    pub(super) by: isize,
    /// How many rows a page has.
    pub(super) page: usize,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Prompt(String),
    Command(Command),
    /// An answer to the first question.
    Answer(Answer),
    /// Stops what goes on.
    Stop,
    Leave,
    /// Reads the whole past of the session for the timeline.
    ReadPast,
    /// The chosen row of what is offered.
    RewindTo(usize),
    ResumeNumber(usize),
    NextMode,
    /// Goes to the background, as Ctrl-Z does.
    Suspend,
    Redraw,
}

/// What a person says to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    Always,
    No,
    /// No, and the run ends.
    End,
}

/// How long a second press of a key counts as the second one.
pub(super) const TWICE: SignedDuration = SignedDuration::from_secs(2);

impl State {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            transcript: Transcript::default(),
            board: Board::default(),
            editor: Editor::default(),
            overlay: None,
            questions: VecDeque::new(),
            work: None,
            queued: VecDeque::new(),
            session: Session::default(),
            context: Context::default(),
            details: false,
            completion: 0,
            scroll: Scroll::default(),
            hint: None,
            now,
            last_stop: None,
            last_typed: None,
            last_entry: None,
        }
    }

    /// Shows another history.
    pub(super) fn open(&mut self, entries: &[Entry]) {
        self.transcript = Transcript::default();
        self.board = Board::of(entries);
        self.scroll = Scroll::default();
        self.context.tokens = 0;
        self.overlay = None;
        for entry in entries {
            self.transcript.add(entry);
            self.measure(entry);
            if let Item::User(message) = &*entry.item {
                self.editor.remember(&message.joined_text());
            }
        }
    }

    /// The time is this now.
    pub(super) fn set_now(&mut self, now: Timestamp) {
        self.now = now;
        if self.hint.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.hint = None;
        }
    }

    /// Says something in the status line for a while.
    pub(super) fn hint(&mut self, text: impl Into<String>) {
        self.hint = Some((text.into(), self.now + TWICE));
    }

    pub(super) fn begin_work(&mut self) {
        self.work = Some(Work {
            since: self.now,
            compacting: None,
            retry: None,
            stopping: false,
        });
        self.scroll.top = None;
    }

    /// Something happened in the run.
    pub(super) fn on_event(&mut self, event: &Event) {
        match event {
            Event::Entry(entry) => self.on_entry(entry),
            Event::Task(change) => {
                let (at, by) = self.last_entry.unwrap_or((self.now, By::Model));
                self.board.apply(at, by, change);
            }
            Event::Preview(delta) => self.on_delta(delta),
            Event::Compaction(compaction) => self.on_compaction(compaction),
            Event::Warning(text) => self.transcript.note(Tone::Warning, text.as_str()),
            Event::Finished(outcome) => self.on_finished(outcome),
            _ => {}
        }
    }

    /// An entry is in the history.
    pub(super) fn on_entry(&mut self, entry: &Entry) {
        if let Some(work) = &mut self.work {
            work.retry = None;
        }
        self.last_entry = Some((entry.at, By::of(&entry.item)));
        self.transcript.add(entry);
        self.measure(entry);
    }

    fn measure(&mut self, entry: &Entry) {
        if let Item::Assistant(message) = &*entry.item
            && message.usage.input > 0
            && !entry.carried
        {
            self.context.tokens = message.usage.input + message.usage.output;
        }
    }

    fn on_delta(&mut self, delta: &Delta) {
        let Some(work) = &mut self.work else { return };
        if let Delta::Retry {
            attempt,
            attempts,
            wait,
            error,
        } = delta
        {
            let wait = SignedDuration::try_from(*wait).unwrap_or(SignedDuration::ZERO);
            work.retry = Some(Retry {
                at: self.now + wait,
                attempt: *attempt,
                attempts: *attempts,
                error: error.to_string(),
            });
        } else {
            work.retry = None;
            if work.compacting.is_some() {
                // It is the summary that arrives, which is no answer.
                return;
            }
        }
        self.transcript.preview(delta);
    }

    fn on_compaction(&mut self, compaction: &Compaction) {
        let work = self.work.as_mut();
        match compaction {
            Compaction::Started { trigger, tokens } => {
                self.transcript.forget_arriving();
                if let Some(work) = work {
                    work.compacting = Some((self.now, *tokens));
                }
                let text = format!("compacting {tokens} tokens: {trigger}");
                self.transcript.note(Tone::Info, text);
            }
            Compaction::Finished(report) => {
                if let Some(work) = work {
                    work.compacting = None;
                }
                self.context.tokens = report.tokens_after;
                let text = CompactRecord::from(report).to_string();
                self.transcript.note(Tone::Info, text);
            }
            Compaction::Failed { reason } => {
                if let Some(work) = work {
                    work.compacting = None;
                }
                let text = format!("not compacted: {reason}; the history is as it was");
                self.transcript.note(Tone::Warning, text);
            }
            Compaction::Skipped { reason } => {
                let text = format!("not compacted: {reason}");
                self.transcript.note(Tone::Warning, text);
            }
            _ => {}
        }
    }

    fn on_finished(&mut self, outcome: &Outcome) {
        self.work = None;
        self.questions.clear();
        self.transcript.forget_arriving();
        match &outcome.status {
            // The history says where it was interrupted, and the compaction told why it was not done.
            Status::Completed
            | Status::Interrupted
            | Status::Failed(pod::PodError::NotCompacted(_)) => {}
            Status::MaxTurns => {
                let text = format!(
                    "stopped at --max-turns {}; send a prompt to go on",
                    outcome.turns
                );
                self.transcript.note(Tone::Warning, text);
            }
            Status::Failed(error) => self.transcript.note(Tone::Error, error.to_string()),
            _ => {}
        }
        match &outcome.stop_reason {
            Some(llm::StopReason::MaxTokens) => self.transcript.note(
                Tone::Warning,
                "the answer reached the output limit and is cut; --max-output-tokens raises it",
            ),
            Some(llm::StopReason::Refusal) => {
                self.transcript
                    .note(Tone::Warning, "the model refused to go on");
            }
            _ => {}
        }
        if !matches!(outcome.status, Status::Completed) {
            self.take_back_queued();
        }
    }

    /// What was to be asked next goes back into the input, since nothing is asked by itself behind a
    /// run that did not end well.
    fn take_back_queued(&mut self) {
        if self.queued.is_empty() {
            return;
        }
        let mut texts: Vec<String> = self.queued.drain(..).collect();
        texts.push(self.editor.text());
        texts.retain(|text| !text.trim().is_empty());
        self.editor.set(&texts.join("\n"));
    }

    /// For how long something has gone on.
    pub(super) fn elapsed(&self, since: Timestamp) -> Duration {
        Duration::try_from(self.now.duration_since(since)).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
