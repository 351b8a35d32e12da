//! Random calls and histories for the property tests, each with what it means.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// A call and what it means. `None`: it is broken, whatever the list is.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) name: &'static str,
    pub(super) arguments: Value,
    pub(super) meaning: Option<Meaning>,
}

#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Create(Text, &'static str),
    Update(usize, Option<Status>, Option<Text>, Option<&'static str>),
    Get(usize),
    List,
}

/// A subject, and whether it has a visible character.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text(pub(super) &'static str, pub(super) bool);

const SUBJECTS: [Text; 16] = [
    Text("A", true),
    Text("Write the parser", true),
    Text("日本語", true),
    Text("👩‍👩‍👧", true),
    Text("e\u{301}", true),
    Text("\u{1b}[2J\u{202e}x", true),
    Text("x\n#1 [deleted] y", true),
    Text("#2", true),
    Text(" 0 ", true),
    Text("null", true),
    Text("", false),
    Text(" ", false),
    Text("\n\t\u{3000}", false),
    Text("\u{200b}\u{200d}", false),
    Text("\u{1b}\u{9b}", false),
    Text("\u{202e}", false),
];

const DESCRIPTIONS: [&str; 6] = [
    "",
    "One line.",
    "Two\r\nlines.\n",
    "```\n#1 [completed] x\n9 tasks: 9 pending",
    "\u{0}\u{7f}\u{2028}日",
    "\\ \" \u{10ffff}",
];

const STATUSES: [(Status, &str); 11] = [
    (Status::Pending, "pending"),
    (Status::InProgress, "inprogress"),
    (Status::Completed, "completed"),
    (Status::Deleted, "deleted"),
    (Status::Pending, " PENDING "),
    (Status::InProgress, "in_progress"),
    (Status::InProgress, "In-Progress"),
    (Status::InProgress, "IN PROGRESS"),
    (Status::InProgress, "inProgress"),
    (Status::Completed, "Completed"),
    (Status::Deleted, "DELETED\n"),
];

/// Arguments that no tool accepts.
fn broken() -> [Value; 13] {
    [
        json!([]),
        json!(1),
        json!("x"),
        json!({"taskid": 1, "subject": 1, "description": "d"}),
        json!({"taskid": 1, "subject": "s", "description": "d", "status": "done"}),
        json!({"taskid": 1, "status": "pending", "owner": "x"}),
        json!({"subject": "s", "description": "d", "blockedBy": []}),
        json!({"taskid": 1, "id": 1, "status": "pending"}),
        json!({"taskid": 1.5, "status": "pending"}),
        json!({"taskid": -1, "status": "pending"}),
        json!({"taskid": u64::MAX, "status": "pending"}),
        json!({"taskid": null, "status": "pending"}),
        json!({"x".repeat(1_000): "y".repeat(1_000)}),
    ]
}

