//! Computes what clients see of a session besides the conversation: commands, queue, mode, model, sub-agents, answers.
//!
//! Computed from the journal. Snapshots include it, so that a host shows a long session without reading all of its
//! events. Its size depends on what is open in the session and, with 16 bytes each, on the number of commands; not on
//! the number of events. Invariant: what an imported journal decided about permissions, mode, model and commands does
//! not apply here.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::budget::BudgetRequest;
use crate::event::{AgentEvent, EventRecord, FileRestore, QueueKind, RunOutcome};
use crate::id::{EventId, LoopId, MessageId, RequestId, SessionId};
use crate::message::SharedMessage;
use crate::time::Timestamp;

/// How many answers are remembered, to tell a late client who was first.
const REMEMBERED_ANSWERS: usize = 256;

/// What clients see of a session besides its conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientState {
    /// Number of events that the state includes.
    events: u64,
    last_event: Option<EventId>,
    /// The import whose events follow, until this machine takes the session over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending_import: Option<String>,
    queue: Vec<WaitingMessage>,
    open_loops: Vec<LoopId>,
    /// Groups of branches without a decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open_groups: Vec<Vec<LoopId>>,
    outcome: Option<RunOutcome>,
    mode: Option<String>,
    chosen_model: Option<ChosenModel>,
    model: String,
    context_window: u64,
    context_used: u64,
    children: Vec<ChildRun>,
    /// When each open approval request was made.
    asked_at: Vec<(RequestId, Timestamp)>,
    /// The budget requests that wait, oldest first: at most one per loop.
    #[serde(
        default,
        rename = "budget_request",
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "open_budget_requests"
    )]
    budget_requests: Vec<OpenBudgetRequest>,
    planned_at: Timestamp,
    /// Hash of the id and position of each command, in order.
    commands: Arc<Vec<(u64, u64)>>,
    /// Position and sender of the newest command: the next event is its effect.
    newest_command: Option<(u64, String)>,
    /// Whether the client that sent the newest command hosts the session itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_in_process: bool,
    answered: VecDeque<AnsweredAsk>,
    is_closed: bool,
    /// The restore of files that has begun and not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_restore: Option<Box<FileRestore>>,
    /// The command of the user that has begun and not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_command: Option<UserCommand>,
}

/// A command of the user that runs, or that a crash interrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserCommand {
    /// The id of the client's command that asked for it.
    pub command_id: String,
    /// The command line.
    pub command: String,
}

/// A budget request that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OpenBudgetRequest {
    /// The loop that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_id: Option<LoopId>,
    /// The request.
    pub request: Arc<BudgetRequest>,
    /// When it was made.
    pub at: Timestamp,
}

/// Reads the requests of a snapshot. Earlier programs wrote at most one, without its loop.
fn open_budget_requests<'de, D>(deserializer: D) -> Result<Vec<OpenBudgetRequest>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum StoredRequests {
        All(Vec<OpenBudgetRequest>),
        One(Option<(Arc<BudgetRequest>, Timestamp)>),
    }
    Ok(match StoredRequests::deserialize(deserializer)? {
        StoredRequests::All(all) => all,
        StoredRequests::One(one) => {
            let open = |(request, at)| OpenBudgetRequest { loop_id: None, request, at };
            one.map(open).into_iter().collect()
        }
    })
}

/// A message that waits for delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WaitingMessage {
    /// The queue it waits in.
    pub queue: QueueKind,
    /// The message.
    pub message: SharedMessage,
    /// Who sent it, if a client did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A model that a client chose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChosenModel {
    /// Its name.
    pub name: String,
    /// The reasoning effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
}

/// A sub-agent of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChildRun {
    /// Its session.
    pub session_id: SessionId,
    /// Its task.
    pub task: String,
    /// Whether it has not ended.
    pub is_running: bool,
}

/// A question with an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AnsweredAsk {
    question: Question,
    /// Who answered; `None` if the session did.
    by: Option<String>,
}

/// A question that a session asks its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Question {
    /// An approval request or a budget request.
    Request(RequestId),
    /// The changes of plan mode.
    Plan,
}

