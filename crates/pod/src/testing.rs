//! What the tests of this crate share: a store that is the same each time, and short ways to say
//! what is in a log.

// The test kit sees this crate from outside, with types of its own; so its helpers are compiled here
// once more.
#[path = "../../testkit/src/clock.rs"]
#[expect(unreachable_pub, reason = "public in the test kit")]
mod clock;
#[path = "../../testkit/src/faulty_disk.rs"]
#[expect(unreachable_pub, reason = "public in the test kit")]
pub(crate) mod faulty_disk;
#[path = "../../testkit/src/power_cut.rs"]
#[expect(unreachable_pub, reason = "public in the test kit")]
mod power_cut;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use llm::{
    Arguments, AssistantBlock, AssistantMessage, Item, StopReason, ToolCall, ToolResult, Usage,
    UserMessage,
};
use serde_json::{Value, json};
use tools::task::{Task, TaskFold};

pub(crate) use clock::StepClock;
pub(crate) use faulty_disk::{Fault, FaultyDisk, Operation};
pub(crate) use power_cut::{Names, PowerCutDisk};

use crate::history::History;
use crate::replay::fold_entry;
use crate::session::{self, Disk, Entry, Located, SessionInfo, SessionStore};

/// The working directory of the sessions.
pub(crate) fn here() -> &'static Path {
    Path::new("/work")
}

/// A store on this disk whose ids and times are the same in each run.
pub(crate) fn store_on(disk: impl Disk + 'static) -> SessionStore {
    SessionStore::new("/pod")
        .with_disk(Arc::new(disk))
        .with_clock(Arc::new(StepClock::default()))
}

/// The only session of the store.
#[track_caller]
pub(crate) fn only_session(store: &SessionStore) -> SessionInfo {
    let sessions = store.list_all().unwrap();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    sessions.into_iter().next().unwrap()
}

/// The bytes of a file.
#[track_caller]
pub(crate) fn bytes_of(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = disk.open_read(path).unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Makes, or replaces, a file with these bytes.
#[track_caller]
pub(crate) fn put(disk: &dyn Disk, path: &Path, bytes: &[u8]) {
    disk.create_directory(path.parent().unwrap()).unwrap();
    let _ = disk.remove(path);
    let mut file = disk.create_file(path).unwrap();
    let mut rest = bytes;
    while !rest.is_empty() {
        let count = file.append(rest).unwrap();
        rest = &rest[count..];
    }
}

/// All files of a session with their bytes, by name, but for the lock.
pub(crate) fn files_of(disk: &dyn Disk, session: &Path) -> Vec<(String, Vec<u8>)> {
    let mut names = disk.list(session).unwrap();
    names.retain(|name| name != "lock");
    names.sort();
    let path = |name: &str| -> PathBuf { session.join(name) };
    names
        .into_iter()
        .map(|name| (name.clone(), bytes_of(disk, &path(&name))))
        .collect()
}

pub(crate) fn user(text: &str) -> Item {
    Item::User(UserMessage::text(text))
}

/// A message with a text and these calls: id, tool, arguments.
pub(crate) fn assistant(text: &str, calls: &[(&str, &str, Value)]) -> Item {
    let calls = calls.iter().map(|(id, name, arguments)| {
        AssistantBlock::ToolCall(ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: Arguments::from(arguments),
        })
    });
    let text = Some(AssistantBlock::Text(text.to_owned())).filter(|_| !text.is_empty());
    Item::Assistant(AssistantMessage {
        content: text.into_iter().chain(calls).collect(),
        model: String::from("test-1"),
        response_id: None,
        stop_reason: StopReason::EndTurn,
        usage: Usage::default(),
    })
}

/// A call that creates a task.
pub(crate) fn create<'a>(id: &'a str, subject: &str) -> (&'a str, &'static str, Value) {
    let description = format!("Alles über {subject} 🚀");
    let arguments = json!({"subject": subject, "description": description});
    (id, "TaskCreate", arguments)
}

