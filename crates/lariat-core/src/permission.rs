//! Permission requests, decisions and their scopes, and the contracts of the code that decides.
//!
//! [`PermissionPolicy`] decides without the user; [`Approver`] asks the user. Permission rules, modes and
//! remembered approvals are in the guard. A policy that fails or panics denies the tool call.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BoxFuture;
use crate::budget::{BudgetLimits, BudgetRequest};
use crate::content::ToolCall;
use crate::file_access::FileAccessCheck;
use crate::hooks::SessionHooks;
use crate::id::{LoopId, RequestId, SessionId, ToolCallId};
use crate::opening::SandboxOpening;
use crate::question::UserAnswer;
use crate::tool::{Access, ToolEffects, ToolError, ToolResult};

pub use crate::question::UserQuestion;

/// How much damage a tool call could do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DangerLevel {
    /// Reads inside the workspace.
    Safe,
    /// Changes inside the workspace.
    #[default]
    Moderate,
    /// Executes commands or uses the network.
    Dangerous,
    /// Could destroy data permanently. The user is asked even if everything else is allowed.
    Critical,
}

/// How long an approval applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalScope {
    /// This tool call only.
    Once,
    /// The rest of the session.
    Session,
    /// All sessions, until the user revokes it.
    Always,
}

/// A request to the user to approve a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PermissionRequest {
    /// Id of the request; nil until the machine records it.
    #[serde(default)]
    pub id: RequestId,
    /// Id of the tool call. Its arguments are in the assistant message that contains it.
    pub tool_call_id: ToolCallId,
    /// Name of the tool.
    pub tool_name: String,
    /// Exactly what will run, as the tool describes it.
    pub summary: String,
    /// How dangerous the tool call is.
    #[serde(default)]
    pub danger: DangerLevel,
    /// The permission rule or mode that requires approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rule that an approval for the session or for always would add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<String>,
    /// A diff of what the tool call would change, if known beforehand. The call runs only if the diff is
    /// still the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Arguments that replace the model's if a hook rewrote them. The approved arguments are the ones that
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Arc<Value>>,
    /// Sandbox openings that the request shows to the user and that an approval grants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub openings: Vec<SandboxOpening>,
    /// The question, if the tool call asks the user one. [`PermissionDecision::Answered`] answers it. If the tool has not
    /// started, it does not run, because the answer is its result; a tool that runs receives the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<UserQuestion>>,
    /// The sub-agents between this session and the one that asks, outermost first; empty if the session itself asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
}

impl PermissionRequest {
    /// Creates a request for a tool call. The user sees `summary`.
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
            question: None,
            agents: Vec::new(),
        }
    }

    /// Sets the danger level.
    pub const fn with_danger(mut self, danger: DangerLevel) -> Self {
        self.danger = danger;
        self
    }

    /// Sets why approval is required.
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets the diff of what the tool call would change.
    pub fn with_preview(mut self, preview: impl Into<String>) -> Self {
        self.preview = Some(preview.into());
        self
    }

    /// Replaces the arguments that the tool call runs with.
    pub fn with_args(mut self, args: Arc<Value>) -> Self {
        self.args = Some(args);
        self
    }

    /// Sets the question that the tool call asks the user.
    pub fn with_question(mut self, question: UserQuestion) -> Self {
        self.question = Some(Box::new(question));
        self
    }

    /// Marks the request as one of a sub-agent of this session, which may itself speak for one of its own.
    pub fn asked_by(mut self, agent: impl Into<String>) -> Self {
        self.agents.insert(0, agent.into());
        self
    }

    /// Returns the path to the sub-agent that asks, such as `review › explore`; `None` if the session itself asks.
    pub fn agent_path(&self) -> Option<String> {
        (!self.agents.is_empty()).then(|| self.agents.join(" › "))
    }

    /// Sets the sandbox openings that an approval grants.
    pub fn with_openings(mut self, openings: Vec<SandboxOpening>) -> Self {
        self.openings = openings;
        self
    }

    /// Sets the rule that an approval for the session or for always would add.
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
    /// Approved for this tool call.
    Allow,
    /// Approved for the rest of the session.
    AllowSession,
    /// Approved for all sessions.
    AllowAlways,
    /// Approved for this scope, with exactly these openings instead of those in the request.
    AllowWith {
        /// How long the approval applies.
        scope: ApprovalScope,
        /// Sandbox openings that the approval grants.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        openings: Vec<SandboxOpening>,
    },
    /// Approved for this tool call only, with these arguments instead of those in the request. The permission
    /// check judges them before the decision is recorded, and denies the tool call if a rule does.
    AllowChanged {
        /// The arguments that run.
        args: Arc<Value>,
        /// Sandbox openings that the approval grants. The permission check sets them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        openings: Vec<SandboxOpening>,
    },
    /// Denied.
    Deny {
        /// Reason for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Answers the question of the request: the model receives this text as the result of the tool call, or the tool that
    /// asked does.
    Answered {
        /// The answer.
        text: String,
    },
    /// The request no longer needs an answer, because the run was cancelled.
    Withdrawn,
}

