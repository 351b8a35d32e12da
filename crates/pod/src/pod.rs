//! [`Pod`]: a model at work in a directory, and how one is set up.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use llm::{Model, ToolSpec, UserMessage};
use tokio_util::sync::CancellationToken;
use tools::bash::{Bash, Confinement};
use tools::fs::Scope;
use tools::task::list::TaskList;
use tools::task::{self, Change, Dialect, TaskOperation, TaskStore};
use tools::{Registry, Tool, Tracker};
use uuid::Uuid;

use crate::PodError;
use crate::compact::{self, Breaker, CompactLimits, CompactPlan, Files, Trigger};
use crate::edit;
use crate::event::{Event, Outcome, Queue};
use crate::history::History;
use crate::hook::Hook;
use crate::instructions::Instructions;
use crate::mention::Mention;
use crate::permission::{Approver, PermissionMode, Permissions, Rule};
use crate::reminder::{REMIND_AFTER, Reminder};
use crate::session::{Entry, Session, SessionInfo, SessionStore};
use crate::turn::{drive, drive_compaction};

/// A model at work in a directory, with a session that is logged.
///
/// Runs go one after the other; the task list, the history and the tools last from one to the next.
pub struct Pod {
    parts: Parts,
    history: History,
    notices: Vec<String>,
    confinement: Confinement,
}

/// What a run needs beside the history.
pub(crate) struct Parts {
    pub(crate) shared: Arc<Shared>,
    pub(crate) registry: Registry,
    /// The tools as the model sees them.
    pub(crate) tool_specs: Vec<ToolSpec>,
    pub(crate) system_prompt: String,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) max_output_tokens: Option<u32>,
    pub(crate) compact_limits: CompactLimits,
    /// The most bytes of text that `TaskList` gives.
    pub(crate) list_text_limit: usize,
    pub(crate) files: Files,
    /// When the model is reminded of open tasks, if it is.
    pub(crate) reminder: Option<Reminder>,
    breaker: Mutex<Breaker>,
}

impl Parts {
    /// What stops compactions that do not help.
    pub(crate) fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What can be changed while a run is going on.
pub(crate) struct Shared {
    state: Mutex<State>,
}

struct State {
    model: Arc<dyn Model>,
    permissions: Permissions,
    reasoning_tokens: Option<u32>,
    /// Stops the run that is going on.
    cancel: CancellationToken,
    /// What a person wants changed in the task list, at the next place where that can be.
    edits: VecDeque<TaskOperation>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn model(&self) -> Arc<dyn Model> {
        Arc::clone(&self.lock().model)
    }

    pub(crate) fn permissions(&self) -> Permissions {
        self.lock().permissions.clone()
    }

    pub(crate) fn reasoning_tokens(&self) -> Option<u32> {
        self.lock().reasoning_tokens
    }

    /// The change by hand that is next, if any waits.
    pub(crate) fn next_edit(&self) -> Option<TaskOperation> {
        self.lock().edits.pop_front()
    }

    /// A change that could not be made yet stays the next one.
    pub(crate) fn queue_edit_again(&self, operation: TaskOperation) {
        self.lock().edits.push_front(operation);
    }
}

/// Controls a [`Pod`] while it runs, from anywhere.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Handle {
    /// Stops the run that is going on, if there is one. It ends with [`crate::Status::Interrupted`].
    pub fn interrupt(&self) {
        self.shared.lock().cancel.cancel();
    }

    /// Asks another model from the next request on.
    pub fn set_model(&self, model: Arc<dyn Model>) {
        self.shared.lock().model = model;
    }

    /// The model that is asked.
    pub fn model(&self) -> Arc<dyn Model> {
        self.shared.model()
    }

    /// Holds the next calls to another mode.
    pub fn set_permission_mode(&self, mode: PermissionMode) {
        self.shared.lock().permissions.mode = mode;
    }

    /// The mode that calls are held to.
    pub fn permission_mode(&self) -> PermissionMode {
        self.shared.lock().permissions.mode
    }

    /// Changes the task list by hand while a run is going on: before its next request to the model, or
    /// at its end. It is told as [`Event::Entry`] and [`Event::Task`] once it is done, and as
    /// [`Event::Warning`] if it cannot be. With no run going on it waits for the next one:
    /// [`Pod::edit_tasks`] does it at once.
    pub fn edit_tasks(&self, operation: TaskOperation) {
        self.shared.lock().edits.push_back(operation);
    }

    /// Allows more calls. Rules that forbid still win.
    pub fn allow(&self, rules: impl IntoIterator<Item = Rule>) {
        self.shared.lock().permissions.allow.extend(rules);
    }

