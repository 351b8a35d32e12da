//! An entry of a session, and the line that stands for it in the log.
//!
//! This is the one place that knows the format of such a line: one JSON object without raw line
//! breaks. Fields and types that a newer version wrote are skipped on reading and stay in the file.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use llm::{
    AssistantMessage, Item, Origin, StopReason, SystemMessage, ToolResult, Usage, UserMessage,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::block::{Block, Content, Json, Kind, Raw, Text, present, told};

/// An item with its place in a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Identifies the entry for life, also in forks that copied it.
    pub id: Uuid,
    /// When it was written.
    pub at: Timestamp,
    /// Whether it repeats, after a compaction, what the task snapshot before it already contains.
    /// The fold of the task list skips the calls of such entries.
    pub carried: bool,
    /// What it says.
    pub item: Arc<Item>,
}

/// The most bytes of a line. What tools give is bounded far below and no provider takes a request of
/// half the size; the limit is there so that any file can be read with bounded memory.
pub(crate) const LINE_LIMIT: usize = 64 * 1024 * 1024;

/// What a line says.
#[derive(Debug, PartialEq)]
pub(crate) struct Decoded {
    /// The entry.
    pub(crate) entry: Entry,
    /// How many blocks of its message are of kinds that this version does not know. They stay in
    /// the file and are not in the entry.
    pub(crate) unknown_blocks: u64,
}

/// Why a line is not an entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Its type is one that this version does not know.
    UnknownType,
    /// It is no line of a session, for this reason.
    Bad(String),
}

/// The line for an entry, with its line end.
pub(crate) fn encode(entry: &Entry) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Line {
        id: Some(entry.id),
        at: Some(entry.at.to_string().into()),
        carried: entry.carried,
        ..Line::default()
    };
    match &*entry.item {
        Item::User(message) => {
            line.kind = "user".into();
            let blocks = message.content.iter().map(Block::from_user_part);
            line.content = Some(Content::Blocks(blocks.collect()));
        }
        Item::Assistant(message) => {
            line.kind = "assistant".into();
            let blocks = message.content.iter().map(Block::from_assistant_block);
            line.content = Some(Content::Blocks(blocks.collect()));
            line.model = Some(Cow::from(&message.model));
            line.response_id = message.response_id.as_ref().map(Cow::from);
            line.stop_reason = Some(message.stop_reason.as_str().into());
            line.usage = Some(message.usage.into());
        }
        Item::ToolResult(result) => {
            line.kind = "tool_result".into();
            line.call_id = Some(Cow::from(&result.call_id));
            line.is_error = result.is_error;
            line.summary = Some(Cow::from(&result.summary));
            line.content = result.content.as_ref().map(|it| Content::Text(it.into()));
            line.value = result.value.as_ref().map(Text::from);
            line.changed_arguments = result.changed_arguments.as_ref().map(Raw::from);
        }
        Item::System(message) => {
            line.kind = "system".into();
            line.origin = Some(message.origin.as_str().into());
            line.text = Some(Cow::from(&message.text));
            line.data = message.data.as_ref().map(Json::from);
        }
    }
    let mut bytes = Vec::with_capacity(256);
    serde_json::to_writer(&mut bytes, &line)?;
    bytes.push(b'\n');
    if bytes.len() > LINE_LIMIT {
        return Err(serde::ser::Error::custom(format!(
            "it has {} bytes, the limit is {LINE_LIMIT}",
            bytes.len()
        )));
    }
    Ok(bytes)
}

/// What a line, without its line end, says.
pub(crate) fn decode(line: &[u8]) -> Result<Decoded, Unreadable> {
    let text = std::str::from_utf8(line).map_err(|error| Unreadable::Bad(error.to_string()))?;
    if !text.starts_with('{') {
        // serde would take a list for the fields in their order.
        return Err(Unreadable::Bad(String::from("it is no JSON object")));
    }
    let line: Line<'_> = match serde_json::from_str(text) {
        Ok(line) => line,
        Err(error) => {
            // A type of a newer version may use our names for fields of another shape.
            let kind = serde_json::from_str::<Kind<'_>>(text).map(|line| line.kind);
            return Err(match kind {
                Ok(kind) if !KINDS.contains(&&*kind) => Unreadable::UnknownType,
                _ => Unreadable::Bad(match error.column() {
                    0 => told(&error),
                    // Columns are bytes; that the text is one line is known.
                    column => format!("{} at column {column}", told(&error)),
                }),
            });
        }
    };
    if !KINDS.contains(&&*line.kind) {
        return Err(Unreadable::UnknownType);
    }
    let id = needed(line.id, "id")?;
    let at = needed(line.at.as_deref(), "at")?;
    let at = at
        .parse()
        .map_err(|error| Unreadable::Bad(format!("`at` is no time: {error}")))?;
    let carried = line.carried;
    let mut unknown_blocks = 0;
    let item = line.into_item(&mut unknown_blocks)?;
    Ok(Decoded {
        entry: Entry {
            id,
            at,
            carried,
            item: Arc::new(item),
        },
        unknown_blocks,
    })
}

