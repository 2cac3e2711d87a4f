//! Moves sessions between stores and programs: exports them to files, and imports files of Lariat and of other agents.

use std::io::{Cursor, Read, Seek};

use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use lariat_store::archive_file::{self, ArchiveFileError};
pub use lariat_store::interchange::Note;
use lariat_store::interchange::{ImportedSession, InterchangeError, claude, codeloops, codex};
use serde_json::Value;

use crate::{LocalService, ServiceError};

/// Lines to examine when detecting a format.
const SAMPLE_LINES: usize = 50;

/// The format of another agent's session file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForeignFormat {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Codeloops.
    Codeloops,
}

/// The format of a file, by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DetectedFormat {
    /// An archive of Lariat.
    Archive,
    /// The session file of another agent.
    Foreign(ForeignFormat),
    /// Lines of JSON that no known program writes.
    Unknown,
}

/// Why a session could not be exported or imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The store has a session with the id of the archive.
    #[error("a session with this id already exists: {0}")]
    ArchiveExists(StoreError),
    /// The store has a session with this id.
    #[error("session {0} already exists")]
    Exists(SessionId),
    /// The archive is incomplete or was changed.
    #[error("{0}")]
    Damaged(String),
    /// The file cannot be read, or is not a session of this format.
    #[error("{0}")]
    Unreadable(String),
    /// The store failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

impl From<ArchiveFileError> for TransferError {
    fn from(error: ArchiveFileError) -> Self {
        match error {
            ArchiveFileError::Store(error @ StoreError::Conflict { .. }) => Self::ArchiveExists(error),
            ArchiveFileError::Store(error) => Self::Service(error.into()),
            ArchiveFileError::Damaged { .. } => Self::Damaged(error.to_string()),
            error => Self::Unreadable(error.to_string()),
        }
    }
}

/// Exports a session as an archive, which [`import_archive`] restores exactly.
///
/// # Errors
/// If the session does not exist, or the store fails.
pub async fn export_archive(
    service: &LocalService,
    session_id: &SessionId,
) -> Result<Vec<u8>, TransferError> {
    let mut bytes = Vec::new();
    archive_file::export(&*service.archive(), session_id, &mut bytes).await?;
    Ok(bytes)
}

/// Exports a session as a session file of Claude Code.
///
/// # Errors
/// If the session does not exist, or the store fails.
pub async fn export_claude(service: &LocalService, session_id: &SessionId) -> Result<Vec<u8>, ServiceError> {
    Ok(claude::export(session_id, &service.events(session_id).await?))
}

/// Exports the iterations of an actor and a critic as a session file of codeloops.
///
/// # Errors
/// If the session does not exist or has no iterations, or the store fails.
pub async fn export_codeloops(
    service: &LocalService,
    session_id: &SessionId,
) -> Result<Vec<u8>, TransferError> {
    let events = service.events(session_id).await?;
    codeloops::export(&events).map_err(|error| TransferError::Unreadable(error.to_string()))
}

/// Imports an archive under its original id, and returns the id.
///
/// # Errors
/// If the archive is damaged, a session with this id exists, or the store fails.
pub async fn import_archive(
    service: &LocalService,
    archive: impl Read + Seek + Send,
) -> Result<SessionId, TransferError> {
    Ok(archive_file::import(&*service.archive(), archive, None).await?.session_id)
}

/// Imports the session file of another agent under its original id. Returns the id and what could not be used.
///
/// # Errors
/// If the file is not a session of this format, a session with this id exists, or the store fails.
pub async fn import_foreign(
    service: &LocalService,
    format: ForeignFormat,
    file: &[u8],
) -> Result<(SessionId, Vec<Note>), TransferError> {
    let read: fn(&[u8]) -> Result<ImportedSession, InterchangeError> = match format {
        ForeignFormat::Claude => claude::import,
        ForeignFormat::Codex => codex::import,
        ForeignFormat::Codeloops => codeloops::import,
    };
    let imported = read(file).map_err(|error| TransferError::Unreadable(error.to_string()))?;
    match service.import_session(&imported).await {
        Ok(()) => Ok((imported.session_id, imported.notes)),
        Err(ServiceError::Store(StoreError::Conflict { .. })) => {
            Err(TransferError::Exists(imported.session_id))
        }
        Err(error) => Err(error.into()),
    }
}

/// Copies a session to another store, and returns its id there.
///
/// # Errors
/// If the session does not exist, the other store has it, or a store fails.
pub async fn copy(
    from: &LocalService,
    to: &LocalService,
    session_id: &SessionId,
) -> Result<SessionId, TransferError> {
    import_archive(to, Cursor::new(export_archive(from, session_id).await?)).await
}

/// Detects the format of a file by its beginning. Other programs write lines of JSON with characteristic fields.
pub fn detect_format(beginning: &[u8]) -> DetectedFormat {
    let text = String::from_utf8_lossy(beginning);
    let lines = text.lines().take(SAMPLE_LINES).filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines: Vec<Value> = lines.filter(Value::is_object).collect();
    let any = |fits: &dyn Fn(&Value) -> bool| lines.iter().any(fits);
    let has = |name: &'static str| move |line: &Value| line.get(name).is_some();
    let begins = |line: &Value| line.get("type").and_then(Value::as_str) == Some("session_start");
    if lines.is_empty() {
        DetectedFormat::Archive
    } else if any(&begins) {
        DetectedFormat::Foreign(ForeignFormat::Codeloops)
    } else if any(&has("parentUuid")) || any(&has("sessionId")) {
        DetectedFormat::Foreign(ForeignFormat::Claude)
    } else if any(&has("payload")) || any(&has("role")) {
        DetectedFormat::Foreign(ForeignFormat::Codex)
    } else {
        DetectedFormat::Unknown
    }
}
