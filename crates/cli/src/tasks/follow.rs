//! `--follow`: a log that grows. Only what is new is read.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::bail;
use transcripts::{FaultKind, Format, Reader, Report};

use super::environment::Environment;
use super::find::{Found, session_folder};
use super::live::Live;
use super::load::{Folder, Loaded, Source, of_file};
use super::{Options, Outcome, complain, faults, json, outcome, table, timeline};

/// Shows a list as its log grows, until the environment has no more patience.
pub(crate) fn run(
    found: &Found,
    options: &Options,
    environment: &mut Environment,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    for error in &found.errors {
        complain(error, err)?;
    }
    let [source] = found.sources.as_slice() else {
        bail!(
            "--follow shows one log, and {} are named",
            found.sources.len()
        );
    };
    let Some(path) = source.files.first() else {
        // A stream cannot shrink or be replaced, and it has an end.
        let stdin = std::mem::replace(&mut environment.stdin, Box::new(io::empty()));
        return stream(stdin, source, options, environment, out, err);
    };
    let mut follower = Follower::open(path)?;
    let mut view = View::new(options, environment);
    loop {
        view.read(&mut follower.reader, environment, out)?;
        if view.json && view.changed {
            view.print(&follower.loaded(&view.folder), out)?;
        }
        view.draw(environment, out)?;
        if !(environment.wait)() {
            break;
        }
        if follower.look_again(err)? {
            view.folder = Folder::new(true);
        }
    }
    follower.reader.finish();
    view.read(&mut follower.reader, environment, out)?;
    let loaded = follower.loaded(&view.folder);
    view.end(&loaded, options, environment, out, err)
}

/// The same for standard input, which has an end.
fn stream(
    stdin: Box<dyn Read + Send>,
    source: &Source,
    options: &Options,
    environment: &mut Environment,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let mut view = View::new(options, environment);
    let mut reader = transcripts::read(stdin, transcripts::Options::default());
    view.read(&mut reader, environment, out)?;
    let loaded = loaded(source.clone(), &view.folder, reader.into_report());
    view.end(&loaded, options, environment, out, err)
}

/// A log on disk that may grow, shrink, or be replaced.
struct Follower {
    path: PathBuf,
    reader: Reader<File>,
    /// The file as it was when it was opened or looked at last.
    seen: Metadata,
    shrunk: Vec<u64>,
}

impl Follower {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path).map_err(|error| of_file(path, &error))?;
        let seen = file.metadata()?;
        let options = transcripts::Options {
            follow: true,
            source: 0,
        };
        Ok(Self {
            path: path.to_owned(),
            reader: transcripts::read(file, options),
            seen,
            shrunk: Vec::new(),
        })
    }

    /// Sees whether it is still the same log, only longer. If not, it is opened anew.
    fn look_again(&mut self, err: &mut dyn Write) -> io::Result<bool> {
        let report = self.reader.report();
        if report.format == Some(Format::PodSession)
            && let Some(newer) = self.path.parent().and_then(session_folder)
            && let Some(path) = newer.files.first().filter(|path| **path != self.path)
        {
            // The session goes on in a new segment, which holds all that is needed.
            *self = Self::open(path)?;
            return Ok(true);
        }
        let now = match fs::metadata(&self.path) {
            Ok(now) => now,
            // It is being replaced, or gone; what was read stays.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(of_file(&self.path, &error)),
        };
        let replaced = (now.dev(), now.ino()) != (self.seen.dev(), self.seen.ino());
        let shrunk = now.len() < report.bytes;
        let is_document = matches!(
            report.format,
            Some(Format::OpencodeExport | Format::GeminiChat)
        );
        let rewritten = is_document
            && (now.len(), now.modified().ok()) != (self.seen.len(), self.seen.modified().ok());
        if !(replaced || shrunk || rewritten) {
            self.seen = now;
            return Ok(false);
        }
        let mut shrunk_at = std::mem::take(&mut self.shrunk);
        if !rewritten {
            shrunk_at.push(report.lines);
            let name = super::text::clean(&self.path.display().to_string());
            writeln!(
                err,
                "pod: {name}: the log got shorter or was replaced; reading it anew"
            )?;
        }
        *self = Self::open(&self.path)?;
        self.shrunk = shrunk_at;
        Ok(true)
    }

    fn loaded(&self, folder: &Folder) -> Loaded {
        let mut report = self.reader.report().clone();
        for &line in &self.shrunk {
            report.fault(FaultKind::Shrunk, line, "");
        }
        loaded(Source::file(self.path.clone()), folder, report)
    }
}

fn loaded(source: Source, folder: &Folder, report: Report) -> Loaded {
    Loaded {
        source,
        list: folder.list.clone(),
        reports: vec![report],
        steps: Vec::new(),
    }
}

/// Shows what comes, in the form that was asked for.
struct View {
    folder: Folder,
    live: Live,
    json: bool,
    timeline: bool,
    changed: bool,
}

impl View {
    fn new(options: &Options, environment: &Environment) -> Self {
        let mut terminal = environment.out;
        terminal.interactive &= !options.json && !options.timeline;
        Self {
            folder: Folder::new(true),
            live: Live::new(terminal),
            json: options.json,
            timeline: options.timeline,
            changed: true,
        }
    }

    /// Takes in what there is.
    fn read<R: Read>(
        &mut self,
        reader: &mut Reader<R>,
        environment: &Environment,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for event in reader {
            self.folder.apply(event?);
            for step in std::mem::take(&mut self.folder.steps) {
                self.changed |= !step.changes.is_empty();
                if self.timeline {
                    for line in timeline::lines(&step, 0, environment.out) {
                        writeln!(out, "{line}")?;
                    }
                } else if !self.json {
                    let elapsed = (environment.elapsed)();
                    self.live.step(&step, &self.folder.list, elapsed, out)?;
                }
            }
        }
        out.flush()
    }

    /// Draws the list in place, where the view is of that kind.
    fn draw(&mut self, environment: &Environment, out: &mut dyn Write) -> io::Result<()> {
        self.changed = false;
        let elapsed = (environment.elapsed)();
        self.live.draw(&self.folder.list, elapsed, out)
    }

    /// Prints the object of the list.
    fn print(&mut self, loaded: &Loaded, out: &mut dyn Write) -> io::Result<()> {
        self.changed = false;
        json::write(loaded, false, out)?;
        out.flush()
    }

    fn end(
        mut self,
        loaded: &Loaded,
        options: &Options,
        environment: &Environment,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> anyhow::Result<Outcome> {
        if self.json {
            if self.changed {
                self.print(loaded, out)?;
            }
        } else if !self.timeline {
            self.live.clear(out)?;
            table::write(loaded, options.all, environment.out, out)?;
        }
        out.flush()?;
        faults::write(loaded, options.verbose, err)?;
        Ok(outcome(std::slice::from_ref(loaded), false))
    }
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
