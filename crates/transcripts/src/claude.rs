//! Claude Code: transcripts (`~/.claude/projects/*/*.jsonl`) and the stream of
//! `claude -p --output-format stream-json`. Both hold messages of the Anthropic API, one or more lines
//! a message; they differ in the names of a few fields.
//!
//! Field names and where results stand: `real-logs.md` sections 1 to 3.

use std::collections::HashMap;
use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::{Arc, LazyLock};

use foldhash::{fast, quality};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::calls::{Calls, Closed, Open, finished};
use crate::effect::{Outcome, row};
use crate::event::{Chain, Event, Observation, Place, Tool, What};
use crate::format::{Decode, Needles, Output, TOOL_NAMES, time};
use crate::json::{Flag, Maybe, Text, object, parse, text_of};
use crate::tree::Tree;

/// Calls, observations, compactions, and the lines of sub-agents that have no id.
const ALWAYS: [&str; 12] = [
    TOOL_NAMES[0],
    TOOL_NAMES[1],
    TOOL_NAMES[2],
    TOOL_NAMES[3],
    TOOL_NAMES[4],
    TOOL_NAMES[5],
    TOOL_NAMES[6],
    TOOL_NAMES[7],
    "\"task_reminder\"",
    // Not the whole word: how many needles begin like other words decides the speed.
    "_boundary\"",
    "chain\":true",
    "chain\": true",
];

static IDLE: LazyLock<Needles> = LazyLock::new(|| Needles::new(ALWAYS));

/// Some call is open: results matter too. (`parent_tool_use_id` has no quote before the `t`.)
static OPEN: LazyLock<Needles> =
    LazyLock::new(|| Needles::new(ALWAYS.into_iter().chain(["\"tool_use_id\""])));

/// The session may be waiting for a result: whether the model goes on matters too.
static WAITING: LazyLock<Needles> = LazyLock::new(|| {
    Needles::new(
        ALWAYS
            .into_iter()
            .chain(["\"tool_use_id\"", "\"assistant\""]),
    )
});

/// Reads both formats.
#[derive(Default)]
pub(crate) struct Decoder {
    calls: Calls,
    /// Hashes of the uuids of the messages that were read.
    seen: HashSet<u64, fast::RandomState>,
    /// For the messages of sub-agents without an id: the first message of their chain.
    roots: HashMap<u64, Arc<str>, fast::RandomState>,
    hasher: quality::RandomState,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    subtype: Text<'a>,
    uuid: Text<'a>,
    parent_uuid: Text<'a>,
    is_sidechain: Flag,
    agent_id: Text<'a>,
    #[serde(rename = "parent_tool_use_id")]
    parent_tool_use_id: Text<'a>,
    timestamp: Text<'a>,
    session_id: Text<'a>,
    #[serde(rename = "session_id")]
    stream_session: Text<'a>,
    message: Maybe<Message<'a>>,
    data: Maybe<Data<'a>>,
    attachment: Maybe<Attachment<'a>>,
    tool_use_result: Option<&'a RawValue>,
    #[serde(rename = "tool_use_result")]
    stream_result: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    content: Maybe<Vec<Block<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    id: Text<'a>,
    name: Text<'a>,
    input: Option<&'a RawValue>,
    tool_use_id: Text<'a>,
    content: Option<&'a RawValue>,
    is_error: Flag,
}

/// What a `progress` line carries. Of a sub-agent it forwards the messages.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    agent_id: Text<'a>,
    message: Maybe<Forwarded<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Forwarded<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    uuid: Text<'a>,
    timestamp: Text<'a>,
    message: Maybe<Message<'a>>,
    /// Not there in any log that was studied. If it is, it counts as in a line of the sub-agent itself.
    #[serde(rename = "toolUseResult")]
    tool_use_result: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    content: Option<&'a RawValue>,
}

object!(Message Block Data Forwarded Attachment);

impl Decode for Decoder {
    fn wanted(&self) -> &'static Needles {
        if self.calls.is_waiting() {
            &WAITING
        } else if self.calls.is_open() {
            &OPEN
        } else {
            &IDLE
        }
    }

    fn wanted_at_most(&self) -> &'static Needles {
        &WAITING
    }

    fn record(
        &mut self,
        line: u64,
        json: &[u8],
        out: &mut Output,
    ) -> Result<(), serde_json::Error> {
        let record: Record<'_> = parse(json)?;
        self.read(line, record, out);
        Ok(())
    }

    fn end(&mut self, out: &mut Output) {
        out.events.extend(self.calls.pending());
    }
}

