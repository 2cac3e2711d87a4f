//! Computes what one path of the conversation remembers: planned changes, goals, tasks, failures, the work log.
//!
//! A session has one such memory for its conversation, and while branches run, one for each branch. Tool calls are looked up in
//! the reply of their own loop, so that loops that run at the same time never see each other's calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::{ToolCall, joined_text};
use crate::event::{AgentEvent, EventRecord, Finding, Goal, GoalStatus};
use crate::id::{LoopId, ToolCallId};
use crate::message::{AssistantMessage, SharedMessage, ToolResultMessage};
use crate::session::failures::{Failure, Failures};
use crate::session::work::{FinishedCall, WorkLog};

/// Name of the tool whose newest result is the task list.
pub const TASK_LIST: &str = "todo";

/// The memory of one path of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct BranchMemory {
    plan: Vec<QueuedChange>,
    /// Goals, the task list and failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aims: Option<Box<GoalState>>,
    #[serde(default)]
    work: Arc<WorkLog>,
    /// The open turns of the loops, by loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    turns: Vec<OpenTurn>,
    /// Ids of the findings of other agents that notes contained. Compaction may remove the notes.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    received_findings: BTreeSet<String>,
}

/// The newest reply of a loop, until its turn ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OpenTurn {
    loop_id: Option<LoopId>,
    calls: Vec<Arc<ToolCall>>,
    /// The calls that were started, as far as the work log needs them.
    ran: Vec<StartedCall>,
}

/// A tool call that was started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

impl OpenTurn {
    fn call(&self, id: &ToolCallId) -> Option<&Arc<ToolCall>> {
        self.calls.iter().find(|call| call.id == *id)
    }
}

impl BranchMemory {
    /// Processes the next event of this path.
    pub(super) fn apply(&mut self, record: &EventRecord) {
        let loop_id = &record.loop_id;
        match &record.event {
            AgentEvent::MessageEnd { message } => {
                let Some(message) = message.shared() else { return };
                if let Some(reply) = message.as_assistant() {
                    self.take_reply(loop_id, reply);
                } else if let Some(result) = message.as_tool_result() {
                    self.take_result(loop_id, message, result);
                } else if let Some(id) = message.note_section().and_then(Finding::id_of_section) {
                    self.received_findings.insert(id.to_owned());
                }
            }
            AgentEvent::ToolExecutionStart { tool_call_id, args, .. } => {
                let Some(turn) = self.turn_mut(loop_id) else { return };
                if turn.call(tool_call_id).is_some_and(|call| WorkLog::records(call)) {
                    let (id, arguments) = (tool_call_id.clone(), args.replacement().cloned());
                    turn.ran.push(StartedCall { id, arguments, details: Value::Null, ended: false });
                }
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, details, .. } => {
                let turn = self.turn_mut(loop_id);
                let ran = turn.and_then(|turn| turn.ran.iter_mut().find(|ran| ran.id == *tool_call_id));
                if let Some(ran) = ran {
                    (ran.details, ran.ended) = (details.clone(), true);
                }
            }
            AgentEvent::TurnEnd { .. } | AgentEvent::AgentEnd { .. } => {
                self.turns.retain(|turn| turn.loop_id != *loop_id);
            }
            AgentEvent::GoalChanged(goal) => {
                let goals = &mut self.aims.get_or_insert_default().goals;
                goals.retain(|known| known.goal_id != goal.goal_id);
                if goal.status == GoalStatus::Active {
                    goals.push(Goal::clone(goal));
                }
            }
            AgentEvent::PlanChangeQueued { tool_call_id, summary, .. } => {
                let turn = self.turns.iter().find(|turn| turn.loop_id == *loop_id);
                let Some(call) = turn.and_then(|turn| turn.call(tool_call_id)) else { return };
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

    fn turn_mut(&mut self, loop_id: &Option<LoopId>) -> Option<&mut OpenTurn> {
        self.turns.iter_mut().find(|turn| turn.loop_id == *loop_id)
    }

    fn take_reply(&mut self, loop_id: &Option<LoopId>, reply: &AssistantMessage) {
        let calls: Vec<Arc<ToolCall>> = reply.tool_calls().cloned().collect();
        let begun = |id: &ToolCallId| calls.iter().any(|call| call.id == approved_call_id(id));
        self.plan.retain(|change| !begun(&change.call.id));
        self.turns.retain(|turn| turn.loop_id != *loop_id);
        if !calls.is_empty() {
            self.turns.push(OpenTurn { loop_id: loop_id.clone(), calls, ran: Vec::new() });
        }
    }

    fn take_result(&mut self, loop_id: &Option<LoopId>, message: &SharedMessage, result: &ToolResultMessage) {
        let turn = self.turns.iter_mut().find(|turn| turn.loop_id == *loop_id);
        let call = turn.as_ref().and_then(|turn| turn.call(&result.tool_call_id)).cloned();
        if result.is_error || self.aims.as_ref().is_some_and(|aims| !aims.failures.is_empty()) {
            self.aims.get_or_insert_default().failures.apply(result, call.as_deref());
        }
        if result.tool_name == TASK_LIST && !result.is_error {
            self.aims.get_or_insert_default().todo = Some(joined_text(&result.content).into());
        }
        let (Some(turn), Some(call)) = (turn, call) else { return };
        let Some(at) = turn.ran.iter().position(|ran| ran.id == result.tool_call_id && ran.ended) else {
            return;
        };
        let ran = turn.ran.swap_remove(at);
        let text = joined_text(&result.content);
        Arc::make_mut(&mut self.work).record(&FinishedCall {
            call: &call,
            arguments: ran.arguments.as_deref().unwrap_or(&call.arguments),
            details: &ran.details,
            is_error: result.is_error,
            text: &text,
            message: message.id(),
        });
    }

    /// Clears what an import must not decide.
    pub(super) fn clear_plan(&mut self) {
        self.plan.clear();
    }

    pub(super) fn has_received(&self, finding_id: &str) -> bool {
        self.received_findings.contains(finding_id)
    }

    pub(super) fn plan(&self) -> &[QueuedChange] {
        &self.plan
    }

    pub(super) fn goals(&self) -> &[Goal] {
        self.aims.as_ref().map_or(&[], |aims| &aims.goals)
    }

    pub(super) fn todo(&self) -> Option<&str> {
        self.aims.as_ref()?.todo.as_deref()
    }

    pub(super) fn failures(&self) -> &[Failure] {
        self.aims.as_ref().map_or(&[], |aims| aims.failures.list())
    }

    pub(super) const fn work(&self) -> &Arc<WorkLog> {
        &self.work
    }
}

/// Returns the id of the tool call that carries out a queued one. Deterministic, so that no change is made
/// twice.
pub fn approved_call_id(id: &ToolCallId) -> ToolCallId {
    ToolCallId::from(format!("{id}-approved"))
}
