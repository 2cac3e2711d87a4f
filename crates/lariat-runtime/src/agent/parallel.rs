//! Runs several branches from one conversation at the same time and continues with the one that a strategy selects.
//!
//! All branches write one journal and share one session: its budget, its approvals, its cancellation. After a crash, at any
//! event, [`agent_loop_parallel_recover`] resumes every branch and selects then.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::{Either, select, try_join_all};
use lariat_core::budget::BudgetScope;
use lariat_core::cancel::CancellationToken;
use lariat_core::evaluation::{
    EvaluationDecision, EvaluationError, EvaluationStrategy, FirstFinishedEvaluation, ParallelLoopOutcome,
    candidates,
};
use lariat_core::event::AgentEvent;
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::session::FileChange;
use lariat_core::usage::Usage;

use super::context::{AgentContext, BranchTask, Branches};
use super::error::{AgentError, RunFailure};
use super::forward::EventSender;
use super::loop_config::AgentLoopConfig;
use super::loops::with_events;
use super::output::AgentOutput;
use crate::drive::{Driver, FinishedRun, Journal, RunHandle, redaction};

/// The name of the evaluation in progress messages.
const EVALUATION: &str = "evaluation";

/// The result of branches that ran at the same time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParallelLoopResult {
    /// All branches, in the order of their configurations.
    pub outcomes: Vec<ParallelLoopOutcome>,
    /// The index of the selected branch. The context is now its conversation.
    pub selected_index: usize,
    /// Tokens and cost of the selection.
    pub evaluation_usage: Usage,
    /// The files that tools of the selected branch reported as changed, as far as this process knows.
    pub files_changed: Vec<FileChange>,
}

impl ParallelLoopResult {
    /// Returns the selected branch.
    pub fn selected(&self) -> Option<&ParallelLoopOutcome> {
        self.outcomes.get(self.selected_index)
    }

    /// Returns the tokens and the cost of all branches and of the selection.
    pub fn total_usage(&self) -> Usage {
        self.outcomes.iter().fold(self.evaluation_usage, |sum, outcome| sum + outcome.usage)
    }
}

/// Runs one branch per configuration from the conversation of `context`, and lets `strategy` select one. Afterwards the context is
/// the conversation of the selected branch; the others stay in the journal.
///
/// Without prompts, the branches continue the conversation. Branches share the session's budget: each sees what the others
/// spend. Messages that wait for the session are delivered after the selection. If `cancel` is triggered, all branches end and
/// the first is selected.
///
/// # Errors
/// If an earlier loop was interrupted, the prompts cannot be sent to a model, or the journal cannot be written;
/// [`AgentError::Evaluation`] if the strategy selected no branch. The branches are then in the journal, and
/// [`agent_loop_parallel_recover`] selects one.
pub async fn agent_loop_parallel(
    mut prompts: Vec<AgentMessage>,
    context: &mut AgentContext,
    configs: &[AgentLoopConfig],
    strategy: &dyn EvaluationStrategy,
    sender: impl EventSender,
    cancel: CancellationToken,
) -> Result<ParallelLoopResult, AgentError> {
    let first = configs.first().ok_or(EvaluationError::NoBranches)?;
    prompts.iter_mut().for_each(|prompt| redaction::message(&first.ports.redactor, prompt));
    with_events(context, sender, async |context| {
        let branches = Box::pin(context.begin_branches(configs, prompts, &cancel)).await?;
        Box::pin(run_branches(branches, context, configs, strategy, cancel, |_| {})).await
    })
    .await
}

/// Resumes the branches of a session that a crash interrupted, or that no strategy selected from, and selects one. Takes one
/// configuration per branch, in the same order. Returns `None` if there are no such branches.
///
/// # Errors
/// If the journal cannot be read or written, or the number of configurations is wrong; [`AgentError::Evaluation`] if the strategy
/// selected no branch.
pub async fn agent_loop_parallel_recover(
    context: &mut AgentContext,
    configs: &[AgentLoopConfig],
    strategy: &dyn EvaluationStrategy,
    sender: impl EventSender,
    cancel: CancellationToken,
) -> Result<Option<ParallelLoopResult>, AgentError> {
    with_events(context, sender, async |context| {
        let Some(branches) = Box::pin(context.resume_branches(configs, &cancel)).await? else {
            return Ok(None);
        };
        let running = run_branches(branches, context, configs, strategy, cancel, |_| {});
        Box::pin(running).await.map(Some)
    })
    .await
}

