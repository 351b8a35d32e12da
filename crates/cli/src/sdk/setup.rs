//! From the command line and the request `initialize` to a Pod.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use anyhow::Context as _;
use pod::session::{Disk, LogError, MemoryDisk, segment};
use pod::{Approver, Pod, Rule, SessionInfo, SessionStore, TaskTools};
use serde_json::{Value, json};
use tools::Tool;
use uuid::Uuid;

use super::approver::ProgramApprover;
use super::hooks::{ProgramHooks, SessionFacts};
use super::mcp::{self, Server};
use super::message::is_line_of;
use super::mirror;
use super::offer::{self, Wish};
use super::options::InputFormat;
use super::questions::Questions;
use super::settings::{self, Settings};
use super::state::SessionState;
use crate::args::RunOptions;
use crate::models::{self, Chosen};
use crate::{Usage, home, print, terminal};

/// How many tokens a model that finds the number itself may reason at the most, where the program
/// only says that it is to reason.
const REASONING: u32 = 16_000;

/// What is known before the program has said a word.
pub(super) struct Plan {
    pub(super) directory: PathBuf,
    store: SessionStore,
    session: Option<SessionInfo>,
    chosen: Chosen,
    settings: Settings,
    allow: Vec<Rule>,
    /// The tool servers inside the program.
    inside: Vec<String>,
    failed: Vec<Server>,
    known: Option<mirror::Extent>,
}

/// What connects the Pod with the program.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) questions: Questions,
    pub(super) state: SessionState,
    /// Why a hook wants all work to stop, if one does.
    pub(super) stop: Arc<Mutex<Option<String>>>,
}

/// A Pod at work for a program.
pub(super) struct Opened {
    pub(super) pod: Pod,
    pub(super) servers: Vec<Server>,
    pub(super) directory: PathBuf,
    /// How far the program's session store has the session.
    pub(super) known: Option<mirror::Extent>,
}

/// Reads the flags and finds the session. Errors here are told before anything has begun.
pub(super) fn plan(options: &RunOptions) -> anyhow::Result<Plan> {
    let directory = home::working_directory()?;
    let stored = home::session_store()?.durable(!options.no_sync);
    let known = match &options.resume {
        Some(id) => mirror::restore(&stored, &directory, id)?,
        None => None,
    };
    let session = session(options, &stored, &directory)?;
    let settings = match &options.sdk.settings {
        Some(text) => settings::read(text)?,
        None => Settings::default(),
    };
    let (inside, failed) = settings::servers(&options.sdk.mcp_config)?;
    let mut allow = Vec::new();
    for text in &options.allowed_tools {
        allow.extend(Rule::parse_list(text).map_err(Usage)?);
    }
    let answered = match &session {
        Some(info) if models::counts_answers(&options.model) => {
            print::answers_so_far(&stored, info)
        }
        _ => 0,
    };
    let chosen = choose(&options.model, answered)?;
    let store = if options.sdk.no_session_persistence {
        in_memory(&stored, session.as_ref())?
    } else {
        stored
    };
    Ok(Plan {
        directory,
        store,
        session,
        chosen,
        settings,
        allow,
        inside,
        failed,
        // A fork is a session that the store does not know.
        known: known.filter(|_| !options.fork_session),
    })
}

/// The model of this name. With a gateway in front of Anthropic's API, any name may be one of its
/// models.
pub(super) fn choose(name: &str, answered: usize) -> anyhow::Result<Chosen> {
    let has_gateway = std::env::var_os("ANTHROPIC_BASE_URL").is_some_and(|url| !url.is_empty());
    match models::choose(name, answered) {
        Err(error) if has_gateway && is_unknown(&error) => {
            models::choose(&format!("anthropic:{name}"), answered)
        }
        chosen => chosen,
    }
}

fn is_unknown(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(llm::ModelError::UnknownModel(_)))
}

