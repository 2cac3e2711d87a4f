//! A snapshot of a session that contains what a resume needs.
//!
//! Resuming from a snapshot and the events after it costs as much as the context, not as much as the history.
//! While branches run, each saves its own state when it can; the snapshot says for each branch how many events its state
//! includes, and a resume reads from the earliest of these positions on. Invariant: a fold that starts from a snapshot and
//! continues with the events after it gives the same newest conversation, queues, open loops and session state as a fold over
//! all events.

use serde::{Deserialize, Serialize};

use super::snapshot::LoopSnapshot;
use crate::event::{LoopStart, QueueKind};
use crate::id::{LoopId, MessageId};
use crate::message::SharedMessage;
use crate::session::{BranchStart, ClientState, FoldStart, SessionFold, SessionMemory};

/// Version of the format, for snapshots without branches.
const VERSION: u16 = 3;
/// Version of snapshots with branches, which earlier programs cannot resume from. A snapshot of another version is ignored.
const VERSION_WITH_BRANCHES: u16 = 4;

/// State of a session after the first events of its journal.
#[derive(Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSnapshot {
    v: u16,
    /// Number of loops named so far.
    pub loops: u64,
    /// The newest loop, besides branches; `None` if branches are the first loops of the session.
    pub last_loop: Option<LoopStartWithId>,
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
    /// Number of events that the snapshot includes, if it has branches.
    #[serde(default, skip_serializing_if = "is_zero")]
    at: u64,
    /// The position from which events of branches are missing in it.
    #[serde(default, skip_serializing_if = "is_zero")]
    branches_from: u64,
    /// Branches that saved their state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    branches: Vec<BranchSnapshot>,
}

const fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// The conversation that branches start from.
#[derive(Clone, Debug)]
pub struct GroupBase {
    /// The newest loop before the branches.
    pub last_loop: Option<LoopStartWithId>,
    /// The last message before the branches.
    pub tip: Option<MessageId>,
    /// The conversation before the branches.
    pub conversation: Vec<SharedMessage>,
    /// Messages that wait for the next loop after the branches.
    pub queued: Vec<(QueueKind, SharedMessage)>,
}

impl GroupBase {
    /// Reads the base of a session's open group.
    pub fn of(fold: &SessionFold) -> Self {
        let tip = fold.tip();
        Self {
            last_loop: fold.last_loop().map(LoopStartWithId::new),
            tip,
            conversation: fold.conversation(tip).0.window().iter().cloned().collect(),
            queued: fold.queued_messages().map(|(queue, message)| (queue, message.clone())).collect(),
        }
    }
}

/// State of a branch after the first events of its session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BranchSnapshot {
    pub(super) start: LoopStartWithId,
    /// Number of events of the session among which those of the branch are included.
    pub(super) at: u64,
    pub(super) tip: Option<MessageId>,
    pub(super) conversation: Vec<SharedMessage>,
    /// `None` if the branch has ended.
    pub(super) open: Option<LoopSnapshot>,
    /// Messages that the ended branch did not deliver.
    pub(super) queued: Vec<(QueueKind, SharedMessage)>,
}

impl BranchSnapshot {
    /// Returns the loop of the branch.
    pub const fn loop_id(&self) -> &LoopId {
        &self.start.loop_id
    }

    /// Returns the number of events of the session among which those of the branch are included.
    pub const fn at(&self) -> u64 {
        self.at
    }

    pub(super) const fn has_ended(&self) -> bool {
        self.open.is_none()
    }

    pub(super) fn queued_messages(&self) -> impl Iterator<Item = (QueueKind, &SharedMessage)> {
        let left = self.queued.iter().map(|(queue, message)| (*queue, message));
        left.chain(self.open.iter().flat_map(LoopSnapshot::queued_messages))
    }
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
        let is_known = matches!(parsed.v, VERSION | VERSION_WITH_BRANCHES);
        (is_known && parsed.clients.events() == events).then_some(parsed)
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

