//! `pod -p`: runs a prompt, prints the answer, ends.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use llm::StopReason;
use pod::{
    Builder, Event, Mention, Outcome, Pod, Rule, SessionInfo, SessionStore, Status, TaskTools,
};
use serde_json::{Value, json};
use tools::task;
use uuid::Uuid;

use crate::args::{OutputFormat, RunOptions};
use crate::models::{self, Chosen};
use crate::progress::{self, Progress};
use crate::sdk::options::InputFormat;
use crate::signals::StopSignals;
use crate::tasks::terminal::Terminal;
use crate::{Usage, compact, home, print_line, prompt, terminal};

/// Runs what the command line asks for.
pub(crate) fn run(options: &RunOptions) -> anyhow::Result<ExitCode> {
    let directory = home::working_directory()?;
    let store = home::session_store()?.durable(!options.no_sync);
    let session = session_to_go_on_with(options, &store, &directory)?;
    let answered = match &session {
        Some(info) if models::counts_answers(&options.model) => answers_so_far(&store, info),
        _ => 0,
    };
    let prompt = if models::brings_prompts(&options.model) && !prompt::is_given(options) {
        None
    } else {
        Some(prompt::read(options)?)
    };
    let mentions = Mention::all_in(&prompt::typed(options));
    let chosen = models::choose(&options.model, answered)?;
    // One thread is enough: what takes long is waiting.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime cannot start")?;
    runtime.block_on(async {
        let pod = open(options, &chosen, &store, session.as_ref(), &directory)?;
        if options.verbose {
            terminal::notice(pod.confinement().describe());
        }
        work(options, pod, &chosen, prompt, mentions).await
    })
}

/// The session that `--continue` or `--resume` means.
pub(crate) fn session_to_go_on_with(
    options: &RunOptions,
    store: &SessionStore,
    directory: &std::path::Path,
) -> anyhow::Result<Option<SessionInfo>> {
    let session = if options.continue_last || options.resume.is_some() {
        Some(home::session(store, directory, options.resume.as_deref())?)
    } else {
        None
    };
    if session.is_none() && (options.fork_session || options.resume_session_at.is_some()) {
        return Err(Usage(String::from(
            "--fork-session and --resume-session-at need a session: add --continue or --resume SESSION",
        ))
        .into());
    }
    if session.is_some() && options.session_id.is_some() && !options.fork_session {
        return Err(Usage(String::from(
            "--session-id names a new session; with --continue or --resume it needs --fork-session",
        ))
        .into());
    }
    Ok(session)
}

/// How many answers of the model a session has had, over all its segments.
pub(crate) fn answers_so_far(store: &SessionStore, session: &SessionInfo) -> usize {
    let mut seen = std::collections::HashSet::new();
    for number in 1..=session.segment {
        let path = session.path.join(format!("{number:04}.jsonl"));
        // What cannot be read is told when the session is opened.
        let Ok(contents) = pod::session::segment::read(store.disk(), &path, true) else {
            continue;
        };
        let answers = contents.entries.iter().filter(|located| {
            matches!(&*located.entry.item, llm::Item::Assistant(message) if message.model != pod::RUNTIME)
        });
        seen.extend(answers.map(|located| located.entry.id));
    }
    seen.len()
}

fn open(
    options: &RunOptions,
    chosen: &Chosen,
    store: &SessionStore,
    session: Option<&SessionInfo>,
    directory: &std::path::Path,
) -> anyhow::Result<Pod> {
    let builder = configure(options, chosen, directory)?;
    if session.is_none() {
        // The prompt follows at once, and nothing is told of the session before it.
        let pod = builder.start_with_first_entry(store, options.session_id)?;
        tell_notices(&pod);
        return Ok(pod);
    }
    open_session(builder, options, options.resume_session_at, store, session)
}

fn tell_notices(pod: &Pod) {
    for notice in pod.notices() {
        terminal::notice(notice);
    }
}

/// Begins, resumes or forks a session, as the command line says, and goes back to an entry if one is
/// given.
pub(crate) fn open_session(
    builder: Builder,
    options: &RunOptions,
    at: Option<Uuid>,
    store: &SessionStore,
    session: Option<&SessionInfo>,
) -> anyhow::Result<Pod> {
    let pod = match session {
        None => builder.start(store, options.session_id)?,
        Some(info) if options.fork_session => builder.fork(store, info, options.session_id, at)?,
        Some(info) => {
            let mut pod = builder.resume(store, info, options.salvage)?;
            if let Some(entry) = at {
                for notice in pod.rewind(entry)? {
                    terminal::notice(&notice);
                }
            }
            pod
        }
    };
    tell_notices(&pod);
    Ok(pod)
}

