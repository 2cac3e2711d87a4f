//! Rebuilds the conversation tree of a session from its journal.
//!
//! A session is a tree of segments: each loop (and each import) adds messages after a base message. The fold
//! finds the conversation that ends at a message and applies the compactions on the way. Branches that run at the same time
//! are segments after one base: the selected one continues the conversation, the others stay in the tree.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::event::{AgentEvent, CompactionEdit, Event, LoopStart, QueueKind};
use crate::id::{EventId, LoopId, MessageId};
use crate::message::SharedMessage;
use crate::session::SessionMemory;
use crate::transcript::{Repair, Repairer, Transcript};

/// The conversations of a session, computed from its journal.
#[derive(Debug, Default)]
pub struct SessionFold {
    segments: Vec<Segment>,
    loops: HashMap<LoopId, usize>,
    segment_of: HashMap<MessageId, usize>,
    queued: HashMap<MessageId, QueuedMessage>,
    queue_order: Vec<MessageId>,
    removed: HashSet<MessageId>,
    /// Compactions between loops, by the last message before them.
    between: HashMap<MessageId, Vec<Overlay>>,
    /// Compactions that were undone.
    undone: HashSet<EventId>,
    /// Compactions that this fold has seen.
    compactions: HashSet<EventId>,
    memory: SessionMemory,
    /// The branches of all groups.
    branches: HashMap<LoopId, BranchState>,
    groups: usize,
    /// Whether the fold started from a snapshot.
    snapshot: bool,
    /// The number of events that the snapshot includes.
    snapshot_at: u64,
    /// The number of events that the snapshot includes of each branch.
    branches_at: HashMap<LoopId, u64>,
    lacks_history: bool,
}

/// The group of a branch, and whether the branch was selected.
#[derive(Clone, Copy, Debug)]
struct BranchState {
    group: usize,
    is_selected: bool,
}

/// A message that waits for delivery.
#[derive(Debug)]
struct QueuedMessage {
    queue: QueueKind,
    message: SharedMessage,
    /// The loop that it was sent to; `None` if the next loop delivers it.
    owner: Option<LoopId>,
}

/// Consecutive messages after a base message.
#[derive(Debug, Default)]
struct Segment {
    start: Option<Box<LoopStart>>,
    base: Option<MessageId>,
    steps: Vec<SegmentItem>,
    ended: bool,
    /// The user went back to the base, so no earlier segment is newer.
    rewound: bool,
    /// The last message, if it comes from a snapshot and is not one of the steps.
    tip: Option<MessageId>,
}

#[derive(Debug)]
enum SegmentItem {
    Message(SharedMessage),
    /// The place of a message that is not part of the conversation: a failed reply.
    LeftOut(MessageId),
    Overlay(Overlay),
}

impl SegmentItem {
    fn is_at(&self, id: MessageId) -> bool {
        match self {
            Self::Message(message) => message.id() == id,
            Self::LeftOut(left_out) => *left_out == id,
            Self::Overlay(_) => false,
        }
    }
}

/// A compaction, with the id of the event that recorded it.
type Overlay = (EventId, Arc<Vec<CompactionEdit>>);

/// What a fold knows of a session before the events that it reads.
pub(crate) struct FoldStart<'a> {
    pub(crate) memory: &'a SessionMemory,
    /// The number of events that the conversation and the memory include.
    pub(crate) at: u64,
    /// The newest loop, besides branches.
    pub(crate) last_loop: Option<LoopStart>,
    pub(crate) is_open: bool,
    /// The newest conversation.
    pub(crate) conversation: &'a [SharedMessage],
    /// The last message of the newest loop.
    pub(crate) tip: Option<MessageId>,
}

/// What a fold knows of a branch before the events that it reads.
pub(crate) struct BranchStart<'a> {
    pub(crate) start: LoopStart,
    /// The number of events of the session among which those of the branch are included.
    pub(crate) at: u64,
    pub(crate) is_open: bool,
    pub(crate) conversation: &'a [SharedMessage],
    pub(crate) tip: Option<MessageId>,
}

impl SessionFold {
    /// Folds a journal, or any prefix of one.
    pub fn of(records: &[Event]) -> Self {
        Self::default().then(records)
    }