    /// Forbids more calls. The tools stay offered.
    pub fn deny(&self, rules: impl IntoIterator<Item = Rule>) {
        self.shared.lock().permissions.deny.extend(rules);
    }

    /// The reasoning budget from the next request on, see [`llm::Request::reasoning_tokens`].
    pub fn set_reasoning_tokens(&self, tokens: Option<u32>) {
        self.shared.lock().reasoning_tokens = tokens;
    }
}

impl Pod {
    /// Sets up a Pod that asks this model.
    pub fn builder(model: Arc<dyn Model>) -> Builder {
        Builder::new(model)
    }

    /// Gives the model a prompt and lets it work until it is done.
    ///
    /// The run goes on only while its events are read. Dropping it interrupts it at the point where
    /// it is; the history stays in order.
    pub fn run(&mut self, prompt: impl Into<UserMessage>) -> Run<'_> {
        self.run_with(prompt, Vec::new())
    }

    /// The same, with files that the prompt names: each is brought in behind it, once. What names no
    /// file is told by [`Event::Warning`] where a file was surely meant, and the prompt stays as it is.
    ///
    /// ```no_run
    /// # async fn example(pod: &mut pod::Pod) {
    /// let prompt = "What does @src/main.rs do?";
    /// pod.run_with(prompt, pod::Mention::all_in(prompt)).outcome().await;
    /// # }
    /// ```
    pub fn run_with(&mut self, prompt: impl Into<UserMessage>, mentions: Vec<Mention>) -> Run<'_> {
        let prompt = prompt.into();
        let (cancel, queue) = self.begin_run();
        let (parts, history, events) = (&self.parts, &mut self.history, queue.clone());
        Run {
            progress: RunProgress::Going(Box::pin(async move {
                drive(parts, history, prompt, mentions, cancel, &events).await
            })),
            events: queue,
        }
    }

    /// What [`Handle::interrupt`] stops, and the events of the run.
    fn begin_run(&self) -> (CancellationToken, Queue) {
        let cancel = CancellationToken::new();
        self.parts.shared.lock().cancel = cancel.clone();
        (cancel, Queue::default())
    }

    /// Goes back to an entry of the session. What came after it stays in the old segments, but not
    /// in the history, and the task list is what it was at that entry. What a compaction put in front
    /// is one thing: each entry of it stands for all.
    ///
    /// Gives what a person should know about it.
    pub fn rewind(&mut self, entry: Uuid) -> Result<Vec<String>, PodError> {
        // What did not help there may help here.
        self.parts.breaker().reset();
        Ok(self.history.rewind(entry)?)
    }

    /// Replaces the history by a summary and its newest part now, whatever its size. The task list is
    /// carried whole. [`Event::Compaction`] tells what happens; the run ends with
    /// [`PodError::NotCompacted`] if the history is what it was.
    pub fn compact(&mut self) -> Run<'_> {
        // A person asks: whatever failed before is tried again.
        self.parts.breaker().reset();
        let (cancel, queue) = self.begin_run();
        let (parts, history, events) = (&self.parts, &mut self.history, queue.clone());
        Run {
            progress: RunProgress::Going(Box::pin(async move {
                drive_compaction(parts, history, cancel, &events).await
            })),
            events: queue,
        }
    }

    /// Changes the task list by hand. The change is an entry of the history, as the user's own: it is
    /// in the log when this returns, and the model reads of it with its next request. While a run is
    /// going on, [`Handle::edit_tasks`] does the same.
    ///
    /// # Errors
    /// [`PodError::Edit`] if the list has no such task or the change is empty, [`PodError::Log`] if it
    /// cannot be written. The list is what it was in both cases.
    pub fn edit_tasks(&mut self, operation: &TaskOperation) -> Result<Change, PodError> {
        // A run before may have been dropped in the middle of its calls.
        self.history
            .close_open_calls("interrupted; outcome unknown")?;
        let planned = self.tasks().plan(operation).map_err(PodError::Edit)?;
        let committed = edit::edit(&mut self.history, operation)?;
        Ok(committed.changes.into_iter().next().unwrap_or(planned))
    }

    /// What [`Pod::compact`] would do, without asking the model and without doing it.
    pub fn plan_compaction(&self) -> CompactPlan {
        compact::plan(&self.parts, &self.history, Trigger::Manual)
    }

    /// Controls the Pod while it runs.
    pub fn handle(&self) -> Handle {
        Handle {
            shared: Arc::clone(&self.parts.shared),
        }
    }

    /// The task list.
    pub fn tasks(&self) -> &TaskStore {
        self.history.tasks()
    }

    /// The entries of the history.
    pub fn entries(&self) -> &[Entry] {
        self.history.entries()
    }

    /// The session.
    pub fn session(&self) -> &Session {
        self.history.session()
    }

    /// The tools that the model is offered.
    pub fn tools(&self) -> &Registry {
        &self.parts.registry
    }

    /// Whether commands that the model runs are held to where they may write.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// What a person should know about how the session was opened, such as a torn end of the log
    /// that was cut off.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

