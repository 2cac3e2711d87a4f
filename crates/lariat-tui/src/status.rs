//! The status line: one row that always says what the session waits for.
//!
//! Pure code. The setting `ui.status` names the items and their order; a narrow terminal leaves out the last ones first.

use std::time::Duration;

use lariat_core::usage::Cost;
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{human, text};

/// What a session waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The client connects.
    Connecting,
    /// The connection is lost.
    Reconnecting,
    /// For the next message.
    Idle,
    /// For a message to continue, after a crash.
    Interrupted,
    /// For the model.
    Model,
    /// For the end of a compaction that the user asked for.
    Compaction,
    /// For tools.
    Tool {
        /// The name of the one that runs longest.
        name: String,
        /// How many others run.
        others: usize,
    },
    /// For an answer of the user.
    You {
        /// The number of questions.
        asks: usize,
    },
    /// To call the model again.
    Retry {
        /// How long.
        left: Duration,
        /// Whether the provider limits the rate.
        is_rate_limit: bool,
    },
}

/// What the status line shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status<'a> {
    /// What the session waits for.
    pub waits: Waits,
    /// Since when a run is active.
    pub elapsed: Option<Duration>,
    /// Tokens in the context window, and its size; 0 if it is unknown.
    pub context: (u64, u64),
    /// The number of tasks that are done, and of all; 0 without a task list.
    pub tasks: (usize, usize),
    /// The cost of the session.
    pub cost: Cost,
    /// The cost of the run, if it is known.
    pub run_cost: Option<Cost>,
    /// The permission mode.
    pub mode: &'a str,
    /// The model.
    pub model: &'a str,
    /// The working directory.
    pub directory: &'a str,
    /// The branch that is checked out.
    pub branch: &'a str,
    /// What confines commands.
    pub sandbox: &'a str,
}

/// An item of the status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Item {
    /// What the session waits for.
    Waits,
    /// How long the run is active.
    Elapsed,
    /// The permission mode.
    Mode,
    /// How full the context window is.
    Context,
    /// How many tasks of the agent are done.
    Tasks,
    /// The cost of the session.
    Cost,
    /// The cost of the run.
    RunCost,
    /// The model.
    Model,
    /// The branch that is checked out.
    Branch,
    /// What confines commands.
    Sandbox,
    /// The working directory.
    Directory,
}

/// The items by their names in settings, in the default order.
const ITEMS: [(&str, Item); 11] = [
    ("waits", Item::Waits),
    ("elapsed", Item::Elapsed),
    ("mode", Item::Mode),
    ("context", Item::Context),
    ("tasks", Item::Tasks),
    ("cost", Item::Cost),
    ("model", Item::Model),
    ("branch", Item::Branch),
    ("sandbox", Item::Sandbox),
    ("directory", Item::Directory),
    ("run_cost", Item::RunCost),
];

/// All items in the default order.
pub fn default_items() -> Vec<Item> {
    ITEMS.iter().map(|(_, item)| *item).collect()
}

/// The items with these names, or the default ones if there is no name.
///
/// # Errors
/// If an item has another name; the error lists the valid ones.
pub fn items(names: &[String]) -> Result<Vec<Item>, String> {
    if names.is_empty() {
        return Ok(default_items());
    }
    let item = |name: &String| {
        let found = ITEMS.iter().find(|(known, _)| known == name);
        found.map(|(_, item)| *item).ok_or_else(|| {
            let known: Vec<&str> = ITEMS.iter().map(|(name, _)| *name).collect();
            format!("unknown status item `{name}`; the items are {}", known.join(", "))
        })
    };
    names.iter().map(item).collect()
}

