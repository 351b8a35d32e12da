//! The records of Claude Code's transcripts.
//!
//! Each content block of a response is a record of its own, with the same `message.id`; results stand
//! between them. Records of sub-agents have `isSidechain` (in stream-json `parent_tool_use_id`), or
//! are forwarded inside `progress` records; neither is a turn of this session's model.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::RecordedResult;
use super::tape::{Part, Tape};
use super::text::{Text, string};
use crate::{Arguments, AssistantBlock, Reasoning, ToolCall, Usage};

#[derive(Default)]
pub(super) struct Reader {
    /// The `uuid`s so far: a record is read once.
    seen: HashSet<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[serde(expecting = "an object")]
struct Record<'a> {
    #[serde(rename = "type", default)]
    kind: Text,
    uuid: Option<Text>,
    is_sidechain: Option<bool>,
    is_meta: Option<bool>,
    is_compact_summary: Option<bool>,
    is_api_error_message: Option<bool>,
    #[serde(rename = "parent_tool_use_id")]
    parent_call: Option<Text>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow, alias = "tool_use_result")]
    tool_use_result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Message<'a> {
    id: Option<Text>,
    model: Option<Text>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    stop_reason: Option<Text>,
    usage: Option<MessageUsage>,
}

#[derive(Deserialize)]
struct MessageUsage {
    #[serde(rename = "input_tokens")]
    uncached: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
struct Block<'a> {
    #[serde(rename = "type", default)]
    kind: Text,
    text: Option<Text>,
    thinking: Option<Text>,
    signature: Option<Text>,
    data: Option<Text>,
    id: Option<Text>,
    name: Option<Text>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    tool_use_id: Option<Text>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

impl Reader {
    pub(super) fn record(&mut self, tape: &mut Tape, record: &str) -> serde_json::Result<()> {
        let record: Record<'_> = serde_json::from_str(record)?;
        let Some(message) = record.message else {
            return Ok(());
        };
        if record.is_sidechain == Some(true) || record.parent_call.is_some() {
            return Ok(());
        }
        if let Some(uuid) = &record.uuid
            && !self.seen.insert(uuid.0.clone())
        {
            return Ok(());
        }
        match record.kind.0.as_str() {
            "assistant" if record.is_api_error_message != Some(true) => {
                read_turn(tape, serde_json::from_str(message.get())?)
            }
            "user" => {
                let message: Message<'_> = serde_json::from_str(message.get())?;
                read_user(tape, &record, message.content)
            }
            _ => Ok(()),
        }
    }
}

fn read_turn(tape: &mut Tape, message: Message<'_>) -> serde_json::Result<()> {
    // Claude Code's own words, such as "API Error: ..." or "No response requested.".
    if message
        .model
        .as_ref()
        .is_some_and(|model| model.0 == "<synthetic>")
    {
        return Ok(());
    }
    let mut blocks = Vec::new();
    for block in read_blocks(message.content)? {
        if let Some(block) = read_block(tape, block) {
            blocks.push(block);
        }
    }
    let part = Part {
        blocks,
        model: message.model,
        stop_reason: message.stop_reason,
        usage: message.usage.map(Usage::from),
    };
    tape.message(message.id, part);
    Ok(())
}

fn read_block(tape: &mut Tape, block: Block<'_>) -> Option<AssistantBlock> {
    match block.kind.0.as_str() {
        "text" => {
            let text = block.text?.0;
            (!text.is_empty()).then_some(AssistantBlock::Text(text))
        }
        "thinking" => Some(AssistantBlock::Reasoning(Reasoning {
            text: block.thinking.unwrap_or_default().0,
            signature: block.signature.map(|signature| signature.0),
            ..Reasoning::default()
        })),
        "redacted_thinking" => Some(AssistantBlock::Reasoning(Reasoning {
            redacted: Some(block.data?.0),
            ..Reasoning::default()
        })),
        "tool_use" => {
            let id = block.id?.0;
            tape.is_new_call(&id).then(|| {
                AssistantBlock::ToolCall(ToolCall {
                    id,
                    name: block.name.unwrap_or_default().0,
                    arguments: Arguments::new(block.input.map_or("", RawValue::get)),
                })
            })
        }
        _ => None,
    }
}

fn read_user(
    tape: &mut Tape,
    record: &Record<'_>,
    content: Option<&RawValue>,
) -> serde_json::Result<()> {
    let blocks = read_blocks(content)?;
    let results = blocks.iter().filter(|block| block.tool_use_id.is_some());
    let is_single = results.count() == 1;
    let mut prompt: Vec<String> = Vec::new();
    for block in blocks {
        if let Some(id) = block.tool_use_id {
            let text = text_of(block.content)?;
            // An update that failed may say so in the structured result only.
            let is_error = block.is_error == Some(true)
                || (is_single && says_failure(record.tool_use_result))
                || text.starts_with("<tool_use_error>");
            tape.result(id.0, RecordedResult { text, is_error });
        } else if let Some(text) = block.text {
            prompt.push(text.0);
        }
    }
    let is_written_by_program =
        record.is_meta == Some(true) || record.is_compact_summary == Some(true);
    if !is_written_by_program && let Some(prompt) = typed_prompt(&prompt.join("\n")) {
        tape.prompt(prompt);
    }
    Ok(())
}

fn says_failure(structured: Option<&RawValue>) -> bool {
    #[derive(Deserialize)]
    struct Outcome {
        success: Option<bool>,
    }
    let outcome = structured.map(|structured| serde_json::from_str::<Outcome>(structured.get()));
    matches!(
        outcome,
        Some(Ok(Outcome {
            success: Some(false)
        }))
    )
}

/// What a person typed, if a user record holds that. Other user records hold what local commands
/// printed, and notes of the program to the model.
fn typed_prompt(text: &str) -> Option<String> {
    const NOT_TYPED: [&str; 6] = [
        "<local-command-",
        "<bash-stdout>",
        "<bash-stderr>",
        "<task-notification>",
        "[Request interrupted by user",
        "Caveat: The messages below were generated by the user while running local commands",
    ];
    if NOT_TYPED
        .iter()
        .any(|beginning| text.starts_with(beginning))
    {
        return None;
    }
    let Some(command) = between(text, "<command-name>", "</command-name>") else {
        return Some(text.to_owned());
    };
    let arguments = between(text, "<command-args>", "</command-args>").unwrap_or_default();
    Some(format!("{command} {arguments}").trim().to_owned())
}

fn between<'a>(text: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(behind).map(|(found, _)| found)
}

