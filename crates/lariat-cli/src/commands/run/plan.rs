//! Reviews the plan that plan mode queued: shows it, asks for approval, applies the approved changes.
//!
//! The engine builds and applies the plan. It applies only what was shown; a plan that changed meanwhile is shown again.

use lariat_api::{Action, Answer, AskDigest, AskId};
use lariat_core::id::ToolCallId;
use lariat_service::plan::Plan;
use lariat_terminal::human::counted;

use super::super::plan::describe_change;
use super::ending::host_problem;
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
    watch: &mut RunWatcher,
    mut choice: PlanChoice,
    mut ending: Option<Ending>,
) -> Result<ReviewResult, Problem> {
    // The command `plan approve` decided: what it did not name stays queued.
    let asks = watch.is_interactive() && !matches!(choice, PlanChoice::Approve(_));
    loop {
        if watch.is_stopped() {
            return Ok(ReviewResult::Queued(ending));
        }
        let (plan, digest) = watch.session.plan().await.map_err(host_problem)?;
        if plan.is_empty() {
            return Ok(ReviewResult::Done(ending));
        }
        let all = || plan.changes.iter().map(|change| change.id.clone()).collect::<Vec<ToolCallId>>();
        let decision = match &choice {
            PlanChoice::ApproveAll => Decision { approved: all(), rejected: Vec::new() },
            PlanChoice::Approve(ids) => {
                if !ids.iter().all(|id| plan.changes.iter().any(|change| change.id == *id)) {
                    return Err(plan_changed(watch));
                }
                Decision { approved: ids.clone(), rejected: Vec::new() }
            }
            PlanChoice::Ask if asks => match ask(watch, &plan).await {
                PlanAnswer::Apply(decision) => decision,
                PlanAnswer::Discard => {
                    watch.send(decide(digest, Answer::Decline { reason: None })).await?;
                    write_stderr("  Plan discarded. No files changed.\n");
                    return Ok(ReviewResult::Done(ending));
                }
                PlanAnswer::Later => {
                    note_queued(&plan, watch);
                    return Ok(ReviewResult::Queued(ending));
                }
            },
            PlanChoice::Ask => {
                note_queued(&plan, watch);
                return Ok(ReviewResult::Queued(ending));
            }
        };
        watch.run_output.resume();
        let answer = Answer::Plan { approved: decision.approved, rejected: decision.rejected };
        match watch.follow(decide(digest, answer)).await? {
            FollowResult::Finished(now) => {
                let is_completed = now.outcome.is_completed();
                ending = Some(now.after(ending.as_ref()));
                if !is_completed {
                    return Ok(ReviewResult::Done(ending));
                }
            }
            FollowResult::PlanChanged if choice != PlanChoice::Ask => {
                return Err(plan_changed(watch));
            }
            FollowResult::PlanChanged => report("note", "files changed meanwhile; this is the updated plan"),
            FollowResult::Nothing => return Ok(ReviewResult::Done(ending)),
            FollowResult::Quit => return Ok(ReviewResult::Quit),
        }
        // The approval covers only the plan that was queued then, not what the model plans next.
        choice = PlanChoice::Ask;
    }
}

fn plan_changed(watch: &RunWatcher) -> Problem {
    Problem::new(Exit::Failed, "files changed while the plan was reviewed; nothing was applied")
        .hint(format!("review it again with `lariat plan show {}`", watch.session.id()))
}

/// Which changes of a plan to make and which to discard. The others stay queued.
struct Decision {
    approved: Vec<ToolCallId>,
    rejected: Vec<ToolCallId>,
}

/// The command that decides about the plan with this digest.
fn decide(digest: AskDigest, answer: Answer) -> Action {
    Action::Answer { ask_id: AskId::new("plan"), digest, answer }
}

/// What the user chose.
enum PlanAnswer {
    Apply(Decision),
    Discard,
    Later,
}

async fn ask(watch: &mut RunWatcher, plan: &Plan) -> PlanAnswer {
    let theme = watch.theme;
    let count = counted(plan.changes.len(), "change", "changes");
    let mut words = format!("\n{} Plan: {count}\n", theme.mark("◆", "?"));
    for (index, change) in plan.changes.iter().enumerate() {
        words.push_str(&describe_change(index + 1, change, &theme));
    }
    words.push_str("  [y] apply all   [s] select one by one   [n] discard   [l] decide later\n");
    match watch.choose(words, "ysnl").await {
        Some('y') => PlanAnswer::Apply(Decision {
            approved: plan.changes.iter().map(|change| change.id.clone()).collect(),
            rejected: Vec::new(),
        }),
        Some('n') => PlanAnswer::Discard,
        Some('s') => {
            let mut decision = Decision { approved: Vec::new(), rejected: Vec::new() };
            for (index, change) in plan.changes.iter().enumerate() {
                let words = describe_change(index + 1, change, &theme);
                match watch.choose(format!("\n{words}  [y] apply   [n] reject\n"), "yn").await {
                    Some('y') => decision.approved.push(change.id.clone()),
                    Some(_) => decision.rejected.push(change.id.clone()),
                    None => return PlanAnswer::Later,
                }
            }
            PlanAnswer::Apply(decision)
        }
        _ => PlanAnswer::Later,
    }
}

/// Tells the user that a plan is queued, and how to approve it.
fn note_queued(plan: &Plan, watch: &RunWatcher) {
    let count = counted(plan.changes.len(), "change is", "changes are");
    let id: String = watch.session.id().as_str().chars().take(8).collect();
    write_stderr(&format!(
        "note: {count} planned, but not applied\n hint: review them with `lariat plan show {id}`, apply all with \
         `lariat plan approve {id}`\n"
    ));
}
