//! The laws of the design as checks that any test can make.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use llm::{AssistantMessage, Capability, Delta, Item, Model, ModelError, Origin, Request};
use pod::replay::fold_entry;
use pod::session::{Entry, LogError, segment};
use pod::{Pod, SessionInfo, SessionStore};
use tools::task::TaskFold;

use crate::future::yield_once;

/// Panics unless what is in memory is what the log says: the same entries, the same task list with
/// ids from 1 without a gap, and nothing that breaks a law.
#[track_caller]
pub fn check_session(pod: &Pod, store: &SessionStore) {
    let info = session_info(pod, store);
    let contents = segment::read(store.disk(), &info.newest_segment(), false).unwrap();
    let logged: Vec<_> = contents.entries.iter().map(|it| &it.entry).collect();
    assert_eq!(logged, pod.entries().iter().collect::<Vec<_>>(), "the log");

    let mut fold = TaskFold::default();
    for entry in logged {
        fold_entry(&mut fold, entry).unwrap();
    }
    let live = pod.tasks().snapshot();
    assert_eq!(fold.store().snapshot(), live, "live is not replayed");
    let ids: Vec<u32> = live.iter().map(|task| task.id.number()).collect();
    assert_eq!(ids, (1..).take(live.len()).collect::<Vec<_>>());

    let report = pod::verify::verify(store.disk(), &info).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

/// The session of a Pod, as a listing shows it.
pub fn session_info(pod: &Pod, store: &SessionStore) -> SessionInfo {
    let id = pod.session().id().to_string();
    let found: Result<SessionInfo, LogError> = store.find(&id);
    found.unwrap()
}

/// Whether a request is one of the worker that compacts, and not one of the agent.
pub fn is_workers(request: &Request<'_>) -> bool {
    request
        .tools
        .iter()
        .any(|tool| tool.name == "write_summary")
}

/// Panics unless the traces of compactions in a request of the agent are those of one: at most one
/// summary, in front, and one task list; behind the list the call of `TaskList` that shows it, if the
/// session has that tool.
#[track_caller]
pub fn check_compacted(request: &Request<'_>) {
    let items = request.conversation.items();
    let places = |wanted: &Origin| -> Vec<usize> {
        let is_it = |item: &Item| matches!(item, Item::System(it) if it.origin == *wanted);
        (0..items.len())
            .filter(|place| is_it(&items[*place]))
            .collect()
    };
    let (summaries, snapshots) = (places(&Origin::Summary), places(&Origin::TaskSnapshot));
    assert!(summaries.is_empty() || summaries == [0], "{summaries:?}");
    assert_eq!(snapshots.len(), summaries.len(), "{snapshots:?}");
    let forced = items.iter().enumerate().filter(
        |(_, item)| matches!(&***item, Item::Assistant(message) if message.model == pod::RUNTIME),
    );
    let forced: Vec<usize> = forced.map(|(place, _)| place).collect();
    assert!(
        forced
            .iter()
            .all(|place| snapshots.iter().all(|it| it < place))
    );
    let is_shown = forced.iter().filter(|place| {
        matches!(&**items.get(*place + 1).unwrap(), Item::ToolResult(result) if !result.is_error)
    });
    let has_tool = request.tools.iter().any(|tool| tool.name == "TaskList");
    let most = usize::from(has_tool).min(snapshots.len());
    assert!(is_shown.count() <= most, "shown too often");
    assert!(forced.len() >= most, "the list is not shown");
}

/// A model that checks every request before another model answers it: the rules of requests, that
/// the request begins with the one before it, or is the first one after a compaction, and what that
/// leaves.
pub struct Witness {
    model: Arc<dyn Model>,
    state: Mutex<WitnessState>,
    watch: Box<dyn Fn(&Request<'_>) + Send + Sync>,
}

#[derive(Default)]
struct WitnessState {
    previous: Vec<Arc<Item>>,
    requests: usize,
    /// Whether a worker was asked since.
    has_worked: bool,
}

impl Witness {
    /// Watches over what this model is asked.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            state: Mutex::default(),
            watch: Box::new(|_| {}),
        }
    }

    /// Is told each request before it is answered.
    pub fn watch(mut self, watch: impl Fn(&Request<'_>) + Send + Sync + 'static) -> Self {
        self.watch = Box::new(watch);
        self
    }

    /// The history was cut: the next request may begin otherwise than the one before.
    pub fn expect_another_past(&self) {
        self.lock().previous.clear();
    }

    /// How many requests there were.
    pub fn requests(&self) -> usize {
        self.lock().requests
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WitnessState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, request: &Request<'_>) {
        let items = request.conversation.items();
        llm::rules::check(items).unwrap();
        let mut state = self.lock();
        state.requests += 1;
        if is_workers(request) {
            state.has_worked = true;
            return;
        }
        check_compacted(request);
        let is_summary = |item: &Arc<Item>| matches!(&**item, Item::System(message) if message.origin == Origin::Summary);
        let has_worked = std::mem::take(&mut state.has_worked);
        let is_compacted = has_worked && items.first().is_some_and(is_summary);
        assert!(
            items.starts_with(&state.previous) || is_compacted,
            "the past was rewritten:\n{}\n---\n{}",
            llm::scripted::outline(&state.previous),
            llm::scripted::outline(items)
        );
        state.previous = items.to_vec();
    }
}

#[async_trait]
impl Model for Witness {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn capability(&self) -> &Capability {
        self.model.capability()
    }

    async fn respond(
        &self,
        request: Request<'_>,
        watch: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<AssistantMessage, ModelError> {
        self.check(&request);
        (self.watch)(&request);
        // A real model takes its time before and after it speaks.
        yield_once().await;
        let message = self.model.respond(request, watch).await;
        yield_once().await;
        message
    }
}

/// Panics unless the reminders in the newest segment of a session that reminds after so many requests
/// stand where they must, and nowhere else: in front of a request to the model, as many requests after
/// the list was used last, while there are open tasks.
///
/// This is the rule once more, found by looking back from each entry, to compare with the fold that the
/// product has.
#[track_caller]
pub fn check_reminders(entries: &[Entry], after: usize) {
    let mut fold = TaskFold::default();
    for (place, entry) in entries.iter().enumerate() {
        let before = entries.get(..place).unwrap();
        let is_due = idle_requests(before) >= after.max(2) && fold.store().counts().open() > 0;
        match &*entry.item {
            _ if entry.carried => {}
            Item::System(message) if message.origin == Origin::Reminder => {
                assert!(
                    is_due,
                    "a reminder that is not due: {place} in {entries:#?}"
                );
            }
            Item::Assistant(message) if message.model != pod::RUNTIME => {
                assert!(!is_due, "a reminder is missing: {place} in {entries:#?}");
            }
            _ => {}
        }
        fold_entry(&mut fold, entry).unwrap();
    }
}

/// How many answers of the model stand behind the last use of the task list.
fn idle_requests(entries: &[Entry]) -> usize {
    let is_use = |entry: &&Entry| match &*entry.item {
        Item::System(message) => matches!(
            message.origin,
            Origin::Reminder | Origin::TaskSnapshot | Origin::TaskEdit
        ),
        Item::ToolResult(result) => {
            let is_task_call = |entry: &Entry| match &*entry.item {
                Item::Assistant(message) => message
                    .calls()
                    .any(|call| call.id == result.call_id && tools::task::is_reserved(&call.name)),
                _ => false,
            };
            !entry.carried && !result.is_error && entries.iter().any(is_task_call)
        }
        _ => false,
    };
    let is_answer = |entry: &&Entry| {
        matches!(&*entry.item, Item::Assistant(message) if message.model != pod::RUNTIME)
            && !entry.carried
    };
    let behind = entries.iter().rev().take_while(|entry| !is_use(entry));
    behind.filter(is_answer).count()
}
