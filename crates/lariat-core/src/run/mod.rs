//! The agent loop as a pure state machine: inputs in, effects out.
//!
//! [`Run`] is one loop. Its state is a fold over the events it recorded (`state.rs`), plus the operations
//! that are pending (`Activity`, `CallActivity`). After every input it decides the next step from that state.
//! Resuming after a crash is therefore not a special case: [`Run::recover`] reads the state from the journal
//! and the same code continues.
//!
//! Invariants: an effect comes after the records it depends on; a tool call is started only by
//! `ToolExecutionStart`, and at most once; `AgentEnd` is recorded exactly once; one step costs the same at
//! any length of the conversation.

mod assembly;
mod background_agents;
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
mod session_hooks;
mod session_snapshot;
mod snapshot;
mod state;
mod stop;
mod sub_agents;

use std::collections::VecDeque;
use std::sync::Arc;

pub use config::{FallbackModel, RunConfig, STALL_TIMEOUT, ToolTraits};
pub use effect::{Effect, HookCall, OpId, RunEnd};
pub use input::{FilterOutcome, Input, ModelSignal};
pub use recover::{RecoverError, RecoveredRun};
pub use session_snapshot::{BranchSnapshot, GroupBase, LoopStartWithId, SessionSnapshot, ViewSnapshot};
pub use snapshot::LoopSnapshot;
pub use sub_agents::SUB_AGENT_CONFIG;

use crate::budget::{BudgetLimits, BudgetScope, SpentAmounts};
use crate::content::Content;
use crate::event::{
    AgentEvent, EventRecord, FORMAT_VERSION, LoopStart, MessageRef, QueueKind, RecordedMessage,
};
use crate::hooks::LifecycleEventKind;
use crate::id::{EventId, LoopId, MessageId, TurnId};
use crate::message::{AgentMessage, SharedMessage};
use crate::session::SessionMemory;
use crate::time::{Minter, Stamp, Timestamp};
use crate::transcript::{NotSendable, Transcript};
use crate::usage::Usage;
use background_agents::BackgroundActivity;
pub(crate) use budget::{NO_CALLS_LEFT, SECTION as BUDGET_SECTION};
use calls::CallActivity;
pub(crate) use calls::{DENIED, SKIPPED_BY_HOOK};
use compaction::PreparedCompaction;
use reply::ModelCall;
use retry::Attempts;
pub(crate) use session_hooks::{hook_context, hook_note};
use state::LoopState;
pub(crate) use state::NOTE_PREFIX;

/// One run of the loop.
#[derive(Debug)]
pub struct Run {
    config: Arc<RunConfig>,
    start: Box<LoopStart>,
    loop_index: u64,
    state: LoopState,
    /// Session state besides the conversation, including this loop's events.
    memory: Arc<SessionMemory>,
    activity: Activity,
    call_activities: Vec<CallActivity>,
    /// The sub-agents in the background that this process runs.
    background: Vec<BackgroundActivity>,
    transient: TransientState,
    /// A compaction that is prepared while the run continues.
    prepared_compaction: Option<Box<PreparedCompaction>>,
    deadline: Option<OpId>,
    /// Index of the model to call: 0 for the configured one, then the fallbacks.
    candidate: usize,
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
    CallingHooks {
        op: OpId,
        kind: LifecycleEventKind,
    },
    RequestingNotes {
        op: OpId,
    },
    CountingTokens {
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
        attempts: Attempts,
    },
}

/// State of the run that is not recorded.
#[derive(Debug, Default)]
struct TransientState {
    begun: bool,
    prompts: Vec<AgentMessage>,
    filtered: bool,
    turn_hook_passed: bool,
    /// The provider was asked for a token count in this turn.
    count_requested: bool,
    /// Compaction was prepared in this turn.
    compaction_requested: bool,
    /// The run waited for compaction in this turn.
    waited_for_compaction: bool,
    /// The context source was asked in this turn.
    notes_requested: bool,
    /// Hooks accept the end of the run.
    may_stop: bool,
    /// Hooks know that the run fails.
    failure_reported: bool,
    /// The budgets allow the turn's model call.
    admitted: bool,
    /// The reservation for the model call.
    reserved: Option<OpId>,
    /// Budget extensions from before the start.
    early_extensions: Vec<(BudgetScope, BudgetLimits, String)>,
    /// What sub-agents spent whose end is not recorded yet.
    sub_agents_spent: SpentAmounts,
}

