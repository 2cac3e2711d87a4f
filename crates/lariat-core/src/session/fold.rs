//! The conversation tree of a session.
//!
//! A session is a tree of segments: each loop (and each import) adds messages after a base message. Owns finding the
//! conversation that ends at a message, with the compactions laid over it on the way.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::event::{AgentEvent, CompactionEdit, Event, LoopStart, QueueKind};
use crate::id::{EventId, LoopId, MessageId};
use crate::message::SharedMessage;
use crate::run::LoopSnapshot;
use crate::session::{SessionMemory, SessionSnapshot};
use crate::transcript::{Repair, Repairer, Transcript};

/// What a journal says about its conversations.
#[derive(Debug, Default)]
pub struct SessionFold {
    segments: Vec<Segment>,
    loops: HashMap<LoopId, usize>,
    home: HashMap<MessageId, usize>,
    queued: HashMap<MessageId, (QueueKind, SharedMessage)>,
    queue_order: Vec<MessageId>,
    removed: HashSet<MessageId>,
    /// Compactions between loops, by the last message before them.
    between: HashMap<MessageId, Vec<Overlay>>,
    /// Compactions that were taken back.
    undone: HashSet<EventId>,
    /// Compactions this fold has seen.
    compactions: HashSet<EventId>,
    memory: SessionMemory,
    /// It began with a snapshot.
    snapshot: bool,
    lacks_history: bool,
}

/// Messages that follow one another after a base.
#[derive(Debug, Default)]
struct Segment {
    start: Option<Box<LoopStart>>,
    base: Option<MessageId>,
    steps: Vec<Step>,
    ended: bool,
    /// Somebody went back to the base; nothing of the segments before is newer.
    rewound: bool,
    /// The last message, where a snapshot has it and it is not one of the steps.
    tip: Option<MessageId>,
}

#[derive(Debug)]
enum Step {
    Message(SharedMessage),
    Overlay(Overlay),
}

/// A compaction, under the id of the event that recorded it.
type Overlay = (EventId, Arc<Vec<CompactionEdit>>);

impl SessionFold {
    /// Folds a journal, or any prefix of one.
    pub fn of(records: &[Event]) -> Self {
        Self::default().then(records)
    }

    /// A fold that begins where a snapshot was made. It knows the newest conversation only: when a later event goes
    /// back beyond it, [`SessionFold::lacks_history`] says so.
    pub fn after(snapshot: &SessionSnapshot) -> Self {
        let mut fold = Self { snapshot: true, memory: snapshot.memory.clone(), ..Self::default() };
        let start = snapshot.last_loop.start();
        fold.loops.insert(start.loop_id.clone(), 0);
        let (ended, start) = (snapshot.open.is_none(), Some(Box::new(start)));
        fold.segments.push(Segment { start, ended, ..Segment::default() });
        snapshot.conversation.iter().for_each(|message| fold.add(0, message));
        if let Some(tip) = snapshot.tip {
            // It need not be part of the conversation: a reply that failed is none.
            fold.home.entry(tip).or_insert(0);
        }
        if let Some(segment) = fold.segments.first_mut() {
            segment.tip = snapshot.tip;
        }
        for (queue, message) in &snapshot.queued {
            fold.enqueue(*queue, message);
        }
        let waiting = snapshot.open.iter().flat_map(LoopSnapshot::queued);
        waiting.for_each(|(queue, message)| fold.enqueue(queue, message));
        fold
    }

    /// Goes on with these events.
    pub fn then(mut self, records: &[Event]) -> Self {
        records.iter().for_each(|record| self.apply(record));
        self
    }

    /// Whether a message is part of any conversation or queue this fold knows.
    pub fn knows(&self, id: MessageId) -> bool {
        self.home.contains_key(&id) || self.queued.contains_key(&id)
    }

    /// Whether the events went back to something before the snapshot this fold began with: all events are needed then.
    pub const fn lacks_history(&self) -> bool {
        self.lacks_history
    }

    fn enqueue(&mut self, queue: QueueKind, message: &SharedMessage) {
        self.queued.insert(message.id(), (queue, Arc::clone(message)));
        self.queue_order.push(message.id());
    }

    /// Notes that a segment starts from a message.
    fn look_up(&mut self, base: Option<MessageId>) {
        let known = base.is_none_or(|base| self.home.contains_key(&base));
        self.lacks_history |= self.snapshot && !known;
    }

