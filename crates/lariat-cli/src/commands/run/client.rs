//! Sends commands to a session, beside the loop that shows its events: a host that waits for its store must not stop the
//! keys of the user.

use std::sync::Arc;

use lariat_api::{Action, Answer, ContextUse, Problem, ProblemCode, Receipt, SessionView, Sessions};
use lariat_core::id::{RequestId, SessionId};
use lariat_core::permission::PermissionDecision;
use tokio::sync::mpsc;

use crate::commands::background::new_command;

/// Messages of the user that may wait. More than a user can type while a host waits for its store.
const MAX_WAITING: usize = 64;

/// A session and its host.
#[derive(Clone)]
pub(super) struct SessionClient {
    pub(super) sessions: Arc<dyn Sessions>,
    pub(super) session_id: SessionId,
}

impl SessionClient {
    pub(super) async fn view(&self) -> Result<SessionView, Problem> {
        self.sessions.view(&self.session_id).await
    }

    pub(super) async fn send(&self, action: Action) -> Result<Receipt, Problem> {
        self.sessions.send(&self.session_id, new_command(action)).await
    }

    /// Answers an approval request or a question, whose ask has the id of the request.
    pub(super) async fn answer(&self, request: RequestId, answer: Answer) -> Result<Receipt, Problem> {
        let id = request.to_string();
        let view = self.view().await?;
        let Some(ask) = view.asks.into_iter().find(|ask| ask.id.as_str() == id) else {
            return Err(Problem::new(ProblemCode::AlreadyAnswered, "another client answered first"));
        };
        self.send(Action::Answer { ask_id: ask.id, digest: ask.digest, answer }).await
    }
}

/// A command, and what it is for.
pub(super) enum Outgoing {
    /// Starts a run.
    Run(Action),
    /// Stops the run.
    Interrupt,
    /// A message of the user.
    Message(Action, String),
    /// Answers an approval request or a question.
    Answer(RequestId, Answer),
    /// Changes the permission mode, for a request with this id.
    SetMode(String, String),
    /// Asks what fills the context window, for a request with this id.
    Context(String),
}

/// The response of the session to a command.
pub(super) enum CommandResponse {
    Run(Result<Receipt, Problem>),
    /// The message with its text.
    Message(String, Result<Receipt, Problem>),
    Interrupt,
    Answer(Result<Receipt, Problem>),
    /// The id of the request.
    Mode(String, Result<Receipt, Problem>),
    /// The id of the request.
    Context(String, Result<ContextUse, Problem>),
}

/// Sends commands one after another. Only an answer that changes arguments does not hold up the commands after it.
pub(super) struct CommandSender {
    /// Unbounded, because an answer must not be lost: the run would wait for it. Each answer is for an open question.
    outgoing: mpsc::UnboundedSender<Outgoing>,
    results: mpsc::Receiver<CommandResponse>,
    /// Messages of the user that were not acknowledged yet.
    messages: usize,
}

/// Whether an answer approves other arguments than the model's.
const fn has_changes(answer: &Answer) -> bool {
    matches!(answer, Answer::Approval { decision: PermissionDecision::AllowChanged { .. } })
}

impl CommandSender {
    pub(super) fn new(client: SessionClient) -> Self {
        let (outgoing, mut waiting) = mpsc::unbounded_channel();
        let (done, results) = mpsc::channel(MAX_WAITING);
        tokio::spawn(async move {
            while let Some(command) = waiting.recv().await {
                let sent = match command {
                    Outgoing::Run(action) => CommandResponse::Run(client.send(action).await),
                    Outgoing::Message(action, text) => {
                        CommandResponse::Message(text, client.send(action).await)
                    }
                    Outgoing::Answer(request, answer) if has_changes(&answer) => {
                        // The permission check may call hooks first; a command that interrupts the run must not wait for it.
                        let (client, done) = (client.clone(), done.clone());
                        tokio::spawn(async move {
                            let _ = done
                                .send(CommandResponse::Answer(client.answer(request, answer).await))
                                .await;
                        });
                        continue;
                    }
                    Outgoing::Answer(request, answer) => {
                        CommandResponse::Answer(client.answer(request, answer).await)
                    }
                    Outgoing::SetMode(id, mode) => {
                        CommandResponse::Mode(id, client.send(Action::SetMode { mode }).await)
                    }
                    Outgoing::Context(id) => {
                        CommandResponse::Context(id, client.sessions.context(&client.session_id).await)
                    }
                    Outgoing::Interrupt => {
                        // A run that has just ended needs no stop.
                        let _ = client.send(Action::Interrupt).await;
                        CommandResponse::Interrupt
                    }
                };
                if done.send(sent).await.is_err() {
                    break;
                }
            }
        });
        Self { outgoing, results, messages: 0 }
    }

    /// Sends a command. Returns false for a message if too many wait.
    pub(super) fn send(&mut self, command: Outgoing) -> bool {
        if matches!(command, Outgoing::Message(..)) {
            if self.messages >= MAX_WAITING {
                return false;
            }
            self.messages += 1;
        }
        self.outgoing.send(command).is_ok()
    }

    /// Waits for the result of the next command. Never returns without one.
    pub(super) async fn result(&mut self) -> CommandResponse {
        let Some(sent) = self.results.recv().await else { return std::future::pending().await };
        self.messages -= usize::from(matches!(sent, CommandResponse::Message(..)));
        sent
    }

    /// Whether a message of the user was sent that the session has not acknowledged.
    pub(super) const fn has_open_message(&self) -> bool {
        self.messages > 0
    }
}
