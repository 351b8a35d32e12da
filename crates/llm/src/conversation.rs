//! An append-only row of items.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Item;

/// The items that a model is shown, in order.
///
/// It can only grow. A provider may therefore keep what it has already encoded of a conversation, by
/// [`Conversation::id`], and encode only what was added since: each request extends the one before
/// it. A history that is replaced (compaction, fork, rewind) is a new conversation with a new id.
#[derive(Debug)]
pub struct Conversation {
    id: u64,
    items: Vec<Arc<Item>>,
}

impl Conversation {
    /// A conversation that begins with the given items.
    pub fn new(items: Vec<Arc<Item>>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            items,
        }
    }

    /// Identifies this row of items within the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The items so far.
    pub fn items(&self) -> &[Arc<Item>] {
        &self.items
    }

    /// Appends an item.
    pub fn push(&mut self, item: Arc<Item>) {
        self.items.push(item);
    }
}
