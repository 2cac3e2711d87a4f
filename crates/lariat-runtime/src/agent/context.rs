//! The state of a conversation between loops: messages, identity, journal.
//!
//! Links the conversation in memory to the journal: which of its messages are journaled, and which message
//! the next loop continues from. Messages from outside are journaled before the first loop that uses them.

mod branches;
mod loaded_journal;
mod prompt;
mod records;
mod session_start;

use std::collections::VecDeque;
use std::sync::Arc;

use lariat_core::budget::{BudgetLimits, BudgetScope};
use lariat_core::event::{
    AgentEvent, CommandRecord, ContinuationKind, Description, Event, EventRecord, LoopStart, QueueKind,
    SessionFormation, SpawnRef,
};
use lariat_core::id::{AgentId, LoopId, MessageId, SessionId};
use lariat_core::ledger::Ledger;
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::permission::PermissionPolicy;
use lariat_core::run::{Run, StartError};
use lariat_core::session::{QueuedChange, SessionMemory};
use lariat_core::store::StoreError;
use lariat_core::time::Minter;
use lariat_core::transcript::{Transcript, Window};

pub(super) use branches::{BranchTask, Branches};
pub(super) use loaded_journal::LoadedJournal;
use session_start::SessionStartState;

use super::error::AgentError;
use super::loop_config::AgentLoopConfig;
use crate::drive::{FinishedRun, Journal, Ports, approvals};
use crate::prompt::PromptSlot;

/// A conversation with its identity and its journal, between loops.
#[derive(Debug)]
pub struct AgentContext {
    /// The agent's id.
    pub agent_id: AgentId,
    /// The parent of the next loop, if it is not the newest loop of this session: for sub-agents.
    pub parent_loop_id: Option<LoopId>,
    /// How the next loop continues the newest one; `None` starts from a new prompt.
    pub continuation_kind: Option<ContinuationKind>,
    /// The tool call that spawned this agent, for sub-agents.
    pub spawned_by: Option<SpawnRef>,
    /// Application-defined data, recorded with the next loop.
    pub metadata: Option<serde_json::Value>,
    pub(super) journal: Arc<Journal>,
    pub(super) transcript: Transcript,
    base: Option<MessageId>,
    pub(super) unrecorded: Vec<SharedMessage>,
    /// Messages that an earlier loop journaled and never injected.
    queued: VecDeque<(QueueKind, SharedMessage)>,
    /// Budget extensions for the next loop.
    budget_extensions: Vec<(BudgetScope, BudgetLimits)>,
    /// Queued messages that are not journaled yet.
    unsent: Vec<(QueueKind, AgentMessage)>,
    loops: u64,
    pub(super) last_loop_id: Option<LoopId>,
    /// What the session remembers besides its conversation.
    pub(super) memory: Arc<SessionMemory>,
    /// Whether the policy knows the user's earlier decisions.
    policy_informed: bool,
    /// Whether the journal may contain more than this; if so, it is read before the next loop.
    stale: bool,
    session_start: SessionStartState,
    /// The session's own system prompt, once it is assembled.
    prompt: PromptSlot,
    /// Session events to write together with the first event of the next loop.
    pending_records: Vec<EventRecord>,
    /// Why the session replaces another one, and which, until this is recorded.
    formation: Option<(SessionFormation, SessionId)>,
    /// A command to record with the first event that it causes.
    accepted: Option<Box<CommandRecord>>,
}

impl AgentContext {
    /// Creates the conversation of a session. Existing events are read from the journal before the first
    /// loop.
    pub fn new(agent_id: AgentId, journal: Arc<Journal>) -> Self {
        Self {
            agent_id,
            parent_loop_id: None,
            continuation_kind: None,
            spawned_by: None,
            metadata: None,
            journal,
            transcript: Transcript::new(),
            base: None,
            unrecorded: Vec::new(),
            queued: VecDeque::new(),
            budget_extensions: Vec::new(),
            unsent: Vec::new(),
            loops: 0,
            last_loop_id: None,
            memory: Arc::default(),
            policy_informed: false,
            stale: true,
            session_start: SessionStartState::default(),
            prompt: PromptSlot::default(),
            pending_records: Vec::new(),
            formation: None,
            accepted: None,
        }
    }

