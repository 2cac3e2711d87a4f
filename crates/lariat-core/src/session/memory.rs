//! Session state besides the conversation: approvals that still apply, planned changes, the system prompt,
//! pinned messages, goals, the work log and failures.
//!
//! Computed from the journal, together with the ledger and the budget state. Snapshots include it, so that it
//! is not lost when earlier events are no longer read. Invariant: decisions from an imported session are
//! never part of it ([`SessionMemory::is_foreign`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::{ToolCall, joined_text};
use crate::event::{AgentEvent, EventRecord, Goal, GoalStatus, Import};
use crate::id::{MessageId, ToolCallId};
use crate::ledger::Ledger;
use crate::message::{AssistantMessage, SharedMessage, ToolResultMessage};
use crate::model::PromptSection;
use crate::permission::{ApprovalScope, PermissionDecision, PermissionRequest};
use crate::session::SessionBudget;
use crate::session::failures::{Failure, Failures};
use crate::session::work::{FinishedCall, WorkLog};

/// A permission request with its decision.
pub type AnsweredRequest = (Arc<PermissionRequest>, PermissionDecision);

/// Session state besides the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionMemory {
    answers: Vec<AnsweredRequest>,
    plan: Vec<QueuedChange>,
    ledger: Box<Ledger>,
    budget: SessionBudget,
    /// The system prompt, once it was assembled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<Arc<[PromptSection]>>,
    /// Goals, the task list and failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aims: Option<Box<GoalState>>,
    /// The import of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    imported: Option<Box<ImportRange>>,
    #[serde(default)]
    pins: Arc<BTreeSet<MessageId>>,
    #[serde(default)]
    work: Arc<WorkLog>,
    /// Requests without a decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    asked: Vec<Arc<PermissionRequest>>,
    /// Tool calls of the newest reply.
    #[serde(skip)]
    calls: Vec<Arc<ToolCall>>,
    /// Tool calls of the newest reply that were started, as far as the work log needs them.
    #[serde(skip)]
    ran: Vec<StartedCall>,
}

/// An import, and where its events end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ImportRange {
    import: Import,
    /// The position at which this machine took the session over; `None` while all events come from the
    /// import.
    until: Option<u64>,
}

/// A tool call that was started.
#[derive(Clone, Debug, PartialEq)]
struct StartedCall {
    id: ToolCallId,
    /// Arguments of the call if they differ from the model's.
    arguments: Option<Arc<Value>>,
    details: Value,
    ended: bool,
}

/// Goals, task list and failures of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct GoalState {
    goals: Vec<Goal>,
    todo: Option<Arc<str>>,
    failures: Failures,
}

/// Name of the tool whose newest result is the task list.
pub const TASK_LIST: &str = "todo";

/// A change that plan mode queued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QueuedChange {
    /// The tool call that would make the change.
    pub call: Arc<ToolCall>,
    /// Description of the change.
    pub summary: String,
    /// True if the user approved the change and it was not started.
    pub approved: bool,
}

impl SessionMemory {
    /// Processes the next event.
    pub fn apply(&mut self, record: &EventRecord) {
        self.ledger.apply(record);
        if record.event.is_local_decision() && self.pending_import().is_some() {
            return;
        }
        self.budget.apply(record);
        match &record.event {
            AgentEvent::SessionImported(import) => self.import(import),
            AgentEvent::SessionTakenOver { import_id } => {
                let open = self.imported.as_mut().filter(|imported| imported.until.is_none());
                if let Some(imported) = open.filter(|imported| imported.import.import_id == *import_id) {
                    imported.until = Some(record.seq);
                }
            }
            AgentEvent::PermissionRequired { request } => {
                // A request that is repeated after a crash is the same request.
                self.asked.retain(|asked| asked.id != request.id);
                self.asked.push(Arc::clone(request));
            }
            AgentEvent::PermissionDecided { request_id, decision, .. } => {
                let Some(at) = self.asked.iter().position(|asked| asked.id == *request_id) else { return };
                let request = self.asked.remove(at);
                let lasts = decision.scope().is_some_and(|scope| scope != ApprovalScope::Once);
                let opened = decision.openings(&request);
                let is_new = |(known, answer): &AnsweredRequest| {
                    known.remember != request.remember || answer.openings(known) != opened
                };
                if lasts && self.answers.iter().all(is_new) {
                    self.answers.push((request, decision.clone()));
                }
            }
            AgentEvent::MessageEnd { message } => {
                let Some(message) = message.shared() else { return };
                if let Some(reply) = message.as_assistant() {
                    self.take_reply(reply);
                } else if let Some(result) = message.as_tool_result() {
                    self.take_result(message, result);
                }
            }
            AgentEvent::ToolExecutionStart { tool_call_id, args, .. } => {
                let call = self.calls.iter().find(|call| call.id == *tool_call_id);
                if call.is_some_and(|call| WorkLog::records(call)) {
                    let (id, arguments) = (tool_call_id.clone(), args.replacement().cloned());
                    self.ran.push(StartedCall { id, arguments, details: Value::Null, ended: false });
                }
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, details, .. } => {
                if let Some(ran) = self.ran.iter_mut().find(|ran| ran.id == *tool_call_id) {
                    (ran.details, ran.ended) = (details.clone(), true);
                }
            }
            AgentEvent::PromptAssembled { sections } => self.prompt = Some(Arc::clone(sections)),
            AgentEvent::GoalChanged(goal) => {
                let goals = &mut self.aims.get_or_insert_default().goals;
                goals.retain(|known| known.goal_id != goal.goal_id);
                if goal.status == GoalStatus::Active {
                    goals.push(Goal::clone(goal));
                }
            }
            AgentEvent::MessagePinned { message_id, pinned: true } => {
                Arc::make_mut(&mut self.pins).insert(*message_id);
            }
            AgentEvent::MessagePinned { message_id, pinned: false } => {
                Arc::make_mut(&mut self.pins).remove(message_id);
            }
            AgentEvent::PlanChangeQueued { tool_call_id, summary, .. } => {
                let Some(call) = self.calls.iter().find(|call| call.id == *tool_call_id) else { return };
                let change =
                    QueuedChange { call: Arc::clone(call), summary: summary.clone(), approved: false };
                self.plan.push(change);
            }
            AgentEvent::PlanDecided { approved, rejected } => {
                self.plan.retain(|change| !rejected.contains(&change.call.id));
                for change in self.plan.iter_mut().filter(|change| approved.contains(&change.call.id)) {
                    change.approved = true;
                }
            }
            _ => {}
        }
    }