/// A run: a stream of its events.
pub struct Run<'a> {
    progress: RunProgress<'a>,
    events: Queue,
}

enum RunProgress<'a> {
    Going(Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>),
    Ended(Arc<Outcome>),
}

impl Run<'_> {
    /// The next event; `None` after [`Event::Finished`].
    pub async fn next(&mut self) -> Option<Event> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Lets the run go on to its end and gives the outcome, which [`Event::Finished`] gives too.
    pub async fn outcome(&mut self) -> Arc<Outcome> {
        loop {
            if let RunProgress::Ended(outcome) = &self.progress {
                return Arc::clone(outcome);
            }
            self.next().await;
        }
    }
}

impl Stream for Run<'_> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        if let Some(event) = self.events.pop() {
            return Poll::Ready(Some(event));
        }
        let RunProgress::Going(drive) = &mut self.progress else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(outcome) = drive.as_mut().poll(context) {
            let outcome = Arc::new(outcome);
            self.progress = RunProgress::Ended(Arc::clone(&outcome));
            self.events.push(Event::Finished(outcome));
        }
        match self.events.pop() {
            Some(event) => Poll::Ready(Some(event)),
            None => Poll::Pending,
        }
    }
}

/// Sets up a [`Pod`].
pub struct Builder {
    model: Arc<dyn Model>,
    directory: PathBuf,
    additional_directories: Vec<PathBuf>,
    extra_tools: Vec<Arc<dyn Tool>>,
    task_tools: TaskTools,
    offered: Box<dyn Fn(&str) -> bool + Send>,
    system_prompt: Option<String>,
    appended_prompt: Option<String>,
    mode: PermissionMode,
    allow: Vec<Rule>,
    deny: Vec<Rule>,
    approver: Option<Arc<dyn Approver>>,
    hooks: Vec<Arc<dyn Hook>>,
    max_turns: Option<u32>,
    max_output_tokens: Option<u32>,
    reasoning_tokens: Option<u32>,
    compact_limits: CompactLimits,
    remind_after: u32,
    reads_instructions: bool,
    home: Option<PathBuf>,
    sandboxed: bool,
}

/// Through which tools a model keeps its task list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskTools {
    /// `TaskCreate`, `TaskList`, `TaskGet` and `TaskUpdate`.
    Four(Dialect),
    /// `TodoWrite`, which sets the whole list.
    TodoWrite,
    /// None: the list of a session stays what it is.
    None,
}

impl Default for TaskTools {
    fn default() -> Self {
        Self::Four(Dialect::Pod)
    }
}

