use serde_json::json;

use super::*;
use crate::session::{MemoryDisk, segment};
use crate::testing::{
    bytes_of, create, only_session, put, store_on, success, update, user, write_session,
};

/// The result of a call, with these counts as data.
fn result(id: &str, counts: [u32; 4]) -> Item {
    let Item::ToolResult(mut result) = success(id) else {
        panic!("it is a result");
    };
    let [pending, inprogress, completed, deleted] = counts;
    result.value = Some(json!({"task": {}, "counts": {
        "pending": pending, "inprogress": inprogress, "completed": completed, "deleted": deleted,
    }}).into());
    Item::ToolResult(result)
}

fn failed(id: &str) -> Item {
    Item::ToolResult(llm::ToolResult::error(id, "no"))
}

/// Two tasks, one of which is done.
fn story() -> Vec<Item> {
    vec![
        user("Plan it — 日本"),
        crate::testing::assistant("", &[create("c1", "a"), create("c2", "b")]),
        result("c1", [1, 0, 0, 0]),
        result("c2", [2, 0, 0, 0]),
        crate::testing::assistant(
            "",
            &[update("c3", 1, "completed"), update("c4", 9, "pending")],
        ),
        result("c3", [1, 0, 1, 0]),
        failed("c4"),
    ]
}

/// Talk of about so many bytes.
fn talk(bytes: usize) -> Vec<Item> {
    let text = "x".repeat(1_000);
    (0..bytes / 1_000).map(|_| user(&text)).collect()
}

fn summary_of(items: Vec<Item>) -> (SessionSummary, Counts) {
    let store = store_on(MemoryDisk::new());
    write_session(&store, items);
    let info = only_session(&store);
    let contents = segment::read(store.disk(), &info.newest_segment(), false).unwrap();
    let mut fold = TaskFold::default();
    for located in &contents.entries {
        let _ = fold_entry(&mut fold, &located.entry);
    }
    (store.summary(&info), fold.store().counts())
}

#[test]
fn a_short_session_is_read_whole() {
    let (summary, counts) = summary_of(story());
    assert_eq!(summary.counts, Some(counts));
    assert_eq!(counts.completed, 1);
    assert_eq!(summary.first_prompt, "Plan it — 日本");
    assert_eq!(summary.directory, crate::testing::here());
    assert_eq!(summary.trouble, None);
}

#[test]
fn of_a_long_session_the_end_is_enough() {
    // What it is about stands at the begin, the last change at the end, and a megabyte between.
    let items = [
        vec![user("Plan it")],
        talk(1_000_000),
        story(),
        talk(20_000),
    ]
    .concat();
    let (summary, counts) = summary_of(items);
    assert!(summary.bytes > 1_000_000);
    assert_eq!(summary.counts, Some(counts));
    assert_eq!(summary.first_prompt, "Plan it");
}

#[test]
fn what_the_end_does_not_tell_is_not_made_up() {
    let edit = Item::System(llm::SystemMessage {
        origin: Origin::TaskEdit,
        text: String::from("done by hand"),
        data: Some(json!({"update": {"taskid": 2, "status": "completed"}})),
    });
    // The last change is too far away; made by hand; told without counts.
    let far = [story(), talk(300_000)].concat();
    let by_hand = [talk(300_000), story(), vec![edit]].concat();
    let without = [
        talk(300_000),
        story(),
        vec![
            crate::testing::assistant("", &[update("c5", 2, "completed")]),
            success("c5"),
        ],
    ]
    .concat();
    for items in [far, by_hand, without] {
        assert_eq!(summary_of(items).0.counts, None);
    }
}

#[test]
fn a_result_of_another_tool_tells_nothing_about_tasks() {
    let other = ("o1", "mcp__calc__counts", json!({}));
    let items = [
        talk(300_000),
        story(),
        vec![
            crate::testing::assistant("", &[other]),
            result("o1", [7, 7, 7, 7]),
        ],
    ]
    .concat();
    let (summary, counts) = summary_of(items);
    assert_eq!(summary.counts, Some(counts));
}

#[test]
fn a_torn_end_and_a_bad_line_do_not_hide_the_session() {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    write_session(&store, [talk(300_000), story()].concat());
    let info = only_session(&store);
    let path = info.newest_segment();
    let whole = bytes_of(&disk, &path);
    let expected = store.summary(&info).counts;
    assert!(expected.is_some());
    for torn in [&b"{\"type\":\"user\""[..], b"\xff\xfe no line\n"] {
        put(&disk, &path, &[&whole[..], torn].concat());
        assert_eq!(store.summary(&info).counts, expected);
    }
    put(&disk, &path, b"nothing\n");
    assert!(store.summary(&info).trouble.is_some());
}
