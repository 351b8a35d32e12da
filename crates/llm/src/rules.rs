//! What makes a conversation well-formed, whatever the provider.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::Item;

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

    /// What is wrong, for who knows the place by another name than the index of the item.
    pub fn what(&self) -> String {
        let text = self.to_string();
        match self.index() {
            Some(index) => text
                .strip_prefix(&format!("item {index}: "))
                .map_or_else(|| text.clone(), str::to_owned),
            None => text,
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
    let mut row = Row::default();
    for item in items {
        row.push(item)?;
    }
    row.end()
}

/// A conversation whose items are held against the rules one after the other, as they come.
#[derive(Debug, Default)]
pub struct Row {
    items: usize,
    /// The ids of all calls.
    seen: HashSet<Arc<str>>,
    /// The ids of the calls that wait for a result, in call order.
    open: VecDeque<Arc<str>>,
    answerable: bool,
}

impl Row {
    /// The next item, or the rule that it breaks where it stands. After that the row says nothing
    /// more of use.
    pub fn push(&mut self, item: &Item) -> Result<(), Violation> {
        let index = self.items;
        self.items += 1;
        if let Item::ToolResult(result) = item {
            let id = result.call_id.as_str();
            match self.open.front() {
                Some(first) if **first == *id => {
                    self.open.pop_front();
                }
                Some(first) if self.open.iter().any(|it| **it == *id) => {
                    let first = first.to_string();
                    return Err(Violation::ResultOrder(index, id.to_owned(), first));
                }
                _ => return Err(Violation::OrphanResult(index, id.to_owned())),
            }
        } else if let Some(first) = self.open.front() {
            return Err(Violation::OpenCall(index, first.to_string()));
        }
        if let Item::Assistant(message) = item {
            for call in message.calls() {
                if !is_call_id(&call.id) {
                    return Err(Violation::BadCallId(index, call.id.clone()));
                }
                let id: Arc<str> = Arc::from(call.id.as_str());
                if !self.seen.insert(Arc::clone(&id)) {
                    return Err(Violation::RepeatedCallId(index, call.id.clone()));
                }
                self.open.push_back(id);
            }
        }
        self.answerable = match item {
            Item::Assistant(message) => message.content.is_empty() && self.answerable,
            Item::User(_) | Item::ToolResult(_) | Item::System(_) => true,
        };
        Ok(())
    }

    /// The end: what a request must end with is there, and no call waits.
    pub fn end(&self) -> Result<(), Violation> {
        if let Some(first) = self.open.front() {
            return Err(Violation::OpenCall(self.items, first.to_string()));
        }
        if self.answerable {
            Ok(())
        } else {
            Err(Violation::NothingToAnswer)
        }
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
