//! What a session remembers besides its conversation: answers that still count, changes that wait for a decision, its
//! system prompt, pinned messages, what it works towards, what was done and what failed.
//!
//! Owns folds over the journal, the ledger and the budgets among them. They go with snapshots, so that none is lost when
//! the events before one are not read any more.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::Ledger;
use crate::content::{ToolCall, joined_text};
use crate::context::{Ended, WorkLog};
use crate::event::{AgentEvent, EventRecord, Goal, GoalStatus};
use crate::id::{MessageId, ToolCallId};
use crate::message::{AssistantMessage, SharedMessage, ToolResultMessage};
use crate::model::PromptSection;
use crate::permission::{ApprovalScope, PermissionDecision, PermissionRequest};
use crate::session::SessionBudget;
use crate::session::failures::{Failure, Failures};

/// A question with its answer.
pub type Answered = (Arc<PermissionRequest>, PermissionDecision);

/// What a session remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionMemory {
    answers: Vec<Answered>,
    plan: Vec<QueuedChange>,
    ledger: Box<Ledger>,
    budget: SessionBudget,
    /// The system prompt, once it was put together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<Arc<[PromptSection]>>,
    /// What it works towards, and what stands in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aims: Option<Box<Aims>>,
    #[serde(default)]
    pins: Arc<BTreeSet<MessageId>>,
    #[serde(default)]
    work: Arc<WorkLog>,
    /// Questions that are not answered.
    #[serde(skip)]
    asked: Vec<Arc<PermissionRequest>>,
    /// The calls of the newest reply.
    #[serde(skip)]
    calls: Vec<Arc<ToolCall>>,
    /// Calls of the newest reply that run or ran, as far as the record of the work needs them.
    #[serde(skip)]
    ran: Vec<Ran>,
}

/// A call that runs or ran.
#[derive(Clone, Debug, PartialEq)]
struct Ran {
    id: ToolCallId,
    /// What it runs with, where that is not what the model asked for.
    arguments: Option<Arc<Value>>,
    details: Value,
    ended: bool,
}

/// What a session works towards, and what stands in the way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Aims {
    goals: Vec<Goal>,
    todo: Option<Arc<str>>,
    failures: Failures,
}

/// The tool whose newest result is the list of what is to be done.
pub const TASK_LIST: &str = "todo";

/// A change that plan mode queued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QueuedChange {
    /// The call that would have made it.
    pub call: Arc<ToolCall>,
    /// What would be done, in words.
    pub summary: String,
    /// True when it was approved and nobody has begun to carry it out.
    pub approved: bool,
}

impl SessionMemory {
    /// Takes in the next event.
    pub fn apply(&mut self, record: &EventRecord) {
        self.ledger.apply(record);
        self.budget.apply(record);
        match &record.event {
            AgentEvent::PermissionRequired { request } => self.asked.push(Arc::clone(request)),
            AgentEvent::PermissionDecided { request_id, decision, .. } => {
                let Some(at) = self.asked.iter().position(|asked| asked.id == *request_id) else { return };
                let request = self.asked.swap_remove(at);
                let lasts = decision.scope().is_some_and(|scope| scope != ApprovalScope::Once);
                let opened = decision.openings(&request);
                let is_new = |(known, answer): &Answered| {
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
                if call.is_some_and(|call| WorkLog::concerns(call)) {
                    let (id, arguments) = (tool_call_id.clone(), args.replacement().cloned());
                    self.ran.push(Ran { id, arguments, details: Value::Null, ended: false });
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

    /// Who spent what.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Which budgets were warned of and extended.
    pub const fn budget(&self) -> &SessionBudget {
        &self.budget
    }

    fn take_reply(&mut self, reply: &AssistantMessage) {
        self.calls = reply.tool_calls().cloned().collect();
        self.ran.clear();
        let begun = |id: &ToolCallId| self.calls.iter().any(|call| call.id == carried(id));
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
        Arc::make_mut(&mut self.work).note(&Ended {
            call,
            arguments: ran.arguments.as_deref().unwrap_or(&call.arguments),
            details: &ran.details,
            is_error: result.is_error,
            text: &text,
            message: message.id(),
        });
    }

    /// The sections of the system prompt, once it was put together.
    pub const fn prompt(&self) -> Option<&Arc<[PromptSection]>> {
        self.prompt.as_ref()
    }

    /// What the session works towards: goals that are neither reached nor given up.
    pub fn goals(&self) -> &[Goal] {
        self.aims.as_ref().map_or(&[], |aims| &aims.goals)
    }

    /// The newest list of what is to be done, as its tool told it.
    pub fn todo(&self) -> Option<&str> {
        self.aims.as_ref()?.todo.as_deref()
    }

    /// What was tried and failed, and has not worked since.
    pub fn failures(&self) -> &[Failure] {
        self.aims.as_ref().map_or(&[], |aims| aims.failures.list())
    }

    /// Messages that are to stay as they are, whatever is compacted.
    pub const fn pins(&self) -> &Arc<BTreeSet<MessageId>> {
        &self.pins
    }

    /// What was done so far.
    pub const fn work(&self) -> &Arc<WorkLog> {
        &self.work
    }

    /// Answers that count for longer than one call, with their questions.
    pub fn answers(&self) -> &[Answered] {
        &self.answers
    }

    /// Changes that plan mode queued and that were neither rejected nor begun, in the order they came.
    pub fn plan(&self) -> &[QueuedChange] {
        &self.plan
    }
}

/// The id of the call that carries a queued one out. Always the same, so that nothing is carried out twice.
pub fn carried(id: &ToolCallId) -> ToolCallId {
    ToolCallId::from(format!("{id}-approved"))
}
