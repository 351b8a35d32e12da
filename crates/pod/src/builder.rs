//! [`Builder`]: how a [`Pod`] is set up.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use llm::{Model, ToolSpec};
use tools::bash::Bash;
use tools::fs::Scope;
use tools::task::list::TaskList;
use tools::task::{self, Dialect};
use tools::{Registry, Tool, Tracker};
use uuid::Uuid;

use crate::PodError;
use crate::compact::{self, CompactLimits, Files};
use crate::handle::Shared;
use crate::history::History;
use crate::hook::Hook;
use crate::instructions::Instructions;
use crate::permission::{Approver, PermissionMode, Permissions, Rule};
use crate::pod::{Parts, Pod};
use crate::reminder::{REMIND_AFTER, Reminder};
use crate::session::{SessionInfo, SessionStore};

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
    pub(crate) fn new(model: Arc<dyn Model>) -> Self {
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
                shared: Arc::new(Shared::new(self.model, permissions, self.reasoning_tokens)),
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
