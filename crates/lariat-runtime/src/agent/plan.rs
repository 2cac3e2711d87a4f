//! Plan mode: shows queued changes to the user, takes a decision about all or some of them, and carries out
//! the approved ones.
//!
//! Approved changes run as the tool calls of an ordinary reply: journaled before they start, each at most
//! once, through the permission check and its hooks. The model sees their results and continues. Invariant:
//! what is carried out is what the user saw. A change that would now have another result does not start.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use lariat_core::cancel::CancellationToken;
use lariat_core::content::ToolCall;
use lariat_core::display;
use lariat_core::id::ToolCallId;
use lariat_core::message::{AgentMessage, StopReason};
use lariat_core::model::{ModelStream, StreamConfig, StreamEvent, StreamProvider};
use lariat_core::session::{QueuedChange, approved_call_id};
use lariat_core::usage::Usage;
use serde_json::Value;

use super::context::AgentContext;
use super::error::AgentError;
use super::loop_config::AgentLoopConfig;
use super::loops;
use super::output::AgentOutput;
use crate::drive::{Ports, Preview, RunHandle};
use crate::proposal::proposed_call;

/// The queued changes that wait for a decision, in the order in which they would be made. The `Display` text
/// is for the user.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The changes, in order.
    pub changes: Vec<PlannedChange>,
}

/// A change that plan mode queued.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlannedChange {
    /// The tool call that proposed it.
    pub id: ToolCallId,
    /// The tool that would make it.
    pub tool_name: String,
    /// The arguments of that tool.
    pub arguments: Value,
    /// A description of the change.
    pub summary: String,
    /// The result that the change would have now.
    pub preview: Preview,
    /// True if it was approved earlier, but the process ended before it started.
    pub approved: bool,
    seal: Seal,
}

/// Everything that the user saw of a change: its id, tool, arguments and preview.
type Seal = Arc<[String; 4]>;

/// The user's decision about a plan. Changes that it does not name stay queued.
#[derive(Clone, Debug, Default)]
pub struct PlanDecision {
    approved: Vec<(ToolCallId, Seal)>,
    rejected: Vec<ToolCallId>,
}

impl Plan {
    /// True if no change waits for a decision.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Approves every change.
    pub fn approve_all(&self) -> PlanDecision {
        self.approve(|_| true)
    }

    /// Approves the changes for which `is_approved` is true, and rejects the others.
    pub fn approve(&self, is_approved: impl Fn(&PlannedChange) -> bool) -> PlanDecision {
        let mut decision = PlanDecision::default();
        for change in &self.changes {
            if is_approved(change) {
                decision.approved.push((change.id.clone(), change.seal.clone()));
            } else {
                decision.rejected.push(change.id.clone());
            }
        }
        decision
    }

    /// Approves and rejects these changes. The others stay queued.
    pub fn decide(&self, approved: &[ToolCallId], rejected: &[ToolCallId]) -> PlanDecision {
        let chosen = |ids: &[ToolCallId], change: &&PlannedChange| ids.contains(&change.id);
        let (rejected, kept): (Vec<_>, Vec<_>) =
            self.changes.iter().partition(|change| chosen(rejected, change));
        let approved = kept.into_iter().filter(|change| chosen(approved, change));
        PlanDecision {
            approved: approved.map(|change| (change.id.clone(), change.seal.clone())).collect(),
            rejected: rejected.into_iter().map(|change| change.id.clone()).collect(),
        }
    }

    /// Previews the queued changes as they would come out now.
    pub(super) async fn review(queued: &[QueuedChange], ports: &Ports) -> Self {
        let mut changes = Vec::new();
        for change in queued {
            let call = proposed_call(&change.call).unwrap_or_else(|| ToolCall::clone(&change.call));
            let preview = Preview::of(&call.name, &call.arguments, ports).await;
            let arguments = call.arguments.to_string();
            let seal =
                [change.call.id.as_str(), &call.name, &arguments, preview.text()].map(str::to_owned).into();
            changes.push(PlannedChange {
                id: change.call.id.clone(),
                tool_name: call.name,
                arguments: call.arguments,
                summary: change.summary.clone(),
                preview,
                approved: change.approved,
                seal,
            });
        }
        Self { changes }
    }
}

