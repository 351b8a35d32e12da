//! A model that plays back the assistant turns of a log.
//!
//! It reads transcripts of Claude Code and Pod's own session segments; which one a log is, its content
//! tells. So a real session's calls drive Pod, without a network.
//!
//! # What is played
//!
//! Each request gets the next recorded turn, whatever the conversation says. The recorded turns form
//! **exchanges**: a prompt and the turns up to one without calls. A run of Pod ends at the same place,
//! so the one who drives it plays a whole recording like this:
//!
//! ```text
//! while let Some(prompt) = recorded.next_prompt() {
//!     pod.run(prompt);        // takes turns until one has no calls
//! }
//! ```
//!
//! - Where an exchange was broken off (a person interrupted it, the log ends), its last turn has
//!   calls. A closing turn, [`CLOSING`], follows it, so that every run ends.
//! - Where turns follow without a prompt (lines of the log are missing), the prompt is [`GO_ON`].
//! - A session that is resumed goes on behind the turns that it has had: [`Recorded::start_at`].
//!   Closing turns count.
//! - A request that offers none of the tools that the recording calls is none of the recording's
//!   (such as one of a compaction): it gets [`ModelError::Script`] and takes no turn.
//!
//! # Results
//!
//! The call ids of the recording are kept, so [`Recorded::result_of`] tells what came of a call at
//! that time: a runtime answers with it the calls that it will not run again.

mod claude;
mod lines;
mod pod;
mod tape;
mod text;

use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use crate::playback::{self, Limit};
use crate::{AssistantMessage, Capability, Delta, Model, ModelError, Request};
use tape::Exchange;

/// The text of the turn that ends an exchange which was broken off in the recording.
pub const CLOSING: &str = "(The recording breaks off here.)";

/// The prompt of an exchange for which the recording has none.
pub const GO_ON: &str = "Go on.";

/// A recording of a session, as a model; see the module's page.
#[derive(Debug)]
pub struct Recorded {
    name: String,
    capability: Capability,
    exchanges: Vec<Exchange>,
    turns: Vec<Arc<AssistantMessage>>,
    results: HashMap<String, RecordedResult>,
    tool_names: BTreeSet<String>,
    warnings: Vec<String>,
    position: AtomicUsize,
}

/// What came of a call when the session was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedResult {
    /// What the model read.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}

impl Recorded {
    /// Reads a log. The turns and the results are kept, nothing else.
    ///
    /// A line that cannot be read is left out and told by [`Recorded::warnings`].
    ///
    /// # Errors
    /// [`ModelError::Script`] if the log cannot be read, is neither a Claude Code transcript nor a
    /// session of Pod, or has no turn of a model.
    pub fn from_log(log: impl BufRead, name: impl Into<String>) -> Result<Self, ModelError> {
        let name = name.into();
        let tape = lines::read(log, &name)?.finish();
        if tape.turns.is_empty() {
            return Err(ModelError::Script(format!(
                "{name}: there is no answer of a model to play back"
            )));
        }
        let calls = tape.turns.iter().flat_map(AssistantMessage::calls);
        Ok(Self {
            name,
            capability: Capability {
                // So large that the usage of the recorded session calls for no compaction.
                context_window: 10_000_000,
                max_output_tokens: 128_000,
                system_in_conversation: true,
                ..Capability::default()
            },
            tool_names: calls.map(|call| call.name.clone()).collect(),
            exchanges: tape.exchanges,
            turns: tape.turns.into_iter().map(Arc::new).collect(),
            results: tape.results,
            warnings: tape.warnings,
            position: AtomicUsize::new(0),
        })
    }

    /// Sets what is known of the model.
    pub fn with_capability(mut self, capability: Capability) -> Self {
        self.capability = capability;
        self
    }

    /// Begins behind the first `answered` turns, for a session that is resumed: give the number of
    /// answers that the session has had from this model.
    pub fn start_at(self, answered: usize) -> Self {
        self.position.store(answered, Ordering::Relaxed);
        self
    }

    /// The prompts of all exchanges, in order.
    pub fn prompts(&self) -> impl Iterator<Item = &str> {
        self.exchanges.iter().map(Exchange::prompt)
    }

    /// The prompt that the next turn answers; none once every turn was played.
    ///
    /// In the middle of an exchange, where a session may have been cut off, that is [`GO_ON`].
    pub fn next_prompt(&self) -> Option<&str> {
        let position = self.position.load(Ordering::Relaxed);
        if position >= self.turns.len() {
            return None;
        }
        let next = self
            .exchanges
            .binary_search_by_key(&position, |exchange| exchange.first_turn);
        let exchange = next.ok().and_then(|index| self.exchanges.get(index));
        Some(exchange.map_or(GO_ON, Exchange::prompt))
    }

    /// All turns, closing turns included, in order.
    pub fn turns(&self) -> &[Arc<AssistantMessage>] {
        &self.turns
    }

    /// What came of a call, if the recording knows.
    pub fn result_of(&self, call_id: &str) -> Option<&RecordedResult> {
        self.results.get(call_id)
    }

    /// The names of the tools that the recording calls.
    pub fn tool_names(&self) -> &BTreeSet<String> {
        &self.tool_names
    }

    /// What could not be read or will not be played, one sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The next turn.
    fn take(&self, request: &Request<'_>) -> Result<&AssistantMessage, ModelError> {
        let is_recorded = |name: &String| self.tool_names.contains(name);
        if !self.tool_names.is_empty() && !request.tools.iter().any(|tool| is_recorded(&tool.name))
        {
            return Err(ModelError::Script(format!(
                "the recording {} does not answer a request that offers none of its tools; use another model for it",
                self.name
            )));
        }
        let next = |position| (position < self.turns.len()).then_some(position + 1);
        let position = self
            .position
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .unwrap_or(self.turns.len());
        let turn = self.turns.get(position).map(AsRef::as_ref);
        turn.ok_or_else(|| {
            ModelError::Script(format!(
                "the recording {} has ended: all {} turns were played",
                self.name,
                self.turns.len()
            ))
        })
    }
}

#[async_trait]
impl Model for Recorded {
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
        let turn = self.take(&request)?;
        playback::play(turn, Limit::Whole, Duration::ZERO, watch).await;
        Ok(turn.clone())
    }
}

#[cfg(test)]
mod real_logs;
#[cfg(test)]
mod tests;
