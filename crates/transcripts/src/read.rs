//! From bytes to events.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use crate::ahead::{Ahead, Found};
use crate::document::{self, Verdict};
use crate::event::Event;
use crate::format::{ALL_LINES, Decode, Format, Output, recognise};
use crate::lines::{Lines, Step};
use crate::report::{FaultKind, Report};
use crate::salvage;
use crate::section::Wanted;

/// How to read a log.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The log may grow: at the end of the input the iterator gives `None`, and goes on when it is
    /// asked again and there is more. [`Reader::finish`] says that there will be no more.
    pub follow: bool,
    /// What [`Place::source`](crate::Place) says in the events, to tell several logs apart.
    pub source: usize,
}

/// Reads a log of any agent: its events in order, in memory that does not grow with the log.
///
/// The format is found by what stands in it. Reading stops at an error of the input; faults of the log
/// itself are no errors but noted in the [`Report`].
///
/// ```
/// let log = r#"{"type":"item.updated","item":{"type":"todo_list","items":[{"text":"Test","completed":true}]}}"#;
/// let mut reader = transcripts::read(log.as_bytes(), transcripts::Options::default());
/// let mut list = transcripts::TaskList::new();
/// for event in &mut reader {
///     list.apply(&event?);
/// }
/// assert_eq!(list.todos(&transcripts::Chain::Main)[0].subject.as_deref(), Some("Test"));
/// assert_eq!(reader.report().format, Some(transcripts::Format::CodexExec));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read<R: Read>(input: R, options: Options) -> Reader<R> {
    Reader {
        state: State::Start(Lines::new(input), Asked::default()),
        decoder: Format::ClaudeTranscript.decoder(),
        out: Output::default(),
        options,
        records: 0,
        ahead: None,
    }
}

/// A log on disk. A large one is read by several threads.
///
/// # Errors
///
/// If the file cannot be opened; the error does not name it.
pub fn open(path: &Path, options: Options) -> io::Result<Reader<File>> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    let ahead = (about.is_file() && about.len() > LARGE && !options.follow)
        .then(|| file.try_clone())
        .transpose()?;
    let mut reader = read(file, options);
    reader.ahead = ahead;
    Ok(reader)
}

/// From this length on it pays to start threads.
const LARGE: u64 = 16 * 1024 * 1024;

/// The events of a log. Made by [`read`].
pub struct Reader<R> {
    state: State<R>,
    decoder: Box<dyn Decode>,
    out: Output,
    options: Options,
    /// Records that were looked at before the format was known.
    records: u32,
    /// The same file once more, to be read by other threads once the format is known.
    ahead: Option<File>,
}

enum State<R> {
    Start(Lines<R>, Asked),
    Lines(Lines<R>),
    Ahead(Box<Ahead>),
    Done,
}

/// How much of the beginning was seen when it was asked whether the log is one document.
///
/// It is asked again when there is twice as much, when the first line is whole, and when no more comes:
/// so it costs no more than the beginning is long, in whatever pieces that comes in, and nobody waits
/// for a line that is there.
#[derive(Debug, Default)]
struct Asked {
    length: usize,
    has_line: bool,
    /// How many bytes were looked at, each as often as it was.
    #[cfg(test)]
    work: usize,
}

impl Asked {
    fn is_due<R: Read>(&self, lines: &Lines<R>) -> bool {
        let length = lines.ahead().len();
        length >= HEAD || length >= 2 * self.length || lines.has_line() != self.has_line
    }

    fn verdict<R: Read>(&mut self, lines: &Lines<R>) -> Verdict {
        self.length = lines.ahead().len();
        self.has_line = lines.has_line();
        #[cfg(test)]
        {
            self.work += self.length;
        }
        document::verdict(lines.ahead())
    }
}

/// What the beginning of a log tells of it. Its format is `None` if that is not a log of any known agent.
///
/// Reads as little as it takes, at most about a megabyte.
pub fn detect<R: Read>(input: R) -> io::Result<Report> {
    let mut reader = read(input.take(HEAD as u64), Options::default());
    while reader.out.report.format.is_none() && reader.records < UNKNOWN_RECORDS {
        if !reader.advance()? {
            break;
        }
    }
    Ok(reader.into_report())
}

/// How much of a log is looked at to see whether it is one JSON document.
const HEAD: usize = 1024 * 1024;

