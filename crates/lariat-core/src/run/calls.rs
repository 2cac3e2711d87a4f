//! Takes the tool calls of a turn through the permission check, the approval, the tool and to a result.
//!
//! Decides which calls run together and what happens to those that do not run. Results may arrive in any
//! order; the model receives them in call order, because the turn is closed only when every call has one.
//! Invariant: a call without a recorded `ToolExecutionStart` has had no effect, and a call with one is never
//! started again. A call with a recorded sub-agent is the exception: it resumes that sub-agent, which keeps the
//! same invariant in its own journal.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::budget::no_calls_left;
use super::config::RunConfig;
use super::flow::StepResult;
use super::repetition::{CallFingerprint, DetectedRepetition};
use super::state::{CallPhase, CallState, NOTE_PREFIX, TurnState};
use super::{Effect, HookCall, Run};
use crate::budget::BudgetStatus;
use crate::config::ToolExecutionStrategy;
use crate::content::{Content, ToolCall};
use crate::event::{AgentEvent, ArgsRef, BlockedBy, LoopPattern, MessageRef, Task};
use crate::id::{RequestId, ToolCallId};
use crate::message::{AgentMessage, LlmMessage, Message, SharedMessage, StopReason, ToolResultMessage};
use crate::permission::{PermissionDecision, PermissionRequest, Verdict};
use crate::session::WorkLog;
use crate::tool::{ToolError, ToolResult};
use crate::transcript::NO_OUTPUT;

/// The pending operation of a tool call, which the journal does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CallActivity {
    /// No operation is pending.
    #[default]
    Idle,
    /// The permission check is running.
    Authorizing,
    /// The user is being asked for approval.
    Asking,
    /// The shared budgets are being asked.
    Admitting,
    /// The tool is running.
    Running,
    /// The tool is running and was asked to end.
    Cancelling,
}

/// The next step of a tool call.
enum NextStep {
    Authorize,
    Ask,
    Dispatch(Option<Arc<Value>>),
    RecordUnrun(String),
    Block(Option<String>),
    Plan(String),
    RecordAnswer(String),
}

/// Results for the model of tool calls that did not run.
const SKIPPED_FOR_USER: &str = "Skipped due to queued user message.";
pub(crate) const SKIPPED_BY_HOOK: &str = "Skipped: a hook did not allow this call.";
/// Start of the result of a denied tool call; the reason follows.
pub(crate) const DENIED: &str = "Denied: ";
const CANCELLED: &str = "The run was cancelled before this call was started.";
const TRUNCATED: &str = "Not run: the reply ended before it was complete. If the call is still needed, make it again in smaller parts.";
const OUTPUT_LOST: &str =
    "This call was completed, but its output was lost in a crash. Check the state before repeating it.";

impl Run {
    /// Brings the tool calls of a turn with a reply to results, then closes the turn.
    pub(super) fn run_calls(&mut self) -> StepResult {
        let Some(turn) = &self.state.turn else { return StepResult::Waiting };
        self.call_activities.resize(turn.calls.len(), CallActivity::Idle);
        if turn.calls.iter().all(|call| call.result.is_some()) {
            self.end_turn();
            return StepResult::Taken;
        }
        if self.state.stop_outcome().is_some() {
            self.cancel_calls();
        } else {
            self.advance_group();
        }
        let done = |turn: &TurnState| turn.calls.iter().all(|call| call.result.is_some());
        if self.state.turn.as_ref().is_some_and(done) { StepResult::Taken } else { StepResult::Waiting }
    }

    /// Advances every tool call of the current group by one step.
    fn advance_group(&mut self) {
        loop {
            let Some(turn) = &self.state.turn else { return };
            let Some(group) = current_group(&self.config, turn) else { return };
            let all_waiting =
                turn.calls.get(group.clone()).is_some_and(|calls| calls.iter().all(CallState::is_waiting));
            if all_waiting && group.start > 0 && self.is_idle(&group) && !self.state.steering.is_empty() {
                let end = turn.calls.len();
                (group.start..end).for_each(|at| self.record_unrun(at, SKIPPED_FOR_USER));
                return;
            }
            group.clone().for_each(|at| self.advance_call(at));
            let finished = |turn: &TurnState| {
                turn.calls
                    .get(group.clone())
                    .is_some_and(|calls| calls.iter().all(|call| call.result.is_some()))
            };
            if !self.state.turn.as_ref().is_some_and(finished) {
                return;
            }
        }
    }

