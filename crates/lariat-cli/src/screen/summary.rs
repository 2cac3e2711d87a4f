//! Summarizes a run in one or two lines.
//!
//! The figures come from the run; nothing is counted here.

use std::time::Duration;

use lariat_core::budget::BudgetScope;
use lariat_core::event::{LimitKind, RunOutcome};
use lariat_core::usage::Usage;
use lariat_runtime::{ChangeKind, FileChange};
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{human, text};

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
        let dot = theme.mark(" · ", " - ");
        let mut shown = if theme.is_terminal { "\n".to_owned() } else { String::new() };
        shown.push_str(&self.ending(theme));
        let mut line = String::new();
        for figure in self.figures() {
            let room = theme.width.saturating_sub(text::width(dot));
            if line.is_empty() {
                line = figure;
            } else if text::width(&line) + text::width(&figure) <= room {
                line.extend([dot, &figure]);
            } else {
                shown.push_str(&theme.paint(Style::Dim, &line));
                shown.push('\n');
                line = figure;
            }
        }
        shown.push_str(&theme.paint(Style::Dim, &text::cut(&line, theme.width, theme)));
        shown.push('\n');
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
        let Some((style, words)) = ending(self.outcome) else { return String::new() };
        let mark = theme.mark("■ ", "* ");
        let words = text::wrap(&text::line(&words), theme.width.saturating_sub(2));
        let line = |(at, words): (usize, &String)| {
            format!("{}\n", theme.paint(style, &format!("{}{words}", if at == 0 { mark } else { "  " })))
        };
        words.iter().enumerate().map(line).collect()
    }

    fn figures(&self) -> Vec<String> {
        let Usage { output, .. } = self.usage;
        let mut figures = vec![
            human::counted(self.turns, "turn", "turns"),
            format!("{} in, {} out", human::count(self.usage.context()), human::count(output)),
        ];
        if self.usage.cache_read > 0 {
            figures.push(format!("{} % cached", (self.usage.cache_hit_rate() * 100.0) as u64));
        }
        if !self.usage.cost.is_zero() {
            figures.push(human::money(self.usage.cost));
        }
        figures.push(human::duration(self.duration));
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

/// Why a run ended; `None` if it completed. The text is not neutralised.
pub(crate) fn ending(outcome: &RunOutcome) -> Option<(Style, String)> {
    let words = match outcome {
        RunOutcome::Completed => return None,
        RunOutcome::Aborted => return Some((Style::Warning, "stopped; the session is saved".to_owned())),
        RunOutcome::Rejected => "the prompt was rejected".to_owned(),
        RunOutcome::StoppedByHook => "stopped by a hook".to_owned(),
        RunOutcome::LimitReached { limit, scope } => {
            return Some((Style::Warning, format!("stopped: {}", limit_words(*limit, *scope))));
        }
        RunOutcome::Repetition => "stopped: the model kept repeating itself".to_owned(),
        RunOutcome::ContextFull(full) => full.to_string(),
        RunOutcome::Failed { error } => format!("failed: {error}"),
        other => format!("ended: {other:?}"),
    };
    Some((Style::Bad, words))
}

/// Describes the limit that ended a run.
pub(crate) fn limit_words(limit: LimitKind, scope: BudgetScope) -> String {
    let what = limit_name(limit);
    match scope {
        BudgetScope::Run => format!("the run reached its {what} limit"),
        BudgetScope::Session => format!("the session reached its {what} budget"),
        BudgetScope::Day => format!("today's {what} budget is used up"),
        _ => format!("the {what} budget of these runs is used up"),
    }
}

/// The name of a limit, as in `turn limit`.
pub(crate) const fn limit_name(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::Turns => "turn",
        LimitKind::Tokens => "token",
        LimitKind::Duration => "time",
        LimitKind::Cost => "cost",
        LimitKind::ToolCalls => "tool call",
        _ => "budget",
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
