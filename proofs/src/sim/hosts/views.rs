//! Compares views with the journal: a view is the fold of exactly the events that it includes.

use lariat_api::{Action, SessionStatus, SessionView};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_sessions::ViewFold;

use super::super::violation::Violation;
use super::process::Process;

/// Checks a view that a host returned.
pub(super) fn check(process: &Process, view: &SessionView) -> Result<(), Violation> {
    let wrong =
        |what: String| Err(Violation::WrongView(format!("{} at {}: {what}", view.session_id, view.seq)));
    let expected = process.store.inspect(&view.session_id, |events| {
        let end = usize::try_from(view.seq).ok()?;
        Some(fold(&view.session_id, events.get(..end)?))
    });
    let Some(fold) = expected else { return wrong("it includes events that do not exist".to_owned()) };
    let [mut expected, running] = [fold.view(false), fold.view(true)];
    // A compaction that a client asked for is not in the journal before it ends. That it ends is checked when everything is at rest.
    let is_compaction = |action: &Action| matches!(action, Action::Compact { .. });
    let may_compact = view.status == SessionStatus::Running
        && running.status == SessionStatus::Idle
        && process.commands.has_sent(&view.session_id, is_compaction);
    if ![&expected.status, &running.status].contains(&&view.status) && !may_compact {
        return wrong(format!("status {:?}, not {:?}", view.status, running.status));
    }
    let needs_answer = !view.asks.is_empty() && view.status == SessionStatus::Running;
    if needs_answer || (view.asks.is_empty() && view.status == SessionStatus::RequiresAction) {
        return wrong(format!("status {:?} with {} questions", view.status, view.asks.len()));
    }
    (expected.status, expected.ask_policy) = (view.status.clone(), view.ask_policy);
    if expected != *view {
        return wrong(format!("{view:?}, not {expected:?}"));
    }
    Ok(())
}

/// The fold of all events, without snapshots.
pub(super) fn fold(session_id: &SessionId, events: &[Event]) -> ViewFold {
    let mut fold = ViewFold::new(session_id.clone());
    events.iter().for_each(|event| fold.apply(event));
    fold
}
