//! Counts the failures of a tree of agents, so that each learns from those of the others.
//!
//! Each agent detects repetition in its own conversation. What it cannot see is that another agent made the same tool call
//! and got the same error: this table counts such failures for the whole tree.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::content::ToolCall;
use lariat_core::id::SessionId;

/// Maximum number of different failures to remember. Beyond that all are forgotten; the only cost is a missing note.
const MAX_FAILURES: usize = 512;

/// The failures of a tree. Clones share the table.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedFailures(Arc<Mutex<HashMap<u64, FailureCount>>>);

#[derive(Debug)]
struct FailureCount {
    first: SessionId,
    count: u32,
}

impl SharedFailures {
    /// Counts a failure. Returns a note for the model if another agent has met the same one.
    pub(super) fn add(&self, session: &SessionId, call: &ToolCall, error: &str) -> Option<String> {
        let mut hasher = DefaultHasher::new();
        (&call.name, call.arguments.to_string(), error).hash(&mut hasher);
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= MAX_FAILURES {
            failures.clear();
        }
        let new = || FailureCount { first: session.clone(), count: 0 };
        let failure = failures.entry(hasher.finish()).or_insert_with(new);
        failure.count += 1;
        (failure.first != *session).then(|| {
            format!(
                "\n\n[lariat] Another agent that works on this task made the same call and got the same error ({} times in \
                 all). Do not repeat it: find out why it fails, or report it.",
                failure.count
            )
        })
    }
}
