//! What makes a conversation well-formed, whatever the provider.

use std::collections::HashSet;
use std::sync::Arc;

use crate::{AssistantBlock, Item};

/// A rule that a conversation breaks. The number is the index of the offending item.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// Two calls share one id.
    #[error("item {0}: call id `{1}` occurs twice")]
    RepeatedCallId(usize, String),
    /// A call id has characters that a provider refuses.
    #[error("item {0}: call id `{1}` has characters outside [a-zA-Z0-9_-]")]
    BadCallId(usize, String),
    /// A result stands where no call waits for it.
    #[error("item {0}: result for `{1}`, which no open call has")]
    OrphanResult(usize, String),
    /// Something else stands between calls and their results, or the conversation ends there.
    #[error("item {0}: call `{1}` has no result before it")]
    OpenCall(usize, String),
    /// Results stand in another order than their calls.
    #[error("item {0}: result for `{1}` stands before the one for `{2}`")]
    ResultOrder(usize, String, String),
    /// The conversation asks nothing: it is empty, or the model spoke last.
    #[error("the conversation does not end with something to answer")]
    NothingToAnswer,
}

impl Violation {
    /// The index of the offending item; `None` if it is about the conversation as a whole.
    pub fn index(&self) -> Option<usize> {
        match self {
            Self::RepeatedCallId(index, _)
            | Self::BadCallId(index, _)
            | Self::OrphanResult(index, _)
            | Self::OpenCall(index, _)
            | Self::ResultOrder(index, _, _) => Some(*index),
            Self::NothingToAnswer => None,
        }
    }
}

/// Checks every rule over the items of a request.
///
/// The rules are law 9 of the design: each call has exactly one result, right behind the message of
/// the call and in call order; ids are unique and of the accepted form; the last word is not the
/// model's. Rules about empty blocks and roles are kept by the encoders, which leave out what a
/// provider would refuse.
pub fn check(items: &[Arc<Item>]) -> Result<(), Violation> {
    let mut seen = HashSet::new();
    let mut open: std::collections::VecDeque<&str> = std::collections::VecDeque::new();
    let mut answerable = false;
    for (index, item) in items.iter().enumerate() {
        match &**item {
            Item::ToolResult(result) => match open.front() {
                Some(first) if *first == result.call_id => {
                    open.pop_front();
                }
                Some(first) if open.contains(&result.call_id.as_str()) => {
                    return Err(Violation::ResultOrder(
                        index,
                        result.call_id.clone(),
                        (*first).to_owned(),
                    ));
                }
                _ => return Err(Violation::OrphanResult(index, result.call_id.clone())),
            },
            other => {
                if let Some(first) = open.front() {
                    return Err(Violation::OpenCall(index, (*first).to_owned()));
                }
                if let Item::Assistant(message) = other {
                    for block in &message.content {
                        let AssistantBlock::ToolCall(call) = block else {
                            continue;
                        };
                        if !is_call_id(&call.id) {
                            return Err(Violation::BadCallId(index, call.id.clone()));
                        }
                        if !seen.insert(call.id.as_str()) {
                            return Err(Violation::RepeatedCallId(index, call.id.clone()));
                        }
                        open.push_back(&call.id);
                    }
                }
            }
        }
        answerable = match &**item {
            Item::Assistant(message) => message.content.is_empty() && answerable,
            Item::User(_) | Item::ToolResult(_) | Item::System(_) => true,
        };
    }
    if let Some(first) = open.front() {
        return Err(Violation::OpenCall(items.len(), (*first).to_owned()));
    }
    if answerable {
        Ok(())
    } else {
        Err(Violation::NothingToAnswer)
    }
}

/// Whether every provider accepts the id: `^[a-zA-Z0-9_-]{1,64}$`.
pub fn is_call_id(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= 64
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
