//! The stores by name, and temporary locations for them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lariat_core::archive::SessionArchive;
use lariat_core::store::Durability;
use lariat_proofs::postgres::Server;
use lariat_store::StoreOptions;
use lariat_store::jsonl::JsonlStore;
use lariat_store::postgres::{PostgresConfig, PostgresStore};
use lariat_store::sqlite::SqliteStore;

use super::{Outcome, text};

/// The kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Sqlite,
    Jsonl,
    Postgres,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Sqlite, Self::Jsonl, Self::Postgres];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Jsonl => "jsonl",
            Self::Postgres => "postgres",
        }
    }

    pub(super) fn named(name: &str) -> Outcome<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("unknown store `{name}`"))
    }
}

/// Location of a store.
#[derive(Clone, Debug)]
pub(super) struct StoreLocation {
    pub(super) kind: Kind,
    /// A directory, or the address of a database.
    pub(super) at: String,
}

impl StoreLocation {
    /// Creates an empty location for a store.
    pub(super) fn new(kind: Kind, folder: &TempDirectory, server: &Server) -> Outcome<Self> {
        let at = match kind {
            Kind::Postgres => server.database(),
            _ => folder.0.to_str().ok_or("the directory name is not valid UTF-8")?.to_owned(),
        };
        Ok(Self { kind, at })
    }

    pub(super) async fn open(&self, durability: Durability) -> Outcome<Arc<dyn SessionArchive>> {
        let options = StoreOptions::with_durability(durability);
        Ok(match self.kind {
            Kind::Sqlite => Arc::new(SqliteStore::open(self.database(), options).await.map_err(text)?),
            Kind::Jsonl => Arc::new(JsonlStore::open(&self.at, options).await.map_err(text)?),
            Kind::Postgres => {
                let config: PostgresConfig = self.at.parse().map_err(text)?;
                Arc::new(PostgresStore::connect(config, options).await.map_err(text)?)
            }
        })
    }

    /// Path of the SQLite database file.
    fn database(&self) -> PathBuf {
        PathBuf::from(&self.at).join("sessions.db")
    }
}

/// A directory that is removed on drop.
pub(super) struct TempDirectory(pub(super) PathBuf);

impl TempDirectory {
    pub(super) fn new() -> Outcome<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lariat-bench-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(text)?;
        Ok(Self(path))
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
