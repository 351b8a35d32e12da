//! The laws of the task list, tried on random calls and random histories.
//!
//! Each property is tried on 2,000 cases; `PROPTEST_CASES=50000 cargo test -p tools property` tries
//! more. What is expected comes from a plain `Vec` and from what the generator meant, never from the
//! code under test.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::random::{Entry, Fate, Meaning, Sent, history, several};
use super::*;

pub(super) fn config() -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        cases: wanted.and_then(|text| text.parse().ok()).unwrap_or(2_000),
        ..ProptestConfig::default()
    }
}

/// The plain list that the store is measured against.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model(Vec<Task>);

impl Model {
    /// Does what was meant; `None` if that cannot be done. Gives the task that was meant.
    fn apply(&mut self, meaning: &Meaning) -> Option<Task> {
        match meaning {
            Meaning::Create(subject, description) => {
                let id = TaskId::new(u32::try_from(self.0.len() + 1).unwrap());
                let task = Task::new(id, subject.0, *description);
                subject.1.then(|| self.0.push(task.clone()))?;
                Some(task)
            }
            Meaning::Update(id, status, subject, description) => {
                let task = self.0.get_mut(id.checked_sub(1)?)?;
                if (status, subject.is_some(), description.is_some()) == (&None, false, false)
                    || subject.as_ref().is_some_and(|subject| !subject.1)
                {
                    return None;
                }
                task.status = status.unwrap_or(task.status);
                if let Some(subject) = subject {
                    subject.0.clone_into(&mut task.subject);
                }
                if let Some(description) = description {
                    (*description).clone_into(&mut task.description);
                }
                Some(task.clone())
            }
            Meaning::Get(id) => self.0.get(id.checked_sub(1)?).cloned(),
            Meaning::List => Some(Task::new(TaskId::new(0), "", "")),
        }
    }

    fn counts(&self) -> Value {
        let of = |status| self.0.iter().filter(|task| task.status == status).count();
        json!({
            "pending": of(Status::Pending),
            "inprogress": of(Status::InProgress),
            "completed": of(Status::Completed),
            "deleted": of(Status::Deleted),
        })
    }

    #[track_caller]
    fn check(&self, store: &TaskStore) {
        assert_eq!(store.snapshot(), self.0);
        assert_eq!(serde_json::to_value(store.counts()).unwrap(), self.counts());
        let ids: Vec<u32> = self.0.iter().map(|task| task.id.number()).collect();
        assert!(ids.into_iter().eq(1..=store.counts().total()));
    }
}

/// What a tool told must be what the model holds.
#[track_caller]
fn check_told(sent: &Sent, told: &crate::ToolOutput, task: &Task, after: &Model) {
    assert!(told.summary.len() < 200, "{}", told.summary);
    let value = told.value.as_ref().unwrap();
    match &sent.meaning {
        Some(Meaning::List) => {
            assert_eq!(value["tasks"], serde_json::to_value(&after.0).unwrap());
        }
        _ => assert_eq!(value["task"], serde_json::to_value(task).unwrap()),
    }
    if !matches!(sent.meaning, Some(Meaning::Get(_))) {
        assert_eq!(value["counts"], after.counts());
    }
}

