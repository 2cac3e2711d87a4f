//! One module per command: each takes arguments, calls the service and returns an [`Exit`].
//!
//! `print` and `confirm` talk to the user for every command except `run`; `selected_session` finds the session that a command works on;
//! `template` holds the initial text of settings files.

mod acp;
mod agents;
mod auth;
mod background;
mod budget;
mod checkpoint;
mod compact;
mod config;
mod config_secrets;
mod config_set;
mod confirm;
mod context;
mod custom_commands;
mod doctor;
mod goals;
mod init;
mod mcp;
mod memory;
mod metrics;
mod models;
mod openapi;
mod permissions;
mod pin;
mod plan;
mod print;
mod run;
mod selected_session;
mod sessions;
mod shell;
mod template;
mod toml_entry;
mod trust;
mod trust_prompt;
mod ui;
mod ui_machine;
mod ui_pages;
mod ui_sessions;
mod undo;
mod undo_list;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{self, Args, Command, compat, exit_of};
use crate::detect;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// An exit code, or an error to print.
pub(crate) type CommandResult = Result<Exit, Problem>;

/// Parses the arguments and runs the command.
pub(crate) fn start() -> ExitCode {
    let env = ProcessEnv::read();
    if let Some(args) = ui::arguments(&env) {
        return finish(&env, env.require_home().and_then(|()| block_on_screen(ui::open(&env, args))));
    }
    if let Some(asked) = compat::parse(&env.words()) {
        return finish(
            &env,
            match asked {
                compat::CompatCommand::Run(_) if env.require_home().is_err() => {
                    env.require_home().map(|()| Exit::Done)
                }
                compat::CompatCommand::Version => {
                    let _ = writeln!(std::io::stdout(), "{} (Lariat)", env!("CARGO_PKG_VERSION"));
                    Ok(Exit::Done)
                }
                compat::CompatCommand::Run(task) => block_on(run::perform(&env, *task)),
            },
        );
    }
    let args = match Args::try_parse_from(args::prompt::as_command(env.arguments()).0) {
        Ok(args) => args,
        Err(error) => {
            args::print_error(&error);
            return exit_of(&error);
        }
    };
    if !matches!(args.command, Command::Completions(_) | Command::Man(_))
        && let Err(problem) = env.require_home()
    {
        return finish(&env, Err(problem));
    }
    finish(
        &env,
        match args.command {
            Command::Complete(args) => block_on(shell::complete(&env, args)),
            Command::Run(args) => block_on(run::run(&env, *args)),
            Command::Loop(args) => block_on(run::run_loop(&env, *args)),
            Command::Race(args) => block_on(run::race(&env, *args)),
            Command::Metrics(args) => block_on(metrics::metrics(&env, &args)),
            Command::Sessions(args) => block_on(sessions::sessions(&env, args)),
            Command::Ps(args) => block_on(background::ps(&env, &args)),
            Command::Attach(args) if !args.json && ui::has_screen(&env) => {
                block_on_screen(ui::attach(&env, &args))
            }
            Command::Attach(args) => block_on(run::attach(&env, &args)),
            Command::Stop(args) => block_on(background::stop(&env, &args)),
            Command::Host(args) => block_on(background::host(&env, args)),
            Command::Acp(args) => block_on(acp::acp(&env, &args)),
            Command::Plan(args) => block_on(plan::plan(&env, args)),
            Command::Compact(args) => block_on(compact::compact(&env, args)),
            Command::Pin(args) => block_on(pin::pin(&env, &args, true)),
            Command::Unpin(args) => block_on(pin::pin(&env, &args, false)),
            Command::Checkpoint(args) => block_on(checkpoint::checkpoint(&env, &args)),
            Command::Restore(args) => block_on(checkpoint::restore(&env, &args)),
            Command::Budget(args) => block_on(budget::budget(&env, args)),
            Command::Goals(args) => block_on(goals::goals(&env, args)),
            Command::Replay(args) => block_on(sessions::replay(&env, args)),
            Command::Permissions(args) => block_on(permissions::permissions(&env, args)),
            Command::Trust(args) => trust::trust(&env, &args),
            Command::Models(args) => models::models(&env, args),
            Command::Auth(args) => auth::auth(&env, args),
            Command::Config(args) => config::config(&env, args),
            Command::Context(args) => block_on(context::context(&env, args)),
            Command::Agents(args) => agents::agents(&env, &args),
            Command::Commands(args) => custom_commands::custom_commands(&env, &args),
            Command::Mcp(args) => block_on(mcp::mcp(&env, args)),
            Command::OpenApi(args) => block_on(openapi::openapi(&env, args)),
            Command::Memory(args) => block_on(memory::memory(&env, args)),
            Command::Undo(args) => block_on(undo::undo(&env, &args)),
            Command::Doctor(args) => block_on(doctor::doctor(&env, &args)),
            Command::Init(args) => init::init(&env, &args),
            Command::Completions(args) => shell::completions(&args),
            Command::Man(args) => shell::man(&args),
        },
    )
}

/// Prints an error and returns the exit code.
fn finish(env: &ProcessEnv, ended: CommandResult) -> ExitCode {
    match ended {
        Ok(exit) => exit.into(),
        Err(problem) => {
            let problem = with_first_steps(env, problem);
            let _ = writeln!(std::io::stderr(), "{problem}");
            problem.exit.into()
        }
    }
}

/// Replaces the hint by first-run advice if no model is configured.
fn with_first_steps(env: &ProcessEnv, mut problem: Problem) -> Problem {
    if !problem.lacks_model {
        return problem;
    }
    let settings = env.load_project(&env.load_options(None)).map(|place| place.settings).unwrap_or_default();
    let advice = block_on(async {
        problem.hint = Some(detect::first_steps(&settings).await);
        Ok(problem.exit)
    });
    drop(advice);
    problem
}

/// Runs an async command. One thread is enough: tools and stores do heavy work on their own threads.
fn block_on(command: impl Future<Output = CommandResult>) -> CommandResult {
    finish_on(tokio::runtime::Builder::new_current_thread(), command)
}

/// Runs the terminal UI. The session works on a thread of its own, so that keys never wait for it.
fn block_on_screen(screen: impl Future<Output = CommandResult>) -> CommandResult {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("session");
    finish_on(builder, screen)
}

fn finish_on(
    mut builder: tokio::runtime::Builder,
    command: impl Future<Output = CommandResult>,
) -> CommandResult {
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|error| Problem::new(Exit::Failed, error.to_string()))?;
    let ended = runtime.block_on(command);
    // A thread that still reads the terminal cannot be joined; all data is already durable.
    runtime.shutdown_background();
    ended
}
