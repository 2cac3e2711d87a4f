//! An agent: a session that is kept between prompts.
//!
//! Owns the current context, whether a run has it, and what may be done meanwhile. Cheap to clone; all clones are the
//! same agent. Invariant: at most one run has the context at a time.

mod about;
mod room;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat_core::budget::{BudgetLimits, BudgetScope, Ledger};
use lariat_core::cancel::CancellationToken;
use lariat_core::event::{ContinuationKind, QueueKind};
use lariat_core::id::{AgentId, RequestId, SessionId};
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::store::SessionStore;
use lariat_core::time::Timestamp;
use lariat_core::transcript::Window;
use uuid::Uuid;

use super::builder::AgentBuilder;
use super::context::{AgentContext, AgentLoopConfig};
use super::error::AgentError;
use super::farewell::Farewell;
use super::launch::{Task, Watchers};
use super::output::AgentOutput;
use super::plan::{Plan, PlanDecision};
use super::pump::{EventSender, Over};
use super::stream::{Link, RunStream};
use crate::drive::{Journal, JournalConfig};
use crate::observe::Subscription;
use crate::prompt::PromptSlot;

/// An agent with a session. Made by [`Agent::builder`].
#[derive(Clone)]
pub struct Agent {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) config: AgentLoopConfig,
    store: Arc<dyn SessionStore>,
    journal_config: JournalConfig,
    agent_id: AgentId,
    pub(super) watchers: Watchers,
    broadcast: Option<usize>,
    #[cfg(feature = "typed")]
    pub(super) answer_retries: u32,
    state: Mutex<State>,
}

pub(super) struct State {
    /// `None` while a run has it.
    pub(super) context: Option<AgentContext>,
    pub(super) journal: Arc<Journal>,
    /// The session's own system prompt, once it is known.
    pub(super) prompt: PromptSlot,
    pub(super) running: Option<Running>,
    pub(super) waiting: VecDeque<(QueueKind, AgentMessage)>,
    /// More that may be spent from the next run on.
    pub(super) extended: Vec<(BudgetScope, BudgetLimits)>,
    /// The conversation as it was before the run.
    pub(super) snapshot: Window,
    pub(super) last_active_at: Option<Timestamp>,
    /// A run of the session began, and its end was not told.
    pub(super) begun: bool,
}

pub(super) struct Running {
    pub(super) link: Arc<Link>,
    pub(super) cancel: CancellationToken,
    pub(super) over: Over,
}

impl Shared {
    /// The end of the session, if it began and its end was not told.
    fn farewell(&self, state: &mut State, reason: &'static str) -> Option<Farewell> {
        let begun = std::mem::take(&mut state.begun);
        begun.then(|| Farewell::new(&self.config.ports, state.journal.session_id(), reason))?
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(farewell) = self.farewell(&mut state, "other") {
            farewell.say_beside();
        }
    }
}

/// What an agent is assembled from.
pub(super) struct Parts {
    pub(super) config: AgentLoopConfig,
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) journal: JournalConfig,
    pub(super) agent_id: Option<AgentId>,
    pub(super) session_id: Option<SessionId>,
    pub(super) watchers: Watchers,
    pub(super) broadcast: Option<usize>,
    #[cfg(feature = "typed")]
    pub(super) answer_retries: u32,
}

