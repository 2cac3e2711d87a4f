//! Records the sub-agents of tool calls, and resumes them after a crash.
//!
//! Each sub-agent is recorded before its tool call starts and ends once, before the end of the call. It has a journal of
//! its own, so a call that a crash interrupted runs again with the same sub-agent, which continues where its journal ends.

use std::sync::Arc;

use serde_json::Value;

use super::calls::CallActivity;
use super::state::CallSubAgent;
use super::{Effect, Run};
use crate::budget::{BudgetLimits, BudgetStatus};
use crate::content::ToolCall;
use crate::event::{AgentEvent, LimitKind, RunOutcome};
use crate::id::{LoopId, SessionId, ToolCallId};
use crate::tool::RecordedSubAgent;
use crate::usage::{Cost, Usage};

/// The `{config}` segment of a sub-agent's loop ids.
pub const SUB_AGENT_CONFIG: &str = "sub";

impl Run {
    /// Records the sub-agent of a tool call that starts one, unless an earlier process did.
    pub(super) fn spawn(&mut self, at: usize, call: &ToolCall, args: Option<&Value>) {
        let argument = self.config.tools.get(&call.name).and_then(|traits| traits.task_argument);
        let is_recorded = self.call_at(at).is_some_and(|call| call.sub_agent.is_some());
        let Some(argument) = argument.filter(|_| !is_recorded) else { return };
        let args = args.unwrap_or(&call.arguments);
        let task = args.get(argument).and_then(Value::as_str);
        let traits = self.config.tools.get(&call.name);
        let is_background = traits.is_some_and(|traits| traits.is_background(args));
        let child_session_id = SessionId::from(self.minter.uuid().to_string());
        let report = is_background.then(|| self.message_id());
        self.record(AgentEvent::SubAgentSpawned {
            tool_call_id: call.id.clone(),
            child_loop_id: LoopId::compose(&child_session_id, SUB_AGENT_CONFIG, 1),
            child_session_id,
            task: task.unwrap_or_default().to_owned(),
            report,
        });
    }

    /// Returns the tokens and the money that sub-agents may spend before a limit of this run or its session is reached.
    pub fn remaining_budget(&self) -> BudgetLimits {
        let mut remaining = BudgetLimits::none();
        for BudgetStatus { limit, used, cap, .. } in self.run_statuses() {
            let left = cap.saturating_sub(used);
            match limit {
                LimitKind::Tokens => {
                    remaining.tokens = Some(remaining.tokens.map_or(left, |known| known.min(left)))
                }
                LimitKind::Cost => {
                    let left = Cost::from_nano_usd(left);
                    remaining.cost = Some(remaining.cost.map_or(left, |known| known.min(left)));
                }
                _ => {}
            }
        }
        remaining
    }

    /// Returns a tool call of the open turn.
    pub fn open_call(&self, id: &ToolCallId) -> Option<&Arc<ToolCall>> {
        let mut calls = self.state.turn.iter().flat_map(|turn| &turn.calls);
        calls.find(|state| state.call.id == *id).map(|state| &state.call)
    }

    /// Returns the loop of a tool call's sub-agent, until its end is recorded.
    pub fn sub_agent_loop(&self, call: &ToolCallId) -> Option<&LoopId> {
        let calls = self.state.turn.iter().flat_map(|turn| &turn.calls);
        let of_calls =
            calls.filter(|state| state.call.id == *call).find_map(|state| state.sub_agent.as_ref());
        let background = self.state.background.iter().find(|agent| agent.call.id == *call);
        let sub_agent = background.map(|agent| &agent.sub_agent).or(of_calls);
        sub_agent.filter(|sub_agent| !sub_agent.is_completed).map(|sub_agent| &sub_agent.loop_id)
    }

    /// Returns the sub-agent that is recorded for a tool call.
    pub(super) fn sub_agent_of(&self, at: usize, is_resumed: bool) -> Option<Box<RecordedSubAgent>> {
        Some(self.call_at(at)?.sub_agent.as_ref()?.recorded(is_resumed))
    }

    /// Runs a tool call again whose sub-agent a crash interrupted; returns false for any other tool call.
    pub(super) fn resume_sub_agent(&mut self, at: usize) -> bool {
        let Some(sub_agent) = self.sub_agent_of(at, true) else { return false };
        // The sub-agent asks again.
        self.withdraw_question(at);
        let Some(state) = self.call_at(at) else { return false };
        let call = Arc::clone(&state.call);
        let args = state.sub_agent.as_ref().and_then(|sub_agent| sub_agent.args.clone());
        self.out.push_back(Effect::RunTool { call, args, sub_agent: Some(sub_agent) });
        self.set_activity(at, CallActivity::Running);
        true
    }

    /// Records that a sub-agent ended whose tool did not report it: the call was dropped or failed to start it.
    pub(super) fn end_sub_agent(&mut self, at: usize, error: Option<&str>) {
        let Some(sub_agent) = self.call_at(at).and_then(|call| call.sub_agent.clone()) else { return };
        let Some(tool_call_id) = self.call_at(at).map(|call| call.call.id.clone()) else { return };
        // The call of a background sub-agent ends before it.
        if sub_agent.report.is_none() {
            self.end_unreported(tool_call_id, &sub_agent, error);
        }
    }

    pub(super) fn end_unreported(
        &mut self,
        tool_call_id: ToolCallId,
        sub_agent: &CallSubAgent,
        error: Option<&str>,
    ) {
        if sub_agent.is_completed {
            return;
        }
        let outcome = match error {
            Some(error) => RunOutcome::Failed { error: error.to_owned() },
            None => RunOutcome::Completed,
        };
        let (child_loop_id, usage) = (sub_agent.loop_id.clone(), Usage::default());
        self.record(AgentEvent::SubAgentCompleted { tool_call_id, child_loop_id, outcome, usage });
    }
}

impl CallSubAgent {
    pub(super) fn recorded(&self, is_resumed: bool) -> Box<RecordedSubAgent> {
        Box::new(RecordedSubAgent {
            session_id: self.session_id.clone(),
            loop_id: self.loop_id.clone(),
            is_resumed,
            is_completed: self.is_completed,
        })
    }
}
