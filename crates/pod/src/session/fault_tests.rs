//! The file system fails at each operation of a session, in each way.
//!
//! Whatever happens, nothing that was acknowledged is lost, memory says what the log says, and the
//! session can be opened again.

use std::sync::Arc;

use insta::assert_snapshot;
use llm::Item;
use serde_json::json;

use super::*;
use crate::history::History;
use crate::testing::faulty_disk::{EACCES, EIO, ENOSPC, EROFS};
use crate::testing::{
    Fault, FaultyDisk, Operation, assistant, bytes_of, compacted, create, entries_of, here,
    new_entry, only_session, sixty_items, store_on, success, tasks_of, update, user, write_session,
};

/// A session that goes through everything, on a disk that fails once.
struct Trial {
    disk: FaultyDisk,
    inner: MemoryDisk,
    store: SessionStore,
    fault: Fault,
    /// What the session must say: all that was acknowledged.
    acknowledged: Vec<Entry>,
    /// What it may say as well: what a step would have led to that was cut off in the middle.
    possible: Option<Vec<Entry>>,
    /// Whether its first segment is made with its first entry.
    with_first_entry: bool,
}

impl Trial {
    fn new(nth: usize, fault: Fault, with_first_entry: bool) -> Self {
        let inner = MemoryDisk::new();
        let disk = FaultyDisk::new(Arc::new(inner.clone()));
        disk.fail_nth(nth, fault);
        Self {
            store: store_on(disk.clone()),
            disk,
            inner,
            fault,
            acknowledged: Vec::new(),
            possible: None,
            with_first_entry,
        }
    }

    fn is_over_for_good(&self) -> bool {
        let lasts = matches!(self.fault, Fault::Stop | Fault::FailFromNowOn(_));
        lasts && self.disk.has_failed()
    }

    /// Begins a session, does everything with it, opens it again and goes on.
    fn run(&mut self) {
        let begun = if self.with_first_entry {
            self.store.create_with_first_entry(here(), None, None)
        } else {
            self.store.create(here(), None)
        };
        let Ok(session) = begun else {
            return;
        };
        let id = session.id();
        let mut history = History::begin(session);
        for item in sixty_items().into_iter().take(12) {
            self.append(&mut history, &item);
        }
        let _ = history.sync();
        self.compact(&mut history);
        self.append(&mut history, &user("danach"));
        self.rewind(&mut history);
        self.append(&mut history, &user("noch einmal"));
        self.fork(&history);
        let _ = history.sync();
        drop(history);

        let Ok(info) = self.store.find(&id.to_string()) else {
            return;
        };
        let opened = self.store.open(&info, false).or_else(|error| {
            // What failed once can be tried again.
            assert!(self.disk.has_failed(), "{error}");
            self.store.open(&info, false)
        });
        if let Ok((mut history, _)) = opened.and_then(History::restore) {
            self.check(&history);
            self.append(&mut history, &user("nach dem Öffnen"));
        }
    }

    fn check(&self, history: &History) {
        assert_eq!(history.entries(), self.acknowledged);
        assert_eq!(history.tasks().snapshot(), tasks_of(&self.acknowledged));
        assert_eq!(
            history.conversation().items().len(),
            self.acknowledged.len()
        );
    }

    fn append(&mut self, history: &mut History, item: &Item) {
        for attempt in 1..=2 {
            match history.append(item.clone()) {
                Ok(committed) => {
                    self.acknowledged.push(committed.entry);
                    break;
                }
                // After a sync that failed, nobody knows what is on the disk.
                Err(LogError::Broken { .. }) => break,
                Err(error) if attempt == 2 => {
                    assert!(
                        self.is_over_for_good(),
                        "the next append fails too: {error}"
                    );
                }
                Err(_) => {}
            }
        }
        self.check(history);
    }

    fn compact(&mut self, history: &mut History) {
        let seeds = compacted(history, 2);
        match history.begin_compacted_segment(seeds.clone(), json!({"trigger": "test"})) {
            Ok(()) => self.acknowledged = seeds,
            Err(_) => self.note_possible(seeds),
        }
        self.check(history);
    }