/// A Pod as the command line wants it.
pub(crate) fn configure(
    options: &RunOptions,
    chosen: &Chosen,
    directory: &std::path::Path,
) -> anyhow::Result<Builder> {
    let rules = |texts: &[String]| -> anyhow::Result<Vec<Rule>> {
        let mut rules = Vec::new();
        for text in texts {
            rules.extend(Rule::parse_list(text).map_err(Usage)?);
        }
        Ok(rules)
    };
    let mut builder = Pod::builder(Arc::clone(&chosen.model))
        .directory(directory)
        .permission_mode(options.permission_mode)
        .compact_limits(options.compact.limits())
        .remind_after(options.remind_after)
        .project_instructions(reads_instructions(options))
        .sandbox(!options.no_sandbox)
        .allow(rules(&options.allowed_tools)?)
        .deny(rules(&options.disallowed_tools)?);
    if let Some(home) = dirs::home_dir() {
        builder = builder.home_directory(home);
    }
    for directory in &options.add_dir {
        builder = builder.add_directory(directory);
    }
    if let Some(names) = offered_tools(options) {
        builder = builder.offer(move |name| names.iter().any(|it| it == name));
    }
    if let Some(text) = &options.system_prompt {
        builder = builder.system_prompt(text);
    }
    if let Some(text) = &options.append_system_prompt {
        builder = builder.append_system_prompt(text);
    }
    if let Some(turns) = options.max_turns {
        builder = builder.max_turns(turns);
    }
    if let Some(tokens) = options.max_output_tokens {
        builder = builder.max_output_tokens(tokens);
    }
    if let Some(recorded) = &chosen.recorded {
        for warning in recorded.warnings() {
            terminal::notice(warning);
        }
        for tool in models::recorded_tools(recorded) {
            builder = builder.tool(tool);
        }
        let names = recorded.tool_names();
        let has = |name: &str| names.iter().any(|it| it == name);
        if has(task::todo_write::NAME) && !has(task::create::NAME) {
            builder = builder.task_tools(TaskTools::TodoWrite);
        }
    }
    Ok(builder)
}

/// Whether the instructions of the project are read. A program gets them if it asks for the settings of
/// the project, as the Agent SDK has it; who types a prompt gets them anyway.
fn reads_instructions(options: &RunOptions) -> bool {
    let asked = match &options.sdk.setting_sources {
        Some(names) => names.split(',').any(|name| name.trim() == "project"),
        None => options.sdk.input_format == InputFormat::Text,
    };
    asked && !options.bare
}

/// The names that `--tools` restricts the built-in tools to, if it does.
pub(crate) fn offered_tools(options: &RunOptions) -> Option<Vec<String>> {
    let names = options.tools.as_ref()?;
    let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
    let are_all = names.iter().any(|name| name == "default");
    (!are_all).then_some(names)
}

/// Runs the prompt, or the prompts of a recording, and prints the answer.
async fn work(
    options: &RunOptions,
    mut pod: Pod,
    chosen: &Chosen,
    prompt: Option<String>,
    mentions: Vec<Mention>,
) -> anyhow::Result<ExitCode> {
    let mut prompt = prompt;
    let mut mentions = mentions;
    let mut outcome = None;
    loop {
        let text = match (prompt.take(), &chosen.recorded) {
            (Some(text), _) => text,
            (None, Some(recorded)) => match recorded.next_prompt() {
                Some(text) => text.to_owned(),
                None => break,
            },
            (None, None) => break,
        };
        let finished = one_run(options, &mut pod, text, std::mem::take(&mut mentions)).await;
        let completed = matches!(finished.status, Status::Completed);
        outcome = Some(finished);
        if !completed {
            break;
        }
    }
    let Some(outcome) = outcome else {
        return Err(Usage(String::from("the recording has nothing left to play")).into());
    };
    report(options, &pod, &outcome)
}

async fn one_run(
    options: &RunOptions,
    pod: &mut Pod,
    prompt: String,
    mentions: Vec<Mention>,
) -> Arc<Outcome> {
    let handle = pod.handle();
    // They are caught from here on: a command of the run must not begin before.
    let signals = StopSignals::new();
    let interrupts = tokio::spawn(async move {
        if let Ok(mut signals) = signals {
            signals.next().await;
            handle.interrupt();
            // Whoever asks twice does not want to wait for an orderly end.
            signals.next().await;
            leave_at_once();
        }
    });
    let tasks = pod.tasks().clone();
    let progress = Progress::new(options);
    let mut run = pod.run_with(prompt, mentions);
    let outcome = loop {
        let event = match run.next().await {
            Some(Event::Finished(outcome)) => break outcome,
            Some(event) => event,
            None => break run.outcome().await,
        };
        let notice = match &event {
            Event::Warning(text) => Some(text.clone()),
            Event::Compaction(compaction) => compact::told(compaction),
            _ => None,
        };
        if let Some(text) = notice.filter(|_| !options.quiet) {
            progress.say(|| terminal::notice(&text));
        }
        progress.update(&event, &tasks);
    };
    progress.end();
    interrupts.abort();
    outcome
}

