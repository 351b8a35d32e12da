//! A model that says what a script tells it to, for tests and the demonstration.
//!
//! # The text form
//!
//! ```
//! let script = llm::scripted::Scripted::parse(r#"
//! ## A line that begins with `#` is a comment.
//! model: demo-1
//! window: 200000
//!
//! user: plan the parser
//! assistant: Two steps.
//!   > TaskCreate {"subject":"lexer","description":"Tokens with positions."}
//!   > TaskCreate #call_parser {
//!       "subject": "parser",
//!       "description": "Recursive descent."
//!     }
//! usage: input=1200 cached=1000 output=50
//!
//! expect: 2 tasks
//! fault: overloaded 2
//! assistant:
//!   thinking: The lexer comes first. | c2lnbmF0dXJl
//!   A text may go over
//!   several lines.
//!   > TaskUpdate! {"taskid": 1, "status":
//!
//! delay: 50ms
//! assistant: Done.
//!
//! lane: write_summary
//! assistant:
//!   > write_summary {"text":"The parser is planned."}
//! "#)?;
//! assert_eq!(script.answers(), 4);
//! # Ok::<(), llm::ModelError>(())
//! ```
//!
//! A script is a row of steps, and **each request takes the next step**, whether the step answers or
//! fails, and also when the request is dropped on the way. Only a request that breaks an expectation
//! leaves its step where it is. When there is no step left, the answer is [`ModelError::Script`].
//!
//! | line | meaning |
//! | --- | --- |
//! | `assistant: TEXT` | A step that answers. Indented lines below belong to it: text, `thinking: TEXT \| SIGNATURE` (the signature may be missing), and calls. A leading `\` keeps such a line text. |
//! | `> NAME JSON` | A call. The JSON may go over several lines; without any it is `{}`. The id is `call_1`, `call_2`, ..., never one that the conversation has. |
//! | `> NAME #ID JSON` | The same with a given id. |
//! | `> NAME! TEXT` | A call whose argument text is `TEXT` as it is, for broken arguments. |
//! | `fault: KIND N` | `N` steps (without `N` one) that fail, see [`Fault`]. |
//! | `user: TEXT` | Expects that the last user message contains the text when the next step is taken. |
//! | `expect: TEXT` | Expects that a result since the last answer contains the text when the next step is taken. |
//! | `usage: input=N cached=N written=N output=N` | The usage of the answer above. Without it, it is estimated as a quarter of the bytes. |
//! | `stop: REASON` | The stop reason of the answer above, such as `max_tokens`. |
//! | `delay: 50ms` | The pause before each delta of the answers below (`ms` or `s`). |
//! | `lane: TOOL` | The steps below answer requests that offer this tool, in a row of their own: so a compaction can be scripted without disturbing the main row. `lane: main` returns to that. |
//! | `model: NAME`, `window: TOKENS` | The name in answers, and the context window. |
//!
//! # The JSON form
//!
//! A list of turns, or an object `{"model", "window", "turns"}`. The keys of a turn are named after the
//! lines of the text form; `lane` and `delay_ms` hold for the turn that they stand in.
//!
//! ```
//! let script = llm::scripted::Scripted::parse(r#"[
//!   {"user": "plan the parser", "text": "Two steps.", "calls": [
//!     ["TaskCreate", {"subject": "lexer", "description": "Tokens."}],
//!     {"name": "TaskCreate", "id": "call_parser", "arguments": {"subject": "parser"}},
//!     {"name": "TaskUpdate", "arguments": "not json"}
//!   ], "usage": {"input": 1200, "cached": 1000, "output": 50}},
//!   {"expect": "2 tasks", "fault": "overloaded", "times": 2},
//!   {"thinking": "Short.", "signature": "c2ln", "text": "Done.", "delay_ms": 50}
//! ]"#)?;
//! assert_eq!(script.answers(), 2);
//! # Ok::<(), llm::ModelError>(())
//! ```
//!
//! # Going on in another process
//!
//! A session that is resumed goes on with the same script by [`Scripted::start_at`]: the main row
//! begins behind as many answers as the session has had from the model. Faults that stand between
//! those answers are over; those right behind the last one come (again).

mod answer;
mod fault;
mod json;
mod script;
mod seen;
mod text;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