/// After so many records without a sign of the format it is taken as it is (`detect` of the contract).
const UNKNOWN_RECORDS: u32 = 400;

impl<R: Read> Iterator for Reader<R> {
    type Item = io::Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(mut event) = self.out.events.pop_front() {
                event.place.source = self.options.source;
                return Some(Ok(event));
            }
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.state = State::Done;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl<R: Read> Reader<R> {
    /// What is known of the log so far.
    pub fn report(&self) -> &Report {
        &self.out.report
    }

    /// The report, when all was read.
    pub fn into_report(self) -> Report {
        self.out.report
    }

    /// There will be no more: what is left of a log that was followed is read as its end.
    pub fn finish(&mut self) {
        self.options.follow = false;
    }

    /// The input, while it is read line by line.
    pub fn input(&mut self) -> Option<&mut R> {
        match &mut self.state {
            State::Start(lines, _) | State::Lines(lines) => Some(lines.input()),
            State::Ahead(_) | State::Done => None,
        }
    }

    /// Reads on a little. `false` if there is no more, for now.
    fn advance(&mut self) -> io::Result<bool> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Start(lines, asked) => self.begin(lines, asked),
            State::Lines(lines) => self.line(lines),
            State::Ahead(ahead) => self.line_ahead(ahead),
            State::Done => Ok(false),
        }
    }

    /// Sees whether the log is one document or one of lines.
    fn begin(&mut self, mut lines: Lines<R>, mut asked: Asked) -> io::Result<bool> {
        if !asked.is_due(&lines) && lines.fill()? {
            self.state = State::Start(lines, asked);
            return Ok(true);
        }
        let verdict = asked.verdict(&lines);
        let unsure = matches!(verdict, Verdict::Unsure | Verdict::IfAlone);
        if unsure
            && lines.ahead().len() < HEAD
            && (lines.fill()? || self.options.follow && lines.ahead().is_empty())
        {
            let more = !lines.ahead().is_empty();
            self.state = State::Start(lines, asked);
            return Ok(more);
        }
        if matches!(verdict, Verdict::Yes | Verdict::IfAlone) {
            let (head, rest) = lines.into_rest();
            let mark = document::BYTE_ORDER_MARK;
            let skipped = if head.starts_with(mark) {
                mark.len()
            } else {
                0
            } as u64;
            let mut head = Cursor::new(head);
            head.set_position(skipped);
            let mut input = Counted {
                input: head.chain(rest),
                bytes: skipped,
            };
            document::read(&mut input, &mut self.out);
            // What stands behind damage is part of the log all the same, however it came in.
            io::copy(&mut input, &mut io::sink())?;
            self.out.report.bytes = input.bytes;
            return Ok(true);
        }
        self.state = State::Lines(lines);
        Ok(true)
    }

    fn line_ahead(&mut self, mut ahead: Box<Ahead>) -> io::Result<bool> {
        match ahead.next(self.decoder.wanted())? {
            Found::Line {
                number,
                bytes,
                complete,
            } => take(
                bytes,
                (number, complete),
                None,
                &mut self.decoder,
                &mut self.out,
            ),
            Found::TooLong(number) => self.out.report.fault(FaultKind::TooLong, number, ""),
            Found::End => {
                (self.out.report.lines, self.out.report.bytes) = ahead.position();
                self.out.report.ended(last_time(&ahead.tail()));
                self.decoder.end(&mut self.out);
                return Ok(true);
            }
        }
        (self.out.report.lines, self.out.report.bytes) = ahead.position();
        self.state = State::Ahead(ahead);
        Ok(true)
    }

    fn line(&mut self, mut lines: Lines<R>) -> io::Result<bool> {
        let sniffing = self.out.report.format.is_none() && self.records < UNKNOWN_RECORDS;
        let wanted = if sniffing {
            &*ALL_LINES
        } else {
            self.decoder.wanted()
        };
        if !sniffing && let Some(file) = self.ahead.take() {
            let format = self.out.report.format;
            if let Some(ahead) = format.and_then(|format| ahead(file, format, &lines)) {
                self.state = State::Ahead(Box::new(ahead));
                return Ok(true);
            }
        }
        let mut step = lines.next(wanted)?;
        if matches!(step, Step::End) && !self.options.follow {
            step = lines.last().unwrap_or(Step::End);
        }
        let before = self.out.report.bytes;
        (self.out.report.lines, self.out.report.bytes) = lines.position();
        match step {
            Step::Line(line) => {
                let bytes = lines.bytes(line.range.clone());
                take(
                    bytes,
                    (line.number, line.complete),
                    sniffing.then_some(&mut self.records),
                    &mut self.decoder,
                    &mut self.out,
                );
            }
            Step::TooLong(number) => self.out.report.fault(FaultKind::TooLong, number, ""),
            Step::End if self.options.follow => {
                // The time of a record that matters is known; of others that came the last one is asked.
                if self.out.report.bytes != before {
                    self.out.report.ended(last_time(lines.tail()));
                }
                self.state = State::Lines(lines);
                return Ok(false);
            }
            Step::End => {
                self.out.report.ended(last_time(lines.tail()));
                self.decoder.end(&mut self.out);
                return Ok(true);
            }
        }
        self.state = State::Lines(lines);
        Ok(true)
    }
}

