//! The recorded state of a loop, computed from its events.
//!
//! [`LoopState::apply`] is the only way this state changes: the running machine applies what it records,
//! recovery applies what it reads. An event that does not fit is ignored; there is no panic.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::background_agents::BackgroundAgent;
use super::budget::{RunBudget, SECTION};
use super::config::RunConfig;
use super::repetition::{CallFingerprint, RepetitionDetector};
use crate::budget::BudgetScope;
use crate::content::ToolCall;
use crate::context::{ContextTracker, NewestNotes, message_tokens};
use crate::event::{
    AgentEvent, ArgsRef, BlockedBy, CompactionCause, ContextFull, EventRecord, LimitKind, MessageRef,
    QueueKind, RecordedMessage, RunOutcome,
};
use crate::id::{LoopId, MessageId, RequestId, SessionId, ToolCallId};
use crate::message::{AgentMessage, AssistantMessage, SharedMessage, StopReason, ToolResultMessage};
use crate::permission::{PermissionDecision, PermissionRequest};
use crate::time::Timestamp;
use crate::transcript::{Transcript, transcript_part};
use crate::usage::Usage;

/// Marks blocks that the machine adds to a tool result; loop detection and replay ignore them.
pub(crate) const NOTE_PREFIX: &str = "[lariat] ";

/// The recorded state of a loop.
#[derive(Debug)]
pub(super) struct LoopState {
    pub(super) started: bool,
    pub(super) ended: Option<RunOutcome>,
    pub(super) rejection: Option<String>,
    pub(super) limit: Option<(LimitKind, BudgetScope)>,
    pub(super) aborted: bool,
    /// Reason if a hook ended the loop.
    pub(super) halted: Option<String>,
    pub(super) transcript: Transcript,
    /// Tracks how full the context window is, if one is configured.
    pub(super) tracker: Option<Box<ContextTracker>>,
    /// The newest notes that the conversation still contains.
    pub(super) notes: NewestNotes,
    pub(super) produced: Vec<MessageRef>,
    /// The last recorded message, where the next loop continues.
    pub(super) tip: Option<MessageId>,
    pub(super) steering: VecDeque<SharedMessage>,
    pub(super) follow_up: VecDeque<SharedMessage>,
    pub(super) turn: Option<TurnState>,
    pub(super) turns: u32,
    pub(super) last: LastTurn,
    pub(super) usage: Usage,
    pub(super) repetition: RepetitionDetector,
    pub(super) budget: RunBudget,
    pub(super) refused_compactions: u32,
    /// Whether the user was warned that the window fills up, and no compaction followed.
    pub(super) warned: bool,
    /// Why the conversation does not fit.
    pub(super) full: Option<Box<ContextFull>>,
    pub(super) blocked_stops: BlockedStops,
    /// Sub-agents in the background whose report is not queued yet, in the order of their start.
    pub(super) background: Vec<BackgroundAgent>,
    active: Duration,
    last_seen: Option<Timestamp>,
}

/// The open turn.
#[derive(Debug)]
pub(super) struct TurnState {
    pub(super) index: u32,
    pub(super) reply: Option<SharedMessage>,
    pub(super) calls: Vec<CallState>,
    pub(super) overflows: u32,
    /// The last task that the model completed in this turn.
    pub(super) completed_task: Option<String>,
}

/// A tool call of the open turn.
#[derive(Debug)]
pub(super) struct CallState {
    pub(super) call: Arc<ToolCall>,
    pub(super) phase: CallPhase,
    pub(super) result: Option<SharedMessage>,
    /// It was running when a process ended, so its result says nothing about the model.
    pub(super) was_interrupted: bool,
    pub(super) sub_agent: Option<Box<CallSubAgent>>,
}

/// The sub-agent of a tool call.
#[derive(Debug, Clone)]
pub(super) struct CallSubAgent {
    pub(super) session_id: SessionId,
    pub(super) loop_id: LoopId,
    /// Its end is recorded.
    pub(super) is_completed: bool,
    /// The arguments that the tool call started with, if they are not the model's.
    pub(super) args: Option<Arc<Value>>,
    /// The message that will contain its report, if it works in the background.
    pub(super) report: Option<MessageId>,
}

