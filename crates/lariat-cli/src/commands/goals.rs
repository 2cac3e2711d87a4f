//! `lariat goals`: lists, sets and ends goals of sessions. Needs no model.

use lariat_core::event::{Goal, GoalStatus};
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use lariat_service::LocalService;
use lariat_service::clock::new_session_id;
use serde::Serialize;

use super::print::Column;
use super::selected_session::SelectedSession;
use super::{CommandResult, print, sessions};
use crate::args::session_state::{GoalArgs, GoalsAddArgs, GoalsArgs, GoalsCommand, GoalsListArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// A goal, for `--json`.
#[derive(Serialize)]
struct GoalReport {
    session_id: SessionId,
    at: Option<Timestamp>,
    #[serde(flatten)]
    goal: Goal,
}

pub(crate) async fn goals(env: &ProcessEnv, args: GoalsArgs) -> CommandResult {
    match args.command.unwrap_or_else(|| GoalsCommand::List(GoalsListArgs::default())) {
        GoalsCommand::List(args) => list(env, &args).await,
        GoalsCommand::Add(args) => add(env, &args).await,
        GoalsCommand::Done(args) => end(env, &args, GoalStatus::Done).await,
        GoalsCommand::Drop(args) => end(env, &args, GoalStatus::Dropped).await,
    }
}

async fn list(env: &ProcessEnv, args: &GoalsListArgs) -> CommandResult {
    let known = known(&sessions::service(env).await?).await?;
    let listed: Vec<GoalReport> =
        known.into_iter().filter(|known| args.all || known.goal.status == GoalStatus::Active).collect();
    if args.json {
        return print::json(&listed);
    }
    if listed.is_empty() {
        print::note("no goals; set one with `lariat goals add \"…\"`");
        return Ok(Exit::Done);
    }
    let columns =
        [Column::whole("GOAL"), Column::text("STATUS"), Column::whole("SESSION"), Column::text("TEXT")];
    let short = |id: &str| id.chars().take(8).collect::<String>();
    let row = |known: &GoalReport| {
        vec![
            short(&known.goal.goal_id),
            status_name(known.goal.status).to_owned(),
            short(known.session_id.as_str()),
            known.goal.text.clone(),
        ]
    };
    print::out(&print::table(&columns, &listed.iter().map(row).collect::<Vec<_>>()));
    Ok(Exit::Done)
}

async fn add(env: &ProcessEnv, args: &GoalsAddArgs) -> CommandResult {
    let selected = SelectedSession::find(env, args.session.as_deref()).await?;
    let mut goal = Goal::default();
    (goal.goal_id, goal.text) = (new_session_id().to_string(), args.text.join(" "));
    selected.service.set_goal(selected.id(), goal.clone()).await?;
    report(GoalReport { session_id: selected.id().clone(), at: None, goal }, args.json)
}

async fn end(env: &ProcessEnv, args: &GoalArgs, status: GoalStatus) -> CommandResult {
    let service = sessions::service(env).await?;
    let mut found = known(&service).await?;
    found.retain(|known| !args.goal.is_empty() && known.goal.goal_id.starts_with(&args.goal));
    let mut chosen = match (found.pop(), found.len()) {
        (Some(only), 0) => only,
        (_, others) => {
            let cause = match others {
                0 => format!("no goal id starts with `{}`", args.goal),
                _ => format!("{} goal ids start with `{}`", others + 1, args.goal),
            };
            return Err(Problem::new(Exit::Usage, cause).hint("`lariat goals list --all` lists all goals"));
        }
    };
    chosen.goal.status = status;
    service.set_goal(&chosen.session_id, chosen.goal.clone()).await?;
    report(chosen, args.json)
}

fn report(changed: GoalReport, json: bool) -> CommandResult {
    if json {
        return print::json(&changed);
    }
    print::line(&format!(
        "{} {}: {}",
        status_name(changed.goal.status),
        changed.goal.goal_id,
        changed.goal.text
    ));
    Ok(Exit::Done)
}

async fn known(service: &LocalService) -> Result<Vec<GoalReport>, Problem> {
    let known = service.goals().await?.into_iter();
    Ok(known
        .map(|known| GoalReport { session_id: known.session_id, at: Some(known.at), goal: known.goal })
        .collect())
}

const fn status_name(status: GoalStatus) -> &'static str {
    match status {
        GoalStatus::Done => "done",
        GoalStatus::Dropped => "dropped",
        _ => "active",
    }
}