/// The session to go on with. `--continue` where there is none begins one.
fn session(
    options: &RunOptions,
    store: &SessionStore,
    directory: &Path,
) -> anyhow::Result<Option<SessionInfo>> {
    if options.continue_last && store.list(directory)?.is_empty() {
        return Ok(None);
    }
    match print::session_to_go_on_with(options, store, directory) {
        Err(error) => match (error.downcast_ref(), &options.resume) {
            (Some(LogError::NotFound(_)), Some(id)) => Err(anyhow::anyhow!(
                "No conversation found with session ID: {id}"
            )),
            _ => Err(error),
        },
        found => found,
    }
}

/// A store that leaves nothing behind, with a copy of the session in it.
fn in_memory(store: &SessionStore, session: Option<&SessionInfo>) -> anyhow::Result<SessionStore> {
    let memory = MemoryDisk::new();
    if let Some(session) = session {
        memory.create_directory(&session.path)?;
        for number in 1..=session.segment {
            let path = session.path.join(format!("{number:04}.jsonl"));
            let mut bytes = Vec::new();
            store.disk().open_read(&path)?.read_to_end(&mut bytes)?;
            let mut file = memory.create_file(&path)?;
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let written = file.append(rest)?;
                rest = rest.get(written..).unwrap_or_default();
            }
        }
    }
    Ok(SessionStore::new(store.root()).with_disk(Arc::new(memory)))
}

/// Connects the tool servers and opens the session.
pub(super) async fn open(
    plan: Plan,
    options: &RunOptions,
    initialize: &Value,
    connection: &Connection,
) -> anyhow::Result<Opened> {
    let questions = &connection.questions;
    let mut servers = plan.failed;
    let mut extra_tools: Vec<Arc<dyn Tool>> = Vec::new();
    let named = initialize["sdkMcpServers"].as_array();
    let mut inside = plan.inside;
    for name in named.into_iter().flatten().filter_map(Value::as_str) {
        if !inside.iter().any(|it| it == name) {
            inside.push(name.to_owned());
        }
    }
    for name in &inside {
        let (server, tools) = mcp::connect(name, questions).await;
        if let Some(error) = &server.error {
            terminal::notice(&format!("the tool server {name} cannot be used: {error}"));
        }
        servers.push(server);
        extra_tools.extend(tools);
    }

    let facts = Arc::new(OnceLock::new());
    let handle = Arc::new(OnceLock::new());
    let approver = match options.sdk.permission_prompt_tool.as_deref() {
        Some("stdio") => Some(Arc::new(ProgramApprover {
            questions: questions.clone(),
            handle: Arc::clone(&handle),
            state: connection.state.clone(),
        }) as Arc<dyn Approver>),
        Some(name) => {
            terminal::notice(&format!(
                "--permission-prompt-tool {name} is not supported, only stdio; what needs permission is denied"
            ));
            None
        }
        None => None,
    };

    let mut builder = print::configure(options, &plan.chosen, &plan.directory)?
        .task_tools(task_tools(options, &plan.allow))
        .allow(expanded(&plan.allow, &servers))
        .allow(expanded(&plan.settings.allow, &servers))
        .deny(expanded(&plan.settings.deny, &servers));
    if let Some(mode) = plan.settings.mode
        && options.permission_mode == pod::PermissionMode::Default
    {
        builder = builder.permission_mode(mode);
    }
    for directory in &plan.settings.directories {
        builder = builder.add_directory(directory);
    }
    if let Some(names) = print::offered_tools(options) {
        // The flag is about built-in tools; those of the program are offered in any case.
        let inside: Vec<String> = extra_tools.iter().map(|it| it.name().to_owned()).collect();
        builder = builder.offer(move |name| names.iter().chain(&inside).any(|it| it == name));
    }
    if let Some(approver) = &approver {
        builder = builder.approver(Arc::clone(approver));
    }
    let hooks = ProgramHooks::new(
        &initialize["hooks"],
        questions.clone(),
        Arc::clone(&facts),
        approver,
        Arc::clone(&connection.stop),
    );
    if let Some(hooks) = hooks {
        builder = builder.hook(Arc::new(hooks));
    }
    for tool in extra_tools {
        builder = builder.tool(tool);
    }
    if let Some(path) = &options.sdk.system_prompt_file {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("the system prompt {} cannot be read", path.display()))?;
        builder = builder.system_prompt(text);
    }
    if let Some(parts) = initialize["systemPrompt"].as_array() {
        let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
        builder = builder.system_prompt(parts.join("\n\n"));
    }
    if let Some(text) = initialize["appendSystemPrompt"].as_str() {
        builder = builder.append_system_prompt(text);
    }
    if let Some(tokens) = reasoning(options) {
        builder = builder.reasoning_tokens(tokens);
    }
    for unused in ["agents", "jsonSchema", "skills"] {
        if initialize.get(unused).is_some_and(|it| !it.is_null()) {
            terminal::notice(&format!(
                "{unused} of the program are not supported and were ignored"
            ));
        }
    }

    let at = match (&plan.session, options.resume_session_at) {
        (Some(info), Some(line)) => Some(entry_of(&plan.store, info, line)),
        _ => None,
    };
    let pod = print::open_session(builder, options, at, &plan.store, plan.session.as_ref())?;
    let session = pod.session();
    let common = json!({
        "session_id": session.id(),
        "transcript_path": session.path().join(format!("{:04}.jsonl", session.segment())),
        "cwd": plan.directory,
    });
    if let Value::Object(common) = common {
        let _ = facts.set(SessionFacts {
            handle: pod.handle(),
            common,
        });
    }
    let _ = handle.set(pod.handle());
    connection.state.set_session(session.id());
    Ok(Opened {
        pod,
        servers,
        directory: plan.directory,
        known: plan.known,
    })
}

