//! `lariat sessions`: lists, shows, changes and checks stored sessions. Works without a model or key.
//!
//! - `list`, `cost`: many sessions. `show`, `tail`: one session. `transfer`: export and import. `change`: edit, fork, rewind,
//!   delete. `remove`: remove a message.
//! - `check`: verify and repair. `replay`: compares a recording with the current code. `transcript`: formats messages and events.

mod change;
mod check;
mod cost;
mod list;
mod remove;
mod replay;
mod show;
mod tail;
mod transcript;
mod transfer;

pub(crate) use replay::replay;
pub(super) use transcript::conversation as conversation_text;
pub(super) use transfer::{copy, export_file};

use lariat_service::LocalService;

use super::CommandResult;
use crate::args::sessions::{SessionsArgs, SessionsCommand};
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

pub(crate) async fn sessions(env: &ProcessEnv, args: SessionsArgs) -> CommandResult {
    let command = match super::background::session_command(env, args.command).await {
        Ok(exit) => return exit,
        Err(command) => command,
    };
    let service = service(env).await?;
    match *command {
        SessionsCommand::List(args) => list::list(env, &service, args).await,
        SessionsCommand::Show(args) => show::show(env, &service, &args).await,
        SessionsCommand::Edit(args) => change::edit(&service, &args).await,
        SessionsCommand::Tail(args) => tail::tail(&service, &args).await,
        SessionsCommand::Export(args) => transfer::export(&service, &args).await,
        SessionsCommand::Import(args) => transfer::import(&service, &args).await,
        SessionsCommand::Fork(args) => change::fork(&service, &args).await,
        SessionsCommand::Rewind(args) => change::rewind(env, &service, &args).await,
        SessionsCommand::RemoveMessage(args) => remove::remove(env, &args).await,
        SessionsCommand::Delete(args) => change::delete(env, &service, &args).await,
        SessionsCommand::Verify(args) => check::verify(&service, &args).await,
        SessionsCommand::Repair(args) => check::repair(&service, &args).await,
        SessionsCommand::Cost(args) => cost::cost(&service, &args).await,
        // Handled above: the background host carries them out.
        SessionsCommand::Steer(_)
        | SessionsCommand::Queue(_)
        | SessionsCommand::Interrupt(_)
        | SessionsCommand::Approve(_) => Ok(crate::exit::Exit::Done),
    }
}

/// Opens the user's session store. Errors name its path.
pub(super) async fn service(env: &ProcessEnv) -> Result<LocalService, Problem> {
    let place = env.load_project(&env.load_options(None))?;
    let path = place.settings.store.path.clone().unwrap_or_else(|| env.folders.sessions());
    env.service(&place).await.map_err(|error| {
        let problem = Problem::from(error);
        if problem.place.is_some() { problem } else { problem.at(path.display().to_string()) }
    })
}
