//! Strictness that costs the same on turn ten and on turn ten thousand.
//!
//! Owns the memory of what was judged before. A request that only adds to the last one is judged by what it adds;
//! any other (compacted, forked, rewound, of another session) is judged from its start.
//! Invariant: the answer is the one [`super::strict::validate`] would give.

use std::sync::Arc;

use lariat_core::message::SharedMessage;
use lariat_core::model::StreamConfig;
use lariat_core::tool::ToolDefinition;
use lariat_core::transcript::Window;

use super::strict::{Judge, Violation, validate_tools};

/// Validates the successive requests of one conversation.
#[derive(Debug, Default)]
pub struct StrictChecker {
    judge: Judge,
    seen: Window,
    /// Held, not only compared: a freed list could come back at the same address with other tools.
    tools: Option<Arc<[ToolDefinition]>>,
    tool_violations: Vec<Violation>,
    judged: u64,
}

impl StrictChecker {
    /// A checker that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything an API would reject in a request.
    pub fn check(&mut self, request: &StreamConfig) -> Vec<Violation> {
        if !self.tools.as_ref().is_some_and(|tools| Arc::ptr_eq(tools, &request.tools)) {
            self.tool_violations = validate_tools(&request.tools);
            self.tools = Some(Arc::clone(&request.tools));
        }
        let mut violations = self.check_window(&request.messages);
        violations.extend_from_slice(&self.tool_violations);
        violations
    }

    /// Everything an API would reject in a conversation.
    pub fn check_window(&mut self, window: &Window) -> Vec<Violation> {
        let fresh = match self.added(window) {
            Some(added) => added,
            None => {
                self.judge = Judge::default();
                window.iter().collect()
            }
        };
        self.judged += fresh.len() as u64;
        fresh.iter().filter_map(|message| message.as_llm()).for_each(|message| self.judge.hear(message));
        self.seen = window.clone();
        self.judge.verdict()
    }

    /// Messages looked at so far; grows with what is new, not with the conversation.
    pub const fn judged(&self) -> u64 {
        self.judged
    }

    /// What a window has after everything seen before; `None` when it is not a continuation of that.
    fn added<'a>(&self, window: &'a Window) -> Option<Vec<&'a SharedMessage>> {
        let count = window.len().checked_sub(self.seen.len())?;
        let unshared = window.len() - self.seen.shared_prefix(window);
        let mut newest: Vec<&SharedMessage> = window.iter_back().take(unshared).collect();
        // Behind the shared chunks: the same messages, one by one.
        let known = newest.get(count..)?;
        let same = self.seen.iter_back().zip(known).all(|(old, new)| Arc::ptr_eq(old, new));
        newest.truncate(count);
        newest.reverse();
        same.then_some(newest)
    }
}

#[cfg(test)]
#[path = "checker_tests.rs"]
mod tests;
