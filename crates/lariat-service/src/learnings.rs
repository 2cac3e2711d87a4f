//! Reads what earlier sessions learned from the session store.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::archive::SessionArchive;
use lariat_runtime::prompt::{Learnings, StoredLearning};

/// Maximum number of learnings to read, newest first.
const MAX_LEARNINGS: usize = 1_000;

/// The learnings of all sessions in a store.
#[derive(Clone)]
pub struct StoredLearnings(pub Arc<dyn SessionArchive>);

impl Learnings for StoredLearnings {
    fn learnings(&self) -> BoxFuture<'_, Vec<StoredLearning>> {
        Box::pin(async move {
            let known = self.0.learnings(None, MAX_LEARNINGS).await.unwrap_or_default();
            known
                .into_iter()
                .map(|known| StoredLearning { session_id: known.session_id, learning: known.learning })
                .collect()
        })
    }
}
