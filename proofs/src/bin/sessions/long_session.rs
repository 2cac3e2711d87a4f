//! Writes a long session into a store: repetitions of a recorded run, in large appends.

use std::path::Path;

use lariat_api::{AskPolicy, SessionView};
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use lariat_core::store::{Append, Durability, SessionStore as _, Snapshot, StoreError};
use lariat_sessions::ViewFold;
use lariat_store::StoreOptions;
use lariat_store::sqlite::SqliteStore;
use serde_json::{Value, json};

use crate::template::Template;

/// Repetitions per append.
const BATCH: u64 = 100;
/// Messages of the conversation that the snapshot of a run has.
const MESSAGES: usize = 600;

/// A session that grows.
pub(crate) struct LongSession {
    store: SqliteStore,
    session_id: SessionId,
    template: Template,
    repetitions: u64,
    /// What every host must show.
    fold: ViewFold,
    /// The newest messages, as a snapshot has them.
    messages: Vec<Value>,
}

impl LongSession {
    pub(crate) async fn create(database: &Path, session_id: &str) -> Result<Self, String> {
        let session_id = SessionId::from(session_id);
        Ok(Self {
            store: open(database).await?,
            fold: ViewFold::new(session_id.clone()),
            session_id,
            template: Template::record().await?,
            repetitions: 0,
            messages: Vec::new(),
        })
    }

    /// Adds whole runs until the session has this many events.
    pub(crate) async fn grow(&mut self, events: u64) -> Result<(), String> {
        let epoch = self.store.claim(&self.session_id).await.map_err(text)?;
        while self.fold.seq() < events {
            let first = self.fold.seq();
            let missing = (events - first).div_ceil(self.template.len());
            let mut batch = Vec::new();
            for _ in 0..missing.min(BATCH) {
                self.repetitions += 1;
                batch.extend(self.template.repeat(self.repetitions, first + batch.len() as u64)?);
            }
            let append = Append::new(&self.session_id, epoch, first, &batch);
            self.store.append(append).await.map_err(text)?;
            for event in &batch {
                self.fold.apply(event);
                if let AgentEvent::MessageEnd { message } = &event.event
                    && let Some(message) = message.shared()
                {
                    self.messages.push(serde_json::to_value(message).map_err(|error| error.to_string())?);
                }
            }
            self.messages.drain(..self.messages.len().saturating_sub(MESSAGES));
        }
        self.store.release(&self.session_id, epoch).await.map_err(text)
    }

    /// Adds a conversation to the snapshot that a host stored, so that it has the size of one that a run stored. Returns its
    /// position and its bytes.
    pub(crate) async fn enlarge_snapshot(&self) -> Result<(u64, usize), String> {
        let stored = self.store.snapshot(&self.session_id, self.fold.seq()).await.map_err(text)?;
        let stored = stored.ok_or("the host stored no snapshot")?;
        let mut state: Value =
            serde_json::from_slice(&stored.state).map_err(|error| format!("the snapshot: {error}"))?;
        if let Some(state) = state.as_object_mut() {
            state.insert("conversation".to_owned(), json!(self.messages));
        }
        let state = state.to_string().into_bytes();
        let length = state.len();
        let put = self.store.put_snapshot(&self.session_id, Snapshot::new(stored.seq, state));
        put.await.map_err(text)?;
        Ok((stored.seq, length))
    }

    /// Returns the view that every host must show.
    pub(crate) fn view(&self) -> SessionView {
        let mut view = self.fold.view(false);
        view.ask_policy = AskPolicy::default();
        view
    }
}

/// Opens the store. The session is written once and not kept, so nothing waits for the disk.
pub(crate) async fn open(database: &Path) -> Result<SqliteStore, String> {
    let mut options = StoreOptions::default();
    options.durability = Durability::Fast;
    SqliteStore::open(database, options).await.map_err(text)
}

fn text(error: StoreError) -> String {
    error.to_string()
}
