//! Chooses what compaction removes: old tool output first, then the oldest part of the middle.
//!
//! The goal is half of the context window. Messages are grouped into whole steps, so that an exchange is
//! never split. Invariant: messages that must stay unchanged do, and older messages are removed before newer
//! ones.

use std::ops::Range;

use super::compaction::CompactionQuery;
use super::verbatim::VerbatimMessages;
use super::{message_tokens, summary};
use crate::content::Content;
use crate::event::{CompactionCause, CompactionEdit};
use crate::message::{AgentMessage, SharedMessage};

/// Approximate tokens of the note that replaces a cleared output.
const NOTE_TOKENS: u64 = 32;
/// A line of output longer than this many bytes is treated as several lines.
const LINE_BYTES: usize = 120;

/// A compaction plan, built tier by tier.
#[derive(Debug)]
pub struct CompactionPlan<'a> {
    query: &'a CompactionQuery,
    messages: Vec<&'a SharedMessage>,
    /// Estimated tokens of each message after the steps planned so far.
    sizes: Vec<u64>,
    verbatim: VerbatimMessages,
    /// Estimated tokens before compaction.
    before: u64,
    goal: u64,
    cleared: Vec<usize>,
    /// Ranges of messages that the summary replaces, and the tokens of the summary.
    replaced: Vec<Range<usize>>,
    summary: u64,
}

impl<'a> CompactionPlan<'a> {
    /// Creates an empty plan.
    pub fn new(query: &'a CompactionQuery) -> Self {
        let messages: Vec<&SharedMessage> = query.window.iter().collect();
        let sizes: Vec<u64> = messages.iter().map(|message| message_tokens(message)).collect();
        let before = query.config.system_prompt_tokens as u64 + sizes.iter().sum::<u64>();
        // Well below the threshold, so that the next turns do not compact again. After an overflow, the
        // estimate was wrong or the real window is smaller than configured, so halve the actual size whatever
        // the window is.
        let mut goal = query.config.max_context_tokens as u64 / 2;
        if matches!(query.cause, CompactionCause::Overflow | CompactionCause::Manual) {
            goal = goal.min(query.tokens / 2);
        }
        // The tokens of the request are measured differently from the estimate here, so keep the proportion.
        let goal = scale(goal, before, query.tokens.max(1));
        // The check refuses edits that save less than a fifth.
        let goal = if goal < before { goal.min(before * 4 / 5) } else { goal };
        let verbatim = query.verbatim();
        let (cleared, replaced) = (Vec::new(), Vec::new());
        Self { query, messages, sizes, verbatim, before, goal, cleared, replaced, summary: 0 }
    }

    /// Returns the estimated tokens after the steps planned so far.
    pub fn tokens(&self) -> u64 {
        self.query.config.system_prompt_tokens as u64 + self.sizes.iter().sum::<u64>() + self.summary
    }

    /// Returns whether the steps planned so far reach the goal.
    pub fn is_enough(&self) -> bool {
        self.tokens() <= self.goal
    }

    /// Returns the maximum tokens for the text of a summary; a longer one would save too little.
    pub fn max_summary_tokens(&self) -> u64 {
        (self.before * 4 / 5).saturating_sub(self.tokens())
    }

    /// First tier: clears long tool outputs, oldest first, as many as needed.
    pub fn clear_outputs(&mut self) {
        let mut excess = self.tokens().saturating_sub(self.goal);
        for (at, message) in self.messages.iter().enumerate() {
            if excess == 0 {
                return;
            }
            let saves = self.sizes.get(at).copied().unwrap_or_default().saturating_sub(NOTE_TOKENS);
            let long = is_long(message, self.query.config.tool_output_max_lines);
            if saves == 0 || !long || self.verbatim.contains(message.id()) {
                continue;
            }
            if let Some(size) = self.sizes.get_mut(at) {
                *size -= saves;
            }
            self.cleared.push(at);
            excess = excess.saturating_sub(saves);
        }
    }

