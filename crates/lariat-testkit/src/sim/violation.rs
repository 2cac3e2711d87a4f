//! What can be broken: one variant per invariant.

use lariat_core::id::ToolCallId;

/// An invariant that was broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// An acknowledged event is gone or moved.
    #[error("an acknowledged event was lost or moved")]
    AcknowledgedLost,
    /// An observer saw a durable event that was not acknowledged.
    #[error("an observer saw an event before it was acknowledged: {0}")]
    SeenBeforeAcknowledged(String),
    /// A tool ran that was not durably recorded as started.
    #[error("call `{0}` ran before its start was durable")]
    RanBeforeRecorded(ToolCallId),
    /// A tool ran twice for one call.
    #[error("call `{0}` ran more than once")]
    RanTwice(ToolCallId),
    /// A tool ran that the gate forbade.
    #[error("call `{0}` ran although it was forbidden")]
    RanForbidden(ToolCallId),
    /// Tools ran beside each other that must run alone.
    #[error("call `{0}` ran beside others although it must run alone")]
    RanBeside(ToolCallId),
    /// A request that a model API would reject.
    #[error("an invalid request was sent: {0}")]
    InvalidRequest(String),
    /// A request without what the turn before it produced.
    #[error("a request does not hold the turn before it: {0}")]
    Forgotten(String),
    /// Hooks or events in the wrong order.
    #[error("wrong order: {0}")]
    WrongOrder(String),
    /// The journal of a finished loop is not what one looks like.
    #[error("wrong journal: {0}")]
    WrongJournal(String),
    /// A limit was exceeded by more than one turn.
    #[error("a limit was exceeded: {0}")]
    LimitExceeded(String),
    /// The run waits for something that will never happen.
    #[error("the run hangs")]
    Hangs,
    /// The run does not come to an end.
    #[error("the run never ends")]
    NeverEnds,
    /// The run ended with an error nothing explains.
    #[error("unexplained error: {0}")]
    WrongError(String),
    /// A message that was taken is not in the journal.
    #[error("a message that was accepted is not in the journal")]
    LostWords,
    /// A loop could not be recovered.
    #[error("a loop could not be recovered: {0}")]
    NotRecovered(String),
    /// A loop could not be started.
    #[error("a loop could not be started: {0}")]
    NotStarted(String),
    /// The conversation read from the journal is not the one the run had.
    #[error("the conversation read back differs: {0}")]
    FoldDiffers(String),
    /// The store was used wrongly.
    #[error("the store was used wrongly: {0}")]
    Misuse(String),
    /// Recovery from a prefix of the journal went wrong.
    #[error("recovery after event {at}: {what}")]
    Prefix {
        /// Number of events in the prefix.
        at: usize,
        /// What went wrong.
        what: String,
    },
}
