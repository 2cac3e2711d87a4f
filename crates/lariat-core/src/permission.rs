//! Permission: what is asked, what is answered, for how long it counts.
//!
//! Owns the vocabulary and the two contracts, [`PermissionPolicy`] (decides without a person) and [`Approver`] (asks
//! one). Rules, modes and remembered approvals live in the guard. A policy that fails or panics denies.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BoxFuture;
use crate::budget::{BudgetLimits, BudgetRequest};
use crate::content::ToolCall;
use crate::hooks::SessionHooks;
use crate::id::{LoopId, RequestId, SessionId, ToolCallId};
use crate::opening::Opening;
use crate::tool::{Access, ToolEffects, ToolError, ToolResult};

/// How much damage a call could do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DangerLevel {
    /// Reads inside the workspace.
    Safe,
    /// Changes inside the workspace.
    #[default]
    Moderate,
    /// Executes commands, reaches the network.
    Dangerous,
    /// Could destroy what cannot be restored; asked even when everything else is allowed.
    Critical,
}

/// How long an approval counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalScope {
    /// This single call.
    Once,
    /// The rest of the session.
    Session,
    /// Across sessions, until revoked.
    Always,
}

/// A question to a person: may this call run?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PermissionRequest {
    /// Identity of the question; nil until the machine records it.
    #[serde(default)]
    pub id: RequestId,
    /// The call in question. Its arguments are in the assistant message that made it.
    pub tool_call_id: ToolCallId,
    /// The tool's name.
    pub tool_name: String,
    /// Exactly what will run, in words of the tool.
    pub summary: String,
    /// How dangerous the call is.
    #[serde(default)]
    pub danger: DangerLevel,
    /// Why it is asked: the rule or the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Exactly what would be remembered by a session or always approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<String>,
    /// What the call would change, where that is known beforehand: a diff. It runs only if that is still so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Arguments that replace the model's, when a hook rewrote them: what is approved is what runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Arc<Value>>,
    /// What an approval opens in the sandbox of the command: shown to the person, and granted with a yes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub openings: Vec<Opening>,
}

impl PermissionRequest {
    /// A question about a call; the summary is what a person is shown.
    pub fn new(call: &ToolCall, summary: impl Into<String>) -> Self {
        Self {
            id: RequestId::default(),
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            summary: summary.into(),
            danger: DangerLevel::default(),
            reason: None,
            remember: None,
            preview: None,
            args: None,
            openings: Vec::new(),
        }
    }

    /// Sets the danger level.
    pub const fn with_danger(mut self, danger: DangerLevel) -> Self {
        self.danger = danger;
        self
    }

    /// Sets why it is asked.
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets what the call would change.
    pub fn with_preview(mut self, preview: impl Into<String>) -> Self {
        self.preview = Some(preview.into());
        self
    }

    /// Replaces the arguments the call will run with.
    pub fn with_args(mut self, args: Arc<Value>) -> Self {
        self.args = Some(args);
        self
    }

    /// Sets what an approval opens in the sandbox.
    pub fn with_openings(mut self, openings: Vec<Opening>) -> Self {
        self.openings = openings;
        self
    }

    /// Sets what a longer approval would remember.
    pub fn with_remember(mut self, rule: impl Into<String>) -> Self {
        self.remember = Some(rule.into());
        self
    }
}

/// The answer to a [`PermissionRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "camelCase")]
#[non_exhaustive]
pub enum PermissionDecision {
    /// Yes, this once.
    Allow,
    /// Yes, for the rest of the session.
    AllowSession,
    /// Yes, from now on.
    AllowAlways,
    /// Yes, for so long, with exactly these openings instead of those of the request.
    AllowWith {
        /// How long it counts.
        scope: ApprovalScope,
        /// What is opened in the sandbox.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        openings: Vec<Opening>,
    },
    /// No.
    Deny {
        /// Told to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Nobody needs to answer any more: the run was cancelled.
    Withdrawn,
}

impl PermissionDecision {
    /// A denial with a reason for the model.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: Some(reason.into()) }
    }

    /// How long an approval counts; `None` for a refusal.
    pub const fn scope(&self) -> Option<ApprovalScope> {
        match self {
            Self::Allow => Some(ApprovalScope::Once),
            Self::AllowSession => Some(ApprovalScope::Session),
            Self::AllowAlways => Some(ApprovalScope::Always),
            Self::AllowWith { scope, .. } => Some(*scope),
            Self::Deny { .. } | Self::Withdrawn => None,
        }
    }

    /// What the answer opens in the sandbox: what the request showed, unless the answer names its own.
    pub fn openings<'a>(&'a self, request: &'a PermissionRequest) -> &'a [Opening] {
        match self {
            Self::Allow | Self::AllowSession | Self::AllowAlways => &request.openings,
            Self::AllowWith { openings, .. } => openings,
            Self::Deny { .. } | Self::Withdrawn => &[],
        }
    }
}

