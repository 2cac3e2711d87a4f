//! What a session remembers besides its conversation: answers that still count, and changes that wait for a decision.
//!
//! Owns folds over the journal, the ledger and the budgets among them. They go with snapshots, so that none is lost when
//! the events before one are not read any more.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::budget::Ledger;
use crate::content::ToolCall;
use crate::event::{AgentEvent, EventRecord};
use crate::id::ToolCallId;
use crate::permission::{ApprovalScope, PermissionDecision, PermissionRequest};
use crate::session::SessionBudget;

/// A question with its answer.
pub type Answered = (Arc<PermissionRequest>, PermissionDecision);

/// What a session remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionMemory {
    answers: Vec<Answered>,
    plan: Vec<QueuedChange>,
    ledger: Box<Ledger>,
    budget: SessionBudget,
    /// Questions that are not answered.
    #[serde(skip)]
    asked: Vec<Arc<PermissionRequest>>,
    /// The calls of the newest reply.
    #[serde(skip)]
    calls: Vec<Arc<ToolCall>>,
}

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
                let is_new = |(known, _): &Answered| known.remember != request.remember;
                if lasts && self.answers.iter().all(is_new) {
                    self.answers.push((request, decision.clone()));
                }
            }
            AgentEvent::MessageEnd { message } => {
                let Some(reply) = message.shared().and_then(|message| message.as_assistant()) else { return };
                self.calls = reply.tool_calls().cloned().collect();
                let begun = |id: &ToolCallId| self.calls.iter().any(|call| call.id == carried(id));
                self.plan.retain(|change| !begun(&change.call.id));
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