    /// Starts a fold in the middle of a session.
    pub(crate) fn from_start<'a>(
        snapshot: FoldStart<'_>,
        queued: impl Iterator<Item = (QueueKind, &'a SharedMessage)>,
    ) -> Self {
        let (memory, snapshot_at) = (snapshot.memory.clone(), snapshot.at);
        let mut fold = Self { snapshot: true, snapshot_at, memory, ..Self::default() };
        for group in snapshot.memory.groups() {
            fold.add_group(group.branches.iter().map(|branch| &branch.loop_id));
        }
        fold.add_known(snapshot.last_loop, snapshot.is_open, snapshot.conversation, snapshot.tip);
        queued.for_each(|(queue, message)| fold.enqueue(queue, message, None));
        fold
    }

    fn add_group<'a>(&mut self, loop_ids: impl Iterator<Item = &'a LoopId>) {
        let branch = BranchState { group: self.groups, is_selected: false };
        self.branches.extend(loop_ids.map(|loop_id| (loop_id.clone(), branch)));
        self.groups += 1;
    }

    /// Adds a branch of a snapshot.
    pub(crate) fn add_branch<'a>(
        &mut self,
        branch: BranchStart<'_>,
        queued: impl Iterator<Item = (QueueKind, &'a SharedMessage)>,
    ) {
        let loop_id = branch.start.loop_id.clone();
        self.add_known(Some(branch.start), branch.is_open, branch.conversation, branch.tip);
        queued.for_each(|(queue, message)| self.enqueue(queue, message, Some(&loop_id)));
        self.branches_at.insert(loop_id, branch.at);
    }

    /// Adds a segment that a snapshot contains as a whole: with the conversation before it.
    fn add_known(
        &mut self,
        start: Option<LoopStart>,
        is_open: bool,
        conversation: &[SharedMessage],
        tip: Option<MessageId>,
    ) {
        let at = self.segments.len();
        if let Some(start) = &start {
            self.loops.insert(start.loop_id.clone(), at);
        }
        let mut steps: Vec<SegmentItem> =
            conversation.iter().map(|message| SegmentItem::Message(Arc::clone(message))).collect();
        // A later event can still go back to it.
        let left_out = tip.filter(|tip| !steps.iter().any(|step| step.is_at(*tip)));
        steps.extend(left_out.map(SegmentItem::LeftOut));
        let start = start.map(Box::new);
        self.segments.push(Segment { start, ended: !is_open, steps, tip, ..Segment::default() });
        // The last message need not be part of the conversation: a failed reply is not. What branches share with the
        // conversation before them belongs to that.
        for id in conversation.iter().map(|message| message.id()).chain(tip) {
            self.segment_of.entry(id).or_insert(at);
        }
    }

    /// Continues with these events.
    pub fn then(mut self, records: &[Event]) -> Self {
        records.iter().for_each(|record| self.apply(record));
        self
    }

    /// Returns whether a message is in any conversation or queue of this fold.
    pub fn contains_message(&self, id: MessageId) -> bool {
        self.segment_of.contains_key(&id) || self.queued.contains_key(&id)
    }

    /// Returns whether the events refer to something before the snapshot. If so, the fold needs all events.
    pub const fn lacks_history(&self) -> bool {
        self.lacks_history
    }

    fn enqueue(&mut self, queue: QueueKind, message: &SharedMessage, owner: Option<&LoopId>) {
        let owner = owner.cloned();
        self.queued.insert(message.id(), QueuedMessage { queue, message: Arc::clone(message), owner });
        self.queue_order.push(message.id());
    }

    /// Records that a segment starts from a message.
    fn check_base(&mut self, base: Option<MessageId>) {
        let known = base.is_none_or(|base| self.segment_of.contains_key(&base));
        self.lacks_history |= self.snapshot && !known;
    }

    /// Processes the next event.
    pub fn apply(&mut self, record: &Event) {
        let branch_at = record.loop_id.as_ref().and_then(|id| self.branches_at.get(id)).copied();
        if record.seq >= self.snapshot_at {
            self.memory.apply(record);
        } else if record.loop_id.as_ref().is_none_or(|id| !self.branches.contains_key(id)) {
            // Part of the snapshot: only branches may be further behind.
            return;
        }
        if branch_at.is_some_and(|at| record.seq < at) {
            return;
        }
        let segment = record.loop_id.as_ref().and_then(|id| self.loops.get(id)).copied();
        match &record.event {
            AgentEvent::AgentStart(start) => {
                self.check_base(start.base);
                self.loops.insert(start.loop_id.clone(), self.segments.len());
                self.segments.push(Segment {
                    base: start.base,
                    start: Some(start.clone()),
                    ..Segment::default()
                });
            }
            AgentEvent::AgentEnd { .. } => {
                if let Some(at) = segment {
                    self.end(at);
                }
            }
            AgentEvent::MessagesImported { base, messages } => {
                self.check_base(*base);
                let at = self.segments.len();
                self.segments.push(Segment { base: *base, ended: true, ..Segment::default() });
                messages.iter().for_each(|message| self.add(at, message));
            }
            AgentEvent::ParallelLoopStart { loop_ids, .. } => self.add_group(loop_ids.iter()),
            AgentEvent::ParallelLoopEnd { selected_loop_id, .. } => self.select(selected_loop_id),
            AgentEvent::MessageQueued { queue, message } => {
                self.enqueue(*queue, message, record.loop_id.as_ref());
            }
            AgentEvent::MessageUnqueued { message_id } => drop(self.queued.remove(message_id)),
            AgentEvent::MessageEnd { message } => {
                let waiting = self.queued.remove(&message.id()).map(|waiting| waiting.message);
                let content = waiting.or_else(|| message.shared().cloned());
                if let (Some(at), Some(message)) = (segment, content) {
                    self.add(at, &message);
                }
            }
            AgentEvent::Rewound { tip } => {
                self.check_base(*tip);
                let rewound = Segment { base: *tip, ended: true, rewound: true, ..Segment::default() };
                self.segments.push(rewound);
            }
            AgentEvent::MessageRemoved { message_id } => {
                self.removed.insert(*message_id);
            }
            AgentEvent::Compaction { edits, .. } => {
                let overlay = (record.id, Arc::clone(edits));
                self.compactions.insert(record.id);
                if let Some(open) = segment.and_then(|at| self.segments.get_mut(at)) {
                    open.steps.push(SegmentItem::Overlay(overlay));
                    if let Some(at) = segment.filter(|_| open.ended) {
                        self.end(at);
                    }
                } else if let Some(tip) = self.tip().filter(|_| record.loop_id.is_none()) {
                    self.between.entry(tip).or_default().push(overlay);
                }
            }
            AgentEvent::CompactionUndone { compaction } => {
                self.lacks_history |= self.snapshot && !self.compactions.contains(compaction);
                self.undone.insert(*compaction);
            }
            _ => {}
        }
    }

    fn end(&mut self, at: usize) {
        let Some(segment) = self.segments.get_mut(at) else { return };
        segment.ended = true;
        // The compactions of a branch apply only if it is selected.
        if self.segments.get(at).is_some_and(|segment| !self.is_unselected(segment)) {
            self.apply_at_base(at);
        }
    }

    /// If an ended loop produced no message, applies its compactions at its base instead, because no conversation continues
    /// from the loop.
    fn apply_at_base(&mut self, at: usize) {
        let Some(segment) = self.segments.get_mut(at).filter(|segment| segment.ended) else { return };
        let Some(base) = segment.base.filter(|_| segment.is_empty()) else { return };
        let overlays = segment.steps.drain(..).filter_map(|step| match step {
            SegmentItem::Overlay(overlay) => Some(overlay),
            SegmentItem::Message(_) | SegmentItem::LeftOut(_) => None,
        });
        self.between.entry(base).or_default().extend(overlays);
    }

    /// Selects a branch. Messages that wait for the other branches of its group will not be delivered: they were sent to
    /// conversations that do not continue.
    fn select(&mut self, loop_id: &LoopId) {
        let Some(group) = self.branches.get(loop_id).map(|branch| branch.group) else { return };
        for (id, branch) in self.branches.iter_mut().filter(|(_, branch)| branch.group == group) {
            branch.is_selected = id == loop_id;
        }
        let branches = &self.branches;
        let is_dropped = |owner: &LoopId| {
            branches.get(owner).is_some_and(|branch| branch.group == group && !branch.is_selected)
        };
        self.queued.retain(|_, waiting| !waiting.owner.as_ref().is_some_and(is_dropped));
        if let Some(at) = self.loops.get(loop_id).copied() {
            self.apply_at_base(at);
        }
    }

    /// Returns whether a loop is one of several that started from one conversation.
    pub fn is_branch(&self, loop_id: &LoopId) -> bool {
        self.branches.contains_key(loop_id)
    }

    fn is_unselected_branch(&self, loop_id: &LoopId) -> bool {
        self.branches.get(loop_id).is_some_and(|branch| !branch.is_selected)
    }

    /// Returns whether a segment belongs to a branch that was not selected.
    fn is_unselected(&self, segment: &Segment) -> bool {
        segment.start.as_ref().is_some_and(|start| self.is_unselected_branch(&start.loop_id))
    }

    fn add(&mut self, at: usize, message: &SharedMessage) {
        self.segment_of.insert(message.id(), at);
        if let Some(segment) = self.segments.get_mut(at) {
            segment.tip = None;
            segment.steps.push(SegmentItem::Message(Arc::clone(message)));
        }
    }

    /// Returns the start of a loop.
    pub fn start_of(&self, loop_id: &LoopId) -> Option<&LoopStart> {
        self.segments.get(*self.loops.get(loop_id)?)?.start.as_deref()
    }

    /// Returns the state of the session besides its conversation.
    pub const fn memory(&self) -> &SessionMemory {
        &self.memory
    }

    /// Returns loops that have not ended, oldest first.
    pub fn open_loops(&self) -> impl Iterator<Item = &LoopStart> {
        self.segments.iter().filter(|segment| !segment.ended).filter_map(|segment| segment.start.as_deref())
    }

    /// Returns the newest loop of the conversation, ended or not. A branch is one once it was selected.
    pub fn last_loop(&self) -> Option<&LoopStart> {
        let mut segments = self.segments.iter().rev().filter(|segment| !self.is_unselected(segment));
        segments.find_map(|segment| segment.start.as_deref())
    }

    /// Returns the last message of a loop's conversation: its own, or the one that it started from.
    pub fn tip_of(&self, loop_id: &LoopId) -> Option<MessageId> {
        self.segments.get(*self.loops.get(loop_id)?)?.newest_message()
    }

    /// Returns all loops in the order in which they started.
    pub fn loops(&self) -> impl Iterator<Item = &LoopStart> {
        self.segments.iter().filter_map(|segment| segment.start.as_deref())
    }

    /// Returns queued messages that were not delivered, in order of arrival, without those for a branch in particular.
    pub fn queued_messages(&self) -> impl Iterator<Item = (QueueKind, &SharedMessage)> {
        self.waiting_messages(|owner| owner.is_none_or(|owner| !self.is_unselected_branch(owner)))
    }

    /// Returns messages that were sent to a loop and not delivered, in order of arrival.
    pub fn queued_for<'a>(
        &'a self,
        loop_id: &'a LoopId,
    ) -> impl Iterator<Item = (QueueKind, &'a SharedMessage)> {
        self.waiting_messages(move |owner| owner == Some(loop_id))
    }

    fn waiting_messages(
        &self,
        is_wanted: impl Fn(Option<&LoopId>) -> bool,
    ) -> impl Iterator<Item = (QueueKind, &SharedMessage)> {
        let waiting = self.queue_order.iter().filter_map(|id| self.queued.get(id));
        let wanted = waiting.filter(move |waiting| is_wanted(waiting.owner.as_ref()));
        wanted.map(|waiting| (waiting.queue, &waiting.message))
    }

    /// Returns the message from which the conversation continues: the newest message of the newest segment
    /// that has one, or the message that the user went back to. Of branches, only the selected one is part of it.
    pub fn tip(&self) -> Option<MessageId> {
        let tip = |segment: &Segment| {
            let tip = segment.newest_message();
            (tip.is_some() || segment.rewound).then_some(tip)
        };
        let mut segments = self.segments.iter().rev().filter(|segment| !self.is_unselected(segment));
        segments.find_map(tip).flatten()
    }

    /// Returns the segments of a conversation, each with its last message that belongs to it.
    fn segments_to(&self, tip: Option<MessageId>) -> Vec<(&Segment, MessageId)> {
        let mut path = Vec::new();
        let mut visited = HashSet::new();
        let mut next = tip;
        while let Some(id) = next {
            // A manually written journal could name a base that comes after itself.
            let Some(at) = self.segment_of.get(&id).copied().filter(|at| visited.insert(*at)) else { break };
            let Some(segment) = self.segments.get(at) else { break };
            path.push((segment, id));
            next = segment.base;
        }
        path.reverse();
        path
    }

    /// Returns the conversation up to and including a message, as a model may receive it, and the repairs it
    /// needed. An exchange is never split: a reply or one of its results includes all of its results.
    /// Compactions before the next message are applied unless they were undone.
    pub fn conversation(&self, tip: Option<MessageId>) -> (Transcript, Vec<Repair>) {
        let (transcript, repairs, _) = self.build_conversation(tip);
        (transcript, repairs)
    }

    /// Returns the newest compaction in the conversation up to a message that was not undone.
    pub fn last_compaction(&self, tip: Option<MessageId>) -> Option<EventId> {
        self.build_conversation(tip).2
    }

    fn build_conversation(&self, tip: Option<MessageId>) -> (Transcript, Vec<Repair>, Option<EventId>) {
        let (mut repairer, mut newest) = (Repairer::default(), None);
        let mut apply = |repairer: &mut Repairer, (id, edits): &Overlay| {
            if self.undone.contains(id) {
                return;
            }
            let transcript = repairer.transcript_mut();
            if let Ok(overlaid) = transcript.with_edits(edits) {
                *transcript = overlaid;
                newest = Some(*id);
            }
        };
        for (segment, until) in self.segments_to(tip) {
            for step in segment.up_to(until) {
                match step {
                    SegmentItem::Message(message) if self.removed.contains(&message.id()) => {}
                    SegmentItem::Message(message) => repairer.push(Arc::clone(message)),
                    SegmentItem::LeftOut(_) => {}
                    SegmentItem::Overlay(overlay) => apply(&mut repairer, overlay),
                }
            }
            self.between.get(&until).into_iter().flatten().for_each(|overlay| apply(&mut repairer, overlay));
        }
        // An open loop without a message continues from its base, so its compactions apply there, unless it is one of
        // several branches.
        let at_tip = |segment: &&Segment| {
            !segment.ended && segment.is_empty() && segment.base == tip && !self.is_unselected(segment)
        };
        for step in self.segments.iter().filter(at_tip).flat_map(|segment| &segment.steps) {
            if let SegmentItem::Overlay(overlay) = step {
                apply(&mut repairer, overlay);
            }
        }
        let (mut transcript, repairs) = repairer.finish();
        if self.snapshot {
            transcript.forget_removed_calls();
        }
        (transcript, repairs, newest)
    }
}

impl Segment {
    fn newest_message(&self) -> Option<MessageId> {
        self.tip.or_else(|| self.last_message()).or(self.base)
    }

    fn is_empty(&self) -> bool {
        self.tip.is_none() && self.last_message().is_none()
    }

    fn last_message(&self) -> Option<MessageId> {
        self.steps.iter().rev().find_map(|step| match step {
            SegmentItem::Message(message) => Some(message.id()),
            SegmentItem::LeftOut(_) | SegmentItem::Overlay(_) => None,
        })
    }

    fn up_to(&self, until: MessageId) -> impl Iterator<Item = &SegmentItem> {
        let at = self.steps.iter().position(|step| step.is_at(until));
        let end = at.map_or(self.steps.len(), |at| at + 1);
        let rest = self.steps.get(end..).unwrap_or_default();
        let belongs = rest.iter().take_while(|step| match step {
            SegmentItem::Message(message) => message.as_tool_result().is_some(),
            SegmentItem::LeftOut(_) => false,
            SegmentItem::Overlay(_) => true,
        });
        let end = end + belongs.count();
        self.steps.iter().take(end)
    }
}
