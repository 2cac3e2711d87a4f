//! The contract for a store of journals, as a running loop uses it.
//!
//! [`crate::archive`] has the contract for managing sessions. Every implementation guarantees:
//!
//! - It acknowledges an append only when the append is durable to the stated level.
//! - It appends only at the expected position and only for the current writer.
//! - It returns acknowledged events in order.

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::event::Event;
use crate::id::SessionId;

/// Identifies the writer of a session. Each claim increases it; a store refuses appends from a writer with an
/// older epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// A batch of events to append atomically.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Append<'a> {
    /// Session whose journal to append to.
    pub session_id: &'a SessionId,
    /// Epoch of the writer.
    pub epoch: Epoch,
    /// Position that the first event must get: the current number of events.
    pub expected_seq: u64,
    /// The events, with `seq` set.
    pub events: &'a [Event],
}

impl<'a> Append<'a> {
    /// Creates a batch.
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
    /// Only in the memory of this process.
    Memory,
    /// Written to the operating system: survives a crash of the process.
    Fast,
    /// Synced to disk within a short time.
    Batched,
    /// Synced to disk before the acknowledgement.
    Durable,
}

/// Acknowledgement of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Number of events in the journal after the append.
    pub next_seq: u64,
    /// The durability level of the append.
    pub durability: Durability,
}

/// Content address of a blob: name of the hash, colon, hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobHash(pub String);

/// The folded state of the first events of a journal, so that a reader need not read them again. A cache: it
/// can be lost, and a store may decline to keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Number of events that the state includes.
    pub seq: u64,
    /// The state, in the format of the component that created it.
    pub state: Vec<u8>,
}

impl Snapshot {
    /// Creates a snapshot of the first `seq` events.
    pub const fn new(seq: u64, state: Vec<u8>) -> Self {
        Self { seq, state }
    }
}

/// Why a store operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The journal does not have the expected number of events.
    #[error("the journal has {actual} events, but the writer expected {expected}")]
    Conflict {
        /// Number of events that the writer expected.
        expected: u64,
        /// Number of events in the journal.
        actual: u64,
    },
    /// Another writer claimed the session.
    #[error("another process opened the session")]
    Fenced {
        /// The current epoch.
        current: Epoch,
    },
    /// Another running process is the writer of the session.
    #[error("the session is open elsewhere ({holder})")]
    Busy {
        /// Description of the process.
        holder: String,
    },
    /// The session or blob does not exist.
    #[error("not found: {0}")]
    NotFound(String),
    /// A temporary failure. Whether an append happened is unknown until the journal is read.
    #[error("the journal is unavailable: {0}")]
    Unavailable(String),
    /// The data that was read is damaged.
    #[error("damaged journal: {0}")]
    Damaged(String),
    /// A newer version of the program wrote the data, in a format that this one does not know. The store neither
    /// reads nor changes it.
    #[error(
        "a newer version of Lariat wrote {what} (format {found}; this version reads formats up to {supported})"
    )]
    Newer {
        /// What has the format, such as a database or an event.
        what: String,
        /// Version of the format that was found.
        found: u64,
        /// Newest version of the format that this program reads.
        supported: u64,
    },
}

impl StoreError {
    /// Returns whether a retry can help.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// Stores the journals of sessions.
pub trait SessionStore: Send + Sync {
    /// Makes the caller the writer of a session and creates the session if needed. Earlier writers can no
    /// longer append. A store on one machine fails with [`StoreError::Busy`] while another running process is
    /// the writer.
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>>;

    /// Releases a claim: the store frees what it holds for this writer (locks, open files, memory), and
    /// another process can claim the session at once. Later appends with this epoch fail. Does nothing if
    /// another writer has claimed the session since. The runtime calls this when an agent is closed or
    /// dropped.
    ///
    /// # Errors
    /// Fails if the store fails. The claim then ends when the store is closed.
    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Appends a batch. An acknowledgement covers all of its events.
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>>;

    /// Reads up to `limit` events from `from_seq` on. Returns fewer only at the end of the journal.
    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>>;

    /// Returns the number of events in a journal; 0 if it does not exist.
    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Stores bytes under their content address.
    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>>;

    /// Reads the bytes of a blob.
    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>>;

    /// Stores a snapshot of a journal. The store may replace older ones.
    fn put_snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let _ = (session_id, snapshot);
        Box::pin(async { Ok(()) })
    }

    /// Returns the newest stored snapshot of at most `seq` events.
    fn snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, StoreError>> {
        let _ = (session_id, seq);
        Box::pin(async { Ok(None) })
    }
}
