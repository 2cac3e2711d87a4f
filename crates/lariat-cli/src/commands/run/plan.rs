//! Reviews the plan that plan mode queued: shows it, asks for approval, applies the approved changes.
//!
//! The engine builds and applies the plan. It applies only what was shown; a plan that changed meanwhile is shown again.

use lariat_runtime::{Plan, PlanDecision};
use lariat_service::Session;
use lariat_terminal::human::counted;

use super::super::plan::describe_change;
use super::output::{report, write_stderr};
use super::watch::{FollowResult, RunWatcher};
use crate::args::task::PlanChoice;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::wire::json::Ending;

/// The result of a review.
pub(super) enum ReviewResult {
    /// No plan is queued any longer. Holds the end of the last run.
    Done(Option<Ending>),
    /// The plan stays queued.
    Queued(Option<Ending>),
    /// The user quit at once.
    Quit,
}

/// Asks the user about the plan and applies what they approve, until nothing is queued.
pub(super) async fn review(
    watch: &mut RunWatcher<'_>,
    session: &Session,
    mut choice: PlanChoice,
    mut ending: Option<Ending>,
) -> Result<ReviewResult, Problem> {
    // The command `plan approve` decided: what it did not name stays queued.
    let asks = watch.is_interactive() && !matches!(choice, PlanChoice::Approve(_));
    loop {
        if watch.is_stopped() {
            return Ok(ReviewResult::Queued(ending));
        }
        let plan = session.plan().await?;
        if plan.is_empty() {
            return Ok(ReviewResult::Done(ending));
        }
        let decision = match &choice {
            PlanChoice::ApproveAll => plan.approve_all(),
            PlanChoice::Approve(ids) => {
                if !ids.iter().all(|id| plan.changes.iter().any(|change| change.id == *id)) {
                    return Err(plan_changed(session));
                }
                plan.decide(ids, &[])
            }
            PlanChoice::Ask if asks => match ask(watch, &plan).await {
                Answer::Apply(decision) => decision,
                Answer::Discard => {
                    session.drop_plan().await?;
                    write_stderr("  Plan discarded. No files changed.\n");
                    return Ok(ReviewResult::Done(ending));
                }
                Answer::Later => {
                    note_queued(&plan, session);
                    return Ok(ReviewResult::Queued(ending));
                }
            },
            PlanChoice::Ask => {
                note_queued(&plan, session);
                return Ok(ReviewResult::Queued(ending));
            }
        };
        watch.run_output.resume();
        match watch.follow(session.apply_plan(decision)).await? {
            FollowResult::Finished(output) => {
                ending = Some(Ending::of(&output).after(ending.as_ref()));
                if !output.outcome.is_completed() {
                    return Ok(ReviewResult::Done(ending));
                }
            }
            FollowResult::PlanChanged if choice != PlanChoice::Ask => {
                return Err(plan_changed(session));
            }
            FollowResult::PlanChanged => report("note", "files changed meanwhile; this is the updated plan"),
            FollowResult::Nothing => return Ok(ReviewResult::Done(ending)),
            FollowResult::Quit => return Ok(ReviewResult::Quit),
        }
        // The approval covers only the plan that was queued then, not what the model plans next.
        choice = PlanChoice::Ask;
    }
}

fn plan_changed(session: &Session) -> Problem {
    Problem::new(Exit::Failed, "files changed while the plan was reviewed; nothing was applied")
        .hint(format!("review it again with `lariat plan show {}`", session.id()))
}

enum Answer {
    Apply(PlanDecision),
    Discard,
    Later,
}

async fn ask(watch: &mut RunWatcher<'_>, plan: &Plan) -> Answer {
    let theme = watch.theme;
    let count = counted(plan.changes.len(), "change", "changes");
    let mut words = format!("\n{} Plan: {count}\n", theme.mark("◆", "?"));
    for (index, change) in plan.changes.iter().enumerate() {
        words.push_str(&describe_change(index + 1, change, &theme));
    }
    words.push_str("  [y] apply all   [s] select one by one   [n] discard   [l] decide later\n");
    match watch.choose(words, "ysnl").await {
        Some('y') => Answer::Apply(plan.approve_all()),
        Some('n') => Answer::Discard,
        Some('s') => {
            let mut approved = Vec::new();
            for (index, change) in plan.changes.iter().enumerate() {
                let words = describe_change(index + 1, change, &theme);
                match watch.choose(format!("\n{words}  [y] apply   [n] reject\n"), "yn").await {
                    Some('y') => approved.push(change.id.clone()),
                    Some(_) => {}
                    None => return Answer::Later,
                }
            }
            Answer::Apply(plan.approve(|change| approved.contains(&change.id)))
        }
        _ => Answer::Later,
    }
}

/// Tells the user that a plan is queued, and how to approve it.
fn note_queued(plan: &Plan, session: &Session) {
    let count = counted(plan.changes.len(), "change is", "changes are");
    let id: String = session.id().as_str().chars().take(8).collect();
    write_stderr(&format!(
        "note: {count} planned, but not applied\n hint: review them with `lariat plan show {id}`, apply all with \
         `lariat plan approve {id}`\n"
    ));
}
