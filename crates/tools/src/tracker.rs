//! What a session knows of the files that it has read and written.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files that a session has read or written, each with a fingerprint of its content, in the
/// order in which they were touched.
///
/// It lives as long as the session and is shared: a clone is the same tracker. Paths are those that
/// [`Scope::resolve`](crate::fs::Scope::resolve) gives, so that one file has one name.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    // Never held across an await: no method is async, and none gives the guard away.
    files: Arc<Mutex<Files>>,
    keys: RandomState,
}

#[derive(Debug, Default)]
struct Files {
    known: HashMap<PathBuf, Known>,
    touches: u64,
}

#[derive(Debug)]
struct Known {
    fingerprint: Fingerprint,
    /// The number of the last touch: the higher, the more recent.
    touched: u64,
}

/// What tells one content of a file from another: its length and a hash.
///
/// The hash is the keyed one of the standard library, with keys that are drawn anew for each
/// tracker. That is enough, and much faster than a cryptographic hash: fingerprints are compared
/// within one process only, never stored, and without the keys nobody can build a second content
/// with the same hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    length: u64,
    hash: u64,
}

/// Why a file must not be changed. The text tells the model what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// The session has not read the file.
    #[error("has not been read in this session; Read it first")]
    NotRead,
    /// The content is not the one that the session has read or written last.
    #[error("has changed since it was read; Read it again")]
    Changed,
}

impl Tracker {
    /// A tracker that knows no file.
    pub fn new() -> Self {
        Self::default()
    }

    /// A tracker that knows no file and whose knowledge this one can take over, see
    /// [`Tracker::adopt`].
    pub fn separate(&self) -> Self {
        Self {
            files: Arc::default(),
            keys: self.keys.clone(),
        }
    }

    /// Takes over what a tracker knows that was made by [`Tracker::separate`]. What this one knew of
    /// the same files is forgotten.
    pub fn adopt(&self, other: &Self) {
        let mut known: Vec<(PathBuf, Known)> = other.lock().known.drain().collect();
        known.sort_unstable_by_key(|(_, known)| known.touched);
        for (path, known) in known {
            self.record(&path, known.fingerprint);
        }
    }

    /// Notes that the session has read or written the file, with this content.
    pub fn record(&self, path: &Path, fingerprint: Fingerprint) {
        let mut files = self.lock();
        files.touches += 1;
        let touched = files.touches;
        let known = Known {
            fingerprint,
            touched,
        };
        files.known.insert(path.to_owned(), known);
    }

    /// Whether the session has seen the file with the content that it has now.
    pub fn check(&self, path: &Path, now: Fingerprint) -> Result<(), Unseen> {
        match self.lock().known.get(path) {
            None => Err(Unseen::NotRead),
            Some(known) if known.fingerprint != now => Err(Unseen::Changed),
            Some(_) => Ok(()),
        }
    }

    /// At most `count` of the files, the one that was touched last first.
    pub fn recent(&self, count: usize) -> Vec<PathBuf> {
        let files = self.lock();
        let mut known: Vec<_> = files.known.iter().collect();
        known.sort_unstable_by_key(|(_, known)| std::cmp::Reverse(known.touched));
        known
            .into_iter()
            .take(count)
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// The fingerprint of a content.
    pub fn fingerprint(&self, content: &[u8]) -> Fingerprint {
        let mut fingerprinter = self.fingerprinter();
        fingerprinter.add(content);
        fingerprinter.finish()
    }

    /// Starts the fingerprint of a content that comes in pieces.
    pub fn fingerprinter(&self) -> Fingerprinter {
        Fingerprinter {
            length: 0,
            hasher: self.keys.build_hasher(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        // A panic elsewhere leaves the map whole: each change is one insert.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a content piece by piece and gives its [`Fingerprint`].
#[derive(Debug)]
pub struct Fingerprinter {
    length: u64,
    hasher: <RandomState as BuildHasher>::Hasher,
}

impl Fingerprinter {
    /// Adds the next piece. How the content is cut into pieces makes no difference.
    pub fn add(&mut self, piece: &[u8]) {
        self.length += piece.len() as u64;
        self.hasher.write(piece);
    }

    /// The fingerprint of all pieces.
    pub fn finish(&self) -> Fingerprint {
        Fingerprint {
            length: self.length,
            hash: self.hasher.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_is_known_with_the_content_that_was_seen_last() {
        let tracker = Tracker::new();
        let path = Path::new("/a");
        let (old, new) = (tracker.fingerprint(b"old"), tracker.fingerprint(b"new"));

        assert_eq!(tracker.check(path, old), Err(Unseen::NotRead));
        tracker.record(path, old);
        assert_eq!(tracker.check(path, old), Ok(()));
        assert_eq!(tracker.check(path, new), Err(Unseen::Changed));
        tracker.record(path, new);
        assert_eq!(tracker.check(path, new), Ok(()));
        assert_eq!(tracker.check(path, old), Err(Unseen::Changed));
    }

    #[test]
    fn the_last_touched_file_comes_first_and_each_comes_once() {
        let tracker = Tracker::new();
        for path in ["/a", "/b", "/c", "/a"] {
            tracker.record(Path::new(path), tracker.fingerprint(b""));
        }
        let recent = |count| tracker.recent(count);
        assert_eq!(recent(9), ["/a", "/c", "/b"].map(PathBuf::from));
        assert_eq!(recent(2), ["/a", "/c"].map(PathBuf::from));
        assert_eq!(recent(0), [] as [PathBuf; 0]);
    }

    #[test]
    fn what_a_separate_tracker_knows_can_be_taken_over() {
        let tracker = Tracker::new();
        let (a, b) = (Path::new("/a"), Path::new("/b"));
        tracker.record(a, tracker.fingerprint(b"old"));
        let separate = tracker.separate();
        separate.record(b, separate.fingerprint(b"b"));
        separate.record(a, separate.fingerprint(b"new"));
        assert_eq!(
            tracker.check(b, tracker.fingerprint(b"b")),
            Err(Unseen::NotRead)
        );

        tracker.adopt(&separate);
        assert_eq!(tracker.check(a, tracker.fingerprint(b"new")), Ok(()));
        assert_eq!(tracker.check(b, tracker.fingerprint(b"b")), Ok(()));
        assert_eq!(tracker.recent(2), [a, b]);
    }

    #[test]
    fn a_clone_is_the_same_tracker() {
        let tracker = Tracker::new();
        let clone = tracker.clone();
        clone.record(Path::new("/a"), clone.fingerprint(b"x"));
        assert_eq!(
            tracker.check(Path::new("/a"), tracker.fingerprint(b"x")),
            Ok(())
        );
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(pieces: Vec<Vec<u8>>) {
            let tracker = Tracker::new();
            let mut fingerprinter = tracker.fingerprinter();
            for piece in &pieces {
                fingerprinter.add(piece);
            }
            prop_assert_eq!(fingerprinter.finish(), tracker.fingerprint(&pieces.concat()));
        }
    }
}
