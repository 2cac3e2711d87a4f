//! What clients and the host ask the owner of a session.

use lariat_api::{ContextUse, Principal, Problem, Receipt, SessionCommand};
use lariat_core::id::RequestId;
use tokio::sync::oneshot;

/// What clients and the host ask an owner.
pub(crate) enum Request {
    /// Carry out a command.
    Command {
        command: SessionCommand,
        principal: Principal,
        reply: oneshot::Sender<Result<Receipt, Problem>>,
    },
    /// Report what fills the context window.
    Context { reply: oneshot::Sender<Result<ContextUse, Problem>> },
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
