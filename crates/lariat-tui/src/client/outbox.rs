//! Sends commands in the order in which the user gave them, with the images that messages mention.
//!
//! The queue is bounded; a command that finds it full is refused at once. A command keeps its id over retries, so that
//! the host applies it once.

use std::sync::Arc;
use std::time::Duration;

use lariat_api::{Action, ClientName, CommandId, Problem, SessionCommand, Sessions};
use lariat_core::id::SessionId;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Machine;
use super::requests::RequestReply;
use crate::attachments;

/// Maximum number of commands that wait.
const MAX_WAITING: usize = 64;
/// How often a command is tried while its host does not respond.
const ATTEMPTS: u32 = 5;
const FIRST_DELAY: Duration = Duration::from_millis(200);

/// A command on its way.
pub(super) struct Outgoing {
    pub(super) session_id: SessionId,
    pub(super) id: CommandId,
    pub(super) action: Action,
}

/// The commands that wait.
pub(super) struct Outbox {
    sender: Option<mpsc::Sender<Outgoing>>,
    task: JoinHandle<()>,
}

impl Outbox {
    pub(super) fn new(
        sessions: Arc<dyn Sessions>,
        machine: Arc<dyn Machine>,
        replies: mpsc::Sender<RequestReply>,
    ) -> Self {
        let (sender, mut waiting) = mpsc::channel::<Outgoing>(MAX_WAITING);
        let task = tokio::spawn(async move {
            while let Some(mut outgoing) = waiting.recv().await {
                let sent = match attachments::attach(&mut outgoing.action, &*machine).await {
                    Ok(()) => send(&*sessions, &outgoing).await,
                    Err(problem) => Err(problem),
                };
                if let Err(problem) = sent {
                    let reply = RequestReply::Refused { action: Box::new(outgoing.action), problem };
                    if replies.send(reply).await.is_err() {
                        return;
                    }
                }
            }
        });
        Self { sender: Some(sender), task }
    }

    /// Accepts a command, or returns it if too many wait.
    pub(super) fn put(&self, outgoing: Outgoing) -> Result<(), Box<Action>> {
        let Some(sender) = &self.sender else { return Err(Box::new(outgoing.action)) };
        sender.try_send(outgoing).map_err(|error| Box::new(error.into_inner().action))
    }

    /// Waits until all commands left, at most this long.
    pub(super) async fn close(&mut self, most: Duration) {
        self.sender = None;
        let _ = tokio::time::timeout(most, &mut self.task).await;
        self.task.abort();
    }
}

async fn send(sessions: &dyn Sessions, outgoing: &Outgoing) -> Result<(), Problem> {
    let mut delay = FIRST_DELAY;
    for attempt in 1.. {
        let client = ClientName::new(super::CLIENT);
        let command = SessionCommand::new(outgoing.id.clone(), client, outgoing.action.clone());
        match sessions.send(&outgoing.session_id, command).await {
            Ok(_) => return Ok(()),
            Err(problem) if attempt >= ATTEMPTS || !problem.code.is_retryable() => return Err(problem),
            Err(_) => tokio::time::sleep(delay).await,
        }
        delay = delay.saturating_mul(2);
    }
    Ok(())
}