impl Decoder {
    fn read(&mut self, line: u64, record: Record<'_>, out: &mut Output) {
        // Partial messages name each call once more, with an empty input.
        if record.kind.is("stream_event") {
            return;
        }
        let mut at = At {
            line,
            time: time(&record.timestamp),
            chain: Chain::Main,
        };
        out.report.session(
            record
                .session_id
                .filled()
                .or(record.stream_session.filled()),
        );
        out.report.time(at.time);
        if !self.is_first(record.uuid.filled()) {
            out.report.count("duplicate_lines");
            return;
        }
        match record.subtype.as_str() {
            Some("compact_boundary") => out.events.push_back(at.event(What::Compaction)),
            Some("microcompact_boundary") => out.report.count("microcompact_boundary"),
            _ => {}
        }
        at.chain = self.chain(&record);
        if record.kind.is("progress")
            && let Some(data) = record.data.0
            && data.kind.is("agent_progress")
            && let Some(forwarded) = data.message.0
        {
            if !self.is_first(forwarded.uuid.filled()) {
                out.report.count("duplicate_progress");
                return;
            }
            at.chain = Chain::Agent(data.agent_id.as_str().unwrap_or("").into());
            at.time = at.time.or(time(&forwarded.timestamp));
            let speaks = forwarded.kind.is("assistant");
            let result = forwarded.tool_use_result;
            self.message(&at, forwarded.message.0, speaks, result, out);
            return;
        }
        if let Some(attachment) = record.attachment.0
            && attachment.kind.is("task_reminder")
            && at.chain == Chain::Main
            && let Some(Tree::Array(rows)) = parsed(attachment.content)
        {
            out.events.push_back(at.event(What::Observe(Observation {
                rows: rows.iter().filter_map(row).collect(),
                whole: true,
                full: true,
                reminder: true,
            })));
            return;
        }
        let speaks = record.kind.is("assistant");
        let result = record.tool_use_result.or(record.stream_result);
        self.message(&at, record.message.0, speaks, result, out);
    }

    fn message(
        &mut self,
        at: &At,
        message: Option<Message<'_>>,
        speaks: bool,
        result: Option<&RawValue>,
        out: &mut Output,
    ) {
        let Some(message) = message else { return };
        let message_id = message.id.as_str().unwrap_or("");
        if speaks && self.calls.is_waiting() {
            self.calls.went_on(&at.chain, message_id);
        }
        let blocks = message.content.0.unwrap_or_default();
        let results = blocks
            .iter()
            .filter(|block| block.kind.is("tool_result"))
            .count();
        for block in &blocks {
            if block.kind.is("tool_use") {
                self.call(at, message_id, block, out);
            } else if block.kind.is("tool_result") {
                // With several results on one line nobody can tell whose the structured one is.
                let value = if results == 1 { result } else { None };
                self.result(at, block, value, out);
            }
        }
    }

    fn call(&mut self, at: &At, message: &str, block: &Block<'_>, out: &mut Output) {
        let Some(tool) = block.name.as_str().and_then(Tool::named) else {
            return;
        };
        let call = Open {
            line: at.line,
            time: at.time,
            chain: at.chain.clone(),
            tool,
            input: block.input.map_or("null", RawValue::get).to_owned(),
            message: message.to_owned(),
            lost: false,
        };
        if !self.calls.open(block.id.as_str().unwrap_or(""), call) {
            out.report.count("duplicate_calls");
        }
    }

    fn result(&mut self, at: &At, block: &Block<'_>, value: Option<&RawValue>, out: &mut Output) {
        let id = block.tool_use_id.as_str().unwrap_or("");
        let call = match self.calls.close(id) {
            Closed::Call(call) => call,
            Closed::Repeated => {
                out.report.count("duplicate_results");
                return;
            }
            Closed::Other => return,
        };
        let outcome = Outcome {
            is_error: block.is_error.0,
            value: parsed(value),
            text: parsed(block.content).as_ref().and_then(text_of),
        };
        out.events
            .push_back(finished(id, &call, at.line, at.time, &outcome));
    }

    /// Whether no message with this uuid was read before.
    fn is_first(&mut self, uuid: Option<&str>) -> bool {
        uuid.is_none_or(|uuid| self.seen.insert(self.hasher.hash_one(uuid)))
    }

    /// Whose line it is (R9).
    fn chain(&mut self, record: &Record<'_>) -> Chain {
        if record.is_sidechain.0 {
            if let Some(id) = record.agent_id.filled() {
                return Chain::Agent(id.into());
            }
            let uuid = record.uuid.filled();
            let parent = record.parent_uuid.as_str().unwrap_or("");
            let root = match self.roots.get(&self.hasher.hash_one(parent)) {
                Some(root) => Arc::clone(root),
                None => uuid.unwrap_or("?").into(),
            };
            if let Some(uuid) = uuid {
                self.roots
                    .insert(self.hasher.hash_one(uuid), Arc::clone(&root));
            }
            return Chain::Sidechain(root);
        }
        match record.parent_tool_use_id.filled() {
            Some(id) => Chain::Agent(id.into()),
            None => Chain::Main,
        }
    }
}

/// Where a record stands.
struct At {
    line: u64,
    time: Option<jiff::Timestamp>,
    chain: Chain,
}

impl At {
    /// An event that comes from no call.
    fn event(&self, what: What) -> Event {
        Event {
            place: Place {
                source: 0,
                line: self.line,
            },
            time: self.time,
            chain: self.chain.clone(),
            call: None,
            what,
        }
    }
}

fn parsed(raw: Option<&RawValue>) -> Option<Tree<'_>> {
    raw.and_then(|raw| Tree::read(raw.get()))
}