/// What the gate decides about a call before anything runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// Run it.
    Allow,
    /// Run it with other arguments than the model gave (a hook rewrote them).
    Rewrite(Arc<Value>),
    /// Ask a person.
    Ask(PermissionRequest),
    /// Do not run it; the reason is told to the model.
    Deny(String),
    /// A hook skipped it without a reason.
    Skip,
    /// Plan mode: queue the change instead of making it.
    Queue {
        /// What would be done, in words.
        summary: String,
    },
}

/// What a policy sees of a call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PolicyQuery<'a> {
    /// The session that asks.
    pub session_id: &'a SessionId,
    /// The loop that asks.
    pub loop_id: &'a LoopId,
    /// The call.
    pub call: &'a ToolCall,
    /// What the tool declared it does.
    pub effects: ToolEffects,
}

impl<'a> PolicyQuery<'a> {
    /// A query about a call.
    pub const fn new(
        session_id: &'a SessionId,
        loop_id: &'a LoopId,
        call: &'a ToolCall,
        effects: ToolEffects,
    ) -> Self {
        Self { session_id, loop_id, call, effects }
    }
}

/// What a call may do while it runs, and what it holds until it ended.
#[derive(Default)]
pub struct Clearance {
    /// How far it may go.
    pub access: Access,
    /// What is open in the sandbox of its command.
    pub openings: Vec<Opening>,
    /// Dropped when the call ended.
    pub held: Option<Box<dyn std::any::Any + Send>>,
}

/// Decides about a call without asking a person. May look at files, so it is asynchronous.
pub trait PermissionPolicy: Send + Sync {
    /// The verdict on a call.
    fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict>;

    /// A question of this policy was answered, and the answer is recorded. Also told of a session that goes on, for
    /// every answer that still counts.
    fn answered(&self, request: &PermissionRequest, decision: &PermissionDecision) {
        let _ = (request, decision);
    }

    /// Whether [`check`](Self::check) reaches nobody and changes nothing: no program is asked, nothing is written. What a
    /// call comes from need not be durable before such a check.
    fn only_judges(&self) -> bool {
        false
    }

    /// How far calls of a session may go now: decides which tools a model is offered.
    fn access(&self) -> Access {
        Access::Full
    }

    /// A call is about to run: everything is decided, and its start is recorded. Here it takes for itself what it
    /// needs, and is told how far it may go. An error keeps it from running, and is told to the model.
    ///
    /// # Errors
    /// Why it cannot run now, for the model.
    fn starts(&self, query: PolicyQuery<'_>) -> Result<Clearance, String> {
        let _ = query;
        Ok(Clearance::default())
    }

    /// Whether it can queue changes as a plan. If so, models are offered a tool to propose them where nothing may be
    /// changed.
    fn plans(&self) -> bool {
        false
    }

    /// A person approved exactly this call beforehand, with all that it would change before their eyes.
    fn approved(&self, call: &ToolCall) {
        let _ = call;
    }

    /// A call ended, and what came of it is about to be recorded: here it can still be changed. The future is dropped
    /// when the call's time is over; the result is then recorded as it is.
    fn finished<'a>(
        &'a self,
        query: PolicyQuery<'a>,
        result: &'a mut Result<ToolResult, ToolError>,
    ) -> BoxFuture<'a, ()> {
        let _ = (query, result);
        Box::pin(std::future::ready(()))
    }

    /// Whoever wants to be told of the session's other moments.
    fn session_hooks(&self) -> Option<&dyn SessionHooks> {
        None
    }
}

/// Puts a question to a person and waits for the answer, however long it takes.
///
/// The future is dropped when somebody else answered first or the run was cancelled.
pub trait Approver: Send + Sync {
    /// The person's answer.
    fn ask<'a>(&'a self, request: &'a PermissionRequest) -> BoxFuture<'a, PermissionDecision>;

    /// How much more may be spent, when a budget is used up; `None` for no, which is the answer of those who do not ask.
    fn extend_budget<'a>(&'a self, request: &'a BudgetRequest) -> BoxFuture<'a, Option<BudgetLimits>> {
        let _ = request;
        Box::pin(std::future::ready(None))
    }
}

/// Lets every call run. For tools that cannot do harm, and for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl PermissionPolicy for AllowAll {
    fn only_judges(&self) -> bool {
        true
    }

    fn check<'a>(&'a self, _query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Allow))
    }
}

/// Asks before every call that is not declared read-only.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskBeforeEffects;

impl PermissionPolicy for AskBeforeEffects {
    fn only_judges(&self) -> bool {
        true
    }

    fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        let verdict = if query.effects.is_read_only() {
            Verdict::Allow
        } else {
            let summary = format!("{} {}", query.call.name, query.call.arguments);
            Verdict::Ask(PermissionRequest::new(query.call, summary))
        };
        Box::pin(std::future::ready(verdict))
    }
}
