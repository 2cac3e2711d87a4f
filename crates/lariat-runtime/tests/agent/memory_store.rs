//! Runs the conformance suite for stores against the store in memory.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::store::SessionStore;
use lariat_runtime::MemoryStore;
use lariat_test::conformance::StoreFixture;

struct InMemory;

impl StoreFixture for InMemory {
    fn open(&self) -> BoxFuture<'_, Arc<dyn SessionStore>> {
        Box::pin(async { Arc::new(MemoryStore::new()) as Arc<dyn SessionStore> })
    }

    fn is_persistent(&self) -> bool {
        false
    }
}

lariat_test::store_conformance!(InMemory);
