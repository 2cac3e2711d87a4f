//! The handle of an agent: starts runs, controls them and keeps the session between prompts.
//!
//! Holds the current context and knows whether a run has borrowed it. The handle is cheap to clone; all
//! clones are the same agent. Invariant: at most one run has the context at a time.

mod compaction;
mod session;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat_core::budget::{BudgetLimits, BudgetScope};
use lariat_core::cancel::CancellationToken;
use lariat_core::event::{QueueKind, SessionFormation};
use lariat_core::id::{AgentId, RequestId, SessionId};
use lariat_core::ledger::Ledger;
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::store::SessionStore;
use lariat_core::time::Timestamp;
use lariat_core::transcript::Window;
use uuid::Uuid;

use super::builder::AgentBuilder;
use super::context::AgentContext;
use super::error::AgentError;
use super::forward::EndSignal;
use super::launch::{Caller, LaunchTask, Watchers};
use super::loop_config::AgentLoopConfig;
use super::output::AgentOutput;
use super::plan::{Plan, PlanDecision};
use super::session_end::SessionEndNotice;
use super::stream::{Link, RunStream};
use crate::drive::{Journal, JournalConfig};
use crate::observe::Subscription;
use crate::prompt::PromptSlot;

/// An agent with a session. Build one with [`Agent::builder`].
///
/// | to … | call |
/// | --- | --- |
/// | run a prompt and wait for the result | [`run`](Self::run) |
/// | watch, approve, steer and cancel the run | [`stream`](Self::stream) |
/// | get the answer as a Rust type | `run_typed` (feature `typed`) |
/// | send a message to the active run | [`steer`](Self::steer), [`follow_up`](Self::follow_up) |
/// | resume a session after a crash | [`recover`](Self::recover) |
/// | show a session without resuming it | [`load`](Self::load) |
/// | carry out an approved plan | [`apply_plan`](Self::apply_plan) |
///
/// The methods that start with `prompt` or `continue_loop` are other names and forms of the same runs.
#[derive(Clone)]
pub struct Agent {
    pub(super) shared: Arc<SharedAgent>,
}

pub(super) struct SharedAgent {
    pub(super) config: AgentLoopConfig,
    store: Arc<dyn SessionStore>,
    journal_config: JournalConfig,
    agent_id: AgentId,
    pub(super) watchers: Watchers,
    event_queue: usize,
    #[cfg(feature = "typed")]
    pub(super) answer_retries: u32,
    state: Mutex<HandleState>,
}

pub(super) struct HandleState {
    /// `None` while a run has it.
    pub(super) context: Option<AgentContext>,
    pub(super) journal: Arc<Journal>,
    /// The session's own system prompt, once it is assembled.
    pub(super) prompt: PromptSlot,
    pub(super) running: Option<ActiveRun>,
    pub(super) waiting: VecDeque<(QueueKind, AgentMessage)>,
    /// Budget extensions for the next run.
    pub(super) budget_extensions: Vec<(BudgetScope, BudgetLimits)>,
    /// The conversation as it was before the run.
    pub(super) snapshot: Window,
    pub(super) last_active_at: Option<Timestamp>,
    /// A run of the session began, and its hooks were not yet notified that it ends.
    pub(super) begun: bool,
}

pub(super) struct ActiveRun {
    pub(super) link: Arc<Link>,
    pub(super) cancel: CancellationToken,
    pub(super) end_signal: EndSignal,
}

impl SharedAgent {
    /// Returns the notification that the session ends, if the session began and no notification was sent.
    fn session_end_notice(&self, state: &mut HandleState, reason: &'static str) -> Option<SessionEndNotice> {
        let begun = std::mem::take(&mut state.begun);
        begun.then(|| SessionEndNotice::new(&self.config.ports, state.journal.session_id(), reason))?
    }
}

impl Drop for SharedAgent {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session_end_notice) = self.session_end_notice(&mut state, "other") {
            session_end_notice.send_in_background();
        }
    }
}

