//! What arrives while a model replies.

use crate::content::{Content, ToolCall};
use crate::message::StopReason;
use crate::usage::Usage;

/// What arrives on a stream. `index` numbers the blocks of the reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The service accepted the request.
    Start {
        /// Model id as the service reports it.
        model: String,
    },
    /// Text arrived.
    TextDelta {
        /// Block.
        index: usize,
        /// The piece.
        delta: String,
    },
    /// Reasoning arrived.
    ThinkingDelta {
        /// Block.
        index: usize,
        /// The piece.
        delta: String,
    },
    /// The signature of a reasoning block arrived.
    ThinkingSignature {
        /// Block.
        index: usize,
        /// The signature, complete.
        signature: String,
    },
    /// Arguments of a call arrived; for display only.
    ToolCallDelta {
        /// Block.
        index: usize,
        /// The piece of JSON text.
        delta: String,
    },
    /// A call is complete and its arguments are parsed.
    ToolCallEnd {
        /// Block.
        index: usize,
        /// The call.
        call: ToolCall,
    },
    /// A block of another kind, complete.
    Block {
        /// Block.
        index: usize,
        /// The block.
        content: Content,
    },
    /// The reply is complete.
    Done {
        /// Why it ended.
        stop_reason: StopReason,
        /// What it used.
        usage: Usage,
    },
}

impl StreamEvent {
    /// True once the event delivers a part of the reply. After that, a failure is not retried blindly.
    pub const fn delivers(&self) -> bool {
        !matches!(self, Self::Start { .. } | Self::Done { .. })
    }
}
