//! Errors of the store and of the agent, as problems of the protocol.

use lariat_api::{Problem, ProblemCode};
use lariat_core::store::StoreError;
use lariat_runtime::AgentError;

pub(crate) fn from_store(error: &StoreError) -> Problem {
    let code = match error {
        StoreError::NotFound(_) => ProblemCode::NotFound,
        StoreError::Busy { .. } | StoreError::Fenced { .. } => ProblemCode::OwnedElsewhere,
        StoreError::Damaged(_) => ProblemCode::Damaged,
        StoreError::Newer { .. } => ProblemCode::Unsupported,
        StoreError::Conflict { .. } | StoreError::Unavailable(_) => ProblemCode::Unavailable,
        _ => ProblemCode::Internal,
    };
    let problem = Problem::new(code, error.to_string());
    match error {
        StoreError::Busy { .. } | StoreError::Fenced { .. } => {
            problem.with_hint("close the session there, or send the command to that process")
        }
        StoreError::Damaged(_) => problem.with_hint("`lariat sessions verify` names what is damaged"),
        StoreError::Newer { .. } => problem.with_hint("update Lariat, or use the version that wrote it"),
        _ => problem,
    }
}

pub(crate) fn from_agent(error: &AgentError) -> Problem {
    let code = match error {
        AgentError::Store(error) => return from_store(error),
        AgentError::Drive(lariat_runtime::drive::DriveError::Journal(error)) => return from_store(error),
        AgentError::Busy | AgentError::Interrupted(_) | AgentError::QueueEmpty => ProblemCode::WrongStatus,
        AgentError::Start(_) | AgentError::NotCompacted(_) => ProblemCode::WrongStatus,
        AgentError::NotAsked => ProblemCode::AlreadyAnswered,
        AgentError::PlanChanged => ProblemCode::DigestMismatch,
        AgentError::TaskLost => ProblemCode::Unavailable,
        _ => ProblemCode::Internal,
    };
    Problem::new(code, error.to_string())
}

/// The session does not accept a command now.
pub(crate) fn wrong_status(message: &str, hint: &str) -> Problem {
    Problem::new(ProblemCode::WrongStatus, message).with_hint(hint)
}

/// The host went away while it handled a request.
pub(crate) fn owner_lost() -> Problem {
    Problem::new(ProblemCode::Unavailable, "the session stopped before it replied")
        .with_hint("send the same command again; it is applied at most once")
}
