//! The agent loop as a pure machine: inputs in, effects out.
//!
//! [`Run`] holds one loop. Its state is a fold over the events it recorded (`state.rs`); what is in flight right now
//! (`Activity`, `Flight`) is the only thing it knows beyond them. After every input it asks the same
//! question, "given what is recorded, what is next?" — so going on after a crash is not a special case: it is the same
//! question, asked of a state read from the journal ([`Run::recover`]).
//!
//! Invariants: an effect comes after the records it depends on; a call is dispatched only by `ToolExecutionStart`, at
//! most once; `AgentEnd` is recorded exactly once; one step costs the same at any length of the conversation.

mod assembly;
mod budget;
mod calls;
mod compaction;
mod config;
mod effect;
mod flow;
mod input;
mod notes;
mod recover;
mod repetition;
mod reply;
mod retry;
mod snapshot;
mod state;
mod stop;
mod tell;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

pub use config::{FallbackModel, RunConfig, ToolTraits};
pub use effect::{Effect, Ending, HookCall, OpId};
pub use input::{Filtered, Input, ModelSignal};
pub use recover::{RecoverError, Recovered};
pub use snapshot::LoopSnapshot;

use crate::budget::{BudgetLimits, BudgetScope};
use crate::content::Content;
use crate::event::{AgentEvent, EventRecord, FORMAT_VERSION, LoopStart, MessageRef, QueueKind, Recorded};
use crate::hooks::MomentKind;
use crate::id::{EventId, LoopId, MessageId, TurnId};
use crate::message::{AgentMessage, SharedMessage};
use crate::planted::{Planted, planted};
use crate::session::SessionMemory;
use crate::time::{Minter, Stamp, Timestamp};
use crate::transcript::{NotSendable, Transcript};
use crate::usage::Usage;
pub(crate) use budget::{NO_CALLS_LEFT, SECTION as BUDGET_SECTION};
use calls::Flight;
pub(crate) use calls::{DENIED, SKIPPED_BY_HOOK};
use compaction::Ahead;
use reply::ModelCall;
use retry::Tries;
use state::LoopState;
pub(crate) use state::NOTE_PREFIX;
pub(crate) use tell::{hook_context, hook_note};

/// One run of the loop.
#[derive(Debug)]
pub struct Run {
    config: Arc<RunConfig>,
    start: Box<LoopStart>,
    loop_index: u64,
    state: LoopState,
    /// What the session remembers, this loop's events included.
    memory: Arc<SessionMemory>,
    activity: Activity,
    flights: Vec<Flight>,
    entry: Entry,
    /// Room that is prepared beside the run.
    ahead: Option<Box<Ahead>>,
    deadline: Option<OpId>,
    /// Which model is asked: 0 for the configured one, then the fallbacks.
    candidate: usize,
    recovered: bool,
    minter: Minter,
    now: Timestamp,
    next_op: u64,
    out: VecDeque<Effect>,
}

/// What the run waits for besides tools. At most one thing at a time.
#[derive(Debug, Default)]
enum Activity {
    #[default]
    None,
    BeforeLoop,
    Filtering {
        op: OpId,
    },
    BeforeTurn,
    Compacting {
        op: OpId,
        cause: crate::event::CompactionCause,
    },
    Telling {
        op: OpId,
        about: MomentKind,
    },
    Consulting {
        op: OpId,
    },
    Admitting {
        op: OpId,
    },
    AskingForMore {
        request: crate::id::RequestId,
    },
    Calling(Box<ModelCall>),
    BackingOff {
        op: OpId,
        tries: Tries,
    },
}

/// What must happen before the first turn, and was not recorded yet.
#[derive(Debug, Default)]
struct Entry {
    begun: bool,
    prompts: Vec<AgentMessage>,
    filtered: bool,
    turn_hook_passed: bool,
    /// Room was prepared, this turn.
    prepared: bool,
    /// The run waited for room, this turn.
    waited: bool,
    /// The model was told what is new, this turn.
    consulted: bool,
    /// Hooks have nothing against the end of the run.
    may_stop: bool,
    /// The budgets allow the turn's model call.
    admitted: bool,
    /// What was reserved for it.
    reserved: Option<OpId>,
    /// What was added to budgets before the start.
    extended: Vec<(BudgetScope, BudgetLimits, String)>,
}

/// Why a loop cannot be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A prompt has no content.
    #[error("a prompt message has no content or an empty block")]
    EmptyPrompt,
    /// A prompt is not a user or extension message.
    #[error("a prompt must be a user or extension message")]
    NotAPrompt,
    /// There is nothing for the model to answer.
    #[error(transparent)]
    NotSendable(#[from] NotSendable),
}

