//! The formats, how each is recognised, and what a reader of one has to do.

use std::collections::VecDeque;
use std::fmt;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use crate::event::Event;
use crate::json::{Flag, Maybe, Text, object, parse};
use crate::report::Report;
use crate::{claude, codex, codex_exec, entire, pod};

/// Whose log it is. Found by what stands in it, never by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// A segment of a Pod session.
    PodSession,
    /// A transcript under `~/.claude/projects`.
    ClaudeTranscript,
    /// The output of `claude -p --output-format stream-json`, and of Pod's likewise.
    ClaudeStreamJson,
    /// The compact form of sessions of several agents that the tool Entire keeps.
    EntireV1,
    /// A rollout under `~/.codex/sessions`.
    CodexRollout,
    /// The output of `codex exec --json`.
    CodexExec,
    /// An export of an opencode session.
    OpencodeExport,
    /// A chat of Gemini CLI.
    GeminiChat,
}

impl Format {
    /// The name in the JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Self::PodSession => "pod-session",
            Self::ClaudeTranscript => "claude-transcript",
            Self::ClaudeStreamJson => "claude-stream-json",
            Self::EntireV1 => "entire-v1",
            Self::CodexRollout => "codex-rollout",
            Self::CodexExec => "codex-exec",
            Self::OpencodeExport => "opencode-export",
            Self::GeminiChat => "gemini-chat",
        }
    }

    /// A reader of this format's lines.
    pub(crate) fn decoder(self) -> Box<dyn Decode> {
        match self {
            Self::PodSession => Box::<pod::Decoder>::default(),
            Self::EntireV1 => Box::<entire::Decoder>::default(),
            Self::CodexRollout => Box::<codex::Decoder>::default(),
            Self::CodexExec => Box::<codex_exec::Decoder>::default(),
            Self::ClaudeTranscript
            | Self::ClaudeStreamJson
            | Self::OpencodeExport
            | Self::GeminiChat => Box::<claude::Decoder>::default(),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Reads the records of one format.
pub(crate) trait Decode: Send {
    /// What a line must hold to matter, as things stand.
    fn wanted(&self) -> &'static Needles;

    /// What a line must hold to matter while a call is open: all that [`Decode::wanted`] ever asks for.
    fn wanted_at_most(&self) -> &'static Needles;

    /// Takes in one record, a JSON object. An error means that it is not JSON, or not such JSON as can
    /// be read without mending.
    fn record(&mut self, line: u64, json: &[u8], out: &mut Output)
    -> Result<(), serde_json::Error>;

    /// The log ends here. It may go on later.
    fn end(&mut self, out: &mut Output);
}

/// Where a decoder puts what it finds.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) events: VecDeque<Event>,
    pub(crate) report: Report,
}

/// The most bytes that a needle may have.
pub(crate) const LONGEST_NEEDLE: usize = 32;

/// Byte strings of which a line has at least one if it matters.
///
/// The searcher looks at 32 bytes at a time for the first bytes of all of them at once. The crate's
/// automaton would choose to look for single bytes instead, of which `"` is everywhere.
#[derive(Debug)]
pub(crate) struct Needles(Option<Searcher>);

impl Needles {
    pub(crate) fn new<'a>(needles: impl IntoIterator<Item = &'a str>) -> Self {
        let needles = needles.into_iter().inspect(|needle| {
            debug_assert!(needle.len() <= LONGEST_NEEDLE, "{needle}");
        });
        // Where the machine has no such instructions there is none, and every line is read.
        Self(Searcher::new(needles))
    }

    /// Where the first of them begins; the very beginning if every line matters.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        match &self.0 {
            Some(searcher) => searcher.find(bytes).map(|found| found.start()),
            None => (!bytes.is_empty()).then_some(0),
        }
    }

    /// Where they begin, one behind the other; nowhere if nothing [can be searched](Self::can_search) for.
    pub(crate) fn find_all(&self, bytes: &[u8]) -> impl Iterator<Item = usize> {
        let found = self.0.iter().flat_map(|searcher| searcher.find_iter(bytes));
        found.map(|found| found.start())
    }

    /// Whether there is anything to be searched for.
    pub(crate) fn can_search(&self) -> bool {
        self.0.is_some()
    }
}

/// Every line matters.
pub(crate) static ALL_LINES: LazyLock<Needles> = LazyLock::new(|| Needles(None));

