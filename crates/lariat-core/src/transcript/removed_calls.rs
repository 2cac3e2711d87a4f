//! Remembers the ids of the tool calls that compactions removed.
//!
//! Copies of a conversation share the ids. Invariant: each set is more than twice as large as the next, so that a lookup searches
//! few sets, and a compaction of a long session does not copy all that earlier ones removed.

use std::collections::HashSet;
use std::sync::Arc;

use crate::id::ToolCallId;

/// Ids of removed calls, the oldest and largest set first.
#[derive(Clone, Debug, Default)]
pub(super) struct RemovedCalls {
    sets: Vec<Arc<HashSet<ToolCallId>>>,
}

impl RemovedCalls {
    pub(super) fn contains(&self, id: &ToolCallId) -> bool {
        self.sets.iter().any(|set| set.contains(id))
    }

    /// Adds what one compaction removed.
    pub(super) fn add(&mut self, mut removed: HashSet<ToolCallId>) {
        if removed.is_empty() {
            return;
        }
        while let Some(smaller) = self.sets.pop_if(|last| last.len() <= 2 * removed.len()) {
            removed.extend(smaller.iter().cloned());
        }
        self.sets.push(Arc::new(removed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_compactions_leave_few_sets_with_every_id() {
        let ids = |compaction: usize| (0..1 + compaction % 7).map(move |call| format!("{compaction}-{call}"));
        let mut calls = RemovedCalls::default();
        for compaction in 0..1_000 {
            let earlier = calls.clone();
            calls.add(ids(compaction).map(|id| id.as_str().into()).collect());
            assert!(!earlier.contains(&format!("{compaction}-0").as_str().into()), "copies are independent");
            assert!(calls.sets.is_sorted_by(|larger, smaller| larger.len() > 2 * smaller.len()));
        }
        assert!(calls.sets.len() < 12, "{}", calls.sets.len());
        for compaction in 0..1_000 {
            assert!(ids(compaction).all(|id| calls.contains(&id.as_str().into())), "{compaction}");
        }
        assert!(!calls.contains(&"1000-0".into()));
    }
}
