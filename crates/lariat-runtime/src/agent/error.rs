//! What can go wrong for somebody who uses an agent, and what to do about it.

use lariat_core::id::LoopId;
use lariat_core::run::{RecoverError, StartError};
use lariat_core::store::StoreError;

use crate::drive::DriveError;

/// Why an agent did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The agent is running. Use `steer` or `follow_up`, or wait.
    #[error("the agent is running; use `steer` or `follow_up`, or wait for it to end")]
    Busy,
    /// The prompt cannot be started with.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The run could not be driven to its end; `recover` goes on with it.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The store failed before the run began.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A loop cannot be gone on with.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// An earlier loop of the session was interrupted; `recover` goes on with it.
    #[error("loop `{0}` of this session was interrupted; call `recover` to go on with it")]
    Interrupted(LoopId),
    /// A change of the plan would come out differently than it was shown, or is not queued any more. Nothing was
    /// carried out: look at the plan again.
    #[error("the plan changed since it was shown; nothing was carried out")]
    PlanChanged,
    /// Room was not made, for this reason. The conversation is as it was.
    #[error("the conversation was not compacted: {0}")]
    NotCompacted(String),
    /// What should be restored is not a list of messages.
    #[error("not a list of messages: {0}")]
    Messages(#[from] serde_json::Error),
    /// The task of the run was dropped or panicked; `recover` goes on with it.
    #[error("the task of the run ended early; call `recover` to go on with it")]
    TaskLost,
}

impl AgentError {
    /// Whether the session had no interrupted loop to go on with.
    pub const fn is_nothing_to_recover(&self) -> bool {
        matches!(self, Self::Recover(RecoverError::UnknownLoop(_)))
    }

    /// Whether the conversation holds nothing for the model to answer: a new prompt is needed.
    pub const fn is_nothing_to_answer(&self) -> bool {
        matches!(self, Self::Start(StartError::NotSendable(_)))
    }

    /// Whether the same call can succeed later without a change.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Busy => true,
            Self::Store(error) | Self::Drive(DriveError::Journal(error)) => error.is_retryable(),
            _ => false,
        }
    }
}

/// Why an agent cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No model was given.
    #[error("an agent needs a model: call `.model(provider)` on the builder")]
    NoModel,
}
