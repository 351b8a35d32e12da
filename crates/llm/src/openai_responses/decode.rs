//! The event stream of Responses as one message.
//!
//! Items are told apart by their place in the response, and where a server leaves that out, by their
//! id: they may interleave. Items and events of kinds that are not known are skipped.

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::events::{WireEvent, WireItem, WirePart, WireResponse};
use crate::http::called::Called;
use crate::http::endpoint::Decoder;
use crate::http::failure::{Refusal, Service, out_of_order};
use crate::http::json;
use crate::http::sse::Event;
use crate::{AssistantBlock, AssistantMessage, Delta, ModelError, Reasoning, Sealed, StopReason};

type Watch<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// Reads one response.
#[derive(Debug)]
pub(super) struct Response {
    message: AssistantMessage,
    blocks: Vec<Block>,
    has_started: bool,
    has_refused: bool,
    /// Whether the end of the response was announced.
    is_complete: bool,
    /// Whether that end is the model's own, and nothing from outside cut the answer.
    is_whole: bool,
}

/// An item while it arrives.
#[derive(Debug)]
struct Block {
    /// Its place in the response, as the provider counts.
    output_index: Option<u64>,
    id: Option<String>,
    content: Content,
    is_finished: bool,
}

#[derive(Debug)]
enum Content {
    Text(String),
    Reasoning(Reasoning),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    /// A kind of item that is not known.
    Unknown,
}

impl Response {
    pub(super) fn new(model: &str) -> Self {
        Self {
            message: AssistantMessage {
                model: model.to_owned(),
                ..AssistantMessage::default()
            },
            blocks: Vec::new(),
            has_started: false,
            has_refused: false,
            is_complete: false,
            is_whole: false,
        }
    }

    fn start(&mut self, response: WireResponse, watch: Watch<'_>) {
        if self.has_started {
            return;
        }
        self.has_started = true;
        if let Some(model) = response.model.filter(|model| !model.is_empty()) {
            self.message.model = model;
        }
        self.message.response_id = response.id.filter(|id| !id.is_empty());
        watch(Delta::Started {
            response_id: self.message.response_id.clone(),
            usage: self.message.usage,
        });
    }

    fn start_item(
        &mut self,
        output_index: Option<u64>,
        item: &WireItem,
        watch: Watch<'_>,
    ) -> Result<usize, ModelError> {
        if output_index.is_some() && self.blocks.iter().any(|it| it.output_index == output_index) {
            return Err(out_of_order("an item begins twice"));
        }
        let index = self.place_of(self.blocks.len());
        let content = match item.kind.as_str() {
            "message" => Content::Text(String::new()),
            "reasoning" => Content::Reasoning(Reasoning::default()),
            "function_call" => {
                let id = item.call_id.clone().filter(|id| !id.is_empty());
                let id = id.unwrap_or_else(|| format!("call_{index}"));
                watch(Delta::CallStarted {
                    index,
                    id: id.clone(),
                    name: item.name.clone(),
                });
                Content::Call {
                    id,
                    name: item.name.clone(),
                    arguments: String::new(),
                }
            }
            _ => Content::Unknown,
        };
        self.blocks.push(Block {
            output_index,
            id: item.id.clone().filter(|id| !id.is_empty()),
            content,
            is_finished: false,
        });
        Ok(self.blocks.len() - 1)
    }

    /// The item that an event is about: by its place, by its id, or the last one.
    fn position(&self, output_index: Option<u64>, id: Option<&str>) -> Option<usize> {
        if output_index.is_some() {
            let mut blocks = self.blocks.iter();
            return blocks.position(|block| block.output_index == output_index);
        }
        match id.filter(|id| !id.is_empty()) {
            Some(id) => self
                .blocks
                .iter()
                .position(|it| it.id.as_deref() == Some(id)),
            None => self.blocks.len().checked_sub(1),
        }
    }

    /// The index in the message of the item at a position.
    fn place_of(&self, position: usize) -> usize {
        let known = |block: &&Block| !matches!(block.content, Content::Unknown);
        self.blocks.iter().take(position).filter(known).count()
    }

    /// The item that grows by an event, and its index in the message.
    fn growing(&mut self, event: &WireEvent) -> Result<(usize, &mut Content), ModelError> {
        let position = self.position(event.output_index, event.item_id.as_deref());
        let index = self.place_of(position.unwrap_or_default());
        match position.and_then(|position| self.blocks.get_mut(position)) {
            None => Err(out_of_order("an item grows that has not begun")),
            Some(block) if block.is_finished => Err(out_of_order("an item grows behind its end")),
            Some(block) => Ok((index, &mut block.content)),
        }
    }

