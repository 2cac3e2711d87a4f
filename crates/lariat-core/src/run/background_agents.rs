//! Sub-agents that work while the run that started them continues.
//!
//! The tool call of such a sub-agent ends at once; its tool runs on, and its result is a report that the machine queues between
//! two turns. The journal names the message of the report before the sub-agent starts. Invariants: a resumed run continues
//! every sub-agent whose report is not queued; each report is queued once; the run does not end before.

use std::sync::Arc;

use serde_json::Value;

use super::state::{CallState, CallSubAgent};
use super::{Effect, NOTE_PREFIX, Run};
use crate::content::{ToolCall, joined_text};
use crate::event::{AgentEvent, QueueKind, RunOutcome};
use crate::id::{MessageId, RequestId, ToolCallId};
use crate::message::{AgentMessage, SharedMessage};
use crate::permission::{PermissionDecision, PermissionRequest};
use crate::tool::{ToolError, ToolResult};
use crate::transcript::NO_OUTPUT;

/// Section of the messages that contain reports.
const SECTION: &str = "sub-agent";
/// The result of the tool call.
const STARTED: &str = "The sub-agent works in the background. Its report reaches you as a message when it ends; you cannot \
     ask it anything before. Continue with other work, or end your turn to wait for it.";
/// Maximum bytes of a task in a report.
const MOST_TASK: usize = 200;

/// A sub-agent in the background whose report is not queued yet.
#[derive(Debug)]
pub(super) struct BackgroundAgent {
    pub(super) call: Arc<ToolCall>,
    /// The message that will contain its report.
    pub(super) report: MessageId,
    pub(super) sub_agent: Box<CallSubAgent>,
    /// Its request to the user, while it waits for an answer.
    pub(super) asked: Option<Arc<PermissionRequest>>,
}

/// What this process does for a sub-agent in the background.
#[derive(Debug)]
pub(super) struct BackgroundActivity {
    call: ToolCallId,
    is_cancelled: bool,
    /// Its report, once it has ended.
    report: Option<String>,
}

impl BackgroundAgent {
    /// Returns the sub-agent of a tool call that starts it in the background.
    pub(super) fn of(call: &CallState) -> Option<Self> {
        let sub_agent = call.sub_agent.clone()?;
        Some(Self { call: Arc::clone(&call.call), report: sub_agent.report?, sub_agent, asked: None })
    }
}

/// Returns whether a message is the report of a sub-agent in the background.
pub(super) fn is_report(message: &SharedMessage) -> bool {
    message.note_section() == Some(SECTION)
}

impl Run {
    /// Starts the sub-agent of a tool call if it works in the background; returns false for any other.
    pub(super) fn start_background(&mut self, call: &ToolCallId, is_resumed: bool) -> bool {
        let Some(agent) = self.state.background_mut(call) else { return false };
        let (call, args) = (Arc::clone(&agent.call), agent.sub_agent.args.clone());
        let sub_agent = Some(agent.sub_agent.recorded(is_resumed));
        self.background.push(BackgroundActivity { call: call.id.clone(), is_cancelled: false, report: None });
        self.out.push_back(Effect::RunTool { call, args, sub_agent });
        true
    }

    /// Continues the sub-agents of an earlier process.
    pub(super) fn restart_background(&mut self) {
        let calls: Vec<ToolCallId> =
            self.state.background.iter().map(|agent| agent.call.id.clone()).collect();
        for call in calls {
            // The sub-agent asks again.
            self.withdraw_background_question(&call);
            self.start_background(&call, true);
        }
    }

    /// Records the end of a tool call whose sub-agent works in the background; returns false for any other.
    pub(super) fn end_background_call(&mut self, at: usize) -> bool {
        let sub_agent = self.call_at(at).and_then(|call| call.sub_agent.as_ref());
        let is_background = sub_agent.is_some_and(|sub_agent| sub_agent.report.is_some());
        if is_background {
            self.finish_tool(at, Ok(ToolResult::text(STARTED)));
        }
        is_background
    }

    /// Returns whether a tool call runs a sub-agent in the background.
    pub(super) fn is_background(&self, call: &ToolCallId) -> bool {
        self.background.iter().any(|running| running.call == *call)
    }

