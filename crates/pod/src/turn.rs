//! The loop: ask the model, run its calls, until it is done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use llm::{
    AssistantMessage, Delta, Item, ModelError, Origin, Request, StopReason, SystemMessage,
    ToolResult, Usage, UserMessage, UserPart,
};
use tokio_util::sync::CancellationToken;

use crate::PodError;
use crate::admit::admit;
use crate::compact::{Ended, Trigger, compact, compact_if_due, show_task_list};
use crate::dispatch::{Dispatched, Next, denied_by_hook, run_calls};
use crate::edit::make_queued;
use crate::event::{Event, Outcome, Queue, Status};
use crate::history::History;
use crate::hook::{AtEnd, Prompt};
use crate::mention::{Mention, bring_in};
use crate::pod::Parts;
use crate::reminder::remind;
use crate::stuck::StuckGuard;

/// How often in a row the model may run into its output limit before the run ends.
const CUT_ANSWERS: u32 = 3;

/// What a run has come to so far. It outlives the loop, which an interruption drops where it is.
#[derive(Default)]
struct Progress {
    text: String,
    stop_reason: Option<StopReason>,
    turns: u32,
    usage: Usage,
    dispatched: Dispatched,
    model_duration: Duration,
    /// Whether the model has said that it is done. What comes behind that is no work of the run.
    completed: bool,
}

/// Why the loop ended.
enum End {
    Completed,
    MaxTurns,
    /// Somebody who was asked for permission ended the run.
    Denied,
}

/// Runs one prompt to its end. Dropping the future at any await leaves a history that the next run,
/// or a resume, can go on from.
pub(crate) async fn drive(
    parts: &Parts,
    history: &mut History,
    prompt: UserMessage,
    mentions: Vec<Mention>,
    cancel: CancellationToken,
    events: &Queue,
) -> Outcome {
    let start = Instant::now();
    let mut progress = Progress::default();
    let asked = tokio::select! {
        biased;
        notes = ask_about_prompt(parts, &prompt) => Some(notes),
        // What the hooks have not let pass does not enter the history.
        () = cancel.cancelled() => None,
    };
    let Some(notes) = asked else {
        let status = settle(parts, history, events, Ok(Status::Interrupted));
        return end(progress, status, history, start);
    };
    // From here on the prompt is in the history, however early the run is interrupted.
    let ended =
        if let Err(error) = notes.and_then(|notes| begin(parts, history, prompt, notes, events)) {
            Some(Err(error))
        } else {
            tokio::select! {
                biased;
                () = cancel.cancelled() => None,
                ended = async {
                    bring_in(parts, history, &mentions, events).await?;
                    turns(parts, history, events, &mut progress).await
                } => Some(ended),
            }
        };
    let status = match ended {
        None if progress.completed => Ok(Status::Completed),
        None | Some(Ok(End::Denied)) => end_interrupted(history, &progress.dispatched, events),
        Some(Ok(End::Completed)) => Ok(Status::Completed),
        Some(Ok(End::MaxTurns)) => Ok(Status::MaxTurns),
        Some(Err(error)) => Err(error),
    };
    let status = settle(parts, history, events, status);
    end(progress, status, history, start)
}

/// Makes the changes by hand that found no request to stand before.
fn settle(
    parts: &Parts,
    history: &mut History,
    events: &Queue,
    status: Result<Status, PodError>,
) -> Result<Status, PodError> {
    let settled = make_queued(parts, history, events);
    status.and_then(|status| settled.map(|()| status))
}

/// Compacts because somebody asked for it.
pub(crate) async fn drive_compaction(
    parts: &Parts,
    history: &mut History,
    cancel: CancellationToken,
    events: &Queue,
) -> Outcome {
    let start = Instant::now();
    let mut progress = Progress::default();
    let ended = if let Err(error) = close_dropped_calls(history, events) {
        Err(error)
    } else {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Ok(Status::Interrupted),
            ended = compact(parts, history, Trigger::Manual, &mut progress.usage, events) => {
                ended.and_then(|ended| match ended {
                    Ended::Done => Ok(Status::Completed),
                    Ended::NotDone(reason) => Err(PodError::NotCompacted(reason)),
                })
            }
        }
    };
    let ended = settle(parts, history, events, ended);
    end(progress, ended, history, start)
}