    /// Takes in the next event.
    pub fn apply(&mut self, record: &Event) {
        self.memory.apply(record);
        let segment = record.loop_id.as_ref().and_then(|id| self.loops.get(id)).copied();
        match &record.event {
            AgentEvent::AgentStart(start) => {
                self.look_up(start.base);
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
                self.look_up(*base);
                let at = self.segments.len();
                self.segments.push(Segment { base: *base, ended: true, ..Segment::default() });
                messages.iter().for_each(|message| self.add(at, message));
            }
            AgentEvent::MessageQueued { queue, message } => {
                self.enqueue(*queue, message);
            }
            AgentEvent::MessageEnd { message } => {
                let waiting = self.queued.remove(&message.id()).map(|(_, message)| message);
                let content = waiting.or_else(|| message.shared().cloned());
                if let (Some(at), Some(message)) = (segment, content) {
                    self.add(at, &message);
                }
            }
            AgentEvent::Rewound { tip } => {
                self.look_up(*tip);
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
                    open.steps.push(Step::Overlay(overlay));
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

    /// A loop is over. What made room in one that came to no message counts where it began: nobody goes on from it.
    fn end(&mut self, at: usize) {
        let Some(segment) = self.segments.get_mut(at) else { return };
        segment.ended = true;
        let is_empty = segment.tip.is_none() && segment.last_message().is_none();
        let Some(base) = segment.base.filter(|_| is_empty) else { return };
        let overlays = segment.steps.drain(..).filter_map(|step| match step {
            Step::Overlay(overlay) => Some(overlay),
            Step::Message(_) => None,
        });
        self.between.entry(base).or_default().extend(overlays);
    }

    fn add(&mut self, at: usize, message: &SharedMessage) {
        self.home.insert(message.id(), at);
        if let Some(segment) = self.segments.get_mut(at) {
            segment.tip = None;
            segment.steps.push(Step::Message(Arc::clone(message)));
        }
    }

    /// What began with a loop.
    pub fn start_of(&self, loop_id: &LoopId) -> Option<&LoopStart> {
        self.segments.get(*self.loops.get(loop_id)?)?.start.as_deref()
    }

    /// What the session remembers besides its conversation.
    pub const fn memory(&self) -> &SessionMemory {
        &self.memory
    }

    /// Loops that began and did not end, oldest first.
    pub fn open_loops(&self) -> impl Iterator<Item = &LoopStart> {
        self.segments.iter().filter(|segment| !segment.ended).filter_map(|segment| segment.start.as_deref())
    }

    /// The newest loop, ended or not.
    pub fn last_loop(&self) -> Option<&LoopStart> {
        self.segments.iter().rev().find_map(|segment| segment.start.as_deref())
    }

    /// Loops that began so far.
    pub fn loops(&self) -> impl Iterator<Item = &LoopStart> {
        self.segments.iter().filter_map(|segment| segment.start.as_deref())
    }

    /// Messages that were queued and never injected, in the order they came.
    pub fn queued(&self) -> impl Iterator<Item = (QueueKind, &SharedMessage)> {
        self.queue_order.iter().filter_map(|id| self.queued.get(id)).map(|(queue, message)| (*queue, message))
    }

    /// The newest message of the newest segment that has any, or what somebody went back to: where a person would go on.
    pub fn tip(&self) -> Option<MessageId> {
        let tip = |segment: &Segment| {
            let tip = segment.tip.or_else(|| segment.last_message()).or(segment.base);
            (tip.is_some() || segment.rewound).then_some(tip)
        };
        self.segments.iter().rev().find_map(tip).flatten()
    }

    /// The segments that a conversation goes through, each with the last message of it that counts.
    fn path(&self, tip: Option<MessageId>) -> Vec<(&Segment, MessageId)> {
        let mut path = Vec::new();
        let mut visited = HashSet::new();
        let mut next = tip;
        while let Some(id) = next {
            // A journal written by hand could name a base that comes after itself.
            let Some(at) = self.home.get(&id).copied().filter(|at| visited.insert(*at)) else { break };
            let Some(segment) = self.segments.get(at) else { break };
            path.push((segment, id));
            next = segment.base;
        }
        path.reverse();
        path
    }

    /// The conversation up to and including a message, as a model may see it, and what had to be repaired in it.
    /// An exchange is never cut: with a reply or one of its results come all of its results. So do compactions that
    /// were made before the next message came, unless they were taken back.
    pub fn conversation(&self, tip: Option<MessageId>) -> (Transcript, Vec<Repair>) {
        let (transcript, repairs, _) = self.told(tip);
        (transcript, repairs)
    }

    /// The newest compaction of the conversation up to a message that was not taken back.
    pub fn last_compaction(&self, tip: Option<MessageId>) -> Option<EventId> {
        self.told(tip).2
    }

    fn told(&self, tip: Option<MessageId>) -> (Transcript, Vec<Repair>, Option<EventId>) {
        let (mut repairer, mut newest) = (Repairer::default(), None);
        let mut lay = |repairer: &mut Repairer, (id, edits): &Overlay| {
            if self.undone.contains(id) {
                return;
            }
            let transcript = repairer.settled();
            if let Ok(overlaid) = transcript.overlaid(edits) {
                *transcript = overlaid;
                newest = Some(*id);
            }
        };
        for (segment, until) in self.path(tip) {
            for step in segment.up_to(until) {
                match step {
                    Step::Message(message) if self.removed.contains(&message.id()) => {}
                    Step::Message(message) => repairer.push(Arc::clone(message)),
                    Step::Overlay(overlay) => lay(&mut repairer, overlay),
                }
            }
            self.between.get(&until).into_iter().flatten().for_each(|overlay| lay(&mut repairer, overlay));
        }
        let (transcript, repairs) = repairer.finish();
        (transcript, repairs, newest)
    }
}

impl Segment {
    fn last_message(&self) -> Option<MessageId> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::Message(message) => Some(message.id()),
            Step::Overlay(_) => None,
        })
    }

    fn up_to(&self, until: MessageId) -> impl Iterator<Item = &Step> {
        let at = self
            .steps
            .iter()
            .position(|step| matches!(step, Step::Message(message) if message.id() == until));
        let end = at.map_or(self.steps.len(), |at| at + 1);
        let rest = self.steps.get(end..).unwrap_or_default();
        let belongs = rest.iter().take_while(|step| match step {
            Step::Message(message) => message.as_tool_result().is_some(),
            Step::Overlay(_) => true,
        });
        let end = end + belongs.count();
        self.steps.iter().take(end)
    }
}
