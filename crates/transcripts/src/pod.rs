//! Pod's own sessions: one segment, a header line and then a line an item. The list is what
//! [`TaskFold`] makes of it, the fold that the runtime itself uses; this only tells it on.

use std::sync::LazyLock;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tools::task::{self, Change, Task, TaskFold, TaskOperation, Warning};

use crate::calls::{Calls, Closed, Open};
use crate::event::{Call, Chain, Create, Event, Place, Row, Tool, Update, What};
use crate::format::{Decode, Needles, Output, time};
use crate::json::{Flag, Maybe, Text, object, parse};
use crate::report::FaultKind;

const ALWAYS: [&str; 5] = [
    "\"TaskCreate\"",
    "\"TaskUpdate\"",
    "\"TodoWrite\"",
    "\"task_snapshot\"",
    "\"task_edit\"",
];

static IDLE: LazyLock<Needles> = LazyLock::new(|| Needles::new(ALWAYS));

static OPEN: LazyLock<Needles> = LazyLock::new(|| {
    Needles::new(
        ALWAYS
            .into_iter()
            .chain(["\"tool_result\"", "\"assistant\""]),
    )
});

/// Reads a segment.
#[derive(Default)]
pub(crate) struct Decoder {
    fold: TaskFold,
    calls: Calls,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    id: Text<'a>,
    at: Text<'a>,
    carried: Flag,
    content: Maybe<Vec<Block<'a>>>,
    call_id: Text<'a>,
    is_error: Flag,
    summary: Text<'a>,
    changed_arguments: Option<&'a RawValue>,
    origin: Text<'a>,
    data: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    id: Text<'a>,
    name: Text<'a>,
    arguments: Option<&'a RawValue>,
}

object!(Block);

impl Decode for Decoder {
    fn wanted(&self) -> &'static Needles {
        if self.calls.is_open() { &OPEN } else { &IDLE }
    }

    fn wanted_at_most(&self) -> &'static Needles {
        &OPEN
    }

    fn record(
        &mut self,
        line: u64,
        json: &[u8],
        out: &mut Output,
    ) -> Result<(), serde_json::Error> {
        let record: Record<'_> = parse(json)?;
        let at = At {
            line,
            time: time(&record.at),
        };
        out.report.time(at.time);
        match record.kind.as_str() {
            // What a compaction took along is in the snapshot before it.
            _ if record.carried.0 => {}
            Some("assistant") => self.calls_of(&at, &record, out),
            Some("tool_result") => self.result(&at, &record, out),
            Some("system") => self.system(&at, &record, out),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Output) {
        out.events.extend(self.calls.pending());
    }
}

impl Decoder {
    fn calls_of(&mut self, at: &At, record: &Record<'_>, out: &mut Output) {
        let message = record.id.as_str().unwrap_or("");
        self.calls.went_on(&Chain::Main, message);
        for block in record.content.0.iter().flatten() {
            let (Some(id), Some(name)) = (block.id.as_str(), block.name.as_str()) else {
                continue;
            };
            let tool = Tool::named(name);
            let Some(tool @ (Tool::TaskCreate | Tool::TaskUpdate | Tool::TodoWrite)) = tool else {
                continue;
            };
            if !block.kind.is("tool_call") {
                continue;
            }
            // Arguments that are no JSON never ran: the result of such a call is an error.
            let arguments = arguments(block.arguments);
            if let Some(arguments) = &arguments {
                self.fold.call(id, name, arguments);
            }
            let call = Open {
                line: at.line,
                time: at.time,
                chain: Chain::Main,
                tool,
                input: arguments.unwrap_or(Value::Null).to_string(),
                message: message.to_owned(),
                lost: false,
            };
            if !self.calls.open(id, call) {
                out.report.count("duplicate_calls");
            }
        }
    }

