//! What a compaction would do: what is kept, how much room that leaves, and whether it helps.

use std::sync::Arc;

use llm::{Item, tokens};
use tools::bounded::RESULT_LIMIT;
use tools::task::{self, render};

use super::carry::{self, Shown};
use super::cut::{self, Cut};
use super::limits::HARD_LIMIT;
use super::{CompactPlan, Trigger};
use crate::RUNTIME;
use crate::history::History;
use crate::pod::Parts;
use crate::session::Entry;

/// The fewest tokens that a summary must have room for.
const LEAST_SUMMARY: u64 = 200;

/// The most bytes of the task list in the text of the snapshot. The data is always whole.
const SNAPSHOT_TEXT: u64 = 24_000;

/// The size of the next request, in tokens.
pub(crate) fn size(parts: &Parts, history: &History) -> u64 {
    history.size(|| prefix(parts))
}

/// The estimate of what stands before the history in a request.
pub(super) fn prefix(parts: &Parts) -> u64 {
    tokens::of_prefix(&parts.system_prompt, &parts.tool_specs)
}

/// The context window of the model that is asked.
pub(super) fn window(parts: &Parts) -> u64 {
    u64::from(parts.shared.model().capability().context_window)
}

/// The size above which a trigger asks for a compaction.
pub(super) fn threshold(parts: &Parts, trigger: Trigger) -> u64 {
    let limits = &parts.compact_limits;
    match trigger {
        Trigger::AfterRun => limits.after_run,
        Trigger::BetweenRequests | Trigger::Manual => limits.between_requests,
        Trigger::PromptTooLong => HARD_LIMIT,
    }
    .tokens(window(parts))
}

/// The most bytes of text that `TaskList` gives to a model with this window: a tenth of the window,
/// at four bytes a token.
pub(crate) fn list_text_limit(window: u32) -> usize {
    part_of(window.into(), 10, RESULT_LIMIT)
}

/// The most bytes of the task list in the snapshot: half as many, since the result of `TaskList`
/// stands behind it.
pub(super) fn snapshot_text_limit(window: u64) -> usize {
    part_of(
        window,
        20,
        usize::try_from(SNAPSHOT_TEXT).unwrap_or(usize::MAX),
    )
}

fn part_of(window: u64, divisor: u64, most: usize) -> usize {
    let bytes = window.saturating_mul(4) / divisor;
    // Below a thousand bytes not even the counts and some ids fit.
    usize::try_from(bytes)
        .unwrap_or(usize::MAX)
        .clamp(1_000, most)
}

/// How much larger or smaller the provider says a history is than it is estimated. What is kept and
/// what comes out is measured by it, since a text that the estimate takes for half of what it is would
/// otherwise fill the window again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    reported: u64,
    estimated: u64,
}

impl Scale {
    fn new(reported: u64, estimated: u64) -> Self {
        let estimated = estimated.max(1);
        Self {
            // No estimate is more than twice too high; a figure that says so is wrong, and is not
            // built on.
            reported: reported.max(estimated.div_ceil(2)),
            estimated,
        }
    }

    /// An estimate as the provider would count it.
    pub(super) fn grow(self, estimate: u64) -> u64 {
        multiplied(estimate, self.reported, self.estimated)
    }

    /// A number of the provider's tokens as it would be estimated.
    pub(super) fn shrink(self, tokens: u64) -> u64 {
        multiplied(tokens, self.estimated, self.reported)
    }
}

fn multiplied(number: u64, by: u64, through: u64) -> u64 {
    let product = u128::from(number) * u128::from(by) / u128::from(through.max(1));
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// What a compaction is going to do. Sizes are estimates, as [`llm::tokens`] makes them, unless it is
/// said that they are the provider's.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    trigger: Trigger,
    /// The size of the next request, in the provider's tokens.
    pub(super) tokens: u64,
    /// The context window, in the provider's tokens.
    pub(super) window: u64,
    pub(super) scale: Scale,
    pub(super) cut: Cut,
    /// What stands in a request beside the history: the prompt and the tools, and the list that is
    /// shown behind the tail.
    pub(super) beside: u64,
    /// All that is carried beside the summary and the files.
    carried: u64,
    /// The size that must not be exceeded when all is done.
    pub(super) limit: u64,
    /// The most that the summary may have.
    pub(super) summary: u64,
    /// The most that the files may have that are shown again.
    pub(super) files: u64,
    /// Why a compaction would not help, if it would not.
    pub(super) useless: Option<String>,
}