/// The names of the tools, as they stand in a record. In text inside a record the quotes are escaped.
pub(crate) const TOOL_NAMES: [&str; 8] = [
    "\"TaskCreate\"",
    "\"TaskUpdate\"",
    "\"TaskList\"",
    "\"TaskGet\"",
    "\"TodoWrite\"",
    "\"todowrite\"",
    "\"write_todos\"",
    "\"update_plan\"",
];

/// The fields by which records are told apart.
#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Head<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    v: Text<'a>,
    agent: Present,
    session_id: Text<'a>,
    #[serde(rename = "session_id")]
    stream_session: Text<'a>,
    parent_uuid: Present,
    is_sidechain: Sidechain,
    agent_id: Text<'a>,
    cwd: Text<'a>,
    timestamp: Text<'a>,
    ts: Text<'a>,
    created: Text<'a>,
    session: Text<'a>,
    segment: Text<'a>,
    directory: Text<'a>,
    #[serde(rename = "thread_id")]
    exec_thread: Text<'a>,
    payload: Maybe<Payload<'a>>,
}

impl Default for Head<'_> {
    fn default() -> Self {
        Self {
            kind: Text::default(),
            v: Text::default(),
            agent: Present(false),
            session_id: Text::default(),
            stream_session: Text::default(),
            parent_uuid: Present(false),
            is_sidechain: Sidechain(None),
            agent_id: Text::default(),
            cwd: Text::default(),
            timestamp: Text::default(),
            ts: Text::default(),
            created: Text::default(),
            session: Text::default(),
            segment: Text::default(),
            directory: Text::default(),
            exec_thread: Text::default(),
            payload: Maybe::default(),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    cwd: Text<'a>,
}

object!(Payload);

/// Whether a field is there, whatever its value is.
struct Present(bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self(true))
    }
}

/// Whether a message is a sub-agent's, if the field is there.
struct Sidechain(Option<bool>);

impl<'de> Deserialize<'de> for Sidechain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Flag::deserialize(deserializer).map(|flag| Self(Some(flag.0)))
    }
}

/// What a record tells about its log, if it is one by which a format is recognised. What it says of
/// session, directory and time goes into the report in any case.
pub(crate) fn recognise(
    json: &[u8],
    report: &mut Report,
) -> Result<Option<Format>, serde_json::Error> {
    let head: Head<'_> = parse(json)?;
    let format = format_of(&head);
    let payload = head.payload.0.unwrap_or_default();
    report.session(
        head.session_id
            .filled()
            .or(head.stream_session.filled())
            .or(head.session.filled())
            .or(head.exec_thread.filled()),
    );
    if head.kind.is("session_meta") {
        report.session(payload.id.filled());
    }
    if format == Some(Format::ClaudeTranscript) && head.is_sidechain.0 == Some(true) {
        report.sub_agent = head.agent_id.filled().map(str::to_owned);
    }
    let directory = [&head.cwd, &head.directory, &payload.cwd];
    if report.directory.is_none() {
        report.directory = directory
            .iter()
            .find_map(|text| text.filled())
            .map(str::to_owned);
    }
    report.time(
        time(&head.timestamp)
            .or(time(&head.ts))
            .or(time(&head.created)),
    );
    Ok(format)
}

fn format_of(head: &Head<'_>) -> Option<Format> {
    let kind = head.kind.as_str().unwrap_or("");
    if kind == "session" && head.session.filled().is_some() && head.segment.filled().is_some() {
        return Some(Format::PodSession);
    }
    if matches!(
        kind,
        "thread.started" | "turn.started" | "item.started" | "item.updated" | "item.completed"
    ) {
        return Some(Format::CodexExec);
    }
    if head.v.is("1") && head.agent.0 {
        return Some(Format::EntireV1);
    }
    if matches!(
        kind,
        "session_meta" | "response_item" | "event_msg" | "turn_context"
    ) {
        return Some(Format::CodexRollout);
    }
    if head.session_id.0.is_some() || head.parent_uuid.0 || head.is_sidechain.0.is_some() {
        return Some(Format::ClaudeTranscript);
    }
    let streams = matches!(
        kind,
        "system" | "assistant" | "user" | "result" | "stream_event"
    );
    (streams && head.stream_session.0.is_some()).then_some(Format::ClaudeStreamJson)
}

/// A time as logs write it, RFC 3339.
pub(crate) fn time(text: &Text<'_>) -> Option<Timestamp> {
    text.as_str()?.parse().ok()
}