impl Run {
    /// A loop with new prompts, or a continuation when there are none, on top of a conversation.
    ///
    /// # Errors
    /// When a prompt is not one, or the model would have nothing to answer.
    pub fn new(
        config: Arc<RunConfig>,
        start: LoopStart,
        loop_index: u64,
        transcript: Transcript,
        prompts: Vec<AgentMessage>,
    ) -> Result<Self, StartError> {
        Self::check(&transcript, &prompts)?;
        let entry = Entry { prompts, ..Entry::default() };
        Ok(Self::assemble(config, start, loop_index, LoopState::new(transcript), entry))
    }

    /// Whether a loop can be started on a conversation with these prompts.
    ///
    /// # Errors
    /// When a prompt is not one, or the model would have nothing to answer.
    pub fn check(transcript: &Transcript, prompts: &[AgentMessage]) -> Result<(), StartError> {
        prompts.iter().try_for_each(Self::check_prompt)?;
        if !prompts.iter().any(|prompt| prompt.as_user().is_some()) {
            transcript.request()?;
        }
        Ok(())
    }

    /// Whether a message can be said to a model: as a prompt, as steering or as a follow-up.
    ///
    /// # Errors
    /// When it has the wrong role or an empty block.
    pub fn check_prompt(message: &AgentMessage) -> Result<(), StartError> {
        let AgentMessage::Llm(llm) = message else { return Ok(()) };
        let content = llm.message.content();
        if message.as_user().is_none() || content.iter().any(Content::is_reply_only) {
            return Err(StartError::NotAPrompt);
        }
        if content.is_empty() || content.iter().any(Content::is_empty) {
            return Err(StartError::EmptyPrompt);
        }
        Ok(())
    }

    fn assemble(
        config: Arc<RunConfig>,
        start: LoopStart,
        loop_index: u64,
        mut state: LoopState,
        entry: Entry,
    ) -> Self {
        if state.tracker.is_none() {
            state.track(&config);
        }
        if config.has_notes {
            state.read_notes();
        }
        if config.budget.is_shared {
            state.estimate_pending();
        }
        Self {
            config,
            start: Box::new(start),
            loop_index,
            state,
            memory: Arc::default(),
            activity: Activity::None,
            flights: Vec::new(),
            entry,
            ahead: None,
            deadline: None,
            recovered: false,
            minter: Minter::default(),
            now: Timestamp::default(),
            candidate: 0,
            next_op: 0,
            out: VecDeque::new(),
        }
    }

    /// What the session remembered before this loop comes along.
    pub fn remember(&mut self, memory: Arc<SessionMemory>) {
        self.memory = memory;
    }

    /// What the session remembers besides its conversation.
    pub const fn memory(&self) -> &Arc<SessionMemory> {
        &self.memory
    }

    /// Messages left in the queues by an earlier loop come along; their content is journaled already.
    pub fn carry_over(&mut self, queue: QueueKind, message: SharedMessage) {
        self.state.queue_mut(queue).push_back(message);
    }

    /// Takes in what happened and decides what is next. Read the effects with [`Run::next_effect`]. Before
    /// [`Input::Begin`] nothing is started; messages may be queued already.
    pub fn handle(&mut self, input: Input, stamp: Stamp) {
        self.minter.stamp(stamp);
        self.now = self.now.max(stamp.now);
        if self.is_finished() {
            return;
        }
        match input {
            Input::Begin => self.entry.begun = true,
            Input::HookAnswered { proceed } => self.on_hook(proceed),
            Input::Filtered(filtered) => self.on_filtered(filtered),
            Input::Model { op, signal } => self.on_model(op, signal),
            Input::Timer { op } => self.on_timer(op),
            Input::Compacted { op, compacted } => self.on_compacted(op, compacted),
            Input::Told { op, answer } => self.on_told(op, answer),
            Input::Consulted { op, notes } => self.on_consulted(op, notes),
            Input::Halt { reason } => self.on_halt(reason),
            Input::Admitted { op, admission } => self.on_admitted(op, admission),
            Input::ToolAdmitted { call, args, refused } => self.on_tool_admitted(&call, args, refused),
            Input::BudgetAnswered { request, more, by } => self.on_budget_answered(request, more, by),
            Input::BudgetExtended { scope, limits, by } => self.on_extended(scope, limits, by),
            Input::Authorized { call, verdict } => self.on_authorized(&call, verdict),
            Input::PermissionAnswered { request, decision } => self.on_permission(request, decision),
            Input::ToolFinished { call, result } => self.on_tool_finished(&call, result),
            Input::Queued { queue, message } => self.on_queued(queue, message),
            Input::Pin { message, pinned } => {
                self.record(AgentEvent::MessagePinned { message_id: message, pinned });
            }
            Input::Cancel => self.on_cancel(),
        }
        if self.entry.begun {
            self.advance();
        }
    }

