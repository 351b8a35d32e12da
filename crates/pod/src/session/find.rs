//! How a session, and an entry in one, is found. Nothing here needs a log to be readable, but the
//! search for an entry.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use llm::{Item, Origin};
use uuid::Uuid;

use super::error::Context as _;
use super::segment::{self, Located};
use super::{Disk, LogError, SessionStore, segment_number, segment_path};

/// A session as a listing shows it.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// Its id.
    pub id: Uuid,
    /// The directory of its segments.
    pub path: PathBuf,
    /// The number of its newest segment.
    pub segment: u32,
    /// When it was last written.
    pub modified: SystemTime,
}

impl SessionInfo {
    /// The path of its newest segment.
    pub fn newest_segment(&self) -> PathBuf {
        segment_path(&self.path, self.segment)
    }
}

impl SessionStore {
    /// All sessions that were begun in a working directory, the last used one first.
    pub fn list(&self, directory: &Path) -> Result<Vec<SessionInfo>, LogError> {
        Ok(newest_first(self.list_project(&self.project(directory))?))
    }

    /// All sessions, the last used one first.
    pub fn list_all(&self) -> Result<Vec<SessionInfo>, LogError> {
        let mut sessions = Vec::new();
        for project in self.projects()? {
            sessions.extend(self.list_project(&project)?);
        }
        Ok(newest_first(sessions))
    }

    /// The session with this id, or the only one whose id begins so; or the one in the directory
    /// that the text names, or of the segment that it names.
    pub fn find(&self, text: &str) -> Result<SessionInfo, LogError> {
        let path = Path::new(text);
        if path.components().count() > 1 {
            return self
                .at_path(path)?
                .ok_or_else(|| LogError::NotFound(format!("{} holds no session", path.display())));
        }
        let mut found = self.with_prefix(text)?;
        match (found.pop(), found.len()) {
            (Some(info), 0) => Ok(info),
            (Some(_), more) => Err(LogError::NotFound(format!(
                "{} sessions have ids that begin with {text}; give more of the id",
                more + 1
            ))),
            (None, _) => match self.at_path(path)? {
                Some(info) if !text.is_empty() => Ok(info),
                _ => Err(LogError::NotFound(format!("there is no session {text:?}"))),
            },
        }
    }

    /// The sessions whose ids begin with a text.
    fn with_prefix(&self, text: &str) -> Result<Vec<SessionInfo>, LogError> {
        let prefix = match text.parse::<Uuid>() {
            // Any spelling of a whole id.
            Ok(id) => id.to_string(),
            Err(_) => text.to_ascii_lowercase(),
        };
        let mut found = Vec::new();
        if prefix.is_empty() {
            return Ok(found);
        }
        for project in self.projects()? {
            for name in names(self.disk(), &project)? {
                if name.starts_with(&prefix)
                    && let Some(id) = session_id(&name)
                {
                    found.extend(self.info(&project.join(name), id)?);
                }
            }
        }
        Ok(found)
    }

    /// The session in a directory, or of a segment.
    fn at_path(&self, path: &Path) -> Result<Option<SessionInfo>, LogError> {
        let name = |path: &Path| {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        let directory = match name(path) {
            Some(name) if segment_number(&name).is_some() => path.parent().unwrap_or(path),
            _ => path,
        };
        let id = match name(directory).as_deref().and_then(session_id) {
            Some(id) => id,
            // A copy under another name: then the segment says whose it is.
            None => match newest_segment(self.disk(), directory)? {
                Some(newest) => {
                    segment::read_header(self.disk(), &segment_path(directory, newest))?.session
                }
                None => return Ok(None),
            },
        };
        self.info(directory, id)
    }

    fn projects(&self) -> Result<Vec<PathBuf>, LogError> {
        let sessions = self.root().join("sessions");
        let names = self.disk().list(&sessions).context("list", &sessions)?;
        Ok(names.iter().map(|name| sessions.join(name)).collect())
    }

    fn list_project(&self, project: &Path) -> Result<Vec<SessionInfo>, LogError> {
        let mut sessions = Vec::new();
        for name in names(self.disk(), project)? {
            if let Some(id) = session_id(&name) {
                sessions.extend(self.info(&project.join(name), id)?);
            }
        }
        Ok(sessions)
    }

    /// The session in a directory; `None` if there is no segment, or none any more.
    fn info(&self, path: &Path, id: Uuid) -> Result<Option<SessionInfo>, LogError> {
        let Some(segment) = newest_of(&names(self.disk(), path)?) else {
            return Ok(None);
        };
        let newest = segment_path(path, segment);
        let modified = match self.disk().modified(&newest) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            modified => modified.context("examine", &newest)?,
        };
        Ok(Some(SessionInfo {
            id,
            path: path.to_owned(),
            segment,
            modified,
        }))
    }

