//! A client's command for a session: its record, what it does, and the reply once both are durable.
//!
//! Invariant: the record of a command and the events that it causes are one write, so that after a crash the journal has
//! both or neither.

use std::sync::Arc;

use lariat_core::budget::{BudgetLimits, BudgetScope};
use lariat_core::event::{AgentEvent, CommandRecord, QueueKind};
use lariat_core::id::{MessageId, RequestId};
use lariat_core::message::AgentMessage;
use lariat_core::permission::PermissionDecision;
use lariat_core::run::Input;
use tokio::sync::oneshot;

use super::handle::RunHandle;

/// What a command does to a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CommandEffect {
    /// Records an event about the session.
    Note(Box<AgentEvent>),
    /// Adds a message to the conversation. An active run receives it between tool calls.
    Message(Box<AgentMessage>),
    /// Adds a message to a queue.
    Queue(QueueKind, Box<AgentMessage>),
    /// Removes a message from its queue.
    Unqueue(MessageId),
    /// Pins or unpins a message.
    Pin(MessageId, bool),
    /// Extends a budget.
    ExtendBudget(BudgetScope, BudgetLimits),
    /// Answers an approval request of the active run.
    AnswerPermission(RequestId, PermissionDecision),
    /// Answers a request of the active run to extend a budget; `None` refuses.
    AnswerBudget(RequestId, Option<BudgetLimits>),
    /// Ends the active run.
    Abort,
}

impl CommandEffect {
    /// An effect that records an event about the session.
    pub fn note(event: AgentEvent) -> Self {
        Self::Note(Box::new(event))
    }

    /// Returns the input for a run. `by` is who sent the command.
    pub(super) fn input(self, by: &str) -> Input {
        let by = || by.to_owned();
        match self {
            Self::Note(event) => Input::Note { event },
            Self::Message(message) => Input::Queued { queue: QueueKind::Steering, message: *message },
            Self::Queue(queue, message) => Input::Queued { queue, message: *message },
            Self::Unqueue(message) => Input::Unqueue { message },
            Self::Pin(message, pinned) => Input::Pin { message, pinned },
            Self::ExtendBudget(scope, limits) => Input::BudgetExtended { scope, limits, by: by() },
            Self::AnswerPermission(request, decision) => Input::PermissionAnswered { request, decision },
            Self::AnswerBudget(request, more) => Input::BudgetAnswered { request, more, by: by() },
            Self::Abort => Input::Cancel,
        }
    }

    /// Returns the event to record if no run is active; `None` if the effect needs a run. `tip` is the newest message.
    pub(crate) fn event(self, by: &str, tip: Option<MessageId>) -> Option<AgentEvent> {
        match self {
            Self::Note(event) => Some(*event),
            Self::Message(message) => {
                Some(AgentEvent::MessagesImported { base: tip, messages: vec![Arc::new(*message)] })
            }
            Self::Queue(queue, message) => {
                Some(AgentEvent::MessageQueued { queue, message: Arc::new(*message) })
            }
            Self::Unqueue(message_id) => Some(AgentEvent::MessageUnqueued { message_id }),
            Self::Pin(message_id, pinned) => Some(AgentEvent::MessagePinned { message_id, pinned }),
            Self::ExtendBudget(scope, limits) => {
                Some(AgentEvent::BudgetExtended { scope, limits, by: by.to_owned() })
            }
            Self::AnswerPermission(..) | Self::AnswerBudget(..) | Self::Abort => None,
        }
    }
}

/// A command on its way to a run.
#[derive(Debug)]
pub(crate) struct RunCommand {
    pub(crate) record: CommandRecord,
    pub(crate) effects: Vec<CommandEffect>,
    pub(crate) reply: oneshot::Sender<CommandReply>,
    /// Other branches to send it to, last first, if a run does not accept it.
    pub(crate) others: Vec<RunHandle>,
}

impl RunCommand {
    /// Creates a command for a run.
    pub(crate) const fn new(
        record: CommandRecord,
        effects: Vec<CommandEffect>,
        reply: oneshot::Sender<CommandReply>,
    ) -> Self {
        Self { record, effects, reply, others: Vec::new() }
    }

    /// Sends the command to the next branch, or replies that no run accepts it.
    pub(super) fn refuse(mut self, reply: CommandReply) {
        match self.others.pop() {
            Some(other) => other.command(Box::new(self)),
            None => drop(self.reply.send(reply)),
        }
    }
}

/// The reply of a run to a command. Without a reply, the journal tells whether the command was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandReply {
    /// The command is durable, at this position.
    Recorded(u64),
    /// The run does not wait for this answer any more, or the message does not wait any more. Nothing was recorded.
    NotAsked,
    /// The run ended first. Nothing was recorded.
    RunEnded,
}
