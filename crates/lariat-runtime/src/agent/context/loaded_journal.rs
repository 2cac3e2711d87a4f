//! Reads a journal as far as resuming needs it.

use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::MessageId;
use lariat_core::run::SessionSnapshot;
use lariat_core::session::SessionFold;
use lariat_core::store::StoreError;

use crate::drive::Journal;

/// The newest usable snapshot of a journal, the events after it, and what both fold to.
pub(in crate::agent) struct LoadedJournal {
    pub(in crate::agent) fold: SessionFold,
    pub(in crate::agent) snapshot: Option<SessionSnapshot>,
    /// The events after the snapshot.
    pub(in crate::agent) events: Vec<Event>,
}

impl LoadedJournal {
    pub(super) async fn read(journal: &Journal) -> Result<Self, StoreError> {
        if journal.open().await? == 0 {
            journal.note_open_loops(0);
            return Ok(Self { fold: SessionFold::default(), snapshot: None, events: Vec::new() });
        }
        let mut loaded = Self::fold(journal, journal.read_live().await?).await?;
        // This process has claimed the session, so it takes over an imported one.
        if let Some(import) = loaded.fold.memory().pending_import().map(|import| import.import_id.clone()) {
            let taken = journal.take_over(&import).await?;
            loaded.fold = loaded.fold.then(&taken);
            loaded.events.extend(taken);
        }
        journal.note_open_loops(loaded.fold.open_loops().count());
        Ok(loaded)
    }

    /// Like `read`, without claiming the session.
    pub(super) async fn read_unclaimed(journal: &Journal) -> Result<Self, StoreError> {
        Self::fold(journal, journal.read_unclaimed().await?).await
    }

    async fn fold(
        journal: &Journal,
        (snapshot, events): (Option<SessionSnapshot>, Vec<Event>),
    ) -> Result<Self, StoreError> {
        let fold = snapshot.as_ref().map_or_else(SessionFold::default, SessionFold::from_snapshot);
        let mut loaded = Self { fold: fold.then(&events), snapshot, events };
        if loaded.fold.lacks_history() {
            let events = journal.read_from(0).await?;
            loaded = Self { fold: SessionFold::of(&events), snapshot: None, events };
        }
        journal.set_pending_approvals(loaded.fold.memory().questions());
        Ok(loaded)
    }

    /// Whether a message was written, in a queue or in the conversation.
    pub(super) fn has_message(&self, id: MessageId) -> bool {
        let queued = |event: &Event| matches!(&event.event, AgentEvent::MessageQueued { message, .. } if message.id() == id);
        !id.is_nil() && (self.events.iter().any(queued) || self.fold.contains_message(id))
    }
}