    fn result(&mut self, at: &At, record: &Record<'_>, out: &mut Output) {
        let id = record.call_id.as_str().unwrap_or("");
        let Closed::Call(call) = self.calls.close(id) else {
            return;
        };
        if record.is_error.0 {
            // It did nothing, so a later call with its id may.
            self.calls.forget(id);
        }
        let ran_with = arguments(record.changed_arguments);
        let what = match self.fold.result(id, record.is_error.0, ran_with.as_ref()) {
            Ok(changes) if !changes.is_empty() => changes.into_iter().map(told).collect(),
            // A list that was set to what it was.
            Ok(_) if call.tool == Tool::TodoWrite && !record.is_error.0 => Vec::new(),
            Ok(_) => vec![What::Failed {
                reason: record.summary.as_str().unwrap_or("").to_owned(),
            }],
            Err(warning) => {
                refused(at, &warning, out);
                vec![What::Unreadable {
                    reason: "change_refused",
                }]
            }
        };
        for what in what {
            let call = Call {
                id: id.to_owned(),
                tool: call.tool,
            };
            out.events.push_back(at.event(Some(call), what));
        }
    }

    /// Items of the runtime itself, recognised by their origin and never by their text.
    fn system(&mut self, at: &At, record: &Record<'_>, out: &mut Output) {
        let data = || -> Value {
            record
                .data
                .and_then(|raw| serde_json::from_str(raw.get()).ok())
                .unwrap_or(Value::Null)
        };
        match record.origin.as_str() {
            Some("task_snapshot") => {
                let data = data();
                match self
                    .fold
                    .snapshot(data.get("tasks").unwrap_or(&Value::Null))
                {
                    Ok(()) => {
                        let rows = self
                            .fold
                            .store()
                            .with(|tasks| tasks.iter().map(row).collect());
                        out.events.push_back(at.event(None, What::Restore(rows)));
                    }
                    Err(warning) => refused(at, &warning, out),
                }
            }
            Some("task_edit") => match self.edit(&data()) {
                Ok(change) => out.events.push_back(at.event(None, told(change))),
                Err(warning) => refused(at, &warning, out),
            },
            _ => {}
        }
    }

    fn edit(&mut self, data: &Value) -> Result<Change, Warning> {
        let operation = operation(data).map_err(|reason| Warning {
            subject: String::from("edit by hand"),
            reason,
        })?;
        self.fold.edit(&operation)
    }
}

/// Arguments as the log has them: the object, or the text where that is no clean object.
fn arguments(raw: Option<&RawValue>) -> Option<Value> {
    match serde_json::from_str(raw?.get()).ok()? {
        Value::String(text) => serde_json::from_str(&text).ok(),
        value => Some(value),
    }
}

/// `{"create": {...}}` or `{"update": {...}}`, with the fields of the tools.
fn operation(data: &Value) -> Result<TaskOperation, String> {
    let named = |name: &str| data.get(name);
    match (named("create"), named("update")) {
        (Some(fields), None) => task::arguments::create(fields),
        (None, Some(fields)) => task::arguments::update(fields),
        _ => Err(String::from("it is neither a create nor an update")),
    }
}

fn refused(at: &At, warning: &Warning, out: &mut Output) {
    out.report
        .fault(FaultKind::Refused, at.line, warning.to_string());
}

/// The change as an event. Its id is told, so the list can only do the same.
fn told(change: Change) -> What {
    let Change {
        task,
        previous_status,
        fields,
        ..
    } = change;
    let id = task.id.to_string();
    if previous_status.is_none() {
        return What::Create(Create {
            id: Some(id),
            subject: Some(task.subject),
            description: Some(task.description),
            active_form: task.active_form,
            ..Create::default()
        });
    }
    let given = |name: &str| fields.contains(&name);
    What::Update(Update {
        id,
        status: given("status").then(|| task.status.as_str().to_owned()),
        subject: given("subject").then_some(task.subject),
        description: given("description").then_some(task.description),
        active_form: task.active_form.filter(|_| given("active_form")),
        was: previous_status.map(|status| status.as_str().to_owned()),
        ..Update::default()
    })
}

fn row(task: &Task) -> Row {
    Row {
        id: task.id.to_string(),
        status: Some(task.status.as_str().to_owned()),
        subject: Some(task.subject.clone()),
        description: Some(task.description.clone()),
        active_form: task.active_form.clone(),
        ..Row::default()
    }
}

/// Where an item stands.
struct At {
    line: u64,
    time: Option<Timestamp>,
}

impl At {
    fn event(&self, call: Option<Call>, what: What) -> Event {
        Event {
            place: Place {
                source: 0,
                line: self.line,
            },
            time: self.time,
            chain: Chain::Main,
            call,
            what,
        }
    }
}
