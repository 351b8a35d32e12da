//! The records of a segment of Pod's own sessions.
//!
//! Only what playing needs is read. A record that is marked `carried` repeats what an older segment
//! has, and system messages are the runtime's own: neither is a turn or a prompt of this segment.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::RecordedResult;
use super::tape::{Part, Tape};
use super::text::{Text, string};
use crate::{Arguments, AssistantBlock, Reasoning, ToolCall, Usage};

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Record<'a> {
    #[serde(rename = "type", default)]
    kind: Text,
    carried: Option<bool>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    text: Option<Text>,
    model: Option<Text>,
    stop_reason: Option<Text>,
    usage: Option<RecordUsage>,
    call_id: Option<Text>,
    is_error: Option<bool>,
    summary: Option<Text>,
}

#[derive(Deserialize)]
struct RecordUsage {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Block<'a> {
    #[serde(rename = "type", default)]
    kind: Text,
    text: Option<Text>,
    signature: Option<Text>,
    redacted: Option<Text>,
    id: Option<Text>,
    name: Option<Text>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

pub(super) fn record(tape: &mut Tape, record: &str) -> serde_json::Result<()> {
    let record: Record<'_> = serde_json::from_str(record)?;
    if record.carried == Some(true) {
        return Ok(());
    }
    match record.kind.0.as_str() {
        "user" => {
            tape.prompt(text_of(&record)?);
            Ok(())
        }
        "assistant" => read_turn(tape, record),
        "tool_result" => {
            let text = text_of(&record)?;
            if let Some(call_id) = record.call_id {
                let result = RecordedResult {
                    text: if text.is_empty() {
                        record.summary.unwrap_or_default().0
                    } else {
                        text
                    },
                    is_error: record.is_error == Some(true),
                };
                tape.result(call_id.0, result);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn read_turn(tape: &mut Tape, record: Record<'_>) -> serde_json::Result<()> {
    let mut blocks = Vec::new();
    for block in read_blocks(record.content)? {
        if let Some(block) = read_block(tape, block) {
            blocks.push(block);
        }
    }
    let part = Part {
        blocks,
        model: record.model,
        stop_reason: record.stop_reason,
        usage: record.usage.map(Usage::from),
    };
    tape.message(None, part);
    Ok(())
}

fn read_block(tape: &mut Tape, block: Block<'_>) -> Option<AssistantBlock> {
    match block.kind.0.as_str() {
        "text" => Some(AssistantBlock::Text(block.text?.0)),
        "reasoning" => Some(AssistantBlock::Reasoning(Reasoning {
            text: block.text.unwrap_or_default().0,
            signature: block.signature.map(|signature| signature.0),
            redacted: block.redacted.map(|data| data.0),
            // A recording is played back; no server reads it.
            sealed: None,
        })),
        "tool_call" => {
            let id = block.id?.0;
            tape.is_new_call(&id).then(|| {
                AssistantBlock::ToolCall(ToolCall {
                    id,
                    name: block.name.unwrap_or_default().0,
                    arguments: read_arguments(block.arguments),
                })
            })
        }
        _ => None,
    }
}

/// Arguments are an object, or a string where what the model sent is no object.
fn read_arguments(raw: Option<&RawValue>) -> Arguments {
    let Some(raw) = raw else {
        return Arguments::new("");
    };
    Arguments::new(string(raw).unwrap_or_else(|| raw.get().to_owned()))
}

fn read_blocks(content: Option<&RawValue>) -> serde_json::Result<Vec<Block<'_>>> {
    content.map_or_else(
        || Ok(Vec::new()),
        |content| serde_json::from_str(content.get()),
    )
}

/// The text of a user message or a result: a string, or blocks.
fn text_of(record: &Record<'_>) -> serde_json::Result<String> {
    if let Some(text) = record.content.and_then(string) {
        return Ok(text);
    }
    if let Some(text) = &record.text {
        return Ok(text.0.clone());
    }
    let blocks = read_blocks(record.content)?;
    let texts = blocks.into_iter().filter_map(|block| Some(block.text?.0));
    Ok(texts.collect::<Vec<String>>().join("\n"))
}

impl From<RecordUsage> for Usage {
    fn from(usage: RecordUsage) -> Self {
        Self {
            input: usage.input.unwrap_or(0),
            cache_read: usage.cache_read.unwrap_or(0),
            cache_write: usage.cache_write.unwrap_or(0),
            output: usage.output.unwrap_or(0),
            reasoning: usage.reasoning.unwrap_or(0),
        }
    }
}
