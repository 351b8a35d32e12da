//! Reading logs: one, several as one list, or many at once.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use pod::session::segment::read_header;
use pod::session::{RealDisk, Reason};
use transcripts::{Change, Event, Format, Reader, Report, TaskList, What};

/// One list to be read: a log, or several that wrote to the same list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The files, the main one first. Empty for standard input.
    pub(crate) files: Vec<PathBuf>,
    /// The logs were named as parts of one list (`--merge`).
    pub(crate) merged: bool,
}

impl Source {
    pub(crate) fn stdin() -> Self {
        Self {
            files: Vec::new(),
            merged: false,
        }
    }

    pub(crate) fn file(path: PathBuf) -> Self {
        Self {
            files: vec![path],
            merged: false,
        }
    }

    /// How a person calls it.
    pub(crate) fn name(&self) -> String {
        match self.files.first() {
            None => String::from("standard input"),
            Some(path) if self.merged => {
                format!("{} and {} more", path.display(), self.files.len() - 1)
            }
            Some(path) => path.display().to_string(),
        }
    }
}

/// A list that was read.
pub(crate) struct Loaded {
    pub(crate) source: Source,
    pub(crate) list: TaskList,
    /// One for each file of the source.
    pub(crate) reports: Vec<Report>,
    /// What happened, in order, if that was asked for.
    pub(crate) steps: Vec<Step>,
}

/// An event and what it changed.
pub(crate) struct Step {
    pub(crate) event: Event,
    pub(crate) changes: Vec<Change>,
}

impl Loaded {
    /// The report of the main file.
    pub(crate) fn report(&self) -> Option<&Report> {
        self.reports.first()
    }

    /// The name of the format; of logs that were merged, one that says so.
    pub(crate) fn format(&self) -> String {
        let of = |report: &Report| report.format.map_or("unknown", Format::name);
        let first = self.report().map_or("unknown", of);
        if !self.source.merged {
            return first.to_owned();
        }
        // The two formats of Claude Code differ in names only.
        let family = |name: &'static str| match name {
            "claude-stream-json" => "claude-transcript",
            other => other,
        };
        let same = |report: &Report| family(of(report)) == family(first);
        if self.reports.iter().all(same) {
            format!("{}-merged", family(first))
        } else {
            String::from("merged")
        }
    }

    /// Whether something that the list should have may be missing.
    pub(crate) fn has_gaps(&self) -> bool {
        let lost = |event: &Event| matches!(event.what, What::Pending { lost: true, .. });
        self.reports.iter().any(Report::has_gaps)
            || self.list.stubs().next().is_some()
            || self.list.pending().iter().any(lost)
    }

    /// When it was written last.
    pub(crate) fn ended(&self) -> Option<jiff::Timestamp> {
        self.reports.iter().filter_map(|report| report.ended).max()
    }
}

/// Takes in events and keeps what the views need.
pub(crate) struct Folder {
    pub(crate) list: TaskList,
    pub(crate) steps: Vec<Step>,
    keep: bool,
}

impl Folder {
    pub(crate) fn new(keep: bool) -> Self {
        Self {
            list: TaskList::new(),
            steps: Vec::new(),
            keep,
        }
    }

    pub(crate) fn apply(&mut self, event: Event) {
        let changes = self.list.apply(&event);
        if self.keep {
            self.steps.push(Step { event, changes });
        }
    }
}

/// Reads a list.
pub(crate) fn load(source: Source, stdin: &mut dyn Read, keep: bool) -> io::Result<Loaded> {
    let mut folder = Folder::new(keep);
    let reports = match source.files.as_slice() {
        [] => vec![one(transcripts::read(stdin, options(0)), &mut folder)?],
        [file] => {
            if keep {
                // What happened before a compaction stands in the segments before.
                for earlier in segments_before(file) {
                    one(open(&earlier, 0)?, &mut folder)?;
                }
            }
            vec![one(open(file, 0)?, &mut folder)?]
        }
        files => {
            let mut events = Vec::new();
            let mut reports = Vec::new();
            for (index, file) in files.iter().enumerate() {
                let mut reader = open(file, index)?;
                for event in &mut reader {
                    events.push(event.map_err(|error| of_file(file, &error))?);
                }
                reports.push(reader.into_report());
            }
            for event in transcripts::merge(events) {
                folder.apply(event);
            }
            reports
        }
    };
    Ok(Loaded {
        source,
        list: folder.list,
        reports,
        steps: folder.steps,
    })
}

/// The segments of a Pod session that led to this one, the first one first: those that a compaction
/// ended. Behind a fork or a rewind all that counts was copied.
fn segments_before(path: &Path) -> Vec<PathBuf> {
    let mut before = Vec::new();
    let mut path = path.to_owned();
    while let Ok(header) = read_header(&RealDisk, &path)
        && header.reason == Reason::Compact
        && let Some(number) = header.segment.checked_sub(1).filter(|number| *number > 0)
    {
        path.set_file_name(format!("{number:04}.jsonl"));
        before.insert(0, path.clone());
    }
    before
}

fn one<R: Read>(mut reader: Reader<R>, folder: &mut Folder) -> io::Result<Report> {
    for event in &mut reader {
        folder.apply(event?);
    }
    Ok(reader.into_report())
}

fn open(path: &Path, source: usize) -> io::Result<Reader<File>> {
    transcripts::open(path, options(source)).map_err(|error| of_file(path, &error))
}

fn options(source: usize) -> transcripts::Options {
    transcripts::Options {
        follow: false,
        source,
    }
}

/// An error with the file that it is about.
pub(crate) fn of_file(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Reads many lists on all cores. The results stand in the order of the sources.
pub(crate) fn load_all(sources: &[Source], keep: bool) -> Vec<(Source, io::Result<Loaded>)> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(sources.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(sources.len()) {
            scope.spawn(|| {
                let mut mine = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(source) = sources.get(index) else {
                        break;
                    };
                    let loaded = load(source.clone(), &mut io::empty(), keep);
                    mine.push((index, source.clone(), loaded));
                }
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .append(&mut mine);
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _, _)| *index);
    done.into_iter()
        .map(|(_, source, loaded)| (source, loaded))
        .collect()
}
