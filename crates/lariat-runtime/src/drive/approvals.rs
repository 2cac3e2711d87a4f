//! Matches approval requests with their answers, as the journal records them.
//!
//! If a policy panics when it receives an answer, the answer is still delivered.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use lariat_core::event::AgentEvent;
use lariat_core::permission::{PermissionPolicy, PermissionRequest};
use lariat_core::session::AnsweredRequest;

/// What happens to an approval request in a run without an approver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingApprover {
    /// The request waits until the program answers it through the run's handle.
    Wait,
    /// The request is denied at once: the program cannot answer.
    Deny,
}

/// The reason of a denial by [`MissingApprover::Deny`], for the model and in the journal.
pub(crate) const NO_APPROVER: &str = "the agent would have to ask for approval and has no approver; \
     hint: set one with `AgentBuilder::approve_with`, or start the run with `Agent::stream` and answer there";

/// Recorded approval requests without an answer.
#[derive(Debug, Default)]
pub(crate) struct PendingApprovals(Vec<Arc<PermissionRequest>>);

impl PendingApprovals {
    /// Creates a list of these requests.
    pub(crate) fn open(open: &[Arc<PermissionRequest>]) -> Self {
        Self(open.to_vec())
    }

    /// All requests, oldest first.
    pub(crate) fn all(&self) -> &[Arc<PermissionRequest>] {
        &self.0
    }

    /// Adds a request, unless it is already known.
    pub(crate) fn add(&mut self, request: &Arc<PermissionRequest>) {
        if !self.0.iter().any(|known| known.id == request.id) {
            self.0.push(Arc::clone(request));
        }
    }

    /// Updates the list from a recorded event. Returns the request that the event answers.
    pub(crate) fn observe(&mut self, event: &AgentEvent) -> Option<AnsweredRequest> {
        match event {
            AgentEvent::PermissionRequired { request } => {
                self.add(request);
                None
            }
            AgentEvent::PermissionDecided { request_id, decision, .. } => {
                let at = self.0.iter().position(|request| request.id == *request_id)?;
                Some((self.0.remove(at), decision.clone()))
            }
            _ => None,
        }
    }
}

/// Passes an answer to the policy.
pub(crate) fn deliver(policy: &dyn PermissionPolicy, (request, decision): &AnsweredRequest) {
    let _ = catch_unwind(AssertUnwindSafe(|| policy.on_answered(request, decision)));
}
