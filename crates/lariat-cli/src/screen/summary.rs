//! Summarizes a run in one or two lines.
//!
//! The figures come from the run; nothing is counted here.

use std::time::Duration;

use lariat_core::event::RunOutcome;
use lariat_core::session::{ChangeKind, FileChange};
use lariat_core::usage::Usage;
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{human, outcome, text};

#[derive(Clone, Debug)]
pub(crate) struct Summary<'a> {
    pub(crate) outcome: &'a RunOutcome,
    pub(crate) turns: u32,
    pub(crate) usage: Usage,
    pub(crate) duration: Duration,
    /// Files that the run changed.
    pub(crate) files: &'a [FileChange],
    /// The session id; `None` if the session is not saved.
    pub(crate) session: Option<&'a str>,
}

impl<'a> Summary<'a> {
    /// The summary, after an empty line on a terminal. Wraps between figures.
    pub(crate) fn lines(&self, theme: &Theme) -> String {
        let mut shown = if theme.is_terminal { "\n".to_owned() } else { String::new() };
        shown.push_str(&self.ending(theme));
        shown.push_str(&outcome::figure_lines(self.figures(), theme));
        if let Some(session) = self.session {
            // Users copy the command, so it is never cut.
            let resume = format!("continue: lariat run --resume {}", text::line(session));
            shown.push_str(&theme.paint(Style::Dim, &resume));
            shown.push('\n');
        }
        shown
    }

    /// Why it ended, unless it completed.
    fn ending(&self, theme: &Theme) -> String {
        // The error that follows is more detailed.
        if matches!(self.outcome, RunOutcome::Failed { .. }) {
            return String::new();
        }
        let Some((style, words)) = outcome::ending(self.outcome) else { return String::new() };
        let mark = theme.mark("■ ", "* ");
        let words = text::wrap(&text::line(&words), theme.width.saturating_sub(2));
        let line = |(at, words): (usize, &String)| {
            format!("{}\n", theme.paint(style, &format!("{}{words}", if at == 0 { mark } else { "  " })))
        };
        words.iter().enumerate().map(line).collect()
    }

    fn figures(&self) -> Vec<String> {
        let mut figures = outcome::figures(self.turns, &self.usage, self.duration);
        if !self.files.is_empty() {
            figures.push(files(self.files));
        }
        figures
    }
}

/// The number of changed files, with names if there are few.
fn files(files: &[FileChange]) -> String {
    const NAMED: usize = 3;
    let sign = |change| match change {
        ChangeKind::Added => "+",
        ChangeKind::Modified => "",
        ChangeKind::Deleted => "-",
    };
    let changed = format!("{} changed", human::counted(files.len(), "file", "files"));
    if files.len() > NAMED {
        return changed;
    }
    let names: Vec<String> =
        files.iter().map(|file| format!("{}{}", sign(file.change), text::line(&file.path))).collect();
    format!("{changed}: {}", names.join(", "))
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
