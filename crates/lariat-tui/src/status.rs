//! The status line: one row that always says what the session waits for.
//!
//! Pure code. A narrow terminal leaves out the least important facts first; what the session waits for stays.

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
    /// For tools.
    Tool {
        /// The name of the one that runs longest.
        name: String,
        /// How many others run.
        others: usize,
    },
    /// For an answer of the person.
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
    /// The cost of the session.
    pub cost: Cost,
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

/// A fact with its rank: the one with the highest is left out first.
struct Part {
    rank: u8,
    style: Style,
    words: String,
}

impl Status<'_> {
    /// Renders the row.
    pub fn row(&self, theme: &Theme) -> String {
        let mut parts = self.parts();
        let gap = theme.mark(" · ", " | ");
        let width = |parts: &[Part]| {
            let words: usize = parts.iter().map(|part| text::width(&part.words)).sum();
            words + text::width(gap) * parts.len().saturating_sub(1)
        };
        while width(&parts) > theme.width && parts.len() > 1 {
            let least = parts.iter().map(|part| part.rank).max();
            parts.retain(|part| Some(part.rank) != least);
        }
        let mut pieces = Vec::new();
        for part in parts {
            if !pieces.is_empty() {
                pieces.push((Style::Dim, gap.to_owned()));
            }
            pieces.push((part.style, part.words));
        }
        text::paint_pieces(&pieces, theme.width, theme)
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut add = |rank, style, words: String| {
            if !words.is_empty() {
                parts.push(Part { rank, style, words });
            }
        };
        let (style, words) = self.waits.words();
        add(0, style, words);
        add(1, Style::Dim, self.elapsed.map(human::elapsed).unwrap_or_default());
        add(2, self.mode_style(), text::line(self.mode));
        let (used, window) = self.context;
        let percent = used.saturating_mul(100).checked_div(window).filter(|_| used > 0);
        let context = percent.map(|percent| format!("{percent}% context")).unwrap_or_default();
        let fill = if percent.is_some_and(|percent| percent >= 80) { Style::Warning } else { Style::Dim };
        add(3, fill, context);
        add(4, Style::Dim, if self.cost.is_zero() { String::new() } else { human::money(self.cost) });
        let model = self.model.rsplit('/').next().unwrap_or_default();
        add(5, Style::Dim, text::line(model));
        add(7, Style::Dim, text::line(self.sandbox));
        let directory = self.directory.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        add(8, Style::Dim, text::line(directory));
        add(6, Style::Dim, text::line(self.branch));
        parts
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
    fn words(&self) -> (Style, String) {
        match self {
            Self::Connecting => (Style::Dim, "connecting".to_owned()),
            Self::Reconnecting => (Style::Warning, "connection lost, reconnecting".to_owned()),
            Self::Idle => (Style::Dim, "idle".to_owned()),
            Self::Interrupted => (Style::Warning, "interrupted: send a message to continue".to_owned()),
            Self::Model => (Style::Strong, "waiting for the model".to_owned()),
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
