//! Arguments of `lariat run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Task for the agent; read from standard input if missing or `-`, otherwise piped input is attached.
    #[arg(value_name = "PROMPT")]
    pub(crate) words: Vec<String>,
    /// Task for the agent, as a flag.
    #[arg(short, long = "prompt", value_name = "PROMPT", conflicts_with = "words")]
    pub(crate) p: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Output::Text, visible_alias = "output-format")]
    pub(crate) output: Output,
    /// Require an answer that matches the JSON schema in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// Resume a session by its id or a unique prefix.
    #[arg(short, long, value_name = "SESSION", group = "which")]
    pub(crate) resume: Option<String>,
    /// Continue the most recent session of this directory.
    #[arg(short = 'c', long = "continue", group = "which")]
    pub(crate) continue_last: bool,
    /// Start a new session from the history of another.
    #[arg(long, value_name = "SESSION", group = "which")]
    pub(crate) fork: Option<String>,
    /// Run the newest run of a session again from its prompt, or the run with this number.
    #[arg(
        long,
        value_name = "RUN",
        num_args = 0..=1,
        require_equals = true,
        requires = "which",
        conflicts_with_all = ["words", "p", "image", "detach"]
    )]
    pub(crate) rerun: Option<Option<u64>>,
    /// Id of the session to create, as a UUID [default: a new one].
    #[arg(long, value_name = "UUID")]
    pub(crate) session_id: Option<String>,
    /// Model, as `provider/model` or a name from `lariat models` [default: from settings].
    #[arg(short, long)]
    pub(crate) model: Option<String>,
    /// Permission mode: which actions run without asking.
    #[arg(long, value_name = "MODE", value_parser = ["default", "accept-edits", "plan", "auto", "dont-ask", "bypass"])]
    pub(crate) mode: Option<String>,
    /// Maximum number of turns (model requests).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_turns: Option<u64>,
    /// Maximum cost in US dollars.
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<f64>,
    /// Maximum run time: `90s`, `10m`, `2h`.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub(crate) max_time: Option<String>,
    /// Allow what a rule matches in this run, such as `Bash(cargo test *)` (repeatable).
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Deny what a rule matches in this run (repeatable).
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Trust the project's hooks, servers and rules in this run.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Run commands without the sandbox.
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Let sandboxed commands use the network.
    #[arg(long)]
    pub(crate) network: bool,
    /// Apply the changes queued in plan mode without asking.
    #[arg(long)]
    pub(crate) approve_plan: bool,
    /// Directory to work in [default: the current directory].
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Let tools and commands work in this directory too (repeatable).
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Attach an image (repeatable).
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Run in the background and return at once; `lariat attach` shows the session.
    #[arg(
        short,
        long,
        conflicts_with_all = [
            "allow", "approve_plan", "deny", "ephemeral", "fork", "image", "include_partial_messages", "max_cost",
            "max_time", "max_turns", "network", "no_sandbox", "output_schema", "trust", "verbose",
        ]
    )]
    pub(crate) detach: bool,
    /// Do not save the session.
    #[arg(long, conflicts_with = "which")]
    pub(crate) ephemeral: bool,
    /// With `--output stream-json`, also print partial replies.
    #[arg(long)]
    pub(crate) include_partial_messages: bool,
    /// Show thinking and complete tool results.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// The format of a run's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The answer as text.
    #[default]
    Text,
    /// One JSON document at the end.
    Json,
    /// One JSON document per line, as events happen.
    StreamJson,
}
