//! A run as the sub-agent of one of its tool calls sees it.
//!
//! Lends what a sub-agent takes over from its parent: connections, settings, the store, a share of the budget, and the
//! way to the user. Invariant: the end of a sub-agent is recorded once, in the same write as the end of its tool call.

use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::content::ToolCall;
use lariat_core::event::{Finding, RunOutcome, SpawnRef};
use lariat_core::id::{LoopId, ToolCallId};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::run::RunConfig;
use lariat_core::tool::ToolContext;
use lariat_core::usage::Usage;
use tokio::sync::oneshot;

use super::journal::Journal;
use super::mailbox::{Mailbox, MailboxItem};
use super::ports::Ports;
use crate::budget::BudgetPool;

/// The run that a tool call belongs to, for a tool that starts a sub-agent.
pub struct ParentRun {
    pub(crate) ports: Arc<Ports>,
    pub(crate) config: Arc<RunConfig>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) loop_id: LoopId,
    pub(crate) call: Arc<ToolCall>,
    /// The budget that the sub-agents of the run share, as a pool of their own; `None` without limits.
    pub(crate) budget: Option<BudgetPool>,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) end: Mutex<Option<(RunOutcome, Usage)>>,
    /// What the sub-agent used so far, in all processes that ran it.
    pub(super) used: Mutex<Usage>,
}

impl ParentRun {
    /// Returns the run of a tool call; `None` if the tool has no
    /// [`task_argument`](lariat_core::tool::AgentTool::task_argument).
    pub fn of(context: &ToolContext) -> Option<Arc<Self>> {
        Arc::clone(context.run.as_ref()?).downcast().ok()
    }

    /// Returns the link that the sub-agent's session records.
    pub(crate) fn spawn_ref(&self) -> SpawnRef {
        SpawnRef {
            parent_session_id: self.journal.session_id().clone(),
            parent_loop_id: self.loop_id.clone(),
            tool_call_id: self.call.id.clone(),
            tool_name: self.call.name.clone(),
        }
    }

    /// Reports how the sub-agent ended and what it used, to record it with the end of the tool call.
    pub(crate) fn end(&self, outcome: RunOutcome, usage: Usage) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some((outcome, usage));
    }

    /// Reports what the sub-agent used so far.
    pub(super) fn report_usage(&self, used: Usage) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = used;
    }

    /// Returns what the sub-agent used so far.
    pub(crate) fn used(&self) -> Usage {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a finding of the sub-agent, or of one below it, to the run, which records a copy unless it has one.
    pub(crate) fn report_finding(&self, finding: &Arc<Finding>) {
        // A run that is over records nothing. The journal of the sub-agent has the finding.
        let _ = self.mailbox.send(MailboxItem::Finding(Arc::clone(finding)));
    }

    /// Asks the user on behalf of the sub-agent, and waits for the answer. One request at a time; dropping the future
    /// withdraws it.
    pub(crate) async fn ask(&self, mut request: PermissionRequest) -> PermissionDecision {
        // For the parent, this is a question of its own tool call.
        request.tool_call_id = self.call.id.clone();
        let (reply, answer) = oneshot::channel();
        let mut question = OpenQuestion { mailbox: &self.mailbox, call: &self.call.id, is_open: true };
        // A run that is over drops the item, and with it the sender.
        let _ = self.mailbox.send(MailboxItem::Ask { request: Box::new(request), reply });
        let decision = answer.await.unwrap_or(PermissionDecision::Withdrawn);
        question.is_open = false;
        decision
    }
}

/// Withdraws a question when it is dropped without an answer.
struct OpenQuestion<'a> {
    mailbox: &'a Mailbox,
    call: &'a ToolCallId,
    is_open: bool,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        if self.is_open {
            let _ = self.mailbox.send(MailboxItem::WithdrawQuestion { call: self.call.clone() });
        }
    }
}

impl std::fmt::Debug for ParentRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParentRun")
            .field("loop_id", &self.loop_id)
            .field("call", &self.call.id)
            .finish_non_exhaustive()
    }
}
