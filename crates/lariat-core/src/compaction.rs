//! Why compaction ran, and its edits: data that transcripts, hooks and events share.

use serde::{Deserialize, Serialize};

use crate::id::MessageId;
use crate::message::SharedMessage;

/// Why compaction ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CompactionCause {
    /// The context window fills up. Compaction is prepared while the run continues.
    Threshold,
    /// The context window is almost full. The run waits, and compaction makes no model call.
    Emergency,
    /// The provider rejected the request as too large. The run waits, and compaction makes no model call.
    Overflow,
    /// The user requested it.
    Manual,
}

/// One edit that compaction applies to the model's view of the conversation. Ranges are inclusive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "camelCase")]
#[non_exhaustive]
pub enum CompactionEdit {
    /// Replaces the output of a tool with a note that says how to recall it.
    ClearToolOutput {
        /// Id of the tool result message.
        message: MessageId,
    },
    /// Replaces a range of messages with a summary.
    Summarise {
        /// First message of the range.
        first: MessageId,
        /// Last message of the range.
        last: MessageId,
        /// The user message that replaces the range.
        summary: SharedMessage,
    },
    /// Removes a range of messages.
    Drop {
        /// First message of the range.
        first: MessageId,
        /// Last message of the range.
        last: MessageId,
    },
}

impl CompactionCause {
    /// Returns true if the run waits, so that compaction must be fast.
    pub const fn is_urgent(self) -> bool {
        matches!(self, Self::Emergency | Self::Overflow)
    }
}
