//! Decides whether proposed compaction edits may be applied.
//!
//! The same rule applies to the machine and to compaction between two runs: messages that must stay unchanged
//! do, the result is a valid conversation, and it is at least a fifth smaller.

use std::collections::BTreeSet;

use super::{CompactionProposal, ContextTracker, VerbatimMessages};
use crate::config::ContextConfig;
use crate::id::MessageId;
use crate::transcript::Transcript;

/// Edits that passed the check, applied.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AcceptedCompaction {
    /// The compacted conversation.
    pub transcript: Transcript,
    /// Estimated tokens before.
    pub tokens_before: u64,
    /// Estimated tokens after.
    pub tokens_after: u64,
}

impl AcceptedCompaction {
    /// Creates the result of a passed check.
    pub const fn new(transcript: Transcript, tokens_before: u64, tokens_after: u64) -> Self {
        Self { transcript, tokens_before, tokens_after }
    }
}

impl CompactionProposal {
    /// Checks the edits and applies them to the transcript.
    ///
    /// # Errors
    /// The reason why the edits must not be applied.
    pub fn apply_if_acceptable(
        &self,
        transcript: &Transcript,
        config: &ContextConfig,
        pins: &BTreeSet<MessageId>,
    ) -> Result<AcceptedCompaction, String> {
        if let Some(reason) = &self.refused {
            return Err(reason.clone());
        }
        if self.edits.is_empty() {
            return Err("there is nothing left to compact".to_owned());
        }
        let window = transcript.window();
        let verbatim = VerbatimMessages::of(&window, config, pins);
        let overlaid = transcript.with_edits_keeping(&self.edits, |id| verbatim.contains(id));
        let overlaid = overlaid.map_err(|why| why.to_string())?;
        let tokens = |window| ContextTracker::of(window, Some(config)).used_tokens();
        let (before, after) = (tokens(&window), tokens(&overlaid.window()));
        // A smaller saving would require the next compaction within a turn or two.
        if after.saturating_mul(5) > before.saturating_mul(4) {
            return Err(format!("it would shrink only from {before} to {after} tokens"));
        }
        Ok(AcceptedCompaction { transcript: overlaid, tokens_before: before, tokens_after: after })
    }
}
