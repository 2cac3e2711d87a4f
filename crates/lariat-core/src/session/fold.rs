//! Rebuilds the conversation tree of a session from its journal.
//!
//! A session is a tree of segments: each loop (and each import) adds messages after a base message. The fold
//! finds the conversation that ends at a message and applies the compactions on the way.

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
    queued: HashMap<MessageId, (QueueKind, SharedMessage)>,
    queue_order: Vec<MessageId>,
    removed: HashSet<MessageId>,
    /// Compactions between loops, by the last message before them.
    between: HashMap<MessageId, Vec<Overlay>>,
    /// Compactions that were undone.
    undone: HashSet<EventId>,
    /// Compactions that this fold has seen.
    compactions: HashSet<EventId>,
    memory: SessionMemory,
    /// Whether the fold started from a snapshot.
    snapshot: bool,
    lacks_history: bool,
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
    Overlay(Overlay),
}

/// A compaction, with the id of the event that recorded it.
type Overlay = (EventId, Arc<Vec<CompactionEdit>>);

/// What a fold knows of a session before the events that it reads.
pub(crate) struct FoldStart<'a> {
    pub(crate) memory: &'a SessionMemory,
    /// The newest loop.
    pub(crate) last_loop: LoopStart,
    pub(crate) is_open: bool,
    /// The newest conversation.
    pub(crate) conversation: &'a [SharedMessage],
    /// The last message of the newest loop.
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
        let mut fold = Self { snapshot: true, memory: snapshot.memory.clone(), ..Self::default() };
        let (ended, start) = (!snapshot.is_open, snapshot.last_loop);
        fold.loops.insert(start.loop_id.clone(), 0);
        fold.segments.push(Segment { start: Some(Box::new(start)), ended, ..Segment::default() });
        snapshot.conversation.iter().for_each(|message| fold.add(0, message));
        if let Some(tip) = snapshot.tip {
            // The last message need not be part of the conversation: a failed reply is not.
            fold.segment_of.entry(tip).or_insert(0);
        }
        if let Some(segment) = fold.segments.first_mut() {
            segment.tip = snapshot.tip;
        }
        queued.for_each(|(queue, message)| fold.enqueue(queue, message));
        fold
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

    fn enqueue(&mut self, queue: QueueKind, message: &SharedMessage) {
        self.queued.insert(message.id(), (queue, Arc::clone(message)));
        self.queue_order.push(message.id());
    }

    /// Records that a segment starts from a message.
    fn check_base(&mut self, base: Option<MessageId>) {
        let known = base.is_none_or(|base| self.segment_of.contains_key(&base));
        self.lacks_history |= self.snapshot && !known;
    }

    /// Processes the next event.
    pub fn apply(&mut self, record: &Event) {
        self.memory.apply(record);
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
            AgentEvent::MessageQueued { queue, message } => {
                self.enqueue(*queue, message);
            }
            AgentEvent::MessageUnqueued { message_id } => drop(self.queued.remove(message_id)),
            AgentEvent::MessageEnd { message } => {
                let waiting = self.queued.remove(&message.id()).map(|(_, message)| message);
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

    /// Ends a loop. If the loop produced no message, its compactions apply at its base instead, because no
    /// conversation continues from the loop.
    fn end(&mut self, at: usize) {
        let Some(segment) = self.segments.get_mut(at) else { return };
        segment.ended = true;
        let Some(base) = segment.base.filter(|_| segment.is_empty()) else { return };
        let overlays = segment.steps.drain(..).filter_map(|step| match step {
            SegmentItem::Overlay(overlay) => Some(overlay),
            SegmentItem::Message(_) => None,
        });
        self.between.entry(base).or_default().extend(overlays);
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

    /// Returns the newest loop, ended or not.
    pub fn last_loop(&self) -> Option<&LoopStart> {
        self.segments.iter().rev().find_map(|segment| segment.start.as_deref())
    }

    /// Returns all loops in the order in which they started.
    pub fn loops(&self) -> impl Iterator<Item = &LoopStart> {
        self.segments.iter().filter_map(|segment| segment.start.as_deref())
    }

    /// Returns queued messages that were not delivered, in order of arrival.
    pub fn queued_messages(&self) -> impl Iterator<Item = (QueueKind, &SharedMessage)> {
        self.queue_order.iter().filter_map(|id| self.queued.get(id)).map(|(queue, message)| (*queue, message))
    }

    /// Returns the message from which the conversation continues: the newest message of the newest segment
    /// that has one, or the message that the user went back to.
    pub fn tip(&self) -> Option<MessageId> {
        let tip = |segment: &Segment| {
            let tip = segment.tip.or_else(|| segment.last_message()).or(segment.base);
            (tip.is_some() || segment.rewound).then_some(tip)
        };
        self.segments.iter().rev().find_map(tip).flatten()
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
                    SegmentItem::Overlay(overlay) => apply(&mut repairer, overlay),
                }
            }
            self.between.get(&until).into_iter().flatten().for_each(|overlay| apply(&mut repairer, overlay));
        }
        // An open loop without a message continues from its base, so its compactions apply there.
        let at_tip = |segment: &&Segment| !segment.ended && segment.is_empty() && segment.base == tip;
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
    fn is_empty(&self) -> bool {
        self.tip.is_none() && self.last_message().is_none()
    }

    fn last_message(&self) -> Option<MessageId> {
        self.steps.iter().rev().find_map(|step| match step {
            SegmentItem::Message(message) => Some(message.id()),
            SegmentItem::Overlay(_) => None,
        })
    }

    fn up_to(&self, until: MessageId) -> impl Iterator<Item = &SegmentItem> {
        let at = self
            .steps
            .iter()
            .position(|step| matches!(step, SegmentItem::Message(message) if message.id() == until));
        let end = at.map_or(self.steps.len(), |at| at + 1);
        let rest = self.steps.get(end..).unwrap_or_default();
        let belongs = rest.iter().take_while(|step| match step {
            SegmentItem::Message(message) => message.as_tool_result().is_some(),
            SegmentItem::Overlay(_) => true,
        });
        let end = end + belongs.count();
        self.steps.iter().take(end)
    }
}
