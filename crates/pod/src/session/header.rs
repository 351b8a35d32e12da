//! The first line of a segment.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use uuid::Uuid;

use super::block::told;

/// The version of the format of segments that this program writes.
pub const VERSION: u32 = 1;

/// The most bytes of a header, so that a file that is no segment is not read whole to find that out.
pub(super) const HEADER_LIMIT: usize = 1024 * 1024;

/// What a segment is: the first line of its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Always `session`.
    #[serde(rename = "type")]
    pub kind: SessionKind,
    /// The version of the format.
    pub version: u32,
    /// The session that the segment belongs to.
    pub session: Uuid,
    /// The number of the segment in its session, from 1.
    pub segment: u32,
    /// When it was begun, as RFC 3339.
    pub created: String,
    /// The working directory of the session. In the file, bytes that are no UTF-8 are replaced.
    #[serde(serialize_with = "lossy")]
    pub directory: PathBuf,
    /// Why it was begun.
    pub reason: Reason,
    /// Where its first items come from, if it was begun from another segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The instructions of the project, word for word as the system prompt of the session has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Details of the event that began it, such as the sizes before and after a compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The type of a header line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// A segment of a session.
    Session,
}

/// Why a segment was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// A new session.
    Start,
    /// The history before it was compacted.
    Compact,
    /// It is a copy of another session up to some entry.
    Fork,
    /// The session went back to an earlier entry.
    Rewind,
    /// The segment before it was damaged; what could be read of it was copied.
    Salvage,
    /// A reason that a newer version knows.
    #[serde(other)]
    Other,
}

/// The segment and entry that a segment was copied from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The session.
    pub session: Uuid,
    /// The segment.
    pub segment: u32,
    /// The last entry that was taken over; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Uuid>,
}

/// Why a line is no header.
pub(super) enum NoHeader {
    /// Its format is newer than this version.
    Newer(u64),
    /// It is no header of any version, for this reason.
    Bad(String),
}

/// The header that a line, with its line end, stands for.
pub(super) fn parse(line: &[u8]) -> Result<Header, NoHeader> {
    /// What every version has.
    #[derive(Deserialize)]
    struct Version {
        #[serde(rename = "type")]
        _kind: SessionKind,
        version: u64,
    }

    if line.is_empty() {
        return Err(NoHeader::Bad(String::from("the file is empty")));
    }
    if !line.ends_with(b"\n") {
        let reason = if line.len() >= HEADER_LIMIT {
            "its first line is too long"
        } else {
            "its first line has no end"
        };
        return Err(NoHeader::Bad(String::from(reason)));
    }
    let bad = |error: serde_json::Error| NoHeader::Bad(told(&error));
    // First of all the version, since a newer header may have any other fields.
    let Version { version, .. } = serde_json::from_slice(line).map_err(bad)?;
    if version > u64::from(VERSION) {
        return Err(NoHeader::Newer(version));
    }
    serde_json::from_slice(line).map_err(bad)
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

impl Header {
    /// When the segment was begun; `None` if the line says nothing that is a time.
    pub fn created(&self) -> Option<Timestamp> {
        self.created.parse().ok()
    }
}
