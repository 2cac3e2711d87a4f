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

use super::command::{CommandEffect, CommandReply, RunCommand};
use super::mailbox::{Mailbox, MailboxItem};

/// Controls a run from outside its task. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RunHandle {
    pub(super) loop_id: LoopId,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) cancel: CancellationToken,
    /// The other branches, if the handle controls several at once.
    pub(super) others: Arc<[Self]>,
}

impl RunHandle {
    /// Creates a handle that controls several branches at once: it cancels all, passes an answer to the branch that asks, and sends
    /// messages to the first that still runs. Returns `None` without branches.
    pub(crate) fn of_branches(handles: Vec<Self>) -> Option<Self> {
        let (first, others) = handles.split_first()?;
        Some(Self { others: others.into(), ..first.clone() })
    }

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
        let mut item = MailboxItem::Queue { queue, message: Box::new(message) };
        for mailbox in self.mailboxes() {
            item = match mailbox.send(item) {
                Ok(()) => return Ok(()),
                Err(item) => item,
            };
        }
        Err(match item {
            MailboxItem::Queue { message, .. } => message,
            // The mailbox returns only the command that was sent.
            _ => Box::new(AgentMessage::user("")),
        })
    }

    fn mailboxes(&self) -> impl Iterator<Item = &Arc<Mailbox>> {
        std::iter::once(&self.mailbox).chain(self.others.iter().map(|other| &other.mailbox))
    }

    /// Answers an approval request. Only the first answer to a request is used.
    pub fn respond_permission(&self, request: RequestId, decision: PermissionDecision) {
        // A run ignores answers to requests of others.
        for mailbox in self.mailboxes() {
            let _ = mailbox.send(MailboxItem::Answer { request, decision: decision.clone() });
        }
    }

    /// Extends a budget. Also answers a pending request for this extension.
    pub fn extend_budget(&self, scope: BudgetScope, more: BudgetLimits) {
        // A budget of the session is extended once; the other branches observe it.
        let runs = if scope == BudgetScope::Run { self.others.len() + 1 } else { 1 };
        for mailbox in self.mailboxes().take(runs) {
            let _ = mailbox.send(MailboxItem::MoreBudget { scope, limits: more });
        }
    }

    /// Answers a request to extend a budget; `None` refuses. Only the first answer to a request is used.
    pub fn respond_budget(&self, request: RequestId, more: Option<BudgetLimits>) {
        for mailbox in self.mailboxes() {
            let _ = mailbox.send(MailboxItem::BudgetAnswer { request, more });
        }
    }

    /// Pins or unpins a message: compaction leaves pinned messages unchanged. Returns false if the run is
    /// over.
    pub fn pin(&self, message: MessageId, pinned: bool) -> bool {
        self.mailboxes().any(|mailbox| mailbox.send(MailboxItem::Pin { message, pinned }).is_ok())
    }

    /// Cancels the run.
    pub fn cancel(&self) {
        self.cancel.cancel();
        self.others.iter().for_each(Self::cancel);
    }

    /// Sends a command. The run replies when the command is durable, or that it is over. Of several branches, the one that waits
    /// for the answer in it accepts it, or else the first that runs.
    pub(crate) fn command(&self, mut command: Box<RunCommand>) {
        command.others.extend(self.others.iter().rev().cloned());
        if command.effects.contains(&CommandEffect::Abort) {
            self.others.iter().for_each(Self::cancel);
        }
        if let Err(MailboxItem::Command(command)) = self.mailbox.send(MailboxItem::Command(command)) {
            command.refuse(CommandReply::RunEnded);
        }
    }

    /// Closes the mailbox. Returns the messages that were not read, and replies to the commands.
    pub(crate) fn close(&self) -> Vec<(QueueKind, AgentMessage)> {
        let queued = |item| match item {
            MailboxItem::Queue { queue, message } => Some((queue, *message)),
            MailboxItem::Command(command) => {
                command.refuse(CommandReply::RunEnded);
                None
            }
            _ => None,
        };
        self.mailbox.close().into_iter().filter_map(queued).collect()
    }
}
