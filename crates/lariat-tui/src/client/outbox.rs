//! Sends commands in the order in which the user gave them, with the images that messages mention.
//!
//! The queue is bounded; a command that finds it full is refused at once. A command keeps its id over retries, so that
//! the host applies it once.

use std::collections::VecDeque;
use std::pin::pin;
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
        let (sender, waiting) = mpsc::channel(MAX_WAITING);
        let sending = Sending { sessions, machine, replies, waiting, later: VecDeque::new() };
        let task = tokio::spawn(sending.work());
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

/// The task that sends commands.
struct Sending {
    sessions: Arc<dyn Sessions>,
    machine: Arc<dyn Machine>,
    replies: mpsc::Sender<RequestReply>,
    waiting: mpsc::Receiver<Outgoing>,
    /// Commands that arrived during a compaction.
    later: VecDeque<Outgoing>,
}

impl Sending {
    async fn work(mut self) {
        while let Some(mut outgoing) = self.next().await {
            let sent = match attachments::attach(&mut outgoing.action, &*self.machine).await {
                Ok(()) if matches!(outgoing.action, Action::Compact { .. }) => self.compact(&outgoing).await,
                Ok(()) => send(&*self.sessions, &outgoing).await,
                Err(problem) => Err(problem),
            };
            if let Err(problem) = sent {
                let reply = RequestReply::Refused { action: Box::new(outgoing.action), problem };
                if self.replies.send(reply).await.is_err() {
                    return;
                }
            }
        }
    }

    async fn next(&mut self) -> Option<Outgoing> {
        match self.later.pop_front() {
            Some(outgoing) => Some(outgoing),
            None => self.waiting.recv().await,
        }
    }

    /// Sends a command that may take as long as a model writes. A command that interrupts does not wait for its end.
    async fn compact(&mut self, outgoing: &Outgoing) -> Result<(), Problem> {
        let sessions = Arc::clone(&self.sessions);
        let mut compacting = pin!(send(&*sessions, outgoing));
        loop {
            tokio::select! {
                biased;
                sent = &mut compacting => return sent,
                next = self.waiting.recv(), if self.later.len() < MAX_WAITING && !self.waiting.is_closed() => {
                    let Some(next) = next else { continue };
                    if matches!(next.action, Action::Interrupt) {
                        // Both commands end together. If the compaction has ended before, there is nothing to interrupt.
                        let (sent, _) = tokio::join!(compacting, send(&*sessions, &next));
                        return sent;
                    }
                    self.later.push_back(next);
                }
            }
        }
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
