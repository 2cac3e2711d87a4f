//! The view of a session, computed from its journal, and the commands that the journal has.
//!
//! Invariant: the fold is a function of the events, so every process that reads the same journal has the same fold. Commands
//! are in the journal, so a retry is recognised after a crash, too.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use lariat_api::{
    Ask, AskId, ChildSession, Cursor, Delivery, ModelView, PlanView, Principal, PromptContent, QueuedMessage,
    SessionStatus, SessionView, StoreGeneration, TokenUse,
};
use lariat_core::archive::SessionSummary;
use lariat_core::budget::BudgetRequest;
use lariat_core::content::Content;
use lariat_core::event::{AgentEvent, CommandRecord, EventRecord, QueueKind, RunOutcome};
use lariat_core::id::{EventId, LoopId, RequestId, SessionId};
use lariat_core::message::AgentMessage;
use lariat_core::session::SessionMemory;
use lariat_core::time::Timestamp;

use crate::asks;

/// How many answered asks a fold remembers, to tell a late answer who won.
const REMEMBERED_ANSWERS: usize = 256;

/// The state of a session after a number of events.
#[derive(Clone, Debug)]
pub struct ViewFold {
    summary: SessionSummary,
    memory: SessionMemory,
    last_event: Option<EventId>,
    queue: Vec<QueuedMessage>,
    open_loops: Vec<LoopId>,
    outcome: Option<RunOutcome>,
    mode: Option<String>,
    chosen_model: Option<ModelView>,
    model: ModelView,
    context: TokenUse,
    children: Vec<ChildSession>,
    /// When each approval request was made.
    asked_at: HashMap<RequestId, Timestamp>,
    budget_ask: Option<(Arc<BudgetRequest>, Timestamp)>,
    planned_at: Timestamp,
    commands: HashMap<String, RecordedCommand>,
    /// The newest command, with its position: the next event is its effect.
    newest_command: Option<(u64, CommandRecord)>,
    /// Who answered which ask, oldest first.
    answered: VecDeque<(AskId, String)>,
    is_closed: bool,
}

/// A command that the journal has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedCommand {
    pub(crate) seq: u64,
    pub(crate) digest: String,
}

impl ViewFold {
    /// Creates the fold of no events.
    pub fn new(session_id: SessionId) -> Self {
        Self {
            summary: SessionSummary::new(session_id),
            memory: SessionMemory::default(),
            last_event: None,
            queue: Vec::new(),
            open_loops: Vec::new(),
            outcome: None,
            mode: None,
            chosen_model: None,
            model: ModelView::default(),
            context: TokenUse::default(),
            children: Vec::new(),
            asked_at: HashMap::new(),
            budget_ask: None,
            planned_at: Timestamp::from_millis(0),
            commands: HashMap::new(),
            newest_command: None,
            answered: VecDeque::new(),
            is_closed: false,
        }
    }

    /// Returns the number of events.
    pub const fn seq(&self) -> u64 {
        self.summary.events
    }

