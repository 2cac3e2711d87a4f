//! A tool call while it runs.
//!
//! Cancelling first asks the tool to end; after a grace period the tool is dropped. A panic is a failure of
//! the tool, not of the run.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::content::ToolCall;
use lariat_core::id::{LoopId, ToolCallId};
use lariat_core::permission::{CallPermit, PermissionPolicy, PolicyQuery};
use lariat_core::run::Input;
use lariat_core::tool::{RecordedSubAgent, ToolContext, ToolError, ToolResult};
use serde_json::Value;

use super::driver::{JobResult, tool_questions};
use super::journal::Journal;
use super::journal_history::JournalHistory;
use super::mailbox::{Mailbox, MailboxItem};
use super::output_limit;
use super::parent_run::ParentRun;
use super::ports::Ports;
use super::preview::Preview;
use super::redaction;
use super::session_hooks;
use crate::compaction::RecallTool;

/// Ends a running tool.
#[derive(Debug)]
pub(crate) struct RunningTool {
    pub(crate) id: ToolCallId,
    pub(crate) tool_name: String,
    /// Asks the tool to end.
    pub(crate) cancel: CancellationToken,
    /// Drops the tool.
    pub(crate) abort: CancellationToken,
    /// How much longer than other tools it may take to end.
    pub(crate) extra_grace: Duration,
    /// The run as its sub-agent sees it, if the tool starts one.
    pub(crate) parent: Option<Arc<ParentRun>>,
}

/// A tool call that may run.
pub(crate) struct AuthorizedCall {
    pub(crate) call: Arc<ToolCall>,
    /// The arguments to run with, if a hook changed them.
    pub(crate) args: Option<Arc<Value>>,
    /// The preview that the user saw in the approval request.
    pub(crate) shown: Option<String>,
    /// The sub-agent that is recorded for the tool call.
    pub(crate) sub_agent: Option<Box<RecordedSubAgent>>,
    /// The run as that sub-agent sees it.
    pub(crate) parent: Option<Arc<ParentRun>>,
    /// Whether the run is one of several branches of its session.
    pub(crate) is_branch: bool,
}

