//! Claims sessions and appends to them.
//!
//! This module caches the state of the sessions that this process writes to. An append runs to its end even if its caller
//! is gone; the next append to the session waits for it.
//! Invariant: after any failure the cache is empty, and the next append reads the state of the session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::archive::SessionSummary;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Ack, Append, Epoch, StoreError};
use tokio::sync::OwnedMutexGuard;

use super::batch::{AppendOutcome, Batch};
use super::connection::{Values, execute, query_opt};
use super::session_row::{self, SessionRow};
use super::store::StoreState;
use crate::record::Chain;

/// Maximum number of cached sessions. Above it, the store drops idle sessions and loads them again when needed. About
/// 1 KB each.
const MAX_CACHED: usize = 16_384;

/// A claim is always synced: a lost epoch would be assigned twice.
const CLAIM: &str = "INSERT INTO lariat.sessions AS s (id, epoch, head, chain, base, summary) \
    VALUES ($1, 1, 0, $2, $2, $3::text::json) \
    ON CONFLICT (id) DO UPDATE SET epoch = s.epoch + 1 WHERE NOT s.deleted \
    RETURNING no, epoch, head, chain, summary::text, set_config('synchronous_commit', 'on', true)";

const RELEASE: &str =
    "UPDATE lariat.sessions SET epoch = epoch + 1 WHERE id = $1 AND epoch = $2 AND NOT deleted";

type CachedRow = Arc<tokio::sync::Mutex<Option<SessionRow>>>;

/// The sessions that this process writes to.
#[derive(Default)]
pub(super) struct Writers(Mutex<HashMap<SessionId, CachedRow>>);

impl Writers {
    fn of(&self, session_id: &SessionId) -> CachedRow {
        let mut writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if writers.len() >= MAX_CACHED {
            writers.retain(|_, cached| Arc::strong_count(cached) > 1);
        }
        Arc::clone(writers.entry(session_id.clone()).or_default())
    }

    /// Drops a session from the cache if no append uses it.
    fn forget(&self, session_id: &SessionId) {
        let mut writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if writers.get(session_id).is_some_and(|cached| Arc::strong_count(cached) == 1) {
            writers.remove(session_id);
        }
    }

    /// Waits for a running append of this process to the session.
    pub(super) async fn wait_for_append(&self, session_id: &SessionId) {
        let cached = {
            let writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            writers.get(session_id).map(Arc::clone)
        };
        if let Some(cached) = cached {
            drop(cached.lock().await);
        }
    }
}

/// An append that outlives its caller.
struct AppendRequest {
    session_id: SessionId,
    epoch: Epoch,
    expected_seq: u64,
    events: Vec<Event>,
}

impl AppendRequest {
    /// Returns an error unless the session is in the state that the writer expects.
    fn check_state(&self, session: &SessionRow) -> Result<(), StoreError> {
        if self.epoch != session.epoch {
            return Err(StoreError::Fenced { current: session.epoch });
        }
        let misplaced =
            self.events.iter().zip(session.head..).find(|(event, position)| event.seq != *position);
        match misplaced {
            _ if self.expected_seq != session.head => {
                Err(StoreError::Conflict { expected: self.expected_seq, actual: session.head })
            }
            Some((event, position)) => Err(StoreError::Conflict { expected: event.seq, actual: position }),
            None => Ok(()),
        }
    }
}

impl StoreState {
    pub(super) async fn claim(&self, session_id: &SessionId) -> Result<Epoch, StoreError> {
        session_row::storable(session_id)?;
        let mut cached = self.writers.of(session_id).lock_owned().await;
        *cached = None;
        let start = Chain::start(session_id);
        let summary = session_row::summary_json(&SessionSummary::new(session_id.clone()))?;
        let values: Values<'_> = &[&session_row::id(session_id), &start.as_bytes().as_slice(), &summary];
        let client = self.pool.client().await?;
        let row =
            query_opt(&client, CLAIM, values).await?.ok_or_else(|| session_row::not_found(session_id))?;
        let session = SessionRow::from_row(&row)?;
        let epoch = session.epoch;
        *cached = Some(session);
        Ok(epoch)
    }

    pub(super) async fn release(&self, session_id: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let mut cached = self.writers.of(session_id).lock_owned().await;
        *cached = None;
        let epoch = i64::try_from(epoch.0).unwrap_or(i64::MAX);
        execute(&self.pool.client().await?, RELEASE, &[&session_row::id(session_id), &epoch]).await?;
        drop(cached);
        self.writers.forget(session_id);
        Ok(())
    }

    pub(super) async fn append(self: &Arc<Self>, append: Append<'_>) -> Result<Ack, StoreError> {
        let request = AppendRequest {
            session_id: append.session_id.clone(),
            epoch: append.epoch,
            expected_seq: append.expected_seq,
            events: append.events.to_vec(),
        };
        let cached = self.writers.of(append.session_id).lock_owned().await;
        let shared = Arc::clone(self);
        let begun = tokio::spawn(async move { shared.perform(request, cached).await });
        begun
            .await
            .unwrap_or_else(|error| Err(StoreError::Unavailable(format!("the append was aborted: {error}"))))
    }

    async fn perform(
        &self,
        request: AppendRequest,
        mut cached: OwnedMutexGuard<Option<SessionRow>>,
    ) -> Result<Ack, StoreError> {
        let known = cached
            .take()
            .filter(|session| !request.events.is_empty() && request.check_state(session).is_ok());
        let mut client = self.pool.client().await?;
        let load = async |client: &_| {
            let session = SessionRow::load(client, &request.session_id).await?;
            session.ok_or_else(|| session_row::not_found(&request.session_id))
        };
        let mut session = match known {
            Some(session) => session,
            None => load(&client).await?,
        };
        // At most two attempts: a repair keeps the session's epoch and length but changes its chain.
        for _ in 0..2 {
            if let Err(refused) = request.check_state(&session) {
                *cached = Some(session);
                return Err(refused);
            }
            if request.events.is_empty() {
                let next_seq = session.head;
                *cached = Some(session);
                return Ok(self.ack(next_seq));
            }
            let batch = Batch::seal(&session, &request.events)?;
            let written = batch.write(&mut client, &session, self.level()).await?;
            if written == AppendOutcome::Written {
                return Ok(self.acknowledge(batch.after(&session), &request.session_id, &mut cached));
            }
            let now = load(&client).await?;
            // An earlier attempt that seemed lost was written after all: the chain shows that these are its events.
            if now.epoch == request.epoch && batch.ends_as(&session, &now) {
                return Ok(self.acknowledge(now, &request.session_id, &mut cached));
            }
            session = now;
        }
        Err(StoreError::Unavailable("another process is changing the session".to_owned()))
    }

    fn acknowledge(&self, now: SessionRow, session_id: &SessionId, cached: &mut Option<SessionRow>) -> Ack {
        let ack = self.ack(now.head);
        *cached = Some(now);
        self.notifier.journal_grew(session_id, ack.next_seq);
        ack
    }

    fn ack(&self, next_seq: u64) -> Ack {
        Ack { next_seq, durability: self.durability }
    }
}