impl Plan {
    /// What a compaction with this trigger would do now.
    pub(super) fn new(parts: &Parts, history: &History, trigger: Trigger) -> Self {
        let limits = &parts.compact_limits;
        let prefix = prefix(parts);
        let tokens = size(parts, history);
        let window = window(parts);
        let scale = Scale::new(tokens, prefix + history.estimate());
        // Whoever asks, it must come out smaller than it is; the provider says that what it has is
        // too much, whatever the window is thought to be.
        let threshold = threshold(parts, trigger);
        let limit = threshold.min(tokens);
        // A tenth below, so that not the next request or the one after begins a compaction again.
        let goal = scale.shrink(limit - limit / 10);

        let list = shown_list(parts, history);
        let tail = scale.shrink(limits.tail.tokens(limit));
        let mut plan = Self {
            trigger,
            tokens,
            window,
            scale,
            cut: Cut {
                start: history.entries().len(),
                tail: Vec::new(),
            },
            beside: prefix + list,
            carried: 0,
            limit: scale.shrink(limit),
            summary: 0,
            files: 0,
            useless: None,
        };
        // Where the window is small, less is kept.
        for tail in [tail, tail / 4, 0] {
            plan.cut = cut::cut(history.entries(), tail);
            plan.carried = plan.beside + plan.frame(parts, history);
            let room = goal.saturating_sub(plan.carried);
            plan.summary = scale.shrink(limits.summary.tokens(threshold)).min(room);
            let files = scale.shrink(limits.files.tokens(threshold));
            plan.files = files.min(room - plan.summary);
            if plan.summary >= LEAST_SUMMARY {
                break;
            }
        }
        plan.useless = plan.why_useless(history.entries(), limit);
        plan
    }

    /// The size of what a segment begins with, without a summary and files.
    fn frame(&self, parts: &Parts, history: &History) -> u64 {
        let summary = carry::summary("");
        let snapshot = carry::snapshot_text(history.tasks(), shown(parts));
        tokens::of_item(&Item::System(summary))
            + tokens::of_text(&snapshot)
            + self
                .tail_items()
                .map(|item| tokens::of_item(item))
                .sum::<u64>()
    }

    fn tail_items(&self) -> impl Iterator<Item = &Arc<Item>> {
        self.cut.tail.iter().map(|entry| &entry.item)
    }

    fn why_useless(&self, entries: &[Entry], limit: u64) -> Option<String> {
        let summarised = entries.iter().take(self.cut.start);
        let has_news = summarised
            .filter(|entry| !self.cut.tail.iter().any(|kept| kept.id == entry.id))
            .any(is_worth_a_summary);
        let carried = self.scale.grow(self.carried);
        let saves_little = carried > self.tokens - self.tokens / 10;
        if !has_news && saves_little && limit == self.tokens {
            Some(String::from("there is nothing to summarise"))
        } else if self.summary < LEAST_SUMMARY {
            Some(format!(
                "what must be kept (prompt, tools, tasks, the last messages) has about {carried} tokens, and with a summary it would not be well below {limit}"
            ))
        } else {
            None
        }
    }

    /// The window of the model that writes the summary, in the provider's tokens. A history that the
    /// provider found too long tells how large it is at the most.
    pub(super) fn worker_window(&self) -> u64 {
        match self.trigger {
            Trigger::PromptTooLong => self.window.min(self.tokens),
            _ => self.window,
        }
    }

    /// What a person is shown.
    pub(super) fn told(self) -> CompactPlan {
        CompactPlan {
            tokens: self.tokens,
            window: self.window,
            summarised: self.cut.start,
            carried_tokens: self.scale.grow(self.carried),
            kept: self.cut.tail,
            useless: self.useless,
        }
    }
}

/// The estimate of the call of `TaskList` and its result, zero if the session does not have the tool.
fn shown_list(parts: &Parts, history: &History) -> u64 {
    /// The call, its arguments and ids.
    const CALL: u64 = 40;
    if parts.registry.get(task::list::NAME).is_none() {
        return 0;
    }
    let text = history
        .tasks()
        .with(|tasks| render::list(tasks, parts.list_text_limit));
    CALL + tokens::of_text(&text)
}

/// How much of the task list the model is shown in the snapshot.
pub(super) fn shown(parts: &Parts) -> Shown {
    let mut tools = parts.registry.iter();
    if tools.any(|tool| task::is_reserved(tool.name())) {
        Shown::UpTo(snapshot_text_limit(window(parts)))
    } else {
        Shown::Nothing
    }
}

fn is_worth_a_summary(entry: &Entry) -> bool {
    match &*entry.item {
        Item::Assistant(message) => message.model != RUNTIME,
        Item::User(_) => !entry.carried,
        Item::ToolResult(_) | Item::System(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_measured_as_the_provider_finds_it() {
        let scale = Scale::new(3_000, 1_000);
        assert_eq!((scale.grow(500), scale.shrink(1_500)), (1_500, 500));
        let scale = Scale::new(800, 1_000);
        assert_eq!((scale.grow(500), scale.shrink(400)), (400, 500));
        let wrong = Scale::new(1, 1_000);
        assert_eq!((wrong.grow(500), wrong.shrink(250)), (250, 500));
        let empty = Scale::new(0, 0);
        assert_eq!((empty.grow(7), empty.shrink(0)), (7, 0));
        assert_eq!(Scale::new(u64::MAX, 1).grow(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_list_has_a_part_of_the_window_and_no_more_than_a_result_may_have() {
        let limits = |window: u32| (list_text_limit(window), snapshot_text_limit(window.into()));
        assert_eq!(limits(2_000), (1_000, 1_000));
        assert_eq!(limits(32_000), (12_800, 6_400));
        assert_eq!(limits(1_000_000), (RESULT_LIMIT, 24_000));
    }
}