/// The recorded progress of a tool call.
#[derive(Debug, Clone)]
pub(super) enum CallPhase {
    Waiting,
    Asked(Arc<PermissionRequest>),
    /// Approved, with the arguments that the user saw if they are not the model's.
    Granted(Option<Arc<Value>>),
    Refused(Option<String>),
    /// The user answered its question; the result is missing.
    Answered(String),
    /// Recorded as blocked; the result is missing.
    Blocked(BlockedBy, Option<String>),
    /// Queued by plan mode, with this summary.
    Planned(String),
    Dispatched,
    /// The tool runs and asks the user a question.
    Questioning(Arc<PermissionRequest>),
    Ended,
}

impl CallPhase {
    /// Returns true if the tool call was started and has not ended.
    pub(super) const fn has_started(&self) -> bool {
        matches!(self, Self::Dispatched | Self::Questioning(_))
    }
}

/// How the previous turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LastTurn {
    /// There was no turn.
    None,
    /// The model continues: it made tool calls or paused.
    WantsMore,
    /// The model was done.
    Settled,
    /// The model call failed.
    Failed(String),
}

/// How often in a row hooks kept the run from ending, and the message of the last time.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub(super) struct BlockedStops {
    pub(super) count: u32,
    message: Option<MessageId>,
}

impl LoopState {
    pub(super) fn new(transcript: Transcript) -> Self {
        Self {
            started: false,
            ended: None,
            rejection: None,
            limit: None,
            aborted: false,
            halted: None,
            transcript,
            tracker: None,
            notes: NewestNotes::default(),
            produced: Vec::new(),
            tip: None,
            steering: VecDeque::new(),
            follow_up: VecDeque::new(),
            turn: None,
            turns: 0,
            last: LastTurn::None,
            usage: Usage::default(),
            repetition: RepetitionDetector::default(),
            budget: RunBudget::default(),
            refused_compactions: 0,
            warned: false,
            full: None,
            blocked_stops: BlockedStops::default(),
            background: Vec::new(),
            active: Duration::ZERO,
            last_seen: None,
        }
    }

    /// Starts token tracking, if a context window is configured. Reads the whole conversation once.
    pub(super) fn track(&mut self, config: &RunConfig) {
        self.tracker = config.tracker().map(|mut tracker| {
            tracker.read(&self.transcript.window());
            Box::new(tracker)
        });
    }

    /// Starts to track notes. Reads the whole conversation once.
    pub(super) fn read_notes(&mut self) {
        self.notes = NewestNotes::of(&self.transcript.window());
    }

    /// Starts to estimate the next request. Reads the whole conversation once.
    pub(super) fn estimate_pending(&mut self) {
        self.budget.pending = self.transcript.window().iter().map(|message| message_tokens(message)).sum();
    }

    pub(super) fn queue_mut(&mut self, queue: QueueKind) -> &mut VecDeque<SharedMessage> {
        match queue {
            QueueKind::Steering => &mut self.steering,
            QueueKind::FollowUp => &mut self.follow_up,
        }
    }

    /// Returns whether a message waits in a queue.
    pub(super) fn is_queued(&self, id: MessageId) -> bool {
        self.steering.iter().chain(&self.follow_up).any(|message| message.id() == id)
    }

    /// Returns the outcome if the run should end as soon as possible.
    pub(super) fn stop_outcome(&self) -> Option<RunOutcome> {
        let limit = self.limit.map(|(limit, scope)| RunOutcome::LimitReached { limit, scope });
        let aborted = || self.aborted.then_some(RunOutcome::Aborted);
        let halted = || self.halted.as_ref().map(|_| RunOutcome::StoppedByHook);
        limit.or_else(aborted).or_else(halted)
    }

    /// Returns the time of the loop's last event.
    pub(super) const fn last_seen(&self) -> Option<Timestamp> {
        self.last_seen
    }

    /// Returns the active time of the loop and the time of its last event.
    pub(super) const fn clock(&self) -> (Duration, Option<Timestamp>) {
        (self.active, self.last_seen)
    }

    pub(super) const fn set_clock(&mut self, active: Duration, last_seen: Option<Timestamp>) {
        (self.active, self.last_seen) = (active, last_seen);
    }

    /// Returns the active time of the loop up to `now`, without the time between a crash and the resume.
    pub(super) fn active(&self, now: Timestamp) -> Duration {
        self.active + self.last_seen.map_or(Duration::ZERO, |seen| now.since(seen))
    }

