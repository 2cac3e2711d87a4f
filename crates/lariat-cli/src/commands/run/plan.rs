//! Reviews the plan that plan mode queued: shows it, asks for approval, applies the approved changes.
//!
//! The engine builds and applies the plan. It applies only what was shown; a plan that changed meanwhile is shown again.

use lariat_runtime::{Plan, PlanDecision, Preview};
use lariat_service::Session;

use super::face::{say, tell};
use super::watch::{Followed, Watch};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::screen::approval;
use crate::screen::human::counted;
use crate::wire::json::Ending;

/// How a plan is approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approval {
    /// Ask the user, if there is one.
    Asked,
    /// `--approve-plan` approved all of it.
    Given,
}

/// The result of a review.
pub(super) enum Reviewed {
    /// No plan is queued any longer. Holds the end of the last run.
    Done(Option<Ending>),
    /// The plan stays queued.
    Queued(Option<Ending>),
    /// The user quit at once.
    Quit,
}

/// Asks the user about the plan and applies what they approve, until nothing is queued.
pub(super) async fn review(
    watch: &mut Watch<'_>,
    session: &Session,
    mut approval: Approval,
    mut ending: Option<Ending>,
) -> Result<Reviewed, Problem> {
    loop {
        if watch.is_stopped() {
            return Ok(Reviewed::Queued(ending));
        }
        let plan = session.plan().await?;
        if plan.is_empty() {
            return Ok(Reviewed::Done(ending));
        }
        let decision = match approval {
            Approval::Given => plan.approve_all(),
            Approval::Asked if watch.is_attended() => match ask(watch, &plan).await {
                Answer::Carry(decision) => decision,
                Answer::Drop => {
                    session.drop_plan().await?;
                    say("  Plan discarded. No files changed.\n");
                    return Ok(Reviewed::Done(ending));
                }
                Answer::Later => {
                    queued(&plan, session);
                    return Ok(Reviewed::Queued(ending));
                }
            },
            Approval::Asked => {
                queued(&plan, session);
                return Ok(Reviewed::Queued(ending));
            }
        };
        watch.face.resume();
        match watch.follow(session.carry_out(decision)).await? {
            Followed::Over(output) => {
                ending = Some(Ending::of(&output).after(ending.as_ref()));
                if !output.outcome.is_completed() {
                    return Ok(Reviewed::Done(ending));
                }
            }
            Followed::PlanChanged if approval == Approval::Given => {
                return Err(Problem::new(
                    Exit::Failed,
                    "files changed while the plan was reviewed; nothing was applied",
                )
                .next(format!("run `lariat run --resume {} --approve-plan` again", session.id())));
            }
            Followed::PlanChanged => tell("note", "files changed meanwhile; this is the updated plan"),
            Followed::Nothing => return Ok(Reviewed::Done(ending)),
            Followed::Quit => return Ok(Reviewed::Quit),
        }
        // The flag covers only the plan that was queued then, not what the model plans next.
        approval = Approval::Asked;
    }
}

enum Answer {
    Carry(PlanDecision),
    Drop,
    Later,
}

async fn ask(watch: &mut Watch<'_>, plan: &Plan) -> Answer {
    let look = watch.look;
    let count = counted(plan.changes.len(), "change", "changes");
    let mut words = format!("\n{} Plan: {count}\n", look.mark("◆", "?"));
    for (index, change) in plan.changes.iter().enumerate() {
        words.push_str(&shown(index + 1, change, &look));
    }
    words.push_str("  [y] apply all   [s] select one by one   [n] discard   [l] decide later\n");
    match watch.choose(words, "ysnl").await {
        Some('y') => Answer::Carry(plan.approve_all()),
        Some('n') => Answer::Drop,
        Some('s') => {
            let mut approved = Vec::new();
            for (index, change) in plan.changes.iter().enumerate() {
                let words = shown(index + 1, change, &look);
                match watch.choose(format!("\n{words}  [y] apply   [n] reject\n"), "yn").await {
                    Some('y') => approved.push(change.id.clone()),
                    Some(_) => {}
                    None => return Answer::Later,
                }
            }
            Answer::Carry(plan.approve(|change| approved.contains(&change.id)))
        }
        _ => Answer::Later,
    }
}

fn shown(number: usize, change: &lariat_runtime::PlannedChange, look: &crate::screen::look::Look) -> String {
    let (preview, problem) = match &change.preview {
        Preview::Known(text) => (Some(text.as_str()), None),
        Preview::Impossible(why) => (None, Some(why.as_str())),
        _ => (None, None),
    };
    approval::planned(number, &change.tool_name, &change.arguments, preview, problem, look)
}

/// Tells the user that a plan is queued, and how to approve it.
fn queued(plan: &Plan, session: &Session) {
    let count = counted(plan.changes.len(), "change is", "changes are");
    let id = session.id();
    say(&format!(
        "note: {count} planned, but not applied\n hint: review them with `lariat run --resume {id}`, or approve all with \
         `lariat run --resume {id} --approve-plan`\n"
    ));
}
