//! Reads the row of a session, as far as readers and writers need it.

use deadpool_postgres::GenericClient;
use lariat_core::archive::SessionSummary;
use lariat_core::id::SessionId;
use lariat_core::store::{Epoch, StoreError};
use tokio_postgres::Row;

use super::connection::{column, position, query_opt};
use crate::record::Chain;

/// Maximum number of bytes of an id: an index entry has at most 2.7 KB, and several indexes contain ids.
const LONGEST_ID: usize = 1024;

const LOAD: &str =
    "SELECT no, epoch, head, chain, summary::text FROM lariat.sessions WHERE id = $1 AND NOT deleted";

/// The row of an existing session.
#[derive(Clone, Debug)]
pub(super) struct SessionRow {
    pub(super) no: i64,
    pub(super) epoch: Epoch,
    pub(super) head: u64,
    pub(super) chain: Chain,
    pub(super) summary: SessionSummary,
}

impl SessionRow {
    /// Loads the row; `None` if the session does not exist or was deleted.
    pub(super) async fn load(
        client: &impl GenericClient,
        session_id: &SessionId,
    ) -> Result<Option<Self>, StoreError> {
        let row = query_opt(client, LOAD, &[&id(session_id)]).await?;
        row.map(|row| Self::from_row(&row)).transpose()
    }

    /// Reads number, epoch, head, chain and summary, in this order.
    pub(super) fn from_row(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            no: column(row, 0)?,
            epoch: Epoch(position(column(row, 1)?)),
            head: position(column(row, 2)?),
            chain: chain(column(row, 3)?)?,
            summary: summary(column(row, 4)?)?,
        })
    }
}

/// Returns an id as stored.
pub(super) fn id(session_id: &SessionId) -> &[u8] {
    session_id.as_str().as_bytes()
}

/// Rejects ids that are too long for the database.
pub(super) fn storable(session_id: &SessionId) -> Result<(), StoreError> {
    if session_id.as_str().len() <= LONGEST_ID {
        return Ok(());
    }
    Err(StoreError::NotFound(format!(
        "session ids of more than {LONGEST_ID} bytes are not supported in PostgreSQL"
    )))
}

/// The error for a session that does not exist.
pub(super) fn not_found(session_id: &SessionId) -> StoreError {
    StoreError::NotFound(format!("session {session_id}"))
}

/// Returns a search key for text: sixteen bytes of BLAKE3, which fit into an index whatever the text is.
pub(super) fn key(text: &str) -> Vec<u8> {
    blake3::hash(text.as_bytes()).as_bytes().iter().copied().take(16).collect()
}

/// Parses a chain column.
pub(super) fn chain(bytes: &[u8]) -> Result<Chain, StoreError> {
    let bytes =
        bytes.try_into().map_err(|_| StoreError::Damaged("invalid chain hash of a session".to_owned()))?;
    Ok(Chain::from_bytes(bytes))
}

/// Parses a summary column.
pub(super) fn summary(json: &str) -> Result<SessionSummary, StoreError> {
    serde_json::from_str(json)
        .map_err(|error| StoreError::Damaged(format!("invalid summary of a session: {error}")))
}

/// Serializes a summary for its column.
pub(super) fn summary_json(summary: &SessionSummary) -> Result<String, StoreError> {
    serde_json::to_string(summary)
        .map_err(|error| StoreError::Damaged(format!("invalid summary of a session: {error}")))
}
