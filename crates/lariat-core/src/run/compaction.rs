//! Making room: when it is tried, and what is accepted.
//!
//! Owns the thresholds' meaning, the refusal of overlays that do not help, and how often it is tried.

use std::sync::Arc;

use super::effect::OpId;
use super::{Activity, Effect, Run};
use crate::context::Compacted;
use crate::event::{AgentEvent, CompactionCause};
use crate::planted::{Planted, planted};
use crate::transcript::Window;

/// Compactions that did not help, after which it is not tried again until one does.
const REFUSALS_BEFORE_GIVING_UP: u32 = 2;
/// Overflows in one turn that are answered by compaction and a retry.
const OVERFLOW_RETRIES: u32 = 1;

impl Run {
    pub(super) fn wants_room(&self) -> bool {
        let Some(context) = &self.config.context else { return false };
        !self.entry.threshold_tried
            && self.state.refused_compactions < REFUSALS_BEFORE_GIVING_UP
            && self.tokens() > context.threshold()
    }

    /// Tokens of the next request, as far as anybody knows.
    fn tokens(&self) -> u64 {
        self.context_tokens().unwrap_or_default()
    }

    pub(super) fn may_compact_overflow(&self) -> bool {
        let overflows = self.state.turn.as_ref().map_or(0, |turn| turn.overflows);
        self.config.context.is_some() && overflows < OVERFLOW_RETRIES
    }

    pub(super) fn compact(&mut self, cause: CompactionCause) {
        let op = self.op();
        let window = self.state.transcript.window();
        self.activity = Activity::Compacting { op, cause };
        self.out.push_back(Effect::Compact { op, window, cause, tokens: self.tokens() });
    }

    pub(super) fn on_compacted(&mut self, op: OpId, compacted: Compacted) {
        let Activity::Compacting { op: waiting, cause } = self.activity else { return };
        if waiting != op {
            return;
        }
        self.activity = Activity::None;
        let measure =
            |window: &Window| self.state.tracker.as_ref().map_or(0, |tracker| tracker.measure(window));
        let before = measure(&self.state.transcript.window());
        let overlaid = self.state.transcript.overlaid(&compacted.edits);
        let after = overlaid.map(|transcript| measure(&transcript.window()));
        let refusal = match after {
            _ if compacted.refused.is_some() => compacted.refused,
            Err(why) => Some(why.to_string()),
            Ok(_) if compacted.edits.is_empty() => Some("there is nothing left to compact".to_owned()),
            // A fifth: less would bring the next compaction within a turn or two.
            Ok(after) if after.saturating_mul(5) > before.saturating_mul(4) => {
                Some(format!("it would shrink only from {before} to {after} tokens"))
            }
            Ok(after) => {
                let edits = Arc::new(compacted.edits);
                self.record(AgentEvent::Compaction {
                    cause,
                    edits: Arc::clone(&edits),
                    tokens_before: before,
                    tokens_after: after,
                    usage: compacted.usage,
                });
                self.tell_compacted(cause, &edits);
                None
            }
        };
        if let Some(reason) = refusal {
            let usage = compacted.usage;
            self.record(AgentEvent::CompactionRefused { cause, reason: reason.clone(), usage });
            if cause == CompactionCause::Overflow && !planted(Planted::RetriesRefusedOverflow) {
                self.fail_reply(None, format!("the conversation does not fit the context window: {reason}"));
            }
        }
    }
}