    /// Loads the conversation from a journal, as its newest loop left it.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn load(agent_id: AgentId, journal: Arc<Journal>) -> Result<Self, StoreError> {
        let mut context = Self::new(agent_id, journal);
        context.read().await?;
        Ok(context)
    }

    /// Updates this context from the journal. Messages from outside that are not journaled yet stay the
    /// conversation.
    pub(super) async fn read(&mut self) -> Result<LoadedJournal, StoreError> {
        let loaded = LoadedJournal::read(&self.journal).await?;
        let LoadedJournal { fold, snapshot, events } = &loaded;
        if self.unrecorded.is_empty() {
            self.base = fold.tip();
            (self.transcript, _) = fold.conversation(self.base);
        }
        // A failed run returns messages that it may or may not have saved.
        self.unsent.retain(|(_, message)| !loaded.has_message(message.id()));
        self.queued = fold.queued_messages().map(|(queue, message)| (queue, Arc::clone(message))).collect();
        let before = snapshot.as_ref().map_or(0, |snapshot| snapshot.loops);
        // The loops of a sub-agent count from 1.
        let first = u64::from(self.spawned_by.is_some());
        self.loops = count_loop_numbers(events).max(before).max(first);
        self.last_loop_id = fold.last_loop().map(|start| start.loop_id.clone());
        self.stale = fold.open_loops().next().is_some() || !fold.memory().groups().is_empty();
        self.memory = Arc::new(fold.memory().clone());
        self.policy_informed = false;
        Ok(loaded)
    }

    /// Shows the conversation as the store has it, without claiming the session. The next loop reads it
    /// again.
    pub(super) async fn read_unclaimed(&mut self) -> Result<(), StoreError> {
        if self.stale && self.unrecorded.is_empty() {
            let LoadedJournal { fold, .. } = LoadedJournal::read_unclaimed(&self.journal).await?;
            (self.transcript, _) = fold.conversation(fold.tip());
        }
        Ok(())
    }

    /// After a failed run, shows the conversation as the store has it, or else as it was before the run.
    pub(super) async fn reload_after_failure(&mut self, before: &Window) {
        if self.stale && self.unrecorded.is_empty() && self.read_unclaimed().await.is_err() {
            (self.transcript, _) = Transcript::repair(before.iter().cloned());
        }
    }

    /// Passes the user's earlier decisions in this session to the policy.
    pub(super) fn inform_policy(&mut self, policy: &dyn PermissionPolicy) {
        if !std::mem::replace(&mut self.policy_informed, true) {
            self.memory.answers().iter().for_each(|answered| approvals::deliver(policy, answered));
        }
    }

    /// Reads the journal if another process may have written to it.
    pub(super) async fn refresh(&mut self) -> Result<(), BeginError> {
        self.journal.open().await?;
        if !self.stale {
            return Ok(());
        }
        // Boxed: otherwise the future of every run would reserve space for it.
        let loaded = Box::pin(self.read()).await?;
        let undecided = loaded.fold.memory().groups().iter().find_map(|group| group.branches.first());
        let undecided = undecided.map(|branch| &branch.loop_id);
        let open = loaded.fold.open_loops().next().map(|open| &open.loop_id);
        open.or(undecided).map_or(Ok(()), |open| Err(BeginError::Interrupted(open.clone())))
    }

    /// Makes the next loop read the journal first.
    pub(super) const fn mark_stale(&mut self) {
        self.stale = true;
    }

    /// Drops messages from outside that are not journaled: the conversation becomes what the journal says.
    pub(super) fn drop_unrecorded(&mut self) {
        self.unrecorded.clear();
    }

    /// The id of the session.
    pub fn session_id(&self) -> &SessionId {
        self.journal.session_id()
    }

    /// The journal of the session.
    pub const fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// The conversation as the model sees it.
    pub fn messages(&self) -> Window {
        self.transcript.window()
    }

    /// Replaces the conversation with messages from outside, and repairs inconsistencies. They are journaled
    /// with the next loop.
    pub fn replace_messages(&mut self, messages: Vec<AgentMessage>, ports: &Ports) {
        let mut minter = Minter::default();
        minter.stamp(ports.stamp());
        let named = |mut message: AgentMessage| {
            message.assign_id(|| MessageId::new(minter.uuid()));
            Arc::new(message)
        };
        let messages: Vec<SharedMessage> = messages.into_iter().map(named).collect();
        (self.transcript, _) = Transcript::repair(messages.iter().cloned());
        self.base = None;
        self.unrecorded = messages;
    }

    /// Goes back to the last user message, where a rerun or a branch starts.
    fn rewind_to_last_prompt(&mut self) {
        let window = self.transcript.window();
        let after = window.iter_back().take_while(|message| message.as_user().is_none()).count();
        if after == 0 || after == window.len() {
            return;
        }
        let kept: Vec<SharedMessage> = window.iter().take(window.len() - after).cloned().collect();
        if self.unrecorded.is_empty() {
            self.base = kept.last().map(|message| message.id());
        } else {
            self.unrecorded.clone_from(&kept);
        }
        (self.transcript, _) = Transcript::repair(kept);
    }

    /// Queues a message for the next loop.
    pub(super) fn queue(&mut self, queue: QueueKind, message: AgentMessage) {
        self.unsent.push((queue, message));
    }

    /// Extends budgets for the next loop.
    pub(super) fn extend_budgets(&mut self, more: Vec<(BudgetScope, BudgetLimits)>) {
        self.budget_extensions.extend(more);
    }

    /// Takes the budget extensions for the next loop.
    pub(super) fn take_budget_extensions(&mut self) -> Vec<(BudgetScope, BudgetLimits)> {
        std::mem::take(&mut self.budget_extensions)
    }

    /// Returns who spent what in this session, according to the journal.
    pub(super) async fn ledger(&mut self) -> Result<Ledger, BeginError> {
        self.refresh().await?;
        Ok(self.memory.ledger().clone())
    }

    /// Takes the messages queued for the next loop.
    pub(super) fn take_unsent(&mut self) -> Vec<(QueueKind, AgentMessage)> {
        std::mem::take(&mut self.unsent)
    }

    /// Queues messages again that a failed run did not read.
    pub(super) fn requeue(&mut self, unread: Vec<(QueueKind, AgentMessage)>) {
        self.unsent.extend(unread);
    }

    /// Journals messages from outside and creates the next run. From here until [`AgentContext::end`], only
    /// the journal has the conversation: after an error, or if the run's future was dropped, the context is
    /// read again.
    pub(super) async fn begin(
        &mut self,
        config: &AgentLoopConfig,
        prompts: Vec<AgentMessage>,
        kind: Option<ContinuationKind>,
    ) -> Result<Box<Run>, BeginError> {
        self.refresh().await?;
        self.inform_policy(&*config.ports.policy);
        if kind.as_ref().is_some_and(|kind| *kind != ContinuationKind::Default) {
            self.rewind_to_last_prompt();
        }
        Run::check(&self.transcript, &prompts)?;
        self.prepare_loop(config, &prompts).await?;
        let loop_id = LoopId::compose(self.session_id(), &config.config_id, self.loops);
        let mut start = self.loop_start(config, loop_id, kind);
        start.metadata = self.metadata.take();
        let transcript = std::mem::take(&mut self.transcript);
        let mut run = Run::new(self.run_config(config), start, self.loops, transcript, prompts)?;
        // The run owns it until it ends; if the run does not return it, the journal is read again.
        run.remember(std::mem::take(&mut self.memory));
        for (queue, message) in self.queued.drain(..) {
            run.queue_earlier_message(queue, message);
        }
        self.loops += 1;
        Ok(Box::new(run))
    }

    /// Records what the journal must have before the next loop. From here on, only the journal has the conversation.
    async fn prepare_loop(
        &mut self,
        config: &AgentLoopConfig,
        prompts: &[AgentMessage],
    ) -> Result<(), StoreError> {
        self.stale = true;
        self.pending_records.clear();
        if let Some((formation, previous)) = self.formation.clone().filter(|_| self.journal.next_seq() == 0) {
            let formed = AgentEvent::SessionFormed { formation, previous: Some(previous) };
            self.record_first(config, formed);
        }
        if let Some(description) = config.description.as_ref().filter(|_| self.journal.next_seq() == 0) {
            let described = AgentEvent::SessionDescribed(Box::new(Description::clone(description)));
            self.record_first(config, described);
        }
        self.record_imports(config).await?;
        // Boxed: otherwise the future of every run would reserve space for it.
        Box::pin(self.assemble_prompt(config, prompts)).await;
        Ok(())
    }

    fn loop_start(
        &self,
        config: &AgentLoopConfig,
        loop_id: LoopId,
        kind: Option<ContinuationKind>,
    ) -> LoopStart {
        let mut start = LoopStart::new(self.agent_id.clone(), self.session_id().clone(), loop_id);
        let newest = self.last_loop_id.as_ref().filter(|_| kind.is_some());
        start.parent_loop_id = self.parent_loop_id.as_ref().or(newest).cloned();
        start.continuation_kind = kind;
        start.base = self.base;
        start.spawned_by.clone_from(&self.spawned_by);
        start.config = Some(config.snapshot());
        start
    }

    /// Takes the first queued message, to prompt with it. Its record as a prompt removes it from the queue.
    pub(super) async fn take_queued(&mut self) -> Result<AgentMessage, AgentError> {
        self.refresh().await?;
        let (_, message) = self.queued.pop_front().ok_or(AgentError::QueueEmpty)?;
        Ok(AgentMessage::clone(&message))
    }

    /// Returns the queued changes that wait for a decision, according to the journal.
    pub(super) async fn plan(&mut self) -> Result<&[QueuedChange], BeginError> {
        self.refresh().await?;
        Ok(self.memory.plan())
    }

    /// Updates this context with the result of a run.
    pub(super) fn end(&mut self, loop_id: LoopId, driven: FinishedRun) {
        let FinishedRun { parts, unread, hook_context_sent, .. } = driven;
        if hook_context_sent {
            self.forget_hook_context();
        }
        self.unsent.extend(unread);
        self.transcript = parts.transcript;
        self.base = parts.tip;
        self.memory = parts.memory;
        self.queued.extend(parts.steering.into_iter().map(|message| (QueueKind::Steering, message)));
        self.queued.extend(parts.follow_up.into_iter().map(|message| (QueueKind::FollowUp, message)));
        self.last_loop_id = Some(loop_id);
        self.parent_loop_id = None;
        self.continuation_kind = None;
        self.stale = false;
    }
}

/// Counts the loops that the journal names. This may exceed the number of loops that began: a loop that its
/// first hook stopped has only an end.
fn count_loop_numbers(events: &[Event]) -> u64 {
    let named = |event: &Event| match &event.event {
        AgentEvent::ParallelLoopStart { loop_ids, .. } => loop_ids.iter().filter_map(LoopId::number).max(),
        _ => event.loop_id.as_ref()?.number(),
    };
    events.iter().filter_map(named).max().map_or(0, |newest| newest + 1)
}

/// Why a loop did not begin.
pub(super) enum BeginError {
    Start(StartError),
    Store(StoreError),
    Interrupted(LoopId),
}

impl From<StartError> for BeginError {
    fn from(error: StartError) -> Self {
        Self::Start(error)
    }
}

impl From<StoreError> for BeginError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<BeginError> for super::AgentError {
    fn from(error: BeginError) -> Self {
        match error {
            BeginError::Start(error) => Self::Start(error),
            BeginError::Store(error) => Self::Store(error),
            BeginError::Interrupted(loop_id) => Self::Interrupted(loop_id),
        }
    }
}
