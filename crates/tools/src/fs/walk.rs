//! Going through the files of a directory, on several threads.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::Scope;
use super::blocking::Stop;
use super::scope::is_pseudo;

/// The stores of version control systems, which no search is about.
const STORES: &[&str] = &[".git", ".hg", ".jj", ".svn"];

/// Visits everything below a directory but the directory, and gives how many entries could not be
/// read.
///
/// What ignore files name is left out (`.gitignore` in a git repository, `.ignore` anywhere), unless
/// the directory itself is inside of what they name: who names it wants it. Hidden files are visited,
/// the stores of version control systems are not. Symlinks are visited, not followed.
pub(super) fn walk(
    scope: &Scope,
    root: &Path,
    stop: &Stop,
    visit: impl Fn(&DirEntry) + Sync,
) -> usize {
    let unreadable = AtomicUsize::new(0);
    let walk = WalkBuilder::new(root)
        .hidden(false)
        // What the ignore file of the user is relative to.
        .current_dir(scope.working_directory())
        .filter_entry(|entry| entry.depth() == 0 || !is_left_out(entry))
        .build_parallel();
    walk.run(|| {
        Box::new(|entry| {
            if stop.is_set() {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) if entry.depth() > 0 => visit(&entry),
                Ok(_) => {}
                Err(_) => {
                    unreadable.fetch_add(1, Ordering::Relaxed);
                }
            }
            WalkState::Continue
        })
    });
    unreadable.into_inner()
}

fn is_left_out(entry: &DirEntry) -> bool {
    STORES.iter().any(|store| entry.file_name() == *store) || is_pseudo(entry.path())
}
