//! Errors inside the SQLite store, and their conversion for callers.
//!
//! A rejection concerns one caller and leaves the transaction as it was. A failure of the database invalidates the whole
//! transaction.

use lariat_core::store::StoreError;
use rusqlite::ErrorCode;

/// Why an operation failed.
#[derive(Debug)]
pub(super) enum SqliteFault {
    /// The store rejected the request of one caller. Nothing was written.
    Refused(StoreError),
    /// The database failed.
    Failed(rusqlite::Error),
}

impl From<StoreError> for SqliteFault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for SqliteFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<SqliteFault> for StoreError {
    fn from(fault: SqliteFault) -> Self {
        match fault {
            SqliteFault::Refused(error) => error,
            SqliteFault::Failed(error) if is_damage(&error) => Self::Damaged(error.to_string()),
            SqliteFault::Failed(error) => Self::Unavailable(error.to_string()),
        }
    }
}

/// Returns whether the file content is not what SQLite, or this store, wrote.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        || matches!(
            error,
            rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
        )
}

/// Returns whether the operating system may have lost writes to the file.
pub(super) fn is_io(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// Returns whether another process locks the database. This connection stays usable.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The error for a session that does not exist.
pub(super) fn no_session(session_id: &lariat_core::id::SessionId) -> SqliteFault {
    SqliteFault::Refused(StoreError::NotFound(format!("session {session_id}")))
}
