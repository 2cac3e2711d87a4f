//! Defines what a host needs to run a session: its agent, its permission modes, the history of its files and its shell.

use std::collections::HashSet;
use std::sync::Arc;

use lariat_api::{FileDiff, ModelView, Problem};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::event::FileRestoreResult;
use lariat_core::id::SessionId;
use lariat_core::message::AgentMessage;
use lariat_core::store::SessionStore;
use lariat_runtime::Agent;

/// Builds the agents of sessions.
pub trait AgentFactory: Send + Sync {
    /// Builds the agent of a session. Must not write to the session: another process may be its writer.
    fn build<'a>(&'a self, request: AgentRequest<'a>) -> BoxFuture<'a, Result<HostedAgent, Problem>>;

    /// Returns what undo recorded in a directory; `None` if this host has no undo.
    fn file_history(&self, _directory: &str) -> Option<Arc<dyn FileHistory>> {
        None
    }
}

/// What undo recorded in a directory.
pub trait FileHistory: Send + Sync {
    /// Returns what these tool calls changed, one change for each file.
    fn diff(&self, calls: HashSet<String>) -> BoxFuture<'_, Result<Vec<FileDiff>, Problem>>;

    /// Returns all tool calls that a return to the state before these calls undoes: these calls and the later ones of other
    /// sessions, as far as they changed files. Changes nothing.
    fn plan(&self, calls: HashSet<String>) -> BoxFuture<'_, Result<Vec<String>, Problem>>;

    /// Undoes the tool calls that [`FileHistory::plan`] returned. Refuses if other calls changed files since. Done again after
    /// a crash, it continues where it stopped.
    fn restore(&self, calls: HashSet<String>) -> BoxFuture<'_, Result<FileRestoreResult, Problem>>;
}

/// Runs the user's own commands in the directory of a session.
pub trait UserShell: Send + Sync {
    /// Checks whether the policy of the organisation permits a command.
    ///
    /// # Errors
    /// If it does not.
    fn check(&self, command: &str) -> Result<(), Problem>;

    /// Runs a command to its end, or until it is cancelled. `call_id` names it in the record for undo.
    fn run<'a>(
        &'a self,
        call_id: &'a str,
        command: &'a str,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, ShellOutput>;
}

/// What a command of the user printed and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellOutput {
    /// Its output, bounded.
    pub text: String,
    /// Its exit code; `None` if it did not end by itself.
    pub exit_code: Option<i64>,
    /// Why it did not run to its end.
    pub problem: Option<String>,
}

/// Which agent to build.
#[derive(Clone)]
#[non_exhaustive]
pub struct AgentRequest<'a> {
    /// The session.
    pub session_id: &'a SessionId,
    /// Its working directory, if the journal names one.
    pub directory: Option<&'a str>,
    /// The model that a client chose; the settings choose without it.
    pub model: Option<&'a ModelView>,
    /// The model for the run of one message, which comes before every other choice.
    pub message_model: Option<&'a ModelView>,
    /// The permission mode that a client chose; the settings choose without it.
    pub mode: Option<&'a str>,
    /// The store of the session.
    pub store: &'a Arc<dyn SessionStore>,
}

impl<'a> AgentRequest<'a> {
    /// Creates a request without choices of a client.
    pub const fn new(session_id: &'a SessionId, store: &'a Arc<dyn SessionStore>) -> Self {
        Self { session_id, directory: None, model: None, message_model: None, mode: None, store }
    }
}

/// An agent with what a host controls besides it.
#[non_exhaustive]
pub struct HostedAgent {
    /// The agent.
    pub agent: Agent,
    /// Its permission modes; without them, a client cannot change the mode.
    pub modes: Option<Arc<dyn PermissionModes>>,
    /// Runs the user's own commands; without it, a client cannot run any.
    pub shell: Option<Arc<dyn UserShell>>,
    /// Writes the message that asks for another answer, if answers must match a schema.
    pub retry_message: Option<RetryMessage>,
    /// Names the model that the run of a message uses, if the message asks for one, as the commands of users do.
    pub message_model: Option<MessageModel>,
    /// What to wait for after the agent is closed, such as traces that are being sent.
    on_close: Option<Closing>,
}

/// Writes the message that tells the model what is wrong with its answer.
pub type RetryMessage = Arc<dyn Fn(&str) -> AgentMessage + Send + Sync>;

/// Returns the name of the model that a message asks for; `None` for the model of the session.
pub type MessageModel = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Starts what to wait for after an agent is closed.
type Closing = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send + Sync>;

impl HostedAgent {
    /// Hosts an agent without permission modes.
    pub const fn new(agent: Agent) -> Self {
        Self { agent, modes: None, shell: None, retry_message: None, message_model: None, on_close: None }
    }

    /// Waits for something after the agent is closed.
    #[must_use]
    pub fn with_closing(
        mut self,
        closing: impl FnOnce() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        self.on_close = Some(Box::new(closing));
        self
    }

    /// Closes the agent: its session is free for other processes afterwards.
    pub(crate) async fn close(mut self) {
        self.agent.close().await;
        if let Some(closing) = self.on_close.take() {
            closing().await;
        }
    }

    /// Lets clients run commands of the user.
    #[must_use]
    pub fn with_shell(mut self, shell: Arc<dyn UserShell>) -> Self {
        self.shell = Some(shell);
        self
    }

    /// Lets clients ask for another answer.
    #[must_use]
    pub fn with_retry_message(mut self, retry_message: RetryMessage) -> Self {
        self.retry_message = Some(retry_message);
        self
    }

    /// Lets messages name the model of their run.
    #[must_use]
    pub fn with_message_model(mut self, message_model: MessageModel) -> Self {
        self.message_model = Some(message_model);
        self
    }

    /// Lets clients change the permission mode.
    #[must_use]
    pub fn with_modes(mut self, modes: Arc<dyn PermissionModes>) -> Self {
        self.modes = Some(modes);
        self
    }
}

/// Reads and changes the permission mode of an agent.
pub trait PermissionModes: Send + Sync {
    /// Returns the name of the present mode.
    fn mode(&self) -> String;

    /// Changes the mode and returns the name of the one that applies now.
    ///
    /// # Errors
    /// If the name is unknown, or the settings forbid the mode.
    fn set_mode(&self, mode: &str) -> Result<String, Problem>;
}