impl Status<'_> {
    /// Renders these items as a row.
    pub fn row(&self, items: &[Item], theme: &Theme) -> String {
        let gap = theme.mark(" · ", " | ");
        let mut parts: Vec<(Style, String)> = items.iter().filter_map(|item| self.part(*item)).collect();
        let width = |parts: &[(Style, String)]| {
            let words: usize = parts.iter().map(|(_, words)| text::width(words)).sum();
            words + text::width(gap) * parts.len().saturating_sub(1)
        };
        while width(&parts) > theme.width && parts.len() > 1 {
            parts.pop();
        }
        let mut pieces = Vec::new();
        for part in parts {
            if !pieces.is_empty() {
                pieces.push((Style::Dim, gap.to_owned()));
            }
            pieces.push(part);
        }
        text::paint_pieces(&pieces, theme.width, theme)
    }

    /// An item as words; `None` if there is nothing to say.
    fn part(&self, item: Item) -> Option<(Style, String)> {
        let last = |path: &str| text::line(path.trim_end_matches('/').rsplit('/').next().unwrap_or_default());
        let (style, words) = match item {
            Item::Waits => self.waits.words(),
            Item::Elapsed => (Style::Dim, self.elapsed.map(human::elapsed)?),
            Item::Mode => (self.mode_style(), text::line(self.mode)),
            Item::Context => self.context_words()?,
            Item::Tasks => {
                let (done, all) = self.tasks;
                (Style::Dim, (all > 0).then(|| format!("{done}/{all} tasks"))?)
            }
            Item::Cost => (Style::Dim, (!self.cost.is_zero()).then(|| human::money(self.cost))?),
            Item::RunCost => {
                let cost = self.run_cost.filter(|cost| !cost.is_zero() && *cost != self.cost)?;
                (Style::Dim, format!("{} this run", human::money(cost)))
            }
            Item::Model => (Style::Dim, last(self.model)),
            Item::Branch => (Style::Dim, text::line(self.branch)),
            Item::Sandbox => (Style::Dim, text::line(self.sandbox)),
            Item::Directory => (Style::Dim, last(self.directory)),
        };
        (!words.is_empty()).then_some((style, words))
    }

    fn context_words(&self) -> Option<(Style, String)> {
        let (used, window) = self.context;
        let percent = used.saturating_mul(100).checked_div(window).filter(|_| used > 0)?;
        let style = if percent >= 80 { Style::Warning } else { Style::Dim };
        Some((style, format!("{percent}% context")))
    }

    fn mode_style(&self) -> Style {
        match self.mode {
            "bypass" | "bypassPermissions" => Style::Bad,
            "plan" => Style::Good,
            _ => Style::Dim,
        }
    }
}

impl Waits {
    /// The words without a time that runs.
    pub fn steady_words(&self) -> (Style, String) {
        match self {
            Self::Idle => (Style::Dim, "ready: type a message".to_owned()),
            Self::Retry { is_rate_limit, .. } => {
                let why = if *is_rate_limit { "rate limit" } else { "model error" };
                (Style::Warning, format!("{why}: waiting to try again"))
            }
            other => other.words(),
        }
    }

    fn words(&self) -> (Style, String) {
        match self {
            Self::Connecting => (Style::Dim, "connecting".to_owned()),
            Self::Reconnecting => (Style::Warning, "connection lost, reconnecting".to_owned()),
            Self::Idle => (Style::Dim, "idle".to_owned()),
            Self::Interrupted => (Style::Warning, "interrupted: send a message to continue".to_owned()),
            Self::Model => (Style::Strong, "waiting for the model".to_owned()),
            Self::Compaction => (Style::Strong, "compacting the conversation".to_owned()),
            Self::Tool { name, others: 0 } => (Style::Strong, format!("running {}", text::line(name))),
            Self::Tool { name, others } => {
                (Style::Strong, format!("running {} and {others} more", text::line(name)))
            }
            Self::You { asks: 1 } => (Style::Warning, "waiting for you".to_owned()),
            Self::You { asks } => (Style::Warning, format!("waiting for you: {asks} questions")),
            Self::Retry { left, is_rate_limit } => {
                let why = if *is_rate_limit { "rate limit" } else { "model error" };
                (Style::Warning, format!("{why}: next try in {}", human::elapsed(*left)))
            }
        }
    }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
