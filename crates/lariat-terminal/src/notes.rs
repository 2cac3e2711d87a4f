//! Describes other run events in one sentence each.
//!
//! Covers events worth a line that have no module of their own. [`note`] returns raw text; [`lines`] neutralises it.

use std::time::Duration;

use crate::theme::{Style, Theme};
use crate::{human, text};
use lariat_core::budget::BudgetScope;
use lariat_core::event::{AgentEvent, CompactionCause, LimitKind};
use lariat_core::usage::Cost;

use crate::outcome::{ending, limit_name};

/// Describes an event; `None` if it needs no line.
pub fn note(event: &AgentEvent) -> Option<(Style, String)> {
    let (style, words) = match event {
        AgentEvent::MessageWithdrawn { .. } => {
            (Style::Warning, "the reply was cut off and discarded; requesting it again".to_owned())
        }
        AgentEvent::ModelRetry { attempt, delay_ms, error } => {
            let wait = human::elapsed(Duration::from_millis(delay_ms.div_ceil(1_000).max(1) * 1_000));
            (Style::Warning, format!("attempt {attempt} failed, retrying in {wait}: {}", first(error)))
        }
        AgentEvent::ModelFallback { from, to, error } => {
            (Style::Warning, format!("{from} failed, continuing with {to}: {}", first(error)))
        }
        AgentEvent::BudgetWarning { limit, used_percent, scope, used, cap, .. } => {
            let (used, cap) = (amount(*limit, *used), amount(*limit, *cap));
            let (scope, name) = (scope_name(*scope), limit_name(*limit));
            (
                Style::Warning,
                format!("{used_percent} % of the {name} limit for {scope} is used: {used} of {cap}"),
            )
        }
        AgentEvent::BudgetExtended { scope, by, .. } => {
            (Style::Dim, format!("{by} raised the budget for {}", scope_name(*scope)))
        }
        AgentEvent::LimitReached { note, .. } => (Style::Warning, note.clone()),
        AgentEvent::Compaction { cause, tokens_before, tokens_after, .. } => {
            let (before, after) = (human::count(*tokens_before), human::count(*tokens_after));
            (
                Style::Dim,
                format!("compacted the context ({}): {before} to {after} tokens", cause_name(*cause)),
            )
        }
        AgentEvent::CompactionRefused { reason, .. } => {
            (Style::Warning, format!("could not compact the context: {}", first(reason)))
        }
        AgentEvent::CompactionUndone { .. } => (Style::Dim, "a compaction was undone".to_owned()),
        AgentEvent::HookStopped { reason } => (Style::Warning, format!("a hook stopped the run: {reason}")),
        AgentEvent::HookMessage { message } => (Style::Plain, format!("hook: {message}")),
        AgentEvent::StopBlocked { reason, .. } => {
            (Style::Dim, format!("a hook asked the model to continue: {}", first(reason)))
        }
        AgentEvent::InputRejected { reason } => (Style::Bad, format!("the prompt was rejected: {reason}")),
        AgentEvent::InputWarned { warning } => (Style::Warning, warning.clone()),
        AgentEvent::RepetitionDetected { tool_name, count, .. } => (
            Style::Warning,
            format!(
                "the model is repeating itself: {tool_name}, {}",
                human::counted(*count, "time", "times")
            ),
        ),
        AgentEvent::PlanChangeQueued { summary, .. } => {
            (Style::Dim, format!("planned, not applied: {}", first(summary)))
        }
        AgentEvent::SubAgentSpawned { task, .. } => {
            (Style::Dim, format!("subagent started: {}", first(task)))
        }
        AgentEvent::SubAgentCompleted { outcome, usage, .. } => {
            let how = ending(outcome).map_or_else(|| "finished".to_owned(), |(_, words)| words);
            (Style::Dim, format!("subagent {how} ({} tokens)", human::count(usage.total())))
        }
        AgentEvent::FindingShared(finding) => {
            (Style::Dim, format!("{} found: {}", finding.agents.join("/"), first(&finding.text)))
        }
        AgentEvent::LoopRecovered { interrupted, .. } if !interrupted.is_empty() => {
            let calls = human::counted(interrupted.len(), "tool call was", "tool calls were");
            (Style::Warning, format!("resumed after a crash; {calls} running, outcome unknown"))
        }
        AgentEvent::LoopRecovered { .. } => (Style::Dim, "resumed after a crash".to_owned()),
        AgentEvent::JournalUnavailable { error, unsaved } => {
            let events = human::counted(*unsaved, "event waiting", "events waiting");
            (Style::Bad, format!("could not save the session, retrying ({events}): {}", first(error)))
        }
        AgentEvent::JournalRestored => (Style::Good, "saving the session works again".to_owned()),
        _ => return None,
    };
    Some((style, words))
}

/// A note as lines after a mark.
pub fn lines((style, words): &(Style, String), theme: &Theme) -> String {
    let mark = theme.mark("▸ ", "> ");
    let room = theme.width.saturating_sub(text::width(mark));
    let lines = text::lines(words.trim()).flat_map(|line| text::wrap(&line, room));
    let mut shown = String::new();
    for (at, line) in lines.enumerate() {
        let start = if at == 0 { mark } else { "  " };
        shown.push_str(&theme.paint(*style, &format!("{start}{line}")));
        shown.push('\n');
    }
    shown
}

fn first(words: &str) -> &str {
    words.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

fn amount(limit: LimitKind, amount: u64) -> String {
    match limit {
        LimitKind::Cost => human::money(Cost::from_nano_usd(amount)),
        LimitKind::Duration => human::duration(Duration::from_millis(amount)),
        _ => human::count(amount),
    }
}

const fn scope_name(scope: BudgetScope) -> &'static str {
    match scope {
        BudgetScope::Run => "this run",
        BudgetScope::Session => "this session",
        BudgetScope::Day => "today",
        BudgetScope::Pool => "these runs",
        _ => "this",
    }
}

const fn cause_name(cause: CompactionCause) -> &'static str {
    match cause {
        CompactionCause::Threshold => "the context window is nearly full",
        CompactionCause::Emergency => "the context window is full",
        CompactionCause::Overflow => "the request was too large",
        CompactionCause::Manual => "requested",
    }
}

#[cfg(test)]
#[path = "notes_tests.rs"]
mod tests;