/// A run before this one may have been dropped in the middle of its calls.
fn close_dropped_calls(history: &mut History, events: &Queue) -> Result<(), PodError> {
    for committed in history.close_open_calls("interrupted; outcome unknown")? {
        events.push_committed(committed);
    }
    Ok(())
}

fn end(
    progress: Progress,
    status: Result<Status, PodError>,
    history: &mut History,
    start: Instant,
) -> Outcome {
    let status = match (status, history.sync()) {
        (Ok(status), Ok(())) => status,
        (Err(error), _) => Status::Failed(error),
        (Ok(_), Err(error)) => Status::Failed(error.into()),
    };
    Outcome {
        status,
        text: progress.text,
        stop_reason: progress.stop_reason,
        turns: progress.turns,
        usage: progress.usage,
        denials: progress.dispatched.denials,
        duration: start.elapsed(),
        model_duration: progress.model_duration,
    }
}

/// Lets the hooks have their say about the prompt. Gives what the model is to read behind it.
async fn ask_about_prompt(parts: &Parts, prompt: &UserMessage) -> Result<Vec<String>, PodError> {
    let says_something = prompt.content.iter().any(|part| match part {
        UserPart::Text(text) => !text.trim().is_empty(),
        UserPart::Image(_) => true,
    });
    if !says_something {
        return Err(PodError::EmptyPrompt);
    }
    let mut notes = Vec::new();
    for hook in &parts.hooks {
        match hook.before_prompt(prompt).await {
            Prompt::Continue => {}
            Prompt::Note(note) => notes.push(note),
            Prompt::Deny(reason) => {
                return Err(PodError::PromptDenied(denied_by_hook(hook.name(), &reason)));
            }
        }
    }
    Ok(notes)
}

/// Puts the prompt into the history.
fn begin(
    parts: &Parts,
    history: &mut History,
    prompt: UserMessage,
    notes: Vec<String>,
    events: &Queue,
) -> Result<(), PodError> {
    close_dropped_calls(history, events)?;
    make_queued(parts, history, events)?;
    events.push_committed(history.append(Item::User(prompt))?);
    for note in notes {
        append_note(history, Origin::Hook, &note, events)?;
    }
    Ok(())
}

/// Leaves a history that says where the run was interrupted.
fn end_interrupted(
    history: &mut History,
    dispatched: &Dispatched,
    events: &Queue,
) -> Result<Status, PodError> {
    let open: Vec<String> = history.open_calls().map(str::to_owned).collect();
    for id in open {
        let text = if dispatched.begun.contains(&id) {
            "interrupted by the user; outcome unknown"
        } else {
            "not run: the user interrupted the work before this call"
        };
        events.push_committed(history.append(Item::ToolResult(ToolResult::error(id, text)))?);
    }
    let text = "The user interrupted the work here.";
    append_note(history, Origin::Interruption, text, events)?;
    Ok(Status::Interrupted)
}

pub(crate) fn append_note(
    history: &mut History,
    origin: Origin,
    text: &str,
    events: &Queue,
) -> Result<(), PodError> {
    let committed = history.append(Item::System(SystemMessage {
        origin,
        text: text.to_owned(),
        data: None,
    }))?;
    events.push_committed(committed);
    Ok(())
}

