//! Turns the end of a run into an exit code and messages for standard error.

use lariat_api::ProblemCode;
use lariat_core::event::RunOutcome;
use lariat_service::{AnswerAttempts, AnswerCheck, HostedSession};
use lariat_terminal::theme::Theme;

use super::inputs::Stop;
use crate::exit::Exit;
use crate::failure::FailureContext;
use crate::problem::Problem;
use crate::screen::summary::Summary;
use crate::wire::json::{Ending, SchemaCheck};

/// The exit code for how a run ended.
pub(super) fn exit(ending: &Ending, stop: Option<Stop>) -> Exit {
    match (&ending.outcome, &ending.schema_check, stop) {
        (_, _, Some(Stop::Terminate)) => Exit::Terminated,
        (RunOutcome::Completed, Some(SchemaCheck::Mismatch(_)), _) => Exit::SchemaMismatch,
        (RunOutcome::Completed, _, _) => Exit::Done,
        (RunOutcome::LimitReached { .. } | RunOutcome::ContextFull(_), _, _) => Exit::Limit,
        (RunOutcome::Failed { .. }, _, _) => Exit::Model,
        (RunOutcome::Aborted, _, _) => Exit::Interrupted,
        _ => Exit::Failed,
    }
}

/// The error for a run that did not complete. `session` is its id if it was saved.
pub(super) fn problem(
    ending: &Ending,
    exit: Exit,
    session: Option<&str>,
    failure_context: &FailureContext,
) -> Option<Problem> {
    let problem = Problem::new(exit, ending.error()?);
    Some(failure_context.explain(problem, &ending.outcome, session))
}

/// Checks the answer of a run that completed against the schema of the session. Returns what is wrong with it if the model
/// may try again.
pub(super) fn check_answer(
    session: &HostedSession,
    ending: &mut Ending,
    attempts: &mut AnswerAttempts,
) -> Option<String> {
    if !ending.outcome.is_completed() {
        return None;
    }
    let (check, retry) = match session.check_answer(&ending.text, attempts)? {
        AnswerCheck::Match(value) => (SchemaCheck::Match(value), None),
        AnswerCheck::Retry(problem) => (SchemaCheck::Mismatch(problem.clone()), Some(problem)),
        AnswerCheck::Mismatch(problem) => (SchemaCheck::Mismatch(problem), None),
        _ => return None,
    };
    ending.schema_check = Some(check);
    retry
}

/// The error of a host in this process, for the user.
pub(super) fn host_problem(problem: lariat_api::Problem) -> Problem {
    let (exit, hint) = match problem.code {
        ProblemCode::OwnedElsewhere => {
            (Exit::Session, Some("wait for the other process, or end it".to_owned()))
        }
        ProblemCode::NotFound => (Exit::Session, problem.hint),
        ProblemCode::Damaged => (Exit::VerificationFailed, problem.hint),
        _ => (Exit::Failed, problem.hint),
    };
    Problem { hint, place: problem.place, ..Problem::new(exit, problem.message) }
}

/// The closing summary for the user. `session` is its id if it can be resumed.
pub(super) fn summary(ending: &Ending, session: Option<&str>, theme: &Theme) -> String {
    let summary = Summary {
        outcome: &ending.outcome,
        turns: ending.turns,
        usage: ending.usage,
        duration: ending.duration,
        files: &ending.files,
        session,
    };
    summary.lines(theme)
}
