//! What a script is once it is read: rows of steps.

use std::time::Duration;

use super::{Answer, Fault};
use crate::{AssistantMessage, Conversation, Item, ModelError, ToolSpec};

/// A script that was read.
pub(super) struct Script {
    pub(super) model: Option<String>,
    pub(super) window: Option<u32>,
    /// The main lane is the first.
    pub(super) lanes: Vec<Lane>,
    /// The lane that steps are added to.
    current: usize,
    /// The pause of the answers to come.
    pub(super) pause: Duration,
    /// What the next step expects.
    expectations: Vec<Expectation>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            model: None,
            window: None,
            lanes: vec![Lane::default()],
            current: 0,
            pause: Duration::ZERO,
            expectations: Vec::new(),
        }
    }
}

/// The name of the lane that answers every request for which no other lane is.
pub(super) const MAIN_LANE: &str = "main";

impl Script {
    pub(super) fn switch_lane(&mut self, tool: &str) {
        let tool = (tool != MAIN_LANE).then(|| tool.to_owned());
        self.current = self
            .lanes
            .iter()
            .position(|lane| lane.tool == tool)
            .unwrap_or_else(|| {
                self.lanes.push(Lane {
                    tool,
                    steps: Vec::new(),
                });
                self.lanes.len() - 1
            });
    }

    pub(super) fn expect(&mut self, expectation: Expectation) {
        self.expectations.push(expectation);
    }

    pub(super) fn push_answer(&mut self, place: String, answer: Answer) {
        let step = Step::Answer {
            place,
            expectations: std::mem::take(&mut self.expectations),
            answer,
            pause: self.pause,
        };
        self.push(step);
    }

    pub(super) fn push_faults(&mut self, place: &str, fault: Fault, times: u32) {
        for _ in 0..times {
            let step = Step::Fault {
                place: place.to_owned(),
                expectations: std::mem::take(&mut self.expectations),
                fault,
            };
            self.push(step);
        }
    }

    fn push(&mut self, step: Step) {
        if let Some(lane) = self.lanes.get_mut(self.current) {
            lane.steps.push(step);
        }
    }

    /// Changes the answer that was added last, if the last step is one.
    pub(super) fn change_last_answer(&mut self, change: impl FnOnce(Answer) -> Answer) -> bool {
        let last = self
            .lanes
            .get_mut(self.current)
            .and_then(|lane| lane.steps.last_mut());
        let Some(Step::Answer { answer, .. }) = last else {
            return false;
        };
        *answer = change(std::mem::take(answer));
        true
    }

    /// An expectation that no step follows is a mistake.
    pub(super) fn finish(self) -> Result<Self, ModelError> {
        match self.expectations.first() {
            Some(expectation) => Err(ModelError::Script(format!(
                "script {}: no step follows this expectation; add an `assistant:` or `fault:` line",
                expectation.place
            ))),
            None => Ok(self),
        }
    }
}

/// A row of steps that one kind of request takes.
#[derive(Default)]
pub(super) struct Lane {
    /// The tool that a request of this lane offers; none for the main lane.
    pub(super) tool: Option<String>,
    pub(super) steps: Vec<Step>,
}

impl Lane {
    pub(super) fn label(&self) -> &str {
        self.tool.as_deref().unwrap_or(MAIN_LANE)
    }

    pub(super) fn answers(&self) -> usize {
        self.steps.iter().filter(|step| step.is_answer()).count()
    }

