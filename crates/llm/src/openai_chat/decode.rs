//! The chunks of Chat Completions as one message.
//!
//! Servers differ in how they name calls. A chunk belongs to the call of its `index`; but some leave
//! the index out, and some give several calls the same one, so that a new id with a name begins a new
//! call too (an id alone does not: some invent a new one for every chunk).

use serde_json::Value;

use super::chunks::{WireCall, WireChunk};
use crate::http::called::Called;
use crate::http::endpoint::Decoder;
use crate::http::failure::{Refusal, Service};
use crate::http::json;
use crate::http::sse::Event;
use crate::{AssistantBlock, AssistantMessage, Delta, ModelError, Reasoning, StopReason};

/// Reads one response.
#[derive(Debug)]
pub(super) struct Response {
    message: AssistantMessage,
    blocks: Vec<Block>,
    has_started: bool,
    /// Whether a reason to finish was given: nothing but counts may follow.
    is_finished: bool,
    /// Whether the end of the stream was announced.
    is_complete: bool,
}

#[derive(Debug)]
enum Block {
    Text(String),
    Reasoning(String),
    Call {
        /// The provider's index of the call.
        index: Option<u64>,
        id: String,
        name: String,
        arguments: String,
        /// Whether the begin was told.
        is_told: bool,
    },
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
            is_finished: false,
            is_complete: false,
        }
    }

    fn chunk(&mut self, chunk: WireChunk, watch: &mut (dyn FnMut(Delta) + Send)) {
        if let Some(usage) = chunk.usage {
            self.message.usage = usage.normalised();
        }
        if !self.has_started {
            self.has_started = true;
            if let Some(model) = chunk.model.filter(|model| !model.is_empty()) {
                self.message.model = model;
            }
            self.message.response_id = chunk.id.filter(|id| !id.is_empty());
            watch(Delta::Started {
                response_id: self.message.response_id.clone(),
                usage: self.message.usage,
            });
        }
        // Only one answer was asked for.
        let mut choices = chunk.choices.unwrap_or_default().into_iter();
        let Some(choice) = choices.find(|choice| choice.index == 0) else {
            return;
        };
        let delta = choice.delta.unwrap_or_default();
        if let Some(text) = delta.reasoning_content.or(delta.reasoning) {
            self.reasoning(text, watch);
        }
        let texts = [delta.content.map(text_of), delta.refusal];
        for text in texts.into_iter().flatten() {
            self.text(text, watch);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(call, watch);
        }
        if let Some(reason) = choice.finish_reason.filter(|_| !self.is_finished) {
            self.is_finished = true;
            self.message.stop_reason = stop_reason(&reason);
            for index in 0..self.blocks.len() {
                watch(Delta::BlockFinished { index });
            }
        }
    }

    fn text(&mut self, text: String, watch: &mut (dyn FnMut(Delta) + Send)) {
        if text.is_empty() {
            return;
        }
        match self.blocks.last_mut() {
            Some(Block::Text(whole)) => whole.push_str(&text),
            _ => self.blocks.push(Block::Text(text.clone())),
        }
        let index = self.blocks.len() - 1;
        watch(Delta::Text { index, text });
    }

    fn reasoning(&mut self, text: String, watch: &mut (dyn FnMut(Delta) + Send)) {
        if text.is_empty() {
            return;
        }
        match self.blocks.last_mut() {
            Some(Block::Reasoning(whole)) => whole.push_str(&text),
            _ => self.blocks.push(Block::Reasoning(text.clone())),
        }
        let index = self.blocks.len() - 1;
        watch(Delta::Reasoning { index, text });
    }

    fn call(&mut self, wire: WireCall, watch: &mut (dyn FnMut(Delta) + Send)) {
        let function = wire.function.unwrap_or_default();
        let id = wire.id.filter(|id| !id.is_empty());
        let name = function.name.filter(|name| !name.is_empty());
        let place = self.place_of_call(wire.index, id.as_deref(), name.is_some());
        let place = place.unwrap_or_else(|| {
            self.blocks.push(Block::Call {
                index: wire.index,
                id: id.unwrap_or_else(|| format!("call_{}", self.blocks.len())),
                name: String::new(),
                arguments: String::new(),
                is_told: false,
            });
            self.blocks.len() - 1
        });
        let sent_name = name;
        let Some(Block::Call {
            id,
            name,
            arguments,
            is_told,
            ..
        }) = self.blocks.get_mut(place)
        else {
            return;
        };
        // Some servers repeat the name in every chunk.
        if let Some(sent) = sent_name.filter(|_| name.is_empty()) {
            *name = sent;
        }
        if !*is_told && !name.is_empty() {
            *is_told = true;
            watch(Delta::CallStarted {
                index: place,
                id: id.clone(),
                name: name.clone(),
            });
        }
        let fragment = match function.arguments {
            None | Some(Value::Null) => return,
            Some(Value::String(fragment)) => fragment,
            // Some servers send the arguments as what they are.
            Some(value) => value.to_string(),
        };
        arguments.push_str(&fragment);
        watch(Delta::CallArguments {
            index: place,
            fragment,
        });
    }

    /// The block of the call that a chunk belongs to, if the call has begun.
    fn place_of_call(
        &self,
        wire_index: Option<u64>,
        wire_id: Option<&str>,
        has_name: bool,
    ) -> Option<usize> {
        let calls = self.blocks.iter().enumerate().rev();
        let mut calls = calls.filter_map(|(place, block)| match block {
            Block::Call { index, id, .. } => Some((place, *index, id.as_str())),
            Block::Text(_) | Block::Reasoning(_) => None,
        });
        let (place, index, id) =
            calls.find(|(_, index, _)| wire_index.is_none() || *index == wire_index)?;
        let begins_another = has_name
            && match wire_id {
                Some(wire_id) => wire_id != id,
                // Without an id and an index, a name is all there is to tell calls apart.
                None => wire_index.is_none() && index.is_none(),
            };
        (!begins_another).then_some(place)
    }
}

