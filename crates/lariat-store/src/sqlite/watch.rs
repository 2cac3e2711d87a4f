//! Who waits for a journal to grow.
//!
//! Owns one channel per session that somebody waits for; it carries the number of events. Commits of this process are
//! told at once; those of other processes are found by asking again. Invariant: a session nobody waits for has no entry
//! for longer than until it grows.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lariat_core::id::SessionId;
use tokio::sync::watch;

use super::desk::Grown;

/// How a journal changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing was heard yet.
    Unknown,
    /// It has so many events.
    Head(u64),
    /// The session was deleted.
    Gone,
}

/// Those who wait.
#[derive(Debug, Default)]
pub(super) struct Watchers(Mutex<HashMap<SessionId, watch::Sender<Change>>>);

impl Watchers {
    /// Waits from now on: what is committed later is told.
    pub(super) fn watch(&self, session_id: &SessionId) -> watch::Receiver<Change> {
        let mut watchers = self.locked();
        let sender = watchers.entry(session_id.clone()).or_insert_with(|| watch::channel(Change::Unknown).0);
        sender.subscribe()
    }

    /// Tells what was committed.
    pub(super) fn tell(&self, grown: Grown) {
        let mut watchers = self.locked();
        if watchers.is_empty() {
            return;
        }
        for (session_id, head) in grown {
            let Some(sender) = watchers.get(&session_id) else { continue };
            if sender.send(head.map_or(Change::Gone, Change::Head)).is_err() {
                watchers.remove(&session_id);
            }
        }
    }

    /// Drops the entry of a session that nothing waits for.
    pub(super) fn forget(&self, session_id: &SessionId) {
        let mut watchers = self.locked();
        if watchers.get(session_id).is_some_and(|sender| sender.receiver_count() == 0) {
            watchers.remove(session_id);
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<SessionId, watch::Sender<Change>>> {
        // A map of senders is whole whatever happened to whoever held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
