//! Where sessions are kept.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pod::{SessionInfo, SessionStore};

use crate::Usage;

/// `POD_HOME`, or the directory of Pod below the data directory of the platform.
pub(crate) fn root() -> anyhow::Result<PathBuf> {
    let root = match std::env::var_os("POD_HOME").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => dirs::data_dir()
            .context("there is no home directory; set POD_HOME to a directory for the sessions")?
            .join("pod"),
    };
    // A relative POD_HOME means one place, wherever the session works.
    Ok(std::path::absolute(root)?)
}

/// The sessions.
pub(crate) fn session_store() -> anyhow::Result<SessionStore> {
    let store = SessionStore::new(root()?);
    #[cfg(all(debug_assertions, unix))]
    let store = crate::fault::arranged(store)?;
    Ok(store)
}

/// The directory that the program was started in, with links resolved, as sessions know it.
pub(crate) fn working_directory() -> anyhow::Result<PathBuf> {
    std::env::current_dir()
        .and_then(|path| path.canonicalize())
        .context("the current directory cannot be used; change to one that exists")
}

/// The session that a command is about: the one named, or the last one of the directory.
pub(crate) fn session(
    store: &SessionStore,
    directory: &Path,
    name: Option<&str>,
) -> anyhow::Result<SessionInfo> {
    match name.filter(|name| !name.is_empty()) {
        Some(name) => Ok(store.find(name)?),
        None => store.list(directory)?.into_iter().next().ok_or_else(|| {
            let directory = directory.display();
            Usage(format!(
                "there is no session of {directory} yet; name one, or start one"
            ))
            .into()
        }),
    }
}
