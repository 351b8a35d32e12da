//! Who takes part in a flow beside the model: a hook and a person who is asked for permission.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use llm::ToolResult;
use llm::scripted::{Answer as Said, Scripted};
use pod::hook::{After, Before, HookCall};
use pod::permission::{Answer, Question};
use pod::{Approver, Handle, Hook};

use super::direction::Deed;
use crate::future::yield_once;

/// What is still to be done, and by whose hand.
#[derive(Clone, Default)]
pub(super) struct Cast(Arc<Mutex<Plan>>);

#[derive(Default)]
pub(super) struct Plan {
    pub(super) answers: VecDeque<Deed>,
    pub(super) before: Vec<(String, Deed)>,
    pub(super) after: Vec<(String, Deed)>,
    pub(super) handle: Option<Handle>,
    pub(super) transcript: String,
    /// The log of the run that is going on.
    pub(super) log: Option<PathBuf>,
    /// How many entries of the log were told.
    pub(super) told: usize,
    /// What happened behind entries that were not told yet, and how many entries there were.
    waiting: VecDeque<(usize, String)>,
}

impl Cast {
    pub(super) fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line to what comes out, behind the entries that are in the log by now. Events are told
    /// later than what they tell of, so the line may have to wait for them.
    pub(super) fn tell(&self, line: &str) {
        let mut plan = self.plan();
        let logged = plan.log.as_deref().map_or(0, entries_in);
        plan.waiting.push_back((logged, line.to_owned()));
        plan.flush();
    }

    /// Adds an entry to what comes out.
    pub(super) fn tell_entry(&self, number: usize, line: &str) {
        let mut plan = self.plan();
        plan.flush();
        plan.told = number;
        plan.transcript.push_str(line);
        plan.transcript.push('\n');
    }

    /// Adds what belongs to the entry that was told last.
    pub(super) fn tell_of_entry(&self, line: &str) {
        let mut plan = self.plan();
        plan.transcript.push_str(line);
        plan.transcript.push('\n');
    }

    /// A compaction began another log. Of the entries in it none was told.
    pub(super) fn enter(&self, log: &Path) {
        let mut plan = self.plan();
        plan.told = usize::MAX;
        plan.flush();
        plan.told = 0;
        plan.log = Some(log.to_owned());
    }

    fn handle(&self) -> Handle {
        self.plan().handle.clone().unwrap()
    }
}

impl Plan {
    fn flush(&mut self) {
        while let Some((_, line)) = self
            .waiting
            .pop_front_if(|(logged, _)| *logged <= self.told)
        {
            self.transcript.push_str(&line);
            self.transcript.push('\n');
        }
    }
}

/// How many entries a log has.
fn entries_in(log: &Path) -> usize {
    // The first line is the header.
    std::fs::read_to_string(log).unwrap().lines().count() - 1
}

fn take(deeds: &mut Vec<(String, Deed)>, tool: &str) -> Option<Deed> {
    let index = deeds.iter().position(|(name, _)| name == tool)?;
    Some(deeds.remove(index).1)
}

#[async_trait]
impl Hook for Cast {
    fn name(&self) -> &'static str {
        "script"
    }

    async fn before_tool(&self, call: HookCall<'_>) -> Before {
        yield_once().await;
        let deed = take(&mut self.plan().before, call.name);
        match deed {
            None => Before::Continue,
            Some(Deed::Allow(changed_arguments)) => Before::Allow { changed_arguments },
            Some(Deed::Change(arguments)) => Before::Change(arguments),
            Some(Deed::Deny(reason)) => Before::Deny(reason),
            Some(Deed::Interrupt) => {
                self.handle().interrupt();
                yield_once().await;
                Before::Continue
            }
            Some(other) => panic!("a hook cannot do this before a tool: {other:?}"),
        }
    }

    async fn after_tool(&self, call: HookCall<'_>, _: &ToolResult) -> After {
        yield_once().await;
        let deed = take(&mut self.plan().after, call.name);
        match deed {
            None => {}
            Some(Deed::Fail(reason)) => return After::Fail(reason),
            Some(Deed::Edit(operation)) => self.handle().edit_tasks(operation),
            Some(Deed::Mode(mode)) => self.handle().set_permission_mode(mode),
            Some(Deed::Model(name)) => {
                let answer = Said::text(format!("I am {name}."));
                let model = Scripted::from_answers([answer]).named(&name);
                self.handle().set_model(Arc::new(model));
            }
            Some(Deed::Interrupt) => {
                self.handle().interrupt();
                yield_once().await;
            }
            Some(other) => panic!("a hook cannot do this after a tool: {other:?}"),
        }
        After::Keep
    }
}

#[async_trait]
impl Approver for Cast {
    async fn ask(&self, question: Question<'_>) -> Answer {
        self.tell(&format!(
            "   ? {} {}",
            question.tool,
            question.target.unwrap_or_default()
        ));
        yield_once().await;
        let deed = self.plan().answers.pop_front();
        match deed {
            Some(Deed::Allow(changed_arguments)) => Answer::Allow { changed_arguments },
            Some(Deed::Deny(reason)) => Answer::Deny {
                reason,
                interrupt: false,
            },
            Some(Deed::End(reason)) => Answer::Deny {
                reason,
                interrupt: true,
            },
            Some(Deed::Interrupt) => {
                self.handle().interrupt();
                std::future::pending().await
            }
            other => panic!("a person cannot answer this: {other:?}"),
        }
    }
}
