//! What can go wrong for somebody who uses an agent, and what to do about it.

use lariat_core::event::RunOutcome;
use lariat_core::id::LoopId;
use lariat_core::model::FailureKind;
use lariat_core::run::{RecoverError, StartError};
use lariat_core::store::StoreError;

use super::output::AgentOutput;
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
    /// The model could not be called, or failed for good. What the run came to before is in it.
    #[error(transparent)]
    Failed(#[from] Box<RunFailure>),
    /// There is no tokio runtime here to run in.
    #[error("there is no tokio runtime here: an agent runs inside of one")]
    NoRuntime,
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
            Self::Failed(failure) => failure.kind.is_retryable(),
            _ => false,
        }
    }

    /// Whether another agent or process writes to the session: it has claimed it, or claimed it since this one did.
    pub const fn is_session_taken(&self) -> bool {
        let (Self::Store(error) | Self::Drive(DriveError::Journal(error))) = self else { return false };
        matches!(error, StoreError::Busy { .. } | StoreError::Fenced { .. })
    }

    /// How the model failed, when it did.
    pub fn failure(&self) -> Option<&RunFailure> {
        match self {
            Self::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// What a run came to whose model failed, for callers that treat this as an outcome like any other.
    ///
    /// # Errors
    /// Every other error, as it was.
    pub fn into_output(self) -> Result<AgentOutput, Self> {
        match self {
            Self::Failed(failure) => Ok(failure.output),
            other => Err(other),
        }
    }
}

/// A run that ended because its model failed for good.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the model call failed: {error}")]
#[non_exhaustive]
pub struct RunFailure {
    /// What kind of failure it was.
    pub kind: FailureKind,
    /// What failed, in words.
    pub error: String,
    /// What the run came to before: messages, usage, changed files.
    pub output: AgentOutput,
}

impl RunFailure {
    /// What a run came to, as an error when its model failed.
    pub(super) fn check(output: AgentOutput) -> Result<AgentOutput, AgentError> {
        let RunOutcome::Failed { error } = &output.outcome else { return Ok(output) };
        let error = error.clone();
        Err(AgentError::Failed(Box::new(Self { kind: FailureKind::of_words(&error), error, output })))
    }
}

/// Why an agent cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No model was given.
    #[error("an agent needs a model: call `.model(provider)` on the builder")]
    NoModel,
    /// Two tools have the same name.
    #[error("two tools are named `{0}`: rename one of them")]
    DuplicateTool(String),
    /// Model services refuse a tool of this name.
    #[error("`{0}` cannot be a tool's name: use 1 to 64 letters, digits, `_` and `-`")]
    InvalidToolName(String),
    /// Money is capped, and the cost of a model is not known: the cap could not stop anything.
    #[error(
        "money is capped, but the price of `{0}` is not known: take the model from the catalogue, or set `ModelConfig::cost`"
    )]
    CapWithoutPrice(String),
}
