//! A fork or a rewind at each entry of a session gives the state that was current there.

use insta::assert_snapshot;
use llm::{Item, rules};
use serde_json::json;
use tools::task::Task;

use super::*;
use crate::history::History;
use crate::testing::{
    self, assistant, create, entries_of, failure, files_of, here, only_session, sixty_items,
    store_on, success, tasks_of, update, user, write_session,
};
use crate::verify::verify;

/// What must be so after going back to `prefix`: its entries, its list, and a result for each call.
#[track_caller]
fn check_state(history: &History, prefix: &[Entry], list: &[Task]) {
    let entries = history.entries();
    assert_eq!(entries[..prefix.len()], *prefix);
    assert_eq!(history.tasks().snapshot(), list);
    let added = &entries[prefix.len()..];
    for entry in added {
        let Item::ToolResult(result) = &*entry.item else {
            panic!("{entry:?} was added")
        };
        assert!(result.is_error, "{result:?}");
    }
    let items: Vec<_> = entries.iter().map(|it| Arc::clone(&it.item)).collect();
    match rules::check(&items) {
        Ok(()) | Err(rules::Violation::NothingToAnswer) => {}
        Err(violation) => panic!("{violation}"),
    }
}

#[track_caller]
fn check_clean(disk: &MemoryDisk, info: &SessionInfo) {
    let report = verify(disk, info).unwrap();
    let findings: Vec<_> = report.segments.iter().flat_map(|it| &it.findings).collect();
    assert!(findings.is_empty(), "{findings:?}");
}

/// BR-024, BR-095, BR-116: at every entry, in the middle of parallel calls too.
#[test]
fn br_024_a_fork_at_any_entry_has_the_state_of_that_entry() {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    let written = write_session(&store, sixty_items());
    let info = only_session(&store);
    let before = files_of(&disk, &info.path);
    // The original is in use all the time.
    let original = store.open(&info, false).unwrap();
    for (index, entry) in written.iter().enumerate() {
        let prefix = &written[..=index];
        let fork = store.fork(&info, here(), None, Some(entry.id)).unwrap();
        let parent = fork.contents.header.parent.clone().unwrap();
        assert_eq!(parent.entry, Some(entry.id));
        let (mut history, notices) = History::restore(fork).unwrap();
        assert_eq!(notices, [] as [String; 0]);
        check_state(&history, prefix, &tasks_of(prefix));
        history.append(user("anders weiter")).unwrap();
        let id = history.session().id();
        drop(history);
        check_clean(&disk, &store.find(&id.to_string()).unwrap());
    }
    drop(original);
    assert_eq!(files_of(&disk, &info.path), before);
    assert_eq!(store.list(here()).unwrap().len(), 1 + written.len());
}

#[test]
fn br_024_a_rewind_to_any_entry_has_the_state_of_that_entry() {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    let written = write_session(&store, sixty_items());
    let info = only_session(&store);
    let before = files_of(&disk, &info.path);
    // Back and forth in one session: the target may stand in any of the segments before.
    let (mut history, _) = History::restore(store.open(&info, false).unwrap()).unwrap();
    let handle = history.tasks().clone();
    for step in 0..written.len() {
        let index = step * 37 % written.len();
        let prefix = &written[..=index];
        assert_eq!(
            history.rewind(written[index].id).unwrap(),
            [] as [String; 0]
        );
        check_state(&history, prefix, &tasks_of(prefix));
        // BR-025: whoever holds the list sees it at once.
        assert_eq!(handle.snapshot(), history.tasks().snapshot());
        history.append(user("anders weiter")).unwrap();
    }
    let live = (history.entries().to_vec(), history.tasks().snapshot());
    drop(history);
    let after = files_of(&disk, &info.path);
    assert_eq!(after.len(), before.len() + written.len());
    assert_eq!(after[0], before[0]);
    let info = only_session(&store);
    check_clean(&disk, &info);
    let (history, _) = History::restore(store.open(&info, false).unwrap()).unwrap();
    assert_eq!(
        (history.entries().to_vec(), history.tasks().snapshot()),
        live
    );
}

/// BR-024 as it was reported, and the ids that come after it.
#[test]
fn br_024_tasks_of_the_abandoned_future_are_gone_and_their_ids_free_again() {
    let store = store_on(MemoryDisk::new());
    let mut history = History::begin(store.create(here(), None).unwrap());
    let step = |history: &mut History, item| history.append(item).unwrap().entry.id;
    step(&mut history, assistant("", &[create("call_1", "A")]));
    let mark = step(&mut history, success("call_1"));
    step(
        &mut history,
        assistant(
            "",
            &[update("call_2", 1, "completed"), create("call_3", "B")],
        ),
    );
    step(&mut history, success("call_2"));
    let end = step(&mut history, success("call_3"));
    let whole = history.tasks().snapshot();

    history.rewind(mark).unwrap();
    let list = history.tasks().snapshot();
    assert_eq!(list.len(), 1);
    assert_eq!(list[0].status, tools::task::Status::Pending);
    step(&mut history, assistant("", &[create("call_4", "C")]));
    step(&mut history, success("call_4"));
    let list = history.tasks().snapshot();
    assert_eq!(
        (list[1].id.to_string().as_str(), list[1].subject.as_str()),
        ("2", "C")
    );
    // And forward again: nothing of the abandoned future is lost.
    history.rewind(end).unwrap();
    assert_eq!(history.tasks().snapshot(), whole);
}