impl Builder {
    fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            directory: PathBuf::from("."),
            additional_directories: Vec::new(),
            extra_tools: Vec::new(),
            task_tools: TaskTools::default(),
            offered: Box::new(|_| true),
            system_prompt: None,
            appended_prompt: None,
            mode: PermissionMode::Default,
            allow: Vec::new(),
            deny: Vec::new(),
            approver: None,
            hooks: Vec::new(),
            max_turns: None,
            max_output_tokens: None,
            reasoning_tokens: None,
            compact_limits: CompactLimits::default(),
            remind_after: REMIND_AFTER,
            reads_instructions: true,
            home: None,
            sandboxed: true,
        }
    }

    /// The directory to work in. The current one if none is given.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// One more directory that file tools may work in.
    pub fn add_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.additional_directories.push(directory.into());
        self
    }

    /// One more tool. One with the name of a built-in tool takes its place; the names of the task
    /// tools are taken.
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.extra_tools.push(tool);
        self
    }

    /// The tools through which the model keeps its task list. The four in Pod's own dialect by
    /// default.
    pub fn task_tools(mut self, tools: TaskTools) -> Self {
        self.task_tools = tools;
        self
    }

    /// Offers only the tools whose names pass. All by default.
    pub fn offer(mut self, offered: impl Fn(&str) -> bool + Send + 'static) -> Self {
        self.offered = Box::new(offered);
        self
    }

    /// A system prompt in place of Pod's own.
    pub fn system_prompt(mut self, text: impl Into<String>) -> Self {
        self.system_prompt = Some(text.into());
        self
    }

    /// A text behind the system prompt.
    pub fn append_system_prompt(mut self, text: impl Into<String>) -> Self {
        self.appended_prompt = Some(text.into());
        self
    }

    /// The permission mode at the beginning.
    pub fn permission_mode(mut self, mode: PermissionMode) -> Self {
        self.mode = mode;
        self
    }

    /// Calls that may run without being asked for.
    pub fn allow(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.allow.extend(rules);
        self
    }

    /// Calls that must not run. A tool that is forbidden whole is not offered.
    pub fn deny(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.deny.extend(rules);
        self
    }

    /// Who is asked for permission. Without one, what would be asked is denied.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// One more hook. Hooks are asked in the order in which they were added.
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// How many responses one run may get from the model.
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.max_turns = Some(turns);
        self
    }

    /// How many tokens one response may have.
    pub fn max_output_tokens(mut self, tokens: u32) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// The reasoning budget at the beginning, see [`llm::Request::reasoning_tokens`].
    pub fn reasoning_tokens(mut self, tokens: u32) -> Self {
        self.reasoning_tokens = Some(tokens);
        self
    }

    /// When the history is compacted, and how much of it is kept.
    pub fn compact_limits(mut self, limits: CompactLimits) -> Self {
        self.compact_limits = limits;
        self
    }

    /// Whether the system prompt has the instructions of the project: `AGENTS.md` and `CLAUDE.md` of
    /// the directory and of those above it, up to the root of the repository or to the home
    /// directory, at most [`INSTRUCTIONS_LIMIT`](crate::INSTRUCTIONS_LIMIT) bytes. It has by default.
    ///
    /// A session keeps the ones that it was begun with. A fork reads them anew.
    pub fn project_instructions(mut self, reads: bool) -> Self {
        self.reads_instructions = reads;
        self
    }

    /// The home directory of the person: what `~/` in a permission rule means, and where the search
    /// for instructions ends. Not known by default.
    pub fn home_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        self.home = Some(directory.canonicalize().unwrap_or(directory));
        self
    }

    /// After how many requests to the model without a use of the task list it is reminded of open
    /// tasks, and again after as many more; [`REMIND_AFTER`] by default. 0 turns it off, and 1 means
    /// 2, since no two requests in a row bring a reminder.
    pub fn remind_after(mut self, requests: u32) -> Self {
        self.remind_after = requests;
        self
    }

    /// Whether commands that the model runs may write in the directories of the Pod, temporary
    /// directories and caches only, where the system can hold them to that (Linux with Landlock). They
    /// are by default.
    pub fn sandbox(mut self, sandboxed: bool) -> Self {
        self.sandboxed = sandboxed;
        self
    }

    /// Begins a session in the store, under the given id or a new one.
    pub fn start(self, store: &SessionStore, id: Option<Uuid>) -> Result<Pod, PodError> {
        let scope = self.scope()?;
        let Instructions { text, notices } = self.instructions(&scope);
        let text = Some(text).filter(|text| !text.is_empty());
        let session = store.create_with(scope.working_directory(), id, text)?;
        Ok(self.build(scope, History::begin(session), notices))
    }

    /// The same for who runs a prompt at once and tells nobody of the session before: what it leaves on
    /// disk comes with the first entry, or at the end of the first run, and until then nobody can find
    /// it. That waits for the disk twice less before the first request.
    pub fn start_with_first_entry(
        self,
        store: &SessionStore,
        id: Option<Uuid>,
    ) -> Result<Pod, PodError> {
        let scope = self.scope()?;
        let Instructions { text, notices } = self.instructions(&scope);
        let text = Some(text).filter(|text| !text.is_empty());
        let session = store.create_with_first_entry(scope.working_directory(), id, text)?;
        Ok(self.build(scope, History::begin(session), notices))
    }

    /// Goes on with a session. With `salvage`, one with a damaged log goes on from what stands
    /// before the damage.
    pub fn resume(
        self,
        store: &SessionStore,
        session: &SessionInfo,
        salvage: bool,
    ) -> Result<Pod, PodError> {
        let scope = self.scope()?;
        let mut opened = store.open(session, salvage)?;
        let now = self.instructions(&scope).text;
        if self.reads_instructions && now != opened.session.instructions().unwrap_or_default() {
            opened.notices.push(String::from(
                "AGENTS.md and CLAUDE.md do not say what they said when the session began, and it goes on with what they said then; a fork (--fork-session) or a new session reads them anew",
            ));
        }
        let (history, notices) = History::restore(opened)?;
        Ok(self.build(scope, history, notices))
    }

    /// Begins a session with what another one has, up to and including an entry if one is given.
    pub fn fork(
        self,
        store: &SessionStore,
        session: &SessionInfo,
        id: Option<Uuid>,
        at: Option<Uuid>,
    ) -> Result<Pod, PodError> {
        let scope = self.scope()?;
        let Instructions { text, notices } = self.instructions(&scope);
        let text = Some(text).filter(|text| !text.is_empty());
        let mut opened = store.fork_with(session, scope.working_directory(), id, at, text)?;
        opened.notices.extend(notices);
        let (history, notices) = History::restore(opened)?;
        Ok(self.build(scope, history, notices))
    }

    /// What the project says now; nothing if it is not to be read.
    fn instructions(&self, scope: &Scope) -> Instructions {
        if self.reads_instructions {
            Instructions::read(scope.working_directory(), self.home.as_deref())
        } else {
            Instructions::default()
        }
    }

    /// The directories, and with them all that can be wrong with what was set up: it is told before
    /// a session is begun.
    fn scope(&self) -> Result<Scope, PodError> {
        // The calls of these names are what the task list is folded from.
        let mut names = self.extra_tools.iter().map(|tool| tool.name());
        if let Some(name) = names.find(|name| task::is_reserved(name)) {
            return Err(PodError::ReservedName(name.to_owned()));
        }
        let additional = self.additional_directories.iter().cloned();
        Scope::new(&self.directory, additional).map_err(|source| PodError::Directory {
            path: self.directory.clone(),
            source,
        })
    }

    fn build(self, scope: Scope, history: History, mut notices: Vec<String>) -> Pod {
        let directory = scope.working_directory().to_owned();
        let mut registry = Registry::new();
        let list_text_limit = compact::list_text_limit(self.model.capability().context_window);
        match self.task_tools {
            TaskTools::Four(dialect) => {
                for tool in task::all_in(history.tasks(), dialect) {
                    registry.add(tool);
                }
                let list = TaskList::new(history.tasks().clone())
                    .speaking(dialect)
                    .with_text_limit(list_text_limit);
                registry.add(Arc::new(list));
            }
            TaskTools::TodoWrite => {
                registry.add(Arc::new(task::todo_write::TodoWrite::new(
                    history.tasks().clone(),
                )));
            }
            TaskTools::None => {}
        }
        let files = Files {
            scope,
            tracker: Tracker::new(),
        };
        for tool in tools::fs::all(&files.scope, &files.tracker) {
            registry.add(tool);
        }
        let bash = Bash::new(files.scope.clone()).sandboxed(self.sandboxed);
        let confinement = bash.confinement();
        registry.add(Arc::new(bash));
        for tool in self.extra_tools {
            registry.add(tool);
        }
        for rule in self.allow.iter().chain(&self.deny) {
            if registry.get(rule.tool()).is_none() {
                notices.push(format!(
                    "the rule {rule} is about no tool of this session; names count in upper and lower case"
                ));
            }
        }
        let forbidden = |name: &str| {
            let mut rules = self.deny.iter();
            rules.any(|rule| rule.is_whole_tool() && rule.tool() == name)
        };
        registry.retain(|tool| (self.offered)(tool.name()) && !forbidden(tool.name()));
        let tool_specs = registry
            .iter()
            .map(|tool| ToolSpec {
                name: tool.name().to_owned(),
                description: tool.description().to_owned(),
                schema: tool.schema(),
            })
            .collect();
        let system_prompt = crate::prompt::system_prompt(
            self.system_prompt.as_deref(),
            self.appended_prompt.as_deref(),
            history
                .session()
                .instructions()
                .filter(|_| self.reads_instructions),
            &directory,
            &registry,
        );
        let reminder = Reminder::new(self.remind_after, self.task_tools, &registry);
        let permissions = Permissions {
            mode: self.mode,
            allow: self.allow,
            deny: self.deny,
            directory,
            scope: Some(files.scope.clone()),
            home: self.home,
        };
        Pod {
            parts: Parts {
                shared: Arc::new(Shared {
                    state: Mutex::new(State {
                        model: self.model,
                        permissions,
                        reasoning_tokens: self.reasoning_tokens,
                        cancel: CancellationToken::new(),
                        edits: VecDeque::new(),
                    }),
                }),
                registry,
                tool_specs,
                system_prompt,
                approver: self.approver,
                hooks: self.hooks,
                max_turns: self.max_turns,
                max_output_tokens: self.max_output_tokens,
                compact_limits: self.compact_limits,
                list_text_limit,
                files,
                reminder,
                breaker: Mutex::default(),
            },
            history,
            notices,
            confinement,
        }
    }
}
