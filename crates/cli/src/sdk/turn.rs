//! One run: a message goes to the Pod, and its events become lines.

use std::sync::PoisonError;
use std::time::Duration;

use llm::Item;
use pod::{Compaction, Event, Outcome, Pod, PodError, RUNTIME, Status};
use uuid::Uuid;

use super::input::Incoming;
use super::message::{self, Init, of_entry};
use super::preview::Preview;
use super::result::{self, Circumstances};
use super::run::Driver;
use super::stops::Stopping;
use super::waiting::Waiting;
use crate::terminal;

/// How long a run may take to end once nobody waits for it any more.
const GRACE: Duration = Duration::from_secs(2);

/// What is seen of a run while it goes on.
#[derive(Default)]
struct Seen {
    preview: Preview,
    /// The tokens of the answers so far.
    told: llm::Usage,
    /// Whether the last answer had calls.
    had_calls: bool,
    /// The budget, once it is used up.
    budget: Option<f64>,
}

impl Driver<'_> {
    /// Runs a message to its end.
    pub(super) async fn turn(&mut self, pod: &mut Pod, next: Waiting) {
        self.connection.state.running(&self.connection.questions);
        self.flush().await;
        let Some(live) = &self.live else { return };
        let (session, handle) = (live.session, live.handle.clone());
        let line = message::init(
            session,
            &Init {
                directory: &live.directory.to_string_lossy(),
                model: &live.model,
                mode: handle.permission_mode().as_str(),
                tools: &live.tools,
                servers: &live.servers,
                sandbox: pod.confinement().as_str(),
            },
        );
        self.output.send(&line).await;

        let mut seen = Seen::default();
        let mut run = if next.is_command {
            pod.compact()
        } else {
            pod.run(next.message)
        };
        let mut patience = None;
        let outcome = loop {
            // Events first: what is asked must stand behind what led to it.
            tokio::select! {
                biased;
                event = run.next() => match event {
                    Some(Event::Finished(outcome)) => break Some(outcome),
                    Some(event) => self.tell(&event, &mut seen).await,
                    None => break None,
                },
                Some(line) = self.outgoing.recv() => self.output.send(&line).await,
                incoming = self.input.recv(), if !self.ended => {
                    self.hear(incoming.unwrap_or(Incoming::End)).await;
                }
                reason = self.stops.next(), if self.stopping == Stopping::Not => {
                    self.stopping = reason;
                    handle.interrupt();
                    patience = Some(tokio::time::Instant::now() + GRACE);
                }
                () = sleep_until(patience) => break None,
            }
        };
        drop(run);
        self.flush().await;
        if let Some(outcome) = outcome {
            self.conclude(&outcome, &seen, next.is_command).await;
        }
    }

    /// Writes what an event means.
    async fn tell(&mut self, event: &Event, seen: &mut Seen) {
        let Some(live) = &mut self.live else { return };
        let session = live.session;
        match event {
            Event::Entry(entry) => {
                if let Some(mirror) = &mut self.mirror {
                    mirror.note(entry);
                }
                let mut ends = Vec::new();
                match &*entry.item {
                    Item::Assistant(message) => {
                        seen.had_calls = message.calls().next().is_some();
                        if message.model != RUNTIME && !entry.carried {
                            self.ledger.add(&message.model, message.usage);
                            seen.told += message.usage;
                            live.context = message.usage.input + message.usage.output;
                            if self.options.sdk.include_partial_messages {
                                ends = seen.preview.end(session, message);
                            }
                        }
                    }
                    Item::ToolResult(_) | Item::User(_) | Item::System(_) => {}
                }
                for line in of_entry(session, entry).into_iter().chain(ends) {
                    self.output.send(&line).await;
                }
                self.mirror().await;
                self.check_budget(seen);
            }
            Event::Preview(delta) => {
                if let Some(line) = message::retry(session, delta) {
                    self.output.send(&line).await;
                }
                if self.options.sdk.include_partial_messages {
                    for line in seen.preview.lines(session, &live.model, delta) {
                        self.output.send(&line).await;
                    }
                }
            }
            Event::Compaction(compaction) => self.tell_compaction(session, compaction).await,
            Event::Warning(text) => terminal::notice(text),
            _ => {}
        }
    }

    async fn tell_compaction(&mut self, session: Uuid, compaction: &Compaction) {
        match compaction {
            Compaction::Started { .. } => {
                let line = message::compacting(session, true, None);
                self.output.send(&line).await;
            }
            Compaction::Finished(report) => {
                let line = message::compacting(session, false, None);
                self.output.send(&line).await;
                let line = message::compact_boundary(session, report);
                self.output.send(&line).await;
            }
            Compaction::Failed { reason } => {
                let line = message::compacting(session, false, Some(reason));
                self.output.send(&line).await;
            }
            Compaction::Skipped { reason } => terminal::notice(&format!("not compacted: {reason}")),
            _ => {}
        }
    }

    /// Stops the run when it has cost what it may.
    fn check_budget(&self, seen: &mut Seen) {
        let Some(budget) = self.options.sdk.max_budget_usd else {
            return;
        };
        if seen.budget.is_none() && self.ledger.cost() >= budget {
            seen.budget = Some(budget);
            if let Some(live) = &self.live {
                live.handle.interrupt();
            }
        }
    }

    /// Writes the end of a run.
    async fn conclude(&mut self, outcome: &Outcome, seen: &Seen, is_command: bool) {
        let Some(live) = &self.live else { return };
        let session = live.session;
        // What was asked beside the answers, such as a summary.
        let mut rest = outcome.usage;
        rest.input = rest.input.saturating_sub(seen.told.input);
        rest.output = rest.output.saturating_sub(seen.told.output);
        rest.cache_read = rest.cache_read.saturating_sub(seen.told.cache_read);
        rest.cache_write = rest.cache_write.saturating_sub(seen.told.cache_write);
        self.ledger.add(&live.model, rest);

        let stop = &self.connection.stop;
        let stopped = stop.lock().unwrap_or_else(PoisonError::into_inner).take();
        match &outcome.status {
            Status::Interrupted if stopped.is_none() && seen.budget.is_none() => {
                let text = if seen.had_calls {
                    "[Request interrupted by user for tool use]"
                } else {
                    "[Request interrupted by user]"
                };
                self.output.send(&message::user_text(session, text)).await;
            }
            Status::Failed(PodError::Model(failure)) => {
                let line = message::synthetic_answer(session, &result::api_error(failure));
                self.output.send(&line).await;
            }
            _ => {}
        }
        self.mirror().await;
        let Some(live) = &self.live else { return };
        let session = live.session;
        let (mut line, mut is_error) = result::result(
            outcome,
            &Circumstances {
                session,
                ledger: &self.ledger,
                max_turns: self.options.max_turns,
                budget: seen.budget,
                stopped: stopped.as_deref(),
                in_tools: seen.had_calls,
            },
        );
        if is_command && let Status::Failed(PodError::NotCompacted(reason)) = &outcome.status {
            // That there is nothing to compact is an answer, not a failure.
            line = result::answered(line, &format!("not compacted: {reason}"));
            is_error = false;
        }
        self.last_is_error = is_error;
        self.output.send(&line).await;
    }

    /// Brings the program's session store up to date.
    async fn mirror(&mut self) {
        let Some(mirror) = &mut self.mirror else {
            return;
        };
        match mirror.new_lines() {
            Ok(lines) => {
                for line in lines {
                    self.output.send(&line).await;
                }
            }
            Err(error) => terminal::notice(&format!(
                "the session store does not get what was added to the log: {error}"
            )),
        }
    }
}

async fn sleep_until(moment: Option<tokio::time::Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
