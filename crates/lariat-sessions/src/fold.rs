//! The view of a session, computed from its journal.
//!
//! Invariant: the fold is a function of the events, so every process that reads the same journal has the same fold, whether it
//! reads all events or a snapshot and the events after it.

use lariat_api::{
    Ask, AskId, ChildSession, Cursor, Delivery, ModelView, PlanView, Principal, PromptContent, QueuedMessage,
    SessionStatus, SessionView, StoreGeneration,
};
use lariat_core::archive::SessionSummary;
use lariat_core::content::Content;
use lariat_core::event::{EventRecord, QueueKind, RunOutcome};
use lariat_core::id::{RequestId, SessionId};
use lariat_core::message::AgentMessage;
use lariat_core::run::ViewSnapshot;
use lariat_core::session::{ChildRun, ChosenModel, ClientState, Question, SessionMemory, WaitingMessage};

use crate::asks;

/// The state of a session after a number of events.
#[derive(Clone, Debug)]
pub struct ViewFold {
    summary: SessionSummary,
    memory: SessionMemory,
    clients: ClientState,
}

impl ViewFold {
    /// Creates the fold of no events.
    pub fn new(session_id: SessionId) -> Self {
        Self {
            summary: SessionSummary::new(session_id),
            memory: SessionMemory::default(),
            clients: ClientState::default(),
        }
    }

    /// Starts from what a store has. It may have the summary and the snapshot of different positions; the fold continues
    /// with [`ViewFold::next`].
    pub fn resume(summary: SessionSummary, snapshot: ViewSnapshot) -> Self {
        Self { summary, memory: snapshot.memory, clients: snapshot.clients }
    }

    /// Returns the number of events.
    pub const fn seq(&self) -> u64 {
        self.clients.events()
    }

    /// Returns the position of the next event to process.
    pub fn next(&self) -> u64 {
        self.clients.events().min(self.summary.events)
    }

    /// Processes the event at [`ViewFold::next`].
    pub fn apply(&mut self, record: &EventRecord) {
        let at = self.next();
        if at == self.summary.events {
            self.summary.apply(record);
        }
        if at == self.clients.events() {
            self.memory.apply(record);
            self.clients.apply(record);
        }
    }

    /// Returns a snapshot to start from; `None` while a run is open, because its state is not part of one.
    pub(crate) fn snapshot(&self) -> Option<ViewSnapshot> {
        let snapshot = || ViewSnapshot::new(self.memory.clone(), self.clients.clone());
        (!self.has_open_run()).then(snapshot)
    }