    /// Last tier: replaces whole steps of the middle with a summary, oldest first, as many as needed.
    pub fn summarise_middle(&mut self) {
        self.summary = super::estimate_tokens(&summary::text(self.query, None, &[]));
        let mut excess = self.tokens().saturating_sub(self.goal);
        let steps = steps(&self.messages);
        // Whether a model can be called depends on the last step that it sees, so that step stays.
        let seen = |step: &Range<usize>| {
            self.messages
                .get(step.clone())
                .unwrap_or_default()
                .iter()
                .any(|message| message.as_llm().is_some())
        };
        let end = steps.iter().rposition(seen).unwrap_or_default();
        for step in steps.into_iter().take(end) {
            if excess == 0 {
                return;
            }
            let of_step = self.messages.get(step.clone()).unwrap_or_default();
            if of_step.iter().any(|message| self.verbatim.contains(message.id())) {
                continue;
            }
            for size in self.sizes.get_mut(step.clone()).into_iter().flatten() {
                excess = excess.saturating_sub(std::mem::take(size));
            }
            match self.replaced.last_mut().filter(|last| last.end == step.start) {
                Some(last) => last.end = step.end,
                None => self.replaced.push(step),
            }
        }
    }

    /// Returns the messages that the summary replaces, in order.
    pub fn middle(&self) -> impl Iterator<Item = &'a SharedMessage> {
        let range = |range: &Range<usize>| self.messages.get(range.clone()).unwrap_or_default();
        self.replaced.iter().flat_map(range).copied()
    }

    /// Returns the edits. A summary with `words` and the work log replaces the middle.
    pub fn edits(&self, words: Option<&str>) -> Vec<CompactionEdit> {
        let is_replaced = |at: &usize| self.replaced.iter().any(|range| range.contains(at));
        let kept = self.cleared.iter().filter(|at| !is_replaced(at)).filter_map(|at| self.messages.get(*at));
        let mut edits: Vec<CompactionEdit> =
            kept.map(|message| CompactionEdit::ClearToolOutput { message: message.id() }).collect();
        let middle: Vec<&SharedMessage> = self.middle().collect();
        let mut text_of_summary = (!middle.is_empty()).then(|| summary::text(self.query, words, &middle));
        for range in &self.replaced {
            let of_range = self.messages.get(range.clone()).unwrap_or_default();
            let (Some(first), Some(last)) = (of_range.first(), of_range.last()) else { continue };
            let (first, last) = (first.id(), last.id());
            edits.push(match text_of_summary.take() {
                Some(text) => {
                    let summary = SharedMessage::new(AgentMessage::summary(text));
                    CompactionEdit::Summarise { first, last, summary }
                }
                None => CompactionEdit::Drop { first, last },
            });
        }
        edits
    }
}

/// Returns `value` times `by` divided by `of`.
fn scale(value: u64, by: u64, of: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(by) / u128::from(of)).unwrap_or(u64::MAX)
}

/// Returns whether a message is a tool output that is longer than the first tier keeps.
fn is_long(message: &AgentMessage, most_lines: usize) -> bool {
    let Some(result) = message.as_tool_result() else { return false };
    let lines = |text: &str| text.lines().map(|line| 1 + line.len() / LINE_BYTES).sum::<usize>();
    let texts = result.content.iter().filter_map(Content::as_text);
    let images = result.content.iter().any(|block| matches!(block, Content::Image { .. }));
    images || texts.map(lines).sum::<usize>() > most_lines
}

/// Groups a conversation into whole steps: a message, with the results of its tool calls.
fn steps(messages: &[&SharedMessage]) -> Vec<Range<usize>> {
    let mut steps: Vec<Range<usize>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        match steps.last_mut() {
            Some(step) if message.as_tool_result().is_some() => step.end = at + 1,
            _ => steps.push(at..at + 1),
        }
    }
    steps
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
