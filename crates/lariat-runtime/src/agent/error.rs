//! The errors of an agent.

use lariat_core::evaluation::EvaluationError;
use lariat_core::event::RunOutcome;
use lariat_core::id::LoopId;
use lariat_core::model::FailureKind;
use lariat_core::run::{RecoverError, StartError};
use lariat_core::store::StoreError;

use super::output::AgentOutput;
use crate::drive::DriveError;

/// Why an agent could not do what it was asked to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The agent is running. Use `steer` or `follow_up`, or wait.
    #[error("the agent is running; use `steer` or `follow_up`, or wait for it to end")]
    Busy,
    /// The conversation and the prompt cannot be sent to a model.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The run stopped before its end; call `recover` to resume it.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The store failed before the run began.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The loop cannot be resumed.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// An earlier loop of the session was interrupted; call `recover` to resume it.
    #[error("loop `{0}` of this session was interrupted; call `recover` to resume it")]
    Interrupted(LoopId),
    /// No branch was selected. The branches are in the journal: select one with `agent_loop_parallel_recover`.
    #[error("no branch was selected: {0}")]
    Evaluation(#[from] EvaluationError),
    /// An approved change of the plan would now have another result than the user saw, or is no longer
    /// queued. Nothing was carried out: review the plan again.
    #[error("the plan changed after it was shown; nothing was carried out")]
    PlanChanged,
    /// The answer belongs to a request that does not wait any more, or the message to remove does not wait any more.
    #[error("the run does not wait for this answer any more, or the message to remove was delivered")]
    NotAsked,
    /// No message waits in a queue.
    #[error("no message waits in a queue")]
    QueueEmpty,
    /// The conversation was not compacted, for this reason, and is unchanged.
    #[error("the conversation was not compacted: {0}")]
    NotCompacted(String),
    /// The session has no run with this number, or the run began without a message.
    #[error("{}", unknown_run(*.0))]
    UnknownRun(Option<u64>),
    /// The JSON to restore is not a list of messages.
    #[error("not a list of messages: {0}")]
    Messages(#[from] serde_json::Error),
    /// The model could not be called, or failed permanently. Contains the output of the run until then.
    #[error(transparent)]
    Failed(#[from] Box<RunFailure>),
    /// The agent was called outside a tokio runtime.
    #[error("an agent must be called inside a tokio runtime")]
    NoRuntime,
    /// The task of the run was dropped or panicked; call `recover` to resume it.
    #[error("the task of the run ended early; call `recover` to resume it")]
    TaskLost,
}

impl AgentError {
    /// Whether the session has no interrupted loop to resume.
    pub const fn is_nothing_to_recover(&self) -> bool {
        matches!(self, Self::Recover(RecoverError::UnknownLoop(_)))
    }

    /// Whether the conversation contains nothing for the model to answer, so that a new prompt is needed.
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

    /// Whether another agent or process is the writer of the session.
    pub const fn is_session_taken(&self) -> bool {
        let (Self::Store(error) | Self::Drive(DriveError::Journal(error))) = self else { return false };
        matches!(error, StoreError::Busy { .. } | StoreError::Fenced { .. })
    }

    /// Returns the failure of the model, if that is the error.
    pub fn failure(&self) -> Option<&RunFailure> {
        match self {
            Self::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// Returns the output of a run whose model failed, for callers that treat this as an outcome like any
    /// other.
    ///
    /// # Errors
    /// Every other error, unchanged.
    pub fn into_output(self) -> Result<AgentOutput, Self> {
        match self {
            Self::Failed(failure) => Ok(failure.output),
            other => Err(other),
        }
    }
}

/// A run that ended because its model failed permanently.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the model call failed: {error}")]
#[non_exhaustive]
pub struct RunFailure {
    /// What kind of failure it was.
    pub kind: FailureKind,
    /// The error message.
    pub error: String,
    /// The output of the run until then: messages, usage, changed files.
    pub output: AgentOutput,
}

impl RunFailure {
    /// Turns the output into an error if the model failed.
    pub(super) fn check(output: AgentOutput) -> Result<AgentOutput, AgentError> {
        let RunOutcome::Failed { error } = &output.outcome else { return Ok(output) };
        let error = error.clone();
        Err(AgentError::Failed(Box::new(Self { kind: FailureKind::from_message(&error), error, output })))
    }
}

/// Why an agent cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No model was given.
    #[error("an agent needs a model; call `.model(\"anthropic/claude-sonnet-4-5\")` or `.provider(…)`")]
    NoModel,
    /// The model's name or configuration cannot be used; the text says why.
    #[error("{0}")]
    Model(String),
    /// A model was chosen by its name, and its provider requires a key.
    #[error("no API key for `{provider}`; set the environment variable {variable}, or call `.api_key(…)`")]
    NoApiKey {
        /// The model's provider.
        provider: String,
        /// The environment variable that usually holds its key.
        variable: String,
    },
    /// Two tools have the same name.
    #[error("two tools are named `{0}`; rename one of them")]
    DuplicateTool(String),
    /// Providers reject a tool with this name.
    #[error("invalid tool name `{0}`; use 1 to 64 letters, digits, `_` and `-`")]
    InvalidToolName(String),
    /// Providers reject a tool whose parameters are not an object.
    #[error(
        "the parameters of tool `{0}` are not an object; use a struct, or name the elements of a tuple with `.names(…)`"
    )]
    InvalidToolParameters(String),
    /// Money is limited and the price of a model is unknown, so the limit could not stop a run.
    #[error(
        "cost is limited, but the price of `{0}` is unknown; use a model of the catalogue, or set `ModelConfig::cost`"
    )]
    CapWithoutPrice(String),
}

fn unknown_run(number: Option<u64>) -> String {
    match number {
        Some(number) => format!("the session has no run {number} that can run again"),
        None => "the session has no run that can run again".to_owned(),
    }
}