proptest! {
    #![proptest_config(config())]

    /// BR-038, BR-054, BR-055, law 2, law 5: the tools, one call after the other.
    #[test]
    fn br_038_br_054_br_055_live_equals_the_model_and_the_replay(
        calls in several(40, |dice| (dice.fate(), dice.sent()))
    ) {
        let mut model = Model::default();
        let mut live = TaskFold::default();
        let mut history = Vec::new();
        for (number, (fate, sent)) in calls.iter().enumerate() {
            let id = format!("call_{number}");
            let told = tests::call(live.store(), sent.name, &sent.arguments);
            // The tool has planned, and nothing has happened yet.
            model.check(live.store());
            let mut after = model.clone();
            let task = sent.meaning.as_ref().and_then(|meaning| after.apply(meaning));
            match (&told, &task) {
                (Ok(told), Some(task)) => check_told(sent, told, task, &after),
                (Err(error), None) => assert!(error.message.len() < 300, "{error}"),
                _ => panic!("{sent:?}: {told:?} instead of {task:?}"),
            }
            let result = match fate {
                Fate::Runs => Some(told.is_err()),
                Fate::Denied => Some(true),
                Fate::Lost => None,
            };
            live.call(&id, sent.name, &sent.arguments);
            if let Some(is_error) = result {
                live.result(&id, is_error, None).unwrap();
            }
            if result == Some(false) {
                model = after;
            }
            model.check(live.store());
            history.push((id, sent, result));
        }

        // All calls of the session first, as if they were of one message.
        let mut replayed = TaskFold::default();
        for (id, sent, _) in &history {
            replayed.call(id, sent.name, &sent.arguments);
        }
        for (id, _, result) in &history {
            if let Some(is_error) = result {
                replayed.result(id, *is_error, None).unwrap();
            }
        }
        model.check(replayed.store());
    }
}

/// Feeds an entry; says whether the list should have changed and could not.
fn feed(fold: &mut TaskFold, entry: &Entry) -> Result<Option<Change>, Warning> {
    match entry {
        Entry::Call(id, sent) => {
            fold.call(&id.to_string(), sent.name, &sent.arguments);
            Ok(None)
        }
        Entry::Result {
            call,
            is_error,
            changed,
        } => {
            let changed = changed.as_ref().map(|sent| &sent.arguments);
            let folded = fold.result(&call.to_string(), *is_error, changed);
            folded.map(|mut changes| changes.pop())
        }
        Entry::Snapshot(tasks, broken) => {
            let mut data = serde_json::to_value(tasks).unwrap();
            if *broken {
                let stray = Task::new(TaskId::new(99), "x", "");
                data.as_array_mut().unwrap().push(json!(stray));
            }
            fold.snapshot(&data).map(|()| None)
        }
        Entry::Edit(meaning) => fold.edit(&operation(meaning)).map(Some),
        Entry::Carried => Ok(None),
    }
}

fn operation(meaning: &Meaning) -> TaskOperation {
    match meaning {
        Meaning::Create(subject, description) => TaskOperation::Create {
            subject: subject.0.to_owned(),
            description: (*description).to_owned(),
            active_form: None,
        },
        Meaning::Update(id, status, subject, description) => TaskOperation::Update {
            id: TaskId::new(u32::try_from(*id).unwrap()),
            status: *status,
            subject: subject.map(|it| it.0.to_owned()),
            description: description.map(str::to_owned),
            active_form: None,
        },
        Meaning::Get(_) | Meaning::List => panic!("no change"),
    }
}

/// The call that the result at this place answers: the first call of its id since the result of
/// that id before it.
fn answered(history: &[Entry], place: usize) -> Option<&Sent> {
    let Entry::Result { call, .. } = &history[place] else {
        return None;
    };
    let is_result =
        |entry: &Entry| matches!(entry, Entry::Result { call: other, .. } if other == call);
    let since = history[..place]
        .iter()
        .rposition(is_result)
        .map_or(0, |at| at + 1);
    history[since..place].iter().find_map(|entry| match entry {
        Entry::Call(id, sent)
            if id == call && ["TaskCreate", "TaskUpdate"].contains(&sent.name) =>
        {
            Some(sent)
        }
        _ => None,
    })
}

fn is_success(entry: &Entry, of: u8) -> bool {
    matches!(entry, Entry::Result { call, is_error: false, .. } if *call == of)
}

