//! Describes a conversation that does not fit the context window.
//!
//! A run that cannot continue for this reason ends with this type, so that an embedding program can match on
//! it and show the user what is too large.

use serde::{Deserialize, Serialize};

use crate::id::MessageId;

/// A conversation that does not fit the context window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContextFull {
    /// Estimated tokens of the request.
    pub tokens: u64,
    /// Size of the context window in tokens, as configured; `None` if compaction is disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Why compaction did not help, or the error of the provider.
    pub reason: String,
    /// The largest messages, largest first.
    pub largest: Vec<LargeMessage>,
}

impl ContextFull {
    /// Describes a conversation that does not fit.
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

/// A message that uses much of the context window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LargeMessage {
    /// Id of the message.
    pub message_id: MessageId,
    /// The tool that produced it, if it is a tool result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Estimated tokens.
    pub tokens: u64,
}

impl LargeMessage {
    /// Describes a large message.
    pub const fn new(message_id: MessageId, tool_name: Option<String>, tokens: u64) -> Self {
        Self { message_id, tool_name, tokens }
    }
}
