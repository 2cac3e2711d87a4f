//! What a store reported to its callers, kept outside the store.
//!
//! [`WitnessedStore`] stands between the product and a store that fails. It notes every event whose append succeeded, and
//! every event that a read returned, in a [`Book`]. Invariant: the book only grows, and nothing that the store does later
//! changes it; so a store that loses an acknowledged event is caught by comparison.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::BoxFuture;
use lariat_core::event::Event;
use lariat_core::id::{EventId, SessionId};
use lariat_core::store::{Ack, Append, BlobHash, Epoch, SessionStore, Snapshot, StoreError};
use lariat_test::FaultyStore;

use super::lineage::Lineage;
use super::violation::Violation;

/// The events that callers know of, by session and position. Clones are the same book.
#[derive(Clone, Default)]
pub(super) struct Book(Arc<Mutex<Pages>>);

#[derive(Default)]
struct Pages {
    sessions: BTreeMap<SessionId, Vec<Option<Event>>>,
    lineage: Lineage,
    /// The first contradiction between two answers of the store.
    contradiction: Option<Violation>,
}

impl Book {
    /// Notes events that a caller knows to be in the journal.
    pub(super) fn note(&self, session_id: &SessionId, events: &[Event]) {
        let mut pages = self.lock();
        let Pages { sessions, lineage, contradiction } = &mut *pages;
        if !sessions.contains_key(session_id) {
            sessions.insert(session_id.clone(), Vec::new());
        }
        let Some(known) = sessions.get_mut(session_id) else { return };
        for event in events {
            let at = usize::try_from(event.seq).unwrap_or(usize::MAX);
            if known.len() <= at {
                known.resize(at + 1, None);
            }
            let Some(slot) = known.get_mut(at) else { continue };
            match slot {
                Some(earlier) if earlier.id != event.id => {
                    contradiction.get_or_insert_with(|| lost(session_id, earlier));
                }
                Some(_) => {}
                None => {
                    lineage.observe(session_id, event);
                    *slot = Some(Arc::clone(event));
                }
            }
        }
    }

    /// Whether the store reported that this event is in the journal.
    pub(super) fn knows(&self, session_id: &SessionId, seq: u64, id: EventId) -> bool {
        let at = usize::try_from(seq).unwrap_or(usize::MAX);
        let pages = self.lock();
        let event = pages.sessions.get(session_id).and_then(|known| known.get(at)?.as_ref());
        event.is_some_and(|event| event.id == id)
    }

    /// Asks what the known events say about the tree of agents.
    pub(super) fn lineage<T>(&self, ask: impl FnOnce(&Lineage) -> T) -> T {
        ask(&self.lock().lineage)
    }

    /// The newest known event of a session for which a condition is true.
    pub(super) fn newest(&self, session_id: &SessionId, is_wanted: impl Fn(&Event) -> bool) -> Option<Event> {
        let pages = self.lock();
        let known = pages.sessions.get(session_id)?;
        known.iter().rev().flatten().find(|event| is_wanted(event)).cloned()
    }

    /// Checks that everything that the store reported is in it, at its place and unchanged.
    pub(super) fn check(&self, store: &FaultyStore) -> Result<(), Violation> {
        let mut pages = self.lock();
        if let Some(contradiction) = pages.contradiction.take() {
            return Err(contradiction);
        }
        for (session_id, known) in &pages.sessions {
            let missing = store.inspect(session_id, |present| {
                let is_lost = |(at, event): &(usize, &Event)| {
                    // Equal pointers are the usual case, and cheap.
                    present.get(*at).is_none_or(|there| !Arc::ptr_eq(there, event) && there != *event)
                };
                let told = known.iter().enumerate().filter_map(|(at, event)| Some((at, event.as_ref()?)));
                told.filter(is_lost).map(|(_, event)| lost(session_id, event)).next()
            });
            if let Some(missing) = missing {
                return Err(missing);
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lost(session_id: &SessionId, event: &Event) -> Violation {
    Violation::AcknowledgedLost(format!("event {} of {session_id}, {}", event.seq, event.event.name()))
}

/// A store whose answers are noted in a book.
pub(super) struct WitnessedStore {
    pub(super) store: Arc<FaultyStore>,
    pub(super) book: Book,
}

impl SessionStore for WitnessedStore {
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>> {
        self.store.claim(session_id)
    }

    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.release(session_id, epoch)
    }

    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>> {
        Box::pin(async move {
            let ack = self.store.append(append).await?;
            self.book.note(append.session_id, append.events);
            Ok(ack)
        })
    }

    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        Box::pin(async move {
            let events = self.store.read(session_id, from_seq, limit).await?;
            self.book.note(session_id, &events);
            Ok(events)
        })
    }

    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.store.head(session_id)
    }

    fn put_snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.put_snapshot(session_id, snapshot)
    }

    fn snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, StoreError>> {
        self.store.snapshot(session_id, seq)
    }

    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>> {
        self.store.put_blob(bytes)
    }

    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        self.store.blob(hash)
    }
}
