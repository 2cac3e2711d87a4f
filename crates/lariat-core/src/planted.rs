//! Deliberate bugs that the proofs must catch.
//!
//! Each planted mistake is one wrong branch at the place where a programmer would make it. Without the
//! feature `planted`, the condition is the constant `false` and the branch is not part of the binary.

/// A deliberate bug that a test can switch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Planted {
    /// A tool runs before its start is durable.
    DispatchBeforeAppend,
    /// Results reach the model in completion order.
    ResultsInCompletionOrder,
    /// An aborted run ends without `AgentEnd`.
    NoAgentEndOnAbort,
    /// `AgentEnd` comes twice after a failed model call.
    TwoAgentEnds,
    /// Recovery runs a tool again that was running at the crash.
    RecoveryRerunsTools,
    /// The transcript has no results for tool calls that never ran.
    DropsDeniedResult,
    /// The turn limit is off by several turns.
    IgnoresTurnLimit,
    /// The token limit is not checked.
    IgnoresTokenLimit,
    /// Steering messages that arrive while tools run are lost.
    LosesSteering,
    /// The `after_turn` callback comes before `TurnEnd`.
    AfterTurnTooEarly,
    /// The `before_turn` callback is not called.
    SkipsBeforeTurn,
    /// A retry starts after part of the reply was delivered, and that part is not withdrawn.
    RetriesAfterDelivery,
    /// Tool calls of a truncated reply run.
    RunsTruncatedCalls,
    /// A denied tool call runs.
    RunsDeniedCalls,
    /// Observers receive durable events before the store acknowledged them.
    PublishesBeforeAck,
    /// A failed append is treated as successful.
    IgnoresAppendError,
    /// After an append with an unknown outcome, the batch is written again without reading the journal first.
    AppendsTwice,
    /// A tool that is not parallel-safe runs in parallel with others.
    IgnoresParallelSafety,
    /// Duplicate tool call ids from the model are kept.
    KeepsDuplicateIds,
    /// A permission request that was open at a crash is treated as granted after the resume.
    RecoveryGrantsPending,
    /// After an overflow that compaction could not fix, the same request is sent again.
    RetriesRefusedOverflow,
    /// The deadline is not set again after a resume.
    ForgetsDeadline,
    /// A snapshot does not contain the queued messages.
    SnapshotForgetsQueues,
    /// A budget level triggers a warning in every turn.
    WarnsTwice,
    /// A pool counts the usage of a model call twice.
    SettlesTwice,
    /// A pool keeps the reservation of a call after the call ended.
    ForgetsToRelease,
    /// A child pool does not draw on its parent.
    ChildIgnoresPool,
}

impl Planted {
    /// Every mistake except those that concern budgets.
    pub const ALL: &[Self] = &[
        Self::DispatchBeforeAppend,
        Self::ResultsInCompletionOrder,
        Self::NoAgentEndOnAbort,
        Self::TwoAgentEnds,
        Self::RecoveryRerunsTools,
        Self::DropsDeniedResult,
        Self::IgnoresTurnLimit,
        Self::IgnoresTokenLimit,
        Self::LosesSteering,
        Self::AfterTurnTooEarly,
        Self::SkipsBeforeTurn,
        Self::RetriesAfterDelivery,
        Self::RunsTruncatedCalls,
        Self::RunsDeniedCalls,
        Self::PublishesBeforeAck,
        Self::IgnoresAppendError,
        Self::AppendsTwice,
        Self::IgnoresParallelSafety,
        Self::KeepsDuplicateIds,
        Self::RecoveryGrantsPending,
        Self::RetriesRefusedOverflow,
        Self::ForgetsDeadline,
        Self::SnapshotForgetsQueues,
    ];

    /// Mistakes that concern budgets, which the budget proof finds.
    pub const OF_BUDGETS: &[Self] =
        &[Self::WarnsTwice, Self::SettlesTwice, Self::ForgetsToRelease, Self::ChildIgnoresPool];
}

#[cfg(feature = "planted")]
mod switch {
    use std::cell::Cell;

    use super::Planted;

    thread_local! {
        static ACTIVE: Cell<Option<Planted>> = const { Cell::new(None) };
    }

    /// Switches one mistake on for this thread, or all of them off.
    pub fn plant(mistake: Option<Planted>) {
        ACTIVE.set(mistake);
    }

    /// Returns whether a mistake is switched on.
    pub fn planted(mistake: Planted) -> bool {
        ACTIVE.get() == Some(mistake)
    }
}

#[cfg(feature = "planted")]
pub use switch::{plant, planted};

/// Returns whether a mistake is switched on. Always false without the feature.
#[cfg(not(feature = "planted"))]
#[inline]
pub const fn planted(_mistake: Planted) -> bool {
    false
}
