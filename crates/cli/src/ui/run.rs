//! The loop that joins keys, the events of a run, questions, signals and time.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::Duration;

use crossterm::event::{Event as Input, EventStream, KeyCode, KeyEvent, KeyModifiers};
use futures_util::StreamExt as _;
use jiff::Timestamp;
use pod::permission::Answer as Permission;
use pod::{Event, Handle, Pod, Run};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::ask::Waiting;
use super::command::{Command, Edit};
use super::desk::{Desk, Opened};
use super::state::{Action, Answer, State};
use super::terminal::Screen;
use super::transcript::Tone;
use crate::print_line;

/// The time between two drawings: as often as a screen shows, and no more.
const FRAME: Duration = Duration::from_millis(16);

/// How often the times on the screen are brought up to date.
const BEAT: Duration = Duration::from_millis(500);

/// How long a run that is left may take to come to an end in order.
const FAREWELL: Duration = Duration::from_secs(2);

/// Shows the screen until the person leaves.
pub(super) async fn run(
    desk: Desk<'_>,
    opened: Opened,
    questions: mpsc::UnboundedReceiver<Waiting>,
    prompt: Option<String>,
) -> anyhow::Result<ExitCode> {
    let mut app = App {
        ui: Ui::new(questions)?,
        pod: opened.pod,
        desk,
    };
    app.show(&opened.notices);
    let ended = app.attend(prompt).await;
    drop(app.ui);
    let code = ended?;
    farewell(&app.pod)?;
    Ok(ExitCode::from(code))
}

/// What stays on the terminal: how to go on.
fn farewell(pod: &Pod) -> anyhow::Result<()> {
    if pod.entries().is_empty() {
        return Ok(());
    }
    let counts = pod.tasks().counts();
    if counts.total() > 0 {
        print_line(&counts.to_string())?;
    }
    print_line(&format!("go on with: pod --resume {}", pod.session().id()))?;
    Ok(())
}

/// The session, what is to be done about it, and the screen.
struct App<'a> {
    pod: Pod,
    desk: Desk<'a>,
    ui: Ui,
}

/// What is run.
enum Start {
    Prompt(String),
    Compaction,
}

impl App<'_> {
    /// Shows the session that is open.
    fn show(&mut self, notices: &[String]) {
        let state = &mut self.ui.state;
        state.open(self.pod.entries());
        self.desk.describe(&self.pod, state);
        for notice in notices {
            state.transcript.note(Tone::Warning, notice.as_str());
        }
        if self.pod.entries().is_empty() {
            let text = "Pod. Say what to do. /help shows keys and commands.";
            state.transcript.note(Tone::Info, text);
        }
        self.ui.is_changed = true;
    }

    /// Does what the person wants until they leave. Gives the exit code.
    async fn attend(&mut self, prompt: Option<String>) -> anyhow::Result<u8> {
        let mut action = prompt.map(Action::Prompt);
        loop {
            let next = match action.take() {
                Some(action) => action,
                None => match self.ui.next(None).await? {
                    Happened::Action(action) => action,
                    Happened::Ended(code) => return Ok(code),
                    Happened::Run(_) => continue,
                },
            };
            let left = match next {
                Action::Leave | Action::Command(Command::Quit) => return Ok(0),
                Action::Prompt(text) => self.work(Start::Prompt(text)).await?,
                Action::Command(Command::Compact) => self.work(Start::Compaction).await?,
                other => {
                    self.do_at_rest(other)?;
                    None
                }
            };
            if let Some(code) = left {
                return Ok(code);
            }
            action = self.ui.state.queued.pop_front().map(Action::Prompt);
        }
    }

    /// What needs no run.
    fn do_at_rest(&mut self, action: Action) -> anyhow::Result<()> {
        let state = &mut self.ui.state;
        let opened = match action {
            Action::Command(Command::EditTasks(edit)) => {
                edit_at_rest(&mut self.pod, &edit, state);
                return Ok(());
            }
            Action::Command(Command::Rewind) => {
                self.desk.offer_rewind(&self.pod, state);
                return Ok(());
            }
            Action::Command(Command::Resume) => {
                self.desk.offer_resume(&self.pod, state);
                return Ok(());
            }
            Action::Command(Command::Fork) => self.desk.fork(&self.pod),
            Action::RewindTo(number) => {
                self.rewind(number);
                return Ok(());
            }
            Action::ResumeNumber(number) => self.desk.resume(number, &self.pod),
            other => {
                let handle = self.pod.handle();
                return self.ui.act(other, &handle, &mut self.desk);
            }
        };
        match opened {
            Ok(opened) => {
                // The one before is closed only now: if the other cannot be opened, it goes on.
                self.pod = opened.pod;
                self.show(&opened.notices);
                self.ui.state.transcript.note(Tone::Info, opened.word);
            }
            Err(error) => {
                state.overlay = None;
                state.transcript.note(Tone::Error, format!("{error:#}"));
            }
        }
        Ok(())
    }

    /// Goes back to before one of the messages, and gives it back into the input.
    fn rewind(&mut self, number: usize) {
        let Some(super::overlay::Overlay::Rewind(_, moments)) = self.ui.state.overlay.take() else {
            return;
        };
        let Some(moment) = moments.get(number) else {
            return;
        };
        let went = match moment.before {
            Some(entry) => self
                .pod
                .rewind(entry)
                .map(|notices| {
                    (
                        notices,
                        String::from(
                            "went back; what came after stays in the old segment of the log",
                        ),
                    )
                })
                .map_err(anyhow::Error::from),
            None => self.desk.start_anew(&self.pod).map(|opened| {
                self.pod = opened.pod;
                (opened.notices, opened.word)
            }),
        };
        match went {
            Ok((notices, word)) => {
                self.show(&notices);
                self.ui.state.transcript.note(Tone::Info, word);
                self.ui.state.editor.set(&moment.text);
            }
            Err(error) => {
                let text = format!("not gone back: {error:#}");
                self.ui.state.transcript.note(Tone::Error, text);
            }
        }
    }

    /// Runs a prompt, or a compaction, to its end. Gives an exit code if the person left meanwhile.
    async fn work(&mut self, start: Start) -> anyhow::Result<Option<u8>> {
        let handle = self.pod.handle();
        let Self { pod, desk, ui } = self;
        ui.state.set_now(Timestamp::now());
        ui.state.begin_work();
        ui.is_changed = true;
        let mut run = match start {
            Start::Prompt(text) => pod.run(text),
            Start::Compaction => pod.compact(),
        };
        let left = loop {
            match ui.next(Some(&mut run)).await? {
                Happened::Run(None) => break None,
                Happened::Run(Some(event)) => {
                    ui.on_event(&event);
                    if matches!(event, Event::Finished(_)) {
                        break None;
                    }
                }
                Happened::Ended(code) => break Some(code),
                Happened::Action(Action::Leave | Action::Command(Command::Quit)) => break Some(0),
                Happened::Action(action) => ui.act(action, &handle, desk)?,
            }
        };
        ui.answers.clear();
        if left.is_some() {
            // So that the log says that it was interrupted. A run that does not end is dropped: what
            // is in the log is in order at each moment.
            handle.interrupt();
            let _ = timeout(FAREWELL, run.outcome()).await;
        }
        Ok(left)
    }
}

