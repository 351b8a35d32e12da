//! Runs the calls of one message.
//!
//! Results enter the history in call order. Calls that only read may run side by side; task calls
//! run at their turn, when everything before them is in the history, so that a read sees the writes
//! before it; a call that edits or executes runs alone.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use llm::{Arguments, AssistantMessage, Item, JsonText, Origin, ToolCall, ToolResult};
use serde_json::Value;
use tools::bounded::{RESULT_LIMIT, head, middle_out};
use tools::{Call, Effect, Tool, ToolError, ToolOutput};

use crate::event::Queue;
use crate::hook::{After, Before, HookCall};
use crate::permission::{Answer, Question, Verdict};
use crate::pod::Parts;
use crate::turn::append_note;
use crate::{PodError, history::History};

/// What became of the calls of a run, beyond their results.
#[derive(Debug, Default)]
pub(crate) struct Dispatched {
    /// The calls that were not allowed to run.
    pub(crate) denials: Vec<ToolCall>,
    /// The ids of the calls whose tool was started and may have done something. What a task call
    /// does, it does when its result enters the history, so it is not among them.
    pub(crate) begun: HashSet<String>,
}

/// What the run is to do after the calls of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Ask the model again.
    GoOn,
    /// The same; all calls failed.
    AllFailed,
    /// End: somebody who denied a call wants so.
    End,
}

/// Runs the calls of a message and appends their results.
pub(crate) async fn run_calls(
    parts: &Parts,
    history: &mut History,
    message: &AssistantMessage,
    repeated: &HashSet<String>,
    events: &Queue,
    dispatched: &mut Dispatched,
) -> Result<Next, PodError> {
    dispatched.begun.clear();
    let mut dispatch = Dispatch {
        parts,
        history,
        repeated,
        events,
        dispatched,
        notes: Vec::new(),
        succeeded: false,
        end: false,
    };
    let calls: Vec<&ToolCall> = message.calls().collect();
    let mut rest = calls.as_slice();
    while !rest.is_empty() && !dispatch.end {
        // The calls up to the next one that must run alone, or that one.
        let harmless = |call: &&&ToolCall| {
            let effect = parts.registry.get(&call.name).map(|tool| tool.effect());
            !matches!(effect, Some(Effect::Edit | Effect::Execute))
        };
        let length = rest.iter().take_while(harmless).count().max(1);
        let (group, later) = rest.split_at(length);
        rest = later;
        dispatch.run_group(group).await?;
    }
    for call in rest {
        let text = "not run: the user ended the run before this call";
        dispatch.commit(ToolResult::error(&call.id, text))?;
    }
    for note in std::mem::take(&mut dispatch.notes) {
        append_note(dispatch.history, Origin::Hook, &note, events)?;
    }
    Ok(match (dispatch.end, dispatch.succeeded) {
        (true, _) => Next::End,
        (false, false) => Next::AllFailed,
        (false, true) => Next::GoOn,
    })
}

/// The calls of one message while they are run.
struct Dispatch<'a> {
    parts: &'a Parts,
    history: &'a mut History,
    repeated: &'a HashSet<String>,
    events: &'a Queue,
    dispatched: &'a mut Dispatched,
    /// What hooks have to say, for behind the results.
    notes: Vec<String>,
    /// Whether a call succeeded.
    succeeded: bool,
    /// Whether somebody who denied a call wants the run to end.
    end: bool,
}

/// A call that may run, with what it runs with.
struct Ready {
    tool: Arc<dyn Tool>,
    arguments: Value,
    changed: bool,
}