pub use crate::outline::outline;
use crate::playback::{self, Limit};
use crate::{
    AssistantBlock, AssistantMessage, Capability, Delta, Item, Model, ModelError, Request, Usage,
};
pub use answer::Answer;
pub use fault::Fault;
use script::{Lane, Script, Step};
use seen::{CALL_PREFIX, Seen};

/// A model whose answers come from a script or from a function; see the module's page.
pub struct Scripted {
    name: String,
    answers_as: String,
    capability: Capability,
    source: Source,
    keeps_requests: bool,
    state: Mutex<State>,
}

enum Source {
    Script(Vec<Lane>),
    Function(Mutex<Box<Respond>>),
}

type Respond = dyn FnMut(&Request<'_>) -> Result<AssistantMessage, ModelError> + Send;

#[derive(Default)]
struct State {
    /// The next step of each lane.
    positions: Vec<usize>,
    /// How many call ids were given out.
    calls: u64,
    seen: Seen,
    requests: Vec<SeenRequest>,
}

/// A request that a [`Scripted`] was asked.
#[derive(Clone, Debug)]
pub struct SeenRequest {
    /// The system prompt.
    pub system: String,
    /// The names of the tools that were offered.
    pub tools: Vec<String>,
    /// The conversation.
    pub items: Vec<Arc<Item>>,
    /// The most tokens that the answer may have.
    pub max_output_tokens: Option<u32>,
    /// The reasoning budget in tokens.
    pub reasoning_tokens: Option<u32>,
}

impl Scripted {
    /// Reads a script, in the text form or as JSON; which one it is, its first character tells.
    ///
    /// # Errors
    /// [`ModelError::Script`] names the line (or turn) and what is wrong with it.
    pub fn parse(script: &str) -> Result<Self, ModelError> {
        let script = if script.trim_start().starts_with(['[', '{']) {
            json::parse(script)?
        } else {
            text::parse(script)?
        };
        Ok(Self::from_script(script))
    }

    /// A model that gives these answers, one a request.
    pub fn from_answers(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut script = Script::default();
        for (index, answer) in answers.into_iter().enumerate() {
            script.push_answer(format!("answer {}", index + 1), answer);
        }
        Self::from_script(script)
    }

    /// A model that answers with what a function makes of the request. A call with an empty id gets a
    /// fresh one; usage that is zero is estimated.
    pub fn from_fn(
        name: impl Into<String>,
        capability: Capability,
        respond: impl FnMut(&Request<'_>) -> Result<AssistantMessage, ModelError> + Send + 'static,
    ) -> Self {
        let name = name.into();
        Self {
            answers_as: name.clone(),
            name,
            capability,
            source: Source::Function(Mutex::new(Box::new(respond))),
            keeps_requests: false,
            state: Mutex::default(),
        }
    }

    fn from_script(script: Script) -> Self {
        let name = script.model.unwrap_or_else(|| String::from("scripted"));
        Self {
            answers_as: name.clone(),
            name,
            capability: Capability {
                context_window: script.window.unwrap_or(200_000),
                max_output_tokens: 32_000,
                system_in_conversation: true,
                ..Capability::default()
            },
            state: Mutex::new(State {
                positions: vec![0; script.lanes.len()],
                ..State::default()
            }),
            source: Source::Script(script.lanes),
            keeps_requests: false,
        }
    }

    /// Sets what [`Model::name`] returns, such as `scripted:FILE`. Answers keep the script's name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets what is known of the model.
    pub fn with_capability(mut self, capability: Capability) -> Self {
        self.capability = capability;
        self
    }

    /// Keeps what is asked, for [`Scripted::requests`]. Each request then costs a pointer an item.
    pub fn keep_requests(mut self) -> Self {
        self.keeps_requests = true;
        self
    }

    /// Begins the main row behind its `answered`-th answer, for a session that is resumed: give the
    /// number of answers that the session has had. Without effect on a function.
    pub fn start_at(self, answered: usize) -> Self {
        if let Source::Script(lanes) = &self.source
            && let Some(main) = lanes.first()
        {
            let skipped = main.steps_through(answered);
            let calls = main.fresh_calls(skipped);
            let mut state = self.state();
            if let Some(position) = state.positions.first_mut() {
                *position = skipped;
            }
            state.calls = calls;
        }
        self
    }

    /// How many answers the script has, in all its rows. Zero for a function.
    pub fn answers(&self) -> usize {
        match &self.source {
            Source::Script(lanes) => lanes.iter().map(Lane::answers).sum(),
            Source::Function(_) => 0,
        }
    }

    /// What was asked so far, if [`Scripted::keep_requests`] was set.
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides what the request gets.
    fn take(&self, request: &Request<'_>) -> Result<Outcome, ModelError> {
        if self.keeps_requests {
            self.state().requests.push(SeenRequest::from(request));
        }
        match &self.source {
            Source::Script(lanes) => self.take_step(lanes, request),
            Source::Function(respond) => {
                let message = {
                    let mut respond = respond.lock().unwrap_or_else(PoisonError::into_inner);
                    (*respond)(request)?
                };
                Ok(Outcome {
                    message: self.complete(message, request, &mut self.state()),
                    fault: None,
                    pause: Duration::ZERO,
                })
            }
        }
    }

    fn take_step(&self, lanes: &[Lane], request: &Request<'_>) -> Result<Outcome, ModelError> {
        let mut state = self.state();
        let chosen = script::choose_lane(lanes, request.tools);
        let (Some(lane), Some(position)) = (lanes.get(chosen), state.positions.get_mut(chosen))
        else {
            return Err(script::run_out("main", 0));
        };
        let Some(step) = lane.steps.get(*position) else {
            return Err(script::run_out(lane.label(), lane.steps.len()));
        };
        step.check(request.conversation)?;
        *position += 1;
        let behind = *position;
        match step {
            Step::Answer { answer, pause, .. } => Ok(Outcome {
                message: self.complete(answer.clone().into(), request, &mut state),
                fault: None,
                pause: *pause,
            }),
            Step::Fault { fault, place, .. } => {
                let (message, pause) = if fault.begins_to_answer() {
                    lane.next_answer(behind)
                } else {
                    (AssistantMessage::default(), Duration::ZERO)
                };
                let calls = state.calls;
                let message = self.complete(message, request, &mut state);
                // The answer is only begun; its ids are given out when it is given.
                state.calls = calls;
                Ok(Outcome {
                    message,
                    fault: Some((*fault, place.clone())),
                    pause,
                })
            }
        }
    }

    /// Fills in what the script leaves open: the model's name, fresh call ids and the usage.
    fn complete(
        &self,
        mut message: AssistantMessage,
        request: &Request<'_>,
        state: &mut State,
    ) -> AssistantMessage {
        state.seen.look_at(request.conversation);
        if message.model.is_empty() {
            message.model.clone_from(&self.answers_as);
        }
        for block in &mut message.content {
            if let AssistantBlock::ToolCall(call) = block
                && call.id.is_empty()
            {
                state.calls = state.calls.max(state.seen.greatest_call) + 1;
                call.id = format!("{CALL_PREFIX}{}", state.calls);
            }
        }
        if message.usage == Usage::default() {
            message.usage = Usage {
                input: state.seen.prompt_tokens(request),
                output: seen::answer_tokens(&message),
                ..Usage::default()
            };
        }
        message
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Scripted")
            .field("name", &self.name)
            .field("answers", &self.answers())
            .finish_non_exhaustive()
    }
}

/// What a request gets: the message, or a fault after the beginning of the message.
struct Outcome {
    message: AssistantMessage,
    fault: Option<(Fault, String)>,
    pause: Duration,
}

#[async_trait]
impl Model for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn capability(&self) -> &Capability {
        &self.capability
    }

    async fn respond(
        &self,
        request: Request<'_>,
        watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<AssistantMessage, ModelError> {
        let outcome = self.take(&request)?;
        let Some((fault, place)) = outcome.fault else {
            playback::play(&outcome.message, Limit::Whole, outcome.pause, watch).await;
            return Ok(outcome.message);
        };
        if fault.begins_to_answer() {
            playback::play(&outcome.message, Limit::Half, outcome.pause, watch).await;
        }
        match fault.error(&place) {
            Some(error) => Err(error),
            None => std::future::pending().await,
        }
    }
}

impl From<&Request<'_>> for SeenRequest {
    fn from(request: &Request<'_>) -> Self {
        Self {
            system: request.system.to_owned(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            items: request.conversation.items().to_vec(),
            max_output_tokens: request.max_output_tokens,
            reasoning_tokens: request.reasoning_tokens,
        }
    }
}

#[cfg(test)]
mod tests;
