//! An approver made from an async closure.

use lariat_core::BoxFuture;
use lariat_core::permission::{Approver, PermissionDecision, PermissionRequest};

/// Answers approval requests with a closure.
pub(super) struct ApproveWith<F>(pub(super) F);

impl<F, Answer> Approver for ApproveWith<F>
where
    F: Fn(PermissionRequest) -> Answer + Send + Sync,
    Answer: Future<Output = PermissionDecision> + Send + 'static,
{
    fn ask<'a>(&'a self, request: &'a PermissionRequest) -> BoxFuture<'a, PermissionDecision> {
        Box::pin((self.0)(request.clone()))
    }
}
