//! Changing the fields of one task.

use serde_json::{Map, Value};

use crate::task::{Change, ChangeKind, Stamp, Task};

/// Changes the fields of one task and notes what changed.
pub(crate) struct Editor<'a> {
    pub(crate) task: &'a mut Task,
    stamp: &'a Stamp,
    changes: &'a mut Vec<Change>,
}

impl<'a> Editor<'a> {
    pub(crate) fn new(task: &'a mut Task, stamp: &'a Stamp, changes: &'a mut Vec<Change>) -> Self {
        Self {
            task,
            stamp,
            changes,
        }
    }

    /// The task is in the agent's store.
    pub(crate) fn present(&mut self) {
        if std::mem::take(&mut self.task.absent) {
            self.note(ChangeKind::Back);
        }
    }

    /// Sets a field if a value is given.
    pub(crate) fn set(
        &mut self,
        name: &'static str,
        field: impl Fn(&mut Task) -> &mut Option<String>,
        value: Option<&String>,
    ) {
        if let Some(value) = value {
            self.put(name, field, Some(value.clone()));
        }
    }

    pub(crate) fn put(
        &mut self,
        name: &'static str,
        field: impl Fn(&mut Task) -> &mut Option<String>,
        to: Option<String>,
    ) {
        let slot = field(self.task);
        if *slot != to {
            let from = std::mem::replace(slot, to.clone());
            self.note(ChangeKind::Field { name, from, to });
        }
    }

    pub(crate) fn add(
        &mut self,
        name: &'static str,
        field: impl Fn(&mut Task) -> &mut Vec<String>,
        value: &str,
    ) {
        let slot = field(self.task);
        if slot.iter().any(|known| known == value) {
            return;
        }
        let from = joined(slot);
        slot.push(value.to_owned());
        let to = joined(slot);
        self.note(ChangeKind::Field { name, from, to });
    }

    pub(crate) fn replace(
        &mut self,
        name: &'static str,
        field: impl Fn(&mut Task) -> &mut Vec<String>,
        value: Option<&Vec<String>>,
    ) {
        let Some(value) = value else { return };
        let slot = field(self.task);
        if slot != value {
            let from = joined(slot);
            slot.clone_from(value);
            self.note(ChangeKind::Field {
                name,
                from,
                to: joined(value),
            });
        }
    }

    pub(crate) fn metadata(&mut self, merge: &Map<String, Value>) {
        if merge.is_empty() {
            return;
        }
        let from = Value::Object(self.task.metadata.clone()).to_string();
        for (key, value) in merge {
            if value.is_null() {
                self.task.metadata.shift_remove(key);
            } else {
                self.task.metadata.insert(key.clone(), value.clone());
            }
        }
        let to = Value::Object(self.task.metadata.clone()).to_string();
        if from != to {
            self.note(ChangeKind::Field {
                name: "metadata",
                from: Some(from),
                to: Some(to),
            });
        }
    }

    fn note(&mut self, kind: ChangeKind) {
        self.task.updated = self.stamp.clone();
        self.changes.push(Change {
            todo: false,
            id: self.task.id.clone(),
            subject: self.task.subject.clone(),
            kind,
        });
    }
}

fn joined(ids: &[String]) -> Option<String> {
    (!ids.is_empty()).then(|| ids.join(", "))
}