    fn is_idle(&self, group: &Range<usize>) -> bool {
        self.call_activities.get(group.clone()).is_some_and(|call_activities| {
            call_activities.iter().all(|activity| *activity == CallActivity::Idle)
        })
    }

    fn advance_call(&mut self, at: usize) {
        let Some(turn) = &self.state.turn else { return };
        let (Some(state), Some(activity)) = (turn.calls.get(at), self.call_activities.get(at).copied())
        else {
            return;
        };
        if state.result.is_some() || activity != CallActivity::Idle {
            return;
        }
        let call = Arc::clone(&state.call);
        let truncated = turn.reply.as_ref().and_then(|reply| reply.as_assistant()).is_some_and(|reply| {
            matches!(
                reply.stop_reason,
                StopReason::Length | StopReason::ContextExceeded | StopReason::Refusal
            )
        });
        let next = match &state.phase {
            CallPhase::Waiting if truncated => NextStep::RecordUnrun(TRUNCATED.into()),
            CallPhase::Waiting if !self.config.tools.contains_key(&call.name) => {
                NextStep::RecordUnrun(unknown_tool(&self.config, &call.name))
            }
            CallPhase::Waiting => NextStep::Authorize,
            CallPhase::Asked(_) => NextStep::Ask,
            CallPhase::Granted(args) => NextStep::Dispatch(args.clone()),
            CallPhase::Refused(reason) => NextStep::Block(reason.clone()),
            CallPhase::Answered(text) => NextStep::RecordAnswer(text.clone()),
            CallPhase::Blocked(by, reason) => NextStep::RecordUnrun(blocked_text(*by, reason.as_deref())),
            CallPhase::Planned(summary) => NextStep::Plan(summary.clone()),
            // Recorded as running, but nothing runs: the process that ran it has ended.
            CallPhase::Dispatched | CallPhase::Questioning(_) => {
                if !self.end_background_call(at) && !self.resume_sub_agent(at) {
                    self.interrupt(at);
                }
                return;
            }
            CallPhase::Ended => NextStep::RecordUnrun(OUTPUT_LOST.into()),
        };
        match next {
            NextStep::Authorize => {
                self.set_activity(at, CallActivity::Authorizing);
                self.out.push_back(Effect::Authorize { call });
            }
            NextStep::Ask => self.ask(at),
            NextStep::Dispatch(args) => self.dispatch(at, args),
            NextStep::RecordUnrun(text) => self.record_unrun(at, &text),
            NextStep::Block(reason) => self.block(at, BlockedBy::Approval, reason),
            NextStep::Plan(summary) => self.record_planned(at, &summary),
            NextStep::RecordAnswer(text) => self.record_answer(at, text),
        }
    }

    pub(super) fn set_activity(&mut self, at: usize, activity: CallActivity) {
        if let Some(slot) = self.call_activities.get_mut(at) {
            *slot = activity;
        }
    }

    pub(super) fn call_at(&self, at: usize) -> Option<&CallState> {
        self.state.turn.as_ref()?.calls.get(at)
    }

    fn position(&self, id: &ToolCallId) -> Option<usize> {
        self.state.turn.as_ref()?.calls.iter().position(|call| call.call.id == *id)
    }

