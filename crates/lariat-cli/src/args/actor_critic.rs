//! Arguments of `lariat loop` and `lariat metrics`, and what loops and races have in common.

use std::path::PathBuf;

use clap::Args;
use lariat_service::actor_critic::LoopAgent;
use serde_json::Value;

use super::task::Task;

#[derive(Args, Debug)]
#[command(after_help = "Example: lariat loop \"make the tests pass\" --check \"cargo test\" --critic claude")]
pub(crate) struct LoopArgs {
    /// Task for the actor, or a `.md` file with the task [default: prompt.md]; `-` reads standard input.
    #[arg(value_name = "PROMPT")]
    pub(crate) words: Vec<String>,
    /// Resume a loop by the id of its session or a unique prefix.
    #[arg(short, long, value_name = "SESSION", conflicts_with_all = ["words", "actor", "critic"])]
    pub(crate) resume: Option<String>,
    /// Agent that works: `lariat`, `lariat:MODEL`, `claude`, `codex`, `gemini`, `opencode`, `goose`, `pi`, each with an optional
    /// `:MODEL`, a command with `{prompt}`, or `acp:COMMAND` [default: lariat].
    #[arg(long, value_name = "AGENT", value_parser = LoopAgent::parse)]
    pub(crate) actor: Option<LoopAgent>,
    /// Agent that judges, read-only [default: lariat].
    #[arg(long, value_name = "AGENT", value_parser = LoopAgent::parse)]
    pub(crate) critic: Option<LoopAgent>,
    /// Maximum number of iterations [default: 10].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_iterations: Option<u64>,
    /// Maximum time of the loop: `90s`, `10m`, `2h` [default: from settings, or 60m].
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub(crate) max_time: Option<String>,
    /// Command to run before each review; the task is not done while it fails.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
    /// Permission mode of the actor: which actions run without asking.
    #[arg(long, value_name = "MODE", value_parser = ["default", "accept-edits", "auto", "dont-ask", "bypass"])]
    pub(crate) mode: Option<String>,
    #[command(flatten)]
    pub(crate) agents: AgentArgs,
    /// Show thinking and complete tool results.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// What loops and races have in common: what their agents may do, cost and get.
#[derive(Args, Debug)]
pub(crate) struct AgentArgs {
    /// Maximum cost of all agents together in US dollars [default: from settings, or 10].
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<f64>,
    /// Pass a variable to other agents; they get the keys that Lariat knows they need without it (repeatable).
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// Allow what a rule matches, such as `Bash(cargo test *)` (repeatable).
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Deny what a rule matches (repeatable).
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Trust the project's hooks, servers and rules.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Run commands and other agents without the sandbox.
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Directory to work in [default: the current directory].
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl AgentArgs {
    /// What these flags say about the sessions of the agents.
    pub(crate) fn task(&self, words: &[String], mode: Option<&String>, max_time: Option<&String>) -> Task {
        let mut task = Task {
            prompt: Some(words.join(" ")).filter(|words| !words.is_empty()),
            allow: self.allow.clone(),
            deny: self.deny.clone(),
            trusting: self.trust,
            cwd: self.cwd.clone(),
            ..Task::default()
        };
        let flags = [
            ("mode", mode.cloned().map(Value::from)),
            ("sandbox.enabled", self.no_sandbox.then_some(Value::from(false))),
            ("limits.cost", self.max_cost.map(Value::from)),
            ("limits.time", max_time.cloned().map(Value::from)),
        ];
        for (path, value) in flags {
            if let Some(value) = value {
                task.set(path, value);
            }
        }
        task
    }
}

#[derive(Args, Debug)]
pub(crate) struct MetricsArgs {
    /// Include loops of all directories.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
