//! The loop that holds a program, its messages and a Pod together.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use pod::Pod;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use uuid::Uuid;

use super::control::{self, Live};
use super::cost::Ledger;
use super::input::{self, Incoming};
use super::message::of_session;
use super::mirror::Mirror;
use super::options::InputFormat;
use super::output::Output;
use super::questions::Questions;
use super::result;
use super::setup::{self, Connection, Opened};
use super::state::SessionState;
use super::stops::{Stopping, Stops};
use super::waiting::Waiting;
use crate::args::{OutputFormat, RunOptions};
use crate::{Usage, prompt, terminal};

/// Drives a session as the program on the other end asks for.
pub(crate) fn run(options: &RunOptions) -> anyhow::Result<ExitCode> {
    let is_streaming = options.sdk.input_format == InputFormat::StreamJson;
    if options.output_format != OutputFormat::StreamJson {
        return Err(Usage(String::from(
            "--input-format stream-json needs --output-format stream-json",
        ))
        .into());
    }
    let prompt = if is_streaming {
        None
    } else {
        Some(prompt::read(options)?)
    };
    // One thread is enough: what takes long is waiting.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime cannot start")?;
    let code = runtime.block_on(async {
        let mut driver = Driver::new(options, prompt);
        driver.work().await;
        driver.finish().await
    });
    // Nothing that a tool left behind may keep the program waiting.
    runtime.shutdown_background();
    Ok(code)
}

/// Holds a program, its messages and a Pod together.
pub(super) struct Driver<'a> {
    pub(super) options: &'a RunOptions,
    pub(super) output: Output,
    pub(super) stops: Stops,
    pub(super) input: UnboundedReceiver<Incoming>,
    /// Lines of questions and the like, each behind what happened before it.
    pub(super) outgoing: UnboundedReceiver<Value>,
    pub(super) connection: Connection,
    pub(super) waiting: VecDeque<Waiting>,
    /// The names of the messages that wait.
    pub(super) queued: Arc<Mutex<Vec<Value>>>,
    /// Whether the program will say nothing more.
    pub(super) ended: bool,
    /// Requests that came before the session was there.
    pub(super) early: Vec<(String, Value)>,
    pub(super) live: Option<Live>,
    pub(super) mirror: Option<Mirror>,
    pub(super) ledger: Ledger,
    pub(super) last_is_error: bool,
    pub(super) stopping: Stopping,
}

impl<'a> Driver<'a> {
    fn new(options: &'a RunOptions, prompt: Option<String>) -> Self {
        let (questions, outgoing) = Questions::new();
        let variable = |name: &str| std::env::var(name).ok();
        let connection = Connection {
            questions,
            state: SessionState::from_environment(&variable),
            stop: Arc::default(),
        };
        let mut waiting = VecDeque::new();
        let ended = prompt.is_some();
        let input = match prompt {
            None => input::start(),
            Some(text) => {
                connection.questions.end();
                waiting.push_back(Waiting::prompt(text));
                // Nothing is read: whoever writes would write to nobody.
                tokio::sync::mpsc::unbounded_channel().1
            }
        };
        let stops = Stops::new();
        stops.watch_signals();
        let output = Output::start(&stops);
        Self {
            options,
            stops,
            output,
            input,
            outgoing,
            connection,
            waiting,
            queued: Arc::default(),
            ended,
            early: Vec::new(),
            live: None,
            mirror: None,
            ledger: Ledger::default(),
            last_is_error: false,
            stopping: Stopping::Not,
        }
    }

    /// Works until there is nothing left to do.
    async fn work(&mut self) {
        let initialize = self.first_request().await;
        if self.waiting.is_empty() && initialize.is_none() && self.early.is_empty() {
            return;
        }
        let plan = match setup::plan(self.options) {
            Ok(plan) => plan,
            Err(error) => return self.not_begun(&error).await,
        };
        let (id, request) = match initialize {
            Some((id, request)) => (Some(id), request),
            None => (None, Value::Null),
        };
        let connection = self.connection.clone();
        let opening = setup::open(plan, self.options, &request, &connection);
        let opened = match self.beside(opening).await {
            Some(Ok(opened)) => opened,
            Some(Err(error)) => return self.not_begun(&error).await,
            None => return,
        };
        // Not before: an SDK that has its answer goes on to write, and would miss why there is no
        // session.
        if let Some(id) = id {
            let mode = opened.pod.handle().permission_mode();
            let answer = control::initialized(mode, true);
            self.output.send(&control::response(&id, Ok(answer))).await;
        }
        let mut pod = self.go_live(opened).await;
        self.serve(&mut pod).await;
    }

    /// Waits for the request that begins the protocol, or for anything else that does.
    async fn first_request(&mut self) -> Option<(String, Value)> {
        while self.waiting.is_empty() && !self.ended && self.stopping == Stopping::Not {
            match self.next_incoming().await {
                Some(Incoming::Request { id, request }) if request["subtype"] == "initialize" => {
                    return Some((id, request));
                }
                Some(incoming) => {
                    let is_request = matches!(incoming, Incoming::Request { .. });
                    self.hear(incoming).await;
                    if is_request {
                        return None;
                    }
                }
                None => {}
            }
        }
        None
    }