/// Random choices. A flat row of numbers is quick to make and shrinks well: 0 is the plainest.
#[derive(Clone, Debug)]
pub(super) struct Dice(std::vec::IntoIter<u8>);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        usize::from(self.0.next().unwrap_or(0)) % sides
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }

    /// The field with an id in one of its spellings. Id 0 stands for one that does not exist.
    fn id(&mut self) -> (usize, &'static str, Value) {
        let id = (self.roll(10) + 1) % 10;
        let value = match self.roll(6) {
            0 | 1 => json!(id),
            #[expect(clippy::cast_precision_loss, reason = "ids are small here")]
            2 => json!(id as f64),
            3 => json!(id.to_string()),
            4 => json!(format!("#{id}")),
            _ => json!(format!(" {id}.0\n")),
        };
        (id, self.pick(&["taskid", "taskId", "id", "task_id"]), value)
    }

    /// The object itself, as a JSON string, or as a JSON string in a JSON string.
    fn wrapped(&mut self, object: Map<String, Value>) -> Value {
        let object = Value::Object(object);
        let times = self.roll(8).saturating_sub(5);
        (0..times).fold(object, |inner, _| Value::String(inner.to_string()))
    }

    fn create(&mut self) -> Sent {
        let (subject, description) = (self.pick(&SUBJECTS), self.pick(&DESCRIPTIONS));
        let mut object = Map::new();
        object.insert(String::from("subject"), json!(subject.0));
        object.insert(String::from("description"), json!(description));
        Sent {
            name: "TaskCreate",
            arguments: self.wrapped(object),
            meaning: Some(Meaning::Create(subject, description)),
        }
    }

    fn update(&mut self) -> Sent {
        let (id, name, value) = self.id();
        let status = (self.roll(4) < 3).then(|| self.pick(&STATUSES));
        let subject = (self.roll(3) == 2).then(|| self.pick(&SUBJECTS));
        let description = (self.roll(3) == 2).then(|| self.pick(&DESCRIPTIONS));
        let nulls = self.roll(2) == 1;
        let mut object = Map::new();
        object.insert(name.to_owned(), value);
        for (name, value) in [
            ("status", status.map(|it| json!(it.1))),
            ("subject", subject.map(|it| json!(it.0))),
            ("description", description.map(|it| json!(it))),
        ] {
            if value.is_some() || nulls {
                object.insert(name.to_owned(), value.unwrap_or_default());
            }
        }
        Sent {
            name: "TaskUpdate",
            arguments: self.wrapped(object),
            meaning: Some(Meaning::Update(
                id,
                status.map(|it| it.0),
                subject,
                description,
            )),
        }
    }

    /// A create or an update.
    fn change(&mut self) -> Sent {
        if self.roll(5) < 2 {
            self.create()
        } else {
            self.update()
        }
    }

    pub(super) fn sent(&mut self) -> Sent {
        match self.roll(12) {
            0..10 => self.change(),
            10 if self.roll(2) == 0 => Sent {
                name: "TaskList",
                arguments: json!({}),
                meaning: Some(Meaning::List),
            },
            10 => {
                let (id, name, value) = self.id();
                Sent {
                    name: "TaskGet",
                    arguments: json!({ name: value }),
                    meaning: Some(Meaning::Get(id)),
                }
            }
            _ => Sent {
                name: self.pick(&NAMES),
                arguments: self.pick(&broken()),
                meaning: None,
            },
        }
    }

    pub(super) fn fate(&mut self) -> Fate {
        match self.roll(8) {
            0..6 => Fate::Runs,
            6 => Fate::Denied,
            _ => Fate::Lost,
        }
    }

    fn tasks(&mut self) -> Vec<Task> {
        let count = u32::try_from(self.roll(5)).unwrap();
        (1..=count)
            .map(|id| Task {
                status: self.pick(&STATUSES).0,
                ..Task::new(
                    TaskId::new(id),
                    self.pick(&SUBJECTS).0,
                    self.pick(&DESCRIPTIONS),
                )
            })
            .collect()
    }

    pub(super) fn entry(&mut self, ids: &[u8]) -> Entry {
        let call = self.pick(ids);
        match self.roll(24) {
            0..10 => Entry::Call(call, self.sent()),
            10..20 => Entry::Result {
                call,
                is_error: self.roll(5) == 4,
                changed: (self.roll(10) == 9).then(|| self.change()),
            },
            20 => Entry::Snapshot(self.tasks(), self.roll(3) == 2),
            21 | 22 => Entry::Edit(self.change().meaning.unwrap()),
            _ => Entry::Carried,
        }
    }
}

/// Rows of choices, each turned into one thing.
pub(super) fn several<T: std::fmt::Debug>(
    most: usize,
    make: impl Fn(&mut Dice) -> T,
) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(any::<[u8; 16]>(), 0..most).prop_map(move |rows| {
        rows.into_iter()
            .map(|row| make(&mut Dice(Vec::from(row).into_iter())))
            .collect()
    })
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// It runs, and its result enters the history.
    Runs,
    /// Somebody says no: the tool does not run, the result is an error.
    Denied,
    /// The process dies before the result is in the history.
    Lost,
}

/// An entry of a random history. Few ids, so that calls and results meet, miss and repeat.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    Call(u8, Sent),
    Result {
        call: u8,
        is_error: bool,
        changed: Option<Sent>,
    },
    Snapshot(Vec<Task>, bool),
    Edit(Meaning),
    /// A call that a compaction carried along for reading. It is not fed to the fold; a result
    /// without a call may follow.
    Carried,
}

pub(super) fn history(ids: [u8; 5]) -> impl Strategy<Value = Vec<Entry>> {
    several(50, move |dice| dice.entry(&ids))
}
