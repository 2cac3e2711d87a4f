//! A snapshot of a session that contains what a resume needs.
//!
//! Resuming from a snapshot and the events after it costs as much as the context, not as much as the history.
//! Invariant: a fold that starts from a snapshot and continues with the events after it gives the same newest
//! conversation, queues, open loop and session state as a fold over all events.

use serde::{Deserialize, Serialize};

use super::snapshot::LoopSnapshot;
use crate::event::{LoopStart, QueueKind};
use crate::id::{LoopId, MessageId};
use crate::message::SharedMessage;
use crate::session::{ClientState, FoldStart, SessionFold, SessionMemory};

/// Version of the format. A snapshot of another version is ignored.
const VERSION: u16 = 3;

/// State of a session after the first events of its journal.
#[derive(Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSnapshot {
    v: u16,
    /// Number of loops named so far.
    pub loops: u64,
    /// The newest loop.
    pub last_loop: LoopStartWithId,
    /// The last message of the conversation.
    pub tip: Option<MessageId>,
    /// The conversation as a model may receive it, with compactions applied.
    pub conversation: Vec<SharedMessage>,
    /// Messages left in the queues of the newest loop, if it has ended.
    pub queued: Vec<(QueueKind, SharedMessage)>,
    /// State of the newest loop, if it has not ended.
    pub open: Option<LoopSnapshot>,
    /// Session state besides the conversation.
    pub memory: SessionMemory,
    /// What clients see of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientState>,
}

/// What a host needs of a snapshot to show a session. Parses snapshots of runs, too, without their conversation.
///
/// A host stores one for a long session of which no run stored a snapshot. A run does not accept it as
/// [`SessionSnapshot`], because it has no conversation.
#[derive(Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ViewSnapshot {
    v: u16,
    /// Session state besides the conversation.
    pub memory: SessionMemory,
    /// What clients see of the session.
    pub clients: ClientState,
}

impl ViewSnapshot {
    /// Creates a snapshot. Correct only between two runs: the state of an open one is not part of it.
    pub const fn new(memory: SessionMemory, clients: ClientState) -> Self {
        Self { v: VERSION, memory, clients }
    }

    /// Serialises the snapshot for a store.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok()
    }

    /// Parses a snapshot of this many events; `None` if the bytes are something else.
    pub fn from_bytes(bytes: &[u8], events: u64) -> Option<Self> {
        let parsed = serde_json::from_slice::<Self>(bytes).ok()?;
        (parsed.v == VERSION && parsed.clients.events() == events).then_some(parsed)
    }
}

/// The start of a loop together with its id; in events, only the envelope contains the id.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoopStartWithId {
    loop_id: LoopId,
    start: Box<LoopStart>,
}

impl LoopStartWithId {
    /// Wraps a start.
    pub fn new(start: &LoopStart) -> Self {
        Self { loop_id: start.loop_id.clone(), start: Box::new(start.clone()) }
    }

    /// Returns the start with its id.
    pub fn start(&self) -> LoopStart {
        LoopStart { loop_id: self.loop_id.clone(), ..LoopStart::clone(&self.start) }
    }
}

impl SessionSnapshot {
    pub(crate) const fn new(
        loops: u64,
        last_loop: LoopStartWithId,
        tip: Option<MessageId>,
        conversation: Vec<SharedMessage>,
        queued: Vec<(QueueKind, SharedMessage)>,
        open: Option<LoopSnapshot>,
        memory: SessionMemory,
    ) -> Self {
        Self { v: VERSION, loops, last_loop, tip, conversation, queued, open, memory, clients: None }
    }

    /// Adds what clients see of the session.
    #[must_use]
    pub fn with_clients(mut self, clients: Option<ClientState>) -> Self {
        self.clients = clients;
        self
    }

    /// Returns the messages in the queues of the newest loop, whether it has ended or not.
    fn all_queued_messages(&self) -> impl Iterator<Item = (QueueKind, &SharedMessage)> {
        let left = self.queued.iter().map(|(queue, message)| (*queue, message));
        left.chain(self.open.iter().flat_map(LoopSnapshot::queued_messages))
    }

    /// Serialises the snapshot for a store.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok()
    }

    /// Parses a snapshot; `None` if the bytes are not a snapshot of this version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(bytes).ok().filter(|snapshot| snapshot.v == VERSION)
    }
}

impl SessionFold {
    /// Starts a fold from a snapshot. It knows only the newest conversation: if a later event refers to
    /// something earlier, [`SessionFold::lacks_history`] returns true.
    pub fn from_snapshot(snapshot: &SessionSnapshot) -> Self {
        let start = FoldStart {
            memory: &snapshot.memory,
            last_loop: snapshot.last_loop.start(),
            is_open: snapshot.open.is_some(),
            conversation: &snapshot.conversation,
            tip: snapshot.tip,
        };
        Self::from_start(start, snapshot.all_queued_messages())
    }
}