    pub(super) fn pending_permissions(&self) -> impl Iterator<Item = &Arc<PermissionRequest>> {
        let of_calls = self.turn.iter().flat_map(|turn| &turn.calls).filter_map(|call| match &call.phase {
            CallPhase::Asked(request) | CallPhase::Questioning(request) => Some(request),
            _ => None,
        });
        of_calls.chain(self.background.iter().filter_map(|agent| agent.asked.as_ref()))
    }

    /// Returns the requests of tool calls that have not started.
    pub(super) fn pending_approvals(&self) -> impl Iterator<Item = &Arc<PermissionRequest>> {
        self.turn.iter().flat_map(|turn| &turn.calls).filter_map(|call| match &call.phase {
            CallPhase::Asked(request) => Some(request),
            _ => None,
        })
    }

    pub(super) fn apply(&mut self, record: &EventRecord) {
        let resumed = matches!(record.event, AgentEvent::LoopRecovered { .. });
        if let Some(seen) = self.last_seen.filter(|_| !resumed) {
            self.active += record.timestamp.since(seen);
        }
        self.last_seen = Some(record.timestamp);

        self.budget.apply(&record.event);
        match &record.event {
            AgentEvent::AgentStart(_) => self.started = true,
            AgentEvent::AgentEnd { outcome, .. } => self.ended = Some(outcome.clone()),
            AgentEvent::InputRejected { reason } => self.rejection = Some(reason.clone()),
            AgentEvent::AbortRequested => self.aborted = true,
            AgentEvent::HookStopped { reason } => self.halted = Some(reason.clone()),
            AgentEvent::StopBlocked { message_id, .. } => {
                self.blocked_stops =
                    BlockedStops { count: self.blocked_stops.count + 1, message: Some(*message_id) };
            }
            AgentEvent::LimitReached { limit, scope, .. } => self.limit = Some((*limit, *scope)),
            AgentEvent::TurnStart { turn_index, .. } => {
                self.turns = turn_index.saturating_add(1);
                self.turn = Some(TurnState {
                    index: *turn_index,
                    reply: None,
                    calls: Vec::new(),
                    overflows: 0,
                    completed_task: None,
                });
            }
            AgentEvent::TurnEnd { .. } => self.close_turn(),
            AgentEvent::MessageQueued { queue, message } => {
                // A message that does not come from the hook resets the count.
                if self.blocked_stops.message != Some(message.id()) {
                    self.blocked_stops = BlockedStops::default();
                }
                self.background.retain(|agent| agent.report != message.id());
                self.queue_mut(*queue).push_back(Arc::clone(message));
            }
            AgentEvent::MessageUnqueued { message_id } => {
                self.steering.retain(|message| message.id() != *message_id);
                self.follow_up.retain(|message| message.id() != *message_id);
            }
            AgentEvent::MessageEnd { message } => self.apply_message(message),
            AgentEvent::ToolExecutionStart { tool_call_id, args, .. } => {
                self.set_phase(tool_call_id, CallPhase::Dispatched);
                if let (Some(sub_agent), ArgsRef::Rewritten(args)) = (self.sub_agent_mut(tool_call_id), args)
                {
                    sub_agent.args = Some(Arc::clone(args));
                }
                let background = self.call_mut(tool_call_id).and_then(|call| BackgroundAgent::of(call));
                self.background.extend(background);
            }
            AgentEvent::SubAgentSpawned { tool_call_id, child_loop_id, child_session_id, report, .. } => {
                if let Some(call) = self.call_mut(tool_call_id) {
                    call.sub_agent = Some(Box::new(CallSubAgent {
                        session_id: child_session_id.clone(),
                        loop_id: child_loop_id.clone(),
                        is_completed: false,
                        args: None,
                        report: *report,
                    }));
                }
            }
            AgentEvent::SubAgentCompleted { tool_call_id, .. } => {
                if let Some(sub_agent) = self.sub_agent_mut(tool_call_id) {
                    sub_agent.is_completed = true;
                }
                if let Some(agent) = self.background_mut(tool_call_id) {
                    agent.sub_agent.is_completed = true;
                }
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => {
                self.set_phase(tool_call_id, CallPhase::Ended)
            }
            AgentEvent::PermissionRequired { request } => {
                if let Some(agent) = self.background_mut(&request.tool_call_id) {
                    agent.asked = Some(Arc::clone(request));
                } else if let Some(call) = self.call_mut(&request.tool_call_id) {
                    call.phase = match call.phase.has_started() {
                        true => CallPhase::Questioning(Arc::clone(request)),
                        false => CallPhase::Asked(Arc::clone(request)),
                    };
                }
            }
            AgentEvent::PermissionDecided { request_id, tool_call_id, decision } => {
                self.apply_decision(*request_id, tool_call_id, decision);
            }
            AgentEvent::TasksChanged { completed, .. } => {
                if let (Some(turn), Some(task)) = (&mut self.turn, completed.last()) {
                    turn.completed_task = Some(task.clone());
                }
            }
            AgentEvent::ToolBlocked { tool_call_id, by, reason, .. } => {
                self.set_phase(tool_call_id, CallPhase::Blocked(*by, reason.clone()));
            }
            AgentEvent::PlanChangeQueued { tool_call_id, summary, .. } => {
                self.set_phase(tool_call_id, CallPhase::Planned(summary.clone()));
            }
            AgentEvent::Compaction { cause, edits, usage, .. } => {
                self.usage += *usage;
                if let Ok(transcript) = self.transcript.with_edits(edits) {
                    self.transcript = transcript;
                    self.unresolve_compacted();
                    self.estimate_pending();
                    self.read_notes();
                    if let Some(tracker) = &mut self.tracker {
                        tracker.reset_after_compaction(&self.transcript.window());
                    }
                }
                self.refused_compactions = 0;
                self.warned = false;
                self.count_overflow(*cause);
            }
            AgentEvent::LoopRecovered { interrupted, .. } => {
                for id in interrupted {
                    if let Some(call) = self.call_mut(id) {
                        call.was_interrupted = true;
                    }
                }
                // A resume starts with the configured model again. The replies show when a fallback was used.
                if let Some(tracker) = &mut self.tracker {
                    tracker.ask(None);
                }
            }
            AgentEvent::ContextCounted { tokens } => {
                if let Some(tracker) = &mut self.tracker {
                    tracker.use_provider_count(*tokens);
                }
            }
            AgentEvent::CompactionWarning { .. } => self.warned = true,
            AgentEvent::ContextFull(full) => self.full = Some(full.clone()),
            AgentEvent::CompactionRefused { cause, usage, .. } => {
                self.usage += *usage;
                self.refused_compactions += 1;
                self.count_overflow(*cause);
            }
            _ => {}
        }
    }

    fn count(&mut self, message: &AgentMessage) {
        if let Some(tracker) = &mut self.tracker {
            tracker.add(message);
        }
    }

    fn count_overflow(&mut self, cause: CompactionCause) {
        if let Some(turn) = self.turn.as_mut().filter(|_| cause == CompactionCause::Overflow) {
            turn.overflows += 1;
        }
    }

    pub(super) fn call_mut(&mut self, id: &ToolCallId) -> Option<&mut CallState> {
        self.turn.as_mut()?.calls.iter_mut().find(|call| call.call.id == *id)
    }

    fn sub_agent_mut(&mut self, id: &ToolCallId) -> Option<&mut CallSubAgent> {
        self.call_mut(id)?.sub_agent.as_deref_mut()
    }

    fn set_phase(&mut self, id: &ToolCallId, phase: CallPhase) {
        if let Some(call) = self.call_mut(id) {
            call.phase = phase;
        }
    }

    pub(super) fn background_mut(&mut self, call: &ToolCallId) -> Option<&mut BackgroundAgent> {
        self.background.iter_mut().find(|agent| agent.call.id == *call)
    }

    fn apply_decision(&mut self, request: RequestId, call: &ToolCallId, decision: &PermissionDecision) {
        if let Some(agent) = self.background_mut(call) {
            agent.asked.take_if(|asked| asked.id == request);
            return;
        }
        let Some(call) = self.call_mut(call) else { return };
        if matches!(&call.phase, CallPhase::Questioning(asked) if asked.id == request) {
            call.phase = CallPhase::Dispatched;
        }
        let CallPhase::Asked(asked) = &call.phase else { return };
        if asked.id != request {
            return;
        }
        let args = asked.args.clone();
        call.phase = match decision {
            PermissionDecision::Deny { reason } => CallPhase::Refused(reason.clone()),
            PermissionDecision::Withdrawn => CallPhase::Refused(None),
            PermissionDecision::Answered { text } => CallPhase::Answered(text.clone()),
            PermissionDecision::AllowChanged { args, .. } => CallPhase::Granted(Some(Arc::clone(args))),
            _ => CallPhase::Granted(args),
        };
    }

    fn apply_message(&mut self, recorded: &RecordedMessage) {
        let id = recorded.id();
        let queued = [QueueKind::Steering, QueueKind::FollowUp].into_iter().find_map(|queue| {
            let queue = self.queue_mut(queue);
            let at = queue.iter().position(|message| message.id() == id)?;
            queue.remove(at)
        });
        let Some(message) = queued.or_else(|| recorded.shared().cloned()) else { return };
        self.produced.push(MessageRef::resolved(Arc::clone(&message)));
        self.tip = Some(id);
        self.budget.model_notified |= message.note_section() == Some(SECTION);
        self.budget.pending = match message.as_assistant().map(|reply| reply.usage.total()) {
            Some(reported @ 1..) => reported,
            _ => self.budget.pending.saturating_add(message_tokens(&message)),
        };
        if let Some(assistant) = message.as_assistant() {
            self.apply_reply(&message, assistant);
        } else if let Some(result) = message.as_tool_result() {
            self.apply_result(&message, result);
        } else {
            self.count(&message);
            self.notes.add(&message);
            // A message that does not fit the transcript (a manually written journal) stays out of it.
            let _ = match message.as_user() {
                Some(_) => self.transcript.push_user(message),
                None => self.transcript.push_extension(message),
            };
        }
    }

    fn apply_reply(&mut self, message: &SharedMessage, assistant: &AssistantMessage) {
        self.usage += assistant.usage;
        self.count(message);
        let Some(turn) = &mut self.turn else { return };
        if turn.reply.is_some() {
            return;
        }
        turn.reply = Some(Arc::clone(message));
        if !matches!(assistant.stop_reason, StopReason::Error | StopReason::Aborted) {
            let waiting = |call: &Arc<ToolCall>| CallState {
                call: Arc::clone(call),
                phase: CallPhase::Waiting,
                result: None,
                was_interrupted: false,
                sub_agent: None,
            };
            turn.calls = assistant.tool_calls().map(waiting).collect();
        }
    }

    fn apply_result(&mut self, message: &SharedMessage, result: &ToolResultMessage) {
        self.count(message);
        let Some(call) = self.call_mut(&result.tool_call_id).filter(|call| call.result.is_none()) else {
            return;
        };
        call.result = Some(Arc::clone(message));
        if call.was_interrupted {
            return;
        }
        let call = Arc::clone(&call.call);
        let turn = self.turns;
        self.repetition.push(CallFingerprint::of(turn, &call, &result.content, result.is_error));
    }

    fn close_turn(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let Some(reply) = turn.reply else { return };
        let Some(assistant) = reply.as_assistant() else { return };
        self.last = match assistant.stop_reason {
            StopReason::Error => LastTurn::Failed(assistant.error_message.clone().unwrap_or_default()),
            // A pause without content leaves nothing to continue from; another call would be identical.
            StopReason::Pause if transcript_part(&reply).is_some() => LastTurn::WantsMore,
            _ if !turn.calls.is_empty() => LastTurn::WantsMore,
            _ => LastTurn::Settled,
        };
        if let Some(part) = transcript_part(&reply) {
            let results: Vec<SharedMessage> = turn.calls.into_iter().filter_map(|call| call.result).collect();
            let pushed = self.transcript.push_exchange(part, results);
            debug_assert!(pushed.is_ok(), "a closed turn must fit the transcript: {pushed:?}");
        }
    }

    /// Releases messages that compaction removed from the window, so that memory use follows the window, not
    /// the history.
    fn unresolve_compacted(&mut self) {
        let kept: std::collections::HashSet<_> =
            self.transcript.window().iter().map(|message| message.id()).collect();
        for reference in &mut self.produced {
            if !kept.contains(&reference.id()) {
                *reference = MessageRef::unresolved(reference.id());
            }
        }
    }
}