    pub(super) fn on_authorized(&mut self, id: &ToolCallId, verdict: Verdict) {
        let Some(at) = self.position(id) else { return };
        if self.call_activities.get(at) != Some(&CallActivity::Authorizing) {
            return;
        }
        self.set_activity(at, CallActivity::Idle);
        match verdict {
            Verdict::Allow => self.dispatch(at, None),
            Verdict::Rewrite(args) => self.dispatch(at, Some(args)),
            Verdict::Deny(reason) => self.block(at, BlockedBy::PermissionCheck, Some(reason)),
            Verdict::Skip => self.block(at, BlockedBy::Callback, None),
            Verdict::Ask(mut request) => {
                request.id = RequestId::new(self.minter.uuid());
                request.tool_call_id = id.clone();
                self.record(AgentEvent::PermissionRequired { request: Arc::new(request) });
            }
            Verdict::Queue { summary } => {
                let Some(call) = self.call_at(at).map(|call| Arc::clone(&call.call)) else { return };
                self.record(AgentEvent::PlanChangeQueued {
                    tool_call_id: call.id.clone(),
                    tool_name: call.name.clone(),
                    summary,
                });
            }
        }
    }

    /// Records that a tool call was refused, and its result.
    fn block(&mut self, at: usize, by: BlockedBy, reason: Option<String>) {
        let Some(call) = self.call_at(at).map(|call| Arc::clone(&call.call)) else { return };
        let text = blocked_text(by, reason.as_deref());
        self.record(AgentEvent::ToolBlocked {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            by,
            reason,
        });
        self.record_unrun(at, &text);
    }

    /// Records the result of a tool call that plan mode queued.
    fn record_planned(&mut self, at: usize, summary: &str) {
        let Some(call) = self.call_at(at).map(|call| Arc::clone(&call.call)) else { return };
        let text = format!("Plan mode: queued for approval, not executed. {summary}");
        let message = self.result_message(&call, vec![Content::text(text)], false);
        self.record_message(message);
    }

    /// Records the user's answer as the result of the tool call that asked for it.
    fn record_answer(&mut self, at: usize, text: String) {
        let Some(call) = self.call_at(at).map(|call| Arc::clone(&call.call)) else { return };
        let text = if text.is_empty() { NO_OUTPUT.to_owned() } else { text };
        let message = self.result_message(&call, vec![Content::text(text)], false);
        self.record_message(message);
    }

    fn ask(&mut self, at: usize) {
        let Some(CallPhase::Asked(request)) = self.call_at(at).map(|call| &call.phase) else { return };
        let request = Arc::clone(request);
        self.set_activity(at, CallActivity::Asking);
        self.out.push_back(Effect::Ask { request });
    }

    pub(super) fn on_permission(&mut self, request: RequestId, decision: PermissionDecision) {
        let asked = |call: &CallState| match &call.phase {
            CallPhase::Asked(asked) | CallPhase::Questioning(asked) => asked.id == request,
            _ => false,
        };
        if self.on_background_answer(request, &decision) {
            return;
        }
        let Some(turn) = &self.state.turn else { return };
        let Some(at) = turn.calls.iter().position(asked) else { return };
        let Some(call) = self.call_at(at) else { return };
        let (tool_call_id, has_started) = (call.call.id.clone(), call.phase.has_started());
        self.record(AgentEvent::PermissionDecided { request_id: request, tool_call_id, decision });
        // A tool that asked a question continues.
        if !has_started {
            self.set_activity(at, CallActivity::Idle);
        }
        self.out.push_back(Effect::Withdraw { request });
    }

    /// Asks the user a question of a tool that runs. Ignores a tool that does not run any more, or that has asked already.
    pub(super) fn on_tool_asked(&mut self, id: &ToolCallId, mut request: PermissionRequest) {
        let is_running = || {
            let at = self.position(id)?;
            let is_silent = self.call_at(at).is_some_and(|call| matches!(call.phase, CallPhase::Dispatched));
            Some(is_silent && self.call_activities.get(at) == Some(&CallActivity::Running))
        };
        if !self.may_background_ask(id).or_else(is_running).unwrap_or(false) {
            return;
        }
        request.id = RequestId::new(self.minter.uuid());
        request.tool_call_id = id.clone();
        let request = Arc::new(request);
        self.record(AgentEvent::PermissionRequired { request: Arc::clone(&request) });
        self.out.push_back(Effect::Ask { request });
    }