    /// Returns the position after the events.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(StoreGeneration::after(self.clients.last_event()), self.seq())
    }

    pub(crate) fn directory(&self) -> Option<&str> {
        self.summary.cwd.as_deref()
    }

    pub(crate) fn chosen_model(&self) -> Option<ModelView> {
        self.clients.chosen_model().map(model_view)
    }

    pub(crate) fn chosen_mode(&self) -> Option<&str> {
        self.clients.mode()
    }

    pub(crate) const fn memory(&self) -> &SessionMemory {
        &self.memory
    }

    pub(crate) const fn clients(&self) -> &ClientState {
        &self.clients
    }

    pub(crate) fn queue(&self) -> Vec<QueuedMessage> {
        self.clients.queue().iter().map(queued_message).collect()
    }

    /// Whether a run has begun and not ended.
    pub(crate) const fn has_open_run(&self) -> bool {
        self.clients.has_open_run()
    }

    /// Whether something has begun and not ended: a run, a restore of files or a command of the user.
    pub(crate) const fn has_open_work(&self) -> bool {
        self.has_open_run() || self.has_unfinished_command()
    }

    /// Whether a command has begun to change files or to run a program, and not ended.
    pub(crate) const fn has_unfinished_command(&self) -> bool {
        self.clients.has_file_restore() || self.clients.user_command().is_some()
    }

    /// Whether a message waits that an interruption did not pause: it arrived as a run ended.
    pub(crate) fn has_deliverable_message(&self) -> bool {
        let is_done = matches!(self.clients.outcome(), Some(RunOutcome::Completed));
        is_done && !self.has_open_run() && !self.clients.queue().is_empty()
    }

    /// Returns who answered an ask.
    pub(crate) fn answered_by(&self, ask: &AskId) -> Option<&str> {
        let mut answers = self.clients.answers();
        let (_, by) = answers.find(|(question, _)| asks::ask_id(*question) == *ask)?;
        Some(by.unwrap_or("the session"))
    }

    /// Returns the open request of the model's question with this id.
    pub(crate) fn question(&self, ask: &AskId) -> Option<RequestId> {
        let requests = self.memory.questions().iter().filter(|request| request.question.is_some());
        let mut ids = requests.map(|request| request.id);
        ids.find(|id| asks::ask_id(Question::Request(*id)) == *ask)
    }

    /// Returns the questions that wait, oldest first.
    pub(crate) fn asks(&self) -> Vec<Ask> {
        let approvals = self.memory.questions().iter().map(|request| {
            let at = self.clients.asked_at(request.id).unwrap_or(self.summary.last_active_at);
            asks::approval(request, at)
        });
        let mut asks: Vec<Ask> = approvals.collect();
        asks.extend(self.clients.budget_requests().iter().map(|open| asks::budget(&open.request, open.at)));
        let waiting = self.memory.plan().iter().filter(|change| !change.approved);
        let changes: Vec<_> = waiting.map(|change| change.call.id.clone()).collect();
        if !changes.is_empty() && !self.has_open_run() {
            asks.push(asks::plan(changes, self.clients.planned_at()));
        }
        asks
    }

    /// Returns the view. `is_running` says whether this host drives the open run.
    pub fn view(&self, is_running: bool) -> SessionView {
        let mut view = SessionView::new(self.summary.session_id.clone(), self.cursor());
        view.asks = self.asks();
        view.status = match (self.has_open_work(), is_running) {
            (true, true) if !view.asks.is_empty() => SessionStatus::RequiresAction,
            (true, true) => SessionStatus::Running,
            (true, false) => SessionStatus::Interrupted,
            (false, _) if self.clients.is_closed() => SessionStatus::Closed,
            (false, _) => SessionStatus::Idle,
        };
        view.outcome = self.clients.outcome().cloned();
        view.title = self.summary.name().map(str::to_owned);
        view.directory.clone_from(&self.summary.cwd);
        view.queue = self.queue();
        view.is_queue_paused = !view.queue.is_empty() && !self.has_open_run();
        view.plan = PlanView::default();
        view.plan.changes = self
            .memory
            .plan()
            .iter()
            .map(|change| (change.call.id.clone(), change.summary.clone()))
            .collect();
        view.tasks = self.memory.work().open_tasks().cloned().collect();
        view.usage = self.summary.usage;
        view.mode = self.chosen_mode().unwrap_or_default().to_owned();
        view.model = self.chosen_model().unwrap_or_default();
        if self.clients.chosen_model().is_none() {
            view.model.name = self.clients.model().to_owned();
        }
        (view.context.used, view.context.window) = self.clients.context();
        view.children = self.clients.children().iter().map(child_session).collect();
        view
    }
}

fn queued_message(waiting: &WaitingMessage) -> QueuedMessage {
    let delivery = match waiting.queue {
        QueueKind::Steering => Delivery::Steer,
        QueueKind::FollowUp => Delivery::Queue,
    };
    let message = &waiting.message;
    let mut queued = QueuedMessage::new(message.id(), content_of(message), delivery);
    queued.by = waiting.by.clone().map(Principal::new);
    queued
}

fn child_session(child: &ChildRun) -> ChildSession {
    let mut view = ChildSession::running(child.session_id.clone(), child.task.clone());
    view.is_running = child.is_running;
    view
}

fn model_view(chosen: &ChosenModel) -> ModelView {
    let mut view = ModelView::default();
    view.name.clone_from(&chosen.name);
    view.effort.clone_from(&chosen.effort);
    view
}

fn content_of(message: &AgentMessage) -> PromptContent {
    let content: Vec<Content> = message.as_user().map(|user| user.content.clone()).unwrap_or_default();
    PromptContent(content)
}
