//! The archive as one process of a world sees it: what a session host asks of a store besides reading and writing.
//!
//! Lists, summaries and backward reads are computed from the journals, with one call of the store that can fail. Invariant: a
//! call of a dead process has no effect and no result.

use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::archive::{GarbageReport, ListQuery, SessionArchive, SessionSummary, VerificationReport};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{SessionStore, StoreError};

use super::process_store::ProcessStore;

impl ProcessStore {
    /// Computes the summary of a session from its journal.
    fn summarize(&self, session_id: &SessionId) -> SessionSummary {
        let store = &self.inner.store;
        let mut summary = store.inspect(session_id, |events| SessionSummary::of(session_id.clone(), events));
        summary.parent = summary.parent.or_else(|| store.origin(session_id));
        summary
    }
}

/// What no host asks of a store.
fn unused<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, StoreError>> {
    Box::pin(std::future::ready(Err(StoreError::Unavailable("not part of the simulation".to_owned()))))
}

impl SessionArchive for ProcessStore {
    fn read_backwards<'a>(
        &'a self,
        session_id: &'a SessionId,
        before_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        let from = before_seq.saturating_sub(limit as u64);
        let count = usize::try_from(before_seq - from).unwrap_or(usize::MAX);
        Box::pin(async move {
            let mut events = self.read(session_id, from, count).await?;
            events.reverse();
            Ok(events)
        })
    }

    fn wait_for_growth<'a>(
        &'a self,
        session_id: &'a SessionId,
        beyond: u64,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.step(async move { Ok(self.inner.store.wait_for_growth(session_id, beyond).await) })
    }

    fn summary<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionSummary, StoreError>> {
        Box::pin(async move {
            self.head(session_id).await?;
            Ok(self.summarize(session_id))
        })
    }

    fn list<'a>(&'a self, query: &'a ListQuery) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        Box::pin(async move {
            let sessions = self.inner.store.sessions();
            let Some(first) = sessions.first() else { return Ok(Vec::new()) };
            self.head(first).await?;
            let summaries = sessions.iter().map(|session_id| self.summarize(session_id));
            let mut listed: Vec<SessionSummary> =
                summaries.filter(|summary| summary.events > 0 && query.fits(summary)).collect();
            listed.sort_by_key(|summary| std::cmp::Reverse(summary.cursor()));
            listed.truncate(if query.limit == 0 { usize::MAX } else { query.limit });
            Ok(listed)
        })
    }

    fn fork<'a>(
        &'a self,
        from: &'a SessionId,
        at_seq: u64,
        to: &'a SessionId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.step(self.inner.store.fork(from, at_seq, to))
    }

    fn delete<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<(), StoreError>> {
        unused()
    }

    fn verify<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<VerificationReport, StoreError>> {
        unused()
    }

    fn repair<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<VerificationReport, StoreError>> {
        unused()
    }

    fn collect_garbage(&self, _: Duration) -> BoxFuture<'_, Result<GarbageReport, StoreError>> {
        unused()
    }
}
