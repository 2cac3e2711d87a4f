//! Describes how a run ended and what it used.
//!
//! The text may contain an untrusted error; the caller neutralises it.

use std::time::Duration;

use lariat_core::budget::BudgetScope;
use lariat_core::event::{LimitKind, RunOutcome};
use lariat_core::usage::Usage;

use crate::theme::{Style, Theme};
use crate::{human, text};

/// What a run used: turns, tokens, cost and time.
pub fn figures(turns: u32, usage: &Usage, duration: Duration) -> Vec<String> {
    let mut figures = vec![
        human::counted(turns, "turn", "turns"),
        format!("{} in, {} out", human::count(usage.context()), human::count(usage.output)),
    ];
    if usage.cache_read > 0 {
        figures.push(format!("{} % cached", (usage.cache_hit_rate() * 100.0) as u64));
    }
    if !usage.cost.is_zero() {
        figures.push(human::money(usage.cost));
    }
    figures.push(human::duration(duration));
    figures
}

/// Figures in lines, wrapped between figures.
pub fn figure_lines(figures: Vec<String>, theme: &Theme) -> String {
    let dot = theme.mark(" · ", " - ");
    let room = theme.width.saturating_sub(text::width(dot));
    let mut shown = String::new();
    let mut line = String::new();
    for figure in figures {
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
    shown
}

/// Why a run ended; `None` if it completed. The text is not neutralised.
pub fn ending(outcome: &RunOutcome) -> Option<(Style, String)> {
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
pub fn limit_words(limit: LimitKind, scope: BudgetScope) -> String {
    let what = limit_name(limit);
    match scope {
        BudgetScope::Run => format!("the run reached its {what} limit"),
        BudgetScope::Session => format!("the session reached its {what} budget"),
        BudgetScope::Day => format!("today's {what} budget is used up"),
        _ => format!("the {what} budget of these runs is used up"),
    }
}

/// The name of a limit, as in `turn limit`.
pub const fn limit_name(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::Turns => "turn",
        LimitKind::Tokens => "token",
        LimitKind::Duration => "time",
        LimitKind::Cost => "cost",
        LimitKind::ToolCalls => "tool call",
        _ => "budget",
    }
}