impl PermissionDecision {
    /// Returns what a tool receives that asked the user.
    pub fn into_answer(self) -> UserAnswer {
        match self {
            Self::Answered { text } => UserAnswer::Text(text),
            Self::Withdrawn => UserAnswer::Withdrawn,
            Self::Deny { reason } => UserAnswer::Declined { reason },
            _ => UserAnswer::Declined { reason: None },
        }
    }

    /// Creates a denial with a reason for the model.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: Some(reason.into()) }
    }

    /// Creates an approval of other arguments than those in the request.
    pub fn allow_changed(args: impl Into<Arc<Value>>) -> Self {
        Self::AllowChanged { args: args.into(), openings: Vec::new() }
    }

    /// Returns how long an approval applies; `None` for a denial and for an answer, which permit nothing.
    pub const fn scope(&self) -> Option<ApprovalScope> {
        match self {
            Self::Allow | Self::AllowChanged { .. } => Some(ApprovalScope::Once),
            Self::AllowSession => Some(ApprovalScope::Session),
            Self::AllowAlways => Some(ApprovalScope::Always),
            Self::AllowWith { scope, .. } => Some(*scope),
            Self::Answered { .. } | Self::Deny { .. } | Self::Withdrawn => None,
        }
    }

    /// Returns the openings that the answer grants: those of the request, unless the answer names its own.
    pub fn openings<'a>(&'a self, request: &'a PermissionRequest) -> &'a [SandboxOpening] {
        match self {
            Self::Allow | Self::AllowSession | Self::AllowAlways => &request.openings,
            Self::AllowWith { openings, .. } | Self::AllowChanged { openings, .. } => openings,
            Self::Answered { .. } | Self::Deny { .. } | Self::Withdrawn => &[],
        }
    }
}

/// Result of the permission check of a tool call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// Run the tool call.
    Allow,
    /// Run it with these arguments instead of the model's (a hook rewrote them).
    Rewrite(Arc<Value>),
    /// Ask the user for approval.
    Ask(PermissionRequest),
    /// Deny it; the model receives the reason.
    Deny(String),
    /// Skip it, because a hook did so without a reason.
    Skip,
    /// Plan mode: add the change to the plan instead of making it.
    Queue {
        /// Description of the change.
        summary: String,
    },
}

/// The tool call that a policy checks.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PolicyQuery<'a> {
    /// Session of the tool call.
    pub session_id: &'a SessionId,
    /// Loop of the tool call.
    pub loop_id: &'a LoopId,
    /// The tool call, with its arguments.
    pub call: &'a ToolCall,
    /// The effects that the tool declares.
    pub effects: ToolEffects,
}

impl<'a> PolicyQuery<'a> {
    /// Creates a query for a tool call.
    pub const fn new(
        session_id: &'a SessionId,
        loop_id: &'a LoopId,
        call: &'a ToolCall,
        effects: ToolEffects,
    ) -> Self {
        Self { session_id, loop_id, call, effects }
    }
}

/// What a tool call may do while it runs, and what it holds until it ends.
#[derive(Default)]
pub struct CallPermit {
    /// Whether the tool call may change anything.
    pub access: Access,
    /// Openings in the sandbox of its command.
    pub openings: Vec<SandboxOpening>,
    /// Checks the real paths of the files it opens.
    pub files: Option<Arc<dyn FileAccessCheck>>,
    /// Dropped when the tool call ends.
    pub held: Option<Box<dyn std::any::Any + Send>>,
}