/// Why a loop cannot start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A prompt has no content.
    #[error("a prompt message has no content or an empty block")]
    EmptyPrompt,
    /// A prompt is not a user or extension message.
    #[error("a prompt must be a user or extension message")]
    NotAPrompt,
    /// The model has nothing to answer.
    #[error(transparent)]
    NotSendable(#[from] NotSendable),
}

impl Run {
    /// Creates a loop with new prompts, or a continuation if there are none, after a conversation.
    ///
    /// # Errors
    /// Fails if a prompt is invalid or the model would have nothing to answer.
    pub fn new(
        config: Arc<RunConfig>,
        start: LoopStart,
        loop_index: u64,
        transcript: Transcript,
        prompts: Vec<AgentMessage>,
    ) -> Result<Self, StartError> {
        Self::check(&transcript, &prompts)?;
        let transient = TransientState { prompts, ..TransientState::default() };
        Ok(Self::assemble(config, start, loop_index, LoopState::new(transcript), transient))
    }

    /// Checks whether a loop can start on a conversation with these prompts.
    ///
    /// # Errors
    /// Fails if a prompt is invalid or the model would have nothing to answer.
    pub fn check(transcript: &Transcript, prompts: &[AgentMessage]) -> Result<(), StartError> {
        prompts.iter().try_for_each(Self::check_prompt)?;
        if !prompts.iter().any(|prompt| prompt.as_user().is_some()) {
            transcript.request()?;
        }
        Ok(())
    }

