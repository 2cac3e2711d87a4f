//! Defines what the sessions of a host share: the store, the factory of agents, the sessions in use, and the channel of changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat_api::{AskPolicy, SessionChange};
use lariat_core::archive::SessionArchive;
use lariat_core::id::SessionId;
use tokio::sync::broadcast;

use crate::factory::AgentFactory;
use crate::session::SessionEntry;

/// Changes that a slow client may have to catch up with.
const CHANGES: usize = 1024;
/// The default time after which an owner without work ends.
const IDLE_TIME: Duration = Duration::from_secs(300);

/// How a host behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostOptions {
    /// What happens to a question when no client is attached.
    pub ask_policy: AskPolicy,
    /// The time after which a session without work is unloaded.
    pub idle_time: Duration,
    /// Whether the host ends with its only client. Then no other host continues its runs on its own.
    pub is_in_process: bool,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self { ask_policy: AskPolicy::default(), idle_time: IDLE_TIME, is_in_process: false }
    }
}

/// What the sessions of a host share.
pub(crate) struct HostState {
    pub(crate) store: Arc<dyn SessionArchive>,
    pub(crate) factory: Arc<dyn AgentFactory>,
    pub(crate) options: HostOptions,
    sessions: Mutex<HashMap<SessionId, Arc<SessionEntry>>>,
    changes: broadcast::Sender<SessionChange>,
}

impl HostState {
    pub(crate) fn new(
        store: Arc<dyn SessionArchive>,
        factory: Arc<dyn AgentFactory>,
        options: HostOptions,
    ) -> Self {
        let changes = broadcast::channel(CHANGES).0;
        Self { store, factory, options, sessions: Mutex::new(HashMap::new()), changes }
    }

    pub(crate) fn subscribe_changes(&self) -> broadcast::Receiver<SessionChange> {
        self.changes.subscribe()
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<SessionEntry>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn entry(&self, session_id: &SessionId) -> Arc<SessionEntry> {
        let mut sessions = self.sessions();
        let entry = sessions
            .entry(session_id.clone())
            .or_insert_with(|| Arc::new(SessionEntry::new(session_id.clone(), Arc::clone(&self.store))));
        Arc::clone(entry)
    }

    /// Returns the session if it is in use.
    pub(crate) fn known(&self, session_id: &SessionId) -> Option<Arc<SessionEntry>> {
        self.sessions().get(session_id).cloned()
    }

    /// Forgets a session that neither a client nor an owner uses.
    pub(crate) fn forget(&self, entry: &Arc<SessionEntry>) {
        let mut sessions = self.sessions();
        // One reference is the map's and one the caller's.
        let is_unused = Arc::strong_count(entry) <= 2 && !entry.has_owner() && !entry.is_adopted();
        if is_unused && sessions.get(&entry.session_id).is_some_and(|known| Arc::ptr_eq(known, entry)) {
            sessions.remove(&entry.session_id);
        }
    }

    pub(crate) async fn report_change(&self, entry: &SessionEntry) {
        if self.changes.receiver_count() > 0
            && let Ok(change) = entry.change().await
        {
            let _ = self.changes.send(change);
        }
    }
}
