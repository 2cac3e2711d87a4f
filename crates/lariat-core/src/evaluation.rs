//! Chooses among loops that ran at the same time from one conversation.
//!
//! Contains the contract and the strategies that need no model: by position, by tokens, by a check. A wrong number of outcomes
//! is a typed error, never a panic. Except for [`PickFirstEvaluation`], a strategy prefers branches whose model finished.

use std::sync::Arc;

use crate::BoxFuture;
use crate::cancel::CancellationToken;
use crate::event::RunOutcome;
use crate::id::LoopId;
use crate::message::{AgentMessage, SharedMessage};
use crate::usage::Usage;

/// The outcome of one branch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParallelLoopOutcome {
    /// Loop id of the branch.
    pub loop_id: LoopId,
    /// Index of the branch in the list of configurations.
    pub config_index: usize,
    /// The whole conversation: the shared context and what the branch added.
    pub messages: Vec<SharedMessage>,
    /// Number of messages of the shared context.
    pub original_context_len: usize,
    /// Tokens and cost of the branch.
    pub usage: Usage,
    /// How the branch ended.
    pub outcome: RunOutcome,
}

impl ParallelLoopOutcome {
    /// Creates the outcome of a branch.
    pub const fn new(
        loop_id: LoopId,
        config_index: usize,
        messages: Vec<SharedMessage>,
        original_context_len: usize,
        usage: Usage,
        outcome: RunOutcome,
    ) -> Self {
        Self { loop_id, config_index, messages, original_context_len, usage, outcome }
    }

    /// Returns the messages that the branch added.
    pub fn added_messages(&self) -> &[SharedMessage] {
        self.messages.get(self.original_context_len..).unwrap_or_default()
    }

    /// Returns the text of the branch's last reply; empty if there is none.
    pub fn text(&self) -> String {
        let reply = self.added_messages().iter().rev().find_map(|message| message.as_assistant());
        reply.map(|reply| crate::content::joined_text(&reply.content)).unwrap_or_default()
    }
}

/// The branch that a strategy chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvaluationDecision {
    /// Index into the outcomes.
    Select(usize),
}

/// Why a strategy chose no branch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// The strategy cannot compare this many branches.
    #[error("this strategy compares {expected} outcome(s), but received {given}")]
    WrongCount {
        /// Number of branches that the strategy compares.
        expected: usize,
        /// Number of branches that it received.
        given: usize,
    },
    /// The group has no branches.
    #[error("no branches to choose from")]
    NoBranches,
    /// No branch passed the check.
    #[error("no branch passed the check: {0}")]
    NonePassed(String),
    /// The strategy failed.
    #[error("evaluation failed: {0}")]
    Failed(String),
}

/// A decision, and the usage of making it.
pub type EvaluationResult = Result<(EvaluationDecision, Usage), EvaluationError>;

/// Receives status texts of a strategy while it works. Observers of the session see them as `ProgressMessage`.
pub type EvaluationProgress<'a> = &'a (dyn Fn(String) + Send + Sync);

/// Chooses one of several branches.
pub trait EvaluationStrategy: Send + Sync {
    /// Returns the decision and the usage of making it.
    fn evaluate<'a>(
        &'a self,
        prompts: &'a [AgentMessage],
        outcomes: &'a [ParallelLoopOutcome],
        progress: EvaluationProgress<'a>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, EvaluationResult>;
}

/// Selects the only branch. Fails if there are several.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransparentEvaluation;

/// Selects the first branch, however it ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct PickFirstEvaluation;

/// Selects the first branch whose model finished, or else the first.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstFinishedEvaluation;

/// Selects the branch that used the fewest tokens.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenEfficientEvaluation;

/// Selects the branch that used the most tokens.
#[derive(Clone, Copy, Debug, Default)]
pub struct ElaborateEvaluation;

fn select(index: Option<usize>) -> EvaluationResult {
    let decision = index.map(EvaluationDecision::Select).ok_or(EvaluationError::NoBranches)?;
    Ok((decision, Usage::default()))
}

/// Returns the indices of the branches whose model finished, or of all if none did.
pub fn candidates(outcomes: &[ParallelLoopOutcome]) -> Vec<usize> {
    let completed = outcomes.iter().enumerate().filter(|(_, outcome)| outcome.outcome.is_completed());
    let completed: Vec<usize> = completed.map(|(index, _)| index).collect();
    if completed.is_empty() { (0..outcomes.len()).collect() } else { completed }
}