impl Dispatch<'_> {
    /// Runs calls of which one may edit or execute if it is the only one.
    async fn run_group(&mut self, group: &[&ToolCall]) -> Result<(), PodError> {
        // What does not run has its result by now.
        let mut prepared = Vec::with_capacity(group.len());
        for call in group {
            prepared.push(self.prepare(call).await);
        }
        let mut side = Reads::default();
        for (index, (prepared, call)) in prepared.iter().zip(group).enumerate() {
            let Ok(ready) = prepared else { continue };
            if ready.tool.effect() != Effect::Task {
                self.dispatched.begun.insert(call.id.clone());
            }
            if ready.tool.effect() == Effect::Read {
                let read = async move { (index, run(ready, call).await) };
                side.running.push(Box::pin(read));
            }
        }
        for (index, (prepared, call)) in prepared.iter().zip(group).enumerate() {
            let result = match prepared {
                Err(refused) => ToolResult::error(&call.id, refused),
                Ok(ready) => {
                    let result = match ready.tool.effect() {
                        Effect::Read => side.take(index, call).await,
                        _ => side.beside(run(ready, call)).await,
                    };
                    let hooks = after_hooks(self.parts, call, &ready.arguments, result);
                    let (result, notes) = side.beside(hooks).await;
                    self.notes.extend(notes);
                    result
                }
            };
            self.commit(result)?;
        }
        Ok(())
    }

    /// Finds the tool, lets hooks and permissions have their say. An error is why the call does not
    /// run, for the model.
    async fn prepare(&mut self, call: &ToolCall) -> Result<Ready, String> {
        if self.repeated.contains(&call.id) {
            return Err(String::from(
                "not run: this repeats an earlier call of the same message, with the same id",
            ));
        }
        let Some(tool) = self.parts.registry.get(&call.name) else {
            return Err(self.no_such_tool(&call.name));
        };
        let sent = parse(&call.arguments)?;
        match self.permit(call, &**tool, &sent).await {
            Ok(changed) => Ok(Ready {
                tool: Arc::clone(tool),
                changed: changed.is_some(),
                arguments: changed.unwrap_or(sent),
            }),
            Err(reason) => {
                self.dispatched.denials.push(call.clone());
                Err(middle_out(&reason, RESULT_LIMIT))
            }
        }
    }

    fn no_such_tool(&self, name: &str) -> String {
        let names: Vec<&str> = self.parts.registry.iter().map(|tool| tool.name()).collect();
        let name = head(name, 60);
        if names.is_empty() {
            format!("there is no tool `{name}`: this session has no tools")
        } else {
            let names = middle_out(&names.join(", "), 1_000);
            format!("there is no tool `{name}`; the tools are: {names}")
        }
    }

    /// Asks hooks, rules and the approver. Gives the arguments to run with, where they are not those
    /// that were sent; an error is why the call is denied.
    async fn permit(
        &mut self,
        call: &ToolCall,
        tool: &dyn Tool,
        sent: &Value,
    ) -> Result<Option<Value>, String> {
        let mut changed = None;
        let mut allowed = false;
        for hook in &self.parts.hooks {
            let question = HookCall {
                id: &call.id,
                name: &call.name,
                arguments: changed.as_ref().unwrap_or(sent),
            };
            match hook.before_tool(question).await {
                Before::Continue => {}
                Before::Change(arguments) => {
                    // What was allowed before was allowed for other arguments.
                    allowed = false;
                    changed = Some(arguments);
                }
                Before::Allow { changed_arguments } => {
                    allowed = true;
                    changed = changed_arguments.or(changed);
                }
                Before::Deny(reason) => return Err(denied_by_hook(hook.name(), &reason)),
            }
        }

        let arguments = changed.as_ref().unwrap_or(sent);
        let verdict = self.parts.shared.permissions().judge(tool, arguments);
        match verdict {
            Verdict::Allow => {}
            Verdict::Ask(_) if allowed => {}
            Verdict::Deny(reason) | Verdict::Ask(Some(reason)) => {
                return Err(format!(
                    "permission denied: {reason}. Do not repeat the call"
                ));
            }
            Verdict::Ask(None) => match self.ask(call, tool, arguments).await {
                Answer::Allow { changed_arguments } => {
                    // What forbids wins over everything, also over who was asked.
                    if let Some(arguments) = &changed_arguments
                        && let Verdict::Deny(reason) =
                            self.parts.shared.permissions().judge(tool, arguments)
                    {
                        return Err(format!("permission denied: {reason}"));
                    }
                    changed = changed_arguments.or(changed);
                }
                Answer::Deny { reason, interrupt } => {
                    self.end |= interrupt;
                    return Err(if reason.trim().is_empty() {
                        String::from("permission denied: the user gave no reason")
                    } else {
                        format!("permission denied: {reason}")
                    });
                }
            },
        }
        Ok(changed.filter(|arguments| arguments != sent))
    }

    async fn ask(&self, call: &ToolCall, tool: &dyn Tool, arguments: &Value) -> Answer {
        let Some(approver) = &self.parts.approver else {
            return Answer::Deny {
                reason: format!(
                    "{} needs permission and nobody is there to give it. The user can allow it with --allowedTools or --permission-mode",
                    call.name
                ),
                interrupt: false,
            };
        };
        let target = tool.target(arguments);
        approver
            .ask(Question {
                call_id: &call.id,
                tool: &call.name,
                target: target.as_deref(),
                arguments,
            })
            .await
    }

    /// Appends a result and tells about it. Nothing is awaited between this and what it tells, so
    /// that no interruption can fall between them.
    fn commit(&mut self, result: ToolResult) -> Result<(), PodError> {
        self.succeeded |= !result.is_error;
        let committed = self.history.append(Item::ToolResult(result))?;
        self.events.push_committed(committed);
        Ok(())
    }
}