    /// The next effect to perform, in order.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.out.pop_front()
    }

    /// True once `AgentEnd` is recorded.
    pub const fn is_finished(&self) -> bool {
        self.state.ended.is_some()
    }

    /// The loop's id.
    pub const fn loop_id(&self) -> &LoopId {
        &self.start.loop_id
    }

    /// What began with this loop.
    pub const fn start(&self) -> &LoopStart {
        &self.start
    }

    /// The conversation as recorded so far.
    pub const fn transcript(&self) -> &Transcript {
        &self.state.transcript
    }

    /// What the loop used so far.
    pub const fn usage(&self) -> &Usage {
        &self.state.usage
    }

    /// Tokens the next request will take, as far as anybody knows; `None` when no window is configured.
    pub fn context_tokens(&self) -> Option<u64> {
        self.state.tracker.as_ref().map(|tracker| tracker.used())
    }

    /// Turns begun so far.
    pub const fn turns(&self) -> u32 {
        self.state.turns
    }

    /// Permission requests that wait for an answer.
    pub fn pending_permissions(&self) -> impl Iterator<Item = &Arc<crate::permission::PermissionRequest>> {
        self.state.pending_permissions()
    }

    /// Ends the run's use: the conversation and what is still queued, for the next loop.
    pub fn into_parts(self) -> RunParts {
        let Self { state, start, .. } = self;
        let tip = state.tip.or(start.base);
        RunParts {
            transcript: state.transcript,
            tip,
            steering: state.steering,
            follow_up: state.follow_up,
            memory: self.memory,
        }
    }

    fn op(&mut self) -> OpId {
        self.next_op += 1;
        OpId(self.next_op)
    }

    fn message_id(&mut self) -> MessageId {
        MessageId::new(self.minter.uuid())
    }

    fn turn_id(&self) -> Option<TurnId> {
        let turn = self.state.turn.as_ref()?;
        Some(TurnId { loop_id: self.start.loop_id.clone(), turn_index: turn.index })
    }

    /// An event of this loop that only live observers see, made outside of the machine (a tool's progress).
    pub fn live_record(&mut self, event: AgentEvent, stamp: Stamp) -> EventRecord {
        debug_assert!(!event.is_durable(), "durable events are recorded by the machine");
        self.minter.stamp(stamp);
        self.now = self.now.max(stamp.now);
        self.envelope(event)
    }

    fn envelope(&mut self, event: AgentEvent) -> EventRecord {
        EventRecord {
            v: FORMAT_VERSION,
            seq: 0,
            id: EventId::new(self.minter.uuid()),
            timestamp: self.now,
            loop_id: Some(self.start.loop_id.clone()),
            event,
        }
    }

    /// Records an event: durable ones change the state, all go out in order.
    fn record(&mut self, event: AgentEvent) {
        let record = self.envelope(event);
        if record.is_durable() {
            self.state.apply(&record);
            Arc::make_mut(&mut self.memory).apply(&record);
        }
        self.out.push_back(Effect::Record(Box::new(record)));
    }

    /// Announces and records a complete message.
    fn record_message(&mut self, message: SharedMessage) {
        self.record(AgentEvent::MessageStart { message: MessageRef::resolved(Arc::clone(&message)) });
        self.record(AgentEvent::MessageEnd { message: Recorded::Full(message) });
    }

    fn on_queued(&mut self, queue: QueueKind, mut message: AgentMessage) {
        // A reply or an empty message in a queue would end up as the turn's reply or leave the model nothing to answer.
        if Self::check_prompt(&message).is_err() {
            return;
        }
        message.assign_id(|| self.message_id());
        self.stamp_message(&mut message);
        if planted(Planted::LosesSteering) && queue == QueueKind::Steering && !self.flights.is_empty() {
            return;
        }
        self.record(AgentEvent::MessageQueued { queue, message: Arc::new(message) });
    }

    fn stamp_message(&self, message: &mut AgentMessage) {
        if let AgentMessage::Llm(llm) = message {
            let at = llm.message.timestamp_mut();
            if at.as_millis() == 0 {
                *at = self.now;
            }
        }
    }
}

/// What remains of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunParts {
    /// The conversation.
    pub transcript: Transcript,
    /// The last message recorded, which the next loop names as its base.
    pub tip: Option<MessageId>,
    /// Steering that was not injected.
    pub steering: VecDeque<SharedMessage>,
    /// Follow-ups that were not injected.
    pub follow_up: VecDeque<SharedMessage>,
    /// What the session remembers.
    pub memory: Arc<SessionMemory>,
}