impl Decoder for Response {
    fn event(
        &mut self,
        event: Event<'_>,
        service: &Service,
        watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ModelError> {
        if self.is_complete {
            return Ok(());
        }
        if event.data.trim_ascii() == b"[DONE]" {
            self.is_complete = true;
            return Ok(());
        }
        let mut chunk: WireChunk = json::read(event.data)?;
        let error = chunk.error.take().filter(|error| !error.is_null());
        let is_error = event.name == "error";
        if let Some(error) = error.or(is_error.then(|| json::read(event.data).unwrap_or_default()))
        {
            return Err(Refusal::from_stream(&error).into_error(service, None));
        }
        self.chunk(chunk, watch);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn finish(self) -> Result<AssistantMessage, ModelError> {
        let Self {
            mut message,
            blocks,
            is_finished,
            ..
        } = self;
        if !is_finished {
            return Err(ModelError::Cut(
                "it ended without a `finish_reason`".to_owned(),
            ));
        }
        let is_whole = matches!(
            message.stop_reason,
            StopReason::EndTurn | StopReason::ToolUse
        );
        let last = blocks.len().saturating_sub(1);
        for (position, block) in blocks.into_iter().enumerate() {
            message.content.push(match block {
                Block::Text(text) => AssistantBlock::Text(text),
                Block::Reasoning(text) => AssistantBlock::Reasoning(Reasoning {
                    text,
                    ..Reasoning::default()
                }),
                Block::Call {
                    id,
                    name,
                    arguments,
                    ..
                } => {
                    let called = Called {
                        id,
                        name,
                        arguments,
                        is_finished: true,
                        is_last: position == last,
                    };
                    match called.block(is_whole)? {
                        Some(call) => call,
                        None => continue,
                    }
                }
            });
        }
        // Some servers say `stop` although the model waits for results.
        if is_whole {
            let has_calls = message.calls().next().is_some();
            message.stop_reason = if has_calls {
                StopReason::ToolUse
            } else {
                StopReason::EndTurn
            };
        }
        Ok(message)
    }
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "stop" | "eos" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}

/// The text of `content`, which some servers send in parts.
fn text_of(content: Value) -> String {
    match content {
        Value::String(text) => text,
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
#[path = "decode_fuzz.rs"]
mod fuzz;
#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