    /// What the program says next; `None` if there is a reason to stop.
    async fn next_incoming(&mut self) -> Option<Incoming> {
        tokio::select! {
            biased;
            incoming = self.input.recv(), if !self.ended => Some(incoming.unwrap_or(Incoming::End)),
            reason = self.stops.next() => {
                self.stopping = reason;
                None
            }
        }
    }

    /// The session is there.
    async fn go_live(&mut self, opened: Opened) -> Pod {
        let Opened {
            pod,
            servers,
            directory,
            known,
        } = opened;
        let session = pod.session();
        if self.options.sdk.session_mirror {
            let (id, segment) = (session.id(), session.segment());
            if self.options.sdk.no_session_persistence {
                terminal::notice("--session-mirror is ignored: the session is kept in memory only");
            } else {
                let path = session.path();
                self.mirror = Some(Mirror::new(id, path, segment, &directory, known));
            }
        }
        self.live = Some(Live {
            session: session.id(),
            handle: pod.handle(),
            directory,
            servers,
            tools: pod
                .tools()
                .iter()
                .map(|tool| tool.name().to_owned())
                .collect(),
            model: self.options.model.clone(),
            first_model: self.options.model.clone(),
            context: 0,
            queued: Arc::clone(&self.queued),
        });
        for (id, request) in std::mem::take(&mut self.early) {
            self.answer(&id, &request).await;
        }
        pod
    }

    /// Takes messages and runs them, until there will be no more.
    async fn serve(&mut self, pod: &mut Pod) {
        loop {
            while let Ok(incoming) = self.input.try_recv() {
                self.hear(incoming).await;
            }
            if self.stopping != Stopping::Not {
                return;
            }
            if let Some(next) = self.next_message() {
                self.turn(pod, next).await;
                continue;
            }
            self.connection.state.idle(&self.connection.questions);
            self.flush().await;
            if self.ended {
                return;
            }
            let incoming = tokio::select! {
                biased;
                Some(line) = self.outgoing.recv() => {
                    self.output.send(&line).await;
                    continue;
                }
                incoming = self.input.recv() => incoming.unwrap_or(Incoming::End),
                reason = self.stops.next() => {
                    self.stopping = reason;
                    return;
                }
            };
            self.hear(incoming).await;
        }
    }

    /// All messages that wait, as one. A command stands alone.
    fn next_message(&mut self) -> Option<Waiting> {
        let mut next = self.waiting.pop_front()?;
        while !next.is_command && self.waiting.front().is_some_and(|it| !it.is_command) {
            if let Some(more) = self.waiting.pop_front() {
                next.message.content.extend(more.message.content);
            }
        }
        self.note_queue();
        Some(next)
    }

    fn note_queue(&self) {
        let names = self.waiting.iter().map(|it| it.uuid.clone());
        let names = names.filter(|uuid| !uuid.is_null()).collect();
        *self.queued.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Takes in what the program says.
    pub(super) async fn hear(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Request { id, request } => self.answer(&id, &request).await,
            Incoming::Answer { id, answer } => self.connection.questions.answer(&id, answer),
            Incoming::User(message) => {
                let waiting = Waiting::new(message);
                if self.options.sdk.replay_user_messages
                    && let Some(live) = &self.live
                {
                    let mut line = waiting.original.clone();
                    line["isReplay"] = json!(true);
                    self.output.send(&of_session(live.session, line)).await;
                }
                self.waiting.push_back(waiting);
                self.note_queue();
            }
            Incoming::End => {
                self.ended = true;
                self.connection.questions.end();
            }
        }
    }

    async fn answer(&mut self, id: &str, request: &Value) {
        let Some(live) = &mut self.live else {
            self.early.push((id.to_owned(), request.clone()));
            return;
        };
        let answer = live.answer(request);
        self.output.send(&control::response(id, answer)).await;
    }

    /// Waits for something while the program is heard and asked. `None` if there is a reason to stop.
    async fn beside<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                result = &mut work => return Some(result),
                Some(line) = self.outgoing.recv() => self.output.send(&line).await,
                incoming = self.input.recv(), if !self.ended => {
                    self.hear(incoming.unwrap_or(Incoming::End)).await;
                }
                reason = self.stops.next() => {
                    self.stopping = reason;
                    return None;
                }
            }
        }
    }

    /// Writes what waits to be written.
    pub(super) async fn flush(&mut self) {
        while let Ok(line) = self.outgoing.try_recv() {
            self.output.send(&line).await;
        }
    }

    /// Says why there is no session.
    async fn not_begun(&mut self, error: &anyhow::Error) {
        terminal::error(error);
        self.last_is_error = true;
        let session = self.options.session_id.unwrap_or_else(Uuid::now_v7);
        let line = result::not_begun(session, &terminal::chain(error));
        self.output.send(&line).await;
    }

    /// Writes what is left, and gives the exit code.
    async fn finish(mut self) -> ExitCode {
        self.flush().await;
        let (stops, failed) = (self.stops.clone(), self.last_is_error);
        self.output.finish().await;
        // The last lines may be those that could not be written.
        let stopping = match stops.so_far() {
            Stopping::Unwritable => Stopping::Unwritable,
            _ => self.stopping,
        };
        match stopping {
            // Whoever does not read has seen enough.
            Stopping::Unread | Stopping::Not if !failed => ExitCode::SUCCESS,
            Stopping::Unread | Stopping::Not | Stopping::Unwritable => ExitCode::FAILURE,
            // As a shell tells of a process that was asked to end.
            Stopping::Signal => ExitCode::from(143),
        }
    }
}
