//! What events say about a compaction: why it was tried, and the overlay that was laid.

use serde::{Deserialize, Serialize};

use crate::id::MessageId;
use crate::message::SharedMessage;

/// Why compaction was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CompactionCause {
    /// The window fills up: room is prepared beside the run.
    Threshold,
    /// The window is all but full: the run waits. No model is asked.
    Emergency,
    /// The provider said the request was too large: the run waits. No model is asked.
    Overflow,
    /// A person asked for it.
    Manual,
}

/// One edit of the overlay that compaction lays over the conversation. Ranges are inclusive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "camelCase")]
#[non_exhaustive]
pub enum CompactionEdit {
    /// The output of a tool is replaced by a note how to recall it.
    ClearToolOutput {
        /// The tool result message.
        message: MessageId,
    },
    /// A range is replaced by a summary.
    Summarise {
        /// First message of the range.
        first: MessageId,
        /// Last message of the range.
        last: MessageId,
        /// A user message that stands for the range.
        summary: SharedMessage,
    },
    /// A range is left out.
    Drop {
        /// First message of the range.
        first: MessageId,
        /// Last message of the range.
        last: MessageId,
    },
}

impl CompactionCause {
    /// True when the run waits, so that nothing slow may be done.
    pub const fn is_urgent(self) -> bool {
        matches!(self, Self::Emergency | Self::Overflow)
    }
}
