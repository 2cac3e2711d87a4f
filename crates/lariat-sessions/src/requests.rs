//! Defines what clients and the host request from the owner of a session.

use lariat_api::{ContextUse, Principal, Problem, Receipt, SessionCommand};
use lariat_core::event::CommandRecord;
use lariat_core::id::RequestId;
use lariat_runtime::{CommandEffect, Plan};
use tokio::sync::oneshot;

/// What clients and the host ask an owner.
pub(crate) enum Request {
    /// Carry out a command.
    Command {
        command: SessionCommand,
        principal: Principal,
        reply: oneshot::Sender<Result<Receipt, Problem>>,
    },
    /// Record what a client chose for a fork, whose creation a host or its store did not finish.
    Create {
        record: Box<CommandRecord>,
        effects: Vec<CommandEffect>,
        reply: oneshot::Sender<Result<(), Problem>>,
    },
    /// Report what fills the context window.
    Context { reply: oneshot::Sender<Result<ContextUse, Problem>> },
    /// Report the queued changes, each with what it would do now.
    Plan { reply: oneshot::Sender<Result<Plan, Problem>> },
    /// Build the agent anew, because what the host builds it from changed.
    Rebuild { reply: oneshot::Sender<Result<(), Problem>> },
    /// Close the agent, after the run if one is active, without a record in the journal.
    Release { reply: oneshot::Sender<Result<(), Problem>> },
    /// A question waits, and no client is attached.
    Unattended(UnattendedAsk),
    /// Continue a run that ended with its process.
    Recover { reply: oneshot::Sender<Result<(), Problem>> },
}

/// A question that no client can see.
pub(crate) enum UnattendedAsk {
    Permission(RequestId),
    Question(RequestId),
    Budget(RequestId),
}
