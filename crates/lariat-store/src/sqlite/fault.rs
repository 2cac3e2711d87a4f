//! What goes wrong inside the store, and how whoever called it is told.
//!
//! Owns the difference between a refusal, which concerns one caller and leaves the transaction as it was, and a failure
//! of the database, after which nothing in the transaction counts.

use lariat_core::store::StoreError;
use rusqlite::ErrorCode;

/// Why something was not done.
#[derive(Debug)]
pub(super) enum Fault {
    /// The caller asked for what cannot be; nothing was written.
    Refused(StoreError),
    /// The database failed.
    Failed(rusqlite::Error),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(error) => error,
            Fault::Failed(error) if is_damage(&error) => Self::Damaged(error.to_string()),
            Fault::Failed(error) => Self::Unavailable(error.to_string()),
        }
    }
}

/// Whether what is in the file is not what SQLite, or this store, wrote.
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

/// Whether what the operating system holds of the file is in doubt.
pub(super) fn is_io(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// Whether another process has the database; this connection is as good as before.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// A session that is not there.
pub(super) fn no_session(session_id: &lariat_core::id::SessionId) -> Fault {
    Fault::Refused(StoreError::NotFound(format!("session {session_id}")))
}