/// Returns the candidate with the smallest key. The first one wins a tie.
fn smallest<K: Ord>(
    outcomes: &[ParallelLoopOutcome],
    key: impl Fn(&ParallelLoopOutcome) -> K,
) -> Option<usize> {
    let candidates = candidates(outcomes).into_iter();
    candidates.filter_map(|index| Some((key(outcomes.get(index)?), index))).min().map(|(_, index)| index)
}

macro_rules! immediate_strategy {
    ($name:ident, $choose:expr) => {
        impl EvaluationStrategy for $name {
            fn evaluate<'a>(
                &'a self,
                _prompts: &'a [AgentMessage],
                outcomes: &'a [ParallelLoopOutcome],
                _progress: EvaluationProgress<'a>,
                _cancel: CancellationToken,
            ) -> BoxFuture<'a, EvaluationResult> {
                let choose: fn(&[ParallelLoopOutcome]) -> EvaluationResult = $choose;
                Box::pin(std::future::ready(choose(outcomes)))
            }
        }
    };
}

immediate_strategy!(TransparentEvaluation, |outcomes| match outcomes.len() {
    1 => select(Some(0)),
    given => Err(EvaluationError::WrongCount { expected: 1, given }),
});
immediate_strategy!(PickFirstEvaluation, |outcomes| select((!outcomes.is_empty()).then_some(0)));
immediate_strategy!(FirstFinishedEvaluation, |outcomes| select(candidates(outcomes).first().copied()));
immediate_strategy!(TokenEfficientEvaluation, |outcomes| {
    select(smallest(outcomes, |outcome| outcome.usage.total()))
});
immediate_strategy!(ElaborateEvaluation, |outcomes| {
    select(smallest(outcomes, |outcome| std::cmp::Reverse(outcome.usage.total())))
});

/// The result of checking a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckResult {
    /// Whether the branch passed.
    pub passed: bool,
    /// The size of its change: among branches that pass, the smallest wins.
    pub size: u64,
    /// Why it failed, for the user.
    pub note: String,
}

impl CheckResult {
    /// A branch that passed, with a change of this size.
    pub const fn passed(size: u64) -> Self {
        Self { passed: true, size, note: String::new() }
    }

    /// A branch that failed, for this reason.
    pub fn failed(note: impl Into<String>) -> Self {
        Self { passed: false, size: 0, note: note.into() }
    }
}

/// Checks one branch, for example with a command.
pub type BranchCheck = Arc<
    dyn for<'a> Fn(&'a ParallelLoopOutcome, CancellationToken) -> BoxFuture<'a, CheckResult> + Send + Sync,
>;

/// Selects the branch with the smallest change among those that pass a check. Checks only branches whose model finished, one
/// after the other, and fails if none passes.
#[derive(Clone)]
pub struct CheckEvaluation {
    check: BranchCheck,
}

impl CheckEvaluation {
    /// Creates a strategy with this check.
    pub fn new<F>(check: F) -> Self
    where
        F: for<'a> Fn(&'a ParallelLoopOutcome, CancellationToken) -> BoxFuture<'a, CheckResult>
            + Send
            + Sync
            + 'static,
    {
        Self { check: Arc::new(check) }
    }
}

impl std::fmt::Debug for CheckEvaluation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckEvaluation").finish_non_exhaustive()
    }
}

impl EvaluationStrategy for CheckEvaluation {
    fn evaluate<'a>(
        &'a self,
        _prompts: &'a [AgentMessage],
        outcomes: &'a [ParallelLoopOutcome],
        progress: EvaluationProgress<'a>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, EvaluationResult> {
        Box::pin(async move {
            let (mut best, mut notes) = (None::<(u64, usize)>, Vec::new());
            let finished = outcomes.iter().enumerate().filter(|(_, branch)| branch.outcome.is_completed());
            for (index, outcome) in finished {
                if cancel.is_cancelled() {
                    return Err(EvaluationError::Failed("cancelled".to_owned()));
                }
                let checked = (self.check)(outcome, cancel.clone()).await;
                let result = if checked.passed { "passed" } else { "failed" };
                progress(format!("branch {}: {result} {}", index + 1, checked.note).trim_end().to_owned());
                if checked.passed {
                    best = Some(best.map_or((checked.size, index), |best| best.min((checked.size, index))));
                } else {
                    notes.push(format!("branch {}: {}", index + 1, checked.note));
                }
            }
            match best {
                Some((_, index)) => select(Some(index)),
                None if outcomes.is_empty() => Err(EvaluationError::NoBranches),
                None if notes.is_empty() => Err(EvaluationError::NonePassed("no branch finished".to_owned())),
                None => Err(EvaluationError::NonePassed(notes.join("; "))),
            }
        })
    }
}

#[cfg(test)]
#[path = "evaluation_tests.rs"]
mod tests;
