//! Validates successive requests at a cost that does not grow with the conversation.
//!
//! Remembers what it validated before. If a request only adds to the last one, it validates what was added;
//! any other request (compacted, forked, rewound, of another session) is validated from the start.
//! Invariant: the result equals that of [`super::strict::validate`].

use std::sync::Arc;

use lariat_core::message::SharedMessage;
use lariat_core::model::StreamConfig;
use lariat_core::tool::ToolDefinition;
use lariat_core::transcript::Window;

use super::strict::{Validation, Violation, validate_tools};

/// Validates the successive requests of one conversation.
#[derive(Debug, Default)]
pub struct StrictChecker {
    validation: Validation,
    seen: Window,
    /// Kept alive, not only compared: a new list could be allocated at the address of a freed one.
    tools: Option<Arc<[ToolDefinition]>>,
    tool_violations: Vec<Violation>,
    judged: u64,
}

impl StrictChecker {
    /// Creates a checker without history.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything that an API would reject in a request.
    pub fn check(&mut self, request: &StreamConfig) -> Vec<Violation> {
        if !self.tools.as_ref().is_some_and(|tools| Arc::ptr_eq(tools, &request.tools)) {
            self.tool_violations = validate_tools(&request.tools);
            self.tools = Some(Arc::clone(&request.tools));
        }
        let mut violations = self.check_window(&request.messages);
        violations.extend_from_slice(&self.tool_violations);
        violations
    }

    /// Everything that an API would reject in a conversation.
    pub fn check_window(&mut self, window: &Window) -> Vec<Violation> {
        let fresh = match self.added(window) {
            Some(added) => added,
            None => {
                self.validation = Validation::default();
                window.iter().collect()
            }
        };
        self.judged += fresh.len() as u64;
        fresh.iter().filter_map(|message| message.as_llm()).for_each(|message| self.validation.add(message));
        self.seen = window.clone();
        self.validation.verdict()
    }

    /// Number of messages validated so far; grows with what is new, not with the conversation.
    pub const fn validated_count(&self) -> u64 {
        self.judged
    }

    /// The messages that a window adds to the last one; `None` if it does not continue the last one.
    fn added<'a>(&self, window: &'a Window) -> Option<Vec<&'a SharedMessage>> {
        let count = window.len().checked_sub(self.seen.len())?;
        let unshared = window.len() - self.seen.shared_prefix(window);
        let mut newest: Vec<&SharedMessage> = window.iter_back().take(unshared).collect();
        // After the shared chunks, compare message by message.
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
