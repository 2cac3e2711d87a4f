//! Stores sessions in SQLite, in JSONL files or in PostgreSQL. All three stores implement the same contract:
//! [`lariat_core::store::SessionStore`] and [`lariat_core::archive::SessionArchive`].
//!
//! | store | for | built on |
//! | --- | --- | --- |
//! | [`sqlite::SqliteStore`] | a user's machine | one database file, WAL, one writer thread |
//! | [`jsonl::JsonlStore`] | files that `grep` reads | one file per session, one lock per writer |
//! | [`postgres::PostgresStore`] | servers | fenced appends in one statement |
//!
//! [`archive_file`] writes a session to one file, [`interchange`] reads and writes session files of other programs, and
//! [`recorder`] builds session records from events as they arrive.
//!
//! All stores share three modules: [`record`] seals events with a checksum and a chain hash, [`content`] moves large text
//! out of events into blobs, and `files` contains every access to the file system.

pub mod archive_file;
pub mod content;
mod files;
pub mod interchange;
pub mod jsonl;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod record;
pub mod recorder;
#[cfg(feature = "sqlite")]
pub mod sqlite;

/// Number of events between two stored summaries. A fork in the middle of a session folds at most this many events. A
/// summary has about 600 bytes, which adds about one byte per event.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) const SUMMARY_INTERVAL: u64 = 512;

/// How durable an append is when the store acknowledges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreOptions {
    /// The durability level of every append. [`Memory`](lariat_core::store::Durability::Memory) means
    /// [`Fast`](lariat_core::store::Durability::Fast) here.
    pub durability: lariat_core::store::Durability,
    /// The longest time that the sync of a batched append may be delayed.
    pub batch_window: std::time::Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            durability: lariat_core::store::Durability::Durable,
            batch_window: std::time::Duration::from_millis(20),
        }
    }
}

impl StoreOptions {
    /// Returns the default options with this durability level.
    pub fn with_durability(durability: lariat_core::store::Durability) -> Self {
        Self { durability, ..Self::default() }
    }
}
