//! Compaction: the history is replaced by a summary and its newest part, and the task list comes
//! through whole.
//!
//! Whatever begins a compaction, it takes this one road: `compact` divides the history and measures
//! what room there is (`plan`, `cut`), has the worker write a summary (`worker`), builds what is
//! carried over and checks it (`carry`), and begins the next segment with it, whole or not at all.
//! Before the next request the model is shown the list once more, as the result of a real call of
//! `TaskList` (`show`).

mod briefing;
mod carry;
mod cut;
mod desk;
mod fallback;
mod files;
mod limits;
mod plan;
mod record;
mod show;
#[cfg(test)]
mod testing;
mod worker;

use std::fmt;
use std::time::{Duration, Instant};

use llm::{Delta, Usage};
use tools::task::render;

pub(crate) use files::{FileReader, Files};
pub(crate) use limits::Breaker;
pub use limits::{CompactLimits, Threshold};
pub(crate) use plan::list_text_limit;
pub use record::CompactRecord;
pub(crate) use show::show_task_list;

use crate::PodError;
use crate::dispatch::denied_by_hook;
use crate::event::{Event, Queue};
use crate::history::History;
use crate::hook::BeforeCompaction;
use crate::pod::Parts;
use crate::session::Entry;
use carry::{Bounds, Carried, Shown};
use limits::HARD_LIMIT;
use plan::Plan;
use worker::{Assignment, Work};

/// What began a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trigger {
    /// A run ended above the threshold.
    AfterRun,
    /// The next request of a run would be above the threshold.
    BetweenRequests,
    /// Somebody asked for it.
    Manual,
    /// The provider said that the prompt is too long.
    PromptTooLong,
}

impl Trigger {
    /// The name in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AfterRun => "after_run",
            Self::BetweenRequests => "between_requests",
            Self::Manual => "manual",
            Self::PromptTooLong => "prompt_too_long",
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AfterRun => "the history is large",
            Self::BetweenRequests => "the next request would be too large",
            Self::Manual => "asked for",
            Self::PromptTooLong => "the provider said that the prompt is too long",
        })
    }
}

/// What a compaction tells about itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Compaction {
    /// It began.
    Started {
        /// Why.
        trigger: Trigger,
        /// The size of the history in tokens.
        tokens: u64,
    },
    /// It is done.
    Finished(CompactReport),
    /// It failed, or was interrupted, and the history is what it was.
    Failed {
        /// Why.
        reason: String,
    },
    /// None was begun, since it would not help. Said once, until the history has grown.
    Skipped {
        /// Why.
        reason: String,
    },
}

/// What a compaction did.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactReport {
    /// Why it was done.
    pub trigger: Trigger,
    /// The size of the history before, in tokens.
    pub tokens_before: u64,
    /// The size after, estimated.
    pub tokens_after: u64,
    /// How long it took.
    pub duration: Duration,
    /// How many tasks were carried, deleted ones too.
    pub tasks: u32,
    /// How many entries were kept as they are.
    pub kept_entries: usize,
    /// Why no model wrote the summary, if none did.
    pub without_model: Option<String>,
}

/// What a compaction would do.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactPlan {
    /// The size of the history in tokens.
    pub tokens: u64,
    /// The context window of the model, in tokens.
    pub window: u64,
    /// How many entries the summary would take the place of.
    pub summarised: usize,
    /// The entries that would be kept.
    pub kept: Vec<Entry>,
    /// About how many tokens are carried beside the summary: prompt, tools, tasks, kept entries.
    pub carried_tokens: u64,
    /// Why a compaction would not help, if it would not.
    pub useless: Option<String>,
}

/// How a compaction ended that did not fail in a way that must stop the run.
pub(crate) enum Ended {
    /// The history was replaced.
    Done,
    /// The history is what it was, for this reason.
    NotDone(String),
}

/// Compacts if the history is above the threshold of this trigger. What the requests of the worker
/// cost is added to `usage`.
pub(crate) async fn compact_if_due(
    parts: &Parts,
    history: &mut History,
    trigger: Trigger,
    usage: &mut Usage,
    events: &Queue,
) -> Result<(), PodError> {
    let size = plan::size(parts, history);
    let must = size > HARD_LIMIT.tokens(plan::window(parts));
    if size > plan::threshold(parts, trigger) && parts.breaker().is_closed(size, must) {
        compact(parts, history, trigger, usage, events).await?;
    }
    Ok(())
}

/// What a compaction would do, without doing it.
pub(crate) fn plan(parts: &Parts, history: &History, trigger: Trigger) -> CompactPlan {
    Plan::new(parts, history, trigger).told()
}

