//! Pairs calls with their results: rules R2 and R3 of the contract, the same for all formats.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use foldhash::{fast, quality};
use jiff::Timestamp;
use serde_json::Value;

use crate::effect::{self, Outcome};
use crate::event::{Call, Chain, Event, Place, Tool, What};
use crate::tree::Tree;

/// The calls of task tools in a log: which are open, and which were there.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: HashMap<String, (usize, Open)>,
    /// Open calls that the session has not gone on without.
    waiting: usize,
    /// Hashes of the ids of all calls so far, so that memory stays small however long the log is.
    known: HashSet<u64, fast::RandomState>,
    /// How many calls there were.
    count: usize,
    hasher: quality::RandomState,
}

/// A call without a result, so far.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) line: u64,
    pub(crate) time: Option<Timestamp>,
    pub(crate) chain: Chain,
    pub(crate) tool: Tool,
    /// The JSON of the input.
    pub(crate) input: String,
    /// The message that the call is part of; empty if messages have no ids.
    pub(crate) message: String,
    pub(crate) lost: bool,
}

/// What came of a result.
pub(crate) enum Closed {
    /// It belongs to this call.
    Call(Open),
    /// Its call has a result already.
    Repeated,
    /// It belongs to no call of a task tool.
    Other,
}

impl Calls {
    /// Takes in a call. Says whether it is the first with this id.
    pub(crate) fn open(&mut self, id: &str, call: Open) -> bool {
        let new = self.known.insert(self.hasher.hash_one(id));
        if new {
            self.count += 1;
            self.open.insert(id.to_owned(), (self.count, call));
            self.waiting += 1;
        }
        new
    }

    /// Takes in a result.
    pub(crate) fn close(&mut self, id: &str) -> Closed {
        match self.open.remove(id) {
            Some((_, call)) => {
                self.waiting -= usize::from(!call.lost);
                Closed::Call(call)
            }
            None if self.known.contains(&self.hasher.hash_one(id)) => Closed::Repeated,
            None => Closed::Other,
        }
    }

    /// A later call with this id is another one.
    pub(crate) fn forget(&mut self, id: &str) {
        self.known.remove(&self.hasher.hash_one(id));
    }

    /// Whether any call has no result yet.
    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether the session may still be waiting for the result of a call.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// The model has spoken again in this chain, in this message: what is open of its earlier
    /// messages will hardly get a result.
    pub(crate) fn went_on(&mut self, chain: &Chain, message: &str) {
        for (_, call) in self.open.values_mut() {
            if !call.lost && call.chain == *chain && call.message != message {
                call.lost = true;
                self.waiting -= 1;
            }
        }
    }

    /// The calls that are open now, as events, in the order in which they stand.
    pub(crate) fn pending(&self) -> Vec<Event> {
        let mut open: Vec<_> = self.open.iter().collect();
        open.sort_by_key(|(_, (order, _))| *order);
        open.into_iter()
            .map(|(id, (_, call))| Event {
                place: Place {
                    source: 0,
                    line: call.line,
                },
                time: call.time,
                chain: call.chain.clone(),
                call: Some(Call {
                    id: id.clone(),
                    tool: call.tool,
                }),
                what: What::Pending {
                    input: serde_json::from_str(&call.input).unwrap_or(Value::Null),
                    lost: call.lost,
                },
            })
            .collect()
    }
}

/// The event that a finished call is: it stands where its result stands.
pub(crate) fn finished(
    id: &str,
    call: &Open,
    line: u64,
    time: Option<Timestamp>,
    outcome: &Outcome<'_>,
) -> Event {
    let input = Tree::read(&call.input).unwrap_or(Tree::Null);
    Event {
        place: Place { source: 0, line },
        time,
        chain: call.chain.clone(),
        call: Some(Call {
            id: id.to_owned(),
            tool: call.tool,
        }),
        what: effect::of(call.tool, &input, outcome),
    }
}