/// Ends the process as a shell expects it of one that was interrupted. What was told is in the log.
#[expect(clippy::exit, reason = "this is what was asked for, twice")]
fn leave_at_once() -> ! {
    std::process::exit(130)
}

fn report(options: &RunOptions, pod: &Pod, outcome: &Outcome) -> anyhow::Result<ExitCode> {
    match options.output_format {
        // Not reached: that protocol has a road of its own.
        OutputFormat::StreamJson => {}
        OutputFormat::Json => print_line(&result_object(pod, outcome).to_string())?,
        OutputFormat::Text => {
            if !outcome.text.is_empty() {
                let mut out = std::io::stdout().lock();
                // A pipe gets what the model said, byte for byte; a terminal nothing that drives it.
                if out.is_terminal() {
                    out.write_all(terminal::clean(&outcome.text).as_bytes())?;
                } else {
                    out.write_all(outcome.text.as_bytes())?;
                }
                if !outcome.text.ends_with('\n') {
                    out.write_all(b"\n")?;
                }
                out.flush()?;
            }
        }
    }
    match &outcome.stop_reason {
        Some(StopReason::MaxTokens) => terminal::notice(
            "the answer reached the output limit and is cut; --max-output-tokens raises it",
        ),
        Some(StopReason::Refusal) => terminal::notice("the model refused to go on"),
        _ => {}
    }
    let id = pod.session().id();
    let code = match &outcome.status {
        Status::Completed => ExitCode::SUCCESS,
        Status::MaxTurns => {
            terminal::notice(&format!(
                "stopped at --max-turns {}; go on with --resume {id}",
                outcome.turns
            ));
            ExitCode::FAILURE
        }
        Status::Interrupted => {
            terminal::notice(&format!("interrupted; go on with --resume {id}"));
            ExitCode::FAILURE
        }
        Status::Failed(error) => {
            // A session that cannot be written must not be promised.
            let hint = if matches!(error, pod::PodError::Log(_)) {
                String::new()
            } else {
                format!("\nThe session is kept; go on with --resume {id}")
            };
            terminal::notice(&format!("{error}{hint}"));
            return Ok(ExitCode::FAILURE);
        }
        _ => ExitCode::FAILURE,
    };
    if !options.quiet && terminal::is_watched() && pod.tasks().counts().kept() > 0 {
        for line in progress::final_list(pod.tasks(), Terminal::of_stderr()) {
            terminal::painted(&line);
        }
    }
    Ok(code)
}

/// What `--output-format json` prints.
fn result_object(pod: &Pod, outcome: &Outcome) -> Value {
    let (subtype, errors) = match &outcome.status {
        Status::Completed => ("success", Vec::new()),
        Status::MaxTurns => (
            "error_max_turns",
            vec![format!(
                "Reached maximum number of turns ({})",
                outcome.turns
            )],
        ),
        Status::Interrupted => (
            "error_during_execution",
            vec![String::from("interrupted by the user")],
        ),
        Status::Failed(error) => ("error_during_execution", vec![error.to_string()]),
        _ => ("error_during_execution", Vec::new()),
    };
    let denials: Vec<Value> = outcome
        .denials
        .iter()
        .map(|call| {
            json!({
                "tool_name": call.name,
                "tool_use_id": call.id,
                "tool_input": call.arguments.parse().unwrap_or(Value::Null),
            })
        })
        .collect();
    json!({
        "type": "result",
        "subtype": subtype,
        "is_error": subtype != "success",
        "result": outcome.text,
        "errors": errors,
        "stop_reason": outcome.stop_reason.as_ref().map(StopReason::as_str),
        "session_id": pod.session().id(),
        "num_turns": outcome.turns,
        "duration_ms": u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        "duration_api_ms": u64::try_from(outcome.model_duration.as_millis()).unwrap_or(u64::MAX),
        "usage": {
            "input_tokens": outcome.usage.input,
            "cache_read_tokens": outcome.usage.cache_read,
            "cache_write_tokens": outcome.usage.cache_write,
            "output_tokens": outcome.usage.output,
        },
        "permission_denials": denials,
        "tasks": pod.tasks(),
        "counts": pod.tasks().counts(),
    })
}