/// Replaces the history by a summary and its newest part. This is the one road: every trigger takes
/// it. If it fails, or is dropped, at any point, the history is what it was.
pub(crate) async fn compact(
    parts: &Parts,
    history: &mut History,
    trigger: Trigger,
    usage: &mut Usage,
    events: &Queue,
) -> Result<Ended, PodError> {
    let begin = Instant::now();
    let plan = Plan::new(parts, history, trigger);
    if let Some(reason) = plan.useless {
        parts.breaker().useless(plan.tokens);
        events.push(Event::Compaction(Compaction::Skipped {
            reason: reason.clone(),
        }));
        return Ok(Ended::NotDone(reason));
    }
    let mut telling = Telling::start(events, trigger, plan.tokens);
    for hook in &parts.hooks {
        if let BeforeCompaction::Deny(reason) = hook.before_compaction(trigger).await {
            parts.breaker().failed(plan.tokens);
            return Ok(telling.failed(denied_by_hook(hook.name(), &reason)));
        }
    }

    let files = files::recent(parts, history.entries());
    let worked = worker(parts, history, &plan, &files, usage, events).await;
    // From here on nothing is awaited until the segment is there.
    let built = worked.and_then(|work| build(parts, history, &plan, work));
    let must = trigger == Trigger::PromptTooLong || plan.tokens > HARD_LIMIT.tokens(plan.window);
    let (built, without_model) = match built {
        Ok(built) => (built, None),
        Err(reason) if must => {
            let summarised = history.entries().get(..plan.cut.start).unwrap_or_default();
            let work = Work {
                summary: fallback::summary(summarised, &files, plan.summary),
                ..Work::default()
            };
            match build(parts, history, &plan, work) {
                Ok(built) => (built, Some(reason)),
                Err(unfit) => {
                    parts.breaker().useless(plan.tokens);
                    return Ok(telling.failed(unfit));
                }
            }
        }
        Err(reason) => {
            parts.breaker().failed(plan.tokens);
            return Ok(telling.failed(reason));
        }
    };

    let report = CompactReport {
        trigger,
        tokens_before: plan.tokens,
        tokens_after: built.tokens,
        duration: begin.elapsed(),
        tasks: history.tasks().counts().total(),
        kept_entries: plan.cut.tail.len(),
        without_model,
    };
    if let Err(error) =
        history.begin_compacted_segment(built.entries, CompactRecord::from(&report).details())
    {
        // If not even the old segment can be written any more, the next entry says so.
        parts.breaker().failed(plan.tokens);
        return Ok(telling.failed(error.to_string()));
    }
    parts.breaker().reset();
    parts.files.tracker.adopt(&built.seen);
    telling.finished(report);
    for entry in history.entries() {
        if !entry.carried {
            events.push(Event::Entry(entry.clone()));
        }
    }
    show_task_list(parts, history, events).await?;
    Ok(Ended::Done)
}

/// Tells that a compaction began, and how it ended, also if it is dropped on the way.
struct Telling<'a> {
    events: &'a Queue,
    has_ended: bool,
}

impl<'a> Telling<'a> {
    fn start(events: &'a Queue, trigger: Trigger, tokens: u64) -> Self {
        events.push(Event::Compaction(Compaction::Started { trigger, tokens }));
        Self {
            events,
            has_ended: false,
        }
    }

    fn finished(&mut self, report: CompactReport) {
        self.has_ended = true;
        let finished = Compaction::Finished(report);
        self.events.push(Event::Compaction(finished));
    }

    fn failed(&mut self, reason: String) -> Ended {
        self.has_ended = true;
        let failed = Compaction::Failed {
            reason: reason.clone(),
        };
        self.events.push(Event::Compaction(failed));
        Ended::NotDone(reason)
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.failed(String::from("it was interrupted"));
        }
    }
}

/// Has the worker do its work. An error is why there is none.
async fn worker(
    parts: &Parts,
    history: &History,
    plan: &Plan,
    recent_files: &[String],
    usage: &mut Usage,
    events: &Queue,
) -> Result<Work, String> {
    let tasks = match plan::shown(parts) {
        Shown::UpTo(bytes) => Some(history.tasks().with(|tasks| render::list(tasks, bytes))),
        Shown::Nothing => None,
    };
    let model = parts.shared.model();
    let assignment = Assignment {
        history: history.entries(),
        tasks: tasks.as_deref(),
        recent_files,
        reader: FileReader::new(parts),
        // The other half is for its own reading, its answers, and the fault of the estimate.
        briefing_limit: plan.scale.shrink(plan.worker_window() / 2),
        files_limit: plan.files,
        summary_limit: plan.summary,
    };
    let mut watch = |delta: Delta| events.push(Event::Preview(delta));
    let work = worker::work(&*model, assignment, usage, &mut watch);
    let seconds = parts.compact_limits.seconds;
    match tokio::time::timeout(Duration::from_secs(seconds), work).await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no summary within {seconds} s")),
    }
}

/// What a segment begins with, checked.
struct Built {
    entries: Vec<Entry>,
    /// The size of the next request, in the provider's tokens.
    tokens: u64,
    /// What the agent will have seen of files.
    seen: tools::Tracker,
}

fn build(parts: &Parts, history: &History, plan: &Plan, work: Work) -> Result<Built, String> {
    let carried = Carried {
        work: &work,
        tasks: history.tasks(),
        shown: plan::shown(parts),
        tail: &plan.cut.tail,
    };
    let entries = carry::entries(&carried, &**history.session().clock());
    let bounds = Bounds {
        beside: plan.beside,
        before: plan::prefix(parts) + history.estimate(),
        limit: plan.limit,
    };
    let estimate =
        carry::check(&entries, history.tasks(), bounds).map_err(|unfit| unfit.to_string())?;
    Ok(Built {
        entries,
        tokens: plan.scale.grow(estimate),
        seen: work.seen,
    })
}
