//! The journal contract: what the driver needs from a store, whatever it is made of.
//!
//! Owns [`SessionStore`], what a running loop needs, and its errors; [`crate::archive`] is for whoever manages sessions.
//! Invariants every implementation keeps: an append is acknowledged only when it
//! is durable to the stated level; it happens only at the expected position and by the current writer; what was
//! acknowledged is read back in order.

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::event::Event;
use crate::id::SessionId;

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

/// Content address of a blob: the name of the hash, a colon, hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobHash(pub String);

/// What the first events of a journal fold to, kept so that nobody has to read them again. A cache: it can be lost, and
/// a store may decline to keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// How many events are folded.
    pub seq: u64,
    /// The state, in the form of whoever made it.
    pub state: Vec<u8>,
}

impl Snapshot {
    /// A snapshot of the first `seq` events.
    pub const fn new(seq: u64, state: Vec<u8>) -> Self {
        Self { seq, state }
    }
}

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
    /// Another process that is alive writes to the session.
    #[error("the session is open elsewhere ({holder})")]
    Busy {
        /// Who has it, in words.
        holder: String,
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
    /// Makes the caller the writer of a session, creating it if needed; earlier writers are fenced off. A store on one
    /// machine, which can tell, refuses while another living process is the writer ([`StoreError::Busy`]).
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>>;

    /// Gives up a claim: the store frees what it holds for this writer (locks, open files, memory), and another process
    /// can claim the session at once. The epoch writes no more. When another writer has claimed the session since,
    /// nothing happens. The runtime calls this when an agent is closed or dropped.
    ///
    /// # Errors
    /// When the store fails. The claim then ends with the store, as before.
    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

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

    /// Keeps bytes under their content address.
    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>>;

    /// Bytes kept earlier.
    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>>;

    /// Keeps a snapshot of a journal, replacing older ones as the store sees fit.
    fn put_snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let _ = (session_id, snapshot);
        Box::pin(async { Ok(()) })
    }

    /// The newest snapshot of at most `seq` events, if one was kept.
    fn snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, StoreError>> {
        let _ = (session_id, seq);
        Box::pin(async { Ok(None) })
    }
}
