//! Command-line arguments. The doc comments here are the help, the manual page and the descriptions in completions.
//!
//! - `actor_critic`: `lariat loop` and `lariat metrics`. `background`: commands for sessions in the background.
//! - `run`: flags of `lariat run`; `task`: a run, from our flags or, with `compat`, from Claude Code's. `sessions`: `lariat sessions` and
//!   `lariat replay`. `session_state`: commands that change the state of one session. `memory`: `lariat memory`. `manage`: every
//!   other command.

pub(crate) mod actor_critic;
pub(crate) mod background;
pub(crate) mod compat;
pub(crate) mod manage;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod openapi;
pub(crate) mod prompt;
pub(crate) mod race;
#[cfg(test)]
pub(crate) mod restricting;
pub(crate) mod run;
pub(crate) mod session_state;
pub(crate) mod sessions;
pub(crate) mod task;

use std::io::Write as _;

use clap::error::{ContextKind, ErrorKind};
use clap::{Parser, Subcommand};

use crate::exit::Exit;
use actor_critic::{LoopArgs, MetricsArgs};
pub(crate) use background::AcpArgs;
use background::{AttachArgs, HostArgs, PsArgs, StopArgs};
use manage::{
    AgentsArgs, AuthArgs, CommandsArgs, CompleteArgs, CompletionsArgs, ConfigArgs, ContextArgs, DoctorArgs,
    InitArgs, ManArgs, ModelsArgs, PermissionsArgs, TrustArgs, UndoArgs,
};
use mcp::McpArgs;
use memory::MemoryArgs;
use openapi::OpenApiArgs;
use race::RaceArgs;
use run::RunArgs;
use session_state::{BudgetArgs, CheckpointArgs, CompactArgs, GoalsArgs, PinArgs, PlanArgs, RestoreArgs};
use sessions::{ReplayArgs, SessionsArgs};

const USAGE: &str = "lariat [MESSAGE]      opens the terminal UI\n       lariat <COMMAND>";

/// A crash-safe coding agent for the terminal.
///
/// Without a command, `lariat` opens the terminal UI in the current directory, and sends the message if there is one:
/// `lariat "fix the tests"`. In a pipe, it runs `lariat run` instead.
#[derive(Debug, Parser)]
#[command(name = "lariat", version, max_term_width = 100, override_usage = USAGE)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one task and print the answer.
    #[command(visible_alias = "r")]
    Run(Box<RunArgs>),
    /// Let an actor work and a critic judge, until the task is done.
    Loop(Box<LoopArgs>),
    /// Let several agents work on the same task, and apply the changes of the best.
    Race(Box<RaceArgs>),
    /// Show success rate, iterations, time and cost of loops.
    Metrics(MetricsArgs),
    /// List, show, export, fork and repair sessions.
    Sessions(SessionsArgs),
    /// List the sessions that run in the background.
    Ps(PsArgs),
    /// Follow a session of the background host, answer its questions and steer it.
    Attach(AttachArgs),
    /// Stop a session of the background host.
    Stop(StopArgs),
    /// Show or stop the background host.
    Host(HostArgs),
    /// Serve an editor over the Agent Client Protocol (ACP).
    Acp(AcpArgs),
    /// Show, approve and reject the changes that plan mode queued.
    Plan(PlanArgs),
    /// Compact the conversation of a session, preview it, or undo it.
    Compact(CompactArgs),
    /// Pin a message, so that compaction leaves it unchanged.
    Pin(PinArgs),
    /// Unpin a message.
    Unpin(PinArgs),
    /// Name the current point of a session, to return to it later.
    Checkpoint(CheckpointArgs),
    /// Return to a checkpoint: conversation, files or both.
    Restore(RestoreArgs),
    /// Show and raise the limits of a session.
    Budget(BudgetArgs),
    /// List, set and end goals of sessions.
    Goals(GoalsArgs),
    /// Replay a recorded session and compare the result.
    Replay(ReplayArgs),
    /// List, test and explain permission rules.
    Permissions(PermissionsArgs),
    /// Review and trust a project's hooks, servers and rules.
    Trust(TrustArgs),
    /// List models and prices.
    Models(ModelsArgs),
    /// Manage API keys of model providers.
    Auth(AuthArgs),
    /// Show and change settings.
    Config(ConfigArgs),
    /// Show what fills a session's context window.
    Context(ContextArgs),
    /// List your own `/` commands and skills.
    Commands(CommandsArgs),
    /// List the sub-agents that the agent can delegate tasks to.
    Agents(AgentsArgs),
    /// Add, list, test and remove MCP servers, which give the model more tools.
    Mcp(McpArgs),
    /// Add, list, test and remove APIs, whose operations become tools (OpenAPI).
    #[command(name = "openapi")]
    OpenApi(OpenApiArgs),
    /// Review and change what Lariat remembers about a project.
    #[command(visible_alias = "learnings")]
    Memory(MemoryArgs),
    /// Undo file changes made by the agent.
    Undo(UndoArgs),
    /// Check your setup and suggest fixes.
    Doctor(DoctorArgs),
    /// Create AGENTS.md and lariat.toml for a project.
    Init(InitArgs),
    /// Generate shell completions.
    Completions(CompletionsArgs),
    /// Generate man pages.
    Man(ManArgs),
    /// List values for shell completions.
    #[command(hide = true, name = "__complete")]
    Complete(CompleteArgs),
}

/// Flags that restrict a run. An invalid value exits with 3, like any restriction that cannot be enforced.
const RESTRICTING_FLAGS: &[&str] = &["--max-turns", "--max-cost", "--max-time", "--mode", "--deny"];

/// What Rust's number parsers say, and what to tell the user instead.
const NUMBER_ERRORS: &[(&str, &str)] = &[
    ("invalid digit found in string", "expected a whole number"),
    ("cannot parse integer from empty string", "expected a whole number"),
    ("invalid float literal", "expected a number, such as 0.50"),
    ("cannot parse float from empty string", "expected a number, such as 0.50"),
];

/// Prints why clap rejected a command line, or what `--help` and `--version` ask for.
pub(crate) fn print_error(error: &clap::Error) {
    let text = error.to_string();
    let plain = NUMBER_ERRORS.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
    let _ = if plain == text { error.print() } else { write!(std::io::stderr(), "{plain}") };
}

/// The exit code for a command line that clap rejected, or for `--help` and `--version`.
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
mod tests;
