//! Saves sessions as pretty-printed JSON, one file per session in one directory, without an index.
//!
//! Invariant: readers see the old or the new content of a file, never a part of it, and saving never removes a loop that
//! was saved before.

use std::io;
use std::path::{Path, PathBuf};

use lariat_core::id::{AgentId, LoopId, SessionId};
use lariat_core::session::Session;
use lariat_core::time::Timestamp;
use serde::Deserialize;

use crate::files;
use crate::jsonl::paths::escaped;

/// File extension of session files.
const ENDING: &str = ".json";

/// Why saving, loading or deleting a session failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionFileError {
    /// The session does not exist.
    #[error("session {0} not found in the directory")]
    NotFound(SessionId),
    /// The file does not contain a session.
    #[error("{path} is not a session file: {error}")]
    NotASession {
        /// The file.
        path: PathBuf,
        /// The parse error.
        #[source]
        error: serde_json::Error,
    },
    /// The file has a loop that the new session lacks. Saving would lose it.
    #[error(
        "saving would lose loop {loop_id} of session {session_id}\n  hint: load the session and add to it"
    )]
    WouldLose {
        /// The session.
        session_id: SessionId,
        /// The loop that only the file has.
        loop_id: LoopId,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn path_of(session_id: &SessionId, dir: &Path) -> PathBuf {
    dir.join(format!("{}{ENDING}", escaped(session_id.as_str())))
}

/// Saves a session to its file and creates the directory if needed.
///
/// # Errors
/// When writing fails, or when the saved file has loops that this session lacks.
pub fn save_session(session: &Session, dir: impl AsRef<Path>) -> Result<(), SessionFileError> {
    let dir = dir.as_ref();
    files::create_dir_durably(dir)?;
    let path = path_of(&session.session_id, dir);
    // An invalid file does not prevent saving a session over it.
    if let Ok(Some(saved)) = read::<SavedLoops>(&path)
        && let Some(lost) = saved.loops.into_iter().find(|saved| session.get_loop(&saved.loop_id).is_none())
    {
        let session_id = session.session_id.clone();
        return Err(SessionFileError::WouldLose { session_id, loop_id: lost.loop_id });
    }
    let json = serde_json::to_vec_pretty(session)
        .map_err(|error| SessionFileError::NotASession { path: path.clone(), error })?;
    Ok(files::put(&path, &json)?)
}

/// Loads a session.
///
/// # Errors
/// When the session does not exist or its file is damaged.
pub fn load_session(session_id: &SessionId, dir: impl AsRef<Path>) -> Result<Session, SessionFileError> {
    read(&path_of(session_id, dir.as_ref()))?.ok_or_else(|| SessionFileError::NotFound(session_id.clone()))
}

/// Returns the ids of the sessions in a directory, newest first. Skips files that are not sessions.
///
/// # Errors
/// When the directory cannot be read.
pub fn list_session_ids(dir: impl AsRef<Path>) -> Result<Vec<SessionId>, SessionFileError> {
    let mut heads: Vec<SessionHead> = read_all(dir.as_ref())?;
    heads.sort_unstable_by(|a, b| (b.last_active_at, &b.session_id).cmp(&(a.last_active_at, &a.session_id)));
    Ok(heads.into_iter().map(|head| head.session_id).collect())
}

/// Loads the sessions of an agent, newest first. Skips files that are not sessions.
///
/// # Errors
/// When the directory cannot be read.
pub fn load_sessions_for_agent(
    agent_id: &AgentId,
    dir: impl AsRef<Path>,
) -> Result<Vec<Session>, SessionFileError> {
    let mut sessions: Vec<Session> = read_all(dir.as_ref())?;
    sessions.retain(|session| session.agent_id == *agent_id);
    sessions
        .sort_unstable_by(|a, b| (b.last_active_at, &b.session_id).cmp(&(a.last_active_at, &a.session_id)));
    Ok(sessions)
}

/// Deletes the file of a session.
///
/// # Errors
/// When the session does not exist, or its file cannot be removed.
pub fn delete_session(session_id: &SessionId, dir: impl AsRef<Path>) -> Result<(), SessionFileError> {
    let dir = dir.as_ref();
    let path = path_of(session_id, dir);
    if files::state(&path)?.is_none() {
        return Err(SessionFileError::NotFound(session_id.clone()));
    }
    files::remove(&path)?;
    Ok(files::sync_dir(dir)?)
}

/// The fields of a session that listing needs.
#[derive(Deserialize)]
struct SessionHead {
    session_id: SessionId,
    last_active_at: Timestamp,
}

/// The fields of a saved session that [`save_session`] compares.
#[derive(Deserialize)]
struct SavedLoops {
    loops: Vec<SavedLoop>,
}

#[derive(Deserialize)]
struct SavedLoop {
    loop_id: LoopId,
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Option<T>, SessionFileError> {
    let Some(bytes) = files::read(path)? else { return Ok(None) };
    let parsed = serde_json::from_slice(&bytes);
    parsed.map(Some).map_err(|error| SessionFileError::NotASession { path: path.to_owned(), error })
}

fn read_all<T: for<'a> Deserialize<'a>>(dir: &Path) -> Result<Vec<T>, SessionFileError> {
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(ENDING) && !name.starts_with('.')
    };
    let paths = files::list(dir)?.into_iter().filter(is_ours);
    Ok(paths.filter_map(|path| read(&path).ok().flatten()).collect())
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