/// A session that was compacted: [snapshot][carried tail] and what came after.
fn compacted() -> (MemoryDisk, SessionStore, Vec<Entry>, Vec<Entry>) {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    let first = write_session(&store, sixty_items());
    let info = only_session(&store);
    let (mut history, _) = History::restore(store.open(&info, false).unwrap()).unwrap();
    let entries = testing::compacted(&history, 6);
    history.begin_compacted_segment(entries, json!({})).unwrap();
    for item in [
        assistant(
            "",
            &[
                update("call_99", 1, "inprogress"),
                create("call_100", "neu"),
            ],
        ),
        failure("call_99"),
        success("call_100"),
    ] {
        history.append(item).unwrap();
    }
    let second = history.entries().to_vec();
    (disk, store, first, second)
}

#[test]
fn entries_before_and_behind_a_compaction_can_be_gone_back_to() {
    let (disk, store, first, second) = compacted();
    let info = only_session(&store);
    assert_eq!(info.segment, 2);
    check_clean(&disk, &info);
    // Behind it: the carried entries are there, and count by the snapshot alone. What the compaction
    // put in front is one thing.
    let front = second.iter().rposition(|entry| entry.carried).unwrap();
    for index in [0, 7, 8, 9] {
        let prefix = &second[..=index.max(front)];
        let fork = store
            .fork(&info, here(), None, Some(second[index].id))
            .unwrap();
        let (history, _) = History::restore(fork).unwrap();
        check_state(&history, prefix, &tasks_of(prefix));
        assert!(history.tasks().snapshot().len() >= 10);
    }
    // Before it, and entries that were carried: they are whole in the segment before.
    for index in [0, 20, 55, 59] {
        let fork = store
            .fork(&info, here(), None, Some(first[index].id))
            .unwrap();
        assert_eq!(fork.contents.header.parent.as_ref().unwrap().segment, 1);
        let (history, _) = History::restore(fork).unwrap();
        check_state(&history, &first[..=index], &tasks_of(&first[..=index]));
    }
    let (mut history, _) = History::restore(store.open(&info, false).unwrap()).unwrap();
    history.rewind(first[20].id).unwrap();
    check_state(&history, &first[..=20], &tasks_of(&first[..=20]));
    history.rewind(second[9].id).unwrap();
    check_state(&history, &second[..=9], &tasks_of(&second[..=9]));
    drop(history);
    check_clean(&disk, &store.find(&info.id.to_string()).unwrap());
}

#[test]
fn an_entry_that_a_fork_has_only_as_carried_is_refused_with_the_way_out() {
    let (_, store, first, second) = compacted();
    let info = store.list(here()).unwrap().remove(0);
    let fork = store.fork(&info, here(), None, None).unwrap();
    let (mut history, _) = History::restore(fork).unwrap();
    assert_eq!(history.entries(), second);
    let error = history.rewind(first[57].id).unwrap_err();
    let text = error
        .to_string()
        .replace(&info.id.to_string(), "[original]");
    assert_snapshot!(text.replace(&history.session().id().to_string(), "[fork]"), @"session [fork] has entry 00000000-0000-7000-8000-00000000003c only as carried over a compaction; go back to an entry behind the compaction, or fork the session that it was copied from: [original]");
    assert_eq!(history.entries(), second);
    history.append(user("weiter")).unwrap();
}

#[test]
fn a_fork_of_everything_names_the_entry_that_was_last() {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    let written = write_session(&store, vec![user("a"), user("b")]);
    let info = only_session(&store);
    // A line that is being written at this moment is no part of it.
    disk.open_append(&info.newest_segment())
        .unwrap()
        .append(b"{\"ty")
        .unwrap();
    let fork = store
        .fork(&info, Path::new("/elsewhere"), None, None)
        .unwrap();
    assert_eq!(entries_of(&fork.contents.entries), written);
    assert_eq!(fork.session.directory(), Path::new("/elsewhere"));
    let header = &fork.contents.header;
    assert_eq!(header.reason, Reason::Fork);
    let parent = header.parent.as_ref().unwrap();
    assert_eq!((parent.session, parent.segment), (info.id, 1));
    assert_eq!(parent.entry, Some(written[1].id));
    drop(fork);

    let empty = store.create(here(), None).unwrap();
    let info = store.find(&empty.id().to_string()).unwrap();
    let fork = store.fork(&info, here(), None, None).unwrap();
    assert_eq!(fork.contents.header.parent.unwrap().entry, None);
    assert_eq!(fork.contents.entries.len(), 0);
}
