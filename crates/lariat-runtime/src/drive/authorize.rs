//! Authorizes a tool call before it runs: calls the in-process hook, then asks the policy.
//!
//! If either panics, the tool call is denied. Adds a preview of the change to an approval request. The
//! built-in policy is [`crate::Gate`].

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use lariat_core::BoxFuture;
use lariat_core::content::ToolCall;
use lariat_core::hooks::{Flow, HookInterest};
use lariat_core::id::{LoopId, SessionId};
use lariat_core::permission::{PermissionDecision, PermissionRequest, PolicyQuery, Verdict};
use lariat_core::run::Input;

use super::driver::JobResult;
use super::ports::Ports;
use super::preview::Preview;
use super::session_hooks;

/// Decides whether a tool call may run.
pub(crate) fn authorize(
    ports: &Arc<Ports>,
    session_id: &SessionId,
    loop_id: &LoopId,
    call: Arc<ToolCall>,
) -> BoxFuture<'static, JobResult> {
    let (ports, session_id, loop_id) = (Arc::clone(ports), session_id.clone(), loop_id.clone());
    Box::pin(async move {
        let effects = ports.effects(&call.name);
        let decide = async {
            if ports.hooks.interest() == HookInterest::All
                && ports.hooks.before_tool_execution(&call.name, &call.id, &call.arguments) == Flow::Stop
            {
                return Verdict::Skip;
            }
            ports.policy.check(PolicyQuery::new(&session_id, &loop_id, &call, effects)).await
        };
        let failed = |_| Verdict::Deny("the permission check failed".to_owned());
        let mut verdict = AssertUnwindSafe(decide).catch_unwind().await.unwrap_or_else(failed);
        if let Verdict::Ask(request) = &mut verdict {
            let arguments = request.args.as_deref().unwrap_or(&call.arguments);
            // Boxed, because it is rare: otherwise every permission check would reserve space for it.
            let preview = Box::pin(Preview::of(&call.name, arguments, &ports)).await;
            request.preview = preview.into_text();
        }
        let input = Some(Input::Authorized { call: call.id.clone(), verdict });
        let messages = session_hooks::take_messages(&ports, &loop_id);
        JobResult { halt: session_hooks::take_stop(&ports, &loop_id), messages, input }
    })
}

/// Judges the arguments of an answer that changes them, as if the model had called the tool with them. Returns
/// every other answer unchanged.
///
/// The one who answered approved exactly these arguments, so a check that requires approval is satisfied; the
/// tool call gets those sandbox openings that the request showed. A check that denies wins over the answer.
pub(crate) async fn judge_answer(
    ports: Arc<Ports>,
    session_id: SessionId,
    loop_id: LoopId,
    request: Arc<PermissionRequest>,
    decision: PermissionDecision,
) -> PermissionDecision {
    let PermissionDecision::AllowChanged { args, .. } = decision else { return decision };
    let call = ToolCall {
        id: request.tool_call_id.clone(),
        name: request.tool_name.clone(),
        arguments: (*args).clone(),
        signature: None,
    };
    let query = PolicyQuery::new(&session_id, &loop_id, &call, ports.effects(&call.name));
    let checked = AssertUnwindSafe(async { ports.policy.check(query).await }).catch_unwind().await;
    let changed = |args, openings| PermissionDecision::AllowChanged { args, openings };
    match checked.unwrap_or_else(|_| Verdict::Deny("the permission check failed".to_owned())) {
        Verdict::Allow => changed(args, Vec::new()),
        // The rules allow what a hook made of the arguments.
        Verdict::Rewrite(args) => changed(args, Vec::new()),
        Verdict::Ask(again) if again.args.is_none() => {
            let shown = again.openings.into_iter().filter(|opening| request.openings.contains(opening));
            changed(args, shown.collect())
        }
        Verdict::Ask(_) => PermissionDecision::deny("a hook changed the approved arguments"),
        Verdict::Deny(reason) => PermissionDecision::deny(reason),
        Verdict::Queue { .. } => PermissionDecision::deny("plan mode: propose the change instead"),
        _ => PermissionDecision::deny("a hook did not allow this call"),
    }
}
