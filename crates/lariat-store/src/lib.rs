//! Journals that survive: one contract ([`lariat_core::store::SessionStore`] and
//! [`lariat_core::archive::SessionArchive`]), three stores.
//!
//! | store | for | what it stands on |
//! | --- | --- | --- |
//! | [`sqlite::SqliteStore`] | a person's machine | one database file, WAL, one writer thread |
//! | [`jsonl::JsonlStore`] | files that `grep` reads | one file per session, one lock per writer |
//! | [`postgres::PostgresStore`] | servers | fenced appends in one statement |
//!
//! Around them: [`archive_file`] keeps a session in one file, [`interchange`] reads and writes sessions of other programs,
//! [`recorder`] makes records of loops while events come.
//!
//! What they share is here: [`record`] seals events with a checksum and a chain, [`content`] moves large text out of
//! events into blobs, `files` is the one door to the file system.

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

/// Events from one summary that is kept on the way to the next: so many at most a fork in the middle has to fold. A
/// summary has about 600 bytes, so that this is about one more byte for each event.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) const FOLDED: u64 = 512;

/// How hard a store tries before it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreOptions {
    /// The level that every append meets. [`Memory`](lariat_core::store::Durability::Memory) means
    /// [`Fast`](lariat_core::store::Durability::Fast) here.
    pub durability: lariat_core::store::Durability,
    /// How late the sync of a batched append may be.
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
    /// Options with this level.
    pub fn with_durability(durability: lariat_core::store::Durability) -> Self {
        Self { durability, ..Self::default() }
    }
}
