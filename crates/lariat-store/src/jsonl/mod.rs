//! Stores each session in a JSONL file that `grep` can read: one line of JSON per event.
//!
//! | file | content |
//! | --- | --- |
//! | `sessions/<id>.jsonl` | the journal: a header, then one sealed line per event (`line.rs`) |
//! | `sessions/<id>.deleted` | marks a deleted session |
//! | `sessions/<id>.torn-<n>`, `.damaged-<n>` | data set aside: an incomplete end of a journal, a journal before its repair |
//! | `index/<id>.idx`, `.epoch`, `.lock` | the journal's summary and offsets, its writer's epoch, its writer's lock |
//! | `snapshots/<id>/<n>` | snapshots stored by callers |
//! | `blobs/ab/<hash>` | large text, and blobs stored by tools |
//! | `catalog` | all summaries, for listing |
//!
//! Pure functions interpret the bytes (`scan`, `audit`, `rebuild`); the file layer on top is thin. File access runs on tokio's
//! blocking threads. Invariant: among all processes of the machine, at most one writes to a session, guarded by a lock that
//! ends with its holder; acknowledged data is never cut off, overwritten or merged with other data.

mod append;
mod audit;
mod blobs;
mod checksummed;
mod garbage;
mod inner;
mod line;
mod list;
mod manage;
pub(crate) mod paths;
mod read;
mod rebuild;
mod repair;
mod scan;
mod section;
mod syncer;
mod tip;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::archive::{GarbageReport, ListQuery, SessionArchive, SessionSummary, VerificationReport};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Ack, Append, BlobHash, Epoch, SessionStore, Snapshot, StoreError};

pub use audit::{ExpectedJournal, examine};
pub use line::{Fork, Header};
pub use rebuild::{RebuildError, rebuild};

use crate::StoreOptions;
use inner::JsonlStoreInner;

/// How often a caller that waits for a journal polls for changes by other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Stores sessions in a directory, one file each.
///
/// ```
/// use lariat_core::id::SessionId;
/// use lariat_core::store::{Append, SessionStore};
/// use lariat_store::StoreOptions;
/// use lariat_store::jsonl::JsonlStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), lariat_core::store::StoreError> {
/// # let dir = std::env::temp_dir().join(format!("lariat-jsonl-doc-{}", std::process::id()));
/// let store = JsonlStore::open(&dir, StoreOptions::default()).await?;
/// let session = SessionId::from("s");
/// let epoch = store.claim(&session).await?;
/// let ack = store.append(Append::new(&session, epoch, 0, &[])).await?;
/// assert_eq!(ack.next_seq, 0);
/// # drop(store);
/// # std::fs::remove_dir_all(&dir).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct JsonlStore {
    inner: Arc<JsonlStoreInner>,
}

impl JsonlStore {
    /// Opens the store in a directory and creates it if needed.
    ///
    /// # Errors
    /// When the directory cannot be created.
    pub async fn open(root: impl Into<PathBuf>, options: StoreOptions) -> Result<Self, StoreError> {
        let root = root.into();
        let inner = blocking(move || {
            JsonlStoreInner::new(root.clone(), options).map_err(|error| unavailable(&root, &error))
        });
        Ok(Self { inner: Arc::new(inner.await?) })
    }

    /// Runs `work` on a thread that may block.
    fn with<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&JsonlStoreInner) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(blocking(move || work(&inner)))
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(StoreError::Unavailable(format!("a file operation was aborted: {error}")))
    })
}

fn unavailable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}

fn not_found(session_id: &SessionId) -> StoreError {
    StoreError::NotFound(format!("session {session_id}"))
}

impl SessionStore for JsonlStore {
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>> {
        let id = session_id.clone();
        self.with(move |inner| inner.claim(&id))
    }

    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let id = session_id.clone();
        self.with(move |inner| inner.release(&id, epoch))
    }

    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>> {
        let Append { session_id, epoch, expected_seq, events, .. } = append;
        Box::pin(async move {
            if self.inner.can_append_inline(session_id) {
                return self.inner.append(session_id, epoch, expected_seq, events);
            }
            let (id, events) = (session_id.clone(), events.to_vec());
            self.with(move |inner| inner.append(&id, epoch, expected_seq, &events)).await
        })
    }

    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        let id = session_id.clone();
        self.with(move |inner| inner.read(&id, from_seq, limit))
    }

    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>> {
        let id = session_id.clone();
        self.with(move |inner| Ok(inner.tip(&id)?.map_or(0, |tip| tip.head)))
    }

    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>> {
        let bytes = bytes.to_vec();
        self.with(move |inner| inner.blobs.put(&bytes))
    }

    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        let hash = hash.clone();
        self.with(move |inner| inner.blobs.read(&hash))
    }

    fn put_snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let id = session_id.clone();
        self.with(move |inner| inner.put_snapshot(&id, &snapshot))
    }

    fn snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, StoreError>> {
        let id = session_id.clone();
        self.with(move |inner| inner.snapshot(&id, seq))
    }
}

impl SessionArchive for JsonlStore {
    fn read_backwards<'a>(
        &'a self,
        session_id: &'a SessionId,
        before_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        let id = session_id.clone();
        self.with(move |inner| inner.read_backwards(&id, before_seq, limit))
    }

    fn wait_for_growth<'a>(
        &'a self,
        session_id: &'a SessionId,
        beyond: u64,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            // Subscribe before reading, so that no change in between is missed.
            let mut grew = self.inner.session(session_id).grew.subscribe();
            loop {
                let head = self.head(session_id).await?;
                if head > beyond {
                    return Ok(head);
                }
                // A change by this process ends the wait at once; poll for changes by others.
                let _ = tokio::time::timeout(POLL_INTERVAL, grew.changed()).await;
            }
        })
    }

    fn summary<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionSummary, StoreError>> {
        let id = session_id.clone();
        self.with(move |inner| inner.summary(&id))
    }

    fn list<'a>(&'a self, query: &'a ListQuery) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        let query = query.clone();
        self.with(move |inner| inner.list(&query))
    }

    fn fork<'a>(
        &'a self,
        from: &'a SessionId,
        at_seq: u64,
        to: &'a SessionId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (from, to) = (from.clone(), to.clone());
        self.with(move |inner| inner.fork(&from, at_seq, &to))
    }

    fn delete<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<(), StoreError>> {
        let id = session_id.clone();
        self.with(move |inner| inner.delete(&id))
    }

    fn verify<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Result<VerificationReport, StoreError>> {
        let id = session_id.clone();
        self.with(move |inner| inner.verify(&id))
    }

    fn repair<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Result<VerificationReport, StoreError>> {
        let id = session_id.clone();
        self.with(move |inner| inner.repair(&id))
    }

    fn collect_garbage(&self, grace: Duration) -> BoxFuture<'_, Result<GarbageReport, StoreError>> {
        self.with(move |inner| inner.collect_garbage(grace))
    }
}
