//! What both kinds of log are read into.

use std::collections::{HashMap, HashSet};

use super::text::Text;
use super::{CLOSING, GO_ON, RecordedResult};
use crate::{AssistantBlock, AssistantMessage, StopReason, Usage};

/// What was read so far.
#[derive(Default)]
pub(super) struct Tape {
    turns: Vec<Turn>,
    /// Where in `turns` the message of an id is.
    messages: HashMap<String, usize>,
    /// The prompts behind the last turn.
    prompts: Vec<String>,
    calls: HashSet<String>,
    results: HashMap<String, RecordedResult>,
    warnings: Vec<String>,
    warnings_left_out: usize,
}

struct Turn {
    /// The prompts between the turn before and this one.
    prompts: Vec<String>,
    message: AssistantMessage,
}

/// What one record says of a message.
#[derive(Default)]
pub(super) struct Part {
    pub(super) blocks: Vec<AssistantBlock>,
    pub(super) model: Option<Text>,
    pub(super) stop_reason: Option<Text>,
    pub(super) usage: Option<Usage>,
}

/// A recording, ready to be played.
pub(super) struct Finished {
    pub(super) exchanges: Vec<Exchange>,
    pub(super) turns: Vec<AssistantMessage>,
    pub(super) results: HashMap<String, RecordedResult>,
    pub(super) warnings: Vec<String>,
}

/// A prompt and the turns that answer it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    prompt: Option<String>,
    pub(super) first_turn: usize,
}

impl Exchange {
    pub(super) fn prompt(&self) -> &str {
        self.prompt.as_deref().unwrap_or(GO_ON)
    }
}

impl Tape {
    pub(super) fn prompt(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.prompts.push(text);
        }
    }

    /// Adds to the message with this id, which an earlier record may have begun. Without an id it is
    /// a message of its own.
    pub(super) fn message(&mut self, id: Option<Text>, part: Part) {
        let id = id.map(|id| id.0);
        let known = id.as_ref().and_then(|id| self.messages.get(id).copied());
        let at = known.unwrap_or_else(|| {
            if let Some(id) = &id {
                self.messages.insert(id.clone(), self.turns.len());
            }
            self.turns.push(Turn {
                prompts: std::mem::take(&mut self.prompts),
                message: AssistantMessage {
                    response_id: id,
                    ..AssistantMessage::default()
                },
            });
            self.turns.len() - 1
        });
        let Some(Turn { message, .. }) = self.turns.get_mut(at) else {
            return;
        };
        message.content.extend(part.blocks);
        if let Some(model) = part.model {
            message.model = model.0;
        }
        if let Some(reason) = part.stop_reason {
            message.stop_reason = StopReason::from(reason.0.as_str());
        }
        if let Some(usage) = part.usage {
            message.usage = usage;
        }
    }

    /// Whether a call id is new. A call is read once.
    pub(super) fn is_new_call(&mut self, id: &str) -> bool {
        self.calls.insert(id.to_owned())
    }

    /// Keeps the result of a call; the first one counts.
    pub(super) fn result(&mut self, call_id: String, result: RecordedResult) {
        self.results.entry(call_id).or_insert(result);
    }

    /// Keeps a warning. There may be one for each line of a log, so their number is bounded.
    pub(super) fn warn(&mut self, warning: String) {
        const MAX_WARNINGS: usize = 20;
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(warning);
        } else {
            self.warnings_left_out += 1;
        }
    }

    /// Puts the turns into exchanges.
    pub(super) fn finish(mut self) -> Finished {
        let mut exchanges: Vec<Exchange> = Vec::new();
        let mut turns: Vec<AssistantMessage> = Vec::new();
        let mut prompts: Vec<String> = Vec::new();
        let mut is_open = false;
        for mut turn in std::mem::take(&mut self.turns) {
            prompts.append(&mut turn.prompts);
            // Some messages hold nothing that was kept.
            if turn.message.content.is_empty() {
                continue;
            }
            if is_open && !prompts.is_empty() {
                turns.push(closing());
                is_open = false;
            }
            if !is_open {
                let prompt = std::mem::take(&mut prompts).join("\n\n");
                exchanges.push(Exchange {
                    prompt: (!prompt.is_empty()).then_some(prompt),
                    first_turn: turns.len(),
                });
            }
            is_open = turn.message.calls().next().is_some();
            // A record may be written before the end of its message is known.
            turn.message.stop_reason = match turn.message.stop_reason {
                _ if is_open => StopReason::ToolUse,
                StopReason::ToolUse => StopReason::EndTurn,
                reason => reason,
            };
            turns.push(turn.message);
        }
        if is_open {
            turns.push(closing());
        }
        if !self.prompts.is_empty() {
            self.warn(String::from(
                "the last prompt has no answer in the recording and is not played",
            ));
        }
        if self.warnings_left_out > 0 {
            let more = format!("{} more warnings", self.warnings_left_out);
            self.warnings.push(more);
        }
        Finished {
            exchanges,
            turns,
            results: self.results,
            warnings: self.warnings,
        }
    }
}

fn closing() -> AssistantMessage {
    AssistantMessage {
        content: vec![AssistantBlock::Text(CLOSING.to_owned())],
        model: String::from("recorded"),
        ..AssistantMessage::default()
    }
}
