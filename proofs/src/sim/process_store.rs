//! The store as one process of a world on tokio sees it: every call is a step, may fail, and is noted in the book.
//!
//! Invariant: a call of a dead process has no effect and no result.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Ack, Append, BlobHash, Epoch, SessionStore, Snapshot, StoreError};
use lariat_test::FaultyStore;

use super::steps::Steps;
use super::witness::{Book, WitnessedStore};

/// The store of a process.
pub(super) struct ProcessStore {
    pub(super) inner: WitnessedStore,
    steps: Steps,
}

impl ProcessStore {
    pub(super) const fn new(store: Arc<FaultyStore>, book: Book, steps: Steps) -> Self {
        Self { inner: WitnessedStore { store, book }, steps }
    }

    /// Performs a call as steps of the process.
    pub(super) fn step<'a, T: Send + 'a>(
        &'a self,
        call: impl Future<Output = Result<T, StoreError>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(self.steps.call(&self.inner.store, call))
    }
}

impl SessionStore for ProcessStore {
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>> {
        self.step(self.inner.claim(session_id))
    }

    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.step(self.inner.release(session_id, epoch))
    }

    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>> {
        let ack = self.step(self.inner.store.append(append));
        Box::pin(async move {
            let ack = ack.await?;
            // Noted when the caller knows it, not when the store has it.
            self.inner.book.note(append.session_id, append.events);
            Ok(ack)
        })
    }

    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        let events = self.step(self.inner.store.read(session_id, from_seq, limit));
        Box::pin(async move {
            let events = events.await?;
            self.inner.book.note(session_id, &events);
            Ok(events)
        })
    }

    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.step(self.inner.head(session_id))
    }

    fn put_snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.step(self.inner.put_snapshot(session_id, snapshot))
    }

    fn snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, StoreError>> {
        self.step(self.inner.snapshot(session_id, seq))
    }

    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>> {
        self.step(self.inner.put_blob(bytes))
    }

    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        self.step(self.inner.blob(hash))
    }
}