/// Runs branches for an agent. Returns the output of the selected one.
pub(super) async fn branch_from(
    mut prompts: Vec<AgentMessage>,
    context: &mut AgentContext,
    configs: &[AgentLoopConfig],
    strategy: &dyn EvaluationStrategy,
    cancel: CancellationToken,
    started: impl FnOnce(RunHandle) + Send,
) -> Result<AgentOutput, AgentError> {
    let first = configs.first().ok_or(EvaluationError::NoBranches)?;
    prompts.iter_mut().for_each(|prompt| redaction::message(&first.ports.redactor, prompt));
    let branches = Box::pin(context.begin_branches(configs, prompts, &cancel)).await?;
    finish_branches(branches, context, configs, strategy, cancel, started).await
}

/// Resumes the branches of an agent with one configuration. Returns the output of the first that finished.
pub(super) async fn recover_for_agent(
    context: &mut AgentContext,
    configs: &[AgentLoopConfig],
    cancel: CancellationToken,
    started: impl FnOnce(RunHandle) + Send,
) -> Result<Option<AgentOutput>, AgentError> {
    let Some(branches) = Box::pin(context.resume_branches(configs, &cancel)).await? else { return Ok(None) };
    finish_branches(branches, context, configs, &FirstFinishedEvaluation, cancel, started).await.map(Some)
}

async fn finish_branches(
    branches: Branches,
    context: &mut AgentContext,
    configs: &[AgentLoopConfig],
    strategy: &dyn EvaluationStrategy,
    cancel: CancellationToken,
    started: impl FnOnce(RunHandle) + Send,
) -> Result<AgentOutput, AgentError> {
    let clock =
        configs.first().map(|config| config.ports.clock.clone()).ok_or(EvaluationError::NoBranches)?;
    let began = clock.now();
    let connect = |handles: Vec<RunHandle>| {
        if let Some(handle) = RunHandle::of_branches(handles) {
            started(handle);
        }
    };
    let result = Box::pin(run_branches(branches, context, configs, strategy, cancel, connect)).await?;
    let selected = result.selected().ok_or(EvaluationError::NoBranches)?;
    let mut output = AgentOutput::of_branch(selected, clock.now().since(began));
    output.files_changed = result.files_changed;
    RunFailure::check(output)
}