/// The types of lines that this version knows.
const KINDS: [&str; 4] = ["user", "assistant", "tool_result", "system"];

/// A line of any type, with the fields of all types: so a line is parsed once, whatever it is.
#[derive(Default, Serialize, Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_false")]
    carried: bool,
    // Of `tool_result`.
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_false")]
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Cow<'a, str>>,
    // Of `user`, `assistant` (blocks) and `tool_result` (text).
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    content: Option<Content<'a>>,
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    value: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    changed_arguments: Option<Raw<'a>>,
    // Of `assistant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageFields>,
    // Of `system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    data: Option<Json<'a>>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

pub(super) fn needed<T>(field: Option<T>, name: &str) -> Result<T, Unreadable> {
    field.ok_or_else(|| Unreadable::Bad(format!("`{name}` is missing")))
}

impl<'a> Line<'a> {
    fn into_item(self, unknown_blocks: &mut u64) -> Result<Item, Unreadable> {
        match &*self.kind {
            "user" => Ok(Item::User(UserMessage {
                content: self.blocks(Block::into_user_part, unknown_blocks)?,
            })),
            "assistant" => {
                let model = needed(self.model.as_deref(), "model")?.to_owned();
                let response_id = self.response_id.as_deref().map(str::to_owned);
                let stop_reason = needed(self.stop_reason.as_deref(), "stop_reason")?;
                let stop_reason = StopReason::from(stop_reason);
                let usage = self.usage.unwrap_or_default().into();
                Ok(Item::Assistant(AssistantMessage {
                    content: self.blocks(Block::into_assistant_block, unknown_blocks)?,
                    model,
                    response_id,
                    stop_reason,
                    usage,
                }))
            }
            "tool_result" => Ok(Item::ToolResult(ToolResult {
                call_id: needed(self.call_id, "call_id")?.into_owned(),
                is_error: self.is_error,
                summary: needed(self.summary, "summary")?.into_owned(),
                content: match self.content {
                    None => None,
                    Some(Content::Text(text)) => Some(text.into_owned()),
                    Some(Content::Blocks(_)) => {
                        return Err(Unreadable::Bad("`content` is not text".to_owned()));
                    }
                },
                value: self.value.map(Text::into_text),
                changed_arguments: self.changed_arguments.map(Raw::into_arguments),
            })),
            "system" => Ok(Item::System(SystemMessage {
                origin: Origin::from(&*needed(self.origin, "origin")?),
                text: needed(self.text, "text")?.into_owned(),
                data: self.data.map(Json::into_value),
            })),
            _ => Err(Unreadable::UnknownType),
        }
    }

    fn blocks<T>(
        self,
        read: impl Fn(Block<'a>) -> Result<Option<T>, Unreadable>,
        unknown: &mut u64,
    ) -> Result<Vec<T>, Unreadable> {
        let Content::Blocks(blocks) = needed(self.content, "content")? else {
            return Err(Unreadable::Bad("`content` is not a list".to_owned()));
        };
        let count = blocks.len();
        // Not collected: the standard library would keep the memory of the blocks, which is eight times
        // what one part of a message needs.
        let mut parts = Vec::with_capacity(count);
        for block in blocks {
            parts.extend(read(block)?);
        }
        *unknown += (count - parts.len()) as u64;
        Ok(parts)
    }
}

/// Tokens, without the zeros.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
struct UsageFields {
    #[serde(skip_serializing_if = "is_zero")]
    input: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cache_read: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cache_write: u64,
    #[serde(skip_serializing_if = "is_zero")]
    output: u64,
    #[serde(skip_serializing_if = "is_zero")]
    reasoning: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<Usage> for UsageFields {
    fn from(usage: Usage) -> Self {
        Self {
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            output: usage.output,
            reasoning: usage.reasoning,
        }
    }
}

impl From<UsageFields> for Usage {
    fn from(fields: UsageFields) -> Self {
        Self {
            input: fields.input,
            cache_read: fields.cache_read,
            cache_write: fields.cache_write,
            output: fields.output,
            reasoning: fields.reasoning,
        }
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
