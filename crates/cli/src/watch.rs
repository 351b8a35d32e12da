//! `pod watch`: a live view of the stream of any agent that comes on standard input, as in
//! `claude -p ... --output-format stream-json --verbose | pod watch`.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use transcripts::{Event, Report};

use crate::tasks::live::Live;
use crate::tasks::{Environment, Folder, Loaded, Outcome, Source};

/// The options of `pod watch`.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Options {
    /// Pass the stream on, unchanged, on standard output; the view goes to standard error
    #[arg(long)]
    pub(crate) tee: bool,

    /// The todo lists of sub-agents too, when the stream has ended
    #[arg(long)]
    pub(crate) all: bool,

    /// Say in which lines something could not be read
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// Runs `pod watch`.
pub(crate) fn run(
    options: &Options,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let mut environment = Environment::of_process()?;
    run_in(options, &mut environment, out, err).map(ExitCode::from)
}

/// Runs `pod watch` in a process of this kind.
pub(crate) fn run_in(
    options: &Options,
    environment: &mut Environment,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    match watch(options, environment, out, err) {
        // Nobody reads on, as in `pod watch | head`.
        Err(error) if crate::tasks::is_broken_pipe(&error) => Ok(Outcome::Good),
        other => other,
    }
}

/// What the thread that reads the stream tells.
enum Message {
    /// Bytes of the stream, to be passed on.
    Bytes(Vec<u8>),
    Event(Box<Event>),
    /// The stream is at its end.
    End(Box<Report>, io::Result<()>),
}

/// How many messages may wait before the reader does.
const QUEUE: usize = 64;

/// How often the time is redrawn while nothing comes.
const TICK: Duration = Duration::from_secs(1);

fn watch(
    options: &Options,
    environment: &mut Environment,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let stdin = std::mem::replace(&mut environment.stdin, Box::new(io::empty()));
    let (sender, messages) = mpsc::sync_channel(QUEUE);
    let tee = options.tee;
    // The thread is left to itself: if nobody watches any more, it may wait for input for ever.
    thread::spawn(move || read(stdin, tee, &sender));

    let terminal = if tee {
        environment.err
    } else {
        environment.out
    };
    let mut live = Live::new(terminal);
    let mut folder = Folder::new(true);
    let (report, ended) = loop {
        let elapsed = (environment.elapsed)();
        let view: &mut dyn Write = if tee { &mut *err } else { &mut *out };
        match messages.recv_timeout(TICK) {
            Ok(Message::Bytes(bytes)) => {
                out.write_all(&bytes)?;
                out.flush()?;
            }
            Ok(Message::Event(event)) => {
                folder.apply(*event);
                for step in std::mem::take(&mut folder.steps) {
                    live.step(&step, &folder.list, elapsed, view)?;
                }
                live.draw(&folder.list, elapsed, view)?;
            }
            Ok(Message::End(report, ended)) => break (*report, ended),
            Err(RecvTimeoutError::Timeout) => live.draw(&folder.list, elapsed, view)?,
            Err(RecvTimeoutError::Disconnected) => {
                let lost = io::Error::other("the stream could not be read to its end");
                break (Report::default(), Err(lost));
            }
        }
    };
    let loaded = Loaded {
        source: Source::stdin(),
        list: folder.list,
        reports: vec![report],
        steps: Vec::new(),
    };
    let view: &mut dyn Write = if tee { &mut *err } else { &mut *out };
    live.clear(view)?;
    crate::tasks::write_table(&loaded, options.all, terminal, view)?;
    view.flush()?;
    crate::tasks::write_faults(&loaded, options.verbose, err)?;
    ended?;
    Ok(crate::tasks::outcome(&[loaded], false))
}

/// Reads the stream. What it cannot tell any more is of no use to anyone.
fn read(stdin: Box<dyn Read + Send>, tee: bool, messages: &SyncSender<Message>) {
    let input = Tee {
        input: stdin,
        messages: tee.then(|| messages.clone()),
    };
    let mut reader = transcripts::read(input, transcripts::Options::default());
    let mut ended = Ok(());
    for event in &mut reader {
        match event {
            Ok(event) => {
                if messages.send(Message::Event(Box::new(event))).is_err() {
                    return;
                }
            }
            Err(error) => ended = Err(error),
        }
    }
    let _ = messages.send(Message::End(Box::new(reader.into_report()), ended));
}

/// Tells what it reads.
struct Tee {
    input: Box<dyn Read + Send>,
    messages: Option<SyncSender<Message>>,
}

impl Read for Tee {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        if let Some(messages) = &self.messages {
            let bytes = into.get(..read).unwrap_or(&[]).to_vec();
            messages
                .send(Message::Bytes(bytes))
                .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(read)
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
