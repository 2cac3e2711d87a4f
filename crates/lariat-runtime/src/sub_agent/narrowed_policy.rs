//! The permissions of a sub-agent: those of its parent, and never more.
//!
//! Every tool call of a sub-agent passes the parent's permission check first. A list of tools and a second policy can only
//! restrict the answer further. Invariant: what the parent's policy denies is denied, and what it asks about is asked or
//! denied; a property test compares both.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::content::ToolCall;
use lariat_core::file_access::{FileAccessCheck, FileUse};
use lariat_core::hooks::{HookAnswer, LifecycleEvent, LifecycleEventKind, SessionHooks, SessionSource};
use lariat_core::id::{LoopId, SessionId};
use lariat_core::permission::{
    CallPermit, PermissionDecision, PermissionPolicy, PermissionRequest, PolicyQuery, Verdict,
};
use lariat_core::tool::{Access, ToolError, ToolResult};

/// Why a sub-agent does not queue changes: the user would not see its plan.
const NO_PLAN: &str =
    "plan mode: a sub-agent makes and queues no changes; describe the change in your report";

/// A policy that allows at most what another one allows. The permission check of sub-agents.
pub struct NarrowedPolicy {
    parent: Arc<dyn PermissionPolicy>,
    restriction: Option<Arc<dyn PermissionPolicy>>,
    tools: Option<BTreeSet<String>>,
    agent_id: String,
    agent_type: String,
}

impl NarrowedPolicy {
    /// Creates a policy that allows what `parent` allows, but queues no changes.
    pub fn new(parent: Arc<dyn PermissionPolicy>) -> Self {
        Self { parent, restriction: None, tools: None, agent_id: String::new(), agent_type: String::new() }
    }

    /// Sets what hooks receive about the sub-agent.
    #[must_use]
    pub fn named(mut self, agent_id: impl Into<String>, agent_type: impl Into<String>) -> Self {
        (self.agent_id, self.agent_type) = (agent_id.into(), agent_type.into());
        self
    }

    /// Adds a policy that can restrict further. Where it rewrites arguments, the tool call is denied.
    #[must_use]
    pub fn with_restriction(mut self, policy: Arc<dyn PermissionPolicy>) -> Self {
        self.restriction = Some(policy);
        self
    }

    /// Allows only these tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = String>) -> Self {
        self.tools = Some(tools.into_iter().collect());
        self
    }

    /// Returns whether a tool is in the list of tools; always true without a list.
    pub fn has_tool(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.contains(tool))
    }

    async fn narrow(&self, query: PolicyQuery<'_>) -> Verdict {
        if !self.has_tool(&query.call.name) {
            return Verdict::Deny(format!("this sub-agent may not use the tool `{}`", query.call.name));
        }
        let verdict = self.parent.check(query).await;
        let args = match &verdict {
            Verdict::Rewrite(args) => Some(Arc::clone(args)),
            Verdict::Ask(request) => request.args.clone(),
            Verdict::Allow => None,
            Verdict::Queue { .. } => return Verdict::Deny(NO_PLAN.to_owned()),
            _ => return verdict,
        };
        let Some(restriction) = &self.restriction else { return verdict };
        let rewritten =
            args.as_ref().map(|args| ToolCall { arguments: (**args).clone(), ..query.call.clone() });
        let call = rewritten.as_ref().unwrap_or(query.call);
        let own = PolicyQuery::new(query.session_id, query.loop_id, call, query.effects);
        match (restriction.check(own).await, verdict) {
            (Verdict::Allow, verdict) => verdict,
            (Verdict::Ask(_), Verdict::Ask(request)) => Verdict::Ask(request),
            (Verdict::Ask(request), _) => match args {
                Some(args) => Verdict::Ask(request.with_args(args)),
                None => Verdict::Ask(request),
            },
            (Verdict::Deny(why), _) => Verdict::Deny(why),
            (Verdict::Queue { .. }, _) => Verdict::Deny(NO_PLAN.to_owned()),
            _ => Verdict::Deny("the permissions of this sub-agent do not allow it".to_owned()),
        }
    }
}

