//! Events of a reply while it streams from the model.

use crate::content::{Content, ToolCall};
use crate::message::StopReason;
use crate::usage::Usage;

/// An event of a reply stream. `index` is the number of the block within the reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The provider accepted the request.
    Start {
        /// Model id that the provider reports.
        model: String,
    },
    /// Text arrived.
    TextDelta {
        /// Number of the block.
        index: usize,
        /// The new text.
        delta: String,
    },
    /// Reasoning arrived.
    ThinkingDelta {
        /// Number of the block.
        index: usize,
        /// The new text.
        delta: String,
    },
    /// The signature of a reasoning block arrived.
    ThinkingSignature {
        /// Number of the block.
        index: usize,
        /// The signature, complete.
        signature: String,
    },
    /// Part of the arguments of a tool call arrived; for display only.
    ToolCallDelta {
        /// Number of the block.
        index: usize,
        /// The new JSON text.
        delta: String,
    },
    /// A tool call is complete and its arguments are parsed.
    ToolCallEnd {
        /// Number of the block.
        index: usize,
        /// The tool call, with parsed arguments.
        call: ToolCall,
    },
    /// A complete block of another kind.
    Block {
        /// Number of the block.
        index: usize,
        /// Content of the block.
        content: Content,
    },
    /// The reply is complete.
    Done {
        /// Why the reply ended.
        stop_reason: StopReason,
        /// Tokens and cost of the model call.
        usage: Usage,
    },
}

impl StreamEvent {
    /// Returns true if the event contains a part of the reply. After such an event, a retry must first
    /// withdraw that part.
    pub const fn has_content(&self) -> bool {
        !matches!(self, Self::Start { .. } | Self::Done { .. })
    }
}
