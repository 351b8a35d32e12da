//! Searching one file with a regular expression.

use std::fs::File;
use std::io::{self, Read};

use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};

use super::blocking::Stop;
use super::kept::Block;
use crate::{ToolError, bounded};

/// The most bytes of one line that are shown.
const LINE_LIMIT: usize = 500;

/// How much of a line is shown before the match, if not all of it can be, in bytes.
const LEAD: usize = 100;

/// The most memory that one file may take, in bytes: its longest line, or in a search across lines
/// all of it.
const MEMORY_LIMIT: usize = 32 * 1024 * 1024;

/// The most memory that a compiled pattern may take, in bytes.
const PATTERN_LIMIT: usize = 4 * 1024 * 1024;

/// What is shown of what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The files that match.
    Files,
    /// The lines that match.
    Content,
    /// How many lines match in each file.
    Count,
}

/// How to search and what to show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) mode: Mode,
    pub(super) ignores_case: bool,
    pub(super) has_numbers: bool,
    /// How many lines are shown before each that matches.
    pub(super) before: usize,
    /// How many lines are shown after each that matches.
    pub(super) after: usize,
    pub(super) is_multiline: bool,
    /// The most lines that are shown.
    pub(super) line_limit: usize,
}

/// A search, ready for many files on many threads.
pub(super) struct Search<'a> {
    matcher: RegexMatcher,
    searcher: SearcherBuilder,
    settings: Settings,
    stop: &'a Stop,
}

/// What was found in one file.
pub(super) struct Found {
    pub(super) block: Block,
    /// Whether the search ended where the file turned out to be no text.
    pub(super) is_binary: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        pattern: &str,
        settings: Settings,
        stop: &'a Stop,
    ) -> Result<Self, ToolError> {
        let mut matcher = RegexMatcherBuilder::new();
        matcher.case_insensitive(settings.ignores_case);
        matcher.size_limit(PATTERN_LIMIT);
        // `^` and `$` are about lines, and `$` also matches before a carriage return.
        matcher.multi_line(true).crlf(true);
        if settings.is_multiline {
            matcher.dot_matches_new_line(true).line_terminator(None);
        }
        let matcher = matcher.build(pattern).map_err(|error| refused(&error))?;
        let mut searcher = SearcherBuilder::new();
        searcher
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MEMORY_LIMIT))
            .multi_line(settings.is_multiline);
        if settings.mode == Mode::Content {
            searcher
                .before_context(settings.before)
                .after_context(settings.after);
        }
        Ok(Self {
            matcher,
            searcher,
            settings,
            stop,
        })
    }

    /// Searches the file, which is shown under this name.
    pub(super) fn file(&self, file: File, shown: &str) -> Result<Found, ToolError> {
        let mut lines = Lines {
            search: self,
            block: Block::under(shown),
            count: 0,
            is_binary: false,
        };
        let reader = StoppedReader {
            file,
            stop: self.stop,
        };
        let mut searcher = self.searcher.build();
        let result = searcher.search_reader(&self.matcher, reader, &mut lines);
        self.stop.check()?;
        result.map_err(|error| {
            let shown = bounded::tail(shown, 100);
            ToolError::new(format!("cannot search {shown}: {error}"))
        })?;
        let block = match self.settings.mode {
            Mode::Content => lines.block,
            Mode::Files if lines.count > 0 => Block::of(shown.to_owned(), 1),
            Mode::Count if lines.count > 0 => {
                Block::of(format!("{shown}:{}", lines.count), lines.count)
            }
            Mode::Files | Mode::Count => Block::default(),
        };
        Ok(Found {
            block,
            is_binary: lines.is_binary,
        })
    }
}

/// What the libraries say about a pattern, in one line, and what to do.
fn refused(error: &grep_regex::Error) -> ToolError {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    let reason = bounded::head(last.trim_start_matches("error: "), 120);
    ToolError::new(if reason.contains(r#""\n""#) {
        String::from(r"a pattern with \n needs multiline to be true")
    } else {
        format!(
            r"cannot understand the pattern: {reason}; put \ before a sign that stands for itself"
        )
    })
}

/// Takes the lines that the searcher finds.
struct Lines<'a> {
    search: &'a Search<'a>,
    block: Block,
    count: u64,
    is_binary: bool,
}

impl Lines<'_> {
    fn push(&mut self, line: &[u8], number: Option<u64>, is_match: bool) {
        let Search {
            matcher, settings, ..
        } = self.search;
        self.block
            .push(u64::from(is_match), settings.line_limit, || {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let found = matcher.find(line).ok().flatten();
                let text = excerpt(line, found.map_or(0, |found| found.start()));
                match number.filter(|_| settings.has_numbers) {
                    Some(number) if is_match => format!("{number}:{text}"),
                    Some(number) => format!("{number}-{text}"),
                    None => text,
                }
            });
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let mut number = found.line_number();
        for line in found.lines() {
            self.count += 1;
            if self.search.settings.mode == Mode::Content {
                self.push(line, number, true);
            }
            number = number.map(|it| it + 1);
        }
        Ok(self.search.settings.mode != Mode::Files && !self.search.stop.is_set())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        self.push(line.bytes(), line.line_number(), false);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        let limit = self.search.settings.line_limit;
        self.block.push(0, limit, || String::from("--"));
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// The line, or the part of it around a place.
fn excerpt(line: &[u8], place: usize) -> String {
    if line.len() <= LINE_LIMIT {
        return String::from_utf8_lossy(line).into_owned();
    }
    // Cut the bytes first: the line may be long. A character that is cut at an end is left out.
    let start = place.saturating_sub(LEAD).min(line.len() - LINE_LIMIT);
    let part = line.get(start..start + LINE_LIMIT).unwrap_or_default();
    let text = String::from_utf8_lossy(part);
    let text = text.trim_matches('\u{FFFD}');
    let mark = |bytes: usize| match bytes {
        0 => String::new(),
        bytes => format!("[... {bytes} bytes ...]"),
    };
    let before = mark(start);
    let after = mark(line.len() - start - LINE_LIMIT);
    format!("{before}{text}{after}")
}

/// A file that ends with an error when nobody waits any more.
struct StoppedReader<'a> {
    file: File,
    stop: &'a Stop,
}

impl Read for StoppedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_set() {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_line_is_shown_around_the_match() {
        let line = format!("{}needle{}", "é".repeat(1000), "x".repeat(1000));
        let text = excerpt(line.as_bytes(), 2000);
        let expected = format!(
            "[... 1900 bytes ...]{}needle{}[... 606 bytes ...]",
            "é".repeat(50),
            "x".repeat(394)
        );
        assert_eq!(text, expected);
    }

    proptest! {
        #[test]
        fn an_excerpt_is_bounded(line: Vec<u8>, more in 0usize..2000, place in 0usize..4000) {
            let line = [line, vec![b'x'; more]].concat();
            let text = excerpt(&line, place);
            prop_assert!(text.len() < 3 * LINE_LIMIT + 60);
        }
    }
}