/// Which task tools there are. Only a program that drives Pod gets them by the page's rules: who types
/// `pod -p` gets the four, as always.
fn task_tools(options: &RunOptions, allow: &[Rule]) -> TaskTools {
    if options.sdk.input_format != InputFormat::StreamJson {
        return TaskTools::Four(tools::task::Dialect::AgentSdk);
    }
    let names = print::offered_tools(options);
    offer::task_tools(&Wish {
        model: &options.model,
        tools: names.as_deref(),
        allowed: allow,
        variable: &|name| std::env::var(name).ok(),
    })
}

/// Rules that name a whole server (`mcp__calc` or `mcp__calc__*`), as rules for each of its tools.
fn expanded(rules: &[Rule], servers: &[Server]) -> Vec<Rule> {
    let mut expanded = Vec::new();
    for rule in rules {
        let name = rule.tool().trim_end_matches('*').trim_end_matches("__");
        let server = servers
            .iter()
            .find(|it| mcp::tool_name(&it.name, "") == format!("{name}__"));
        match server {
            Some(server) if rule.is_whole_tool() => {
                expanded.extend(server.tools.iter().filter_map(|tool| tool.parse().ok()));
            }
            _ => expanded.push(rule.clone()),
        }
    }
    expanded
}

fn reasoning(options: &RunOptions) -> Option<u32> {
    match (
        options.sdk.thinking.as_deref(),
        options.sdk.max_thinking_tokens,
    ) {
        (Some("disabled"), _) => Some(0),
        (_, Some(tokens)) => Some(tokens),
        (Some("adaptive" | "enabled"), None) => Some(REASONING),
        (Some(other), None) => {
            terminal::notice(&format!("--thinking {other} is not known and was ignored"));
            None
        }
        (None, None) => None,
    }
}

/// The entry that a line of it was told of. A program knows the lines; if none fits, the session says
/// that it has no such entry.
fn entry_of(store: &SessionStore, session: &SessionInfo, line: Uuid) -> Uuid {
    for number in (1..=session.segment).rev() {
        let path = session.path.join(format!("{number:04}.jsonl"));
        let Ok(contents) = segment::read(store.disk(), &path, true) else {
            continue;
        };
        let mut entries = contents.entries.iter().map(|located| &located.entry);
        if let Some(entry) = entries.find(|entry| is_line_of(entry, line)) {
            return entry.id;
        }
    }
    line
}
