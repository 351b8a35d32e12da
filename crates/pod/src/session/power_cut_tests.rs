//! The power goes off at each operation. What was synced is there afterwards, and a segment is there
//! whole or not at all.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::history::History;
use crate::testing::{
    Fault, FaultyDisk, Names, PowerCutDisk, compacted, entries_of, here, sixty_items, store_on,
    user,
};
use crate::verify::verify;

/// What a session may say after the power cut: a row of entries of which at least so many are there.
#[derive(Clone, Debug)]
struct Promise {
    entries: Vec<Entry>,
    synced: usize,
}

impl Promise {
    fn of(history: &History) -> Self {
        let entries = history.entries().to_vec();
        Self {
            synced: entries.len(),
            entries,
        }
    }

    fn is_kept(&self, found: &[Entry]) -> bool {
        found.len() >= self.synced && self.entries.starts_with(found)
    }
}

/// How the session is begun.
type Begin = fn(&SessionStore) -> Result<Session, LogError>;

/// Works until the disk stops. Gives the promises of which one must be kept: the last one, and the one
/// that a step in the middle of it would have led to.
fn work(store: &SessionStore, begin: Begin) -> Vec<Promise> {
    let Ok(session) = begin(store) else {
        return Vec::new();
    };
    let mut history = History::begin(session);
    let mut promise = Promise::of(&history);
    for item in sixty_items().into_iter().take(12) {
        match history.append(item) {
            Ok(committed) => promise.entries.push(committed.entry),
            Err(_) => return vec![promise],
        }
        if promise.entries.len().is_multiple_of(4) {
            if history.sync().is_err() {
                return vec![promise];
            }
            promise.synced = promise.entries.len();
        }
    }
    let seeds = compacted(&history, 2);
    if history
        .begin_compacted_segment(seeds.clone(), json!({}))
        .is_err()
    {
        let after = Promise {
            synced: seeds.len(),
            entries: seeds,
        };
        return vec![promise, after];
    }
    promise = Promise::of(&history);
    match history.append(user("danach")) {
        Ok(committed) => promise.entries.push(committed.entry),
        Err(_) => return vec![promise],
    }
    let target = history.entries()[0].id;
    if history.rewind(target).is_err() {
        // What the compaction made is one thing: the list and the carried entries.
        let entries = promise.entries[..3].to_vec();
        let after = Promise { synced: 3, entries };
        return vec![promise, after];
    }
    vec![Promise::of(&history)]
}

#[test]
fn br_061_what_was_synced_outlives_a_power_cut_at_any_moment() {
    check_power_cuts(|store| store.create(here(), None), true);
}

#[test]
fn br_061_a_session_that_is_made_with_its_first_entry_outlives_it_too() {
    check_power_cuts(
        |store| store.create_with_first_entry(here(), None, None),
        false,
    );
}

/// The first entry needs no sync of its own, and no session is there before it.
#[test]
fn a_session_that_is_made_with_its_first_entry_is_safe_with_it() {
    let disk = PowerCutDisk::default();
    let store = store_on(disk.clone());
    let session = store.create_with_first_entry(here(), None, None).unwrap();
    assert!(store.list_all().unwrap().is_empty());
    let mut history = History::begin(session);
    history.append(user("a")).unwrap();
    let left = disk.after_power_cut(Names::Synced);
    let store = store_on(left.clone());
    let info = store.list_all().unwrap().remove(0);
    let contents = segment::read(&left, &info.newest_segment(), false).unwrap();
    assert_eq!(entries_of(&contents.entries), history.entries());
}

/// `at_once` says whether the session is there, empty, once it is begun.
fn check_power_cuts(begin: Begin, at_once: bool) {
    let clean = FaultyDisk::new(Arc::new(PowerCutDisk::default()));
    work(&store_on(clean.clone()), begin);
    assert!(clean.count() > 60);
    for nth in 0..=clean.count() {
        let inner = PowerCutDisk::default();
        let disk = FaultyDisk::new(Arc::new(inner.clone()));
        disk.fail_nth(nth, Fault::Stop);
        let is_new =
            |promises: &[Promise]| promises.iter().all(|it| !at_once && it.entries.is_empty());
        let promises = work(&store_on(disk.clone()), begin);
        for names in [Names::Synced, Names::Written] {
            let left = inner.after_power_cut(names);
            let store = store_on(left.clone());
            let sessions = store.list_all().unwrap();
            let Some(info) = sessions.first() else {
                assert!(is_new(&promises), "{nth}, {names:?}: the session is gone");
                continue;
            };
            assert!(verify(&left, info).unwrap().is_clean(), "{nth}, {names:?}");
            let opened = store.open(info, false).unwrap();
            let found = entries_of(&opened.contents.entries);
            // A session that was never acknowledged may be there all the same, whole and empty, or with
            // the entry that it was to begin with.
            let is_kept = promises.iter().any(|it| it.is_kept(&found));
            let is_first =
                !at_once && matches!(&found[..], [only] if *only.item == sixty_items()[0]);
            assert!(
                is_kept || is_new(&promises) && (found.is_empty() || is_first),
                "{nth}, {names:?}: {found:?} is left of {promises:?}"
            );
        }
    }
}