/// A numbered list with the preview of each change. Control characters are escaped, so that nothing in it can
/// deceive the user.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, change) in self.changes.iter().enumerate() {
            let mark = if change.approved { " (approved, not carried out)" } else { "" };
            let summary = match change.preview {
                Preview::Known(_) => {
                    let path = change.arguments.get("path").and_then(Value::as_str);
                    let path = path.map(|path| format!(" {}", display::line(path)));
                    format!("{}{}", display::line(&change.tool_name), path.unwrap_or_default())
                }
                _ => change.summary.clone(),
            };
            writeln!(f, "{}. {summary}{mark}", index + 1)?;
            match &change.preview {
                Preview::Known(text) => writeln!(f, "{}", display::block(text).trim_end())?,
                Preview::Impossible(why) => writeln!(f, "   Would fail now: {}", display::line(why))?,
                Preview::Unknown => {}
            }
        }
        Ok(())
    }
}

/// Records a decision and carries out the approved changes.
pub(super) async fn apply_plan(
    decision: PlanDecision,
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    cancel: CancellationToken,
    started: impl FnOnce(RunHandle) + Send,
) -> Result<AgentOutput, AgentError> {
    let plan = Plan::review(context.plan().await?, &config.ports).await;
    let changes: Vec<&PlannedChange> = plan
        .changes
        .iter()
        .filter(|change| decision.approved.iter().any(|(id, _)| *id == change.id))
        .collect();
    let is_unchanged = |change: &&&PlannedChange| {
        decision.approved.iter().any(|(id, seal)| *id == change.id && *seal == change.seal)
    };
    if changes.len() != decision.approved.len()
        || changes.iter().filter(is_unchanged).count() != changes.len()
    {
        return Err(AgentError::PlanChanged);
    }
    let approved = changes.iter().map(|change| change.id.clone()).collect();
    let prompt = prompt(&plan, &decision);
    let calls: Vec<ToolCall> = changes
        .iter()
        .map(|change| ToolCall {
            id: approved_call_id(&change.id),
            name: change.tool_name.clone(),
            arguments: change.arguments.clone(),
            signature: None,
        })
        .collect();
    context.decide(config, approved, decision.rejected).await?;
    for call in &calls {
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| config.ports.policy.on_approved(call)));
    }
    let mut ports = Ports::clone(&config.ports);
    ports.model = Arc::new(ApprovedCallsProvider { calls: Mutex::new(calls), model: ports.model });
    let config = AgentLoopConfig { ports: Arc::new(ports), ..config.clone() };
    loops::begin_and_drive(vec![prompt], None, context, &config, cancel, started).await
}

/// Writes the message that tells the model about the decision.
fn prompt(plan: &Plan, decision: &PlanDecision) -> AgentMessage {
    let rejected = plan.changes.iter().filter(|change| decision.rejected.contains(&change.id));
    let rejected: Vec<&str> = rejected.map(|change| change.summary.as_str()).collect();
    let mut text = format!("I approved {} of the queued changes.", decision.approved.len());
    if !rejected.is_empty() {
        text.push_str(&format!(" I rejected these: {}.", rejected.join("; ")));
    }
    if !decision.approved.is_empty() {
        text.push_str(" The approved changes are being carried out now, in order.");
    }
    AgentMessage::user(text)
}

/// A provider whose first reply contains the approved tool calls; later requests go to the real model.
struct ApprovedCallsProvider {
    calls: Mutex<Vec<ToolCall>>,
    model: Arc<dyn StreamProvider>,
}

impl StreamProvider for ApprovedCallsProvider {
    fn provider_id(&self) -> &str {
        self.model.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner));
        if calls.is_empty() {
            return self.model.stream(request, cancel);
        }
        let start = StreamEvent::Start { model: request.model_config.id.clone() };
        let calls = calls.into_iter().enumerate();
        let calls = calls.map(|(index, call)| StreamEvent::ToolCallEnd { index, call });
        let done = StreamEvent::Done { stop_reason: StopReason::ToolUse, usage: Usage::default() };
        let events: Vec<StreamEvent> = std::iter::once(start).chain(calls).chain([done]).collect();
        stream::iter(events).map(Ok).boxed()
    }
}
