//! Arguments of `lariat race`.

use clap::{Args, Subcommand};
use lariat_service::actor_critic::LoopAgent;

use super::actor_critic::AgentArgs;

#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  lariat race \"make the tests pass\" --branches 3 --check \"cargo test\"\n  lariat race \"add dark mode\" --agents lariat,claude,codex\n  lariat race take SESSION b"
)]
pub(crate) struct RaceArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RaceCommand>,
    #[command(flatten)]
    pub(crate) start: RaceStartArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RaceCommand {
    /// Show the branches of a race.
    Show(RaceSessionArgs),
    /// Show the changes of a branch.
    Diff(RaceBranchArgs),
    /// Apply the changes of a branch, in place of those of the branch that was applied before.
    Take(RaceBranchArgs),
}

#[derive(Args, Debug)]
pub(crate) struct RaceSessionArgs {
    /// The race: the id of its session or a unique prefix.
    pub(crate) session: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RaceBranchArgs {
    /// The race: the id of its session or a unique prefix.
    pub(crate) session: String,
    /// The branch: `a`, `b` and so on.
    pub(crate) branch: String,
}

#[derive(Args, Debug)]
pub(crate) struct RaceStartArgs {
    /// Task for all branches; `-` reads standard input.
    #[arg(value_name = "TASK")]
    pub(crate) words: Vec<String>,
    /// Resume a race by the id of its session or a unique prefix.
    #[arg(short, long, value_name = "SESSION", conflicts_with_all = ["words", "branches", "models", "branch_agents", "judge", "check"])]
    pub(crate) resume: Option<String>,
    /// Number of branches [default: 3, or as many as there are models or agents].
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=16))]
    pub(crate) branches: Option<u8>,
    /// Models of the branches, separated by commas; repeated if there are more branches.
    #[arg(long, value_name = "MODELS", value_delimiter = ',', conflicts_with = "branch_agents")]
    pub(crate) models: Vec<String>,
    /// Agents of the branches, separated by commas: `lariat`, `claude`, `codex`, `gemini`, `opencode`, `goose`, `pi`, each with an
    /// optional `:MODEL`, a command with `{prompt}`, or `acp:COMMAND`.
    #[arg(long = "agents", value_name = "AGENTS", value_delimiter = ',', value_parser = LoopAgent::parse)]
    pub(crate) branch_agents: Vec<LoopAgent>,
    /// Model that selects a branch [default: the model of the settings, or none with --check].
    #[arg(long, value_name = "MODEL")]
    pub(crate) judge: Option<String>,
    /// Command that a branch must pass to be selected; without --judge, the smallest change that passes it is selected.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
    /// Select a branch, and do not apply its changes.
    #[arg(long)]
    pub(crate) no_apply: bool,
    /// Maximum time of each branch: `90s`, `10m`, `2h` [default: from settings, or 60m].
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub(crate) max_time: Option<String>,
    /// Permission mode of the branches; no user is asked, so what would require approval is denied [default: auto].
    #[arg(long, value_name = "MODE", value_parser = ["accept-edits", "auto", "dont-ask", "bypass"])]
    pub(crate) mode: Option<String>,
    #[command(flatten)]
    pub(crate) agents: AgentArgs,
}
