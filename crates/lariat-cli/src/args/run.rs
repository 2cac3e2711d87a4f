//! `lariat run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Do one task.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// What to do. Several words are one prompt. Without one, or with `-`, it is read from standard input; with one, what is piped
    /// is sent along.
    #[arg(value_name = "PROMPT")]
    pub(crate) words: Vec<String>,
    /// What to do, as a flag.
    #[arg(short, long = "prompt", value_name = "PROMPT", conflicts_with = "words")]
    pub(crate) p: Option<String>,
    /// How the result is written.
    #[arg(long, value_enum, default_value_t = Output::Text, visible_alias = "output-format")]
    pub(crate) output: Output,
    /// A file with the JSON schema that the answer must have.
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// Go on with a session, by its id or the beginning of it.
    #[arg(short, long, value_name = "SESSION", group = "which")]
    pub(crate) resume: Option<String>,
    /// Go on with the session of this directory that was active last.
    #[arg(short = 'c', long = "continue", group = "which")]
    pub(crate) continue_last: bool,
    /// Begin a session that shares everything with another so far.
    #[arg(long, value_name = "SESSION", group = "which")]
    pub(crate) fork: Option<String>,
    /// The model: `provider/model`, or a name from `lariat models`.
    #[arg(short, long)]
    pub(crate) model: Option<String>,
    /// What runs without a question.
    #[arg(long, value_name = "MODE", value_parser = ["default", "accept-edits", "plan", "auto", "dont-ask", "bypass"])]
    pub(crate) mode: Option<String>,
    /// Model calls at most.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_turns: Option<u64>,
    /// Dollars at most.
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    pub(crate) max_cost: Option<f64>,
    /// Time at most: `90s`, `10m`, `2h`.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub(crate) max_time: Option<String>,
    /// Allow what a rule covers, for this time: `Bash(cargo test *)`. May be given again.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Deny what a rule covers, for this time. May be given again.
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Trust what the workspace brings, for this time.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Run commands without the sandbox.
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Let sandboxed commands reach the network.
    #[arg(long)]
    pub(crate) network: bool,
    /// Carry out the changes that plan mode queued, without asking.
    #[arg(long)]
    pub(crate) approve_plan: bool,
    /// The directory to work in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A picture to show to the model. May be given again.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Keep nothing of the session.
    #[arg(long, conflicts_with = "which")]
    pub(crate) ephemeral: bool,
    /// With `stream-json`: also the pieces of a reply as they come.
    #[arg(long)]
    pub(crate) include_partial_messages: bool,
    /// Show thinking and whole results of tools.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// How the result is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The answer, as text.
    #[default]
    Text,
    /// One JSON document at the end.
    Json,
    /// One JSON document per line, as things happen.
    StreamJson,
}