/// A call that gives a task a status.
pub(crate) fn update<'a>(id: &'a str, task: u32, status: &str) -> (&'a str, &'static str, Value) {
    let arguments = json!({"taskid": task, "status": status});
    (id, "TaskUpdate", arguments)
}

/// A result that says that the call succeeded.
pub(crate) fn success(id: &str) -> Item {
    Item::ToolResult(ToolResult {
        is_error: false,
        ..ToolResult::error(id, "done — erledigt ✓")
    })
}

pub(crate) fn failure(id: &str) -> Item {
    Item::ToolResult(ToolResult::error(id, "permission denied"))
}

/// What may stand behind the entries and changes nothing: a failure for the call that waits for its
/// result, or else something that the user says.
pub(crate) fn harmless_after<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Item {
    let mut open = std::collections::VecDeque::new();
    for entry in entries {
        match &*entry.item {
            Item::Assistant(message) => open.extend(message.calls().map(|it| it.id.clone())),
            Item::ToolResult(_) => drop(open.pop_front()),
            Item::User(_) | Item::System(_) => {}
        }
    }
    open.pop_front()
        .map_or_else(|| user("weiter 🚀"), |id| failure(&id))
}

/// The task list that the entries give.
pub(crate) fn tasks_of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Task> {
    let mut fold = TaskFold::default();
    for entry in entries {
        let _ = fold_entry(&mut fold, entry);
    }
    fold.store().snapshot()
}

/// The entries without their places.
pub(crate) fn entries_of(located: &[Located]) -> Vec<Entry> {
    located.iter().map(|it| it.entry.clone()).collect()
}

/// Sixty items as a session has them: prompts, parallel calls, failures, reads, and text of all kinds.
pub(crate) fn sixty_items() -> Vec<Item> {
    rounds(10)
}

/// So many rounds of six items, two calls in each.
pub(crate) fn rounds(rounds: u32) -> Vec<Item> {
    let mut items = Vec::new();
    for round in 1..=rounds {
        let (first, second) = (format!("call_{round}a"), format!("call_{round}b"));
        items.extend([
            user(&format!(
                "Runde {round}: bitte weiter — 続けて 👩‍👩‍👧\r\n\u{2028}\0"
            )),
            assistant(
                "これから二つ。",
                &[
                    create(&first, &format!("Übung {round}")),
                    update(
                        &second,
                        round,
                        ["completed", "inprogress", "deleted"][(round % 3) as usize],
                    ),
                ],
            ),
            success(&first),
            if round % 4 == 0 {
                failure(&second)
            } else {
                success(&second)
            },
            Item::System(llm::SystemMessage {
                origin: llm::Origin::Reminder,
                text: format!("Noch {} offen… ✏️", rounds - round),
                data: None,
            }),
            assistant("Fertig für jetzt. 🏁", &[]),
        ]);
    }
    items
}

/// Writes items to a new session of the store, and gives what was written.
#[track_caller]
pub(crate) fn write_session(store: &SessionStore, items: Vec<Item>) -> Vec<Entry> {
    let mut session = store.create(here(), None).unwrap();
    items
        .into_iter()
        .map(|item| {
            let entry = new_entry(&session, item);
            session.append(&entry).unwrap();
            entry
        })
        .collect()
}

/// What a compaction of the history begins with: the task list, and its last entries as carried.
pub(crate) fn compacted(history: &History, tail: usize) -> Vec<Entry> {
    let snapshot = llm::SystemMessage {
        origin: llm::Origin::TaskSnapshot,
        text: String::from("the list"),
        data: Some(json!({"tasks": history.tasks()})),
    };
    let entries = history.entries();
    let tail = entries.iter().skip(entries.len().saturating_sub(tail));
    let mut seeds = vec![new_entry(history.session(), Item::System(snapshot))];
    seeds.extend(tail.map(|entry| Entry {
        carried: true,
        ..entry.clone()
    }));
    seeds
}

pub(crate) fn new_entry(session: &session::Session, item: Item) -> Entry {
    Entry {
        id: session.clock().new_id(),
        at: session.clock().now(),
        carried: false,
        item: Arc::new(item),
    }
}
