//! A session as far as going on needs it: what is in the window, what is queued, where its loop stands.
//!
//! Resuming from a snapshot and the events after it costs what the context costs, not what the history does. Owns its
//! form. Invariant: a fold that begins with a snapshot and goes on with the events after it says the same about the
//! newest conversation, the queues, the open loop and the session's memory as a fold over all events.

use serde::{Deserialize, Serialize};

use crate::event::{LoopStart, QueueKind};
use crate::id::{LoopId, MessageId};
use crate::message::SharedMessage;
use crate::run::LoopSnapshot;
use crate::session::SessionMemory;

/// Version of the form. A snapshot of another version is no snapshot.
const VERSION: u16 = 3;

/// What the first events of a journal come to, for whoever goes on from there.
#[derive(Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSnapshot {
    v: u16,
    /// Loops that were named so far.
    pub loops: u64,
    /// The newest loop.
    pub last_loop: NamedStart,
    /// The last message of the conversation.
    pub tip: Option<MessageId>,
    /// The conversation as a model may see it, compactions applied.
    pub conversation: Vec<SharedMessage>,
    /// Messages that the newest loop left in its queues, when it has ended.
    pub queued: Vec<(QueueKind, SharedMessage)>,
    /// Where the newest loop stands, when it has not ended.
    pub open: Option<LoopSnapshot>,
    /// What the session remembers besides its conversation.
    pub memory: SessionMemory,
}

/// What began with a loop, with its name; in events the envelope has the name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NamedStart {
    loop_id: LoopId,
    start: Box<LoopStart>,
}

impl NamedStart {
    /// Names a start.
    pub fn new(start: &LoopStart) -> Self {
        Self { loop_id: start.loop_id.clone(), start: Box::new(start.clone()) }
    }

    /// The start, with its name put back.
    pub fn start(&self) -> LoopStart {
        LoopStart { loop_id: self.loop_id.clone(), ..LoopStart::clone(&self.start) }
    }
}

impl SessionSnapshot {
    pub(crate) const fn new(
        loops: u64,
        last_loop: NamedStart,
        tip: Option<MessageId>,
        conversation: Vec<SharedMessage>,
        queued: Vec<(QueueKind, SharedMessage)>,
        open: Option<LoopSnapshot>,
        memory: SessionMemory,
    ) -> Self {
        Self { v: VERSION, loops, last_loop, tip, conversation, queued, open, memory }
    }

    /// As bytes, to be kept by a store.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok()
    }

    /// From bytes; `None` when they are not a snapshot of this version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(bytes).ok().filter(|snapshot| snapshot.v == VERSION)
    }
}