/// Has the rest of the file searched by several threads.
fn ahead<R: Read>(file: File, format: Format, lines: &Lines<R>) -> Option<Ahead> {
    let decoder = format.decoder();
    let wanted = Wanted {
        idle: decoder.wanted(),
        open: decoder.wanted_at_most(),
    };
    let (line, offset) = lines.taken();
    wanted
        .idle
        .can_search()
        .then(|| Ahead::new(file, line, offset, wanted))
}

/// Takes in a line that matters or that is no record: its bytes, its number, and whether it has an end.
fn take(
    bytes: &[u8],
    (number, complete): (u64, bool),
    mut sniffed: Option<&mut u32>,
    decoder: &mut Box<dyn Decode>,
    out: &mut Output,
) {
    let text = bytes.trim_ascii();
    let text = text.strip_prefix(document::BYTE_ORDER_MARK).unwrap_or(text);
    if text.is_empty() {
        return;
    }
    let mut record = |json: &[u8], out: &mut Output| {
        if let Some(records) = sniffed.as_deref_mut()
            && out.report.format.is_none()
        {
            // One that cannot be read as it stands comes again, mended.
            out.report.format = recognise(json, &mut out.report)?;
            *records += 1;
            if let Some(format) = out.report.format {
                *decoder = adapted(format, std::mem::replace(decoder, format.decoder()));
            }
        }
        decoder.record(number, json, out)
    };
    if text.first() == Some(&b'{') && !salvage::needs_mending(text) && record(text, out).is_ok() {
        return;
    }
    let salvaged = salvage::records(text);
    for kind in salvaged.faults {
        let kind = match kind {
            FaultKind::Malformed if !complete => FaultKind::Cut,
            other => other,
        };
        out.report.fault(kind, number, "");
    }
    for json in salvaged.records {
        let read = record(json.as_bytes(), out).or_else(|error| {
            let Some(normal) = salvage::normal(&json) else {
                return Err(error);
            };
            record(normal.as_bytes(), out)
        });
        if let Err(error) = read {
            out.report
                .fault(FaultKind::Malformed, number, error.to_string());
        }
    }
}

/// The decoder of the format, which is the one that read so far if that is of the same family: it
/// remembers the calls that it met.
fn adapted(format: Format, so_far: Box<dyn Decode>) -> Box<dyn Decode> {
    match format {
        Format::ClaudeTranscript | Format::ClaudeStreamJson => so_far,
        other => other.decoder(),
    }
}

/// The last time that is told in the bytes at the end of a log.
fn last_time(tail: &[u8]) -> Option<jiff::Timestamp> {
    [&b"\"timestamp\":"[..], b"\"ts\":", b"\"at\":"]
        .iter()
        .find_map(|name| {
            let at = memchr::memmem::rfind(tail, name)?;
            let value = tail.get(at + name.len()..)?.trim_ascii_start();
            let text = value.strip_prefix(b"\"")?.get(..40.min(value.len() - 1))?;
            let text = text.split(|&byte| byte == b'"').next()?;
            std::str::from_utf8(text).ok()?.parse().ok()
        })
}

/// Counts the bytes that are read.
struct Counted<R> {
    input: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "odd_tests.rs"]
mod odd_tests;