impl ClientState {
    /// Processes the next event.
    pub fn apply(&mut self, record: &EventRecord) {
        let sender = self.newest_command.as_ref().filter(|(seq, _)| seq + 1 == record.seq);
        let sender = sender.map(|(_, by)| by.clone());
        self.events += 1;
        self.last_event = Some(record.id);
        if self.pending_import.is_some() && is_decision(&record.event) {
            return;
        }
        match &record.event {
            AgentEvent::SessionImported(import) => self.import(&import.import_id),
            AgentEvent::SessionTakenOver { import_id } => {
                self.pending_import.take_if(|pending| pending == import_id);
            }
            AgentEvent::CommandAccepted(command) => {
                Arc::make_mut(&mut self.commands).push((id_hash(&command.command_id), record.seq));
                self.newest_command = Some((record.seq, command.by.clone()));
                self.is_in_process = command.is_in_process;
                self.is_closed = command.action == "close";
            }
            AgentEvent::AgentStart(start) => {
                self.open_loops.push(start.loop_id.clone());
                self.is_closed = false;
                if let Some(config) = &start.config {
                    self.model.clone_from(&config.model);
                    self.context_window = config.context_window;
                }
            }
            AgentEvent::AgentEnd { outcome, .. } => {
                self.open_loops.retain(|open| Some(open) != record.loop_id.as_ref());
                self.outcome = Some(outcome.clone());
                self.budget_requests.retain(|open| !is_of_loop(open, record));
            }
            AgentEvent::ParallelLoopStart { loop_ids, .. } => self.open_groups.push(loop_ids.clone()),
            AgentEvent::ParallelLoopEnd { selected_loop_id, .. } => {
                self.open_groups.retain(|group| !group.contains(selected_loop_id));
            }
            AgentEvent::TurnEnd { usage, .. } => {
                self.context_used = usage.input + usage.cache_read + usage.cache_write + usage.output;
            }
            AgentEvent::MessageQueued { queue, message } => self.enqueue(*queue, message, sender),
            AgentEvent::MessageEnd { message } => self.dequeue(message.id()),
            AgentEvent::MessageUnqueued { message_id } => self.dequeue(*message_id),
            AgentEvent::PermissionRequired { request } => {
                self.asked_at.retain(|(id, _)| *id != request.id);
                self.asked_at.push((request.id, record.timestamp));
            }
            AgentEvent::PermissionDecided { request_id, .. } => {
                self.asked_at.retain(|(id, _)| id != request_id);
                self.note_answer(Question::Request(*request_id), sender);
            }
            AgentEvent::BudgetExtensionRequested { request } => {
                self.budget_requests.retain(|open| !is_of_loop(open, record));
                let (loop_id, request) = (record.loop_id.clone(), Arc::clone(request));
                self.budget_requests.push(OpenBudgetRequest { loop_id, request, at: record.timestamp });
            }
            AgentEvent::BudgetExtended { by, .. } => self.end_budget_request(record, Some(by.clone())),
            AgentEvent::LimitReached { .. } => self.end_budget_request(record, sender),
            AgentEvent::PlanChangeQueued { .. } => self.planned_at = record.timestamp,
            AgentEvent::PlanDecided { .. } => self.note_answer(Question::Plan, sender),
            AgentEvent::FileRestoreStarted(restore) => self.file_restore = Some(restore.clone()),
            AgentEvent::FileRestoreEnded(_) => self.file_restore = None,
            AgentEvent::UserCommandStarted { command_id, command } => {
                let (command_id, command) = (command_id.clone(), command.clone());
                self.user_command = Some(UserCommand { command_id, command });
            }
            AgentEvent::UserCommandEnded(_) => self.user_command = None,
            AgentEvent::ModeChanged { mode } => self.mode = Some(mode.clone()),
            AgentEvent::ModelChanged { model, effort } => {
                self.chosen_model = Some(ChosenModel { name: model.clone(), effort: effort.clone() });
            }
            AgentEvent::SubAgentSpawned { child_session_id, task, .. } => {
                let (session_id, task) = (child_session_id.clone(), task.clone());
                self.children.push(ChildRun { session_id, task, is_running: true });
            }
            AgentEvent::SubAgentCompleted { child_loop_id, .. } => {
                let is_it =
                    |child: &&mut ChildRun| child_loop_id.as_str().starts_with(child.session_id.as_str());
                self.children.iter_mut().filter(is_it).for_each(|child| child.is_running = false);
            }
            _ => {}
        }
    }

    /// Starts an import: the following events come from it. What came before gains nothing either.
    fn import(&mut self, import_id: &str) {
        if self.pending_import.is_some() {
            return;
        }
        self.pending_import = Some(import_id.to_owned());
        (self.mode, self.chosen_model) = (None, None);
        self.budget_requests.clear();
        (self.commands, self.newest_command) = (Arc::default(), None);
        (self.file_restore, self.user_command) = (None, None);
        self.asked_at.clear();
    }

    /// Adds a message in the order of delivery: the run takes steering first.
    fn enqueue(&mut self, queue: QueueKind, message: &SharedMessage, by: Option<String>) {
        let place = match queue {
            QueueKind::Steering => self.queue.iter().position(|other| other.queue != QueueKind::Steering),
            QueueKind::FollowUp => None,
        };
        let waiting = WaitingMessage { queue, message: Arc::clone(message), by };
        self.queue.insert(place.unwrap_or(self.queue.len()), waiting);
    }

    fn dequeue(&mut self, id: MessageId) {
        self.queue.retain(|waiting| waiting.message.id() != id);
    }