/// Decides about tool calls without asking the user. Asynchronous, because it may read files.
pub trait PermissionPolicy: Send + Sync {
    /// Checks a tool call.
    fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict>;

    /// Called after the answer to a request of this policy was recorded. When a session resumes, also called
    /// for every earlier answer that still applies.
    fn on_answered(&self, request: &PermissionRequest, decision: &PermissionDecision) {
        let _ = (request, decision);
    }

    /// Returns whether [`check`](Self::check) has no side effects: it calls no program and writes nothing.
    /// The events that led to a tool call need not be durable before such a check.
    fn has_pure_check(&self) -> bool {
        false
    }

    /// Returns whether tool calls of a session may change anything now. Decides which tools the model is
    /// offered.
    fn access(&self) -> Access {
        Access::Full
    }

    /// Called when a tool call is about to run: it is permitted and its start is recorded. Acquires what the
    /// call needs and returns what it may do.
    ///
    /// # Errors
    /// The reason why the tool call cannot run now, for the model. The call does not run.
    fn on_start(&self, query: PolicyQuery<'_>) -> Result<CallPermit, String> {
        let _ = query;
        Ok(CallPermit::default())
    }

    /// Returns whether the model may see this tool. The model can still name a hidden tool; the permission check decides
    /// about that call as about any other.
    fn is_offered(&self, tool: &str) -> bool {
        let _ = tool;
        true
    }

    /// Returns whether tools that run may ask the user a question now.
    fn allows_questions(&self) -> bool {
        true
    }

    /// Returns whether this policy can queue changes as a plan. If so, the model is offered a tool to propose
    /// changes while it may not make any.
    fn can_plan(&self) -> bool {
        false
    }

    /// Lets other sessions change the files that this session changed: it ended, or it waits for a sub-agent.
    fn release_files(&self, session_id: &SessionId) {
        let _ = session_id;
    }

    /// Called when the user approved exactly this tool call beforehand and saw everything that it would
    /// change.
    fn on_approved(&self, call: &ToolCall) {
        let _ = call;
    }

    /// Called when a tool call ended and its result is about to be recorded. May change the result. The
    /// future is dropped when the time limit of the call expires; the result is then recorded unchanged.
    fn on_finished<'a>(
        &'a self,
        query: PolicyQuery<'a>,
        result: &'a mut Result<ToolResult, ToolError>,
    ) -> BoxFuture<'a, ()> {
        let _ = (query, result);
        Box::pin(std::future::ready(()))
    }

    /// Returns the hooks for the other moments of the session.
    fn session_hooks(&self) -> Option<&dyn SessionHooks> {
        None
    }
}

/// Asks the user and waits for the answer without a time limit.
///
/// The future is dropped when another approver answered first or the run was cancelled.
pub trait Approver: Send + Sync {
    /// Returns the user's answer.
    fn ask<'a>(&'a self, request: &'a PermissionRequest) -> BoxFuture<'a, PermissionDecision>;

    /// Returns how much more the run may spend after a budget is used up; `None` (the default) for no more.
    fn extend_budget<'a>(&'a self, request: &'a BudgetRequest) -> BoxFuture<'a, Option<BudgetLimits>> {
        let _ = request;
        Box::pin(std::future::ready(None))
    }
}

/// Allows every tool call. For tools that cannot do harm, and for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl PermissionPolicy for AllowAll {
    fn has_pure_check(&self) -> bool {
        true
    }

    fn check<'a>(&'a self, _query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Allow))
    }
}

/// Asks for approval before every tool call that is not declared read-only.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskBeforeEffects;

impl PermissionPolicy for AskBeforeEffects {
    fn has_pure_check(&self) -> bool {
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

/// Splits a list of permission rules at commas and spaces outside parentheses: `Read, Bash(git add:*)`.
pub fn split_rules(text: &str) -> Vec<String> {
    let (mut rules, mut depth) = (vec![String::new()], 0_usize);
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ' ' if depth == 0 => {
                rules.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(rule) = rules.last_mut() {
            rule.push(letter);
        }
    }
    rules.retain(|rule| !rule.is_empty());
    rules
}
