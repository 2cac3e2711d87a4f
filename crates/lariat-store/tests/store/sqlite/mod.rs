//! Tests the SQLite store: the conformance suite in a file at each level and in memory, and its own tests.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that fails panics, and has directories of its own"
)]

mod damage;
mod failure;
mod growth;
mod processes;
mod projections;
mod searching;

use std::path::PathBuf;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::archive::SessionArchive;
use lariat_core::store::Durability;
use lariat_store::StoreOptions;
use lariat_store::sqlite::SqliteStore;
use lariat_test::conformance::ArchiveFixture;

/// A temporary directory for a database, removed on drop.
pub(crate) struct SqliteFixture {
    path: PathBuf,
    durability: Durability,
}

impl SqliteFixture {
    pub(crate) fn new(durability: Durability) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-sqlite-{}", uuid::Uuid::new_v4()));
        Self { path, durability }
    }

    fn database(&self) -> PathBuf {
        self.path.join("sessions.db")
    }

    async fn store(&self) -> SqliteStore {
        let options = StoreOptions::with_durability(self.durability);
        SqliteStore::open(self.database(), options).await.unwrap()
    }

    /// Opens a connection next to the store, like another process.
    fn raw_connection(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.database()).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        connection
    }
}

impl Drop for SqliteFixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

impl ArchiveFixture for SqliteFixture {
    fn open(&self) -> BoxFuture<'_, Arc<dyn SessionArchive>> {
        Box::pin(async { Arc::new(self.store().await) as Arc<dyn SessionArchive> })
    }
}

struct Memory;

impl ArchiveFixture for Memory {
    fn open(&self) -> BoxFuture<'_, Arc<dyn SessionArchive>> {
        Box::pin(async { Arc::new(SqliteStore::in_memory().await.unwrap()) as Arc<dyn SessionArchive> })
    }

    fn is_persistent(&self) -> bool {
        false
    }
}

mod durable {
    lariat_test::archive_conformance!(super::SqliteFixture::new(lariat_core::store::Durability::Durable));
}

mod batched {
    lariat_test::archive_conformance!(super::SqliteFixture::new(lariat_core::store::Durability::Batched));
}

mod fast {
    lariat_test::archive_conformance!(super::SqliteFixture::new(lariat_core::store::Durability::Fast));
}

mod memory {
    lariat_test::archive_conformance!(super::Memory);
}
