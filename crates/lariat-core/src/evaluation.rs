//! Choosing among loops that ran in parallel from one context.
//!
//! Owns the contract; strategies live in the runtime. Misuse is a typed error, never a panic.

use crate::BoxFuture;
use crate::cancel::CancellationToken;
use crate::event::RunOutcome;
use crate::id::LoopId;
use crate::message::{AgentMessage, SharedMessage};
use crate::usage::Usage;

/// What one branch came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParallelLoopOutcome {
    /// The branch's loop.
    pub loop_id: LoopId,
    /// Its place in configuration order.
    pub config_index: usize,
    /// The whole conversation: base and branch.
    pub messages: Vec<SharedMessage>,
    /// Number of messages that were there before the branch began.
    pub original_context_len: usize,
    /// What the branch used.
    pub usage: Usage,
    /// How it ended.
    pub outcome: RunOutcome,
}

impl ParallelLoopOutcome {
    /// The outcome of a branch.
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

    /// What the branch added.
    pub fn produced(&self) -> &[SharedMessage] {
        self.messages.get(self.original_context_len..).unwrap_or_default()
    }
}

/// Which branch won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvaluationDecision {
    /// Index into the outcomes.
    Select(usize),
}

/// Why no branch could be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// The strategy cannot judge this many branches.
    #[error("this strategy judges {expected} outcome(s), it was given {given}")]
    WrongCount {
        /// What it can judge.
        expected: usize,
        /// What it was given.
        given: usize,
    },
    /// Judging failed.
    #[error("evaluation failed: {0}")]
    Failed(String),
}

/// Picks a branch.
pub trait EvaluationStrategy: Send + Sync {
    /// The decision, and what making it cost.
    fn evaluate<'a>(
        &'a self,
        prompts: &'a [AgentMessage],
        outcomes: &'a [ParallelLoopOutcome],
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<(EvaluationDecision, Usage), EvaluationError>>;
}