    /// Checks whether a message can be a prompt, steering or a follow-up.
    ///
    /// # Errors
    /// Fails if the message has the wrong role or an empty block.
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
        transient: TransientState,
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
            call_activities: Vec::new(),
            background: Vec::new(),
            transient,
            prepared_compaction: None,
            deadline: None,
            minter: Minter::default(),
            now: Timestamp::default(),
            candidate: 0,
            next_op: 0,
            out: VecDeque::new(),
        }
    }

    /// Sets the session state from before this loop.
    pub fn remember(&mut self, memory: Arc<SessionMemory>) {
        self.memory = memory;
    }

    /// Returns the session state besides the conversation.
    pub const fn memory(&self) -> &Arc<SessionMemory> {
        &self.memory
    }

    /// Adds a message that an earlier loop left in its queue; its content is already in the journal.
    pub fn queue_earlier_message(&mut self, queue: QueueKind, message: SharedMessage) {
        self.state.queue_mut(queue).push_back(message);
    }

    /// Processes an input and decides the next steps. Read the effects with [`Run::next_effect`]. Nothing
    /// starts before [`Input::Begin`], but messages may be queued.
    pub fn handle(&mut self, input: Input, stamp: Stamp) {
        self.minter.stamp(stamp);
        self.now = self.now.max(stamp.now);
        if self.is_finished() {
            return;
        }
        match input {
            Input::Begin => self.transient.begun = true,
            Input::HookAnswered { proceed } => self.on_hook_answered(proceed),
            Input::Filtered(filtered) => self.on_filtered(filtered),
            Input::Model { op, signal } => self.on_model(op, signal),
            Input::Timer { op } => self.on_timer(op),
            Input::Compacted { op, compacted } => self.on_compacted(op, compacted),
            Input::HooksAnswered { op, answer } => self.on_hooks_answered(op, answer),
            Input::Consulted { op, notes } => self.on_notes(op, notes),
            Input::Counted { op, tokens } => self.on_counted(op, tokens),
            Input::Halt { reason } => self.on_halt(reason),
            Input::Admitted { op, admission } => self.on_admitted(op, admission),
            Input::ToolAdmitted { call, args, refused } => self.on_tool_admitted(&call, args, refused),
            Input::BudgetAnswered { request, more, by } => self.on_budget_answered(request, more, by),
            Input::BudgetExtended { scope, limits, by } => self.on_extended(scope, limits, by),
            Input::Authorized { call, verdict } => self.on_authorized(&call, verdict),
            Input::PermissionAnswered { request, decision } => self.on_permission(request, decision),
            Input::ToolAsked { call, request } => self.on_tool_asked(&call, *request),
            Input::ToolFinished { call, result } => self.on_tool_finished(&call, result),
            Input::Queued { queue, message } => self.on_queued(queue, message),
            Input::Pin { message, pinned } => {
                self.record(AgentEvent::MessagePinned { message_id: message, pinned });
            }
            Input::Unqueue { message } if self.state.is_queued(message) => {
                self.record(AgentEvent::MessageUnqueued { message_id: message });
            }
            Input::Unqueue { .. } => {}
            Input::Note { event } => self.record(*event),
            Input::Observed { event } => self.on_observed(&event),
            Input::Cancel => self.on_cancel(),
        }
        if self.transient.begun {
            self.advance();
        }
    }

    /// Returns the next effect to perform, in order.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.out.pop_front()
    }

    /// Returns true once `AgentEnd` is recorded.
    pub const fn is_finished(&self) -> bool {
        self.state.ended.is_some()
    }

    /// Returns the id of the loop.
    pub const fn loop_id(&self) -> &LoopId {
        &self.start.loop_id
    }

    /// Returns the start of the loop.
    pub const fn start(&self) -> &LoopStart {
        &self.start
    }

    /// Returns the configuration of the run.
    pub const fn config(&self) -> &Arc<RunConfig> {
        &self.config
    }

    /// Returns the conversation as recorded so far.
    pub const fn transcript(&self) -> &Transcript {
        &self.state.transcript
    }

    /// Returns the usage of the loop so far.
    pub const fn usage(&self) -> &Usage {
        &self.state.usage
    }

    /// Returns the best estimate of the tokens of the next request; `None` if no context window is
    /// configured.
    pub fn context_tokens(&self) -> Option<u64> {
        self.state.tracker.as_ref().map(|tracker| tracker.used_tokens())
    }

    /// Returns the number of turns started so far.
    pub const fn turns(&self) -> u32 {
        self.state.turns
    }

    /// Returns permission requests that wait for an answer.
    pub fn pending_permissions(&self) -> impl Iterator<Item = &Arc<crate::permission::PermissionRequest>> {
        self.state.pending_permissions()
    }

    /// Returns whether a message waits in a queue of this run.
    pub fn is_queued(&self, message: MessageId) -> bool {
        self.state.is_queued(message)
    }

    /// Returns the request for more budget that waits for an answer.
    pub fn pending_budget_request(&self) -> Option<crate::id::RequestId> {
        self.state.budget.asked.as_ref().map(|asked| asked.id)
    }

    /// Consumes the run and returns the conversation and the queued messages for the next loop.
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

    /// Creates the record of a live event that comes from outside the machine, for example the progress of a
    /// tool.
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

    /// Records an event: a durable one changes the state, and all are emitted in order.
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
        self.record(AgentEvent::MessageEnd { message: RecordedMessage::Full(message) });
    }

    fn on_queued(&mut self, queue: QueueKind, mut message: AgentMessage) {
        // A reply in a queue would become the reply of the turn, and an empty message would leave the model
        // nothing to answer.
        if Self::check_prompt(&message).is_err() {
            return;
        }
        message.assign_id(|| self.message_id());
        self.stamp_message(&mut message);
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

/// What a finished run leaves for the next loop.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunParts {
    /// The conversation.
    pub transcript: Transcript,
    /// The last recorded message, which is the base of the next loop.
    pub tip: Option<MessageId>,
    /// Steering messages that were not delivered.
    pub steering: VecDeque<SharedMessage>,
    /// Follow-up messages that were not delivered.
    pub follow_up: VecDeque<SharedMessage>,
    /// Session state besides the conversation.
    pub memory: Arc<SessionMemory>,
}

#[cfg(test)]
mod tests;