    fn rewind(&mut self, history: &mut History) {
        let first = self.disk_entries(1);
        let Some(target) = first.get(5) else { return };
        let prefix = first[..6].to_vec();
        match history.rewind(target.id) {
            Ok(_) => self.acknowledged = prefix,
            Err(_) => self.note_possible(prefix),
        }
        self.check(history);
    }

    fn fork(&mut self, history: &History) {
        let Ok(info) = self.store.find(&history.session().id().to_string()) else {
            return;
        };
        let before = bytes_of(&self.inner, history.session().segment_path());
        match self.store.fork(&info, here(), None, None) {
            Ok(fork) => {
                assert_eq!(entries_of(&fork.contents.entries), self.acknowledged);
            }
            Err(error) => {
                assert!(self.disk.has_failed(), "{error}");
                if !self.is_over_for_good() {
                    let sessions = store_on(self.inner.clone()).list_all().unwrap();
                    assert_eq!(sessions.len(), 1, "half a fork after: {error}");
                }
            }
        }
        let after = bytes_of(&self.inner, history.session().segment_path());
        assert_eq!(before, after);
    }

    fn note_possible(&mut self, entries: Vec<Entry>) {
        if self.is_over_for_good() {
            self.possible.get_or_insert(entries);
        }
    }

    /// What a segment says by the disk that does not fail.
    fn disk_entries(&self, number: u32) -> Vec<Entry> {
        let sessions = store_on(self.inner.clone()).list_all().unwrap();
        let Some(info) = sessions.first() else {
            return Vec::new();
        };
        let path = segment_path(&info.path, number);
        entries_of(&segment::read(&self.inner, &path, false).unwrap().entries)
    }

    /// The machine starts again.
    fn check_afterwards(&self) {
        let store = store_on(self.inner.clone());
        let mut sessions = store.list_all().unwrap();
        sessions.sort_by_key(|info| info.id);
        let Some(info) = sessions.first() else {
            assert_eq!(self.acknowledged, []);
            return;
        };
        for info in &sessions {
            let report = crate::verify::verify(&self.inner, info).unwrap();
            assert!(report.is_clean(), "{report:?}");
        }
        let opened = store.open(info, false).unwrap();
        let entries = entries_of(&opened.contents.entries);
        // The first entry was on disk when the process was killed, and nobody was told of it.
        let is_first = self.with_first_entry
            && self.acknowledged.is_empty()
            && matches!(&entries[..], [only] if *only.item == sixty_items()[0]);
        if self.possible.as_ref() != Some(&entries) && !is_first {
            assert_eq!(entries, self.acknowledged);
        }
        let (mut history, _) = History::restore(opened).unwrap();
        history.append(user("und weiter")).unwrap();
        let drafts = self.inner.list(&info.path).unwrap();
        assert!(
            !drafts.iter().any(|name| name.contains("tmp")),
            "{drafts:?}"
        );
    }
}

fn check_fault(fault: Fault) {
    check_fault_of(fault, false);
    check_fault_of(fault, true);
}

fn check_fault_of(fault: Fault, with_first_entry: bool) {
    let mut clean = Trial::new(usize::MAX, fault, with_first_entry);
    clean.run();
    clean.check_afterwards();
    let count = clean.disk.count();
    assert!(count > 100, "{count}");
    for nth in 0..count {
        let mut trial = Trial::new(nth, fault, with_first_entry);
        trial.run();
        assert!(trial.disk.has_failed(), "nothing failed at {nth}");
        trial.disk.heal();
        trial.check_afterwards();
    }
}

#[test]
fn one_operation_fails() {
    check_fault(Fault::Fail(EIO));
}

#[test]
fn one_write_is_short() {
    check_fault(Fault::Short);
}

#[test]
fn one_write_is_torn() {
    check_fault(Fault::Torn(ENOSPC));
}

#[test]
fn one_operation_is_done_and_reported_as_failed() {
    check_fault(Fault::DoneButFailed(EIO));
}

#[test]
fn br_111_the_disk_is_full_from_some_moment_on() {
    check_fault(Fault::FailFromNowOn(ENOSPC));
}

