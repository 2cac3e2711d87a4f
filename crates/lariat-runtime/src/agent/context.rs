//! What a loop starts from and leaves behind: conversation, identity, journal.
//!
//! Owns the link between the conversation in memory and the journal: which of its messages are journaled, and under
//! which base the next loop continues. Messages from outside are journaled before the first loop that uses them.

mod prompt;

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::{Either, select};
use lariat_core::budget::{BudgetLimits, BudgetScope, Ledger};
use lariat_core::cancel::CancellationToken;
use lariat_core::event::{
    AgentEvent, ContinuationKind, Description, Event, EventRecord, FORMAT_VERSION, LoopConfigSnapshot,
    LoopStart, QueueKind, SpawnRef,
};
use lariat_core::hooks::{Moment, MomentKind, SessionSource};
use lariat_core::id::{AgentId, EventId, LoopId, MessageId, SessionId, ToolCallId};
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::permission::PermissionPolicy;
use lariat_core::run::{Run, RunConfig, StartError};
use lariat_core::session::{QueuedChange, SessionFold, SessionMemory, SessionSnapshot};
use lariat_core::store::StoreError;
use lariat_core::time::Minter;
use lariat_core::transcript::{Transcript, Window};

use crate::drive::moments::{self, Opening};
use crate::drive::questions;
use crate::drive::{Driven, Journal, Ports};
use crate::prompt::PromptSlot;

/// What a loop is run with. Shared between loops.
#[derive(Clone, Debug)]
pub struct AgentLoopConfig {
    /// The world.
    pub ports: Arc<Ports>,
    /// Tuning.
    pub run: Arc<RunConfig>,
    /// The `{config}` segment of loop ids.
    pub config_id: Arc<str>,
    /// What a session is about: journaled with the first loop of one that is new.
    pub description: Option<Arc<Description>>,
}

impl AgentLoopConfig {
    /// Fits a configuration to its ports. Without a `config_id` one is derived from provider, model and thinking level.
    pub fn new(ports: Ports, run: RunConfig, config_id: Option<String>) -> Self {
        let run = Arc::new(ports.run_config(run));
        let config_id = config_id.unwrap_or_else(|| derive_config_segment(&ports)).into();
        Self { ports: Arc::new(ports), run, config_id, description: None }
    }

    fn snapshot(&self) -> Arc<LoopConfigSnapshot> {
        let request = &self.ports.request;
        let model = &request.model_config;
        let mut snapshot = LoopConfigSnapshot::default();
        snapshot.model.clone_from(&model.id);
        snapshot.name.clone_from(&model.name);
        snapshot.provider = self.ports.provider_name(model);
        snapshot.config_id = self.config_id.to_string();
        snapshot.api.clone_from(&model.api);
        snapshot.base_url = model.place();
        snapshot.reasoning = model.reasoning;
        snapshot.context_window = model.context_window;
        snapshot.max_tokens = request.max_tokens.or(model.max_tokens);
        snapshot.thinking_level = request.thinking_level;
        snapshot.temperature = request.temperature;
        Arc::new(snapshot)
    }
}

/// `{provider}-{model}-{thinking}` in characters that are safe in an id.
fn derive_config_segment(ports: &Ports) -> String {
    let model = &ports.request.model_config;
    let raw = format!("{}-{}-{:?}", ports.provider_name(model), model.id, ports.request.thinking_level);
    raw.chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '_' })
        .collect()
}