/// The calls of a group that read. They go on while other calls of the group have their turn.
#[derive(Default)]
struct Reads<'a> {
    running: FuturesUnordered<BoxFuture<'a, (usize, ToolResult)>>,
    finished: HashMap<usize, ToolResult>,
}

impl Reads<'_> {
    /// Waits for the read at this index of the group.
    async fn take(&mut self, index: usize, call: &ToolCall) -> ToolResult {
        loop {
            if let Some(result) = self.finished.remove(&index) {
                return result;
            }
            match self.running.next().await {
                Some((index, result)) => self.finished.insert(index, result),
                // Every read of the group is started, so this does not happen.
                None => return ToolResult::error(&call.id, "the call was lost"),
            };
        }
    }

    /// Does something else while the reads go on.
    async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                result = &mut work => return result,
                Some((index, result)) = self.running.next() => {
                    self.finished.insert(index, result);
                }
            }
        }
    }
}

/// The arguments as data. Some models send the object as a JSON string; what hooks, rules and tools
/// see is the object.
fn parse(arguments: &Arguments) -> Result<Value, String> {
    let value = arguments.parse().map_err(|error| {
        format!("the arguments are not valid JSON: {error}. Send one JSON object")
    })?;
    Ok(match value {
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(object @ Value::Object(_)) => object,
            _ => Value::String(text),
        },
        value => value,
    })
}

pub(crate) fn denied_by_hook(name: &str, reason: &str) -> String {
    if reason.trim().is_empty() {
        format!("refused by the hook {name}, which gave no reason")
    } else {
        reason.to_owned()
    }
}

/// Runs one call.
async fn run(ready: &Ready, call: &ToolCall) -> ToolResult {
    let output = ready
        .tool
        .call(Call {
            id: &call.id,
            arguments: &ready.arguments,
        })
        .await;
    let (is_error, output) = match output {
        Ok(output) => (false, output),
        Err(ToolError { message, value }) => (
            true,
            ToolOutput {
                summary: message,
                content: None,
                value,
            },
        ),
    };
    ToolResult {
        call_id: call.id.clone(),
        is_error,
        // Tools bound what they give; this holds for those that do not.
        summary: bounded(output.summary),
        content: output.content.map(bounded),
        value: output.value.map(JsonText::from),
        changed_arguments: ready.changed.then(|| Arguments::from(&ready.arguments)),
    }
}

fn bounded(text: String) -> String {
    // A little more than the limit, so that a note that a tool added is not cut off again.
    if text.len() <= RESULT_LIMIT + 2_000 {
        text
    } else {
        middle_out(&text, RESULT_LIMIT)
    }
}

async fn after_hooks(
    parts: &Parts,
    call: &ToolCall,
    arguments: &Value,
    mut result: ToolResult,
) -> (ToolResult, Vec<String>) {
    let mut notes = Vec::new();
    for hook in &parts.hooks {
        let question = HookCall {
            id: &call.id,
            name: &call.name,
            arguments,
        };
        match hook.after_tool(question, &result).await {
            After::Keep => {}
            After::Note(text) => notes.push(middle_out(&text, RESULT_LIMIT)),
            After::Fail(reason) => {
                let text = middle_out(&denied_by_hook(hook.name(), &reason), RESULT_LIMIT);
                result = ToolResult {
                    changed_arguments: result.changed_arguments,
                    ..ToolResult::error(&call.id, text)
                };
            }
        }
    }
    (result, notes)
}
