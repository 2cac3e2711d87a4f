//! Remembers what each session has read of files, for sessions that share their tools: an agent and its sub-agents. Branches of one session have
//! conversations of their own, so each is like a session here.
//!
//! Invariant: a session may overwrite a file only if that session has read its newest content, not if another one has. So two
//! agents never lose each other's changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::id::SessionId;
use lariat_host::files::FileMemory;

/// Maximum number of sessions to remember. Beyond that all are forgotten, and agents read files again before they change them.
const MAX_SESSIONS: usize = 1_024;

/// The memory of each session. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct SessionMemories {
    /// The memory of the first session.
    first: FileMemory,
    state: Arc<Mutex<MemoryTable>>,
}

#[derive(Debug, Default)]
struct MemoryTable {
    first: Option<SessionId>,
    others: HashMap<SessionId, FileMemory>,
}

impl SessionMemories {
    pub(crate) fn new(first: FileMemory) -> Self {
        Self { first, state: Arc::default() }
    }

    /// Returns the memory of a session.
    pub(crate) fn of(&self, session: &SessionId) -> FileMemory {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state.first.get_or_insert_with(|| session.clone()) == *session {
            return self.first.clone();
        }
        if state.others.len() >= MAX_SESSIONS && !state.others.contains_key(session) {
            state.others.clear();
        }
        state.others.entry(session.clone()).or_default().clone()
    }
}