    /// Returns the id of the loop.
    pub const fn loop_id(&self) -> &LoopId {
        &self.loop_id
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
        Self {
            v: VERSION,
            loops,
            last_loop: Some(last_loop),
            tip,
            conversation,
            queued,
            open,
            memory,
            clients: None,
            at: 0,
            branches_from: 0,
            branches: Vec::new(),
        }
    }

    /// Creates a snapshot of the first `at` events of a session whose branches run. `memory` includes exactly these events;
    /// events of branches from `branches_from` on may be missing in `branches`.
    pub fn of_group(
        at: u64,
        base: GroupBase,
        memory: SessionMemory,
        branches: Vec<BranchSnapshot>,
        branches_from: u64,
    ) -> Self {
        let number = |loop_id: &LoopId| loop_id.number().map_or(0, |number| number + 1);
        let last = base.last_loop.as_ref().map_or(0, |last| number(&last.loop_id));
        let all = memory.groups().iter().flat_map(|group| &group.branches);
        let loops = all.map(|branch| number(&branch.loop_id)).fold(last, u64::max);
        Self {
            v: VERSION_WITH_BRANCHES,
            loops,
            last_loop: base.last_loop,
            tip: base.tip,
            conversation: base.conversation,
            queued: base.queued,
            open: None,
            memory,
            clients: None,
            at,
            branches_from: branches_from.min(at),
            branches,
        }
    }

    /// Returns the position from which a resume reads events, for a snapshot that is stored at `seq`.
    pub fn reads_from(&self, seq: u64) -> u64 {
        if self.v == VERSION_WITH_BRANCHES { self.branches_from.min(seq) } else { seq }
    }

    /// Returns the branches that saved their state.
    pub fn saved_branches(&self) -> &[BranchSnapshot] {
        &self.branches
    }

    /// Returns whether the snapshot includes the event at a position. Branches may be behind.
    pub(super) fn includes(&self, seq: u64, loop_id: &Option<LoopId>) -> bool {
        let branch = self.branches.iter().find(|branch| Some(branch.loop_id()) == loop_id.as_ref());
        let groups = self.memory.groups();
        match (branch, loop_id) {
            (Some(branch), _) => seq < branch.at,
            (None, Some(loop_id)) if groups.iter().any(|group| group.branch(loop_id).is_some()) => false,
            _ => seq < self.at,
        }
    }

    /// Returns the saved state of a loop: the conversation, the state, and how many events they include.
    pub(super) fn saved_loop(&self, loop_id: &LoopId) -> Option<(&[SharedMessage], &LoopSnapshot, u64)> {
        let branch = self.branches.iter().find(|branch| branch.loop_id() == loop_id);
        if let Some(branch) = branch {
            return Some((&branch.conversation, branch.open.as_ref()?, branch.at));
        }
        let is_newest = self.last_loop.as_ref().is_some_and(|last| last.loop_id == *loop_id);
        self.open.as_ref().filter(|_| is_newest).map(|open| (&*self.conversation, open, self.at))
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
        let is_known = |snapshot: &Self| matches!(snapshot.v, VERSION | VERSION_WITH_BRANCHES);
        serde_json::from_slice::<Self>(bytes).ok().filter(is_known)
    }
}

impl SessionFold {
    /// Starts a fold from a snapshot. It knows only the newest conversation: if a later event refers to
    /// something earlier, [`SessionFold::lacks_history`] returns true.
    pub fn from_snapshot(snapshot: &SessionSnapshot) -> Self {
        let start = FoldStart {
            memory: &snapshot.memory,
            at: snapshot.at,
            last_loop: snapshot.last_loop.as_ref().map(LoopStartWithId::start),
            is_open: snapshot.open.is_some(),
            conversation: &snapshot.conversation,
            tip: snapshot.tip,
        };
        let mut fold = Self::from_start(start, snapshot.all_queued_messages());
        for branch in &snapshot.branches {
            let start = BranchStart {
                start: branch.start.start(),
                at: branch.at,
                is_open: branch.open.is_some(),
                conversation: &branch.conversation,
                tip: branch.tip,
            };
            fold.add_branch(start, branch.queued_messages());
        }
        fold
    }
}
