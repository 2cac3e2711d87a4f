//! What plan mode queued: shown to the person, approved in whole or in part, carried out.
//!
//! Owns the question. What the plan is and how it is carried out is the engine's work: what is carried out is what was
//! shown, and a plan that changed meanwhile is shown again.

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
    /// The person is asked, if there is one.
    Asked,
    /// By `--approve-plan`, the whole of it.
    Given,
}

/// What became of the plan.
pub(super) enum Reviewed {
    /// There is none, or it was decided about; with the end of what was carried out last.
    Done(Option<Ending>),
    /// It stays queued.
    Queued(Option<Ending>),
    /// The person did not want to wait.
    Quit,
}

/// Lets the person decide about the plan, and carries out what they approve, until nothing is queued.
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
                    say("  The plan is discarded. Nothing was changed.\n");
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
                    "files changed while the plan was reviewed; nothing was done",
                )
                .next(format!("run it again: `lariat run --resume {} --approve-plan`", session.id())));
            }
            Followed::PlanChanged => tell("note", "files changed since; this is the plan as it is now"),
            Followed::Nothing => return Ok(Reviewed::Done(ending)),
            Followed::Quit => return Ok(Reviewed::Quit),
        }
        // What the model plans next was not there when the flag was given.
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
    let mut words = format!("\n{} The plan: {count}\n", look.mark("◆", "?"));
    for (index, change) in plan.changes.iter().enumerate() {
        words.push_str(&shown(index + 1, change, &look));
    }
    words.push_str("  [y] carry out all   [s] choose one by one   [n] discard   [l] decide later\n");
    match watch.choose(words, "ysnl").await {
        Some('y') => Answer::Carry(plan.approve_all()),
        Some('n') => Answer::Drop,
        Some('s') => {
            let mut approved = Vec::new();
            for (index, change) in plan.changes.iter().enumerate() {
                let words = shown(index + 1, change, &look);
                match watch.choose(format!("\n{words}  [y] carry it out   [n] reject it\n"), "yn").await {
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

/// Says that a plan waits, and how to approve it.
fn queued(plan: &Plan, session: &Session) {
    let count = counted(plan.changes.len(), "change is", "changes are");
    let id = session.id();
    say(&format!(
        "note: {count} planned and not made\n hint: review them with `lariat run --resume {id}`, or approve all with \
         `lariat run --resume {id} --approve-plan`\n"
    ));
}