    /// Withdraws the question of a tool call that ends or is cancelled.
    pub(super) fn withdraw_question(&mut self, at: usize) {
        let Some(CallPhase::Questioning(request)) = self.call_at(at).map(|call| &call.phase) else { return };
        let id = request.id;
        self.on_permission(id, PermissionDecision::Withdrawn);
    }

    /// Starts a permitted tool call if the budgets allow it.
    fn dispatch(&mut self, at: usize, args: Option<Arc<Value>>) {
        if let Some(standing) = self.out_of_calls() {
            self.record_unrun(at, &no_calls_left(&standing));
            return;
        }
        if !self.config.budget.is_shared {
            self.run_tool(at, args);
            return;
        }
        let Some(call) = self.call_at(at).map(|call| Arc::clone(&call.call)) else { return };
        self.set_activity(at, CallActivity::Admitting);
        self.out.push_back(Effect::AdmitTool { call, args });
    }

    pub(super) fn on_tool_admitted(
        &mut self,
        id: &ToolCallId,
        args: Option<Arc<Value>>,
        refused: Option<BudgetStatus>,
    ) {
        let Some(at) = self.position(id) else { return };
        if self.call_activities.get(at) != Some(&CallActivity::Admitting) {
            return;
        }
        self.set_activity(at, CallActivity::Idle);
        match refused {
            Some(standing) => self.record_unrun(at, &no_calls_left(&standing)),
            None => self.run_tool(at, args),
        }
    }

    fn run_tool(&mut self, at: usize, args: Option<Arc<Value>>) {
        let Some(call) = self.call_at(at).map(|call| Arc::clone(&call.call)) else { return };
        let recorded = match &args {
            Some(args) => ArgsRef::Rewritten(Arc::clone(args)),
            None => ArgsRef::Called(Arc::clone(&call)),
        };
        self.spawn(at, &call, args.as_deref());
        let start = AgentEvent::ToolExecutionStart {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: recorded,
        };
        self.record(start);
        if self.start_background(&call.id, false) {
            self.end_background_call(at);
            return;
        }
        let sub_agent = self.sub_agent_of(at, false);
        self.out.push_back(Effect::RunTool { call, args, sub_agent });
        self.set_activity(at, CallActivity::Running);
    }

    pub(super) fn on_tool_finished(&mut self, id: &ToolCallId, result: Result<ToolResult, ToolError>) {
        if self.is_background(id) {
            return self.finish_background(id, result);
        }
        let Some(at) = self.position(id) else { return };
        if !matches!(self.call_activities.get(at), Some(CallActivity::Running | CallActivity::Cancelling)) {
            return;
        }
        self.set_activity(at, CallActivity::Idle);
        self.finish_tool(at, result);
    }

    fn interrupt(&mut self, at: usize) {
        let error = ToolError::Interrupted("the process ended while it ran".to_owned());
        self.finish_tool(at, Err(error));
    }

    /// Records the end of a tool call that was started.
    pub(super) fn finish_tool(&mut self, at: usize, result: Result<ToolResult, ToolError>) {
        self.withdraw_question(at);
        let Some(call) = self.call_at(at).map(|call| Arc::clone(&call.call)) else { return };
        let error = result.as_ref().err().map(ToString::to_string);
        self.end_sub_agent(at, error.as_deref());
        let is_error = error.is_some();
        let result = result.unwrap_or_else(|error| ToolResult::text(error.to_string()));
        let sub_agent = self.call_at(at).and_then(|call| call.sub_agent.as_ref());
        let child_loop_id =
            result.child_loop_id.or_else(|| sub_agent.map(|sub_agent| sub_agent.loop_id.clone()));
        let mut content = result.content;
        content.retain(|block| !block.is_empty() && !block.is_reply_only());
        if content.is_empty() {
            content.push(Content::text(NO_OUTPUT));
        }
        self.nudge(at, &mut content, is_error);
        let tasks_before = WorkLog::is_task_list(&call).then(|| self.memory.work().tasks().to_vec());
        let message = self.result_message(&call, content, is_error);
        self.record(AgentEvent::ToolExecutionEnd {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            message: MessageRef::resolved(Arc::clone(&message)),
            details: result.details,
            is_error,
            child_loop_id,
        });
        // In the same batch as the end, and before any callback: the journal must not contain an end without
        // its output.
        self.record_message(message);
        if let Some(before) = tasks_before {
            self.record_task_change(&call, &before);
        }
        self.hook(HookCall::AfterTool {
            tool_name: call.name.clone(),
            tool_call_id: call.id.clone(),
            is_error,
        });
    }

