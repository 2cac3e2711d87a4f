//! Whether an overlay may be laid over a conversation.
//!
//! Owns the rule, for the machine and for whoever compacts between two runs: what must stay as it is stays, the rest is
//! a valid conversation, and it is smaller by a fifth.

use std::collections::BTreeSet;

use super::{Compacted, ContextTracker, Verbatim};
use crate::config::ContextConfig;
use crate::id::MessageId;
use crate::transcript::Transcript;

/// An overlay that may be laid.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Accepted {
    /// The conversation with it.
    pub transcript: Transcript,
    /// Estimated tokens before.
    pub tokens_before: u64,
    /// Estimated tokens after.
    pub tokens_after: u64,
}

impl Compacted {
    /// What laying it would come to.
    ///
    /// # Errors
    /// In words, when it must not be laid.
    pub fn judged(
        &self,
        transcript: &Transcript,
        config: &ContextConfig,
        pins: &BTreeSet<MessageId>,
    ) -> Result<Accepted, String> {
        if let Some(reason) = &self.refused {
            return Err(reason.clone());
        }
        if self.edits.is_empty() {
            return Err("there is nothing left to compact".to_owned());
        }
        let window = transcript.window();
        let verbatim = Verbatim::of(&window, config, pins);
        let overlaid = transcript.overlaid_keeping(&self.edits, |id| verbatim.contains(id));
        let overlaid = overlaid.map_err(|why| why.to_string())?;
        let tokens = |window| ContextTracker::of(window, Some(config)).used();
        let (before, after) = (tokens(&window), tokens(&overlaid.window()));
        // Less would bring the next compaction within a turn or two.
        if after.saturating_mul(5) > before.saturating_mul(4) {
            return Err(format!("it would shrink only from {before} to {after} tokens"));
        }
        Ok(Accepted { transcript: overlaid, tokens_before: before, tokens_after: after })
    }
}
