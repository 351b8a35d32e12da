//! What a log could not tell, and what it is.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::format::Format;

/// What is known of a log besides its lists, as far as it was read.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Which agent's format it is; `None` if that could not be told.
    pub format: Option<Format>,
    /// The ids of the sessions that wrote it, as they came up.
    pub sessions: Vec<String>,
    /// The directory that the session worked in.
    pub directory: Option<String>,
    /// It is the file of this sub-agent only; the session has one of its own.
    pub sub_agent: Option<String>,
    /// The time of its first record that says one.
    pub started: Option<Timestamp>,
    /// The time of the last one.
    pub ended: Option<Timestamp>,
    /// Lines, empty ones too. For a log that is one JSON document 0.
    pub lines: u64,
    /// Bytes.
    pub bytes: u64,
    /// How often what was met that changes no list, such as `duplicate_calls`.
    pub counts: BTreeMap<&'static str, u64>,
    faults: Vec<Fault>,
    fault_counts: BTreeMap<FaultKind, u64>,
}

/// Something in a log that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The line, from 1; 0 if it cannot be told.
    pub line: u64,
    /// More about it, in words; may be empty.
    pub detail: String,
}

/// What can be wrong with a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// Two or more whole records on one line. All were read.
    Glued,
    /// A line that is not JSON. What was whole in it was read.
    Malformed,
    /// The last line is cut off.
    Cut,
    /// A line is JSON and not an object.
    NotARecord,
    /// Bytes that are no text stood in a record, each shown as U+FFFD.
    InvalidText,
    /// Half of a surrogate pair stood in a record, shown as U+FFFD.
    LoneSurrogate,
    /// A line was longer than can be held and was left out.
    TooLong,
    /// A call of Pod's own log could not be taken over.
    Refused,
    /// The log got shorter while it was followed, or another took its place.
    Shrunk,
}

impl FaultKind {
    /// Whether something that the list should have may be missing because of it.
    pub fn is_gap(self) -> bool {
        match self {
            Self::Malformed | Self::Cut | Self::NotARecord | Self::TooLong | Self::Refused => true,
            Self::Glued | Self::InvalidText | Self::LoneSurrogate | Self::Shrunk => false,
        }
    }

    /// The name in the JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Glued => "glued",
            Self::Malformed => "malformed",
            Self::Cut => "cut",
            Self::NotARecord => "not_a_record",
            Self::InvalidText => "invalid_text",
            Self::LoneSurrogate => "lone_surrogate",
            Self::TooLong => "too_long",
            Self::Refused => "refused",
            Self::Shrunk => "shrunk",
        }
    }

    /// What is wrong, of so many of them, in words.
    pub fn describe(self, times: u64) -> String {
        let (one, more) = match self {
            Self::Glued => (
                "line holds several records; all were read",
                "lines hold several records; all were read",
            ),
            Self::Malformed => (
                "line is damaged; only what is whole in it was read",
                "lines are damaged; only what is whole in them was read",
            ),
            Self::Cut => return String::from("the end is cut off"),
            Self::NotARecord => ("line is no record", "lines are no records"),
            Self::InvalidText => (
                "record has bytes that are no text, shown as \u{fffd}",
                "records have bytes that are no text, shown as \u{fffd}",
            ),
            Self::LoneSurrogate => (
                "record has half a character (a lone surrogate), shown as \u{fffd}",
                "records have half a character (a lone surrogate), shown as \u{fffd}",
            ),
            Self::TooLong => (
                "line is too long and was left out",
                "lines are too long and were left out",
            ),
            Self::Refused => ("change could not be made", "changes could not be made"),
            Self::Shrunk => (
                "time the log got shorter or was replaced, and was read anew",
                "times the log got shorter or was replaced, and was read anew",
            ),
        };
        format!("{times} {}", if times == 1 { one } else { more })
    }
}

/// The most faults of which the place is kept. All are counted.
const KEPT: usize = 1_000;

impl Report {
    /// The first faults, in order.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// How many faults of each kind there are.
    pub fn fault_counts(&self) -> impl Iterator<Item = (FaultKind, u64)> {
        self.fault_counts
            .iter()
            .map(|(&kind, &times)| (kind, times))
    }

    /// Lines that are not JSON: `malformed_lines` of the contract.
    pub fn malformed(&self) -> u64 {
        [FaultKind::Glued, FaultKind::Malformed, FaultKind::Cut]
            .iter()
            .filter_map(|kind| self.fault_counts.get(kind))
            .sum()
    }

    /// Whether something that the list should have may be missing.
    pub fn has_gaps(&self) -> bool {
        self.fault_counts.keys().any(|kind| kind.is_gap())
    }

    /// Notes a fault.
    pub fn fault(&mut self, kind: FaultKind, line: u64, detail: impl Into<String>) {
        *self.fault_counts.entry(kind).or_default() += 1;
        if self.faults.len() < KEPT {
            self.faults.push(Fault {
                kind,
                line,
                detail: detail.into(),
            });
        }
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(crate) fn session(&mut self, id: Option<&str>) {
        if let Some(id) = id
            && !id.is_empty()
            && self.sessions.len() < KEPT
            && self.sessions.last().is_none_or(|last| last != id)
            && !self.sessions.iter().any(|known| known == id)
        {
            self.sessions.push(id.to_owned());
        }
    }

    /// Notes the time of a record at the end, whatever was looked at before.
    pub(crate) fn ended(&mut self, time: Option<Timestamp>) {
        self.ended = self.ended.max(time);
    }

    pub(crate) fn time(&mut self, time: Option<Timestamp>) {
        if time.is_some() {
            self.started = self.started.or(time);
            self.ended = self.ended.max(time);
        }
    }
}
