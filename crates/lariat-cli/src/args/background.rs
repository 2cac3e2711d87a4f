//! Arguments of the commands for sessions in the background, and of the command that serves an editor.

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub(crate) struct PsArgs {
    /// Also list sessions that do not run.
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AttachArgs {
    /// Session id or a unique prefix.
    #[arg(value_name = "SESSION")]
    pub(crate) id: String,
    /// Print the durable log as one JSON document per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StopArgs {
    /// Session id or a unique prefix.
    #[arg(value_name = "SESSION")]
    pub(crate) id: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AcpArgs {
    /// Also offer the draft of protocol version 2, which changes without notice.
    #[arg(long)]
    pub(crate) draft_v2: bool,
}

#[derive(Args, Debug)]
pub(crate) struct HostArgs {
    #[command(subcommand)]
    pub(crate) command: HostCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HostCommand {
    /// Show whether the background host runs.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Stop the background host. Sessions that run continue when it starts again.
    Stop,
    /// Run the background host in this terminal. Other commands start it when they need it.
    Serve {
        /// Seconds without work after which it ends.
        #[arg(long, value_name = "SECONDS", default_value_t = 300)]
        idle: u64,
    },
}

#[derive(Args, Debug)]
pub(crate) struct MessageArgs {
    /// Session id or a unique prefix.
    #[arg(value_name = "SESSION")]
    pub(crate) id: String,
    /// The message.
    #[arg(value_name = "MESSAGE", required = true)]
    pub(crate) words: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AnswerArgs {
    /// Session id or a unique prefix.
    #[arg(value_name = "SESSION")]
    pub(crate) id: String,
    /// The question, if several wait.
    #[arg(value_name = "QUESTION")]
    pub(crate) ask: Option<String>,
    /// Answer a question of the model with this text.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["deny", "session"])]
    pub(crate) answer: Option<String>,
    /// Deny instead of allowing, or decline to answer.
    #[arg(long)]
    pub(crate) deny: bool,
    /// What the model receives with a denial.
    #[arg(long, value_name = "TEXT", requires = "deny")]
    pub(crate) reason: Option<String>,
    /// Allow for the rest of the session.
    #[arg(long, conflicts_with = "deny")]
    pub(crate) session: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
