//! Talking to a run from outside of its task.
//!
//! Owns the handle: what it sends goes through the run's mailbox and is heard by the driver between two happenings.

use std::sync::Arc;

use lariat_core::cancel::CancellationToken;
use lariat_core::event::QueueKind;
use lariat_core::id::{LoopId, MessageId, RequestId};
use lariat_core::message::AgentMessage;
use lariat_core::permission::PermissionDecision;

use super::mailbox::{Letter, Mailbox};

/// Talks to a run from outside of its task. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunHandle {
    pub(super) loop_id: LoopId,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) cancel: CancellationToken,
}

impl RunHandle {
    /// The run's loop.
    pub const fn loop_id(&self) -> &LoopId {
        &self.loop_id
    }

    /// Injects a message between tool executions or at the end of the turn.
    ///
    /// # Errors
    /// Gives the message back when the run is over or has too many waiting.
    pub fn steer(&self, message: impl Into<AgentMessage>) -> Result<(), Box<AgentMessage>> {
        self.queue(QueueKind::Steering, message.into())
    }

    /// Injects a message when the loop would otherwise stop.
    ///
    /// # Errors
    /// Gives the message back when the run is over or has too many waiting.
    pub fn follow_up(&self, message: impl Into<AgentMessage>) -> Result<(), Box<AgentMessage>> {
        self.queue(QueueKind::FollowUp, message.into())
    }

    /// Injects a message when its queue's moment comes.
    ///
    /// # Errors
    /// Gives the message back when the run is over or has too many waiting.
    pub fn queue(&self, queue: QueueKind, message: AgentMessage) -> Result<(), Box<AgentMessage>> {
        self.mailbox.send(Letter::Queue { queue, message: Box::new(message) }).map_err(
            |letter| match letter {
                Letter::Queue { message, .. } => message,
                // Only what was sent comes back.
                _ => Box::new(AgentMessage::user("")),
            },
        )
    }

    /// Answers a permission request. The first answer counts.
    pub fn respond_permission(&self, request: RequestId, decision: PermissionDecision) {
        let _ = self.mailbox.send(Letter::Answer { request, decision });
    }

    /// Lets a message stay as it is, whatever is compacted; or not any more. False when the run is over.
    pub fn pin(&self, message: MessageId, pinned: bool) -> bool {
        self.mailbox.send(Letter::Pin { message, pinned }).is_ok()
    }

    /// Ends the run.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Nothing is received any more. Returns the messages that were not read.
    pub(crate) fn close(&self) -> Vec<(QueueKind, AgentMessage)> {
        let queued = |letter| match letter {
            Letter::Queue { queue, message } => Some((queue, *message)),
            _ => None,
        };
        self.mailbox.close().into_iter().filter_map(queued).collect()
    }
}