/// The blocks of a content, which may be one string instead.
fn read_blocks(content: Option<&RawValue>) -> serde_json::Result<Vec<Block<'_>>> {
    let Some(content) = content else {
        return Ok(Vec::new());
    };
    match string(content) {
        Some(text) => Ok(vec![Block {
            kind: Text(String::from("text")),
            text: Some(Text(text)),
            ..Block::default()
        }]),
        None => serde_json::from_str(content.get()),
    }
}

/// The text of a result. What is no text is named in brackets.
fn text_of(content: Option<&RawValue>) -> serde_json::Result<String> {
    let blocks = read_blocks(content)?;
    let texts = blocks.into_iter().map(|block| match block.text {
        Some(text) => text.0,
        None => format!("[{}]", block.kind.0),
    });
    Ok(texts.collect::<Vec<String>>().join("\n"))
}

impl From<MessageUsage> for Usage {
    fn from(usage: MessageUsage) -> Self {
        let cache_read = usage.cache_read.unwrap_or(0);
        let cache_write = usage.cache_write.unwrap_or(0);
        let uncached = usage.uncached.unwrap_or(0);
        Self {
            // Anthropic counts what the cache holds apart.
            input: uncached
                .saturating_add(cache_read)
                .saturating_add(cache_write),
            cache_read,
            cache_write,
            output: usage.output.unwrap_or(0),
            reasoning: 0,
        }
    }
}