/// What the entry at this place should do to the list, said without any state but the history:
/// `None` for nothing, an error for something that cannot be understood.
fn effect(history: &[Entry], place: usize) -> Option<Result<&Meaning, ()>> {
    match &history[place] {
        Entry::Result { call, changed, .. } => {
            let sent = answered(history, place)?;
            let counted =
                |at: usize| is_success(&history[at], *call) && answered(history, at).is_some();
            if !is_success(&history[place], *call) || (0..place).any(counted) {
                return None;
            }
            Some(changed.as_ref().unwrap_or(sent).meaning.as_ref().ok_or(()))
        }
        Entry::Edit(meaning) => Some(Ok(meaning)),
        Entry::Call(..) | Entry::Snapshot(..) | Entry::Carried => None,
    }
}

/// Any characters, control characters too.
fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..10).prop_map(String::from_iter)
}

/// Takes out changed arguments that were made for the other tool: the generator knows a meaning only
/// for the tool that it had in mind.
fn without_misfits(mut history: Vec<Entry>) -> Vec<Entry> {
    for place in 0..history.len() {
        let name = answered(&history, place).map(|sent| sent.name);
        if let Entry::Result { changed, .. } = &mut history[place] {
            changed.take_if(|changed| Some(changed.name) != name);
        }
    }
    history
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn br_102_a_fold_does_what_the_history_says(history in history([0, 1, 2, 3, 4])) {
        let history = without_misfits(history);
        let mut model = Model::default();
        let mut fold = TaskFold::default();
        for (place, entry) in history.iter().enumerate() {
            let found = feed(&mut fold, entry);
            let expected = match (entry, effect(&history, place)) {
                (Entry::Snapshot(_, true), _) => Err(()),
                (Entry::Snapshot(tasks, false), _) => {
                    model = Model(tasks.clone());
                    Ok(None)
                }
                (_, None) => Ok(None),
                (_, Some(meaning)) => {
                    meaning.and_then(|meaning| model.apply(meaning).map(Some).ok_or(()))
                }
            };
            prop_assert_eq!(found.map(|change| change.map(|it| it.task)).map_err(drop), expected);
            model.check(fold.store());
        }
    }

    /// A compaction, fork or rewind between any two entries: the new segment begins with a snapshot.
    #[test]
    fn br_116_a_prefix_and_the_rest_make_the_whole(
        before in history([0, 1, 2, 3, 4]),
        after in history([5, 6, 7, 8, 9]),
    ) {
        let mut whole = TaskFold::default();
        for entry in before.iter().chain(&after) {
            let _ = feed(&mut whole, entry);
        }

        let mut first = TaskFold::default();
        for entry in &before {
            let _ = feed(&mut first, entry);
        }
        let carried = serde_json::to_string(first.store()).unwrap();
        let mut second = TaskFold::default();
        second.snapshot(&serde_json::from_str(&carried).unwrap()).unwrap();
        for entry in &after {
            let _ = feed(&mut second, entry);
        }
        prop_assert_eq!(second.store().snapshot(), whole.store().snapshot());
        prop_assert_eq!(second.store().counts(), whole.store().counts());
    }

    /// Whatever stands in tasks, a list stays within its budget, and only rows begin at the margin.
    #[test]
    fn br_134_a_list_of_any_text(
        tasks in prop::collection::vec((0..4_usize, any_text(), any_text()), 1..15)
    ) {
        let tasks: Vec<Task> = tasks
            .into_iter()
            .zip(1..)
            .map(|((status, subject, description), id)| Task {
                status: Status::ALL[status],
                ..Task::new(TaskId::new(id), subject, description)
            })
            .collect();
        for budget in [1_000, 2_000, 100_000] {
            let text = render::list(&tasks, budget);
            prop_assert!(text.len() <= budget);
            let rows = text.lines().filter(|line| line.starts_with('#')).count();
            prop_assert!(rows <= tasks.len());
            prop_assert!(rows == tasks.len() || text.contains("TaskGet"));
        }
        for task in &tasks {
            prop_assert_eq!(render::row(task).lines().count(), 1);
            let line = render::one_line(&task.description);
            prop_assert_eq!(render::one_line(&line), line);
        }
    }
}
