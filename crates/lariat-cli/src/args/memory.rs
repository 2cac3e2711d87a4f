//! Arguments of `lariat memory`.

use clap::{Args, Subcommand, ValueEnum};
use lariat_service::project_memory::MemoryKind;

use super::manage::JsonArgs;

#[derive(Args, Debug)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    pub(crate) command: MemoryCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List what Lariat remembers about this project, and what waits for you.
    #[command(visible_alias = "ls")]
    List(MemoryListArgs),
    /// Show one entry with its origin.
    Show(MemoryShowArgs),
    /// Add a fact, a goal or a learning.
    Add(MemoryAddArgs),
    /// Approve proposals, so that later sessions receive them.
    Approve(MemoryIdsArgs),
    /// Mark goals as done.
    Done(MemoryIdsArgs),
    /// Remove entries or proposals.
    #[command(visible_alias = "rm")]
    Remove(MemoryIdsArgs),
    /// Search earlier sessions of this directory for words.
    Search(MemorySearchArgs),
    /// Print the path of the memory file, to edit it.
    Path(JsonArgs),
    /// Turn memory off for this project; entries stay.
    Off(JsonArgs),
    /// Turn memory on again for this project.
    On(JsonArgs),
}

/// Kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryKindArg {
    /// A fact about the project.
    Fact,
    /// A goal that several sessions work towards.
    Goal,
    /// Something learned from a mistake or a failure.
    Learning,
}

impl From<MemoryKindArg> for MemoryKind {
    fn from(kind: MemoryKindArg) -> Self {
        match kind {
            MemoryKindArg::Fact => Self::Fact,
            MemoryKindArg::Goal => Self::Goal,
            MemoryKindArg::Learning => Self::Learning,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct MemoryListArgs {
    /// Show only entries of this kind.
    #[arg(long, value_enum)]
    pub(crate) kind: Option<MemoryKindArg>,
    /// Show only proposals.
    #[arg(long)]
    pub(crate) proposed: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct MemoryShowArgs {
    /// Id, as shown by `lariat memory list`.
    pub(crate) id: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct MemoryAddArgs {
    /// Text to remember, at most 1,000 characters.
    #[arg(required = true)]
    pub(crate) text: Vec<String>,
    /// Kind of the entry.
    #[arg(long, value_enum, default_value_t = MemoryKindArg::Fact)]
    pub(crate) kind: MemoryKindArg,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct MemoryIdsArgs {
    /// Ids, as shown by `lariat memory list`.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct MemorySearchArgs {
    /// Words to find.
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
