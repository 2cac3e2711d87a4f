//! Serves tool calls that start sub-agents: lends them the run, shares the budget, records their end.

use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::budget::SpentAmounts;
use lariat_core::content::ToolCall;
use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_core::id::ToolCallId;
use lariat_core::permission::PermissionRequest;
use lariat_core::run::Input;
use lariat_core::tool::{ToolError, ToolResult};
use lariat_core::usage::Usage;

use super::super::parent_run::ParentRun;
use super::Driver;
use crate::budget::BudgetPool;

/// What the sub-agents that run at the same time may spend together.
pub(super) struct SubAgentBudget {
    pool: BudgetPool,
    /// What the pool counts and the run has recorded: its own replies, and sub-agents that ended.
    recorded: SpentAmounts,
}

impl Driver {
    /// Returns the run as the sub-agent of a tool call sees it.
    pub(super) fn parent_of(&mut self, call: &Arc<ToolCall>) -> Arc<ParentRun> {
        if self.sub_agent_budget.is_none() {
            let remaining = self.run.remaining_budget();
            let pool = match &self.ports.budget.pool {
                // Not reserved: several agents of a tree with the same limits would otherwise wait for each other.
                Some(pool) => Some(pool.capped(remaining)),
                None => (!remaining.is_none()).then(|| BudgetPool::of_run(remaining)),
            };
            let recorded = SpentAmounts::default();
            self.sub_agent_budget = pool.map(|pool| SubAgentBudget { pool, recorded });
        }
        Arc::new(ParentRun {
            ports: Arc::clone(&self.ports),
            config: Arc::clone(self.run.config()),
            journal: Arc::clone(&self.journal),
            loop_id: self.handle.loop_id.clone(),
            call: Arc::clone(call),
            budget: self.sub_agent_budget.as_ref().map(|budget| budget.pool.clone()),
            mailbox: Arc::clone(&self.handle.mailbox),
            end: Mutex::default(),
            used: Mutex::default(),
        })
    }

    /// Returns a request as the approver sees it. The user of a parent does not have the conversation of its sub-agent, so a
    /// sub-agent's request contains the arguments of the tool call.
    pub(super) fn shown_request(&self, request: &Arc<PermissionRequest>) -> Arc<PermissionRequest> {
        let is_complete = request.args.is_some() || request.question.is_some();
        if is_complete || self.ports.lineage.depth() == 0 {
            return Arc::clone(request);
        }
        let Some(call) = self.run.open_call(&request.tool_call_id) else { return Arc::clone(request) };
        let args = Arc::new(call.arguments.clone());
        Arc::new(PermissionRequest::clone(request).with_args(args))
    }

    /// Records how the sub-agent of a tool call ended, before the end of the call. A sub-agent that could not report its end (its
    /// store failed, or its tool call was stopped) is recorded with what it used until then.
    pub(super) fn record_sub_agent_end(&mut self, call: &ToolCallId, result: &Result<ToolResult, ToolError>) {
        let parent = self.running_tools.iter_mut().find(|running| running.id == *call);
        let Some(parent) = parent.and_then(|running| running.parent.take()) else { return };
        let end = parent.end.lock().unwrap_or_else(PoisonError::into_inner).take();
        let end = end.or_else(|| {
            let used = Some(parent.used()).filter(|used| *used != Usage::default())?;
            let error = result.as_ref().err().map_or_else(String::new, ToString::to_string);
            Some((RunOutcome::Failed { error }, used))
        });
        if let (Some(budget), Some((_, usage))) = (&mut self.sub_agent_budget, &end) {
            budget.recorded += SpentAmounts::usage(usage);
        }
        if self.running_tools.iter().all(|running| running.parent.is_none()) {
            self.sub_agent_budget = None;
        }
        self.count_sub_agents();
        let Some((outcome, usage)) = end else { return };
        let Some(child_loop_id) = self.run.sub_agent_loop(call).cloned() else { return };
        let event =
            AgentEvent::SubAgentCompleted { tool_call_id: call.clone(), child_loop_id, outcome, usage };
        self.run.handle(Input::Note { event: Box::new(event) }, self.ports.stamp());
    }

    /// Reports to the parent what this run used, with the sub-agents that are still running below it.
    pub(super) fn report_usage(&self) {
        if let Some(parent) = self.ports.lineage.parent() {
            let mut used = *self.run.memory().ledger().usage();
            let running = self.running_tools.iter().filter_map(|running| running.parent.as_ref());
            running.for_each(|below| used += below.used());
            parent.report_usage(used);
        }
    }

    /// Tells the run what sub-agents in the background spent so far, because it continues meanwhile.
    pub(super) fn count_sub_agents(&mut self) {
        let unrecorded =
            self.sub_agent_budget.as_ref().map(|budget| budget.pool.spent().less(budget.recorded));
        let SpentAmounts { tokens, cost, .. } = unrecorded.unwrap_or_default();
        let mut spent = SpentAmounts::default();
        (spent.tokens, spent.cost) = (tokens, cost);
        self.run.count_running_sub_agents(spent);
    }

    /// Counts what the run spent itself since `before` in the budget that it shares with its sub-agents.
    pub(super) fn share_own_spending(&mut self, before: &Usage) {
        let Some(budget) = &mut self.sub_agent_budget else { return };
        let own = SpentAmounts::usage(self.run.usage()).less(SpentAmounts::usage(before));
        if own != SpentAmounts::default() {
            budget.pool.count_earlier(own);
            budget.recorded += own;
        }
    }
}