async fn turns(
    parts: &Parts,
    history: &mut History,
    events: &Queue,
    progress: &mut Progress,
) -> Result<End, PodError> {
    let mut cut_answers = 0;
    let mut stuck = StuckGuard::default();
    // Whether a hook kept the run from ending.
    let mut kept_going = false;
    loop {
        if parts.max_turns.is_some_and(|most| progress.turns >= most) {
            return Ok(End::MaxTurns);
        }
        compact_if_due(
            parts,
            history,
            Trigger::BetweenRequests,
            &mut progress.usage,
            events,
        )
        .await?;
        let message = ask_or_compact(parts, history, events, progress).await?;
        progress.turns += 1;
        progress.usage += message.usage;
        progress.stop_reason = Some(message.stop_reason.clone());

        let admitted = admit(message, history);
        let text = admitted.message.joined_text();
        if !text.is_empty() {
            progress.text = text;
        }
        let committed = history.append(Item::Assistant(admitted.message))?;
        let item = Arc::clone(&committed.entry.item);
        events.push_committed(committed);
        let Item::Assistant(message) = &*item else {
            continue;
        };

        if message.calls().next().is_none() {
            if message.stop_reason != StopReason::MaxTokens || cut_answers == CUT_ANSWERS {
                if let Some(text) = reason_to_go_on(parts, &progress.text, kept_going).await {
                    kept_going = true;
                    append_note(history, Origin::Hook, &text, events)?;
                    continue;
                }
                progress.completed = true;
                compact_if_due(
                    parts,
                    history,
                    Trigger::AfterRun,
                    &mut progress.usage,
                    events,
                )
                .await?;
                return Ok(End::Completed);
            }
            cut_answers += 1;
            append_note(
                history,
                Origin::Interruption,
                "Your last answer reached the output limit and was cut off here; a tool call that it had begun was not run. Go on from there, in smaller steps.",
                events,
            )?;
        } else {
            cut_answers = 0;
            let dispatched = &mut progress.dispatched;
            let repeated = &admitted.repeated;
            let next = run_calls(parts, history, message, repeated, events, dispatched).await?;
            if next == Next::End {
                return Ok(End::Denied);
            }
            stuck.watch(message, next == Next::AllFailed)?;
        }
    }
}

/// Asks the hooks whether the run may end. Gives what the model is to read if it may not.
async fn reason_to_go_on(parts: &Parts, text: &str, again: bool) -> Option<String> {
    for hook in &parts.hooks {
        if let AtEnd::GoOn(reason) = hook.before_end(text, again).await {
            return Some(denied_by_hook(hook.name(), &reason));
        }
    }
    None
}

/// Asks the model for its next message, and once more behind a compaction if the prompt is too long.
async fn ask_or_compact(
    parts: &Parts,
    history: &mut History,
    events: &Queue,
    progress: &mut Progress,
) -> Result<AssistantMessage, PodError> {
    let reason = match ask(parts, history, events, progress).await {
        Err(PodError::Model(ModelError::PromptTooLong(reason))) => reason,
        result => return result,
    };
    let trigger = Trigger::PromptTooLong;
    match compact(parts, history, trigger, &mut progress.usage, events).await? {
        Ended::Done => ask(parts, history, events, progress).await,
        Ended::NotDone(why) => {
            let reason = format!("{reason}; and the history cannot be made smaller: {why}");
            Err(ModelError::PromptTooLong(reason).into())
        }
    }
}

/// Asks the model for its next message. This is where a request is built.
async fn ask(
    parts: &Parts,
    history: &mut History,
    events: &Queue,
    progress: &mut Progress,
) -> Result<AssistantMessage, PodError> {
    show_task_list(parts, history, events).await?;
    make_queued(parts, history, events)?;
    remind(parts, history, events)?;
    // What the model is about to see must outlive a power cut.
    history.sync()?;
    if cfg!(debug_assertions) {
        llm::rules::check(history.conversation().items())?;
    }
    let model = parts.shared.model();
    let request = Request {
        system: &parts.system_prompt,
        tools: &parts.tool_specs,
        conversation: history.conversation(),
        max_output_tokens: parts.max_output_tokens,
        reasoning_tokens: parts.shared.reasoning_tokens(),
    };
    let mut watch = |delta: Delta| events.push(Event::Preview(delta));
    let start = Instant::now();
    let message = model.respond(request, &mut watch).await;
    progress.model_duration += start.elapsed();
    Ok(message?)
}
