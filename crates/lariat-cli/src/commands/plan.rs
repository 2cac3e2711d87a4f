//! `lariat plan`: shows, approves and rejects the changes that plan mode queued.
//!
//! Showing and rejecting need no model. Approving is a run of the session, because the model reads the results and continues.

use lariat_core::id::{SessionId, ToolCallId};
use lariat_service::plan::{Plan, PlannedChange, Preview};
use lariat_terminal::approval;
use lariat_terminal::human::counted;
use serde::Serialize;
use serde_json::Value;

use super::selected_session::{SelectedSession, interrupted};
use super::{CommandResult, print, run};
use crate::args::run::Output;
use crate::args::session_state::{PlanArgs, PlanChoiceArgs, PlanCommand, PlanShowArgs};
use crate::args::task::{PlanChoice, Task};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::{ProcessEnv, Stream};

/// A plan, for `--json`.
#[derive(Serialize)]
struct PlanReport<'a> {
    session_id: &'a SessionId,
    changes: Vec<ChangeReport<'a>>,
}

#[derive(Serialize)]
struct ChangeReport<'a> {
    /// Its number for `plan approve` and `plan reject`.
    number: usize,
    id: &'a ToolCallId,
    tool: &'a str,
    arguments: &'a Value,
    summary: &'a str,
    /// The result that the change would have now, such as a diff.
    preview: Option<&'a str>,
    /// Why the change would fail now.
    problem: Option<&'a str>,
    /// Whether it was approved earlier, but not applied.
    approved: bool,
}

/// The result of `plan reject`, for `--json`.
#[derive(Serialize)]
struct RejectReport<'a> {
    session_id: &'a SessionId,
    rejected: &'a [ToolCallId],
    /// Number of changes that stay queued.
    queued: usize,
}

pub(crate) async fn plan(env: &ProcessEnv, args: PlanArgs) -> CommandResult {
    match args.command {
        PlanCommand::Show(args) => show(env, &args).await,
        PlanCommand::Approve(args) => approve(env, &args).await,
        PlanCommand::Reject(args) => reject(env, &args).await,
    }
}

async fn show(env: &ProcessEnv, args: &PlanShowArgs) -> CommandResult {
    let (selected, plan) = load(env, args.session.as_deref()).await?;
    if args.json {
        let changes = (1..).zip(&plan.changes).map(|(number, change)| ChangeReport::of(number, change));
        return print::json(&PlanReport { session_id: selected.id(), changes: changes.collect() });
    }
    if plan.is_empty() {
        print::note(&format!("session {} has no queued changes", selected.id()));
        return Ok(Exit::Done);
    }
    let theme = env.terminal(&selected.place.settings, Stream::Output);
    for (number, change) in (1..).zip(&plan.changes) {
        print::out(&describe_change(number, change, &theme));
        if change.approved {
            print::out("  approved earlier, but not applied\n");
        }
    }
    let id: String = selected.id().as_str().chars().take(8).collect();
    print::note(&format!(
        "\n{} queued; apply with `lariat plan approve {id} [CHANGE]…`, discard with `lariat plan reject {id} [CHANGE]…`",
        counted(plan.changes.len(), "change is", "changes are")
    ));
    Ok(Exit::Done)
}

async fn approve(env: &ProcessEnv, args: &PlanChoiceArgs) -> CommandResult {
    let (session, words) = args.split();
    let (selected, plan) = load(env, session).await?;
    let chosen = choose(&plan, words, &selected)?;
    // The run opens the store itself.
    let (which, cwd) = (selected.selector(), selected.place.path().to_owned());
    drop(selected);
    let task = Task {
        which,
        cwd: Some(cwd),
        output: if args.json { Output::Json } else { Output::Text },
        plan: PlanChoice::Approve(chosen),
        ..Task::default()
    };
    Box::pin(run::perform(env, task)).await
}

async fn reject(env: &ProcessEnv, args: &PlanChoiceArgs) -> CommandResult {
    let (session, words) = args.split();
    let (selected, plan) = load(env, session).await?;
    let rejected = choose(&plan, words, &selected)?;
    selected.service.reject_changes(selected.id(), rejected.clone()).await?;
    let queued = plan.changes.len() - rejected.len();
    if args.json {
        return print::json(&RejectReport { session_id: selected.id(), rejected: &rejected, queued });
    }
    print::note(&format!(
        "rejected {}; {queued} still queued. No files changed.",
        counted(rejected.len(), "change", "changes")
    ));
    Ok(Exit::Done)
}

async fn load(env: &ProcessEnv, session: Option<&str>) -> Result<(SelectedSession, Plan), Problem> {
    let selected = SelectedSession::find(env, session).await?;
    let inspected = selected.service.inspect_session(&selected.place, &selected.selector()).await?;
    let plan = inspected.plan().await.map_err(|error| match error.is_interrupted_run() {
        true => interrupted(selected.id(), "review the plan"),
        false => error.into(),
    });
    inspected.close().await;
    Ok((selected, plan?))
}

/// The changes with these numbers or ids, in the order of the plan; all if there are none.
fn choose(plan: &Plan, words: &[String], selected: &SelectedSession) -> Result<Vec<ToolCallId>, Problem> {
    let id = selected.id();
    if plan.is_empty() {
        return Err(Problem::new(Exit::Failed, "the session has no queued changes")
            .at(id.to_string())
            .hint("queue changes with `lariat run --mode plan \"…\"`"));
    }
    let is_named = |number: usize, change: &PlannedChange, word: &str| {
        word.parse() == Ok(number) || word == change.id.as_str()
    };
    let numbered = || (1..).zip(&plan.changes);
    for word in words {
        if !numbered().any(|(number, change)| is_named(number, change, word)) {
            return Err(Problem::new(Exit::Usage, format!("the plan has no change `{word}`"))
                .at(id.to_string())
                .hint(format!("`lariat plan show {id}` shows the numbers of the changes")));
        }
    }
    let is_chosen = |(number, change): &(usize, &PlannedChange)| {
        words.is_empty() || words.iter().any(|word| is_named(*number, change, word))
    };
    Ok(numbered().filter(is_chosen).map(|(_, change)| change.id.clone()).collect())
}

impl<'a> ChangeReport<'a> {
    fn of(number: usize, change: &'a PlannedChange) -> Self {
        let (preview, problem) = preview_parts(change);
        Self {
            number,
            id: &change.id,
            tool: &change.tool_name,
            arguments: &change.arguments,
            summary: &change.summary,
            preview,
            problem,
            approved: change.approved,
        }
    }
}

/// The diff of a change, or why it would fail now.
fn preview_parts(change: &PlannedChange) -> (Option<&str>, Option<&str>) {
    match &change.preview {
        Preview::Known(text) => (Some(text.as_str()), None),
        Preview::Impossible(why) => (None, Some(why.as_str())),
        _ => (None, None),
    }
}

/// A change with its number and diff, as a plan shows it.
pub(crate) fn describe_change(
    number: usize,
    change: &PlannedChange,
    theme: &lariat_terminal::theme::Theme,
) -> String {
    let (preview, problem) = preview_parts(change);
    approval::plan_question(number, &change.tool_name, &change.arguments, preview, problem, theme)
}
