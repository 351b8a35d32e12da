//! Anthropic's event stream as one message.
//!
//! Blocks are told apart by their index: they may interleave. Blocks, deltas and events of kinds that
//! are not known are skipped, as the protocol's versioning rules ask for.

use serde_json::Value;

use super::events::{WireBlock, WireDelta, WireEvent, WireUsage};
use crate::http::called::Called;
use crate::http::endpoint::Decoder;
use crate::http::failure::{Refusal, Service, out_of_order};
use crate::http::json;
use crate::http::sse::Event;
use crate::{AssistantBlock, AssistantMessage, Delta, ModelError, Reasoning, StopReason, Usage};

/// Reads one response.
#[derive(Debug)]
pub(super) struct Response {
    message: AssistantMessage,
    usage: WireUsage,
    blocks: Vec<Block>,
    is_complete: bool,
}

/// A block while it arrives.
#[derive(Debug)]
struct Block {
    /// The provider's index of the block.
    index: u64,
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
        /// Arguments that stood in the begin of the block; they count if no others follow.
        given: Option<Value>,
    },
    /// A kind of block that is not known.
    Unknown,
}

impl Response {
    pub(super) fn new(model: &str) -> Self {
        Self {
            message: AssistantMessage {
                model: model.to_owned(),
                ..AssistantMessage::default()
            },
            usage: WireUsage::default(),
            blocks: Vec::new(),
            is_complete: false,
        }
    }