    fn grow(&mut self, event: WireEvent, watch: Watch<'_>) -> Result<(), ModelError> {
        let (index, content) = self.growing(&event)?;
        let kind = event.kind;
        let text = event.delta.unwrap_or_default();
        match (content, kind.as_str()) {
            (Content::Unknown, _) => {}
            (Content::Text(whole), "response.output_text.delta" | "response.refusal.delta") => {
                whole.push_str(&text);
                watch(Delta::Text { index, text });
            }
            (
                Content::Reasoning(whole),
                "response.reasoning_summary_text.delta" | "response.reasoning_text.delta",
            ) => {
                whole.text.push_str(&text);
                watch(Delta::Reasoning { index, text });
            }
            // Another part of the summary begins.
            (Content::Reasoning(whole), "response.reasoning_summary_part.added") => {
                if !whole.text.is_empty() {
                    let text = "\n\n".to_owned();
                    whole.text.push_str(&text);
                    watch(Delta::Reasoning { index, text });
                }
            }
            (Content::Call { arguments, .. }, "response.function_call_arguments.delta") => {
                arguments.push_str(&text);
                watch(Delta::CallArguments {
                    index,
                    fragment: text,
                });
            }
            (Content::Call { arguments, .. }, "response.function_call_arguments.done") => {
                settle(arguments, event.arguments.unwrap_or_default(), index, watch)?;
            }
            _ => return Err(out_of_order(&format!("an item cannot take `{kind}`"))),
        }
        if kind == "response.refusal.delta" {
            self.has_refused = true;
        }
        Ok(())
    }

    fn finish_item(
        &mut self,
        output_index: Option<u64>,
        value: Value,
        service: &Service,
        watch: Watch<'_>,
    ) -> Result<(), ModelError> {
        let item = WireItem::deserialize(&value).unwrap_or_default();
        let known = self.position(output_index, item.id.as_deref());
        let position = match known {
            Some(position) => Ok(position),
            None => self.start_item(output_index, &item, watch),
        }?;
        let index = self.place_of(position);
        let Some(block) = self.blocks.get_mut(position) else {
            return Ok(());
        };
        if block.is_finished {
            return Err(out_of_order("an item ends twice"));
        }
        match &mut block.content {
            Content::Unknown => return Ok(()),
            Content::Text(whole) => {
                self.has_refused |= item.content.iter().any(|part| part.kind == "refusal");
                let text = whole_text(&item.content, "");
                if whole.is_empty() && !text.is_empty() {
                    whole.push_str(&text);
                    watch(Delta::Text { index, text });
                }
            }
            Content::Reasoning(whole) => {
                let summary = whole_text(&item.summary, "\n\n");
                let text = if summary.is_empty() {
                    whole_text(&item.content, "")
                } else {
                    summary
                };
                if whole.text.is_empty() && !text.is_empty() {
                    whole.text.push_str(&text);
                    watch(Delta::Reasoning { index, text });
                }
                whole.sealed = sealed(value, service);
            }
            Content::Call { arguments, .. } => settle(arguments, item.arguments, index, watch)?,
        }
        // An item that the limit cut is told as one that ends here, too.
        block.is_finished = item.status.as_deref() != Some("incomplete");
        watch(Delta::BlockFinished { index });
        Ok(())
    }

