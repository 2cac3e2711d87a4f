//! One module per command: each takes arguments, calls the service and returns an [`Exit`].
//!
//! `print` and `ask` talk to the user for every command except `run`; `template` holds the initial text of settings files.

mod ask;
mod auth;
mod config;
mod config_set;
mod consent;
mod context;
mod doctor;
mod init;
mod models;
mod permissions;
mod print;
mod run;
mod sessions;
mod shell;
mod template;
mod trust;
mod undo;
mod undo_list;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{self, Args, Command, exit_of};
use crate::around;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::wire::compat;
use crate::world::World;

/// An exit code, or an error to print.
pub(crate) type Ended = Result<Exit, Problem>;

/// Parses the arguments and runs the command.
pub(crate) fn start() -> ExitCode {
    let world = World::look();
    if let Some(asked) = compat::parse(&world.words()) {
        return over(
            &world,
            match asked {
                compat::Asked::Run(_) if world.require_home().is_err() => {
                    world.require_home().map(|()| Exit::Done)
                }
                compat::Asked::Version => {
                    let _ = writeln!(std::io::stdout(), "{} (Lariat)", env!("CARGO_PKG_VERSION"));
                    Ok(Exit::Done)
                }
                compat::Asked::Run(task) => waiting(run::perform(&world, *task)),
            },
        );
    }
    let args = match Args::try_parse_from(args::prompt::as_command(world.arguments())) {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return exit_of(&error);
        }
    };
    if !matches!(args.command, Command::Completions(_) | Command::Man(_))
        && let Err(problem) = world.require_home()
    {
        return over(&world, Err(problem));
    }
    over(
        &world,
        match args.command {
            Command::Complete(args) => waiting(shell::complete(&world, args)),
            Command::Run(args) => waiting(run::run(&world, *args)),
            Command::Sessions(args) => waiting(sessions::sessions(&world, args)),
            Command::Replay(args) => waiting(sessions::replay(&world, args)),
            Command::Permissions(args) => waiting(permissions::permissions(&world, args)),
            Command::Trust(args) => trust::trust(&world, &args),
            Command::Models(args) => models::models(&world, args),
            Command::Auth(args) => auth::auth(&world, args),
            Command::Config(args) => config::config(&world, args),
            Command::Context(args) => waiting(context::context(&world, args)),
            Command::Undo(args) => waiting(undo::undo(&world, &args)),
            Command::Doctor(args) => waiting(doctor::doctor(&world, &args)),
            Command::Init(args) => init::init(&world, &args),
            Command::Completions(args) => shell::completions(&args),
            Command::Man(args) => shell::man(&args),
        },
    )
}

/// Prints an error and returns the exit code.
fn over(world: &World, ended: Ended) -> ExitCode {
    match ended {
        Ok(exit) => exit.into(),
        Err(problem) => {
            let problem = advised(world, problem);
            let _ = writeln!(std::io::stderr(), "{problem}");
            problem.exit.into()
        }
    }
}

/// Replaces the hint by first-run advice if no model is configured.
fn advised(world: &World, mut problem: Problem) -> Problem {
    if !problem.lacks_model {
        return problem;
    }
    let config = world.place(&world.visit(None)).map(|place| place.config).unwrap_or_default();
    let advice = waiting(async {
        problem.next = Some(around::first_steps(&config).await);
        Ok(problem.exit)
    });
    drop(advice);
    problem
}

/// Runs an async command. One thread is enough: tools and stores do heavy work on their own threads.
fn waiting(command: impl Future<Output = Ended>) -> Ended {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Problem::new(Exit::Failed, error.to_string()))?;
    let ended = runtime.block_on(command);
    // A thread that still reads the terminal cannot be joined; all data is already durable.
    runtime.shutdown_background();
    ended
}