/// Changes the list now, since nobody works on it.
fn edit_at_rest(pod: &mut Pod, edit: &Edit, state: &mut State) {
    for operation in edit.operations() {
        let known = pod.entries().len();
        let changed = pod.edit_tasks(&operation);
        for entry in pod.entries().get(known..).unwrap_or_default() {
            state.on_entry(entry);
        }
        match changed {
            Ok(change) => state.on_event(&Event::Task(change)),
            Err(error) => state.transcript.note(Tone::Error, error.to_string()),
        }
    }
}

/// The terminal, and what comes from it.
pub(super) struct Ui {
    pub(super) state: State,
    screen: Screen,
    inputs: EventStream,
    signals: Signals,
    questions: mpsc::UnboundedReceiver<Waiting>,
    /// Where the answers to the questions go, in their order.
    answers: VecDeque<oneshot::Sender<Permission>>,
    /// Whether something is to be drawn.
    is_changed: bool,
    drawn: Instant,
}

/// What happened next.
enum Happened {
    /// Something in the run; `None` when it is over.
    Run(Option<Event>),
    Action(Action),
    /// The program is to end with this code.
    Ended(u8),
}

impl Ui {
    fn new(questions: mpsc::UnboundedReceiver<Waiting>) -> anyhow::Result<Self> {
        // Caught from here on, so that the screen is never left behind.
        let signals = Signals::new()?;
        Ok(Self {
            state: State::new(Timestamp::now()),
            screen: Screen::enter()?,
            inputs: EventStream::new(),
            signals,
            questions,
            answers: VecDeque::new(),
            is_changed: true,
            drawn: Instant::now(),
        })
    }

