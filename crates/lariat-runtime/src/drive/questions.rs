//! Questions of a policy and their answers, as the journal tells them.
//!
//! Owns which question an answer belongs to, and that a policy which panics on hearing one has heard it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use lariat_core::event::AgentEvent;
use lariat_core::permission::{PermissionPolicy, PermissionRequest};
use lariat_core::session::Answered;

/// Questions that are recorded and not answered.
#[derive(Debug, Default)]
pub(crate) struct Questions(Vec<Arc<PermissionRequest>>);

impl Questions {
    /// These questions.
    pub(crate) fn open(open: &[Arc<PermissionRequest>]) -> Self {
        Self(open.to_vec())
    }

    /// All of them, oldest first.
    pub(crate) fn all(&self) -> &[Arc<PermissionRequest>] {
        &self.0
    }

    /// Notes a question, once.
    pub(crate) fn ask(&mut self, request: &Arc<PermissionRequest>) {
        if !self.0.iter().any(|asked| asked.id == request.id) {
            self.0.push(Arc::clone(request));
        }
    }

    /// Takes a recorded event in. Gives the question that it answers.
    pub(crate) fn see(&mut self, event: &AgentEvent) -> Option<Answered> {
        match event {
            AgentEvent::PermissionRequired { request } => {
                self.ask(request);
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

/// Tells a policy of an answer.
pub(crate) fn tell(policy: &dyn PermissionPolicy, (request, decision): &Answered) {
    let _ = catch_unwind(AssertUnwindSafe(|| policy.answered(request, decision)));
}
