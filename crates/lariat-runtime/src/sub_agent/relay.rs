//! Passes the approval requests of a sub-agent to the session of its parent, and the answers back.
//!
//! One request at a time, because each is a question of the one tool call that runs the sub-agent. The parent's session
//! records it, so every client of that session sees it, with the path to the sub-agent.

use std::sync::Arc;

use futures_util::lock::Mutex;
use lariat_core::BoxFuture;
use lariat_core::permission::{Approver, PermissionDecision, PermissionRequest};

use crate::drive::ParentRun;

/// Asks the user of the parent's session.
pub(super) struct RelayApprover {
    parent: Arc<ParentRun>,
    name: String,
    turn: Mutex<()>,
}

impl RelayApprover {
    pub(super) fn new(parent: Arc<ParentRun>, name: &str) -> Self {
        Self { parent, name: name.to_owned(), turn: Mutex::default() }
    }
}

impl Approver for RelayApprover {
    fn ask<'a>(&'a self, request: &'a PermissionRequest) -> BoxFuture<'a, PermissionDecision> {
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            self.parent.ask(request.clone().asked_by(&self.name)).await
        })
    }
}
