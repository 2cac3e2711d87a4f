//! The journal contract: what the driver needs from a store, whatever it is made of.
//!
//! Owns [`SessionStore`] and its errors. Invariants every implementation keeps: an append is acknowledged only when it
//! is durable to the stated level; it happens only at the expected position and by the current writer; what was
//! acknowledged is read back in order.

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::event::Event;
use crate::id::SessionId;
use crate::time::Timestamp;

/// Who may write: a number that grows each time a session is claimed. A stale writer is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// A batch of events to be appended as one.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Append<'a> {
    /// The journal.
    pub session_id: &'a SessionId,
    /// The writer.
    pub epoch: Epoch,
    /// Position the first event must get: the number of events already there.
    pub expected_seq: u64,
    /// The events, with their `seq` set.
    pub events: &'a [Event],
}

impl<'a> Append<'a> {
    /// A batch.
    pub const fn new(
        session_id: &'a SessionId,
        epoch: Epoch,
        expected_seq: u64,
        events: &'a [Event],
    ) -> Self {
        Self { session_id, epoch, expected_seq, events }
    }
}

/// How durable an acknowledged append is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Durability {
    /// In the memory of this process only.
    Memory,
    /// Handed to the operating system: survives a crash of the process.
    Fast,
    /// Synced within a short time.
    Batched,
    /// Synced before the acknowledgement.
    Durable,
}

/// What a store says after an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Number of events in the journal now.
    pub next_seq: u64,
    /// The level that was met.
    pub durability: Durability,
}

/// A session in a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// The session.
    pub session_id: SessionId,
    /// Number of events.
    pub events: u64,
    /// First event.
    pub created_at: Timestamp,
    /// Last event.
    pub last_active_at: Timestamp,
}

impl SessionSummary {
    /// A summary.
    pub const fn new(
        session_id: SessionId,
        events: u64,
        created_at: Timestamp,
        last_active_at: Timestamp,
    ) -> Self {
        Self { session_id, events, created_at, last_active_at }
    }
}

/// A page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListQuery {
    /// Sessions to skip, newest first.
    pub offset: usize,
    /// Sessions to return at most; 0 for all.
    pub limit: usize,
}

/// Content address of a blob.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobHash(pub String);

/// Why a store refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The journal is not where the writer thinks it is.
    #[error("the journal has {actual} events, the writer expected {expected}")]
    Conflict {
        /// What the writer expected.
        expected: u64,
        /// What is there.
        actual: u64,
    },
    /// Another writer claimed the session.
    #[error("the session was claimed by another writer (epoch {current:?})")]
    Fenced {
        /// The epoch in force.
        current: Epoch,
    },
    /// There is no such session or blob.
    #[error("not found: {0}")]
    NotFound(String),
    /// It did not work this time; whether an append happened is unknown until the journal is read.
    #[error("the journal is unavailable: {0}")]
    Unavailable(String),
    /// What was read is damaged.
    #[error("damaged journal: {0}")]
    Damaged(String),
}

impl StoreError {
    /// Whether trying again can help.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// A place where journals live.
pub trait SessionStore: Send + Sync {
    /// Makes the caller the writer of a session, creating it if needed; earlier writers are fenced off.
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>>;

    /// Appends a batch, all or nothing as far as an acknowledgement is concerned.
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>>;

    /// Reads up to `limit` events from a position on; fewer only at the end.
    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>>;

    /// Number of events in a journal; 0 when there is none.
    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Sessions, newest first.
    fn list<'a>(&'a self, query: &'a ListQuery) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>>;

    /// Keeps bytes under their content address.
    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>>;

    /// Bytes kept earlier.
    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>>;
}
