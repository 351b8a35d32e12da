//! The entries of a session as they came to be, over all its segments.
//!
//! The newest segment is the session, but after a compaction what was said before stands in the
//! segments before it. A segment that a rewind began goes on behind an entry of an earlier one; what
//! came after that entry was given up and is not part of the story.

use std::collections::HashSet;
use std::path::PathBuf;

use llm::Item;
use pod::session::{Entry, Header, Reason, segment};
use pod::{CompactRecord, SessionInfo, SessionStore};
use uuid::Uuid;

/// What a session says from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Lineage {
    /// The header of the newest segment.
    pub(crate) header: Header,
    /// The entries, each once.
    pub(crate) entries: Vec<Entry>,
    /// Where the history was compacted: the number of entries before it, and what the log says of it.
    pub(crate) compactions: Vec<(usize, Option<CompactRecord>)>,
    /// What could not be read.
    pub(crate) notices: Vec<String>,
}

/// A segment, and up to which entry the one before it counts.
struct Link {
    header: Header,
    entries: Vec<Entry>,
    after: Option<Uuid>,
}

/// Reads the segments of a session that belong to its story.
pub(crate) fn read(store: &SessionStore, info: &SessionInfo) -> anyhow::Result<Lineage> {
    let mut notices = Vec::new();
    let mut links = Vec::new();
    let mut next = Some(info.segment);
    while let Some(number) = next {
        let path = path(info, number);
        let contents = match segment::read(store.disk(), &path, true) {
            Ok(contents) => contents,
            // What is there of the story is better than nothing.
            Err(error) if !links.is_empty() => {
                notices.push(format!("{error}; what it says is left out"));
                break;
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(damage) = &contents.damage {
            notices.push(format!(
                "{}: line {} cannot be read; what follows it is left out",
                path.display(),
                damage.line
            ));
        }
        let header = contents.header;
        let parent = header.parent.clone().filter(|it| it.session == info.id);
        let before = parent.as_ref().map_or(number - 1, |it| it.segment);
        next = match header.reason {
            Reason::Compact | Reason::Rewind | Reason::Salvage => {
                Some(before).filter(|before| (1..number).contains(before))
            }
            _ => None,
        };
        links.push(Link {
            after: parent.and_then(|it| it.entry),
            header,
            entries: contents.entries.into_iter().map(|it| it.entry).collect(),
        });
    }
    let newest = links.first().map(|link| link.header.clone());
    let Some(header) = newest else {
        anyhow::bail!(
            "session {} has no segment; pod sessions lists what there is",
            info.id
        );
    };
    links.reverse();
    let mut lineage = Lineage {
        header,
        entries: Vec::new(),
        compactions: Vec::new(),
        notices,
    };
    let mut seen: HashSet<Uuid> = HashSet::new();
    for link in links {
        lineage.add(link, &mut seen);
    }
    Ok(lineage)
}

/// What was said in a session, without what compactions put in its place and what a rewind took back.
/// What cannot be read is left out; `pod verify` tells of it.
pub(crate) fn past(store: &SessionStore, info: &SessionInfo) -> Vec<Entry> {
    let entries = read(store, info).map_or_else(|_| Vec::new(), |lineage| lineage.entries);
    entries.into_iter().filter(|entry| !entry.carried).collect()
}

fn path(info: &SessionInfo, number: u32) -> PathBuf {
    info.path.join(format!("{number:04}.jsonl"))
}

impl Lineage {
    fn add(&mut self, link: Link, seen: &mut HashSet<Uuid>) {
        match link.header.reason {
            Reason::Compact => {
                let record = CompactRecord::of(&link.header);
                self.compactions.push((self.entries.len(), record));
            }
            Reason::Rewind | Reason::Salvage => {
                // Only what the segment took over counts; the rest was given up.
                let place = link
                    .after
                    .and_then(|after| self.entries.iter().rposition(|it| it.id == after));
                if let Some(place) = place {
                    for entry in self.entries.drain(place + 1..) {
                        seen.remove(&entry.id);
                    }
                    self.compactions.retain(|(before, _)| *before <= place + 1);
                }
            }
            _ => {}
        }
        for entry in link.entries {
            if seen.insert(entry.id) {
                self.entries.push(entry);
            }
        }
    }

    /// The first thing that the user said.
    pub(crate) fn first_prompt(&self) -> Option<String> {
        self.entries.iter().find_map(|entry| match &*entry.item {
            Item::User(message) => Some(message.joined_text()),
            _ => None,
        })
    }
}