/// The parts that the builder assembles an agent from.
pub(super) struct Parts {
    pub(super) config: AgentLoopConfig,
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) journal: JournalConfig,
    pub(super) agent_id: Option<AgentId>,
    pub(super) session_id: Option<SessionId>,
    /// The conversation to start from.
    pub(super) history: Vec<AgentMessage>,
    pub(super) watchers: Watchers,
    pub(super) event_queue: usize,
    #[cfg(feature = "typed")]
    pub(super) answer_retries: u32,
}

impl Agent {
    /// Starts building an agent.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    pub(super) fn assemble(parts: Parts) -> Self {
        let agent_id = parts.agent_id.unwrap_or_else(|| AgentId::from(Uuid::new_v4().to_string()));
        let session_id = parts.session_id.unwrap_or_else(new_session_id);
        let ports = &parts.config.ports;
        let journal = Arc::new(Journal::new(
            Arc::clone(&parts.store),
            session_id,
            Arc::clone(&ports.clock),
            Arc::clone(&ports.entropy),
            parts.journal,
        ));
        let mut context = AgentContext::new(agent_id.clone(), Arc::clone(&journal));
        if !parts.history.is_empty() {
            context.replace_messages(parts.history, ports);
        }
        let state = HandleState {
            prompt: context.prompt().clone(),
            context: Some(context),
            journal,
            running: None,
            waiting: VecDeque::new(),
            budget_extensions: Vec::new(),
            snapshot: Window::default(),
            last_active_at: None,
            begun: false,
        };
        Self {
            shared: Arc::new(SharedAgent {
                config: parts.config,
                store: parts.store,
                journal_config: parts.journal,
                agent_id,
                watchers: parts.watchers,
                event_queue: parts.event_queue,
                #[cfg(feature = "typed")]
                answer_retries: parts.answer_retries,
                state: Mutex::new(state),
            }),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, HandleState> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // Prompting

    /// Runs a prompt to its end.
    ///
    /// A tool call that needs approval is denied at once if the agent has no approver: the caller waits, so it
    /// cannot answer. Set one with [`AgentBuilder::approve_with`], or use [`Agent::stream`].
    ///
    /// # Errors
    /// If the agent is busy, or the run stopped before its end; [`AgentError::Failed`] if its model failed
    /// permanently.
    pub async fn run(&self, prompt: impl Into<AgentMessage>) -> Result<AgentOutput, AgentError> {
        self.start(LaunchTask::Prompt(vec![prompt.into()]), Caller::Waits, None)?.finish().await
    }

    /// Runs a prompt as a stream of events, with which you can answer approval requests, steer and cancel the
    /// run. If the run cannot be started, the stream is empty and [`RunStream::finish`] returns the error.
    pub fn stream(&self, prompt: impl Into<AgentMessage>) -> RunStream {
        self.start(LaunchTask::Prompt(vec![prompt.into()]), Caller::Watches, None)
            .unwrap_or_else(|error| self.failed_stream(error))
    }

    /// Resumes a loop of this session that a crash or a failing store interrupted. Returns `None` if there is
    /// none. In both cases, the agent has read the conversation afterwards. Call this first in a program that
    /// resumes a session.
    ///
    /// # Errors
    /// If the agent is busy, or the run stopped before its end; [`AgentError::Failed`] if its model failed
    /// permanently.
    pub async fn recover(&self) -> Result<Option<AgentOutput>, AgentError> {
        match self.start(LaunchTask::Recover, Caller::Waits, None)?.finish().await {
            Err(error) if error.is_nothing_to_recover() => Ok(None),
            output => output.map(Some),
        }
    }

    /// Like [`recover`](Self::recover), as a stream with the events of the resumed run. If there is no
    /// interrupted loop, the stream is empty and finishes with an error for which
    /// [`AgentError::is_nothing_to_recover`] is true.
    ///
    /// # Errors
    /// If the agent is busy.
    pub fn recover_stream(&self) -> Result<RunStream, AgentError> {
        self.start(LaunchTask::Recover, Caller::Watches, None)
    }

    /// Reads the conversation of an existing session, without resuming it and without becoming its writer:
    /// this also works while another process has the session. Afterwards, [`Agent::messages`] and
    /// [`Agent::pending_permissions`] return its content. Does nothing if the agent has already read its
    /// session.
    ///
    /// # Errors
    /// If the agent is busy, or the store cannot be read.
    pub async fn load(&self) -> Result<Vec<SharedMessage>, AgentError> {
        self.borrow(async |context, _| Ok(context.read_unclaimed().await?)).await?;
        Ok(self.messages())
    }

    // Control

    /// Queues a message that the model receives between tool calls or at the end of the turn. If the agent is
    /// idle, the message waits for the next run.
    pub fn steer(&self, message: impl Into<AgentMessage>) {
        self.queue(QueueKind::Steering, message.into());
    }

    /// Queues a message that the model receives when it would otherwise stop. If the agent is idle, the
    /// message waits for the next run.
    pub fn follow_up(&self, message: impl Into<AgentMessage>) {
        self.queue(QueueKind::FollowUp, message.into());
    }

    fn queue(&self, queue: QueueKind, message: AgentMessage) {
        let mut state = self.state();
        let refused = match &state.running {
            Some(running) => running.link.send(queue, message).err(),
            None => Some(Box::new(message)),
        };
        if let Some(message) = refused {
            state.waiting.push_back((queue, *message));
        }
    }

    /// Cancels the run, if there is one. The run still journals its end.
    pub fn abort(&self) {
        if let Some(running) = &self.state().running {
            running.cancel.cancel();
        }
    }

    /// Returns approval requests that wait for an answer, oldest first: those of the current run, or of an
    /// interrupted one once the session was read ([`Agent::load`], [`Agent::recover`]). After a crash they
    /// keep their ids; you can answer them once a run is active again.
    pub fn pending_permissions(&self) -> Vec<Arc<PermissionRequest>> {
        self.state().journal.pending_approvals()
    }

    /// Answers an approval request of the run. Only the first answer to a request is used.
    pub fn respond_permission(&self, request: RequestId, decision: PermissionDecision) {
        if let Some(running) = &self.state().running {
            running.link.respond(request, decision);
        }
    }

    // Budgets

    /// Extends a budget. If a run is active, it continues with the extension, which also answers its request
    /// for more; otherwise the extension applies to the next run. Extensions of a pool or of the day apply
    /// immediately.
    pub fn extend_budget(&self, scope: BudgetScope, more: BudgetLimits) {
        let mut state = self.state();
        if state.running.as_ref().is_some_and(|running| running.link.extend_budget(scope, more)) {
            return;
        }
        match scope {
            BudgetScope::Run | BudgetScope::Session => state.budget_extensions.push((scope, more)),
            _ => self.shared.config.ports.budget.extend(scope, &more),
        }
    }

    /// Answers a `BudgetExtensionRequested` event; `None` refuses the extension.
    pub fn respond_budget(&self, request: RequestId, more: Option<BudgetLimits>) {
        if let Some(running) = &self.state().running {
            running.link.respond_budget(request, more);
        }
    }

    /// Returns who spent what in this session, according to its journal.
    ///
    /// # Errors
    /// If the agent is running, or its journal cannot be read.
    pub async fn ledger(&self) -> Result<Ledger, AgentError> {
        self.borrow(async |context, _| Ok(context.ledger().await?)).await
    }

    /// Cancels the run, if there is one, and starts over: a new session with an empty conversation and empty
    /// queues.
    pub fn reset(&self) {
        let mut state = self.state();
        if let Some(running) = &state.running {
            running.cancel.cancel();
        }
        self.rotate(&mut state, SessionFormation::Explicit);
        state.waiting.clear();
    }

    /// Switches to a new session with an empty conversation and returns its id.
    ///
    /// # Errors
    /// If the agent is busy.
    pub fn new_session(&self) -> Result<SessionId, AgentError> {
        let mut state = self.state();
        if state.running.is_some() {
            return Err(AgentError::Busy);
        }
        Ok(self.rotate(&mut state, SessionFormation::Explicit))
    }

    /// Switches to a new session if the last prompt was more than `threshold` ago.
    ///
    /// # Errors
    /// If the agent is busy.
    pub fn check_and_rotate(&self, threshold: Duration) -> Result<Option<SessionId>, AgentError> {
        let now = self.shared.config.ports.clock.now();
        let mut state = self.state();
        let idle = state.last_active_at.map(|at| now.since(at)).filter(|idle| *idle > threshold);
        let Some(idle) = idle else { return Ok(None) };
        if state.running.is_some() {
            return Err(AgentError::Busy);
        }
        let formation = SessionFormation::InactivityTimeout { idle_secs: idle.as_secs() };
        Ok(Some(self.rotate(&mut state, formation)))
    }

    /// Continues the session of an agent that this one replaces, for example with another model. For the session's hooks, the
    /// session neither ends with the earlier agent nor starts with this one. Has no effect while either runs.
    pub fn take_over(&self, earlier: &Self) {
        let (begun, session_start) = {
            let mut state = earlier.state();
            let Some(context) = &mut state.context else { return };
            let session_start = context.take_session_start();
            (std::mem::take(&mut state.begun), session_start)
        };
        let mut state = self.state();
        if let Some(context) = &mut state.context {
            context.set_session_start(session_start);
            state.begun = begun;
        }
    }

    /// Cancels the run, if there is one, notifies the session's hooks that it ends, and releases the session,
    /// so that another process can resume it immediately. Waits for all of this, at most 1.5 seconds for the
    /// hooks. A later prompt resumes the session, unless another process has it. Dropping an agent does the
    /// same in the background, inside a tokio runtime.
    pub async fn close(&self) {
        let end_signal = self.state().running.as_ref().map(|running| {
            running.cancel.cancel();
            running.end_signal.wait_for_end()
        });
        if let Some(end_signal) = end_signal {
            end_signal.await;
        }
        let session_end_notice = {
            let mut state = self.state();
            if let Some(context) = &mut state.context {
                context.repeat_session_start();
            }
            self.shared.session_end_notice(&mut state, "other")
        };
        if let Some(session_end_notice) = session_end_notice {
            session_end_notice.send().await;
        }
        let journal = {
            let mut state = self.state();
            // From here on, others may write to the session.
            state.context.as_mut().map(AgentContext::mark_stale);
            state.running.is_none().then(|| Arc::clone(&state.journal))
        };
        if let Some(journal) = journal {
            // If the store fails, the claim remains until the store is dropped.
            let _ = journal.release().await;
        }
    }

    fn rotate(&self, state: &mut HandleState, formation: SessionFormation) -> SessionId {
        if let Some(session_end_notice) = self.shared.session_end_notice(state, "clear") {
            session_end_notice.send_in_background();
        }
        let session_id = new_session_id();
        let journal = self.journal_of(session_id.clone());
        let previous = std::mem::replace(&mut state.journal, Arc::clone(&journal)).session_id().clone();
        let fresh = AgentContext::new(self.shared.agent_id.clone(), journal);
        let fresh = fresh.replacing_session(formation, previous);
        state.prompt = fresh.prompt().clone();
        // Messages that the last run did not read are still to be delivered.
        let unsent = state.context.replace(fresh).map(|mut old| old.take_unsent());
        state.waiting.extend(unsent.unwrap_or_default());
        state.running = None;
        state.snapshot = Window::default();
        session_id
    }

    fn journal_of(&self, session_id: SessionId) -> Arc<Journal> {
        let ports = &self.shared.config.ports;
        Arc::new(Journal::new(
            Arc::clone(&self.shared.store),
            session_id,
            Arc::clone(&ports.clock),
            Arc::clone(&ports.entropy),
            self.shared.journal_config,
        ))
    }

    // State

    /// The stable id of the agent.
    pub fn agent_id(&self) -> &AgentId {
        &self.shared.agent_id
    }

    /// Returns the id of the current session.
    pub fn session_id(&self) -> SessionId {
        self.state().journal.session_id().clone()
    }

    /// Whether a run is active.
    pub fn is_streaming(&self) -> bool {
        self.state().running.is_some()
    }

    /// Returns the conversation; during a run, the conversation from before it. For an existing session, this
    /// is what [`Agent::load`], [`Agent::recover`] or the first run has read.
    pub fn messages(&self) -> Vec<SharedMessage> {
        self.window().iter().cloned().collect()
    }

    fn window(&self) -> Window {
        let state = self.state();
        state.context.as_ref().map_or_else(|| state.snapshot.clone(), AgentContext::messages)
    }

    /// Returns the conversation as JSON, for [`Agent::restore_messages`].
    ///
    /// # Errors
    /// If a message cannot be serialised.
    pub fn save_messages(&self) -> Result<String, AgentError> {
        Ok(serde_json::to_string(&self.messages())?)
    }

    /// Replaces the conversation with the output of [`Agent::save_messages`], and repairs inconsistencies.
    ///
    /// # Errors
    /// If the agent is busy, or the text is not a list of messages.
    pub fn restore_messages(&self, json: &str) -> Result<(), AgentError> {
        let messages: Vec<AgentMessage> = serde_json::from_str(json)?;
        let mut state = self.state();
        let context = state.context.as_mut().ok_or(AgentError::Busy)?;
        context.replace_messages(messages, &self.shared.config.ports);
        Ok(())
    }

    /// Subscribes to the events of the current session. Each subscriber has its own queue
    /// ([`AgentBuilder::event_queue`]).
    pub fn subscribe(&self) -> Subscription {
        self.state().journal.hub().subscribe(self.shared.event_queue)
    }

    // Plan mode

    /// Returns the changes that plan mode queued, with the result that each would have now.
    ///
    /// # Errors
    /// If the agent is running, or its journal cannot be read.
    pub async fn plan(&self) -> Result<Plan, AgentError> {
        let ports = Arc::clone(&self.shared.config.ports);
        self.borrow(async |context, _| Ok(Plan::review(context.plan().await?, &ports).await)).await
    }

    /// Records a decision about a plan, carries out the approved changes in order, and lets the model
    /// continue from there. Approved changes need no further approval; permission rules can still deny them.
    ///
    /// # Errors
    /// [`AgentError::PlanChanged`] if an approved change would have another result than the user saw; then
    /// nothing is carried out.
    pub async fn apply_plan(&self, decision: PlanDecision) -> Result<AgentOutput, AgentError> {
        self.start(LaunchTask::Plan(decision), Caller::Waits, None)?.finish().await
    }

    /// Like [`apply_plan`](Self::apply_plan), as a stream of events.
    pub fn apply_plan_stream(&self, decision: PlanDecision) -> RunStream {
        self.start(LaunchTask::Plan(decision), Caller::Watches, None)
            .unwrap_or_else(|error| self.failed_stream(error))
    }

    /// Drops all changes that plan mode queued.
    ///
    /// # Errors
    /// If the agent is running, or its journal cannot be written.
    pub async fn drop_plan(&self) -> Result<(), AgentError> {
        let config = &self.shared.config;
        self.borrow(async |context, _| {
            let queued = context.plan().await?.iter().map(|change| change.call.id.clone()).collect();
            Ok(context.decide(config, Vec::new(), queued).await?)
        })
        .await
    }
}

/// Returns a new random session id.
pub fn new_session_id() -> SessionId {
    SessionId::from(Uuid::new_v4().to_string())
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("agent_id", &self.shared.agent_id)
            .field("session_id", &self.session_id())
            .finish()
    }
}
