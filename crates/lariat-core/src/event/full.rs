//! What is said about a conversation that does not fit its window.
//!
//! Owns the typed end of such a run: an embedder can match on it and tell a person what is too big.

use serde::{Deserialize, Serialize};

use crate::id::MessageId;

/// A conversation that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContextFull {
    /// Estimated tokens of the request.
    pub tokens: u64,
    /// Tokens that fit, as configured; `None` where compaction is switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Why no room was made, or what the service said.
    pub reason: String,
    /// What takes the most, the largest first.
    pub largest: Vec<LargeMessage>,
}

impl ContextFull {
    /// A conversation that does not fit.
    pub const fn new(tokens: u64, window: Option<u64>, reason: String, largest: Vec<LargeMessage>) -> Self {
        Self { tokens, window, reason, largest }
    }
}

impl std::fmt::Display for ContextFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the conversation does not fit the context window: {}", self.reason)?;
        for (at, large) in self.largest.iter().enumerate() {
            let lead = if at == 0 { "; the largest: " } else { ", " };
            let LargeMessage { message_id, tokens, .. } = large;
            match &large.tool_name {
                Some(tool) => write!(f, "{lead}output of `{tool}` {} ({tokens} tokens)", message_id.short())?,
                None => write!(f, "{lead}message {} ({tokens} tokens)", message_id.short())?,
            }
        }
        Ok(())
    }
}

/// A message that takes much of the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LargeMessage {
    /// Which.
    pub message_id: MessageId,
    /// The tool whose output it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Estimated tokens.
    pub tokens: u64,
}

impl LargeMessage {
    /// A message and what it takes.
    pub const fn new(message_id: MessageId, tool_name: Option<String>, tokens: u64) -> Self {
        Self { message_id, tool_name, tokens }
    }
}