#[test]
fn the_process_is_killed_at_each_operation() {
    check_fault(Fault::Stop);
}

/// A session with two entries on a disk that can fail.
fn two_entries() -> (FaultyDisk, SessionStore, History) {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
    let store = store_on(disk.clone());
    let mut history = History::begin(store.create(here(), None).unwrap());
    history.append(user("a")).unwrap();
    let calls = [create("call_1", "x"), update("call_2", 1, "completed")];
    history.append(assistant("", &calls)).unwrap();
    (disk, store, history)
}

/// BR-050, BR-111: each text names the file and what was to be done with it, and says what to do.
#[test]
fn br_050_errors_name_file_and_deed() {
    let mut texts = Vec::new();
    for (operation, errno) in [
        (Operation::Append, ENOSPC),
        (Operation::Append, EIO),
        (Operation::Append, EROFS),
        (Operation::Length, EIO),
    ] {
        let (disk, _, mut history) = two_entries();
        disk.fail_next(operation, Fault::Torn(errno));
        let error = history.append(success("call_1")).unwrap_err();
        texts.push(format!("append, {operation:?}: {error}"));
        // Memory does not run ahead of the disk.
        assert_eq!(history.tasks().snapshot(), []);
        history.append(success("call_1")).unwrap();
        assert_eq!(history.tasks().snapshot().len(), 1);
    }
    for (operation, errno) in [
        (Operation::List, EACCES),
        (Operation::CreateFile, ENOSPC),
        (Operation::Sync, EIO),
        (Operation::Read, EIO),
        (Operation::Rename, EIO),
        (Operation::SyncDirectory, EIO),
    ] {
        let (disk, _, mut history) = two_entries();
        let before = history.entries().to_vec();
        disk.fail_next(operation, Fault::Fail(errno));
        let error = history.rewind(before[0].id).unwrap_err();
        assert!(disk.has_failed());
        texts.push(format!("rewind, {operation:?}: {error}"));
        assert_eq!(history.entries(), before);
        history.append(success("call_1")).unwrap();
    }
    for (operation, errno) in [
        (Operation::CreateDirectory, EACCES),
        (Operation::CreateDirectory, EROFS),
        (Operation::Lock, EIO),
    ] {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::new()));
        disk.fail_next(operation, Fault::Fail(errno));
        let error = store_on(disk).create(here(), None).unwrap_err();
        texts.push(format!("create, {operation:?}: {error}"));
    }
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(
        r"/pod/sessions/work-[0-9a-f]{16}/[0-9a-f-]{36}",
        "[session]",
    );
    settings.add_filter(r"\.[0-9a-f]{32}\.tmp", ".[id].tmp");
    settings.bind(|| assert_snapshot!(texts.join("\n"), @r#"
    append, Append: cannot write to [session]/0001.jsonl: No space left on device (os error 28); make room on the disk, then try again
    append, Append: cannot write to [session]/0001.jsonl: Input/output error (os error 5)
    append, Append: cannot write to [session]/0001.jsonl: Read-only file system (os error 30); set POD_HOME to a directory that can be written
    append, Length: cannot go on with [session]/0001.jsonl: Input/output error (os error 5)
    rewind, List: cannot list [session]: Permission denied (os error 13); it must be yours to read and write
    rewind, CreateFile: cannot create [session]/0002.jsonl.[id].tmp: No space left on device (os error 28); make room on the disk, then try again
    rewind, Sync: cannot sync [session]/0002.jsonl.[id].tmp: Input/output error (os error 5)
    rewind, Read: cannot read [session]/0001.jsonl: Input/output error (os error 5)
    rewind, Rename: cannot rename to [session]/0002.jsonl: Input/output error (os error 5)
    rewind, SyncDirectory: cannot sync [session]: Input/output error (os error 5)
    create, CreateDirectory: cannot create the directory [session]: Permission denied (os error 13); it must be yours to read and write
    create, CreateDirectory: cannot create the directory [session]: Read-only file system (os error 30); set POD_HOME to a directory that can be written
    create, Lock: cannot lock [session]/lock: Input/output error (os error 5)
    "#));
}

#[test]
fn br_112_after_a_failed_sync_nothing_more_is_written() {
    let mut texts = String::new();
    for fault in [Fault::Fail(EIO), Fault::DoneButFailed(EIO)] {
        let (disk, store, mut history) = two_entries();
        let written = history.entries().to_vec();
        disk.fail_next(Operation::Sync, fault);
        let first = history.sync().unwrap_err();
        // The system would report success now, whatever became of the data.
        let second = history.sync().unwrap_err();
        let third = history.append(success("call_1")).unwrap_err();
        assert_eq!(history.entries(), written);
        assert_eq!(second.to_string(), third.to_string());
        let path = history.session().segment_path().display().to_string();
        let hide = |error: LogError| error.to_string().replace(&path, "[segment]");
        texts = [hide(first), hide(second)].join(
            "
",
        );
        // A new segment is written and synced anew, so it may take over.
        history.rewind(written[0].id).unwrap();
        history.append(user("b")).unwrap();
        history.sync().unwrap();
        drop(history);
        let opened = store.open(&only_session(&store), false).unwrap();
        assert_eq!(opened.contents.entries.len(), 2);
    }
    assert_snapshot!(texts, @r#"
    [segment]: nothing more is written to it: a sync failed (Input/output error (os error 5)), so what was written before may not outlive a power cut. Check the disk, then resume the session
    [segment]: nothing more is written to it: a sync failed (Input/output error (os error 5)), so what was written before may not outlive a power cut. Check the disk, then resume the session
    "#);
}

#[test]
fn a_rollback_that_fails_is_made_up_for_before_the_next_write() {
    let (disk, _, mut history) = two_entries();
    let path = history.session().segment_path().to_owned();
    let before = bytes_of(&disk, &path);
    disk.fail_next(Operation::Append, Fault::Stop);
    history.append(success("call_1")).unwrap_err();
    assert!(
        bytes_of_inner(&disk, &path).len() > before.len(),
        "nothing is left to roll back"
    );
    history.append(success("call_1")).unwrap_err();
    disk.heal();
    history.append(success("call_1")).unwrap();
    let after = bytes_of(&disk, &path);
    assert!(after.starts_with(&before));
    let contents = segment::read(&disk, &path, false).unwrap();
    assert_eq!(entries_of(&contents.entries), history.entries());
}

fn bytes_of_inner(disk: &FaultyDisk, path: &Path) -> Vec<u8> {
    bytes_of(disk.inner(), path)
}

/// The new segment has its name, cannot be made to last, and cannot be taken back either: whoever
/// opens the session next may find it or not, so this process must not go on in the old one.
#[test]
fn a_segment_that_may_or_may_not_be_there_stops_the_session() {
    let (disk, store, mut history) = two_entries();
    let before = history.entries().to_vec();
    disk.fail_next(Operation::SyncDirectory, Fault::FailFromNowOn(EIO));
    let error = history.rewind(before[0].id).unwrap_err();
    disk.heal();
    assert!(matches!(error, LogError::Unsettled { .. }), "{error}");
    assert_eq!(history.entries(), before);
    let error = history.append(success("call_1")).unwrap_err();
    let path = history.session().path().display().to_string();
    assert_snapshot!(error.to_string().replace(&path, "[session]"), @"[session]/0001.jsonl: nothing more is written to it: nobody knows whether [session]/0002.jsonl is there (cannot sync [session]: Input/output error (os error 5)). Check the disk, then resume the session");
    drop(history);
    let opened = store.open(&only_session(&store), false).unwrap();
    assert_eq!(entries_of(&opened.contents.entries), before[..1]);
}

/// The session has gone back; that the open call could not be closed is told and no failure of it.
#[test]
fn a_rewind_that_cannot_close_calls_has_happened() {
    let (disk, store, mut history) = two_entries();
    let target = history.entries()[1].id;
    history.append(success("call_1")).unwrap();
    history.append(success("call_2")).unwrap();
    // Fails ever later, until it is the result that cannot be written.
    let mut told = false;
    for later in 0..1_000 {
        disk.fail_nth(disk.count() + later, Fault::Fail(ENOSPC));
        if let Ok(notices) = history.rewind(target) {
            told = notices.iter().any(|notice| notice.contains("stay open"));
            break;
        }
        assert_eq!(history.tasks().snapshot().len(), 1);
    }
    assert!(told, "the append of the result never failed");
    assert_eq!(history.tasks().snapshot(), []);
    disk.heal();
    let closed = history.close_open_calls("closed").unwrap();
    assert_eq!(closed.len(), 2);
    drop(history);
    let opened = store.open(&only_session(&store), false).unwrap();
    assert_eq!(opened.contents.entries.len(), 4);
}

/// BR-066: what somebody else does to a log is noticed, and nothing is written on top of it.
#[test]
fn br_066_a_log_that_somebody_else_wrote_to_is_left_alone() {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    let written = write_session(&store, vec![user("a")]);
    let info = only_session(&store);
    let mut opened = store.open(&info, false).unwrap();
    let path = info.newest_segment();
    let foreign = entry::encode(&Entry {
        id: uuid::Uuid::nil(),
        ..written[0].clone()
    })
    .unwrap();
    disk.open_append(&path).unwrap().append(&foreign).unwrap();
    let bytes = bytes_of(&disk, &path);
    let entry = new_entry(&opened.session, user("b"));
    let error = opened.session.append(&entry).unwrap_err();
    assert_snapshot!(error.to_string().replace(&path.display().to_string(), "[segment]"), @"[segment]: somebody else changed it: it has 424 bytes, 293 were written; nothing more is written to it. Resume the session to see what it says now");
    opened.session.sync().unwrap_err();
    assert_eq!(bytes_of(&disk, &path), bytes);
    // Cut down to nothing.
    disk.open_append(&path).unwrap().truncate(0).unwrap();
    opened.session.append(&entry).unwrap_err();
    assert_eq!(bytes_of(&disk, &path), b"");
}

#[test]
fn a_segment_that_somebody_else_began_is_not_written_over() {
    let disk = MemoryDisk::new();
    let store = store_on(disk.clone());
    let written = write_session(&store, vec![user("a"), user("b")]);
    let info = only_session(&store);
    let mut opened = store.open(&info, false).unwrap();
    let path = info.path.join("0002.jsonl");
    crate::testing::put(&disk, &path, b"theirs");
    let error = opened.session.rewind(written[0].id).unwrap_err();
    assert_eq!(bytes_of(&disk, &path), b"theirs");
    // An unreadable segment is found first here; the one that is not there any more tells it best.
    assert!(matches!(error, LogError::OtherSegment { .. }), "{error}");
    assert_snapshot!(error.to_string().replace(&info.path.display().to_string(), "[session]"), @"session [session]: somebody else changed its segments: the newest is 2, this process is in 1. Resume the session to see what it says now");
}

#[test]
fn a_removed_session_is_noticed_at_the_next_append_and_at_the_end() {
    let mut texts = String::new();
    for durable in [true, false] {
        let disk = MemoryDisk::new();
        let store = store_on(disk.clone()).durable(durable);
        write_session(&store, vec![user("a"), user("b")]);
        let info = only_session(&store);
        let mut opened = store.open(&info, false).unwrap();
        let entry = new_entry(&opened.session, user("c"));
        opened.session.append(&entry).unwrap();
        disk.remove(&info.newest_segment()).unwrap();
        let ended = opened.session.sync().unwrap_err();
        let appended = opened.session.append(&entry).unwrap_err();
        assert_eq!(ended.to_string(), appended.to_string());
        let path = info.path.display().to_string();
        let begun = opened
            .session
            .begin_segment(Reason::Rewind, None, None, [])
            .unwrap_err();
        texts = format!(
            "{ended}
{begun}"
        )
        .replace(&path, "[session]");
    }
    assert_snapshot!(texts, @r#"
    cannot go on with [session]/0001.jsonl: it was removed or replaced; put it back and resume the session, or begin a new one
    session [session]: somebody else changed its segments: none is left, this process is in 1. Resume the session to see what it says now
    "#);
}
