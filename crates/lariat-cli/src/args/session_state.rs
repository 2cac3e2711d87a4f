//! Arguments of the commands that change the state of one session: `plan`, `compact`, `pin`, `unpin`, `checkpoint`, `restore`,
//! `budget` and `goals`.

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    pub(crate) command: PlanCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Show the changes that plan mode queued, with diffs.
    #[command(after_help = "Example: lariat plan show")]
    Show(PlanShowArgs),
    /// Approve queued changes and apply them; changes that you do not name stay queued.
    #[command(
        override_usage = "lariat plan approve [OPTIONS] [SESSION] [CHANGE]...",
        after_help = "Example: lariat plan approve 1 3"
    )]
    Approve(PlanChoiceArgs),
    /// Reject queued changes; changes that you do not name stay queued.
    #[command(
        override_usage = "lariat plan reject [OPTIONS] [SESSION] [CHANGE]...",
        after_help = "Example: lariat plan reject 2"
    )]
    Reject(PlanChoiceArgs),
}

#[derive(Args, Debug)]
pub(crate) struct PlanShowArgs {
    /// Session id or unique prefix [default: the newest of this directory].
    pub(crate) session: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PlanChoiceArgs {
    /// Session id or unique prefix [default: the newest of this directory], then changes by number or tool call id [default: all]; a
    /// first word of up to three digits is a change.
    #[arg(value_name = "SESSION or CHANGE")]
    pub(crate) words: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl PlanChoiceArgs {
    /// The session, and the changes. A first word of at most three digits is the number of a change.
    pub(crate) fn split(&self) -> (Option<&str>, &[String]) {
        let is_number = |word: &String| word.len() <= 3 && word.chars().all(|digit| digit.is_ascii_digit());
        match self.words.split_first() {
            Some((first, changes)) if !is_number(first) => (Some(first), changes),
            _ => (None, &self.words),
        }
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example: lariat compact --focus \"keep the failing test names\"")]
pub(crate) struct CompactArgs {
    /// Session id or unique prefix [default: the newest of this directory].
    pub(crate) session: Option<String>,
    /// Show what would be compacted, and change nothing.
    #[arg(long, conflicts_with = "undo")]
    pub(crate) preview: bool,
    /// Undo the newest compaction.
    #[arg(long)]
    pub(crate) undo: bool,
    /// Tell the model what its summary must keep.
    #[arg(long, value_name = "TEXT", conflicts_with = "undo")]
    pub(crate) focus: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: lariat pin 0c0ffee0 019a3c5e")]
pub(crate) struct PinArgs {
    /// Session id or unique prefix.
    pub(crate) session: String,
    /// Message id or unique prefix, as shown by `lariat sessions show`.
    pub(crate) message: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: lariat checkpoint before-refactoring")]
pub(crate) struct CheckpointArgs {
    /// Name of the checkpoint [default: checkpoint-N].
    pub(crate) label: Option<String>,
    /// Session id or unique prefix [default: the newest of this directory].
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// List the checkpoints of the session.
    #[arg(long, conflicts_with = "label")]
    pub(crate) list: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: lariat restore before-refactoring --files")]
pub(crate) struct RestoreArgs {
    /// Name of the checkpoint, as shown by `lariat checkpoint --list`; the newest with this name.
    pub(crate) label: String,
    /// Session id or unique prefix [default: the newest of this directory].
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Restore only the conversation.
    #[arg(long, group = "part")]
    pub(crate) conversation: bool,
    /// Restore only the files.
    #[arg(long, group = "part")]
    pub(crate) files: bool,
    /// Restore the conversation and the files [default].
    #[arg(long, group = "part")]
    pub(crate) both: bool,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BudgetArgs {
    #[command(subcommand)]
    pub(crate) command: BudgetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BudgetCommand {
    /// Show the limits of a session and what it spent.
    #[command(after_help = "Example: lariat budget show")]
    Show(BudgetShowArgs),
    /// Raise the limits of a session.
    #[command(after_help = "Example: lariat budget extend --cost 2.50")]
    Extend(BudgetExtendArgs),
}

#[derive(Args, Debug)]
pub(crate) struct BudgetShowArgs {
    /// Session id or unique prefix [default: the newest of this directory].
    pub(crate) session: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BudgetExtendArgs {
    /// Session id or unique prefix [default: the newest of this directory].
    pub(crate) session: Option<String>,
    /// Add this many US dollars.
    #[arg(long, value_name = "USD", group = "more", allow_negative_numbers = true)]
    pub(crate) cost: Option<f64>,
    /// Add this many tokens.
    #[arg(long, value_name = "N", group = "more")]
    pub(crate) tokens: Option<u64>,
    /// Add this many turns (model requests).
    #[arg(long, value_name = "N", group = "more")]
    pub(crate) turns: Option<u64>,
    /// Add this many tool calls.
    #[arg(long, value_name = "N", group = "more")]
    pub(crate) tool_calls: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct GoalsArgs {
    /// Subcommand [default: list].
    #[command(subcommand)]
    pub(crate) command: Option<GoalsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GoalsCommand {
    /// List the goals of all sessions.
    #[command(visible_alias = "ls", after_help = "Example: lariat goals list")]
    List(GoalsListArgs),
    /// Set a goal for a session.
    #[command(after_help = "Example: lariat goals add \"all tests pass on Windows\"")]
    Add(GoalsAddArgs),
    /// Mark a goal as reached.
    #[command(after_help = "Example: lariat goals done 4f2a")]
    Done(GoalArgs),
    /// Give up a goal.
    #[command(after_help = "Example: lariat goals drop 4f2a")]
    Drop(GoalArgs),
}

#[derive(Args, Debug, Default)]
pub(crate) struct GoalsListArgs {
    /// Include goals that were reached or given up.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct GoalsAddArgs {
    /// Description of the goal.
    #[arg(required = true)]
    pub(crate) text: Vec<String>,
    /// Session id or unique prefix [default: the newest of this directory].
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct GoalArgs {
    /// Goal id or unique prefix, as shown by `lariat goals list --all`.
    pub(crate) goal: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_short_number_is_a_change_and_not_a_session() {
        let split = |words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            let args = PlanChoiceArgs { words, json: false };
            let (session, changes) = args.split();
            (session.map(str::to_owned), changes.to_vec())
        };
        assert_eq!(split(&[]), (None, vec![]));
        assert_eq!(split(&["1", "3"]), (None, vec!["1".to_owned(), "3".to_owned()]));
        assert_eq!(split(&["0a1b", "3"]), (Some("0a1b".to_owned()), vec!["3".to_owned()]));
        assert_eq!(split(&["12345678"]), (Some("12345678".to_owned()), vec![]));
    }
}