    /// Ends the request of the loop that an event belongs to.
    fn end_budget_request(&mut self, record: &EventRecord, by: Option<String>) {
        let at = self.budget_requests.iter().position(|open| is_of_loop(open, record));
        if let Some(open) = at.map(|at| self.budget_requests.remove(at)) {
            self.note_answer(Question::Request(open.request.id), by);
        }
    }

    fn note_answer(&mut self, question: Question, by: Option<String>) {
        if self.answered.len() == REMEMBERED_ANSWERS {
            self.answered.pop_front();
        }
        self.answered.push_back(AnsweredAsk { question, by });
    }

    /// Returns the number of events that the state includes.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Returns the newest event.
    pub const fn last_event(&self) -> Option<EventId> {
        self.last_event
    }

    /// Returns the messages that wait, in the order of delivery.
    pub fn queue(&self) -> &[WaitingMessage] {
        &self.queue
    }

    /// Returns whether a run has begun and not ended, or branches ended and none was selected.
    pub const fn has_open_run(&self) -> bool {
        !self.open_loops.is_empty() || !self.open_groups.is_empty()
    }

    /// Returns the restore of files that has begun and not ended.
    pub fn file_restore(&self) -> Option<&FileRestore> {
        self.file_restore.as_deref()
    }

    /// Returns whether a restore of files has begun and not ended.
    pub const fn has_file_restore(&self) -> bool {
        self.file_restore.is_some()
    }

    /// Returns the command of the user that has begun and not ended.
    pub const fn user_command(&self) -> Option<&UserCommand> {
        self.user_command.as_ref()
    }

    /// Returns how the newest run ended.
    pub const fn outcome(&self) -> Option<&RunOutcome> {
        self.outcome.as_ref()
    }

    /// Returns the permission mode that a client chose.
    pub fn mode(&self) -> Option<&str> {
        self.mode.as_deref()
    }

    /// Returns the model that a client chose.
    pub const fn chosen_model(&self) -> Option<&ChosenModel> {
        self.chosen_model.as_ref()
    }

    /// Returns the model of the newest run; empty before the first.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns the tokens of the newest request with its reply, and the size of the window; 0 if unknown.
    pub const fn context(&self) -> (u64, u64) {
        (self.context_used, self.context_window)
    }

    /// Returns the sub-agents, oldest first.
    pub fn children(&self) -> &[ChildRun] {
        &self.children
    }

    /// Returns when an open approval request was made.
    pub fn asked_at(&self, request: RequestId) -> Option<Timestamp> {
        self.asked_at.iter().find(|(id, _)| *id == request).map(|(_, at)| *at)
    }

    /// Returns the budget requests that wait, oldest first.
    pub fn budget_requests(&self) -> &[OpenBudgetRequest] {
        &self.budget_requests
    }

    /// Returns when plan mode queued the newest change.
    pub const fn planned_at(&self) -> Timestamp {
        self.planned_at
    }

    /// Returns the positions of the commands that may have this id, oldest first. The events there say which has it:
    /// the state knows hashes only.
    pub fn commands_like(&self, id: &str) -> Vec<u64> {
        let hash = id_hash(id);
        self.commands.iter().filter(|(known, _)| *known == hash).map(|(_, seq)| *seq).collect()
    }

    /// Returns whether a client of a host sent the newest command, and not one that hosts the session itself.
    pub const fn is_commanded(&self) -> bool {
        self.newest_command.is_some() && !self.is_in_process
    }

    /// Returns the newest answers, newest first, each with the client that answered; `None` if the session did.
    pub fn answers(&self) -> impl Iterator<Item = (Question, Option<&str>)> {
        self.answered.iter().rev().map(|answered| (answered.question, answered.by.as_deref()))
    }

    /// Returns whether a client closed the session and no run began since.
    pub const fn is_closed(&self) -> bool {
        self.is_closed
    }
}

/// Whether an event ends the request of a loop. An event about the session ends all, and so does any event a request whose loop
/// an earlier program did not save.
fn is_of_loop(open: &OpenBudgetRequest, record: &EventRecord) -> bool {
    open.loop_id.is_none() || record.loop_id.is_none() || open.loop_id == record.loop_id
}

/// Whether an event of an imported journal must not apply on this machine.
const fn is_decision(event: &AgentEvent) -> bool {
    event.is_local_decision()
        || matches!(
            event,
            AgentEvent::CommandAccepted(_)
                | AgentEvent::FileRestoreStarted(_)
                | AgentEvent::UserCommandStarted { .. }
                | AgentEvent::ModeChanged { .. }
                | AgentEvent::ModelChanged { .. }
        )
}

/// FNV-1a: the same in every version and on every machine, because snapshots contain it.
fn id_hash(id: &str) -> u64 {
    id.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
#[path = "clients_tests.rs"]
mod tests;