/// Starts a tool.
pub(crate) fn start(
    ports: &Arc<Ports>,
    AuthorizedCall { call, args, shown, sub_agent, parent, is_branch }: AuthorizedCall,
    journal: &Arc<Journal>,
    loop_id: &LoopId,
    mailbox: &Arc<Mailbox>,
    cancel: &CancellationToken,
) -> (RunningTool, BoxFuture<'static, JobResult>) {
    let running = RunningTool {
        id: call.id.clone(),
        tool_name: call.name.clone(),
        cancel: cancel.child_token(),
        abort: CancellationToken::new(),
        extra_grace: ports.tools.get(&call.name).map(|tool| tool.extra_grace()).unwrap_or_default(),
        parent,
    };
    let mut context = ToolContext::new(
        call.id.clone(),
        call.name.clone(),
        journal.session_id().clone(),
        loop_id.clone(),
        running.cancel.clone(),
    );
    context.is_branch = is_branch;
    context.sub_agent = sub_agent.map(|sub_agent| *sub_agent);
    context.run = running.parent.clone().map(|parent| parent as Arc<dyn Any + Send + Sync>);
    context.earlier = Some(Arc::new(JournalHistory::new(Arc::clone(journal))));
    let (inbox, id) = (Arc::clone(mailbox), call.id.clone());
    context.on_update = Some(Arc::new(move |partial| {
        let _ = inbox.send(MailboxItem::Update { call: id.clone(), partial });
    }));
    let (inbox, id) = (Arc::clone(mailbox), call.id.clone());
    context.on_progress = Some(Arc::new(move |text| {
        let _ = inbox.send(MailboxItem::Progress { call: id.clone(), text });
    }));

    let (inbox, asking) = (Arc::clone(mailbox), Arc::clone(&call));
    context.on_question = Some(Arc::new(move |question| tool_questions::send(&inbox, &asking, question)));

    let (ports, call) = (Arc::clone(ports), call);
    let (cancelled, abort) = (running.cancel.clone(), running.abort.clone());
    let (session_id, loop_id) = (journal.session_id().clone(), loop_id.clone());
    let store = Arc::clone(journal);
    let (most, recalls) = (ports.max_tool_output, ports.tools.get(RecallTool::NAME).is_some());
    let future = Box::pin(async move {
        // The policy checks exactly the tool call that runs.
        let ran =
            args.as_ref().map(|args| ToolCall { arguments: Value::clone(args), ..ToolCall::clone(&call) });
        let query =
            PolicyQuery::new(&session_id, &loop_id, ran.as_ref().unwrap_or(&call), ports.effects(&call.name));
        let mut result = match (ports.tools.get(&call.name), check_start(&*ports.policy, query)) {
            // The run was stopped while the start was being recorded. A sub-agent still has to tell what it used in an earlier
            // process; it starts no work.
            _ if cancelled.is_cancelled() && context.sub_agent.is_none() => Err(ToolError::Cancelled),
            (None, _) => Err(ToolError::NotFound(format!("no tool is named `{}`", call.name))),
            (_, Err(why)) => Err(ToolError::Failed(why)),
            (Some(tool), Ok(clearance)) if !tool.is_offered(clearance.access) => {
                let message = "Not run: plan mode allows no changes. Propose the change instead.";
                Err(ToolError::Failed(message.to_owned()))
            }
            _ if !matches_approved_preview(shown, query.call, &ports).await => {
                Err(ToolError::Failed(PREVIEW_CHANGED.to_owned()))
            }
            (Some(tool), Ok(clearance)) => {
                context.access = clearance.access;
                context.openings.clone_from(&clearance.openings);
                context.files = clearance.files.clone();
                let params = args.as_ref().map_or_else(|| call.arguments.clone(), |args| Value::clone(args));
                // Also catches panics in the tool's code before its first await.
                let work = AssertUnwindSafe(async { tool.execute(params, context).await }).catch_unwind();
                run(std::pin::pin!(work), &abort).await
            }
        };
        // Redact before hooks run: they are programs of others.
        redaction::outcome(&ports.redactor, &mut result);
        ports.lineage.note_failure(&session_id, query.call, &mut result);
        output_limit::outcome(&mut result, most, recalls, &store).await;
        report_result(&*ports.policy, query, &mut result, &abort).await;
        // Also limit what hooks added.
        output_limit::outcome(&mut result, most, recalls, &store).await;
        let input = Some(Input::ToolFinished { call: call.id.clone(), result });
        let messages = session_hooks::take_messages(&ports, &loop_id);
        JobResult { halt: session_hooks::take_stop(&ports, &loop_id), messages, input }
    });
    (running, future)
}

/// Why an approved tool call does not run.
const PREVIEW_CHANGED: &str = "Not run: it would no longer make the change that the user approved. Check the current state, then call the tool again.";

/// Whether a tool call would still make the change that the user saw.
async fn matches_approved_preview(shown: Option<String>, call: &ToolCall, ports: &Ports) -> bool {
    let Some(shown) = shown else { return true };
    Box::pin(Preview::of(&call.name, &call.arguments, ports)).await == Preview::Known(shown)
}

/// Asks the policy whether a tool call may run now, and with which access. If the policy panics, the tool
/// call does not run.
fn check_start(policy: &dyn PermissionPolicy, query: PolicyQuery<'_>) -> Result<CallPermit, String> {
    let starting = std::panic::catch_unwind(AssertUnwindSafe(|| policy.on_start(query)));
    starting.unwrap_or_else(|_| Err("Not run: the permission check failed.".to_owned()))
}

/// Passes the result of a tool call to the policy, until the tool call is dropped. Ignores a panic.
async fn report_result(
    policy: &dyn PermissionPolicy,
    query: PolicyQuery<'_>,
    result: &mut Result<ToolResult, ToolError>,
    abort: &CancellationToken,
) {
    if abort.is_cancelled() {
        return;
    }
    let reporting = AssertUnwindSafe(async { policy.on_finished(query, result).await }).catch_unwind();
    let _ = select(std::pin::pin!(reporting), abort.cancelled()).await;
}

async fn run<W>(work: std::pin::Pin<&mut W>, abort: &CancellationToken) -> Result<ToolResult, ToolError>
where
    W: Future<Output = Result<Result<ToolResult, ToolError>, Box<dyn Any + Send>>>,
{
    match select(work, abort.cancelled()).await {
        Either::Left((Ok(result), _)) => result,
        Either::Left((Err(panic), _)) => {
            Err(ToolError::Failed(format!("the tool panicked: {}", panic_text(&*panic))))
        }
        Either::Right(_) => {
            Err(ToolError::Interrupted("it did not end after it was cancelled, and was stopped".to_owned()))
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown cause")
}
