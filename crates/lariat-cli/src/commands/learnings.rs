//! `lariat learnings`: lists, adds and removes what later sessions should know. Needs no model.

use lariat_core::event::Learning;
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use lariat_runtime::new_session_id;
use serde::Serialize;

use super::print::Column;
use super::selected_session::SelectedSession;
use super::{CommandResult, print, sessions};
use crate::args::session_state::{
    LearningArgs, LearningsAddArgs, LearningsArgs, LearningsCommand, LearningsListArgs,
};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// A learning, for `--json`.
#[derive(Serialize)]
struct LearningReport {
    session_id: SessionId,
    at: Option<Timestamp>,
    #[serde(flatten)]
    learning: Learning,
}

#[derive(Serialize)]
struct RemovedReport {
    learning_id: String,
    removed: bool,
}

pub(crate) async fn learnings(env: &ProcessEnv, args: LearningsArgs) -> CommandResult {
    let list_all = || LearningsCommand::List(LearningsListArgs { limit: 20, ..LearningsListArgs::default() });
    match args.command.unwrap_or_else(list_all) {
        LearningsCommand::List(args) => list(env, &args).await,
        LearningsCommand::Add(args) => add(env, &args).await,
        LearningsCommand::Remove(args) => remove(env, &args).await,
    }
}

async fn list(env: &ProcessEnv, args: &LearningsListArgs) -> CommandResult {
    let service = sessions::service(env).await?;
    let known = service.learnings(args.tag.as_deref(), args.limit).await?.into_iter();
    let known: Vec<LearningReport> = known
        .map(|known| LearningReport {
            session_id: known.session_id,
            at: Some(known.at),
            learning: known.learning,
        })
        .collect();
    if args.json {
        return print::json(&known);
    }
    if known.is_empty() {
        print::note("no learnings; add one with `lariat learnings add \"…\"`");
        return Ok(Exit::Done);
    }
    let columns = [Column::whole("LEARNING"), Column::text("TAGS"), Column::text("TEXT")];
    let row = |known: &LearningReport| {
        let id: String = known.learning.learning_id.chars().take(8).collect();
        vec![id, known.learning.tags.join(" "), known.learning.text.clone()]
    };
    print::out(&print::table(&columns, &known.iter().map(row).collect::<Vec<_>>()));
    Ok(Exit::Done)
}

async fn add(env: &ProcessEnv, args: &LearningsAddArgs) -> CommandResult {
    let selected = SelectedSession::find(env, args.session.as_deref()).await?;
    let mut learning = Learning::default();
    (learning.learning_id, learning.text) = (new_session_id().to_string(), args.text.join(" "));
    learning.tags.clone_from(&args.tag);
    selected.service.learn(selected.id(), learning.clone()).await?;
    if args.json {
        return print::json(&LearningReport { session_id: selected.id().clone(), at: None, learning });
    }
    print::line(&format!("{}: {}", learning.learning_id, learning.text));
    Ok(Exit::Done)
}

async fn remove(env: &ProcessEnv, args: &LearningArgs) -> CommandResult {
    let service = sessions::service(env).await?;
    let mut found = service.learnings(None, 0).await?;
    found.retain(|known| !args.learning.is_empty() && known.learning.learning_id.starts_with(&args.learning));
    let chosen = match (found.pop(), found.len()) {
        (Some(only), 0) => only,
        (_, others) => {
            let cause = match others {
                0 => format!("no learning id starts with `{}`", args.learning),
                _ => format!("{} learning ids start with `{}`", others + 1, args.learning),
            };
            return Err(Problem::new(Exit::Usage, cause).hint("`lariat learnings list -n 0` lists all"));
        }
    };
    let learning_id = chosen.learning.learning_id;
    service.unlearn(&chosen.session_id, &learning_id).await?;
    if args.json {
        return print::json(&RemovedReport { learning_id, removed: true });
    }
    print::note(&format!("removed {learning_id}: {}", chosen.learning.text));
    Ok(Exit::Done)
}