    /// Starts an import: the following events come from it. Earlier decisions are cleared: an import is
    /// always the start of a session, and a file that claims otherwise gains nothing. A nested import changes
    /// nothing.
    fn import(&mut self, import: &Import) {
        if self.pending_import().is_some() {
            return;
        }
        self.imported = Some(Box::new(ImportRange { import: import.clone(), until: None }));
        self.answers.clear();
        self.asked.clear();
        self.plan.clear();
        self.prompt = None;
        self.budget = SessionBudget::default();
    }

    /// Returns the import of the session.
    pub fn session_import(&self) -> Option<&Import> {
        self.imported.as_ref().map(|imported| &imported.import)
    }

    /// Returns the import if this machine has not taken the session over yet.
    pub fn pending_import(&self) -> Option<&Import> {
        self.imported.as_ref().filter(|imported| imported.until.is_none()).map(|imported| &imported.import)
    }

    /// Returns true if a record is a decision from an import, which does not apply here.
    pub fn is_foreign(&self, record: &EventRecord) -> bool {
        let until = |imported: &ImportRange| imported.until.is_none_or(|until| record.seq < until);
        record.event.is_local_decision() && self.imported.as_deref().is_some_and(until)
    }

    /// Returns permission requests without an answer, oldest first.
    pub fn questions(&self) -> &[Arc<PermissionRequest>] {
        &self.asked
    }

    /// Returns what each source spent.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the budget state: warnings and extensions.
    pub const fn budget(&self) -> &SessionBudget {
        &self.budget
    }

    fn take_reply(&mut self, reply: &AssistantMessage) {
        self.calls = reply.tool_calls().cloned().collect();
        self.ran.clear();
        let begun = |id: &ToolCallId| self.calls.iter().any(|call| call.id == approved_call_id(id));
        self.plan.retain(|change| !begun(&change.call.id));
    }

    fn take_result(&mut self, message: &SharedMessage, result: &ToolResultMessage) {
        let call = self.calls.iter().find(|call| call.id == result.tool_call_id);
        if result.is_error || self.aims.as_ref().is_some_and(|aims| !aims.failures.is_empty()) {
            self.aims.get_or_insert_default().failures.apply(result, call.map(|call| &**call));
        }
        if result.tool_name == TASK_LIST && !result.is_error {
            self.aims.get_or_insert_default().todo = Some(joined_text(&result.content).into());
        }
        let Some(at) = self.ran.iter().position(|ran| ran.id == result.tool_call_id && ran.ended) else {
            return;
        };
        let ran = self.ran.swap_remove(at);
        let Some(call) = self.calls.iter().find(|call| call.id == ran.id) else { return };
        let text = joined_text(&result.content);
        Arc::make_mut(&mut self.work).record(&FinishedCall {
            call,
            arguments: ran.arguments.as_deref().unwrap_or(&call.arguments),
            details: &ran.details,
            is_error: result.is_error,
            text: &text,
            message: message.id(),
        });
    }

    /// Returns the sections of the system prompt, once it was assembled.
    pub const fn prompt(&self) -> Option<&Arc<[PromptSection]>> {
        self.prompt.as_ref()
    }

    /// Returns the active goals.
    pub fn goals(&self) -> &[Goal] {
        self.aims.as_ref().map_or(&[], |aims| &aims.goals)
    }

    /// Returns the newest task list, as its tool rendered it.
    pub fn todo(&self) -> Option<&str> {
        self.aims.as_ref()?.todo.as_deref()
    }

    /// Returns attempts that failed and have not succeeded since.
    pub fn failures(&self) -> &[Failure] {
        self.aims.as_ref().map_or(&[], |aims| aims.failures.list())
    }

    /// Returns the pinned messages, which compaction does not change.
    pub const fn pins(&self) -> &Arc<BTreeSet<MessageId>> {
        &self.pins
    }

    /// Returns the work log.
    pub const fn work(&self) -> &Arc<WorkLog> {
        &self.work
    }

    /// Returns approvals that apply for longer than one tool call, with their requests.
    pub fn answers(&self) -> &[AnsweredRequest] {
        &self.answers
    }

    /// Returns changes that plan mode queued and that were neither rejected nor started, in order.
    pub fn plan(&self) -> &[QueuedChange] {
        &self.plan
    }
}

/// Returns the id of the tool call that carries out a queued one. Deterministic, so that no change is made
/// twice.
pub fn approved_call_id(id: &ToolCallId) -> ToolCallId {
    ToolCallId::from(format!("{id}-approved"))
}