    /// Waits for what happens next, and draws meanwhile.
    async fn next(&mut self, mut run: Option<&mut Run<'_>>) -> anyhow::Result<Happened> {
        loop {
            let is_moving = run.is_some() || self.state.hint.is_some();
            tokio::select! {
                biased;
                signal = self.signals.next() => {
                    if let Some(code) = signal {
                        return Ok(Happened::Ended(code));
                    }
                    // An interrupt from outside is a Ctrl-C.
                    let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
                    if let Some(action) = self.on_input(&Input::Key(key)) {
                        return Ok(Happened::Action(action));
                    }
                }
                () = sleep_until(self.drawn + FRAME), if self.is_changed => {
                    self.state.set_now(Timestamp::now());
                    self.screen.draw(&mut self.state)?;
                    self.is_changed = false;
                    self.drawn = Instant::now();
                }
                input = self.inputs.next() => match input {
                    Some(input) => {
                        if let Some(action) = self.on_input(&input?) {
                            return Ok(Happened::Action(action));
                        }
                    }
                    // The terminal is gone.
                    None => return Ok(Happened::Ended(HANGUP)),
                },
                Some(waiting) = self.questions.recv() => self.take_question(waiting),
                event = next_of(&mut run), if run.is_some() => return Ok(Happened::Run(event)),
                () = sleep(BEAT), if is_moving => {
                    self.state.set_now(Timestamp::now());
                    self.is_changed = true;
                }
            }
        }
    }

    fn on_input(&mut self, input: &Input) -> Option<Action> {
        self.state.set_now(Timestamp::now());
        self.is_changed = true;
        self.state.on_input(input)
    }

    fn on_event(&mut self, event: &Event) {
        self.state.set_now(Timestamp::now());
        self.is_changed = true;
        self.state.on_event(event);
    }

    fn take_question(&mut self, waiting: Waiting) {
        self.is_changed = true;
        self.state.questions.push_back(waiting.question);
        self.answers.push_back(waiting.answer);
    }

    /// What can be done at any time.
    fn act(&mut self, action: Action, handle: &Handle, desk: &mut Desk<'_>) -> anyhow::Result<()> {
        self.is_changed = true;
        match action {
            Action::Stop => {
                // The questions of the run go with it.
                handle.interrupt();
            }
            Action::Answer(answer) => self.answer(answer, handle, desk),
            Action::Suspend => self.screen.suspend()?,
            Action::Redraw => self.screen.clear()?,
            Action::NextMode => Desk::next_mode(handle, &mut self.state),
            Action::ReadPast => desk.read_past(&mut self.state),
            Action::Command(Command::EditTasks(edit)) => {
                edit_meanwhile(&edit, handle, &mut self.state);
            }
            Action::Command(command) => desk.command(&command, handle, &mut self.state),
            Action::Prompt(_) | Action::Leave | Action::RewindTo(_) | Action::ResumeNumber(_) => {}
        }
        Ok(())
    }

    fn answer(&mut self, answer: Answer, handle: &Handle, desk: &mut Desk<'_>) {
        let Some(question) = self.state.questions.pop_front() else {
            return;
        };
        let denied = |interrupt| Permission::Deny {
            reason: String::from("the user said no"),
            interrupt,
        };
        let permission = match answer {
            Answer::Yes => Permission::Allow {
                changed_arguments: None,
            },
            Answer::Always => {
                if let Some(rule) = question.rule {
                    desk.allow(rule, handle);
                }
                Permission::Allow {
                    changed_arguments: None,
                }
            }
            Answer::No => denied(false),
            Answer::End => denied(true),
        };
        if let Some(waiting) = self.answers.pop_front() {
            // Whoever asked may have been interrupted.
            let _ = waiting.send(permission);
        }
    }
}

/// Has the list changed as soon as no call waits for its result.
fn edit_meanwhile(edit: &Edit, handle: &Handle, state: &mut State) {
    let total = state.board.tasks().len();
    let is_known =
        |id: &tools::task::TaskId| usize::try_from(id.number()).is_ok_and(|it| it <= total);
    let unknown = match edit {
        Edit::Add { .. } => None,
        Edit::Set { ids, .. } => ids.iter().find(|id| !is_known(id)),
        Edit::Describe { id, .. } => Some(id).filter(|id| !is_known(id)),
    };
    if let Some(id) = unknown {
        let text = format!("there is no task {id}; the list has {total}");
        return state.transcript.note(Tone::Error, text);
    }
    for operation in edit.operations() {
        handle.edit_tasks(operation);
    }
    state.hint("the list is changed before the next request");
}

async fn next_of(run: &mut Option<&mut Run<'_>>) -> Option<Event> {
    match run {
        Some(run) => run.next().await,
        None => std::future::pending().await,
    }
}

/// The exit codes of a process that ends by a signal, as a shell gives them.
const HANGUP: u8 = 128 + 1;
#[cfg(unix)]
const TERMINATED: u8 = 128 + 15;

/// Signals that would leave the screen behind.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The exit code that the next signal asks for; `None` for an interrupt.
    async fn next(&mut self) -> Option<u8> {
        tokio::select! {
            _ = self.interrupt.recv() => None,
            _ = self.hangup.recv() => Some(HANGUP),
            _ = self.terminate.recv() => Some(TERMINATED),
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Option<u8> {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
        None
    }
}
