//! Tests the PostgreSQL store against a real server, started for these tests.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

mod crash;
mod damage;
mod nodes;
mod schema;
mod speed;
mod tables;
mod tls;

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::archive::SessionArchive;
use lariat_proofs::postgres::Server;
use lariat_store::StoreOptions;
use lariat_store::postgres::PostgresStore;
use lariat_test::conformance::ArchiveFixture;

/// A separate database on a server that tests share.
pub(crate) struct Database {
    server: Server,
    address: String,
}

impl Database {
    pub(crate) fn new() -> Self {
        let server = Server::shared();
        Self { address: server.database(), server }
    }

    async fn connect(&self) -> PostgresStore {
        self.connect_with(StoreOptions::default()).await
    }

    async fn connect_with(&self, options: StoreOptions) -> PostgresStore {
        PostgresStore::connect(self.address.parse().unwrap(), options).await.unwrap()
    }

    /// Runs SQL outside the store, like another program.
    fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.address, sql).trim().to_owned()
    }
}

impl ArchiveFixture for Database {
    fn open(&self) -> BoxFuture<'_, Arc<dyn SessionArchive>> {
        Box::pin(async { Arc::new(self.connect().await) as Arc<dyn SessionArchive> })
    }
}

mod conformance {
    lariat_test::archive_conformance!(super::Database::new());
}
