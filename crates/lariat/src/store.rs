//! Where sessions are stored: in memory, in files (feature `jsonl`), in SQLite (`sqlite`), in PostgreSQL
//! (`postgres`), or in a store of your own.

pub use lariat_core::archive::{Cursor, ListQuery, SessionArchive, SessionSummary};
pub use lariat_core::store::{Ack, Append, BlobHash, Durability, Epoch, SessionStore, Snapshot, StoreError};
pub use lariat_runtime::MemoryStore;
#[cfg(feature = "jsonl")]
pub use lariat_store::StoreOptions;
#[cfg(feature = "jsonl")]
pub use lariat_store::jsonl::JsonlStore;
#[cfg(feature = "postgres")]
pub use lariat_store::postgres;
#[cfg(feature = "sqlite")]
pub use lariat_store::sqlite::SqliteStore;