    fn end(&mut self, kind: &str, response: WireResponse, watch: Watch<'_>) {
        if let Some(usage) = &response.usage {
            self.message.usage = usage.normalised();
        }
        let reason = response.incomplete_details.reason.clone();
        self.start(response, watch);
        self.is_complete = true;
        self.is_whole = kind == "response.completed";
        let has_calls = self
            .blocks
            .iter()
            .any(|block| matches!(block.content, Content::Call { .. }));
        self.message.stop_reason = match reason.as_deref() {
            _ if self.is_whole && has_calls => StopReason::ToolUse,
            _ if self.is_whole && self.has_refused => StopReason::Refusal,
            _ if self.is_whole => StopReason::EndTurn,
            Some("max_output_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some(other) => StopReason::Other(other.to_owned()),
            None => StopReason::Other("incomplete".to_owned()),
        };
    }
}

impl Decoder for Response {
    fn event(
        &mut self,
        event: Event<'_>,
        service: &Service,
        watch: Watch<'_>,
    ) -> Result<(), ModelError> {
        // Some servers end the stream as Chat Completions does.
        if self.is_complete || event.data.trim_ascii() == b"[DONE]" {
            return Ok(());
        }
        let mut wire: WireEvent = json::read(event.data)?;
        if wire.kind.is_empty() {
            event.name.clone_into(&mut wire.kind);
        }
        let error = wire.error.take().filter(|error| !error.is_null());
        match wire.kind.as_str() {
            "response.created" | "response.queued" | "response.in_progress" => {
                self.start(wire.response.unwrap_or_default(), watch);
            }
            "response.output_item.added" => {
                let item = WireItem::deserialize(wire.item.unwrap_or_default());
                self.start_item(wire.output_index, &item.unwrap_or_default(), watch)?;
            }
            "response.output_text.delta"
            | "response.refusal.delta"
            | "response.reasoning_summary_part.added"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta"
            | "response.function_call_arguments.delta"
            | "response.function_call_arguments.done" => self.grow(wire, watch)?,
            "response.output_item.done" => {
                let item = wire.item.unwrap_or_default();
                self.finish_item(wire.output_index, item, service, watch)?;
            }
            kind @ ("response.completed" | "response.incomplete") => {
                self.end(kind, wire.response.unwrap_or_default(), watch);
            }
            "response.failed" => {
                let error = wire.response.and_then(|response| response.error);
                let error = error.filter(|error| !error.is_null());
                // Without one, nothing else in the response says why.
                let error = error.unwrap_or_else(|| json!({ "message": "" }));
                return Err(Refusal::from_stream(&error).into_error(service, None));
            }
            kind => {
                if kind == "error" || error.is_some() {
                    let error = error.map_or_else(|| json::read(event.data), Ok)?;
                    return Err(Refusal::from_stream(&error).into_error(service, None));
                }
            }
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn finish(self) -> Result<AssistantMessage, ModelError> {
        let Self {
            mut message,
            blocks,
            is_complete,
            is_whole,
            ..
        } = self;
        if !is_complete {
            return Err(ModelError::Cut(
                "it ended before `response.completed`".to_owned(),
            ));
        }
        let last = blocks.len().saturating_sub(1);
        for (position, block) in blocks.into_iter().enumerate() {
            message.content.push(match block.content {
                Content::Unknown => continue,
                Content::Text(text) => AssistantBlock::Text(text),
                Content::Reasoning(reasoning) => AssistantBlock::Reasoning(reasoning),
                Content::Call {
                    id,
                    name,
                    arguments,
                } => {
                    let called = Called {
                        id,
                        name,
                        arguments,
                        is_finished: block.is_finished,
                        is_last: position == last,
                    };
                    match called.block(is_whole)? {
                        Some(call) => call,
                        None => continue,
                    }
                }
            });
        }
        Ok(message)
    }
}

/// Holds the arguments of a call against the whole ones that the provider tells in the end.
fn settle(
    arguments: &mut String,
    whole: String,
    index: usize,
    watch: Watch<'_>,
) -> Result<(), ModelError> {
    if whole.is_empty() || *arguments == whole {
        return Ok(());
    }
    if !arguments.is_empty() {
        return Err(out_of_order("the arguments of a call changed on the way"));
    }
    arguments.push_str(&whole);
    watch(Delta::CallArguments {
        index,
        fragment: whole,
    });
    Ok(())
}

fn whole_text(parts: &[WirePart], between: &str) -> String {
    let texts = parts.iter().flat_map(|part| [&part.text, &part.refusal]);
    let texts: Vec<&str> = texts
        .map(String::as_str)
        .filter(|text| !text.is_empty())
        .collect();
    texts.join(between)
}

/// The reasoning as it goes back: without its state, which is for reading only. `None` if it is not
/// sealed; a provider that keeps nothing could not make anything of it.
fn sealed(item: Value, service: &Service) -> Option<Sealed> {
    let Value::Object(mut given) = item else {
        return None;
    };
    let is_sealed = given
        .get("encrypted_content")
        .and_then(Value::as_str)
        .is_some_and(|text| !text.is_empty());
    if !is_sealed {
        return None;
    }
    let mut item = Map::new();
    for field in ["type", "id", "summary", "content", "encrypted_content"] {
        match given.remove(field) {
            Some(Value::Null) | None if field == "summary" => {
                item.insert(field.to_owned(), json!([]));
            }
            Some(Value::Null) | None => {}
            Some(value) => {
                item.insert(field.to_owned(), value);
            }
        }
    }
    Some(Sealed {
        by: service.address.clone(),
        item: Value::Object(item).into(),
    })
}

#[cfg(test)]
#[path = "decode_fuzz.rs"]
mod fuzz;
#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