    fn start_block(
        &mut self,
        index: u64,
        wire: WireBlock,
        watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ModelError> {
        if self.blocks.iter().any(|block| block.index == index) {
            return Err(out_of_order(&format!("block {index} begins twice")));
        }
        let place = self.place();
        let content = match wire {
            WireBlock::Text { text } => {
                watch(Delta::Text {
                    index: place,
                    text: text.clone(),
                });
                Content::Text(text)
            }
            WireBlock::Thinking {
                thinking,
                signature,
            } => {
                watch(Delta::Reasoning {
                    index: place,
                    text: thinking.clone(),
                });
                Content::Reasoning(Reasoning {
                    text: thinking,
                    signature: Some(signature).filter(|signature| !signature.is_empty()),
                    ..Reasoning::default()
                })
            }
            WireBlock::RedactedThinking { data } => Content::Reasoning(Reasoning {
                redacted: Some(data),
                ..Reasoning::default()
            }),
            WireBlock::ToolUse { id, name, input } => {
                watch(Delta::CallStarted {
                    index: place,
                    id: id.clone(),
                    name: name.clone(),
                });
                Content::Call {
                    id,
                    name,
                    arguments: String::new(),
                    given: input
                        .filter(|input| input.as_object().is_none_or(|map| !map.is_empty())),
                }
            }
            WireBlock::Unknown => Content::Unknown,
        };
        self.blocks.push(Block {
            index,
            content,
            is_finished: false,
        });
        Ok(())
    }

    fn grow_block(
        &mut self,
        index: u64,
        delta: WireDelta,
        watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ModelError> {
        let (place, block) = self.block(index)?;
        match (&mut block.content, delta) {
            (Content::Text(whole), WireDelta::TextDelta { text }) => {
                whole.push_str(&text);
                watch(Delta::Text { index: place, text });
            }
            (Content::Reasoning(reasoning), WireDelta::ThinkingDelta { thinking }) => {
                reasoning.text.push_str(&thinking);
                watch(Delta::Reasoning {
                    index: place,
                    text: thinking,
                });
            }
            (Content::Reasoning(reasoning), WireDelta::SignatureDelta { signature }) => {
                reasoning
                    .signature
                    .get_or_insert_default()
                    .push_str(&signature);
                watch(Delta::Signature {
                    index: place,
                    signature,
                });
            }
            (Content::Call { arguments, .. }, WireDelta::InputJsonDelta { partial_json }) => {
                arguments.push_str(&partial_json);
                watch(Delta::CallArguments {
                    index: place,
                    fragment: partial_json,
                });
            }
            (_, WireDelta::Unknown) | (Content::Unknown, _) => {}
            (_, delta) => {
                return Err(out_of_order(&format!(
                    "block {index} cannot take {delta:?}"
                )));
            }
        }
        Ok(())
    }

    fn finish_block(
        &mut self,
        index: u64,
        watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ModelError> {
        let (place, block) = self.block(index)?;
        block.is_finished = true;
        match &mut block.content {
            Content::Call {
                arguments, given, ..
            } if arguments.is_empty() => {
                if let Some(given) = given.take() {
                    *arguments = given.to_string();
                    watch(Delta::CallArguments {
                        index: place,
                        fragment: arguments.clone(),
                    });
                }
            }
            Content::Unknown => return Ok(()),
            _ => {}
        }
        watch(Delta::BlockFinished { index: place });
        Ok(())
    }

    /// A block and its place in the message.
    fn block(&mut self, index: u64) -> Result<(usize, &mut Block), ModelError> {
        let mut place = 0;
        for block in &mut self.blocks {
            if block.index == index {
                return Ok((place, block));
            }
            place += usize::from(!matches!(block.content, Content::Unknown));
        }
        Err(out_of_order(&format!("block {index} has not begun")))
    }

    /// The place of the next block in the message.
    fn place(&self) -> usize {
        let known = |block: &&Block| !matches!(block.content, Content::Unknown);
        self.blocks.iter().filter(known).count()
    }

    /// Takes over counts. They are totals, so later ones replace earlier ones; but a zero replaces
    /// nothing, since some proxies know each number in one place only and fill the other with zeros.
    fn count(&mut self, usage: WireUsage) {
        let known = &mut self.usage;
        for (known, new) in [
            (&mut known.input_tokens, usage.input_tokens),
            (
                &mut known.cache_read_input_tokens,
                usage.cache_read_input_tokens,
            ),
            (
                &mut known.cache_creation_input_tokens,
                usage.cache_creation_input_tokens,
            ),
            (&mut known.output_tokens, usage.output_tokens),
        ] {
            *known = new.filter(|count| *count > 0).or(*known);
        }
        let cache_read = known.cache_read_input_tokens.unwrap_or(0);
        let cache_write = known.cache_creation_input_tokens.unwrap_or(0);
        let fresh = known.input_tokens.unwrap_or(0);
        self.message.usage = Usage {
            input: fresh.saturating_add(cache_read).saturating_add(cache_write),
            cache_read,
            cache_write,
            output: known.output_tokens.unwrap_or(0),
            reasoning: 0,
        };
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
        match json::read(event.data)? {
            WireEvent::MessageStart { message } => {
                self.count(message.usage);
                if !message.model.is_empty() {
                    self.message.model = message.model;
                }
                self.message.response_id = message.id;
                watch(Delta::Started {
                    response_id: self.message.response_id.clone(),
                    usage: self.message.usage,
                });
            }
            WireEvent::ContentBlockStart {
                index,
                content_block,
            } => self.start_block(index, content_block, watch)?,
            WireEvent::ContentBlockDelta { index, delta } => {
                self.grow_block(index, delta, watch)?;
            }
            WireEvent::ContentBlockStop { index } => self.finish_block(index, watch)?,
            WireEvent::MessageDelta { delta, usage } => {
                self.count(usage);
                match delta.stop_reason.as_deref() {
                    Some("stop_sequence") => self.message.stop_reason = StopReason::EndTurn,
                    Some(reason) => self.message.stop_reason = StopReason::from(reason),
                    None => {}
                }
            }
            WireEvent::MessageStop => self.is_complete = true,
            WireEvent::Error { error } => {
                let refusal = Refusal::from_stream(&error);
                return Err(refusal.into_error(service, None));
            }
            WireEvent::Unknown => {}
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
            ..
        } = self;
        if !is_complete {
            return Err(ModelError::Cut("it ended before `message_stop`".to_owned()));
        }
        // An answer that was stopped from outside may end within a call.
        let is_whole = matches!(
            message.stop_reason,
            StopReason::EndTurn | StopReason::ToolUse
        );
        let last = blocks.len().saturating_sub(1);
        for (position, block) in blocks.into_iter().enumerate() {
            let content = match block.content {
                Content::Text(text) => AssistantBlock::Text(text),
                Content::Reasoning(reasoning) => AssistantBlock::Reasoning(reasoning),
                Content::Call {
                    id,
                    name,
                    arguments,
                    ..
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
                Content::Unknown => continue,
            };
            message.content.push(content);
        }
        Ok(message)
    }
}

#[cfg(test)]
#[path = "decode_fuzz.rs"]
mod fuzz;
#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