    /// Records the new task list if the tool call changed it.
    fn record_task_change(&mut self, call: &ToolCall, before: &[Task]) {
        let tasks = self.memory.work().tasks().to_vec();
        if tasks == before {
            return;
        }
        let changed_to = |is_now: fn(&Task) -> bool| {
            let new = |task: &&Task| is_now(task) && !before.contains(task);
            tasks.iter().filter(new).map(|task| task.content.clone()).collect()
        };
        let (started, completed) = (changed_to(Task::is_in_progress), changed_to(Task::is_completed));
        self.record(AgentEvent::TasksChanged { tool_call_id: call.id.clone(), tasks, started, completed });
    }

    /// Adds a note to the result if the model repeats itself.
    fn nudge(&mut self, at: usize, content: &mut Vec<Content>, is_error: bool) {
        let Some(guard) = &self.config.repetition else { return };
        let Some(state) = self.call_at(at).filter(|call| !call.was_interrupted) else { return };
        let call = Arc::clone(&state.call);
        let fingerprint = CallFingerprint::of(self.state.turns, &call, content, is_error);
        let DetectedRepetition { pattern, count } = self.state.repetition.detect(fingerprint);
        if count < guard.nudge_after {
            return;
        }
        content.push(Content::text(format!("{NOTE_PREFIX}{}", nudge(pattern, count))));
        self.record(AgentEvent::RepetitionDetected { tool_name: call.name.clone(), count, pattern });
    }

    /// Records the result of a tool call that never ran.
    fn record_unrun(&mut self, at: usize, why: &str) {
        let Some(state) = self.call_at(at).filter(|call| call.result.is_none()) else { return };
        let call = Arc::clone(&state.call);
        // A crash may separate the record of a sub-agent from the start of its call. Then it never begins.
        let unstarted = state.sub_agent.clone().filter(|_| !matches!(state.phase, CallPhase::Ended));
        if let Some(sub_agent) = unstarted {
            self.end_unreported(call.id.clone(), &sub_agent, Some(why));
        }
        let message = self.result_message(&call, vec![Content::text(why)], true);
        self.record_message(message);
    }

    fn result_message(&mut self, call: &ToolCall, content: Vec<Content>, is_error: bool) -> SharedMessage {
        Arc::new(AgentMessage::Llm(LlmMessage {
            id: self.message_id(),
            turn_id: self.turn_id(),
            message: Message::ToolResult(ToolResultMessage {
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                content,
                is_error,
                timestamp: self.now,
            }),
        }))
    }

