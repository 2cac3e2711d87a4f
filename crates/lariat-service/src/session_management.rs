//! Manages sessions that are not running: read, rewind, describe, delete, import.
//!
//! Needs no model. Only the session's single writer writes to its journal.

use std::sync::Arc;

use lariat_core::clock::{Clock as _, EntropySource as _};
use lariat_core::event::{AgentEvent, Description, Event, EventRecord, FORMAT_VERSION};
use lariat_core::id::{EventId, MessageId, SessionId};
use lariat_core::store::{Append, StoreError};
use lariat_core::time::{Minter, Stamp};
use lariat_runtime::system::{SystemClock, SystemEntropy};
use lariat_store::interchange::ImportedSession;

use crate::{LocalService, ServiceError, temporary};

/// Events per read or write.
const BATCH: usize = 512;

impl LocalService {
    /// The whole journal of a session.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn events(&self, session_id: &SessionId) -> Result<Vec<Event>, ServiceError> {
        let mut events: Vec<Event> = Vec::new();
        loop {
            let page = self.archive().read(session_id, events.len() as u64, BATCH).await?;
            let is_last = page.len() < BATCH;
            events.extend(page);
            if is_last {
                return Ok(events);
            }
        }
    }

    /// Continues the conversation of a session from an earlier message, or from the start if `tip` is `None`.
    ///
    /// # Errors
    /// If another process writes to the session, or the journal cannot be written.
    pub async fn rewind(&self, session_id: &SessionId, tip: Option<MessageId>) -> Result<(), ServiceError> {
        self.append_event(session_id, AgentEvent::Rewound { tip }).await
    }

    /// Deletes a session and the files that its commands left in their private `/tmp`. Forks stay intact.
    ///
    /// # Errors
    /// If another process writes to the session, or something cannot be removed.
    pub async fn delete(&self, session_id: &SessionId) -> Result<(), ServiceError> {
        self.archive().delete(session_id).await?;
        temporary::remove(self.folders(), session_id.as_str())
            .map_err(|error| ServiceError::directory(self.folders().temporary(session_id.as_str()), error))
    }

    /// Sets the title and tags of a session. Fields that are `None` stay unchanged.
    ///
    /// # Errors
    /// If another process writes to the session, or the journal cannot be written.
    pub async fn describe(
        &self,
        session_id: &SessionId,
        description: Description,
    ) -> Result<(), ServiceError> {
        self.append_event(session_id, AgentEvent::SessionDescribed(Box::new(description))).await
    }

    /// Appends an event that belongs to no loop.
    pub(crate) async fn append_event(
        &self,
        session_id: &SessionId,
        event: AgentEvent,
    ) -> Result<(), ServiceError> {
        self.append_events(session_id, vec![event]).await
    }

    /// Appends events that belong to no loop, in one write if they are few.
    pub(crate) async fn append_events(
        &self,
        session_id: &SessionId,
        events: Vec<AgentEvent>,
    ) -> Result<(), ServiceError> {
        let head = self.archive().head(session_id).await?;
        let stamp = Stamp { now: SystemClock.now(), entropy: SystemEntropy::new().bits() };
        let mut minter = Minter::default();
        minter.stamp(stamp);
        let record = |(event, seq): (AgentEvent, u64)| {
            let id = EventId::new(minter.uuid());
            Arc::new(EventRecord { v: FORMAT_VERSION, seq, id, timestamp: stamp.now, loop_id: None, event })
        };
        let records: Vec<Event> = events.into_iter().zip(head..).map(record).collect();
        self.append(session_id, head, &records).await
    }

    /// Imports a session of another program under its original id.
    ///
    /// # Errors
    /// If a session with this id exists, or the store fails.
    pub async fn import_session(&self, imported: &ImportedSession) -> Result<(), ServiceError> {
        let there = self.archive().head(&imported.session_id).await?;
        if there > 0 {
            return Err(StoreError::Conflict { expected: 0, actual: there }.into());
        }
        self.append(&imported.session_id, 0, &imported.records(0)).await
    }

    async fn append(&self, session_id: &SessionId, head: u64, events: &[Event]) -> Result<(), ServiceError> {
        let epoch = self.archive().claim(session_id).await?;
        let mut next = head;
        for batch in events.chunks(BATCH) {
            next = self.archive().append(Append::new(session_id, epoch, next, batch)).await?.next_seq;
        }
        Ok(())
    }
}