    /// The session with exactly this id, in whatever working directory it was begun.
    pub(super) fn with_id(&self, id: Uuid) -> Result<Option<SessionInfo>, LogError> {
        Ok(self.with_prefix(&id.to_string())?.pop())
    }
}

fn newest_first(mut sessions: Vec<SessionInfo>) -> Vec<SessionInfo> {
    sessions.sort_by_key(|info| std::cmp::Reverse((info.modified, info.id)));
    sessions
}

/// The id of the session that a directory of this name holds.
fn session_id(name: &str) -> Option<Uuid> {
    // In the one spelling that `SessionStore` uses.
    let id: Uuid = name.parse().ok()?;
    (id.to_string() == name).then_some(id)
}

/// The names in a directory. Empty if it may not be looked into: what somebody else put among the
/// sessions must not get in the way of the others.
fn names(disk: &dyn Disk, directory: &Path) -> Result<Vec<String>, LogError> {
    match disk.list(directory) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            tracing::warn!("passed over {}: {error}", directory.display());
            Ok(Vec::new())
        }
        names => names.context("list", directory),
    }
}

/// The number of the newest segment in the directory of a session.
pub(crate) fn newest_segment(disk: &dyn Disk, session: &Path) -> Result<Option<u32>, LogError> {
    Ok(newest_of(&disk.list(session).context("list", session)?))
}

fn newest_of(names: &[String]) -> Option<u32> {
    names.iter().filter_map(|name| segment_number(name)).max()
}

/// Where an entry stands.
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) segment: u32,
    pub(super) end: u64,
}

/// Finds an entry in the segments of a session, the newest first.
pub(super) fn entry(
    disk: &dyn Disk,
    session: &Path,
    id: Uuid,
    entry: Uuid,
) -> Result<Place, LogError> {
    let mut carried = false;
    let mut origin = None;
    let mut damage = None;
    let newest = newest_segment(disk, session)?.unwrap_or(0);
    for number in (1..=newest).rev() {
        let path = segment_path(session, number);
        let contents = match segment::read(disk, &path, true) {
            Ok(contents) => contents,
            Err(error) => {
                // The entry may stand before it all the same.
                damage.get_or_insert(error);
                continue;
            }
        };
        let mut places = contents.entries.iter().filter(|it| it.entry.id == entry);
        // What a compaction made stands and falls together: before its end there is no moment to go
        // back to.
        let made = contents
            .entries
            .iter()
            .take_while(|it| is_of_compaction(it));
        let made_end = made.last().map_or(0, |it| it.end);
        // A carried entry is only half of what it was: its task calls count by the snapshot alone.
        let whole = |located: &&Located| !located.entry.carried;
        if let Some(located) = places.clone().find(whole) {
            return Ok(Place {
                path,
                segment: number,
                end: located.end.max(made_end),
            });
        }
        carried |= places.next().is_some();
        let parent = contents.header.parent.map(|parent| parent.session);
        origin = parent.filter(|parent| *parent != id).or(origin);
        if let Some(found) = contents.damage {
            damage.get_or_insert(found.into_error(&path));
        }
    }
    match damage {
        // It may stand in what could not be read.
        Some(error) => Err(error),
        None if carried => Err(LogError::Carried {
            session: id,
            entry,
            origin,
        }),
        None => Err(LogError::NoEntry { session: id, entry }),
    }
}

/// Whether an entry at the beginning of a segment is there because of a compaction.
fn is_of_compaction(located: &Located) -> bool {
    let is_made = |origin: &Origin| {
        matches!(
            origin,
            Origin::Summary | Origin::TaskSnapshot | Origin::AutoRead | Origin::References
        )
    };
    located.entry.carried
        || matches!(&*located.entry.item, Item::System(message) if is_made(&message.origin))
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
