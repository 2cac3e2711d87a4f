//! The stateless loops of seed 002: everything comes in as an argument, everything new comes back.
//!
//! Owns the sequence begin → drive (with the events handed on beside it) → take back. [`super::Agent`] is a keeper of
//! contexts around these functions.

use lariat_core::cancel::CancellationToken;
use lariat_core::event::ContinuationKind;
use lariat_core::message::AgentMessage;
use lariat_core::run::Run;
use lariat_core::session::SessionFold;

use super::context::{AgentContext, AgentLoopConfig};
use super::error::AgentError;
use super::output::AgentOutput;
use super::pump::{EventSender, pump};
use crate::drive::{Driver, RunHandle};
use crate::observe::DEFAULT_CAPACITY;

/// Runs a loop on new prompts. The context holds the conversation before and after.
///
/// # Errors
/// When the prompts are not prompts, or the journal cannot be written.
pub async fn agent_loop(
    prompts: Vec<AgentMessage>,
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    sender: impl EventSender,
    cancel: CancellationToken,
) -> Result<AgentOutput, AgentError> {
    let run = context.begin(config, prompts).await?;
    drive(run, context, config, sender, cancel, |_| {}).await
}

/// Runs a loop on the conversation as it is: after an error, or with a rerun or branch as the context's
/// `continuation_kind` says.
///
/// # Errors
/// When the model has nothing to answer, or the journal cannot be written.
pub async fn agent_loop_continue(
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    sender: impl EventSender,
    cancel: CancellationToken,
) -> Result<AgentOutput, AgentError> {
    match context.continuation_kind.get_or_insert(ContinuationKind::Default) {
        ContinuationKind::Default => {}
        _ => context.rewind_to_last_prompt(),
    }
    let run = context.begin(config, Vec::new()).await?;
    drive(run, context, config, sender, cancel, |_| {}).await
}

/// Goes on with the oldest loop of the session that was interrupted; `None` when there is none.
///
/// # Errors
/// When the journal cannot be read or written.
pub async fn agent_loop_recover(
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    sender: impl EventSender,
    cancel: CancellationToken,
) -> Result<Option<AgentOutput>, AgentError> {
    recover_with(context, config, sender, cancel, |_| {}).await
}

pub(super) async fn recover_with(
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    sender: impl EventSender,
    cancel: CancellationToken,
    started: impl FnOnce(RunHandle) + Send,
) -> Result<Option<AgentOutput>, AgentError> {
    context.journal().open().await?;
    let events = context.journal().read_from(0).await?;
    let fold = SessionFold::of(&events);
    context.adopt(&fold);
    let Some(start) = fold.open_loops().next() else { return Ok(None) };
    let recovered = Run::recover_from(config.run.clone(), &fold, &events, &start.loop_id)?;
    let run = recovered.resume(config.ports.stamp());
    drive(run, context, config, sender, cancel, started).await.map(Some)
}

pub(super) async fn drive(
    run: Run,
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    sender: impl EventSender,
    cancel: CancellationToken,
    started: impl FnOnce(RunHandle) + Send,
) -> Result<AgentOutput, AgentError> {
    let loop_id = run.loop_id().clone();
    let journal = context.journal().clone();
    let events = journal.hub().subscribe(DEFAULT_CAPACITY);
    let (driver, handle) = Driver::new(config.ports.clone(), config.run.clone(), journal, run, cancel);
    for (queue, message) in context.take_unsent() {
        let _ = handle.queue(queue, message);
    }
    started(handle);
    let over = CancellationToken::new();
    let driving = async {
        let driven = Box::pin(driver.drive()).await;
        over.cancel();
        driven
    };
    let (driven, ()) = futures_util::future::join(driving, pump(events, sender, over.clone())).await;
    let driven = driven?;
    let output = AgentOutput::of(loop_id.clone(), &driven);
    context.end(loop_id, driven.parts, driven.unread);
    Ok(output)
}
