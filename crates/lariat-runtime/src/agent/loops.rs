//! Runs the agent loop without an [`Agent`](super::Agent): the caller passes all state in and gets all new
//! state back.
//!
//! Each function begins a run, drives it, updates the context and passes the events to a sender meanwhile.
//! [`super::Agent`] keeps contexts and calls these functions. After an error or a dropped future, the context
//! is read from its journal again.

use lariat_core::cancel::CancellationToken;
use lariat_core::event::ContinuationKind;
use lariat_core::message::AgentMessage;
use lariat_core::run::Run;
use lariat_core::session::FileChanges;

use super::context::{AgentContext, LoadedJournal};
use super::error::{AgentError, RunFailure};
use super::forward::{EndSignal, EventSender, forward_events};
use super::loop_config::AgentLoopConfig;
use super::output::AgentOutput;
use super::parallel::recover_for_agent;
use crate::drive::{Driver, RunHandle, redaction};
use crate::observe::{DEFAULT_CAPACITY, Subscription};

/// Runs a loop on new prompts. The context holds the conversation before and after.
///
/// # Errors
/// If an earlier loop was interrupted, the prompts cannot be sent to a model, or the journal cannot be
/// written; [`AgentError::Failed`] if the model failed permanently.
pub async fn agent_loop(
    prompts: Vec<AgentMessage>,
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    sender: impl EventSender,
    cancel: CancellationToken,
) -> Result<AgentOutput, AgentError> {
    let kind = context.continuation_kind.clone();
    with_events(context, sender, async |context| {
        begin_and_drive(prompts, kind, context, config, cancel, |_| {}).await
    })
    .await
}

/// Runs a loop on the existing conversation: after an error, or as a rerun or branch according to the
/// context's `continuation_kind`.
///
/// # Errors
/// If an earlier loop was interrupted, the model has nothing to answer, or the journal cannot be written;
/// [`AgentError::Failed`] if the model failed permanently.
pub async fn agent_loop_continue(
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    sender: impl EventSender,
    cancel: CancellationToken,
) -> Result<AgentOutput, AgentError> {
    let kind = context.continuation_kind.clone().unwrap_or_default();
    with_events(context, sender, async |context| {
        begin_and_drive(Vec::new(), Some(kind), context, config, cancel, |_| {}).await
    })
    .await
}

/// Resumes the oldest interrupted loop of the session; returns `None` if there is none. Of branches that ran at the same time, it
/// resumes all with this configuration, and selects the first that finishes by its position. Use
/// [`agent_loop_parallel_recover`](super::agent_loop_parallel_recover) for other configurations and strategies.
///
/// # Errors
/// If the journal cannot be read or written; [`AgentError::Failed`] if the model failed permanently.
pub async fn agent_loop_recover(
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    sender: impl EventSender,
    cancel: CancellationToken,
) -> Result<Option<AgentOutput>, AgentError> {
    with_events(context, sender, async |context| recover(context, config, cancel, |_| {}).await).await
}

/// Runs an action on a context and passes its events to a sender, in the same task.
pub(super) async fn with_events<T>(
    context: &mut AgentContext,
    sender: impl EventSender,
    act: impl AsyncFnOnce(&mut AgentContext) -> Result<T, AgentError>,
) -> Result<T, AgentError> {
    let journal = context.journal().clone();
    let events: Subscription = journal.hub().subscribe(DEFAULT_CAPACITY);
    let end_signal = EndSignal::default();
    let acting = async {
        let result = act(context).await;
        end_signal.set(reached_end(&result).then(|| journal.next_seq()));
        result
    };
    let (result, ()) =
        futures_util::future::join(acting, forward_events(events, sender, end_signal.clone())).await;
    result
}

/// Whether a run published its end. A run whose model failed did.
pub(super) const fn reached_end<T>(result: &Result<T, AgentError>) -> bool {
    matches!(result, Ok(_) | Err(AgentError::Failed(_)))
}

pub(super) async fn begin_and_drive(
    mut prompts: Vec<AgentMessage>,
    kind: Option<ContinuationKind>,
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    cancel: CancellationToken,
    started: impl FnOnce(RunHandle) + Send,
) -> Result<AgentOutput, AgentError> {
    prompts.iter_mut().for_each(|prompt| redaction::message(&config.ports.redactor, prompt));
    // Boxed: otherwise the future of every run would reserve space for it.
    let run = Box::pin(context.begin(config, prompts, kind)).await?;
    context.record_accepted(config);
    drive(run, FileChanges::default(), context, config, cancel, started).await
}

pub(super) async fn recover(
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    cancel: CancellationToken,
    started: impl FnOnce(RunHandle) + Send,
) -> Result<Option<AgentOutput>, AgentError> {
    context.drop_unrecorded();
    let LoadedJournal { fold, snapshot, events } = context.read().await?;
    if let Some(group) = fold.memory().groups().first() {
        let configs = vec![config.clone(); group.branches.len()];
        return Box::pin(recover_for_agent(context, &configs, cancel, started)).await;
    }
    context.inform_policy(&*config.ports.policy);
    let Some(start) = fold.open_loops().next() else { return Ok(None) };
    if context.memory.session_import().is_some() {
        // Assemble the system prompt of this machine instead of sending that of another.
        Box::pin(context.assemble_prompt(config, &[])).await;
    } else {
        Box::pin(context.load_prompt(config)).await;
    }
    let recovered =
        Run::recover_from(context.run_config(config), &fold, snapshot.as_ref(), &events, &start.loop_id)?;
    let run = Box::new(recovered.resume(config.ports.stamp()));
    let mut changes = FileChanges::default();
    let own_events = events.iter().filter(|event| event.loop_id.as_ref() == Some(run.loop_id()));
    own_events.for_each(|event| changes.observe(&event.event));
    let output = drive(run, changes, context, config, cancel, started).await;
    // Only the journal knows what this loop took from the queues and whether other loops are open.
    context.mark_stale();
    output.map(Some)
}

async fn drive(
    run: Box<Run>,
    changes: FileChanges,
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    cancel: CancellationToken,
    started: impl FnOnce(RunHandle) + Send,
) -> Result<AgentOutput, AgentError> {
    let loop_id = run.loop_id().clone();
    let journal = context.journal().clone();
    let (driver, handle) = Driver::new(config.ports.clone(), journal, run, cancel.clone());
    for (queue, message) in context.take_unsent() {
        let _ = handle.queue(queue, message);
    }
    for (scope, more) in context.take_budget_extensions() {
        handle.extend_budget(scope, more);
    }
    started(handle.clone());
    let driver = driver.with_missing_approver(config.missing_approver);
    let driver =
        driver.with_prompt(context.prompt().clone()).with_first_records(context.take_pending_records());
    let clock = &config.ports.clock;
    let began = clock.now();
    let driver =
        driver.with_session_start(context.notify_session_start(&config.ports, &cancel).await, changes);
    let mut driven = driver.drive().await.inspect_err(|_| context.requeue(handle.close()))?;
    let has_schema = config.ports.request.output_schema.is_some();
    let output = AgentOutput::of(loop_id.clone(), &mut driven, clock.now().since(began), has_schema);
    context.end(loop_id, driven);
    RunFailure::check(output)
}