    /// Winds down the turn: cancels running tools, withdraws requests, and gives every other call a result.
    fn cancel_calls(&mut self) {
        for at in 0..self.call_activities.len() {
            let Some(state) = self.call_at(at).filter(|call| call.result.is_none()) else { continue };
            let (id, phase) = (state.call.id.clone(), state.phase.clone());
            match (self.call_activities.get(at).copied().unwrap_or_default(), phase) {
                (CallActivity::Cancelling, _) => {}
                (CallActivity::Running, _) => {
                    self.withdraw_question(at);
                    self.set_activity(at, CallActivity::Cancelling);
                    self.out.push_back(Effect::CancelTool { call: id });
                }
                (_, CallPhase::Dispatched | CallPhase::Questioning(_)) => {
                    if self.end_background_call(at) {
                        continue;
                    }
                    if self.resume_sub_agent(at) {
                        // The sub-agent ends by itself and records that.
                        self.set_activity(at, CallActivity::Cancelling);
                        self.out.push_back(Effect::CancelTool { call: id });
                    } else {
                        self.interrupt(at);
                    }
                }
                (_, CallPhase::Ended) => self.record_unrun(at, OUTPUT_LOST),
                (_, CallPhase::Planned(summary)) => self.record_planned(at, &summary),
                (_, CallPhase::Answered(text)) => self.record_answer(at, text),
                (_, CallPhase::Asked(request)) => {
                    self.on_permission(request.id, PermissionDecision::Withdrawn);
                    self.record_unrun(at, CANCELLED);
                }
                _ => {
                    self.set_activity(at, CallActivity::Idle);
                    self.record_unrun(at, CANCELLED);
                }
            }
        }
    }
}

impl CallState {
    fn is_waiting(&self) -> bool {
        self.result.is_none() && matches!(self.phase, CallPhase::Waiting)
    }
}

/// Returns the first unfinished group. A group is a sequence of calls that may run together; a call that is
/// not parallel-safe is alone in its group.
fn current_group(config: &RunConfig, turn: &TurnState) -> Option<Range<usize>> {
    let limit = match config.tool_execution {
        ToolExecutionStrategy::Parallel => usize::MAX,
        ToolExecutionStrategy::Sequential => 1,
        ToolExecutionStrategy::Batched { size } => size.max(1),
    };
    let safe = |call: &CallState| {
        let traits = config.tools.get(&call.call.name);
        traits.is_none_or(|traits| traits.parallel_safe)
    };
    let mut start = 0;
    while start < turn.calls.len() {
        let rest = turn.calls.get(start..)?;
        let together = rest.iter().take(limit).take_while(|call| safe(call)).count();
        let group = start..start + together.max(1);
        if turn.calls.get(group.clone())?.iter().any(|call| call.result.is_none()) {
            return Some(group);
        }
        start = group.end;
    }
    None
}

/// Returns the note for a model that repeats itself.
fn nudge(pattern: LoopPattern, count: u32) -> String {
    match pattern {
        LoopPattern::Same => format!(
            "This call gave exactly this result {count} times in a row. Repeating it will not change that; try something else."
        ),
        LoopPattern::Cycle => format!(
            "You made the same few calls with the same results {count} times in a row. Another round will not change \
             that; try something else."
        ),
        LoopPattern::NearlySame => "Nearly the same call keeps failing the same way. Changing a detail will not fix it; find \
             out why it fails, or try something else."
            .to_owned(),
        LoopPattern::SameError => "Different calls keep failing the same way: the cause is elsewhere. Find out what it is before you \
             continue."
            .to_owned(),
        LoopPattern::BackAndForth => format!(
            "You have undone your own edit of this file {count} times. Decide what it should be before you edit it again."
        ),
    }
}

fn unknown_tool(config: &RunConfig, name: &str) -> String {
    let known: Vec<&str> = config.tools.keys().map(String::as_str).collect();
    format!("There is no tool named `{name}`. Available: {}.", known.join(", "))
}

/// Returns the result for the model of a refused tool call.
fn blocked_text(by: BlockedBy, reason: Option<&str>) -> String {
    match by {
        BlockedBy::Callback => SKIPPED_BY_HOOK.to_owned(),
        BlockedBy::PermissionCheck | BlockedBy::Approval => denial_text(reason),
    }
}

fn denial_text(reason: Option<&str>) -> String {
    let Some(reason) = reason else { return format!("{DENIED}this call was not approved.") };
    // A policy may start its reason with the same word, and a single reason needs no list.
    let reason = match reason.strip_prefix(DENIED.trim_end()) {
        Some(list) if list.trim().lines().count() == 1 => {
            list.trim().strip_prefix("- ").unwrap_or_else(|| list.trim())
        }
        Some(list) => list.trim_start_matches(' '),
        None => reason,
    };
    format!("{DENIED}{reason}")
}