impl Agent {
    /// Begins to put an agent together.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    pub(super) fn assemble(parts: Parts) -> Self {
        let agent_id = parts.agent_id.unwrap_or_else(|| AgentId::from(Uuid::new_v4().to_string()));
        let session_id = parts.session_id.unwrap_or_else(fresh_session);
        let ports = &parts.config.ports;
        let journal = Arc::new(Journal::new(
            Arc::clone(&parts.store),
            session_id,
            Arc::clone(&ports.clock),
            Arc::clone(&ports.entropy),
            parts.journal,
        ));
        let context = AgentContext::new(agent_id.clone(), Arc::clone(&journal));
        let state = State {
            prompt: context.prompt().clone(),
            context: Some(context),
            journal,
            running: None,
            waiting: VecDeque::new(),
            extended: Vec::new(),
            snapshot: Window::default(),
            last_active_at: None,
            begun: false,
        };
        Self {
            shared: Arc::new(Shared {
                config: parts.config,
                store: parts.store,
                journal_config: parts.journal,
                agent_id,
                watchers: parts.watchers,
                broadcast: parts.broadcast,
                #[cfg(feature = "typed")]
                answer_retries: parts.answer_retries,
                state: Mutex::new(state),
            }),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // Prompting

    /// Runs a prompt to its end.
    ///
    /// # Errors
    /// When the agent is busy, or the run could not be driven to its end; [`AgentError::Failed`] when its model failed
    /// for good.
    pub async fn run(&self, prompt: impl Into<AgentMessage>) -> Result<AgentOutput, AgentError> {
        self.start(Task::Prompt(vec![prompt.into()]), None)?.finish().await
    }

    /// Runs a prompt as a stream of events that can be answered, steered and cancelled. When it cannot be started,
    /// the stream is empty and [`RunStream::finish`] says why.
    pub fn run_stream(&self, prompt: impl Into<AgentMessage>) -> RunStream {
        self.start(Task::Prompt(vec![prompt.into()]), None).unwrap_or_else(|error| self.failed(error))
    }

    /// Runs a prompt; returns its stream of events.
    ///
    /// # Errors
    /// When the agent is busy.
    pub fn prompt(&self, text: impl Into<String>) -> Result<RunStream, AgentError> {
        self.prompt_messages(vec![AgentMessage::user(text)])
    }

    /// Runs messages as a prompt; returns its stream of events.
    ///
    /// # Errors
    /// When the agent is busy.
    pub fn prompt_messages(&self, messages: Vec<AgentMessage>) -> Result<RunStream, AgentError> {
        self.start(Task::Prompt(messages), None)
    }

    /// Runs a prompt to its end, handing every event to `sender`.
    ///
    /// # Errors
    /// When the agent is busy, or the run could not be driven to its end; [`AgentError::Failed`] when its model failed
    /// for good.
    pub async fn prompt_with_sender(
        &self,
        text: impl Into<String>,
        sender: impl EventSender + 'static,
    ) -> Result<AgentOutput, AgentError> {
        self.prompt_messages_with_sender(vec![AgentMessage::user(text)], sender).await
    }

    /// Runs messages as a prompt to its end, handing every event to `sender`.
    ///
    /// # Errors
    /// When the agent is busy, or the run could not be driven to its end; [`AgentError::Failed`] when its model failed
    /// for good.
    pub async fn prompt_messages_with_sender(
        &self,
        messages: Vec<AgentMessage>,
        sender: impl EventSender + 'static,
    ) -> Result<AgentOutput, AgentError> {
        self.start(Task::Prompt(messages), Some(Box::new(sender)))?.finish().await
    }

    /// Goes on from the conversation as it is.
    ///
    /// # Errors
    /// When the agent is busy.
    pub fn continue_loop(&self) -> Result<RunStream, AgentError> {
        self.start(Task::Continue(ContinuationKind::Default), None)
    }

    /// Goes on to the end, handing every event to `sender`. A rerun or a branch starts from the last user message.
    ///
    /// # Errors
    /// When the agent is busy, or the run could not be driven to its end; [`AgentError::Failed`] when its model failed
    /// for good.
    pub async fn continue_loop_with_sender(
        &self,
        sender: impl EventSender + 'static,
        kind: ContinuationKind,
    ) -> Result<AgentOutput, AgentError> {
        self.start(Task::Continue(kind), Some(Box::new(sender)))?.finish().await
    }

    /// Goes on with a loop of this session that was interrupted by a crash or a failing store. `None` when there is
    /// none. Either way the session's conversation is read afterwards: this is the first call of a program that
    /// resumes a session.
    ///
    /// # Errors
    /// When the agent is busy, or the run could not be driven to its end; [`AgentError::Failed`] when its model failed
    /// for good.
    pub async fn recover(&self) -> Result<Option<AgentOutput>, AgentError> {
        match self.start(Task::Recover, None)?.finish().await {
            Err(error) if error.is_nothing_to_recover() => Ok(None),
            output => output.map(Some),
        }
    }

    /// As [`recover`](Self::recover), with the events of the run that is gone on with. Where there is none, the stream is
    /// empty and finishes with an error that [`AgentError::is_nothing_to_recover`].
    ///
    /// # Errors
    /// When the agent is busy.
    pub fn recover_stream(&self) -> Result<RunStream, AgentError> {
        self.start(Task::Recover, None)
    }

    /// Reads the conversation of an existing session, without going on with it and without becoming its writer: it works
    /// also while another process has the session. [`Agent::messages`] and [`Agent::pending_permissions`] show it from
    /// then on. Does nothing when the agent has read its session already.
    ///
    /// # Errors
    /// When the agent is busy, or the store cannot be read.
    pub async fn load(&self) -> Result<Vec<SharedMessage>, AgentError> {
        self.borrow(async |context, _| Ok(context.look().await?)).await?;
        Ok(self.messages())
    }

    // Control

    /// Queues a message that is injected between tool executions or at the end of the turn. While nothing runs, it
    /// waits for the next run.
    pub fn steer(&self, message: impl Into<AgentMessage>) {
        self.queue(QueueKind::Steering, message.into());
    }

    /// Queues a message that is injected when the loop would otherwise stop. While nothing runs, it waits for the
    /// next run.
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

    /// Ends the run, if there is one. It still journals its end.
    pub fn abort(&self) {
        if let Some(running) = &self.state().running {
            running.cancel.cancel();
        }
    }

    /// Permission requests that wait for an answer, oldest first: of the run that is going on, or of one that was
    /// interrupted, once the session was read ([`Agent::load`], [`Agent::recover`]). After a crash they have the same
    /// ids; they can be answered once a run is going on again.
    pub fn pending_permissions(&self) -> Vec<Arc<PermissionRequest>> {
        self.state().journal.open_questions()
    }

    /// Answers a permission request of the run. The first answer counts.
    pub fn respond_permission(&self, request: RequestId, decision: PermissionDecision) {
        if let Some(running) = &self.state().running {
            running.link.respond(request, decision);
        }
    }

    // Budgets

    /// Lets more be spent: now if a run is going on, which is told to it and answers what it asks; otherwise from the
    /// next run on. More for a pool or for the day counts at once.
    pub fn extend_budget(&self, scope: BudgetScope, more: BudgetLimits) {
        let mut state = self.state();
        if state.running.as_ref().is_some_and(|running| running.link.extend_budget(scope, more)) {
            return;
        }
        match scope {
            BudgetScope::Run | BudgetScope::Session => state.extended.push((scope, more)),
            _ => self.shared.config.ports.budget.extend(scope, &more),
        }
    }

    /// Answers whether more may be spent, as asked by `BudgetExtensionRequested`; `None` for no.
    pub fn respond_budget(&self, request: RequestId, more: Option<BudgetLimits>) {
        if let Some(running) = &self.state().running {
            running.link.respond_budget(request, more);
        }
    }

    /// Who spent what in this session, as its journal tells it.
    ///
    /// # Errors
    /// When the agent is running, or its journal cannot be read.
    pub async fn ledger(&self) -> Result<Ledger, AgentError> {
        self.borrow(async |context, _| Ok(context.ledger().await?)).await
    }

    /// Ends the run, if there is one, and begins again: an empty conversation in a new session, empty queues.
    pub fn reset(&self) {
        let mut state = self.state();
        if let Some(running) = &state.running {
            running.cancel.cancel();
        }
        self.rotate(&mut state);
        state.waiting.clear();
    }

    /// Rotates to a new session with an empty conversation; returns its id.
    ///
    /// # Errors
    /// When the agent is busy.
    pub fn new_session(&self) -> Result<SessionId, AgentError> {
        let mut state = self.state();
        if state.running.is_some() {
            return Err(AgentError::Busy);
        }
        Ok(self.rotate(&mut state))
    }

    /// Rotates to a new session if the last prompt is longer ago than `threshold`.
    ///
    /// # Errors
    /// When the agent is busy.
    pub fn check_and_rotate(&self, threshold: Duration) -> Result<Option<SessionId>, AgentError> {
        let now = self.shared.config.ports.clock.now();
        let idle = self.state().last_active_at.is_some_and(|at| now.since(at) > threshold);
        if idle { self.new_session().map(Some) } else { Ok(None) }
    }

    /// Ends the run, if there is one, tells the session's hooks that it is over, and gives the session up: another
    /// process can go on with it at once. Waits for all of it, for the hooks at most a second and a half. A later prompt
    /// goes on with the session, if no other process has it. An agent that is dropped does the same beside everything
    /// else, where tokio runs.
    pub async fn close(&self) {
        let over = self.state().running.as_ref().map(|running| {
            running.cancel.cancel();
            running.over.waiting()
        });
        if let Some(over) = over {
            over.await;
        }
        let farewell = {
            let mut state = self.state();
            if let Some(context) = &mut state.context {
                context.greet_again();
            }
            self.shared.farewell(&mut state, "other")
        };
        if let Some(farewell) = farewell {
            farewell.say().await;
        }
        let journal = {
            let mut state = self.state();
            // Others may write to it from here on.
            state.context.as_mut().map(AgentContext::read_next_time);
            state.running.is_none().then(|| Arc::clone(&state.journal))
        };
        if let Some(journal) = journal {
            // A store that fails keeps the claim until it is dropped.
            let _ = journal.release().await;
        }
    }

    fn rotate(&self, state: &mut State) -> SessionId {
        if let Some(farewell) = self.shared.farewell(state, "clear") {
            farewell.say_beside();
        }
        let session_id = fresh_session();
        let journal = self.journal_of(session_id.clone());
        state.journal = Arc::clone(&journal);
        let fresh = AgentContext::new(self.shared.agent_id.clone(), journal).cleared();
        state.prompt = fresh.prompt().clone();
        // What the last run did not read any more is still to be said.
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

    /// The agent's identity.
    pub fn agent_id(&self) -> &AgentId {
        &self.shared.agent_id
    }

    /// The current session.
    pub fn session_id(&self) -> SessionId {
        self.state().journal.session_id().clone()
    }

    /// Whether a run is going on.
    pub fn is_streaming(&self) -> bool {
        self.state().running.is_some()
    }

    /// The conversation; while a run is going on, as it was before. Of a session that was there before this agent, what
    /// [`Agent::load`], [`Agent::recover`] or the first run has read.
    pub fn messages(&self) -> Vec<SharedMessage> {
        self.window().iter().cloned().collect()
    }

    fn window(&self) -> Window {
        let state = self.state();
        state.context.as_ref().map_or_else(|| state.snapshot.clone(), AgentContext::messages)
    }

    /// The conversation as JSON.
    ///
    /// # Errors
    /// When a message cannot be written as JSON.
    pub fn save_messages(&self) -> Result<String, AgentError> {
        Ok(serde_json::to_string(&self.messages())?)
    }

    /// Replaces the conversation by what [`Agent::save_messages`] wrote. What does not fit together is repaired.
    ///
    /// # Errors
    /// When the agent is busy, or the text is not a list of messages.
    pub fn restore_messages(&self, json: &str) -> Result<(), AgentError> {
        let messages: Vec<AgentMessage> = serde_json::from_str(json)?;
        let mut state = self.state();
        let context = state.context.as_mut().ok_or(AgentError::Busy)?;
        context.replace_messages(messages, &self.shared.config.ports);
        Ok(())
    }

    /// A subscription to the current session's events, if [`AgentBuilder::enable_broadcast`] was called.
    pub fn subscribe(&self) -> Option<Subscription> {
        let capacity = self.shared.broadcast?;
        Some(self.state().journal.hub().subscribe(capacity))
    }

    // Plan mode

    /// What plan mode queued, with what each change would come to now.
    ///
    /// # Errors
    /// When the agent is running, or its journal cannot be read.
    pub async fn plan(&self) -> Result<Plan, AgentError> {
        let ports = Arc::clone(&self.shared.config.ports);
        self.borrow(async |context, _| Ok(Plan::review(context.plan().await?, &ports).await)).await
    }

    /// Records what was decided about a plan, carries out what was approved, in order, and lets the model go on from
    /// there. Approved changes are not asked about again; what a rule denies is denied.
    ///
    /// # Errors
    /// [`AgentError::PlanChanged`] when an approved change would come out differently than it was shown; nothing is
    /// carried out then.
    pub async fn carry_out(&self, decision: PlanDecision) -> Result<AgentOutput, AgentError> {
        self.start(Task::Plan(decision), None)?.finish().await
    }

    /// As [`carry_out`](Self::carry_out), as a stream of events.
    pub fn carry_out_stream(&self, decision: PlanDecision) -> RunStream {
        self.start(Task::Plan(decision), None).unwrap_or_else(|error| self.failed(error))
    }

    /// Drops everything that plan mode queued.
    ///
    /// # Errors
    /// When the agent is running, or its journal cannot be written.
    pub async fn drop_plan(&self) -> Result<(), AgentError> {
        let config = &self.shared.config;
        self.borrow(async |context, _| {
            let queued = context.plan().await?.iter().map(|change| change.call.id.clone()).collect();
            Ok(context.decide(config, Vec::new(), queued).await?)
        })
        .await
    }
}

/// An id that no session has.
pub fn fresh_session() -> SessionId {
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