    /// The number of steps up to and with the `answered`-th answer.
    pub(super) fn steps_through(&self, answered: usize) -> usize {
        if answered == 0 {
            return 0;
        }
        let mut answers = self
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| step.is_answer());
        answers
            .nth(answered - 1)
            .map_or(self.steps.len(), |(index, _)| index + 1)
    }

    /// How many calls of the first `steps` steps have no id of their own.
    pub(super) fn fresh_calls(&self, steps: usize) -> u64 {
        let answers = self.steps.iter().take(steps).filter_map(|step| match step {
            Step::Answer { answer, .. } => Some(AssistantMessage::from(answer.clone())),
            Step::Fault { .. } => None,
        });
        answers
            .map(|message| message.calls().filter(|call| call.id.is_empty()).count() as u64)
            .sum()
    }

    /// The first answer at or behind a position, with its pause; an empty one where there is none.
    pub(super) fn next_answer(&self, position: usize) -> (AssistantMessage, Duration) {
        self.steps
            .iter()
            .skip(position)
            .find_map(|step| match step {
                Step::Answer { answer, pause, .. } => Some((answer.clone().into(), *pause)),
                Step::Fault { .. } => None,
            })
            .unwrap_or_default()
    }
}

/// The lane for a request that offers these tools.
pub(super) fn choose_lane(lanes: &[Lane], tools: &[ToolSpec]) -> usize {
    let offered = |lane: &Lane| {
        let tool = lane.tool.as_ref();
        tool.is_some_and(|tool| tools.iter().any(|offered| offered.name == *tool))
    };
    lanes.iter().position(offered).unwrap_or(0)
}

/// The error of a request for which no step is left.
pub(super) fn run_out(lane: &str, steps: usize) -> ModelError {
    ModelError::Script(format!(
        "the script has run out: all {steps} steps of its lane `{lane}` were taken; add a step for this request"
    ))
}

/// What one request gets. `place` says where in the script the step stands.
pub(super) enum Step {
    Answer {
        place: String,
        expectations: Vec<Expectation>,
        answer: Answer,
        pause: Duration,
    },
    Fault {
        place: String,
        expectations: Vec<Expectation>,
        fault: Fault,
    },
}

impl Step {
    fn is_answer(&self) -> bool {
        matches!(self, Self::Answer { .. })
    }

    /// Checks what the step expects of the conversation.
    pub(super) fn check(&self, conversation: &Conversation) -> Result<(), ModelError> {
        let (Self::Answer {
            expectations,
            place,
            ..
        }
        | Self::Fault {
            expectations,
            place,
            ..
        }) = self;
        expectations
            .iter()
            .try_for_each(|expectation| expectation.check(conversation, place))
    }
}

/// Something that a script expects of a request.
pub(super) struct Expectation {
    pub(super) place: String,
    pub(super) source: ExpectedIn,
    pub(super) text: String,
}

/// Where an expected text is looked for.
#[derive(Clone, Copy)]
pub(super) enum ExpectedIn {
    LastUserMessage,
    NewestResults,
}

impl Expectation {
    fn check(&self, conversation: &Conversation, step: &str) -> Result<(), ModelError> {
        let (what, found) = match self.source {
            ExpectedIn::LastUserMessage => ("the last user message", last_user_text(conversation)),
            ExpectedIn::NewestResults => ("the newest results", newest_results(conversation)),
        };
        if found.contains(&self.text) {
            return Ok(());
        }
        let came = match found.as_str() {
            "" => String::from("there is none"),
            text => format!("it is `{}`", shorten(text)),
        };
        Err(ModelError::Script(format!(
            "script {}: the step of {step} expects {what} to contain `{}`, but {came}",
            self.place, self.text
        )))
    }
}

fn last_user_text(conversation: &Conversation) -> String {
    let mut newest_first = conversation.items().iter().rev();
    newest_first
        .find_map(|item| match &**item {
            Item::User(message) => Some(message.joined_text()),
            _ => None,
        })
        .unwrap_or_default()
}

fn newest_results(conversation: &Conversation) -> String {
    let newest_first = conversation.items().iter().rev();
    let mut results: Vec<&str> = newest_first
        .take_while(|item| !matches!(&***item, Item::Assistant(_)))
        .filter_map(|item| match &**item {
            Item::ToolResult(result) => Some(result.text()),
            _ => None,
        })
        .collect();
    results.reverse();
    results.join("\n")
}

/// The beginning of a text, for an error message.
pub(super) fn shorten(text: &str) -> String {
    const MAX: usize = 200;
    let mut short: String = text.chars().take(MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
