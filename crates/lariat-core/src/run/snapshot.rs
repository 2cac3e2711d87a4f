//! Saves and restores the state of a loop between two model calls.
//!
//! A snapshot contains the recorded part of the state ([`LoopState`]). A loop that receives a reply or has
//! unfinished tool calls has no snapshot; the next one is possible before the next model call.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Run;
use super::budget::RunBudget;
use super::config::RunConfig;
use super::effect::Effect;
use super::repetition::RepetitionDetector;
use super::session_snapshot::{BranchSnapshot, LoopStartWithId, SessionSnapshot};
use super::state::{BlockedStops, LastTurn, LoopState, TurnState};
use crate::budget::BudgetScope;
use crate::context::TrackerState;
use crate::event::{ContextFull, LimitKind, MessageRef, QueueKind};
use crate::id::MessageId;
use crate::message::SharedMessage;
use crate::time::Timestamp;
use crate::transcript::Transcript;
use crate::usage::Usage;

/// Saved state of an open loop.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoopSnapshot {
    rejection: Option<String>,
    limit: Option<(LimitKind, BudgetScope)>,
    aborted: bool,
    #[serde(default)]
    halted: Option<String>,
    #[serde(default, rename = "kept_going")]
    blocked_stops: BlockedStops,
    produced: Vec<MessageId>,
    tip: Option<MessageId>,
    steering: Vec<SharedMessage>,
    follow_up: Vec<SharedMessage>,
    /// The open turn, which has no reply yet, and its number of overflows.
    turn: Option<(u32, u32)>,
    turns: u32,
    last: LastTurn,
    usage: Usage,
    repetition: RepetitionDetector,
    budget: RunBudget,
    refused_compactions: u32,
    tracker: Option<TrackerState>,
    #[serde(default)]
    warned: bool,
    #[serde(default)]
    full: Option<Box<ContextFull>>,
    active: Duration,
    last_seen: Option<Timestamp>,
}

impl LoopSnapshot {
    /// Returns the messages in the loop's queues.
    pub(crate) fn queued_messages(&self) -> impl Iterator<Item = (QueueKind, &SharedMessage)> {
        let steering = self.steering.iter().map(|message| (QueueKind::Steering, message));
        steering.chain(self.follow_up.iter().map(|message| (QueueKind::FollowUp, message)))
    }
}

/// What a snapshot contains of a loop: the last message, the conversation, the messages that an ended loop left, and the state
/// of an open one.
type SavedLoop =
    (Option<MessageId>, Vec<SharedMessage>, Vec<(QueueKind, SharedMessage)>, Option<LoopSnapshot>);

impl Run {
    /// Returns a snapshot of the session if this is a suitable moment: all recorded events have left the
    /// machine, and no reply is in progress. Correct only if this is the only open loop of its session.
    pub fn snapshot(&self) -> Option<SessionSnapshot> {
        let (tip, conversation, queued, open) = self.save()?;
        let start = LoopStartWithId::new(&self.start);
        let memory = (*self.memory).clone();
        Some(SessionSnapshot::new(self.loop_index + 1, start, tip, conversation, queued, open, memory))
    }

    /// Returns a snapshot of this loop alone, as one of several branches, if this is a suitable moment. `at` is a number of
    /// events of the session that include everything this loop recorded.
    pub fn branch_snapshot(&self, at: u64) -> Option<BranchSnapshot> {
        let (tip, conversation, queued, open) = self.save()?;
        let start = LoopStartWithId::new(&self.start);
        Some(BranchSnapshot { start, at, tip, conversation, open, queued })
    }

    fn save(&self) -> Option<SavedLoop> {
        let state = &self.state;
        let settled = state.turn.as_ref().is_none_or(|turn| turn.reply.is_none());
        let all_recorded = !self.out.iter().any(|effect| matches!(effect, Effect::Record(_)));
        // What runs in the background is read from the journal.
        if !settled || !all_recorded || !state.started || !state.background.is_empty() {
            return None;
        }
        let conversation = state.transcript.window().iter().cloned().collect();
        let tip = state.tip.or(self.start.base);
        let open = state.ended.is_none().then(|| state.save());
        let left = |queue: QueueKind, messages: &std::collections::VecDeque<SharedMessage>| {
            let messages = messages.iter().filter(|_| state.ended.is_some()).cloned();
            messages.map(|message| (queue, message)).collect::<Vec<_>>()
        };
        let mut queued = left(QueueKind::Steering, &state.steering);
        queued.extend(left(QueueKind::FollowUp, &state.follow_up));
        Some((tip, conversation, queued, open))
    }
}

impl LoopState {
    fn save(&self) -> LoopSnapshot {
        let (active, last_seen) = self.clock();
        LoopSnapshot {
            rejection: self.rejection.clone(),
            limit: self.limit,
            aborted: self.aborted,
            halted: self.halted.clone(),
            blocked_stops: self.blocked_stops,
            produced: self.produced.iter().map(MessageRef::id).collect(),
            tip: self.tip,
            steering: self.steering.iter().cloned().collect(),
            follow_up: self.follow_up.iter().cloned().collect(),
            turn: self.turn.as_ref().map(|turn| (turn.index, turn.overflows)),
            turns: self.turns,
            last: self.last.clone(),
            usage: self.usage,
            repetition: self.repetition.clone(),
            budget: self.budget.clone(),
            refused_compactions: self.refused_compactions,
            tracker: self.tracker.as_ref().map(|tracker| tracker.state().clone()),
            warned: self.warned,
            full: self.full.clone(),
            active,
            last_seen,
        }
    }

    /// Restores a loop from its snapshot.
    pub(super) fn restore(saved: &LoopSnapshot, conversation: &[SharedMessage], config: &RunConfig) -> Self {
        let (mut transcript, _) = Transcript::repair(conversation.iter().cloned());
        transcript.forget_removed_calls();
        let known: std::collections::HashMap<MessageId, &SharedMessage> =
            conversation.iter().map(|message| (message.id(), message)).collect();
        let reference = |id: &MessageId| match known.get(id) {
            Some(message) => MessageRef::resolved(SharedMessage::clone(message)),
            None => MessageRef::unresolved(*id),
        };
        let mut state = Self::new(transcript);
        state.started = true;
        state.rejection.clone_from(&saved.rejection);
        state.limit = saved.limit;
        state.aborted = saved.aborted;
        state.halted.clone_from(&saved.halted);
        state.blocked_stops = saved.blocked_stops;
        state.produced = saved.produced.iter().map(reference).collect();
        state.tip = saved.tip;
        state.steering = saved.steering.iter().cloned().collect();
        state.follow_up = saved.follow_up.iter().cloned().collect();
        state.turn = saved.turn.map(|(index, overflows)| TurnState {
            index,
            reply: None,
            calls: Vec::new(),
            overflows,
            completed_task: None,
        });
        state.turns = saved.turns;
        state.last = saved.last.clone();
        state.usage = saved.usage;
        state.repetition = saved.repetition.clone();
        state.budget = saved.budget.clone();
        state.refused_compactions = saved.refused_compactions;
        state.track(config);
        if let (Some(tracker), Some(saved)) = (&mut state.tracker, &saved.tracker) {
            tracker.restore(saved.clone());
        }
        state.warned = saved.warned;
        state.full.clone_from(&saved.full);
        state.set_clock(saved.active, saved.last_seen);
        state
    }
}