/// Drives branches to their ends and selects one.
async fn run_branches(
    branches: Branches,
    context: &mut AgentContext,
    configs: &[AgentLoopConfig],
    strategy: &dyn EvaluationStrategy,
    cancel: CancellationToken,
    started: impl FnOnce(Vec<RunHandle>) + Send,
) -> Result<ParallelLoopResult, AgentError> {
    let Some(first) = configs.first() else { return Err(EvaluationError::NoBranches.into()) };
    let Branches { tasks, prompts, base, mut session_start } = branches;
    let mut extensions = context.take_budget_extensions();
    let (mut drivers, mut handles, mut outcomes) = (Vec::new(), Vec::new(), Vec::new());
    // Creates all before it drives the first, so that each observes all others.
    for (index, (task, config)) in tasks.into_iter().zip(configs).enumerate() {
        let (run, changes) = match task {
            BranchTask::Drive(run, changes) => (run, changes),
            BranchTask::Ended(outcome) => {
                outcomes.push((*outcome, None));
                continue;
            }
        };
        let journal = context.journal().clone();
        let (driver, handle) = Driver::new(config.ports.clone(), journal, run, cancel.child_token());
        extensions.iter().for_each(|(scope, more)| handle.extend_budget(*scope, *more));
        // A budget of the session is extended once; the other branches observe it.
        extensions.retain(|(scope, _)| *scope == BudgetScope::Run);
        let driver = driver.as_branch().with_missing_approver(config.missing_approver);
        let driver = driver.with_prompt(context.prompt().clone());
        drivers.push((index, driver.with_session_start(session_start.clone(), changes)));
        session_start.messages.clear();
        handles.push(handle);
    }
    started(handles);
    let driving = drivers.into_iter().map(async |(index, driver)| {
        // Boxed: each branch is large.
        let driven = Box::pin(driver.drive()).await?;
        Ok::<_, AgentError>((index, driven))
    });
    for (index, driven) in try_join_all(driving).await? {
        outcomes.push((outcome(index, &base, &driven), Some(driven)));
    }
    outcomes.sort_by_key(|(outcome, _)| outcome.config_index);
    let (outcomes, mut driven): (Vec<_>, Vec<_>) = outcomes.into_iter().unzip();
    let evaluating = evaluate(&prompts, &outcomes, strategy, context.journal(), &cancel);
    let (selected_index, evaluation_usage) = evaluating.await?;
    let selected = outcomes.get(selected_index).ok_or(EvaluationError::NoBranches)?;
    context.select_branch(first, selected, evaluation_usage).await?;
    let mut files_changed = Vec::new();
    for (index, mut driven) in
        driven.drain(..).enumerate().filter_map(|(index, driven)| Some((index, driven?)))
    {
        let is_selected = index == selected_index;
        if is_selected {
            files_changed = std::mem::take(&mut driven.changes).into_files();
        }
        context.end_branch(driven, is_selected);
    }
    Ok(ParallelLoopResult { outcomes, selected_index, evaluation_usage, files_changed })
}

/// Summarises a branch: the conversation before it, and everything that it added, also what it compacted since.
fn outcome(config_index: usize, base: &[SharedMessage], driven: &FinishedRun) -> ParallelLoopOutcome {
    let messages = base.iter().chain(&driven.messages).cloned().collect();
    let ending = &driven.ending;
    let loop_id = driven.loop_id.clone();
    ParallelLoopOutcome::new(
        loop_id,
        config_index,
        messages,
        base.len(),
        ending.usage,
        ending.outcome.clone(),
    )
}

/// Lets the strategy select a branch. A strategy that panics selects none; after a cancellation, the first branch is selected, if
/// possible one that finished.
async fn evaluate(
    prompts: &[AgentMessage],
    outcomes: &[ParallelLoopOutcome],
    strategy: &dyn EvaluationStrategy,
    journal: &Journal,
    cancel: &CancellationToken,
) -> Result<(usize, Usage), EvaluationError> {
    let fallback = || {
        let first = candidates(outcomes).first().copied();
        first.map(|index| (index, Usage::default())).ok_or(EvaluationError::NoBranches)
    };
    if cancel.is_cancelled() {
        return fallback();
    }
    let progress = |text: String| {
        let (tool_call_id, tool_name) = (EVALUATION.into(), EVALUATION.to_owned());
        journal.announce(AgentEvent::ProgressMessage { tool_call_id, tool_name, text });
    };
    let evaluating = AssertUnwindSafe(async {
        strategy.evaluate(prompts, outcomes, &progress, cancel.child_token()).await
    });
    let evaluated = match select(Box::pin(evaluating.catch_unwind()), cancel.cancelled()).await {
        Either::Left((evaluated, _)) => evaluated,
        Either::Right(_) => return fallback(),
    };
    let failed = || Err(EvaluationError::Failed("the strategy panicked".to_owned()));
    let (EvaluationDecision::Select(index), usage) = evaluated.unwrap_or_else(|_| failed())? else {
        return Err(EvaluationError::Failed("the decision is of an unknown kind".to_owned()));
    };
    if index >= outcomes.len() {
        let reason = format!("the strategy selected branch {index} of {}", outcomes.len());
        return Err(EvaluationError::Failed(reason));
    }
    Ok((index, usage))
}
