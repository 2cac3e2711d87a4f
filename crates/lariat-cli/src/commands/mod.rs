//! One module per command: arguments in, work done by the service, an [`Exit`] out.

mod run;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::world::World;

/// How a command ends: with a code, or with a problem that is told.
pub(crate) type Ended = Result<Exit, Problem>;

/// Reads the arguments and does what they say.
pub(crate) fn start() -> ExitCode {
    let args = Args::parse();
    let world = World::look();
    let ended = match args.command {
        Command::Run(args) => waiting(run::run(&world, *args)),
        _ => Err(Problem::new(Exit::Failed, "this command does not exist yet")),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "{problem}");
            problem.exit.into()
        }
    }
}

/// Runs a command that waits for things. One thread is enough: everything heavy is the tools' and the stores' own.
fn waiting(command: impl Future<Output = Ended>) -> Ended {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Problem::new(Exit::Failed, error.to_string()))?;
    runtime.block_on(command)
}
