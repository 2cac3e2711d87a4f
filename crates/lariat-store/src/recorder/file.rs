//! Sessions as pretty-printed JSON, one file per session in one folder, no index.
//!
//! Invariant: others see a file as it was or as it is now, never half of it; and saving never takes a loop away from
//! what was saved.

use std::io;
use std::path::{Path, PathBuf};

use lariat_core::id::{AgentId, LoopId, SessionId};
use lariat_core::session::Session;
use lariat_core::time::Timestamp;
use serde::Deserialize;

use crate::files;
use crate::jsonl::name::escaped;

/// How the file of a session ends.
const ENDING: &str = ".json";

/// Why a session was not saved, loaded or deleted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionFileError {
    /// There is no such session.
    #[error("session {0} is not in the folder")]
    NotFound(SessionId),
    /// The file is not a session.
    #[error("{path} is not a session: {error}")]
    NotASession {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        error: serde_json::Error,
    },
    /// The file has a loop that the session to be saved does not have: it would be lost.
    #[error("the saved session {session_id} has loop {loop_id}, which would be lost; load it and add to it")]
    WouldLose {
        /// The session.
        session_id: SessionId,
        /// The loop.
        loop_id: LoopId,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn path_of(session_id: &SessionId, folder: &Path) -> PathBuf {
    folder.join(format!("{}{ENDING}", escaped(session_id.as_str())))
}

/// Writes a session to its file, in a folder that is made if needed.
///
/// # Errors
/// When writing fails, or when the file has loops that this session lacks.
pub fn save_session(session: &Session, folder: impl AsRef<Path>) -> Result<(), SessionFileError> {
    let folder = folder.as_ref();
    files::make_folder(folder)?;
    let path = path_of(&session.session_id, folder);
    // A file that is no session is no reason not to save one.
    if let Ok(Some(saved)) = read::<Loops>(&path)
        && let Some(lost) = saved.loops.into_iter().find(|saved| session.get_loop(&saved.loop_id).is_none())
    {
        let session_id = session.session_id.clone();
        return Err(SessionFileError::WouldLose { session_id, loop_id: lost.loop_id });
    }
    let json = serde_json::to_vec_pretty(session)
        .map_err(|error| SessionFileError::NotASession { path: path.clone(), error })?;
    Ok(files::put(&path, &json)?)
}

/// Reads a session.
///
/// # Errors
/// When there is none of this id, or its file is damaged.
pub fn load_session(session_id: &SessionId, folder: impl AsRef<Path>) -> Result<Session, SessionFileError> {
    read(&path_of(session_id, folder.as_ref()))?.ok_or_else(|| SessionFileError::NotFound(session_id.clone()))
}

/// The sessions of a folder, newest first. Files that are no sessions are passed over.
///
/// # Errors
/// When the folder cannot be read.
pub fn list_session_ids(folder: impl AsRef<Path>) -> Result<Vec<SessionId>, SessionFileError> {
    let mut heads: Vec<Head> = read_all(folder.as_ref())?;
    heads.sort_unstable_by(|a, b| (b.last_active_at, &b.session_id).cmp(&(a.last_active_at, &a.session_id)));
    Ok(heads.into_iter().map(|head| head.session_id).collect())
}

/// The sessions of an agent, newest first. Files that are no sessions are passed over.
///
/// # Errors
/// When the folder cannot be read.
pub fn load_sessions_for_agent(
    agent_id: &AgentId,
    folder: impl AsRef<Path>,
) -> Result<Vec<Session>, SessionFileError> {
    let mut sessions: Vec<Session> = read_all(folder.as_ref())?;
    sessions.retain(|session| session.agent_id == *agent_id);
    sessions
        .sort_unstable_by(|a, b| (b.last_active_at, &b.session_id).cmp(&(a.last_active_at, &a.session_id)));
    Ok(sessions)
}

/// Removes the file of a session.
///
/// # Errors
/// When there is none, or it cannot be removed.
pub fn delete_session(session_id: &SessionId, folder: impl AsRef<Path>) -> Result<(), SessionFileError> {
    let folder = folder.as_ref();
    let path = path_of(session_id, folder);
    if files::state(&path)?.is_none() {
        return Err(SessionFileError::NotFound(session_id.clone()));
    }
    files::remove(&path)?;
    Ok(files::sync_folder(folder)?)
}

/// What listing needs of a session.
#[derive(Deserialize)]
struct Head {
    session_id: SessionId,
    last_active_at: Timestamp,
}

/// What saving over a session needs of it.
#[derive(Deserialize)]
struct Loops {
    loops: Vec<LoopName>,
}

#[derive(Deserialize)]
struct LoopName {
    loop_id: LoopId,
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Option<T>, SessionFileError> {
    let Some(bytes) = files::read(path)? else { return Ok(None) };
    let parsed = serde_json::from_slice(&bytes);
    parsed.map(Some).map_err(|error| SessionFileError::NotASession { path: path.to_owned(), error })
}

fn read_all<T: for<'a> Deserialize<'a>>(folder: &Path) -> Result<Vec<T>, SessionFileError> {
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(ENDING) && !name.starts_with('.')
    };
    let paths = files::list(folder)?.into_iter().filter(is_ours);
    Ok(paths.filter_map(|path| read(&path).ok().flatten()).collect())
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
