//! The stores by name, and temporary locations for them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::archive::SessionArchive;
use lariat_core::store::StoreError;
use lariat_store::StoreOptions;
use lariat_store::jsonl::JsonlStore;
use lariat_store::postgres::{PostgresConfig, PostgresStore};
use lariat_store::sqlite::SqliteStore;

/// The kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Jsonl,
    Postgres,
}

impl Kind {
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        match name {
            "sqlite" => Ok(Self::Sqlite),
            "jsonl" => Ok(Self::Jsonl),
            "postgres" => Ok(Self::Postgres),
            other => Err(format!("unknown store `{other}`")),
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Jsonl => "jsonl",
            Self::Postgres => "postgres",
        }
    }

    /// Opens the store at a location: a directory, or the address of a server.
    pub(crate) async fn open(self, place: &str) -> Result<Arc<dyn SessionArchive>, String> {
        self.open_with(place, StoreOptions::default()).await
    }

    /// Opens the store with another durability level.
    pub(crate) async fn open_with(
        self,
        place: &str,
        options: StoreOptions,
    ) -> Result<Arc<dyn SessionArchive>, String> {
        let opened: Result<Arc<dyn SessionArchive>, StoreError> = match self {
            Self::Sqlite => {
                let path = PathBuf::from(place).join("sessions.db");
                SqliteStore::open(path, options).await.map(|store| Arc::new(store) as _)
            }
            Self::Jsonl => JsonlStore::open(place, options).await.map(|store| Arc::new(store) as _),
            Self::Postgres => {
                // A server that is starting refuses connections for a moment.
                let config: PostgresConfig = place.parse().map_err(|error: StoreError| error.to_string())?;
                let mut opened = PostgresStore::connect(config.clone(), options).await;
                for _ in 0..100 {
                    if opened.is_ok() {
                        break;
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    opened = PostgresStore::connect(config.clone(), options).await;
                }
                opened.map(|store| Arc::new(store) as _)
            }
        };
        opened.map_err(|error| error.to_string())
    }
}

/// A directory that is removed on drop.
pub(crate) struct TempDirectory(pub(crate) PathBuf);

impl TempDirectory {
    pub(crate) fn new() -> Result<Self, String> {
        Self::within(&std::env::temp_dir())
    }

    /// A directory in memory, if there is enough.
    pub(crate) fn in_memory() -> Result<Self, String> {
        Self::within(Path::new("/dev/shm")).or_else(|_| Self::new())
    }

    fn within(parent: &Path) -> Result<Self, String> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("lariat-proof-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    pub(crate) fn text(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
