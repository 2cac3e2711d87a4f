//! `lariat sessions` and `lariat replay`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Sessions.
#[derive(Args, Debug)]
pub(crate) struct SessionsArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

/// What can be done with sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, the newest first.
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show the conversation of a session, with the ids of its messages.
    Show(ShowArgs),
    /// Set the title and the tags of a session.
    #[command(visible_alias = "name")]
    Edit(EditArgs),
    /// Show what happened last in a session, and what happens.
    Tail(TailArgs),
    /// Write a session to a file.
    Export(ExportArgs),
    /// Bring in a session from a file: Lariat's own, Claude Code's, Codex's, Code Loops'.
    Import(ImportArgs),
    /// Make a new session that shares everything with another so far.
    Fork(ForkArgs),
    /// Go back to an earlier point of the conversation. Files stay as they are: see `lariat undo`.
    Rewind(RewindArgs),
    /// Delete a session.
    #[command(visible_alias = "rm")]
    Delete(DeleteArgs),
    /// Check that everything of a session is as it was written. Ends with 8 when it is not.
    Verify(VerifyArgs),
    /// Make a damaged session usable again. What is damaged is kept aside.
    Repair(RepairArgs),
    /// What sessions cost.
    Cost(CostArgs),
}

/// List.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Words that must all occur in the session.
    pub(crate) words: Vec<String>,
    /// Sessions of this directory only.
    #[arg(long)]
    pub(crate) here: bool,
    /// So many at most; 0 for all.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Sessions with this tag only.
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Edit.
#[derive(Args, Debug)]
pub(crate) struct EditArgs {
    /// The session, by its id or the beginning of it.
    pub(crate) id: String,
    /// Its title; an empty one removes it.
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Add a tag. May be given again.
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Remove a tag. May be given again.
    #[arg(long, value_name = "TAG")]
    pub(crate) untag: Vec<String>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The session, by its id or the beginning of it; without, the newest of this directory, or of all.
    pub(crate) id: Option<String>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Tail.
#[derive(Args, Debug)]
pub(crate) struct TailArgs {
    /// The session, by its id or the beginning of it.
    pub(crate) id: String,
    /// Go on until the session is deleted, or Ctrl-C.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Events to begin with.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) lines: usize,
    /// As JSON, one event per line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Export.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The session, by its id or the beginning of it.
    pub(crate) id: String,
    /// The format.
    #[arg(long, value_enum, default_value_t = ExportFormat::Lariat)]
    pub(crate) format: ExportFormat,
    /// The file; without, standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What was written, as JSON.
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}

/// What a session is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Everything, with checksums; `import` brings it back as it was.
    Lariat,
    /// A session file of Claude Code.
    Claude,
    /// The events, one JSON document per line.
    Jsonl,
}

/// Import.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// The file.
    pub(crate) file: PathBuf,
    /// The format.
    #[arg(long, value_enum, default_value_t = ImportFormat::Auto)]
    pub(crate) format: ImportFormat,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a file is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// What it looks like.
    Auto,
    /// A file of `lariat sessions export`.
    Lariat,
    /// A session file of Claude Code.
    Claude,
    /// A rollout of Codex.
    Codex,
    /// A session file of Code Loops.
    Codeloops,
}

/// Fork.
#[derive(Args, Debug)]
pub(crate) struct ForkArgs {
    /// The session, by its id or the beginning of it.
    pub(crate) id: String,
    /// How many of its events to share; all without.
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: Option<u64>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Rewind.
#[derive(Args, Debug)]
pub(crate) struct RewindArgs {
    /// The session, by its id or the beginning of it.
    pub(crate) id: String,
    /// Go on from this message, by its id or the beginning of it.
    #[arg(long, value_name = "MESSAGE", conflicts_with = "turns")]
    pub(crate) to: Option<String>,
    /// Take so many prompts back, with what followed them.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) turns: usize,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Delete.
#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    /// The session, by its id or the beginning of it.
    pub(crate) id: String,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Verify.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The session, by its id or the beginning of it.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) id: Option<String>,
    /// All sessions.
    #[arg(long)]
    pub(crate) all: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Repair.
#[derive(Args, Debug)]
pub(crate) struct RepairArgs {
    /// The session, by its id or the beginning of it.
    pub(crate) id: String,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Cost.
#[derive(Args, Debug)]
pub(crate) struct CostArgs {
    /// The session, by its id or the beginning of it; without, all.
    #[arg(conflicts_with = "days")]
    pub(crate) id: Option<String>,
    /// Sessions that were active in so many days.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) days: u64,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a recorded session through today's loop and compare.
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// The session, by its id or the beginning of it.
    pub(crate) id: String,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
