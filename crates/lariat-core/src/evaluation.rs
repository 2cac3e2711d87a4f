//! The contract for choosing among loops that ran in parallel from one context.
//!
//! No strategy exists yet. A wrong number of outcomes is a typed error, never a panic.

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
    /// The strategy failed.
    #[error("evaluation failed: {0}")]
    Failed(String),
}

/// Chooses one of several branches.
pub trait EvaluationStrategy: Send + Sync {
    /// Returns the decision and the usage of making it.
    fn evaluate<'a>(
        &'a self,
        prompts: &'a [AgentMessage],
        outcomes: &'a [ParallelLoopOutcome],
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<(EvaluationDecision, Usage), EvaluationError>>;
}

#[cfg(test)]
#[path = "evaluation_tests.rs"]
mod tests;