impl PermissionPolicy for NarrowedPolicy {
    fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(self.narrow(query))
    }

    fn on_answered(&self, request: &PermissionRequest, decision: &PermissionDecision) {
        self.parent.on_answered(request, decision);
        if let Some(restriction) = &self.restriction {
            restriction.on_answered(request, decision);
        }
    }

    fn has_pure_check(&self) -> bool {
        self.parent.has_pure_check() && self.restriction.as_ref().is_none_or(|policy| policy.has_pure_check())
    }

    fn access(&self) -> Access {
        let own = self.restriction.as_ref().map(|policy| policy.access());
        narrower(self.parent.access(), own.unwrap_or_default())
    }

    fn on_start(&self, query: PolicyQuery<'_>) -> Result<CallPermit, String> {
        if !self.has_tool(&query.call.name) {
            return Err(format!("this sub-agent may not use the tool `{}`", query.call.name));
        }
        let permit = self.parent.on_start(query)?;
        let Some(restriction) = &self.restriction else { return Ok(permit) };
        let own = restriction.on_start(query)?;
        let files: Vec<_> = permit.files.into_iter().chain(own.files).collect();
        Ok(CallPermit {
            access: narrower(permit.access, own.access),
            // What the user approved in the request of the parent's policy.
            openings: permit.openings,
            files: (!files.is_empty()).then(|| Arc::new(AllChecks(files)) as Arc<dyn FileAccessCheck>),
            held: Some(Box::new((permit.held, own.held))),
        })
    }

    fn is_offered(&self, tool: &str) -> bool {
        let own = self.restriction.as_ref().is_none_or(|policy| policy.is_offered(tool));
        self.has_tool(tool) && own && self.parent.is_offered(tool)
    }

    fn allows_questions(&self) -> bool {
        let own = self.restriction.as_ref().is_none_or(|policy| policy.allows_questions());
        own && self.parent.allows_questions()
    }

    fn can_plan(&self) -> bool {
        false
    }

    fn release_files(&self, session_id: &SessionId) {
        self.parent.release_files(session_id);
    }

    fn on_approved(&self, call: &ToolCall) {
        self.parent.on_approved(call);
    }

    fn on_finished<'a>(
        &'a self,
        query: PolicyQuery<'a>,
        result: &'a mut Result<ToolResult, ToolError>,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(restriction) = &self.restriction {
                restriction.on_finished(query, result).await;
            }
            self.parent.on_finished(query, result).await;
        })
    }

    fn session_hooks(&self) -> Option<&dyn SessionHooks> {
        self.parent.session_hooks().is_some().then_some(self)
    }
}

const fn narrower(one: Access, other: Access) -> Access {
    match (one, other) {
        (Access::Full, Access::Full) => Access::Full,
        _ => Access::Reads,
    }
}

/// Hooks of the parent's session for a sub-agent: its start and its end are moments of their own, and its task is not
/// a prompt of the user.
impl SessionHooks for NarrowedPolicy {
    fn wants(&self, kind: LifecycleEventKind) -> bool {
        let kind = match kind {
            LifecycleEventKind::SessionStart => LifecycleEventKind::SubagentStart,
            LifecycleEventKind::Stop => LifecycleEventKind::SubagentStop,
            LifecycleEventKind::PreCompact | LifecycleEventKind::PostCompact => kind,
            _ => return false,
        };
        self.parent.session_hooks().is_some_and(|hooks| hooks.wants(kind))
    }

    fn notify<'a>(&'a self, session_id: &'a SessionId, moment: LifecycleEvent) -> BoxFuture<'a, HookAnswer> {
        let (agent_id, agent_type) = (self.agent_id.clone(), self.agent_type.clone());
        let moment = match moment {
            LifecycleEvent::SessionStart { source: SessionSource::Startup } => {
                LifecycleEvent::SubagentStart { agent_id, agent_type }
            }
            LifecycleEvent::Stop { continued, last_message } => {
                LifecycleEvent::SubagentStop { agent_id, agent_type, continued, last_message }
            }
            LifecycleEvent::SessionStart { .. } => {
                return Box::pin(std::future::ready(HookAnswer::default()));
            }
            other => other,
        };
        match self.parent.session_hooks() {
            Some(hooks) if hooks.wants(moment.kind()) => hooks.notify(session_id, moment),
            _ => Box::pin(std::future::ready(HookAnswer::default())),
        }
    }

    fn take_stop(&self, loop_id: &LoopId) -> Option<String> {
        self.parent.session_hooks()?.take_stop(loop_id)
    }

    fn take_messages(&self, loop_id: &LoopId) -> Vec<String> {
        self.parent.session_hooks().map(|hooks| hooks.take_messages(loop_id)).unwrap_or_default()
    }
}

/// Checks of opened files that must all agree.
struct AllChecks(Vec<Arc<dyn FileAccessCheck>>);

impl FileAccessCheck for AllChecks {
    fn judge(&self, path: &Path, used: FileUse) -> Result<(), String> {
        self.0.iter().try_for_each(|check| check.judge(path, used))
    }

    fn reads_everything_in(&self, directory: &Path) -> bool {
        self.0.iter().all(|check| check.reads_everything_in(directory))
    }
}

impl std::fmt::Debug for NarrowedPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NarrowedPolicy").field("tools", &self.tools).finish_non_exhaustive()
    }
}