/// A conversation with its identity and its journal, between loops.
#[derive(Debug)]
pub struct AgentContext {
    /// The agent.
    pub agent_id: AgentId,
    /// The loop the next one is a child of, when that is not the newest one of this session: for sub-agents.
    pub parent_loop_id: Option<LoopId>,
    /// How the next loop continues the newest one; `None` for an origin call.
    pub continuation_kind: Option<ContinuationKind>,
    /// The call that spawned this agent, for sub-agents.
    pub spawned_by: Option<SpawnRef>,
    /// Application-defined, recorded with the next loop.
    pub metadata: Option<serde_json::Value>,
    pub(super) journal: Arc<Journal>,
    pub(super) transcript: Transcript,
    base: Option<MessageId>,
    pub(super) unrecorded: Vec<SharedMessage>,
    /// Journaled by an earlier loop and never injected.
    queued: VecDeque<(QueueKind, SharedMessage)>,
    /// More that may be spent, told to the next loop.
    extended: Vec<(BudgetScope, BudgetLimits)>,
    /// Not journaled yet.
    unsent: Vec<(QueueKind, AgentMessage)>,
    loops: u64,
    last_loop_id: Option<LoopId>,
    /// What the session remembers besides its conversation.
    pub(super) memory: Arc<SessionMemory>,
    /// The policy knows the answers among that.
    told: bool,
    /// The journal may hold more than this: it is read before the next loop.
    stale: bool,
    greeting: Greeting,
    /// The session's own system prompt, once it is known.
    prompt: PromptSlot,
    /// Events of the session that are written with the first of the loop that begins.
    first: Vec<EventRecord>,
}

/// How far the beginning of the session was told to its hooks.
#[derive(Debug, Default)]
struct Greeting {
    told: bool,
    /// It is a new one, after another was left.
    cleared: bool,
    /// What hooks said that the model was not told yet.
    remarks: Vec<String>,
}