    /// Returns the position after the events.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(StoreGeneration::after(self.last_event), self.seq())
    }

    pub(crate) fn directory(&self) -> Option<&str> {
        self.summary.cwd.as_deref()
    }

    pub(crate) const fn chosen_model(&self) -> Option<&ModelView> {
        self.chosen_model.as_ref()
    }

    pub(crate) fn chosen_mode(&self) -> Option<&str> {
        self.mode.as_deref()
    }

    pub(crate) const fn memory(&self) -> &SessionMemory {
        &self.memory
    }

    pub(crate) fn command(&self, id: &str) -> Option<&RecordedCommand> {
        self.commands.get(id)
    }

    pub(crate) fn queue(&self) -> &[QueuedMessage] {
        &self.queue
    }

    /// Whether a run has begun and not ended.
    pub(crate) const fn has_open_run(&self) -> bool {
        !self.open_loops.is_empty()
    }

    /// Whether a message waits that an interruption did not pause: it arrived as a run ended.
    pub(crate) fn has_deliverable_message(&self) -> bool {
        let is_done = matches!(self.outcome, Some(RunOutcome::Completed));
        is_done && !self.has_open_run() && !self.queue.is_empty()
    }

    /// Whether a client of a host sent a command.
    pub(crate) const fn is_commanded(&self) -> bool {
        self.newest_command.is_some()
    }

    /// Returns who answered an ask.
    pub(crate) fn answered_by(&self, ask: &AskId) -> Option<&str> {
        self.answered.iter().rev().find(|(id, _)| id == ask).map(|(_, by)| by.as_str())
    }

    /// Returns the questions that wait, oldest first.
    pub(crate) fn asks(&self) -> Vec<Ask> {
        let at = |id: &RequestId| self.asked_at.get(id).copied().unwrap_or(self.summary.last_active_at);
        let mut asks: Vec<Ask> =
            self.memory.questions().iter().map(|request| asks::approval(request, at(&request.id))).collect();
        asks.extend(self.budget_ask.iter().map(|(request, at)| asks::budget(request, *at)));
        let waiting = self.memory.plan().iter().filter(|change| !change.approved);
        let changes: Vec<_> = waiting.map(|change| change.call.id.clone()).collect();
        if !changes.is_empty() && !self.has_open_run() {
            asks.push(asks::plan(changes, self.planned_at));
        }
        asks
    }

    /// Returns the view. `is_running` says whether this host drives the open run.
    pub fn view(&self, is_running: bool) -> SessionView {
        let mut view = SessionView::new(self.summary.session_id.clone(), self.cursor());
        view.asks = self.asks();
        view.status = match (self.has_open_run(), is_running) {
            (true, true) if !view.asks.is_empty() => SessionStatus::RequiresAction,
            (true, true) => SessionStatus::Running,
            (true, false) => SessionStatus::Interrupted,
            (false, _) if self.is_closed => SessionStatus::Closed,
            (false, _) => SessionStatus::Idle,
        };
        view.outcome.clone_from(&self.outcome);
        view.title = self.summary.name().map(str::to_owned);
        view.directory.clone_from(&self.summary.cwd);
        view.queue.clone_from(&self.queue);
        view.is_queue_paused = !self.queue.is_empty() && !self.has_open_run();
        view.plan = PlanView::default();
        view.plan.changes = self
            .memory
            .plan()
            .iter()
            .map(|change| (change.call.id.clone(), change.summary.clone()))
            .collect();
        view.tasks = self.memory.work().open_tasks().cloned().collect();
        view.usage = self.summary.usage;
        view.mode = self.mode.clone().unwrap_or_default();
        view.model = self.chosen_model.clone().unwrap_or_else(|| self.model.clone());
        view.context = self.context;
        view.children.clone_from(&self.children);
        view
    }

    /// Processes the next event.
    pub fn apply(&mut self, record: &EventRecord) {
        let effect_of = self.newest_command.as_ref().filter(|(seq, _)| seq + 1 == record.seq);
        let sender = effect_of.map(|(_, command)| command.by.clone());
        self.summary.apply(record);
        self.memory.apply(record);
        self.last_event = Some(record.id);
        match &record.event {
            AgentEvent::CommandAccepted(command) => {
                let recorded = RecordedCommand { seq: record.seq, digest: command.digest.clone() };
                self.commands.entry(command.command_id.clone()).or_insert(recorded);
                self.newest_command = Some((record.seq, CommandRecord::clone(command)));
                self.is_closed = command.action == "close";
            }
            AgentEvent::AgentStart(start) => {
                self.open_loops.push(start.loop_id.clone());
                self.is_closed = false;
                if let Some(config) = &start.config {
                    self.model = ModelView::default();
                    self.model.name.clone_from(&config.model);
                    self.context.window = config.context_window;
                }
            }
            AgentEvent::AgentEnd { outcome, .. } => {
                self.open_loops.retain(|open| Some(open) != record.loop_id.as_ref());
                self.outcome = Some(outcome.clone());
                self.budget_ask = None;
            }
            AgentEvent::TurnEnd { usage, .. } => {
                let sent = usage.input + usage.cache_read + usage.cache_write;
                self.context.used = sent + usage.output;
            }
            AgentEvent::MessageQueued { queue, message } => {
                let delivery = match queue {
                    QueueKind::Steering => Delivery::Steer,
                    QueueKind::FollowUp => Delivery::Queue,
                };
                let mut queued = QueuedMessage::new(message.id(), content_of(message), delivery);
                queued.by = sender.map(Principal::new);
                // In the order of delivery: the run takes steering first.
                let place = match delivery {
                    Delivery::Steer => self.queue.iter().position(|other| other.delivery != Delivery::Steer),
                    _ => None,
                };
                self.queue.insert(place.unwrap_or(self.queue.len()), queued);
            }
            AgentEvent::MessageEnd { message } => {
                self.queue.retain(|queued| queued.message_id != message.id());
            }
            AgentEvent::MessageUnqueued { message_id } => {
                self.queue.retain(|queued| queued.message_id != *message_id);
            }
            AgentEvent::PermissionRequired { request } => {
                self.asked_at.insert(request.id, record.timestamp);
            }
            AgentEvent::PermissionDecided { request_id, .. } => {
                self.asked_at.remove(request_id);
                self.note_answer(asks::request_ask_id(request_id), sender);
            }
            AgentEvent::BudgetExtensionRequested { request } => {
                self.budget_ask = Some((Arc::clone(request), record.timestamp));
            }
            AgentEvent::BudgetExtended { by, .. } => {
                if let Some((request, _)) = self.budget_ask.take() {
                    self.note_answer(asks::request_ask_id(&request.id), Some(by.clone()));
                }
            }
            AgentEvent::LimitReached { .. } => {
                if let Some((request, _)) = self.budget_ask.take() {
                    self.note_answer(asks::request_ask_id(&request.id), sender);
                }
            }
            AgentEvent::PlanChangeQueued { .. } => self.planned_at = record.timestamp,
            AgentEvent::PlanDecided { .. } => self.note_answer(AskId::new("plan"), sender),
            AgentEvent::ModeChanged { mode } => self.mode = Some(mode.clone()),
            AgentEvent::ModelChanged { model, effort } => {
                let mut chosen = ModelView::default();
                chosen.name.clone_from(model);
                chosen.effort.clone_from(effort);
                self.chosen_model = Some(chosen);
            }
            AgentEvent::SubAgentSpawned { child_session_id, task, .. } => {
                self.children.push(ChildSession::running(child_session_id.clone(), task.clone()));
            }
            AgentEvent::SubAgentCompleted { child_loop_id, .. } => {
                let child = child_loop_id.as_str();
                for known in
                    self.children.iter_mut().filter(|known| child.starts_with(known.session_id.as_str()))
                {
                    known.is_running = false;
                }
            }
            _ => {}
        }
    }

    fn note_answer(&mut self, ask: AskId, by: Option<String>) {
        if self.answered.len() == REMEMBERED_ANSWERS {
            self.answered.pop_front();
        }
        self.answered.push_back((ask, by.unwrap_or_else(|| "the session".to_owned())));
    }
}

fn content_of(message: &AgentMessage) -> PromptContent {
    let content: Vec<Content> = message.as_user().map(|user| user.content.clone()).unwrap_or_default();
    PromptContent(content)
}
