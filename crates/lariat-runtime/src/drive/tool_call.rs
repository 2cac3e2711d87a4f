//! A tool while it runs.
//!
//! Owns the call's cancellation: first it is asked to end, and when its grace is over it is dropped. A panic is a
//! failure of the tool, not of the run.

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

use super::driver::Done;
use super::earlier::Journaled;
use super::journal::Journal;
use super::mailbox::{Letter, Mailbox};
use super::moments;
use super::ports::Ports;
use super::preview::Preview;
use super::redaction;

/// How a running tool is ended.
#[derive(Debug)]
pub(crate) struct ToolLeash {
    pub(crate) id: ToolCallId,
    pub(crate) tool_name: String,
    /// Asks it to end.
    pub(crate) cancel: CancellationToken,
    /// Ends it.
    pub(crate) cut: CancellationToken,
}

/// A call that may run.
pub(crate) struct Granted {
    pub(crate) call: Arc<ToolCall>,
    /// What it runs with, when a hook changed that.
    pub(crate) args: Option<Arc<Value>>,
    /// What a person saw that it would change.
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
    let future = Box::pin(async move {
        // What runs is what the gate sees.
        let ran =
            args.as_ref().map(|args| ToolCall { arguments: Value::clone(args), ..ToolCall::clone(&call) });
        let query =
            PolicyQuery::new(&session_id, &loop_id, ran.as_ref().unwrap_or(&call), ports.effects(&call.name));
        let mut result = match (ports.tools.get(&call.name), cleared(&*ports.policy, query)) {
            (None, _) => Err(ToolError::NotFound(format!("There is no tool named `{}`.", call.name))),
            (_, Err(why)) => Err(ToolError::Failed(why)),
            (Some(tool), Ok(clearance)) if !tool.is_offered(clearance.access) => {
                let words = "Not run: nothing may be changed now. Propose the change instead.";
                Err(ToolError::Failed(words.to_owned()))
            }
            _ if !is_as_shown(shown, query.call, &ports).await => Err(ToolError::Failed(CHANGED.to_owned())),
            (Some(tool), Ok(clearance)) => {
                context.access = clearance.access;
                context.openings.clone_from(&clearance.openings);
                let params = args.as_ref().map_or_else(|| call.arguments.clone(), |args| Value::clone(args));
                // The tool's own code runs inside, also the part before its first await.
                let work = AssertUnwindSafe(async { tool.execute(params, context).await }).catch_unwind();
                run(std::pin::pin!(work), &cut).await
            }
        };
        // Hooks are programs of others: they are told what everybody may know.
        redaction::outcome(&ports.redactor, &mut result);
        look_at(&*ports.policy, query, &mut result, &cut).await;
        let input = Some(Input::ToolFinished { call: call.id.clone(), result });
        Done { halt: moments::take_stop(&ports, &loop_id), input }
    });
    (leash, future)
}

/// Why a call that a person approved is not run.
const CHANGED: &str =
    "Not run: what it would change is not what the person approved any more. Look again, then call again.";

/// Whether a call would still change what the person saw.
async fn is_as_shown(shown: Option<String>, call: &ToolCall, ports: &Ports) -> bool {
    let Some(shown) = shown else { return true };
    Box::pin(Preview::of(&call.name, &call.arguments, ports)).await == Preview::Known(shown)
}

/// Asks the gate whether a call can run now, and how far it may go. A gate that panics has not cleared it.
fn cleared(policy: &dyn PermissionPolicy, query: PolicyQuery<'_>) -> Result<Clearance, String> {
    let starting = std::panic::catch_unwind(AssertUnwindSafe(|| policy.starts(query)));
    starting.unwrap_or_else(|_| Err("Not run: the gate failed.".to_owned()))
}

/// Lets the gate see what came of a call, as long as the call has time. A gate that panics has seen it.
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
            Err(ToolError::Interrupted("it did not end when it was cancelled and was stopped".to_owned()))
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown cause")
}