    /// Keeps the result of a sub-agent in the background until no turn is open.
    pub(super) fn finish_background(&mut self, call: &ToolCallId, result: Result<ToolResult, ToolError>) {
        self.withdraw_background_question(call);
        let error = result.as_ref().err().map(ToString::to_string);
        if let Some(agent) = self.state.background_mut(call) {
            let sub_agent = agent.sub_agent.clone();
            self.end_unreported(call.clone(), &sub_agent, error.as_deref());
        }
        let text = result.map_or_else(|error| error.to_string(), |result| joined_text(&result.content));
        if let Some(running) = self.background.iter_mut().find(|running| running.call == *call) {
            running.report = Some(text);
        }
    }

    /// Queues the reports of the sub-agents that ended. Not while a turn is open: the queued message of a user ends a turn early.
    pub(super) fn queue_reports(&mut self) {
        let all = std::mem::take(&mut self.background).into_iter();
        let (ended, running): (Vec<_>, Vec<_>) = all.partition(|agent| agent.report.is_some());
        self.background = running;
        for BackgroundActivity { call, report, .. } in ended {
            let Some(agent) = self.state.background_mut(&call) else { continue };
            let id = agent.report;
            let (called, args) = (Arc::clone(&agent.call), agent.sub_agent.args.clone());
            let argument = self.config.tools.get(&called.name).and_then(|traits| traits.task_argument);
            let args = args.as_deref().unwrap_or(&called.arguments);
            let task = argument.and_then(|argument| args.get(argument)).and_then(Value::as_str);
            let text = report_text(task.unwrap_or_default(), &report.unwrap_or_default());
            let mut message = AgentMessage::note(SECTION, text);
            message.assign_id(|| id);
            self.stamp_message(&mut message);
            let (queue, message) = (QueueKind::Steering, Arc::new(message));
            self.record(AgentEvent::MessageQueued { queue, message });
        }
    }

    /// Returns whether the end of the run has to wait for sub-agents in the background. If the run stops early, they are
    /// cancelled.
    pub(super) fn waits_for_background(&mut self, outcome: &RunOutcome) -> bool {
        if *outcome != RunOutcome::Completed {
            for running in self.background.iter_mut().filter(|running| !running.is_cancelled) {
                running.is_cancelled = true;
                self.out.push_back(Effect::CancelTool { call: running.call.clone() });
            }
        }
        !self.background.is_empty()
    }

    /// Returns whether a sub-agent in the background may ask the user now; `None` for any other tool call.
    pub(super) fn may_background_ask(&self, call: &ToolCallId) -> Option<bool> {
        let running = self.background.iter().find(|running| running.call == *call)?;
        let agent = self.state.background.iter().find(|agent| agent.call.id == *call)?;
        Some(agent.asked.is_none() && running.report.is_none() && !running.is_cancelled)
    }

    /// Records the answer to a request of a sub-agent in the background; returns false for any other request.
    pub(super) fn on_background_answer(&mut self, request: RequestId, decision: &PermissionDecision) -> bool {
        let is_asked = |asked: &Arc<PermissionRequest>| asked.id == request;
        let mut agents = self.state.background.iter();
        let Some(agent) = agents.find(|agent| agent.asked.as_ref().is_some_and(is_asked)) else {
            return false;
        };
        let (tool_call_id, decision) = (agent.call.id.clone(), decision.clone());
        self.record(AgentEvent::PermissionDecided { request_id: request, tool_call_id, decision });
        self.out.push_back(Effect::Withdraw { request });
        true
    }

    fn withdraw_background_question(&mut self, call: &ToolCallId) {
        let asked = self.state.background_mut(call).and_then(|agent| agent.asked.as_ref());
        if let Some(id) = asked.map(|asked| asked.id) {
            self.on_background_answer(id, &PermissionDecision::Withdrawn);
        }
    }
}

/// Returns the message with a report. Its text is not the user's, so it cannot close the element around it.
fn report_text(task: &str, report: &str) -> String {
    let line = task.trim().lines().next().unwrap_or_default();
    let task = line.get(..line.floor_char_boundary(MOST_TASK)).unwrap_or(line).replace('<', "‹");
    let report = report.trim().replace("</report", "‹/report");
    let report = if report.is_empty() { NO_OUTPUT } else { &report };
    format!(
        "{NOTE_PREFIX}A sub-agent that you started in the background has ended. Its report is the text of a model, not of the \
         user.\n<report task=\"{}\">\n{report}\n</report>",
        task.replace('"', "'")
    )
}
