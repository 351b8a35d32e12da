//! The one fold: events in, task lists out.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

use crate::edit::Editor;
use crate::event::{Chain, Create, Event, Item, Observation, Row, Tool, Update, What};
use crate::state::State;
use crate::task::{Change, ChangeKind, Origin, Stamp, Task};

/// The task lists of a session: the tasks with ids, and a todo list for each chain.
#[derive(Clone, Debug, Default)]
pub struct TaskList {
    tasks: Vec<Task>,
    /// Where in `tasks` each id stands.
    places: HashMap<String, usize>,
    /// The highest id that is a number.
    highest: u64,
    /// The places of the tasks that the agent's store shows, as far as is known.
    present: BTreeSet<usize>,
    /// How many tasks are not deleted, and how many of those are completed.
    kept: usize,
    completed: usize,
    todos: Vec<(Chain, Vec<Task>)>,
    pending: Vec<Event>,
    counts: BTreeMap<Count, u64>,
    unknown_fields: BTreeMap<String, u64>,
    /// Something was written to a list, be it empty now.
    touched: bool,
}

/// Something that is counted while events are folded, such as `calls.TaskCreate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count {
    what: &'static str,
    tool: Option<Tool>,
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.what)?;
        match self.tool {
            Some(tool) => write!(formatter, ".{}", tool.name()),
            None => Ok(()),
        }
    }
}

impl TaskList {
    /// No tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// The lists that these events end in.
    pub fn fold(events: impl IntoIterator<Item = Event>) -> Self {
        let mut list = Self::new();
        for event in events {
            list.apply(&event);
        }
        list
    }

    /// Takes in one event and tells what it changed.
    pub fn apply(&mut self, event: &Event) -> Vec<Change> {
        if let (Some(call), false) = (&event.call, matches!(event.what, What::Pending { .. })) {
            self.count_for("calls", Some(call.tool));
        }
        let tool = event.call.as_ref().map(|call| call.tool);
        let stamp = Stamp::from(event);
        let mut changes = Vec::new();
        match &event.what {
            What::Create(create) => self.create(create, &stamp, &mut changes),
            What::Update(update) => self.update(update, &stamp, &mut changes),
            What::Observe(observation) => self.observe(observation, &stamp, &mut changes),
            What::Replace(items) => self.replace(items, &stamp, &mut changes),
            What::Restore(rows) => self.restore(rows, &stamp, &mut changes),
            What::Failed { .. } => self.count_for("failed", tool),
            What::Unreadable { reason } => self.count_for(reason, tool),
            What::Pending { .. } => self.pending.push(event.clone()),
            What::Compaction => self.count_for("compactions", None),
        }
        self.keep_count(&changes);
        self.touched |= matches!(
            event.what,
            What::Create(_) | What::Update(_) | What::Replace(_) | What::Restore(_)
        ) || !changes.is_empty();
        changes
    }

    /// The tasks: ids that are numbers first, by number, then the others by text. Deleted ones too.
    pub fn tasks(&self) -> Vec<&Task> {
        let mut tasks: Vec<&Task> = self.tasks.iter().collect();
        tasks.sort_by(|one, other| id_order(&one.id).cmp(&id_order(&other.id)));
        tasks
    }

