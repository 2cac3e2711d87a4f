//! The handle to control a run from outside its task.
//!
//! Sends commands through the run's mailbox. The driver processes them one at a time, between other inputs.

use std::sync::Arc;

use lariat_core::budget::{BudgetLimits, BudgetScope};
use lariat_core::cancel::CancellationToken;
use lariat_core::event::QueueKind;
use lariat_core::id::{LoopId, MessageId, RequestId};
use lariat_core::message::AgentMessage;
use lariat_core::permission::PermissionDecision;

use super::command::{CommandReply, RunCommand};
use super::mailbox::{Mailbox, MailboxItem};

/// Controls a run from outside its task. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunHandle {
    pub(super) loop_id: LoopId,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) cancel: CancellationToken,
}

impl RunHandle {
    /// The id of the run's loop.
    pub const fn loop_id(&self) -> &LoopId {
        &self.loop_id
    }

    /// Sends a message that the model receives between tool calls or at the end of the turn.
    ///
    /// # Errors
    /// Returns the message if the run is over or too many messages wait.
    pub fn steer(&self, message: impl Into<AgentMessage>) -> Result<(), Box<AgentMessage>> {
        self.queue(QueueKind::Steering, message.into())
    }

    /// Sends a message that the model receives when it would otherwise stop.
    ///
    /// # Errors
    /// Returns the message if the run is over or too many messages wait.
    pub fn follow_up(&self, message: impl Into<AgentMessage>) -> Result<(), Box<AgentMessage>> {
        self.queue(QueueKind::FollowUp, message.into())
    }

    /// Adds a message to one of the two queues.
    ///
    /// # Errors
    /// Returns the message if the run is over or too many messages wait.
    pub fn queue(&self, queue: QueueKind, message: AgentMessage) -> Result<(), Box<AgentMessage>> {
        self.mailbox.send(MailboxItem::Queue { queue, message: Box::new(message) }).map_err(|item| match item
        {
            MailboxItem::Queue { message, .. } => message,
            // The mailbox returns only the command that was sent.
            _ => Box::new(AgentMessage::user("")),
        })
    }

    /// Answers an approval request. Only the first answer to a request is used.
    pub fn respond_permission(&self, request: RequestId, decision: PermissionDecision) {
        let _ = self.mailbox.send(MailboxItem::Answer { request, decision });
    }

    /// Extends a budget. Also answers a pending request for this extension.
    pub fn extend_budget(&self, scope: BudgetScope, more: BudgetLimits) {
        let _ = self.mailbox.send(MailboxItem::MoreBudget { scope, limits: more });
    }

    /// Answers a request to extend a budget; `None` refuses. Only the first answer to a request is used.
    pub fn respond_budget(&self, request: RequestId, more: Option<BudgetLimits>) {
        let _ = self.mailbox.send(MailboxItem::BudgetAnswer { request, more });
    }

    /// Pins or unpins a message: compaction leaves pinned messages unchanged. Returns false if the run is
    /// over.
    pub fn pin(&self, message: MessageId, pinned: bool) -> bool {
        self.mailbox.send(MailboxItem::Pin { message, pinned }).is_ok()
    }

    /// Cancels the run.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Sends a command. The run replies when the command is durable, or that it is over.
    pub(crate) fn command(&self, command: Box<RunCommand>) {
        if let Err(MailboxItem::Command(command)) = self.mailbox.send(MailboxItem::Command(command)) {
            let _ = command.reply.send(CommandReply::RunEnded);
        }
    }

    /// Closes the mailbox. Returns the messages that were not read, and replies to the commands.
    pub(crate) fn close(&self) -> Vec<(QueueKind, AgentMessage)> {
        let queued = |item| match item {
            MailboxItem::Queue { queue, message } => Some((queue, *message)),
            MailboxItem::Command(command) => {
                let _ = command.reply.send(CommandReply::RunEnded);
                None
            }
            _ => None,
        };
        self.mailbox.close().into_iter().filter_map(queued).collect()
    }
}
