//! The conversation as the screen shows it: blocks that stand, and the part of an answer that is
//! still arriving.

use std::collections::BTreeMap;

use llm::{AssistantBlock, Delta, Item, Origin, ToolResult};
use pod::session::Entry;
use serde_json::Value;

/// What was said and done.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    blocks: Vec<Block>,
    /// The blocks of calls that wait for their results, by call id.
    open: Vec<(String, usize)>,
    /// The text blocks of an answer that is not committed yet, by index.
    arriving: BTreeMap<usize, String>,
    /// What the model does while no text arrives.
    doing: Option<String>,
}

/// A part of the conversation.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// Its rows, as the view made them the last time.
    pub(super) laid_out: Option<super::view::LaidOut>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    User(String),
    Answer(String),
    Reasoning(String),
    Call(Call),
    /// What a person should know: a word before it, and the text.
    Note {
        tone: Tone,
        text: String,
    },
    /// The summary that took the place of the history before.
    Summary(String),
}

/// How a note is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Info,
    Warning,
    Error,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) result: Option<Outcome>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) is_error: bool,
    pub(super) summary: String,
    pub(super) content: Option<String>,
}

impl Transcript {
    pub(super) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    pub(super) fn blocks_mut(&mut self) -> &mut [Block] {
        &mut self.blocks
    }

    /// The text that is arriving.
    pub(super) fn arriving(&self) -> Option<String> {
        let texts: Vec<&str> = self.arriving.values().map(String::as_str).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// What the model does just now, if it says.
    pub(super) fn doing(&self) -> Option<&str> {
        self.doing.as_deref()
    }

    /// Whether a call waits for its result.
    pub(super) fn is_calling(&self) -> Option<&str> {
        let (_, index) = self.open.first()?;
        match &self.blocks.get(*index)?.kind {
            Kind::Call(call) => Some(&call.name),
            _ => None,
        }
    }

    pub(super) fn push(&mut self, kind: Kind) {
        self.blocks.push(Block {
            kind,
            laid_out: None,
        });
    }

    pub(super) fn note(&mut self, tone: Tone, text: impl Into<String>) {
        self.push(Kind::Note {
            tone,
            text: text.into(),
        });
    }

    /// Takes over an entry of the history.
    pub(super) fn add(&mut self, entry: &Entry) {
        match &*entry.item {
            Item::User(message) => self.push(Kind::User(message.joined_text())),
            Item::Assistant(message) => {
                self.forget_arriving();
                for block in &message.content {
                    match block {
                        AssistantBlock::Text(text) if text.trim().is_empty() => {}
                        AssistantBlock::Text(text) => self.push(Kind::Answer(text.clone())),
                        AssistantBlock::Reasoning(reasoning) => {
                            if !reasoning.text.trim().is_empty() {
                                self.push(Kind::Reasoning(reasoning.text.clone()));
                            }
                        }
                        AssistantBlock::ToolCall(call) => {
                            self.open.push((call.id.clone(), self.blocks.len()));
                            self.push(Kind::Call(Call {
                                name: call.name.clone(),
                                arguments: call.arguments.parse().unwrap_or_else(|_| {
                                    Value::String(call.arguments.text().to_owned())
                                }),
                                result: None,
                            }));
                        }
                    }
                }
            }
            Item::ToolResult(result) => self.add_result(result),
            Item::System(message) => match &message.origin {
                Origin::Summary => self.push(Kind::Summary(message.text.clone())),
                // The panel shows the list, and the files are in the log.
                Origin::TaskSnapshot | Origin::AutoRead | Origin::References => {}
                Origin::Interruption => self.note(Tone::Info, "interrupted"),
                Origin::TaskEdit => {
                    let line = message.text.lines().nth(1).unwrap_or_default();
                    self.note(Tone::Info, format!("you changed the list: {line}"));
                }
                origin => self.note(Tone::Info, format!("{origin}: {}", message.text)),
            },
        }
    }

    fn add_result(&mut self, result: &ToolResult) {
        let Some(place) = self.open.iter().position(|(id, _)| *id == result.call_id) else {
            return;
        };
        let (_, index) = self.open.remove(place);
        let Some(block) = self.blocks.get_mut(index) else {
            return;
        };
        block.laid_out = None;
        if let Kind::Call(call) = &mut block.kind {
            call.result = Some(Outcome {
                is_error: result.is_error,
                summary: result.summary.clone(),
                content: result.content.clone(),
            });
        }
    }

    /// Takes over a part of an answer that is not committed yet.
    pub(super) fn preview(&mut self, delta: &Delta) {
        match delta {
            Delta::Started { .. } | Delta::Retry { .. } => self.forget_arriving(),
            Delta::Text { index, text } => {
                self.doing = None;
                self.arriving.entry(*index).or_default().push_str(text);
            }
            Delta::Reasoning { .. } => self.doing = Some(String::from("thinking")),
            Delta::CallStarted { name, .. } => {
                self.doing = Some(format!("writing a call of {name}"));
            }
            _ => {}
        }
    }

    /// What was arriving is void.
    pub(super) fn forget_arriving(&mut self) {
        self.arriving.clear();
        self.doing = None;
    }
}

impl Call {
    /// What the call is about, as far as its arguments say it in a field of a usual name.
    pub(super) fn target(&self) -> Option<&str> {
        const FIELDS: [&str; 6] = ["command", "file_path", "path", "pattern", "query", "url"];
        let mut fields = FIELDS.iter().filter_map(|field| self.arguments.get(field));
        fields.find_map(Value::as_str)
    }
}
