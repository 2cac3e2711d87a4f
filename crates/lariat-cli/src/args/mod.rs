//! The arguments, as types. What a flag does is said here once, for help, manual and completions.
//!
//! - `run`: one task; `task`: the same, whichever flags said so. `sessions`: sessions and what can be done with them. `manage`: everything else.

pub(crate) mod manage;
pub(crate) mod prompt;
#[cfg(test)]
pub(crate) mod restricting;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod task;

use clap::error::{ContextKind, ErrorKind};
use clap::{Parser, Subcommand};

use crate::exit::Exit;
use manage::{
    AuthArgs, CompleteArgs, CompletionsArgs, ConfigArgs, ContextArgs, DoctorArgs, InitArgs, ManArgs,
    ModelsArgs, PermissionsArgs, TrustArgs, UndoArgs,
};
use run::RunArgs;
use sessions::{ReplayArgs, SessionsArgs};

/// A coding agent for the terminal whose loop holds.
#[derive(Debug, Parser)]
#[command(name = "lariat", version, max_term_width = 100)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Do one task: read, edit, run, and report.
    #[command(visible_alias = "r")]
    Run(Box<RunArgs>),
    /// Sessions: list, show, follow, export, import, fork, rewind, delete, check.
    Sessions(SessionsArgs),
    /// Run a recorded session through today's loop and compare.
    Replay(ReplayArgs),
    /// Permission rules: list, test, explain, revoke.
    Permissions(PermissionsArgs),
    /// Trust what a workspace brings: hooks, servers, rules.
    Trust(TrustArgs),
    /// Models and their prices.
    Models(ModelsArgs),
    /// Keys of model services.
    Auth(AuthArgs),
    /// Settings: show, set, edit, schema.
    Config(ConfigArgs),
    /// What is in a session's window.
    Context(ContextArgs),
    /// Take back what calls changed in files.
    Undo(UndoArgs),
    /// Look whether everything works, and say how to mend what does not.
    Doctor(DoctorArgs),
    /// Write AGENTS.md and lariat.toml for a project.
    Init(InitArgs),
    /// Completions for a shell.
    Completions(CompletionsArgs),
    /// The manual, as pages for `man`.
    Man(ManArgs),
    /// Print what can be completed, for the completions of a shell.
    #[command(hide = true, name = "__complete")]
    Complete(CompleteArgs),
}

/// Flags that restrict. A value that cannot be read ends as any restriction that cannot be enforced.
const RESTRICTING_FLAGS: &[&str] = &["--max-turns", "--max-cost", "--max-time", "--mode", "--deny"];

/// How the program ends when the arguments make no sense.
pub(crate) fn exit_of(error: &clap::Error) -> std::process::ExitCode {
    let flag = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    let name = flag.split(' ').next().unwrap_or_default();
    let is_value = matches!(
        error.kind(),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::NoEquals | ErrorKind::TooManyValues
    );
    match (is_value && RESTRICTING_FLAGS.contains(&name), error.exit_code()) {
        (_, 0) => Exit::Done.into(),
        (true, _) => Exit::Setup.into(),
        (false, _) => Exit::Usage.into(),
    }
}

#[cfg(test)]
#[path = "restricting_tests.rs"]
mod restricting_tests;
