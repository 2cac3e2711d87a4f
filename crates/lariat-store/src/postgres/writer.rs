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

use super::batch::{Batch, Written};
use super::link::{Values, execute, query_opt};
use super::standing::{self, Standing};
use super::store::Shared;
use crate::record::Chain;

/// Maximum number of cached sessions. Above it, the store drops idle sessions and loads them again when needed. About
/// 1 KB each.
const REMEMBERED: usize = 16_384;

/// A claim is always synced: a lost epoch would be assigned twice.
const CLAIM: &str = "INSERT INTO lariat.sessions AS s (id, epoch, head, chain, base, summary) \
    VALUES ($1, 1, 0, $2, $2, $3::text::json) \
    ON CONFLICT (id) DO UPDATE SET epoch = s.epoch + 1 WHERE NOT s.deleted \
    RETURNING no, epoch, head, chain, summary::text, set_config('synchronous_commit', 'on', true)";

const RELEASE: &str =
    "UPDATE lariat.sessions SET epoch = epoch + 1 WHERE id = $1 AND epoch = $2 AND NOT deleted";

type Memory = Arc<tokio::sync::Mutex<Option<Standing>>>;

/// The sessions that this process writes to.
#[derive(Default)]
pub(super) struct Writers(Mutex<HashMap<SessionId, Memory>>);

impl Writers {
    fn of(&self, session_id: &SessionId) -> Memory {
        let mut writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if writers.len() >= REMEMBERED {
            writers.retain(|_, memory| Arc::strong_count(memory) > 1);
        }
        Arc::clone(writers.entry(session_id.clone()).or_default())
    }

    /// Drops a session from the cache if no append uses it.
    fn forget(&self, session_id: &SessionId) {
        let mut writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if writers.get(session_id).is_some_and(|memory| Arc::strong_count(memory) == 1) {
            writers.remove(session_id);
        }
    }

    /// Waits for a running append of this process to the session.
    pub(super) async fn settled(&self, session_id: &SessionId) {
        let memory = {
            let writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            writers.get(session_id).map(Arc::clone)
        };
        if let Some(memory) = memory {
            drop(memory.lock().await);
        }
    }
}

/// An append that outlives its caller.
struct Order {
    session_id: SessionId,
    epoch: Epoch,
    expected_seq: u64,
    events: Vec<Event>,
}

impl Order {
    /// Returns an error unless the session is in the state that the writer expects.
    fn fits(&self, standing: &Standing) -> Result<(), StoreError> {
        if self.epoch != standing.epoch {
            return Err(StoreError::Fenced { current: standing.epoch });
        }
        let misplaced =
            self.events.iter().zip(standing.head..).find(|(event, position)| event.seq != *position);
        match misplaced {
            _ if self.expected_seq != standing.head => {
                Err(StoreError::Conflict { expected: self.expected_seq, actual: standing.head })
            }
            Some((event, position)) => Err(StoreError::Conflict { expected: event.seq, actual: position }),
            None => Ok(()),
        }
    }
}

impl Shared {
    pub(super) async fn claim(&self, session_id: &SessionId) -> Result<Epoch, StoreError> {
        standing::storable(session_id)?;
        let mut memory = self.writers.of(session_id).lock_owned().await;
        *memory = None;
        let start = Chain::start(session_id);
        let summary = standing::summary_json(&SessionSummary::new(session_id.clone()))?;
        let values: Values<'_> = &[&standing::id(session_id), &start.as_bytes().as_slice(), &summary];
        let client = self.link.client().await?;
        let row = query_opt(&client, CLAIM, values).await?.ok_or_else(|| standing::unknown(session_id))?;
        let standing = Standing::from_row(&row)?;
        let epoch = standing.epoch;
        *memory = Some(standing);
        Ok(epoch)
    }

    pub(super) async fn release(&self, session_id: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let mut memory = self.writers.of(session_id).lock_owned().await;
        *memory = None;
        let epoch = i64::try_from(epoch.0).unwrap_or(i64::MAX);
        execute(&self.link.client().await?, RELEASE, &[&standing::id(session_id), &epoch]).await?;
        drop(memory);
        self.writers.forget(session_id);
        Ok(())
    }

    pub(super) async fn append(self: &Arc<Self>, append: Append<'_>) -> Result<Ack, StoreError> {
        let order = Order {
            session_id: append.session_id.clone(),
            epoch: append.epoch,
            expected_seq: append.expected_seq,
            events: append.events.to_vec(),
        };
        let memory = self.writers.of(append.session_id).lock_owned().await;
        let shared = Arc::clone(self);
        let begun = tokio::spawn(async move { shared.perform(order, memory).await });
        begun
            .await
            .unwrap_or_else(|error| Err(StoreError::Unavailable(format!("the append was aborted: {error}"))))
    }

    async fn perform(
        &self,
        order: Order,
        mut memory: OwnedMutexGuard<Option<Standing>>,
    ) -> Result<Ack, StoreError> {
        let remembered =
            memory.take().filter(|standing| !order.events.is_empty() && order.fits(standing).is_ok());
        let mut client = self.link.client().await?;
        let load = async |client: &_| {
            let standing = Standing::load(client, &order.session_id).await?;
            standing.ok_or_else(|| standing::unknown(&order.session_id))
        };
        let mut standing = match remembered {
            Some(standing) => standing,
            None => load(&client).await?,
        };
        // At most two attempts: a repair keeps the session's epoch and length but changes its chain.
        for _ in 0..2 {
            if let Err(refused) = order.fits(&standing) {
                *memory = Some(standing);
                return Err(refused);
            }
            if order.events.is_empty() {
                let next_seq = standing.head;
                *memory = Some(standing);
                return Ok(self.ack(next_seq));
            }
            let batch = Batch::seal(&standing, &order.events)?;
            let written = batch.write(&mut client, &standing, self.level()).await?;
            if written == Written::Yes {
                return Ok(self.acknowledge(batch.after(&standing), &order.session_id, &mut memory));
            }
            let now = load(&client).await?;
            // An earlier attempt that seemed lost was written after all: the chain shows that these are its events.
            if now.epoch == order.epoch && batch.ends_as(&standing, &now) {
                return Ok(self.acknowledge(now, &order.session_id, &mut memory));
            }
            standing = now;
        }
        Err(StoreError::Unavailable("another process is changing the session".to_owned()))
    }

    fn acknowledge(&self, now: Standing, session_id: &SessionId, memory: &mut Option<Standing>) -> Ack {
        let ack = self.ack(now.head);
        *memory = Some(now);
        self.wake.grew(session_id, ack.next_seq);
        ack
    }

    fn ack(&self, next_seq: u64) -> Ack {
        Ack { next_seq, durability: self.met }
    }
}
