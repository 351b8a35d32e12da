//! What a reader wants to know of a session: what was said and done, the tasks, and who changed them
//! when. All texts here are as they were written; each form cleans and escapes them itself.

use std::collections::HashMap;

use jiff::Timestamp;
use llm::{AssistantBlock, Image, Item, Origin, ToolResult, UserPart};
use pod::replay::fold_entry;
use pod::session::Entry;
use pod::{RUNTIME, SessionInfo};
use tools::task::{Change, Counts, Task, TaskFold, render};
use uuid::Uuid;

use crate::lineage::Lineage;

/// A session, ready to be written down.
pub(super) struct Story {
    pub(super) session: Uuid,
    pub(super) title: String,
    pub(super) directory: String,
    pub(super) models: Vec<String>,
    pub(super) began: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
    pub(super) tasks: Vec<Task>,
    pub(super) counts: Counts,
    pub(super) timeline: Vec<Step>,
    pub(super) parts: Vec<Part>,
}

/// A change of a task.
pub(super) struct Step {
    pub(super) at: Timestamp,
    pub(super) who: Who,
    pub(super) change: Change,
}

/// Who changed a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Model,
    User,
}

impl Who {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::User => "user",
        }
    }
}

/// Something that was said or done.
pub(super) enum Part {
    User {
        at: Timestamp,
        text: String,
        images: Vec<Image>,
    },
    Answer {
        at: Timestamp,
        text: String,
    },
    Reasoning {
        text: String,
    },
    Call {
        at: Timestamp,
        name: String,
        arguments: String,
        /// `None` if the session ended before the call did.
        result: Option<ToolResult>,
    },
    /// What the runtime told the model.
    System {
        at: Timestamp,
        origin: Origin,
        text: String,
    },
    /// The history was compacted here; how, if the log says it.
    Compaction {
        text: String,
    },
}

/// The most characters of a title.
const TITLE: usize = 80;

impl Story {
    pub(super) fn of(info: &SessionInfo, lineage: &Lineage) -> Self {
        let title = lineage.first_prompt().unwrap_or_default();
        let title = render::short(render::one_line(&title).trim(), TITLE);
        let mut fold = TaskFold::default();
        let mut timeline = Vec::new();
        for entry in &lineage.entries {
            // What the fold cannot use is for `pod verify` to tell.
            for change in fold_entry(&mut fold, entry).unwrap_or_default() {
                let who = match &*entry.item {
                    Item::System(_) => Who::User,
                    _ => Who::Model,
                };
                timeline.push(Step {
                    at: entry.at,
                    who,
                    change,
                });
            }
        }
        Self {
            session: info.id,
            title: if title.is_empty() {
                String::from("A session of Pod")
            } else {
                title
            },
            directory: lineage.header.directory.display().to_string(),
            models: models(&lineage.entries),
            began: lineage.entries.first().map(|entry| entry.at),
            ended: lineage.entries.last().map(|entry| entry.at),
            tasks: fold.store().snapshot(),
            counts: fold.store().counts(),
            timeline,
            parts: parts(lineage),
        }
    }
}

/// The models that answered, in the order of their first answers.
fn models(entries: &[Entry]) -> Vec<String> {
    let mut models: Vec<String> = Vec::new();
    for entry in entries {
        if let Item::Assistant(message) = &*entry.item
            && message.model != RUNTIME
            && !models.contains(&message.model)
        {
            models.push(message.model.clone());
        }
    }
    models
}

fn parts(lineage: &Lineage) -> Vec<Part> {
    let mut parts = Vec::new();
    // Where the call of an id stands among the parts.
    let mut open: HashMap<&str, usize> = HashMap::new();
    let mut compactions = lineage.compactions.iter().peekable();
    for (index, entry) in lineage.entries.iter().enumerate() {
        while let Some((_, record)) = compactions.next_if(|(before, _)| *before <= index) {
            let text = match record {
                Some(record) => record.to_string(),
                None => String::from("compacted"),
            };
            parts.push(Part::Compaction { text });
        }
        match &*entry.item {
            Item::User(message) => {
                let images = message.content.iter().filter_map(|part| match part {
                    UserPart::Image(image) => Some(image.clone()),
                    UserPart::Text(_) => None,
                });
                parts.push(Part::User {
                    at: entry.at,
                    text: message.joined_text(),
                    images: images.collect(),
                });
            }
            Item::Assistant(message) => {
                for block in &message.content {
                    parts.push(match block {
                        AssistantBlock::Text(text) => Part::Answer {
                            at: entry.at,
                            text: text.clone(),
                        },
                        AssistantBlock::Reasoning(reasoning) if reasoning.text.is_empty() => {
                            continue;
                        }
                        AssistantBlock::Reasoning(reasoning) => Part::Reasoning {
                            text: reasoning.text.clone(),
                        },
                        AssistantBlock::ToolCall(call) => {
                            open.insert(&call.id, parts.len());
                            Part::Call {
                                at: entry.at,
                                name: call.name.clone(),
                                arguments: call.arguments.text().to_owned(),
                                result: None,
                            }
                        }
                    });
                }
            }
            Item::ToolResult(found) => {
                let place = open.remove(found.call_id.as_str());
                if let Some(Part::Call { result, .. }) =
                    place.and_then(|place| parts.get_mut(place))
                {
                    *result = Some(found.clone());
                }
            }
            Item::System(message) => parts.push(Part::System {
                at: entry.at,
                origin: message.origin.clone(),
                text: message.text.clone(),
            }),
        }
    }
    parts
}

/// What changed, in words: `new`, `pending -> completed`, or the names of fields.
pub(super) fn what(change: &Change) -> String {
    let status = change.task.status;
    match change.previous_status {
        None => format!("new, {status}"),
        Some(before) if before != status => format!("{before} -> {status}"),
        Some(_) => format!("changed: {}", change.fields.join(", ")),
    }
}

/// A time to the second, in UTC.
pub(super) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}