impl AgentContext {
    /// The conversation of a session. What its journal holds already is read before the first loop.
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
            extended: Vec::new(),
            unsent: Vec::new(),
            loops: 0,
            last_loop_id: None,
            memory: Arc::default(),
            told: false,
            stale: true,
            greeting: Greeting::default(),
            prompt: PromptSlot::default(),
            first: Vec::new(),
        }
    }

    /// The conversation a journal tells of, where its newest loop left it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn load(agent_id: AgentId, journal: Arc<Journal>) -> Result<Self, StoreError> {
        let mut context = Self::new(agent_id, journal);
        context.read().await?;
        Ok(context)
    }

    /// Takes over what the journal says. Messages from outside that are not journaled yet stay the conversation.
    pub(super) async fn read(&mut self) -> Result<Journaled, StoreError> {
        let journaled = Journaled::read(&self.journal).await?;
        let Journaled { fold, snapshot, events } = &journaled;
        if self.unrecorded.is_empty() {
            self.base = fold.tip();
            (self.transcript, _) = fold.conversation(self.base);
        }
        // A run that failed gives back what it may or may not have saved.
        self.unsent.retain(|(_, message)| !journaled.has_message(message.id()));
        self.queued = fold.queued().map(|(queue, message)| (queue, Arc::clone(message))).collect();
        let before = snapshot.as_ref().map_or(0, |snapshot| snapshot.loops);
        self.loops = loops_named(events).max(before);
        self.last_loop_id = fold.last_loop().map(|start| start.loop_id.clone());
        self.stale = fold.open_loops().next().is_some();
        self.memory = Arc::new(fold.memory().clone());
        self.told = false;
        Ok(journaled)
    }

    /// Shows the conversation as the store has it, without claiming the session. The next loop reads it again.
    pub(super) async fn look(&mut self) -> Result<(), StoreError> {
        if self.stale && self.unrecorded.is_empty() {
            let Journaled { fold, .. } = Journaled::look(&self.journal).await?;
            (self.transcript, _) = fold.conversation(fold.tip());
        }
        Ok(())
    }

    /// After a run that failed: the conversation as the store has it, or as it was before.
    pub(super) async fn look_again(&mut self, before: &Window) {
        if self.stale && self.unrecorded.is_empty() && self.look().await.is_err() {
            (self.transcript, _) = Transcript::repaired(before.iter().cloned());
        }
    }

    /// Tells a policy what people answered in this session before.
    pub(super) fn tell_answers(&mut self, policy: &dyn PermissionPolicy) {
        if !std::mem::replace(&mut self.told, true) {
            self.memory.answers().iter().for_each(|answered| questions::tell(policy, answered));
        }
    }

    /// A session after another was left.
    pub(super) fn cleared(mut self) -> Self {
        self.greeting.cleared = true;
        self
    }

    /// Lets hooks be told again that the session begins, with the next loop.
    pub(super) const fn greet_again(&mut self) {
        self.greeting.told = false;
    }

    /// Tells hooks that the session begins, if that was not done yet. Cancelling ends the wait.
    pub(super) async fn greet(&mut self, ports: &Ports, cancel: &CancellationToken) -> Opening {
        let mut stop = None;
        if !self.greeting.told && moments::wanted(ports, MomentKind::SessionStart) {
            let source = match self.journal.next_seq() {
                0 if self.greeting.cleared => SessionSource::Clear,
                0 => SessionSource::Startup,
                _ => SessionSource::Resume,
            };
            // In a box: every run would carry the room for it otherwise.
            let telling =
                Box::pin(moments::tell(ports, self.journal.session_id(), Moment::SessionStart { source }));
            if let Either::Left((answer, _)) = select(telling, cancel.cancelled()).await {
                self.greeting.told = true;
                self.greeting.remarks.extend(answer.context);
                stop = answer.stop;
            }
        }
        Opening { remarks: self.greeting.remarks.clone(), stop }
    }

    /// Reads the journal if somebody else may have written to it.
    pub(super) async fn refresh(&mut self) -> Result<(), BeginError> {
        self.journal.open().await?;
        if !self.stale {
            return Ok(());
        }
        // In a box: every run would carry the room for it otherwise.
        let journaled = Box::pin(self.read()).await?;
        journaled
            .fold
            .open_loops()
            .next()
            .map_or(Ok(()), |open| Err(BeginError::Interrupted(open.loop_id.clone())))
    }

    /// Lets the next loop begin with reading the journal.
    pub(super) const fn read_next_time(&mut self) {
        self.stale = true;
    }

    /// Forgets messages from outside that are not journaled: the conversation is what the journal says.
    pub(super) fn drop_unrecorded(&mut self) {
        self.unrecorded.clear();
    }

    /// The session.
    pub fn session_id(&self) -> &SessionId {
        self.journal.session_id()
    }

    /// The journal.
    pub const fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// The conversation.
    pub fn messages(&self) -> Window {
        self.transcript.window()
    }

    /// Replaces the conversation by messages from outside; they are journaled with the next loop. What does not fit
    /// is repaired.
    pub fn replace_messages(&mut self, messages: Vec<AgentMessage>, ports: &Ports) {
        let mut minter = Minter::default();
        minter.stamp(ports.stamp());
        let named = |mut message: AgentMessage| {
            message.assign_id(|| MessageId::new(minter.uuid()));
            Arc::new(message)
        };
        let messages: Vec<SharedMessage> = messages.into_iter().map(named).collect();
        (self.transcript, _) = Transcript::repaired(messages.iter().cloned());
        self.base = None;
        self.unrecorded = messages;
    }

    /// Goes back to the last user message, from where a rerun or a branch starts.
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
        (self.transcript, _) = Transcript::repaired(kept);
    }

    /// Queues a message for the next loop.
    pub(super) fn queue(&mut self, queue: QueueKind, message: AgentMessage) {
        self.unsent.push((queue, message));
    }

    /// Lets the next loop spend more.
    pub(super) fn extend_budgets(&mut self, more: Vec<(BudgetScope, BudgetLimits)>) {
        self.extended.extend(more);
    }

    /// More that the next loop may spend.
    pub(super) fn take_extended(&mut self) -> Vec<(BudgetScope, BudgetLimits)> {
        std::mem::take(&mut self.extended)
    }

    /// Who spent what, as the journal tells it.
    pub(super) async fn ledger(&mut self) -> Result<Ledger, BeginError> {
        self.refresh().await?;
        Ok(self.memory.ledger().clone())
    }

    /// What was queued for the next loop.
    pub(super) fn take_unsent(&mut self) -> Vec<(QueueKind, AgentMessage)> {
        std::mem::take(&mut self.unsent)
    }

    /// Gives back what a run that failed did not read.
    pub(super) fn take_back(&mut self, unread: Vec<(QueueKind, AgentMessage)>) {
        self.unsent.extend(unread);
    }

    /// Journals what came from outside, and makes the next run. Between here and [`AgentContext::end`] only the
    /// journal knows the conversation: after an error, or when the run's future was dropped, it is read again.
    pub(super) async fn begin(
        &mut self,
        config: &AgentLoopConfig,
        prompts: Vec<AgentMessage>,
        kind: Option<ContinuationKind>,
    ) -> Result<Box<Run>, BeginError> {
        self.refresh().await?;
        self.tell_answers(&*config.ports.policy);
        if kind.as_ref().is_some_and(|kind| *kind != ContinuationKind::Default) {
            self.rewind_to_last_prompt();
        }
        Run::check(&self.transcript, &prompts)?;
        self.stale = true;
        self.first.clear();
        if let Some(description) = config.description.as_ref().filter(|_| self.journal.next_seq() == 0) {
            let described = AgentEvent::SessionDescribed(Box::new(Description::clone(description)));
            self.record_first(config, described);
        }
        self.record_imports(config).await?;
        // In a box: every run would carry the room for it otherwise.
        Box::pin(self.assemble_prompt(config, &prompts)).await;
        let loop_id = LoopId::compose(self.session_id(), &config.config_id, self.loops);
        let mut start = LoopStart::new(self.agent_id.clone(), self.session_id().clone(), loop_id);
        let newest = self.last_loop_id.as_ref().filter(|_| kind.is_some());
        start.parent_loop_id = self.parent_loop_id.as_ref().or(newest).cloned();
        start.continuation_kind = kind;
        start.base = self.base;
        start.spawned_by.clone_from(&self.spawned_by);
        start.metadata = self.metadata.take();
        start.config = Some(config.snapshot());
        let transcript = std::mem::take(&mut self.transcript);
        let mut run = Run::new(self.run_config(config), start, self.loops, transcript, prompts)?;
        // The run has it as long as it goes; what the journal says counts if it does not come back.
        run.remember(std::mem::take(&mut self.memory));
        for (queue, message) in self.queued.drain(..) {
            run.carry_over(queue, message);
        }
        self.loops += 1;
        Ok(Box::new(run))
    }

    pub(super) async fn record_imports(&mut self, config: &AgentLoopConfig) -> Result<(), StoreError> {
        if self.unrecorded.is_empty() {
            return Ok(());
        }
        let imported = AgentEvent::MessagesImported { base: None, messages: self.unrecorded.clone() };
        self.record(config, imported).await?;
        self.base = self.unrecorded.last().map(|message| message.id());
        self.unrecorded.clear();
        Ok(())
    }

    /// Journals what a person or a program says about the session.
    pub(super) async fn say_about(
        &mut self,
        config: &AgentLoopConfig,
        event: AgentEvent,
    ) -> Result<(), BeginError> {
        self.refresh().await?;
        self.record(config, event).await?;
        Ok(())
    }

    /// Journals an event that belongs to no loop, and what waits before it.
    pub(super) async fn record(
        &mut self,
        config: &AgentLoopConfig,
        event: AgentEvent,
    ) -> Result<EventId, StoreError> {
        let record = self.remembered(config, event);
        let (never, id) = (CancellationToken::new(), record.id);
        let mut records = self.take_first();
        records.push(record);
        for event in self.journal.append(records, &never).await? {
            self.journal.hub().publish(event);
        }
        Ok(id)
    }

    /// Has an event that belongs to no loop written with the first of the loop that begins: one write less. A loop that
    /// fails before leaves the context stale, and whoever begins the next looks at the journal again.
    fn record_first(&mut self, config: &AgentLoopConfig, event: AgentEvent) {
        let record = self.remembered(config, event);
        self.first.push(record);
    }

    fn remembered(&mut self, config: &AgentLoopConfig, event: AgentEvent) -> EventRecord {
        let mut minter = Minter::default();
        let stamp = config.ports.stamp();
        minter.stamp(stamp);
        let (id, timestamp) = (EventId::new(minter.uuid()), stamp.now);
        let record = EventRecord { v: FORMAT_VERSION, seq: 0, id, timestamp, loop_id: None, event };
        Arc::make_mut(&mut self.memory).apply(&record);
        record
    }

    /// What is to be written first.
    pub(super) fn take_first(&mut self) -> Vec<EventRecord> {
        std::mem::take(&mut self.first)
    }

    /// Keeps what hooks said for the next prompt.
    pub(super) fn remark(&mut self, remarks: Vec<String>) {
        self.greeting.remarks.extend(remarks);
    }

    /// The changes that wait for a decision, as the journal tells them.
    pub(super) async fn plan(&mut self) -> Result<&[QueuedChange], BeginError> {
        self.refresh().await?;
        Ok(self.memory.plan())
    }

    /// Journals a decision about queued changes.
    pub(super) async fn decide(
        &mut self,
        config: &AgentLoopConfig,
        approved: Vec<ToolCallId>,
        rejected: Vec<ToolCallId>,
    ) -> Result<(), StoreError> {
        if approved.is_empty() && rejected.is_empty() {
            return Ok(());
        }
        self.record(config, AgentEvent::PlanDecided { approved, rejected }).await.map(drop)
    }

    /// Takes back what a run left.
    pub(super) fn end(&mut self, loop_id: LoopId, driven: Driven) {
        let Driven { parts, unread, remarked, .. } = driven;
        if remarked {
            self.greeting.remarks.clear();
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

/// What a journal says, read as far back as going on needs it.
pub(super) struct Journaled {
    pub(super) fold: SessionFold,
    pub(super) snapshot: Option<SessionSnapshot>,
    /// The events after the snapshot.
    pub(super) events: Vec<Event>,
}

impl Journaled {
    async fn read(journal: &Journal) -> Result<Self, StoreError> {
        if journal.open().await? == 0 {
            journal.note_open_loops(0);
            return Ok(Self { fold: SessionFold::default(), snapshot: None, events: Vec::new() });
        }
        let mut journaled = Self::folded(journal, journal.read_live().await?).await?;
        // This process holds the session from here on, so an import becomes its own.
        if let Some(import) = journaled.fold.memory().untaken().map(|import| import.import_id.clone()) {
            let taken = journal.take_over(&import).await?;
            journaled.fold = journaled.fold.then(&taken);
            journaled.events.extend(taken);
        }
        journal.note_open_loops(journaled.fold.open_loops().count());
        Ok(journaled)
    }

    /// The same without a claim.
    async fn look(journal: &Journal) -> Result<Self, StoreError> {
        Self::folded(journal, journal.look().await?).await
    }

    async fn folded(
        journal: &Journal,
        (snapshot, events): (Option<SessionSnapshot>, Vec<Event>),
    ) -> Result<Self, StoreError> {
        let fold = snapshot.as_ref().map_or_else(SessionFold::default, SessionFold::after);
        let mut journaled = Self { fold: fold.then(&events), snapshot, events };
        if journaled.fold.lacks_history() {
            let events = journal.read_from(0).await?;
            journaled = Self { fold: SessionFold::of(&events), snapshot: None, events };
        }
        journal.note_questions(journaled.fold.memory().questions());
        Ok(journaled)
    }

    /// Whether a message was written, in a queue or in the conversation.
    fn has_message(&self, id: MessageId) -> bool {
        let queued = |event: &Event| matches!(&event.event, AgentEvent::MessageQueued { message, .. } if message.id() == id);
        !id.is_nil() && (self.events.iter().any(queued) || self.fold.knows(id))
    }
}

/// How many loops the journal names. Not how many began: a loop that its first hook stopped has an end only.
fn loops_named(events: &[Event]) -> u64 {
    let number = |event: &Event| event.loop_id.as_ref()?.as_str().rsplit('.').next()?.parse::<u64>().ok();
    events.iter().filter_map(number).max().map_or(0, |newest| newest + 1)
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