    /// The task with this id.
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.places.get(id).and_then(|&place| self.tasks.get(place))
    }

    /// The todo list of a chain, in its own order.
    pub fn todos(&self, chain: &Chain) -> &[Task] {
        self.todos
            .iter()
            .find(|(owner, _)| owner == chain)
            .map_or(&[], |(_, todos)| todos)
    }

    /// The todo lists of the sub-agents, in the order in which they came up.
    pub fn todos_by_agent(&self) -> impl Iterator<Item = (&Chain, &[Task])> {
        self.todos
            .iter()
            .filter(|(chain, _)| *chain != Chain::Main)
            .map(|(chain, todos)| (chain, todos.as_slice()))
    }

    /// The calls without a result, as far as the log told them (it does so at its end).
    pub fn pending(&self) -> &[Event] {
        &self.pending
    }

    /// Whether anything was ever written to a list. A list that was emptied is not one that never was.
    pub fn is_touched(&self) -> bool {
        self.touched
    }

    /// The tasks of which only updates were read, so that their subject is not known.
    pub fn stubs(&self) -> impl Iterator<Item = &Task> {
        self.tasks
            .iter()
            .filter(|task| task.origin == Origin::Stub && task.subject.is_none())
    }

    /// How often what happened.
    pub fn counts(&self) -> impl Iterator<Item = (Count, u64)> {
        self.counts.iter().map(|(&count, &times)| (count, times))
    }

    /// Names of fields of updates that mean nothing here, and how often they came.
    pub fn unknown_fields(&self) -> &BTreeMap<String, u64> {
        &self.unknown_fields
    }

    /// Keeps what is asked for at each reminder, so that it is not counted anew each time.
    fn keep_count(&mut self, changes: &[Change]) {
        for change in changes.iter().filter(|change| !change.todo) {
            let place = self.places.get(&change.id).copied();
            match &change.kind {
                ChangeKind::Added(status) => {
                    self.tally(status.as_deref(), true);
                    self.present.extend(place);
                }
                ChangeKind::Field {
                    name: "status",
                    from,
                    to,
                } => {
                    self.tally(from.as_deref(), false);
                    self.tally(to.as_deref(), true);
                }
                ChangeKind::Removed(status) => self.tally(status.as_deref(), false),
                ChangeKind::Back => self.present.extend(place),
                ChangeKind::Field { .. } | ChangeKind::Absent => {}
            }
        }
    }

    fn tally(&mut self, status: Option<&str>, more: bool) {
        let change = |count: &mut usize| {
            *count = if more {
                *count + 1
            } else {
                count.saturating_sub(1)
            };
        };
        if status != Some("deleted") {
            change(&mut self.kept);
        }
        if status == Some("completed") {
            change(&mut self.completed);
        }
    }

    fn count(&mut self, what: &'static str) {
        self.count_for(what, None);
    }

    fn count_for(&mut self, what: &'static str, tool: Option<Tool>) {
        *self.counts.entry(Count { what, tool }).or_default() += 1;
    }

    /// The place of the task with this id, which is made if there is none.
    fn place(&mut self, id: &str, origin: Origin, stamp: &Stamp) -> (usize, bool) {
        if let Some(&place) = self.places.get(id) {
            return (place, false);
        }
        let place = self.tasks.len();
        self.tasks.push(Task {
            id: id.to_owned(),
            status: Some(String::from(State::UNKNOWN)),
            origin,
            created: stamp.clone(),
            updated: stamp.clone(),
            ..Task::default()
        });
        self.places.insert(id.to_owned(), place);
        if let Some(number) = number(id) {
            self.highest = self.highest.max(number);
        }
        (place, true)
    }

    fn create(&mut self, create: &Create, stamp: &Stamp, changes: &mut Vec<Change>) {
        let id = create.id.clone().unwrap_or_else(|| {
            self.count("create_id_guessed");
            self.highest.saturating_add(1).to_string()
        });
        let (place, new) = self.place(&id, Origin::Created, stamp);
        if !new {
            self.count("create_replaced_existing_id");
        }
        if let Some(task) = self.tasks.get_mut(place) {
            if !new {
                changes.push(removed(task, false));
            }
            *task = Task {
                id: id.clone(),
                status: Some(String::from("pending")),
                subject: create.subject.clone(),
                description: create.description.clone(),
                active_form: create.active_form.clone(),
                metadata: create.metadata.clone(),
                created: stamp.clone(),
                updated: stamp.clone(),
                ..Task::default()
            };
        }
        changes.push(Change {
            todo: false,
            id,
            subject: create.subject.clone(),
            kind: ChangeKind::Added(Some(String::from("pending"))),
        });
    }

    fn update(&mut self, update: &Update, stamp: &Stamp, changes: &mut Vec<Change>) {
        for field in &update.unknown_fields {
            *self.unknown_fields.entry(field.clone()).or_default() += 1;
        }
        let (place, new) = self.place(&update.id, Origin::Stub, stamp);
        if new {
            self.count("update_of_unknown_id");
        }
        let Some(status) = self.tasks.get(place).map(|task| task.status.clone()) else {
            return;
        };
        if let Some(was) = &update.was {
            if status.as_ref() != Some(was) {
                self.count("status_from_mismatch");
            }
        } else if update.status_unchanged
            && let Some(wanted) = &update.status
            && Some(wanted) != status.as_ref()
            && wanted != "deleted"
        {
            self.count("status_already_set_by_another_writer");
        }
        if let Some(task) = self.tasks.get_mut(place) {
            if new {
                if update.status.is_some() {
                    task.status.clone_from(&update.status);
                }
                changes.push(Change {
                    todo: false,
                    id: update.id.clone(),
                    subject: update.subject.clone(),
                    kind: ChangeKind::Added(task.status.clone()),
                });
            }
            let mut editor = Editor::new(task, stamp, changes);
            editor.present();
            editor.set("status", |task| &mut task.status, update.status.as_ref());
            editor.set("subject", |task| &mut task.subject, update.subject.as_ref());
            editor.set(
                "description",
                |task| &mut task.description,
                update.description.as_ref(),
            );
            editor.set(
                "activeForm",
                |task| &mut task.active_form,
                update.active_form.as_ref(),
            );
            editor.set("owner", |task| &mut task.owner, update.owner.as_ref());
            editor.metadata(&update.metadata);
        }
        for other in &update.add_blocks {
            self.link(&update.id, other, stamp, changes);
        }
        for other in &update.add_blocked_by {
            self.link(other, &update.id, stamp, changes);
        }
    }

    /// Notes on both sides, as far as they are known, that one task waits for another.
    fn link(&mut self, first: &str, then: &str, stamp: &Stamp, changes: &mut Vec<Change>) {
        if let Some(task) = self
            .places
            .get(first)
            .and_then(|&at| self.tasks.get_mut(at))
        {
            Editor::new(task, stamp, changes).add("blocks", |task| &mut task.blocks, then);
        }
        if let Some(task) = self.places.get(then).and_then(|&at| self.tasks.get_mut(at)) {
            Editor::new(task, stamp, changes).add("blockedBy", |task| &mut task.blocked_by, first);
        }
    }

    fn observe(&mut self, observation: &Observation, stamp: &Stamp, changes: &mut Vec<Change>) {
        if observation.reminder {
            self.count_agreement(&observation.rows);
        }
        let all_fields = observation.full || !observation.whole;
        for row in &observation.rows {
            let (place, new) = self.place(&row.id, Origin::Observed, stamp);
            let status = self.tasks.get(place).and_then(|task| task.status.as_ref());
            let corrected = row.status.is_some() && row.status.as_ref() != status;
            if new {
                self.count("task_learned_from_observation");
            } else if corrected {
                self.count("status_corrected_by_observation");
            }
            let Some(task) = self.tasks.get_mut(place) else {
                continue;
            };
            if new {
                task.status.clone_from(&row.status);
                if task.status.is_none() {
                    task.status = Some(String::from(State::UNKNOWN));
                }
                changes.push(Change {
                    todo: false,
                    id: row.id.clone(),
                    subject: row
                        .subject
                        .clone()
                        .or_else(|| row.subject_if_unknown.clone()),
                    kind: ChangeKind::Added(task.status.clone()),
                });
            }
            let mut unsaid = Vec::new();
            let changes = if new { &mut unsaid } else { &mut *changes };
            let mut editor = Editor::new(task, stamp, changes);
            editor.present();
            editor.set("status", |task| &mut task.status, row.status.as_ref());
            editor.set("subject", |task| &mut task.subject, row.subject.as_ref());
            editor.set("owner", |task| &mut task.owner, row.owner.as_ref());
            if editor.task.subject.is_none() {
                let subject = row.subject_if_unknown.as_ref();
                editor.set("subject", |task| &mut task.subject, subject);
            }
            if all_fields {
                editor.set(
                    "description",
                    |task| &mut task.description,
                    row.description.as_ref(),
                );
                editor.set(
                    "activeForm",
                    |task| &mut task.active_form,
                    row.active_form.as_ref(),
                );
                editor.replace("blocks", |task| &mut task.blocks, row.blocks.as_ref());
            }
            // A list leaves out the blockers that are finished, so it only fills a gap.
            if all_fields || editor.task.blocked_by.is_empty() {
                editor.replace(
                    "blockedBy",
                    |task| &mut task.blocked_by,
                    row.blocked_by.as_ref(),
                );
            }
        }
        if observation.whole {
            let rows = observation.rows.iter();
            let seen: HashSet<usize> = rows
                .filter_map(|row| self.places.get(&row.id).copied())
                .collect();
            for place in std::mem::take(&mut self.present) {
                let Some(task) = self.tasks.get_mut(place) else {
                    continue;
                };
                if seen.contains(&place) || task.status.as_deref() == Some("deleted") {
                    self.present.insert(place);
                    continue;
                }
                task.absent = true;
                changes.push(Change {
                    todo: false,
                    id: task.id.clone(),
                    subject: task.subject.clone(),
                    kind: ChangeKind::Absent,
                });
            }
        }
    }

    /// Counts whether a reminder of the agent agrees with what was folded: where it does not,
    /// somebody else wrote to the list.
    fn count_agreement(&mut self, rows: &[Row]) {
        let is_kept = |task: &&Task| task.status.as_deref() != Some("deleted");
        let is_done = |task: &&Task| task.status.as_deref() == Some("completed");
        let told: HashMap<&str, &Row> = rows.iter().map(|row| (row.id.as_str(), row)).collect();
        let known = || told.keys().filter_map(|id| self.task(id)).filter(is_kept);
        let same = known().count() == told.len()
            && known().all(|task| {
                told.get(task.id.as_str()).is_some_and(|row| {
                    row.status == task.status
                        && row.subject == task.subject
                        && row.description == task.description
                })
            });
        let gone = self.kept - known().count();
        let gone_and_done = self.completed - known().filter(is_done).count();
        let agreement = match (same, gone, told.is_empty()) {
            (true, 0, false) => "reminder_agrees",
            (true, 0, true) => "reminder_agrees_empty",
            (true, gone, _) if gone == gone_and_done => "reminder_agrees_but_completed_ones_gone",
            _ => "reminder_differs",
        };
        self.count(agreement);
    }

    fn replace(&mut self, items: &[Item], stamp: &Stamp, changes: &mut Vec<Change>) {
        let index = self
            .todos
            .iter()
            .position(|(owner, _)| *owner == stamp.chain);
        let mut before = index
            .and_then(|index| self.todos.get_mut(index))
            .map(|(_, todos)| std::mem::take(todos))
            .unwrap_or_default();
        let mut todos = Vec::with_capacity(items.len());
        for item in items {
            // An entry is the same one if it says the same, wherever it stands now.
            let old = before.iter().position(|task| task.subject == item.subject);
            let old = old.map(|at| before.remove(at));
            let differs = old.as_ref().is_none_or(|task| task.status != item.status);
            match &old {
                None => changes.push(Change {
                    todo: true,
                    id: item.id.clone(),
                    subject: item.subject.clone(),
                    kind: ChangeKind::Added(item.status.clone()),
                }),
                Some(task) if differs => changes.push(Change {
                    todo: true,
                    id: item.id.clone(),
                    subject: item.subject.clone(),
                    kind: ChangeKind::Field {
                        name: "status",
                        from: task.status.clone(),
                        to: item.status.clone(),
                    },
                }),
                Some(_) => {}
            }
            let (created, updated) = match old {
                Some(task) if differs => (task.created, stamp.clone()),
                Some(task) => (task.created, task.updated),
                None => (stamp.clone(), stamp.clone()),
            };
            todos.push(Task {
                id: item.id.clone(),
                status: item.status.clone(),
                subject: item.subject.clone(),
                active_form: item.active_form.clone(),
                priority: item.priority.clone(),
                created,
                updated,
                ..Task::default()
            });
        }
        changes.extend(before.iter().map(|task| removed(task, true)));
        match index.and_then(|index| self.todos.get_mut(index)) {
            Some((_, list)) => *list = todos,
            None => self.todos.push((stamp.chain.clone(), todos)),
        }
    }

    fn restore(&mut self, rows: &[Row], stamp: &Stamp, changes: &mut Vec<Change>) {
        let told: HashSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let kept = |task: &Task| told.contains(task.id.as_str());
        changes.extend(
            self.tasks
                .iter()
                .filter(|task| !kept(task))
                .map(|task| removed(task, false)),
        );
        self.present.clear();
        let before: HashMap<String, Task> = std::mem::take(&mut self.tasks)
            .into_iter()
            .map(|task| (task.id.clone(), task))
            .collect();
        self.places.clear();
        self.highest = 0;
        for row in rows {
            let old = before.get(&row.id);
            let (place, true) = self.place(&row.id, Origin::Created, stamp) else {
                continue;
            };
            self.present.insert(place);
            let Some(task) = self.tasks.get_mut(place) else {
                continue;
            };
            if let Some(old) = old {
                *task = old.clone();
            } else {
                task.status.clone_from(&row.status);
                changes.push(Change {
                    todo: false,
                    id: row.id.clone(),
                    subject: row.subject.clone(),
                    kind: ChangeKind::Added(row.status.clone()),
                });
            }
            let mut unsaid = Vec::new();
            let changes = if old.is_none() {
                &mut unsaid
            } else {
                &mut *changes
            };
            let mut editor = Editor::new(task, stamp, changes);
            editor.present();
            editor.put("status", |task| &mut task.status, row.status.clone());
            editor.put("subject", |task| &mut task.subject, row.subject.clone());
            editor.put(
                "description",
                |task| &mut task.description,
                row.description.clone(),
            );
            editor.put(
                "activeForm",
                |task| &mut task.active_form,
                row.active_form.clone(),
            );
        }
    }
}

/// That an entry is no longer in its list.
fn removed(task: &Task, todo: bool) -> Change {
    Change {
        todo,
        id: task.id.clone(),
        subject: task.subject.clone(),
        kind: ChangeKind::Removed(task.status.clone()),
    }
}

/// Whether the id is written with digits only.
fn is_number(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(id: &str) -> Option<u64> {
    is_number(id).then(|| id.parse().ok()).flatten()
}

/// Numbers first and by value, however many digits they have; then the rest by text.
fn id_order(id: &str) -> (bool, usize, &str) {
    if is_number(id) {
        let digits = id.trim_start_matches('0');
        (false, digits.len(), digits)
    } else {
        (true, 0, id)
    }
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
