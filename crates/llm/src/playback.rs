//! A finished message as the stream of deltas that a provider would have sent.

use std::time::Duration;

use crate::{AssistantBlock, AssistantMessage, Delta};

/// How many characters one delta of text or arguments has.
const PIECE: usize = 16;

/// Tells `watch` the first `limit` deltas of the message, with a pause before each.
pub(crate) async fn play(
    message: &AssistantMessage,
    limit: Limit,
    pause: Duration,
    watch: &mut (dyn FnMut(Delta) + Send),
) {
    let deltas = deltas(message);
    let count = match limit {
        Limit::Whole => deltas.len(),
        // The half is rounded up, so that something was always seen before a cut.
        Limit::Half => deltas.len().div_ceil(2),
    };
    for delta in deltas.into_iter().take(count) {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        watch(delta);
    }
}

/// How much of a message is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// All of it.
    Whole,
    /// The first half of its deltas.
    Half,
}

fn deltas(message: &AssistantMessage) -> Vec<Delta> {
    let mut deltas = vec![Delta::Started {
        response_id: message.response_id.clone(),
        usage: crate::Usage {
            output: 0,
            reasoning: 0,
            ..message.usage
        },
    }];
    for (index, block) in message.content.iter().enumerate() {
        match block {
            AssistantBlock::Text(text) => {
                deltas.extend(pieces(text).map(|text| Delta::Text { index, text }));
            }
            AssistantBlock::Reasoning(reasoning) => {
                deltas.extend(pieces(&reasoning.text).map(|text| Delta::Reasoning { index, text }));
            }
            AssistantBlock::ToolCall(call) => {
                deltas.push(Delta::CallStarted {
                    index,
                    id: call.id.clone(),
                    name: call.name.clone(),
                });
                deltas.extend(
                    pieces(call.arguments.text())
                        .map(|fragment| Delta::CallArguments { index, fragment }),
                );
            }
        }
    }
    deltas
}

/// The text in pieces of [`PIECE`] characters.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let mut characters = text.chars().peekable();
    std::iter::from_fn(move || {
        characters.peek()?;
        Some(characters.by_ref().take(PIECE).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_between_characters_and_lose_nothing() {
        for text in ["", "a", "äöü€🦀äöü€🦀äöü€🦀äöü€🦀", "0123456789abcdef"]
        {
            let all: Vec<String> = pieces(text).collect();
            assert_eq!(all.concat(), text);
            assert!(all.iter().all(|piece| piece.chars().count() <= PIECE));
        }
    }
}
