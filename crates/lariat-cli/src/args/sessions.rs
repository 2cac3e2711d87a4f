//! Arguments of `lariat sessions` and `lariat replay`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::background::{AnswerArgs, MessageArgs, StopArgs};

#[derive(Args, Debug)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, newest first.
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show the conversation of a session with message ids.
    Show(ShowArgs),
    /// Set the title and tags of a session.
    #[command(visible_alias = "name")]
    Edit(EditArgs),
    /// Show the latest events of a session, and follow new ones.
    Tail(TailArgs),
    /// Export a session to a file.
    Export(ExportArgs),
    /// Import a session file of Lariat, Claude Code, Codex or Code Loops.
    Import(ImportArgs),
    /// Create a new session from the history of another.
    Fork(ForkArgs),
    /// Return to an earlier point of the conversation; files stay unchanged (see `lariat undo`).
    Rewind(RewindArgs),
    /// Remove a message from the conversation; the journal keeps it.
    #[command(after_help = "Example: lariat sessions remove-message 0c0ffee0 019a3c5e")]
    RemoveMessage(RemoveMessageArgs),
    /// Delete a session.
    #[command(visible_alias = "rm")]
    Delete(DeleteArgs),
    /// Verify the integrity of stored sessions; exit 8 if one is damaged.
    Verify(VerifyArgs),
    /// Repair a damaged session, keeping a copy of the damaged data.
    Repair(RepairArgs),
    /// Show what sessions cost.
    Cost(CostArgs),
    /// Send a message to a session of the background host; its run receives it between tool calls.
    Steer(MessageArgs),
    /// Queue a message for a session of the background host, for the end of its run.
    Queue(MessageArgs),
    /// Interrupt the run of a session of the background host. Its queue stays.
    Interrupt(StopArgs),
    /// Answer a question of a session of the background host; without options, allow once.
    Approve(AnswerArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Show only sessions that contain all of these words.
    pub(crate) words: Vec<String>,
    /// Show only sessions of this directory.
    #[arg(long)]
    pub(crate) here: bool,
    /// Maximum number to show (0 = no limit).
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Show only sessions with this tag.
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EditArgs {
    /// Session id or unique prefix.
    pub(crate) id: String,
    /// New title; an empty one removes it.
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Add a tag (repeatable).
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Remove a tag (repeatable).
    #[arg(long, value_name = "TAG")]
    pub(crate) untag: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Session id or unique prefix [default: the newest of this directory, or of all].
    pub(crate) id: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TailArgs {
    /// Session id or unique prefix.
    pub(crate) id: String,
    /// Follow new events until Ctrl-C or until the session is deleted.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Number of past events to show first.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) lines: usize,
    /// Print JSON, one event per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Session id or unique prefix.
    pub(crate) id: String,
    /// File format.
    #[arg(long, value_enum, default_value_t = ExportFormat::Lariat)]
    pub(crate) format: ExportFormat,
    /// Output file [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print a JSON report of what was written.
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}

/// Formats for `sessions export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Complete session with checksums; `import` restores it exactly.
    Lariat,
    /// Claude Code session file.
    Claude,
    /// Session file of codeloops, for iterations of an actor and a critic.
    Codeloops,
    /// Events, one JSON document per line.
    Jsonl,
}

#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// Session file.
    pub(crate) file: PathBuf,
    /// File format.
    #[arg(long, value_enum, default_value_t = ImportFormat::Auto)]
    pub(crate) format: ImportFormat,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Formats for `sessions import`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Detect the format.
    Auto,
    /// File written by `lariat sessions export`.
    Lariat,
    /// Claude Code session file.
    Claude,
    /// Codex rollout file.
    Codex,
    /// Code Loops session file.
    Codeloops,
}

#[derive(Args, Debug)]
pub(crate) struct ForkArgs {
    /// Session id or unique prefix.
    pub(crate) id: String,
    /// Number of events to copy from the start [default: all].
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RewindArgs {
    /// Session id or unique prefix.
    pub(crate) id: String,
    /// Return to this message, by its id or a unique prefix.
    #[arg(long, value_name = "MESSAGE", conflicts_with = "turns")]
    pub(crate) to: Option<String>,
    /// Number of prompts to drop, with everything after them.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) turns: usize,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RemoveMessageArgs {
    /// Session id or unique prefix.
    #[arg(value_name = "SESSION")]
    pub(crate) id: String,
    /// Message id or unique prefix, as shown by `lariat sessions show`.
    pub(crate) message: String,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    /// Session id or unique prefix.
    pub(crate) id: String,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Session id or unique prefix.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) id: Option<String>,
    /// Verify all sessions.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RepairArgs {
    /// Session id or unique prefix.
    pub(crate) id: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CostArgs {
    /// Session id or unique prefix [default: all sessions].
    #[arg(conflicts_with = "days")]
    pub(crate) id: Option<String>,
    /// Include sessions active within the last N days.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) days: u64,
    /// Show the figures of each turn and tool call of one session.
    #[arg(long, requires = "id")]
    pub(crate) turns: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// Session id or unique prefix.
    pub(crate) id: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
