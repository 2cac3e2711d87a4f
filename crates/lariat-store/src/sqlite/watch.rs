//! Notifies callers that wait for a journal to grow.
//!
//! Each watched session has one channel that carries the number of events. Commits of this process notify it at once;
//! watchers poll for commits of other processes. Invariant: the entry of a session that has no watchers disappears when
//! the session grows.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lariat_core::id::SessionId;
use tokio::sync::watch;

use super::transaction::JournalChanges;

/// How a journal changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JournalChange {
    /// No change was reported yet.
    Unknown,
    /// The journal has this many events.
    Head(u64),
    /// The session was deleted.
    Gone,
}

/// The channels of all watched sessions.
#[derive(Debug, Default)]
pub(super) struct Watchers(Mutex<HashMap<SessionId, watch::Sender<JournalChange>>>);

impl Watchers {
    /// Starts to watch a session: later commits are reported.
    pub(super) fn watch(&self, session_id: &SessionId) -> watch::Receiver<JournalChange> {
        let mut watchers = self.lock_unpoisoned();
        let sender =
            watchers.entry(session_id.clone()).or_insert_with(|| watch::channel(JournalChange::Unknown).0);
        sender.subscribe()
    }

    /// Reports committed changes.
    pub(super) fn notify(&self, changes: JournalChanges) {
        let mut watchers = self.lock_unpoisoned();
        if watchers.is_empty() {
            return;
        }
        for (session_id, head) in changes {
            let Some(sender) = watchers.get(&session_id) else { continue };
            if sender.send(head.map_or(JournalChange::Gone, JournalChange::Head)).is_err() {
                watchers.remove(&session_id);
            }
        }
    }

    /// Removes the entry of a session without watchers.
    pub(super) fn forget(&self, session_id: &SessionId) {
        let mut watchers = self.lock_unpoisoned();
        if watchers.get(session_id).is_some_and(|sender| sender.receiver_count() == 0) {
            watchers.remove(session_id);
        }
    }

    fn lock_unpoisoned(&self) -> MutexGuard<'_, HashMap<SessionId, watch::Sender<JournalChange>>> {
        // A panic elsewhere cannot leave the map inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
