//! A tool call while it runs.
//!
//! Cancelling first asks the tool to end; after a grace period the tool is dropped. A panic is a failure of
//! the tool, not of the run.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::content::ToolCall;
use lariat_core::id::{LoopId, ToolCallId};
use lariat_core::permission::{Clearance, PermissionPolicy, PolicyQuery};
use lariat_core::run::Input;
use lariat_core::tool::{ToolContext, ToolError, ToolResult};
use serde_json::Value;

use super::bounds;
use super::driver::Done;
use super::earlier::Journaled;
use super::journal::Journal;
use super::mailbox::{Letter, Mailbox};
use super::moments;
use super::ports::Ports;
use super::preview::Preview;
use super::redaction;
use crate::compaction::Recall;

/// Ends a running tool.
#[derive(Debug)]
pub(crate) struct ToolLeash {
    pub(crate) id: ToolCallId,
    pub(crate) tool_name: String,
    /// Asks the tool to end.
    pub(crate) cancel: CancellationToken,
    /// Drops the tool.
    pub(crate) cut: CancellationToken,
}

/// A tool call that may run.
pub(crate) struct Granted {
    pub(crate) call: Arc<ToolCall>,
    /// The arguments to run with, if a hook changed them.
    pub(crate) args: Option<Arc<Value>>,
    /// The preview that the user saw in the approval request.
    pub(crate) shown: Option<String>,
}

/// Starts a tool.
pub(crate) fn start(
    ports: &Arc<Ports>,
    Granted { call, args, shown }: Granted,
    journal: &Arc<Journal>,
    loop_id: &LoopId,
    mailbox: &Arc<Mailbox>,
    parent: &CancellationToken,
) -> (ToolLeash, BoxFuture<'static, Done>) {
    let leash = ToolLeash {
        id: call.id.clone(),
        tool_name: call.name.clone(),
        cancel: parent.child_token(),
        cut: CancellationToken::new(),
    };
    let mut context = ToolContext::new(
        call.id.clone(),
        call.name.clone(),
        journal.session_id().clone(),
        loop_id.clone(),
        leash.cancel.clone(),
    );
    context.earlier = Some(Arc::new(Journaled::new(Arc::clone(journal))));
    let (inbox, id) = (Arc::clone(mailbox), call.id.clone());
    context.on_update = Some(Arc::new(move |partial| {
        let _ = inbox.send(Letter::Update { call: id.clone(), partial });
    }));
    let (inbox, id) = (Arc::clone(mailbox), call.id.clone());
    context.on_progress = Some(Arc::new(move |text| {
        let _ = inbox.send(Letter::Progress { call: id.clone(), text });
    }));

    let (ports, call, cut) = (Arc::clone(ports), call, leash.cut.clone());
    let (session_id, loop_id) = (journal.session_id().clone(), loop_id.clone());
    let kept = Arc::clone(journal);
    let (most, recalls) = (ports.max_tool_output, ports.tools.get(Recall::NAME).is_some());
    let future = Box::pin(async move {
        // The policy checks exactly the tool call that runs.
        let ran =
            args.as_ref().map(|args| ToolCall { arguments: Value::clone(args), ..ToolCall::clone(&call) });
        let query =
            PolicyQuery::new(&session_id, &loop_id, ran.as_ref().unwrap_or(&call), ports.effects(&call.name));
        let mut result = match (ports.tools.get(&call.name), cleared(&*ports.policy, query)) {
            (None, _) => Err(ToolError::NotFound(format!("no tool is named `{}`", call.name))),
            (_, Err(why)) => Err(ToolError::Failed(why)),
            (Some(tool), Ok(clearance)) if !tool.is_offered(clearance.access) => {
                let words = "Not run: plan mode allows no changes. Propose the change instead.";
                Err(ToolError::Failed(words.to_owned()))
            }
            _ if !is_as_shown(shown, query.call, &ports).await => Err(ToolError::Failed(CHANGED.to_owned())),
            (Some(tool), Ok(clearance)) => {
                context.access = clearance.access;
                context.openings.clone_from(&clearance.openings);
                context.files = clearance.files.clone();
                let params = args.as_ref().map_or_else(|| call.arguments.clone(), |args| Value::clone(args));
                // Also catches panics in the tool's code before its first await.
                let work = AssertUnwindSafe(async { tool.execute(params, context).await }).catch_unwind();
                run(std::pin::pin!(work), &cut).await
            }
        };
        // Redact before hooks run: they are programs of others.
        redaction::outcome(&ports.redactor, &mut result);
        bounds::outcome(&mut result, most, recalls, &kept).await;
        look_at(&*ports.policy, query, &mut result, &cut).await;
        // Also limit what hooks added.
        bounds::outcome(&mut result, most, recalls, &kept).await;
        let input = Some(Input::ToolFinished { call: call.id.clone(), result });
        Done { halt: moments::take_stop(&ports, &loop_id), input }
    });
    (leash, future)
}

/// Why an approved tool call does not run.
const CHANGED: &str = "Not run: it would no longer make the change that the user approved. Check the current state, then call the tool again.";

/// Whether a tool call would still make the change that the user saw.
async fn is_as_shown(shown: Option<String>, call: &ToolCall, ports: &Ports) -> bool {
    let Some(shown) = shown else { return true };
    Box::pin(Preview::of(&call.name, &call.arguments, ports)).await == Preview::Known(shown)
}

/// Asks the policy whether a tool call may run now, and with which access. If the policy panics, the tool
/// call does not run.
fn cleared(policy: &dyn PermissionPolicy, query: PolicyQuery<'_>) -> Result<Clearance, String> {
    let starting = std::panic::catch_unwind(AssertUnwindSafe(|| policy.starts(query)));
    starting.unwrap_or_else(|_| Err("Not run: the permission check failed.".to_owned()))
}

/// Passes the result of a tool call to the policy, until the tool call is dropped. Ignores a panic.
async fn look_at(
    policy: &dyn PermissionPolicy,
    query: PolicyQuery<'_>,
    result: &mut Result<ToolResult, ToolError>,
    cut: &CancellationToken,
) {
    if cut.is_cancelled() {
        return;
    }
    let looking = AssertUnwindSafe(async { policy.finished(query, result).await }).catch_unwind();
    let _ = select(std::pin::pin!(looking), cut.cancelled()).await;
}

async fn run<W>(work: std::pin::Pin<&mut W>, cut: &CancellationToken) -> Result<ToolResult, ToolError>
where
    W: Future<Output = Result<Result<ToolResult, ToolError>, Box<dyn std::any::Any + Send>>>,
{
    match select(work, cut.cancelled()).await {
        Either::Left((Ok(result), _)) => result,
        Either::Left((Err(panic), _)) => {
            Err(ToolError::Failed(format!("the tool panicked: {}", panic_text(&*panic))))
        }
        Either::Right(_) => {
            Err(ToolError::Interrupted("it did not end after it was cancelled, and was stopped".to_owned()))
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown cause")
}
