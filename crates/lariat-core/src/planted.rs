//! Deliberately broken variants, to prove that the checks can fail.
//!
//! Each is one wrong branch at the place where the mistake would be made. Without the feature `planted` the question
//! is the constant `false` and the branch does not exist in the binary.

/// A mistake that can be switched on.
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
    /// Calls that never got a result stay out of the transcript's results.
    DropsDeniedResult,
    /// The turn limit is off by several turns.
    IgnoresTurnLimit,
    /// The token limit is not looked at.
    IgnoresTokenLimit,
    /// Steering that arrives while tools run is forgotten.
    LosesSteering,
    /// `after_turn` comes before `TurnEnd`.
    AfterTurnTooEarly,
    /// `before_turn` is not asked.
    SkipsBeforeTurn,
    /// A retry starts although part of the reply was delivered, and nothing withdraws that part.
    RetriesAfterDelivery,
    /// Tool calls of a reply that was cut off are run.
    RunsTruncatedCalls,
    /// A denied call is run.
    RunsDeniedCalls,
    /// Observers see durable events before the store acknowledged them.
    PublishesBeforeAck,
    /// A failed append is taken for done.
    IgnoresAppendError,
    /// After an unclear append the batch is written again without looking.
    AppendsTwice,
    /// A tool that is not parallel-safe runs beside others.
    IgnoresParallelSafety,
    /// Duplicate call ids of the model are passed through.
    KeepsDuplicateIds,
    /// A permission that was asked before a crash is taken for granted after it.
    RecoveryGrantsPending,
    /// After an overflow that compaction could not help, the same request is sent again.
    RetriesRefusedOverflow,
    /// The deadline is not set again after recovery.
    ForgetsDeadline,
    /// A snapshot holds nothing of what is queued.
    SnapshotForgetsQueues,
    /// A level of a budget is warned of at every turn.
    WarnsTwice,
    /// What a call used is counted twice in a pool.
    SettlesTwice,
    /// What was reserved for a call stays reserved after it.
    ForgetsToRelease,
    /// A child pool does not draw on its parent.
    ChildIgnoresPool,
}

impl Planted {
    /// Every mistake but those with budgets.
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

    /// Mistakes with budgets, which the proof of budgets finds.
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

    /// Switches one mistake on for this thread, or all off.
    pub fn plant(mistake: Option<Planted>) {
        ACTIVE.set(mistake);
    }

    /// Whether a mistake is switched on.
    pub fn planted(mistake: Planted) -> bool {
        ACTIVE.get() == Some(mistake)
    }
}

#[cfg(feature = "planted")]
pub use switch::{plant, planted};

/// Whether a mistake is switched on. Never, without the feature.
#[cfg(not(feature = "planted"))]
#[inline]
pub const fn planted(_mistake: Planted) -> bool {
    false
}
