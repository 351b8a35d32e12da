//! What a session costs: an append to the log by the length of the session, and the lines of a log as
//! they are read and folded again.
//!
//! ```sh
//! cargo bench -p pod --bench session
//! ```
//!
//! The disk is one in memory, so that the figures are those of this crate.

#![expect(
    clippy::unwrap_used,
    reason = "a program that shows numbers, and has none to show if something fails"
)]

use std::path::Path;
use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use llm::{Arguments, AssistantBlock, AssistantMessage, Item, ToolCall, ToolResult, UserMessage};
use pod::measured::Log;
use pod::session::{MemoryDisk, SessionInfo, SessionStore, segment};
use serde_json::json;

/// Turns of a session, each of which makes a task.
const SIZES: [usize; 3] = [10, 1_000, 10_000];

fn main() {
    divan::main();
}

/// A turn more: a call and its result are encoded, written and folded. Nothing of it may depend on the
/// length.
#[divan::bench(args = SIZES, sample_count = 200, sample_size = 1)]
fn append_a_turn(bencher: Bencher<'_, '_>, turns: usize) {
    let (_store, mut log) = session(turns);
    let mut number = turns;
    bencher.bench_local(|| {
        turn(&mut log, number);
        number += 1;
    });
}

/// The lines of the newest segment, read and checked.
#[divan::bench(args = SIZES, sample_count = 10)]
fn read_the_lines(bencher: Bencher<'_, '_>, turns: usize) {
    let (store, log) = session(turns);
    drop(log);
    let path = only(&store).newest_segment();
    bencher
        .counter(ItemsCount::new(2 * turns + 1))
        .bench_local(|| segment::read(store.disk(), &path, false).unwrap());
}

/// The same, and all that is derived from them.
#[divan::bench(args = SIZES, sample_count = 10)]
fn resume(bencher: Bencher<'_, '_>, turns: usize) {
    let (store, log) = session(turns);
    drop(log);
    let info = only(&store);
    bencher
        .counter(ItemsCount::new(2 * turns + 1))
        .bench_local(|| {
            let log = Log::restore(store.open(&info, false).unwrap()).unwrap();
            assert_eq!(log.tasks() as usize, turns);
        });
}

fn session(turns: usize) -> (SessionStore, Log) {
    let store = SessionStore::new("/pod").with_disk(Arc::new(MemoryDisk::new()));
    let mut log = Log::begin(store.create(Path::new("/work"), None).unwrap());
    log.append(Item::User(UserMessage::text("Check the figures.")))
        .unwrap();
    for number in 0..turns {
        turn(&mut log, number);
    }
    (store, log)
}

fn only(store: &SessionStore) -> SessionInfo {
    store.list_all().unwrap().remove(0)
}

fn turn(log: &mut Log, number: usize) {
    let id = format!("toolu_{number:08}");
    let arguments = json!({
        "subject": format!("Check the figures of chapter {number} against the source"),
        "description": "Each table, and each note below it.",
    });
    log.append(Item::Assistant(AssistantMessage {
        content: vec![AssistantBlock::ToolCall(ToolCall {
            id: id.clone(),
            name: String::from("TaskCreate"),
            arguments: Arguments::from(&arguments),
        })],
        ..AssistantMessage::default()
    }))
    .unwrap();
    let changed = log
        .append(Item::ToolResult(ToolResult {
            is_error: false,
            ..ToolResult::error(id, "created")
        }))
        .unwrap();
    assert_eq!(changed, 1);
}
