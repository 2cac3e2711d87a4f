//! The store of files.

use std::path::PathBuf;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::archive::SessionArchive;
use lariat_core::store::Durability;
use lariat_store::StoreOptions;
use lariat_store::jsonl::JsonlStore;
use lariat_testkit::conformance::Place;

/// A folder that is removed when it is no longer needed.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    options: StoreOptions,
}

impl Folder {
    pub(crate) fn new(durability: Durability) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-jsonl-{}", uuid::Uuid::new_v4().simple()));
        Self { path, options: StoreOptions::with_durability(durability) }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        #[expect(clippy::disallowed_methods, reason = "a test cleans up")]
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

impl Place for Folder {
    fn open(&self) -> BoxFuture<'_, Arc<dyn SessionArchive>> {
        Box::pin(async {
            let store = JsonlStore::open(&self.path, self.options).await.unwrap();
            Arc::new(store) as Arc<dyn SessionArchive>
        })
    }
}

mod durable {
    use super::*;

    lariat_testkit::store_conformance!(Folder::new(Durability::Durable));
}

mod batched {
    use super::*;

    lariat_testkit::store_conformance!(Folder::new(Durability::Batched));
}

mod fast {
    use super::*;

    lariat_testkit::store_conformance!(Folder::new(Durability::Fast));
}
