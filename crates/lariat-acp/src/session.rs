//! A session that the editor has open: its prompts, its questions and its options.
//!
//! `follow` reads the log of the session and sends updates. Prompts end there too, so the response to a prompt comes after
//! every update that belongs to it. In the draft of version 2, the response says that the message is in the session, and a
//! state says how the work ended. Invariants: a prompt gets exactly one response; a question that was answered elsewhere
//! or is no longer needed is withdrawn in the editor; an answer that is not clear approves nothing.

mod follow;
mod options;
mod questions;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat_api::{
    Action, AskId, ClientName, CommandId, Cursor, Delivery, Edit, Problem, ProblemCode, PromptContent,
    Receipt, SessionCommand, SessionStatus, SessionView, Sessions,
};
use lariat_core::content::ToolCall as Call;
use lariat_core::id::{MessageId, SessionId};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use uuid::Uuid;

use crate::connection::Connection;
use crate::project::Project;
use crate::slash::{self, SlashAction};
use crate::transcript::user_chunks;
use crate::wire::draft::{self, Activity};
use crate::wire::{
    ClientCapabilities, ContentBlock, Notice, Protocol, RpcError, Severity, StopReason, Update,
};
use options::ChosenOptions;

/// The name of this client in journals.
const CLIENT: &str = "editor";
/// Maximum number of prompts of a session without a response.
const MAX_PROMPTS: usize = 16;
/// How long closing a session waits for its run to end.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// What an open session needs.
pub(crate) struct Opening {
    pub(crate) host: Host,
    pub(crate) connection: Connection,
    pub(crate) editor: ClientCapabilities,
    pub(crate) project: Project,
}

/// The host of a session.
pub(crate) struct Host {
    pub(crate) sessions: Arc<dyn Sessions>,
    pub(crate) process: HostProcess,
}

/// Where a host runs its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostProcess {
    /// In this process: its runs end with the editor.
    This,
    /// In another process: its runs continue without the editor.
    Other,
}

/// What a session does with the messages in its queue when a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueState {
    /// It starts the next run on them.
    Delivered,
    /// They wait until a client resumes the queue.
    Paused,
}

/// Where the editor begins to read.
pub(crate) enum Start {
    /// At the first event: the editor shows the whole conversation.
    Replay,
    /// After a position: the editor shows what happens from now on.
    After(Cursor),
}

/// A session that the editor has open.
pub(crate) struct OpenSession {
    id: SessionId,
    opening: Opening,
    directory: PathBuf,
    state: Mutex<SessionData>,
    /// Notified when a prompt ended.
    ended: Notify,
    follower: Mutex<Option<AbortHandle>>,
}

struct SessionData {
    options: ChosenOptions,
    title: Option<String>,
    prompts: Vec<ActivePrompt>,
    /// The questions that the editor shows, with the ids of our requests.
    questions: HashMap<AskId, u64>,
    /// The tool calls that questions are about.
    calls: HashMap<AskId, Arc<Call>>,
    /// Why the session is not followed any more; prompts would have no end.
    lost: Option<Problem>,
    /// How the prompts end if the user decides against the plan that the editor shows.
    plan: Option<Result<StopReason, RpcError>>,
    /// What the editor knows about the work, in the draft of version 2.
    activity: Option<Activity>,
}

/// A prompt without a response.
struct ActivePrompt {
    /// The id of the editor's request.
    request_id: Value,
    command_id: CommandId,
    /// Whether the journal has the command.
    is_accepted: bool,
    /// Its message, once it is recorded.
    message: Option<MessageId>,
    is_cancelled: bool,
    /// Whether the queue was resumed for it. A second time would not help.
    is_resumed: bool,
    /// Whether the editor has the response, which comes before the end in the draft of version 2.
    is_acknowledged: bool,
}

impl OpenSession {
    /// Opens a session and follows it. Returns when the editor has all updates up to now.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub(crate) async fn open(
        opening: Opening,
        view: &SessionView,
        start: Start,
    ) -> Result<Arc<Self>, Problem> {
        let options = ChosenOptions::of(view, &opening.project);
        let session = Arc::new(Self {
            id: view.session_id.clone(),
            directory: PathBuf::from(&opening.project.directory),
            opening,
            state: Mutex::new(SessionData {
                options,
                title: view.title.clone(),
                prompts: Vec::new(),
                questions: HashMap::new(),
                calls: HashMap::new(),
                lost: None,
                plan: None,
                activity: None,
            }),
            ended: Notify::new(),
            follower: Mutex::default(),
        });
        let (synced, is_synced) = oneshot::channel();
        let task = tokio::spawn(follow::run(Arc::clone(&session), start, synced));
        *session.follower.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
        let lost = || Err(Problem::new(ProblemCode::Internal, "the task that follows the session ended"));
        is_synced.await.unwrap_or_else(|_| lost())?;
        Ok(session)
    }

    fn state(&self) -> MutexGuard<'_, SessionData> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn id(&self) -> &SessionId {
        &self.id
    }

    pub(crate) const fn project(&self) -> &Project {
        &self.opening.project
    }

    pub(crate) const fn directory(&self) -> &PathBuf {
        &self.directory
    }

    /// Modes and options, for the response that opens the session.
    pub(crate) fn described(&self) -> Value {
        let state = self.state();
        let project = &self.opening.project;
        if self.opening.connection.protocol() == Protocol::Draft {
            return json!({
                "configOptions": draft::options(&state.options.list(project)),
                "availableCommands": draft::commands(&slash::available(project)),
            });
        }
        json!({
            "modes": state.options.modes(project),
            "configOptions": state.options.list(project),
        })
    }

    /// Sends what the editor needs after the response that opened the session.
    pub(crate) async fn introduce(&self) {
        let available_commands = slash::available(&self.opening.project);
        self.update(Update::AvailableCommandsUpdate { available_commands }).await;
        if self.opening.editor.has_notices() {
            for title in self.opening.project.notices.clone() {
                self.update(Update::Notice(Notice { severity: Severity::Warning, title })).await;
            }
        }
    }

    async fn update(&self, update: Update) {
        self.opening.connection.update(&self.id, &update).await;
    }

    async fn say(&self, text: impl Into<String>) {
        self.update(Update::AgentMessageChunk { content: ContentBlock::text(text), message_id: None }).await;
    }

    async fn view(&self) -> Result<SessionView, Problem> {
        self.opening.host.sessions.view(&self.id).await
    }

    async fn send_as(&self, id: CommandId, action: Action) -> Result<Receipt, Problem> {
        let command = SessionCommand::new(id, ClientName::new(CLIENT), action);
        self.opening.host.sessions.send(&self.id, command).await
    }

    /// Sends a command to the session.
    pub(crate) async fn send(&self, action: Action) -> Result<Receipt, Problem> {
        self.send_as(fresh_id(), action).await
    }

    /// Registers a prompt before anything waits, so that a cancellation that follows it finds it.
    ///
    /// # Errors
    /// If too many prompts wait, or their end cannot be observed.
    pub(crate) fn register_prompt(&self, request_id: Value) -> Result<CommandId, Problem> {
        let command_id = fresh_id();
        let mut state = self.state();
        if let Some(problem) = &state.lost {
            return Err(problem.clone());
        }
        if state.prompts.len() >= MAX_PROMPTS {
            let message = format!("{MAX_PROMPTS} prompts of this session wait for their end");
            return Err(Problem::new(ProblemCode::Unavailable, message));
        }
        state.prompts.push(ActivePrompt {
            request_id,
            command_id: command_id.clone(),
            is_accepted: false,
            message: None,
            is_cancelled: false,
            is_resumed: false,
            is_acknowledged: false,
        });
        Ok(command_id)
    }

    /// Whether the prompt of a request has no response yet.
    pub(crate) fn has_prompt(&self, request_id: &Value) -> bool {
        self.state().prompts.iter().any(|prompt| prompt.request_id == *request_id)
    }

    /// Sends a registered prompt. Its response follows with the end of the run.
    pub(crate) async fn prompt(&self, command_id: CommandId, content: PromptContent) {
        // A prompt that comes while another one runs steers it; both end together.
        let delivery = if self.state().prompts.len() > 1 { Delivery::Steer } else { Delivery::Queue };
        let sent = self.send_as(command_id.clone(), Action::Prompt { content, delivery }).await;
        match sent {
            Ok(_) => {
                let is_it = |prompt: &ActivePrompt| prompt.command_id == command_id && prompt.is_cancelled;
                if self.state().prompts.iter().any(is_it) {
                    // The cancellation came before there was a run.
                    let _ = self.send(Action::Interrupt).await;
                }
            }
            Err(problem) => self.end_prompt(&command_id, Err(problem.into())).await,
        }
    }

    /// Runs a command instead of a registered prompt.
    pub(crate) async fn command(&self, command_id: CommandId, content: &PromptContent, command: SlashAction) {
        if self.opening.connection.protocol() == Protocol::Draft {
            self.repeat(&command_id, content).await;
        }
        let result = match command {
            SlashAction::Send(action, done) => self.send(*action).await.map(|_| done.to_owned()),
            SlashAction::Context => {
                self.opening.host.sessions.context(&self.id).await.map(|use_| slash::context_text(&use_))
            }
            SlashAction::Cost => self.view().await.map(|view| slash::cost_text(&view)),
            SlashAction::Diff => {
                self.opening.host.sessions.diff(&self.id).await.map(|files| slash::diff_text(&files))
            }
            SlashAction::Refuse(reason) => Ok(reason),
        };
        let result = match result {
            Ok(text) => {
                self.say(text).await;
                Ok(StopReason::EndTurn)
            }
            Err(problem) => Err(problem.into()),
        };
        self.end_prompt(&command_id, result).await;
    }

    /// Acknowledges a command and repeats it, as for a message.
    async fn repeat(&self, command_id: &CommandId, content: &PromptContent) {
        let request_id = {
            let mut state = self.state();
            let prompt = state.prompts.iter_mut().find(|prompt| prompt.command_id == *command_id);
            prompt.map(|prompt| {
                prompt.is_acknowledged = true;
                prompt.request_id.clone()
            })
        };
        let Some(request_id) = request_id else { return };
        self.acknowledge(&request_id, command_id.as_str()).await;
        for update in user_chunks(command_id.as_str(), &content.0) {
            self.update(update).await;
        }
        self.report(Activity::Running).await;
    }

    /// Responds to a prompt, unless it has its response.
    pub(crate) async fn end_prompt(&self, command_id: &CommandId, result: Result<StopReason, RpcError>) {
        let prompt = {
            let mut state = self.state();
            let at = state.prompts.iter().position(|prompt| prompt.command_id == *command_id);
            at.map(|at| state.prompts.remove(at))
        };
        if let Some(prompt) = prompt {
            self.respond(prompt, result).await;
        }
    }

    async fn respond(&self, prompt: ActivePrompt, result: Result<StopReason, RpcError>) {
        // A cancelled prompt ends as cancelled, whatever else went wrong while it stopped.
        let result = if prompt.is_cancelled { Ok(StopReason::Cancelled) } else { result };
        match (self.opening.connection.protocol(), result) {
            (Protocol::Stable, result) => {
                let response = result.map(|reason| json!({ "stopReason": reason }));
                self.opening.connection.respond(&prompt.request_id, response).await;
            }
            (Protocol::Draft, Err(error)) if !prompt.is_acknowledged => {
                self.opening.connection.respond(&prompt.request_id, Err(error)).await;
            }
            (Protocol::Draft, result) => {
                if !prompt.is_acknowledged {
                    self.acknowledge(&prompt.request_id, prompt.command_id.as_str()).await;
                }
                self.report(Activity::Idle(result)).await;
            }
        }
        self.ended.notify_waiters();
    }

    /// The journal has a command. Returns whether it is a prompt of this editor.
    fn accept(&self, command_id: &str) -> bool {
        let mut state = self.state();
        let prompt = state.prompts.iter_mut().find(|prompt| prompt.command_id.as_str() == command_id);
        prompt.map(|prompt| prompt.is_accepted = true).is_some()
    }

    /// The journal has the message of the newest accepted prompt.
    async fn bind(&self, message: MessageId) {
        let is_draft = self.opening.connection.protocol() == Protocol::Draft;
        let bound = {
            let mut state = self.state();
            let accepted = state.prompts.iter_mut().filter(|prompt| prompt.is_accepted);
            accepted.rev().find(|prompt| prompt.message.is_none()).map(|prompt| {
                prompt.message = Some(message);
                prompt.is_acknowledged = is_draft;
                prompt.request_id.clone()
            })
        };
        if let Some(request_id) = bound.filter(|_| is_draft) {
            self.acknowledge(&request_id, &message.to_string()).await;
        }
    }

    /// Responds to a prompt whose message is in the session.
    async fn acknowledge(&self, request_id: &Value, message_id: &str) {
        self.opening.connection.respond(request_id, Ok(json!({ "messageId": message_id }))).await;
    }

    /// Says what the session does, if the editor does not know it yet.
    async fn report(&self, activity: Activity) {
        let is_known = {
            let mut state = self.state();
            let is_idle = |activity: &Activity| matches!(activity, Activity::Idle(_));
            let is_known = match &state.activity {
                Some(known) if is_idle(known) => is_idle(&activity),
                known => known.as_ref() == Some(&activity),
            };
            if !is_known {
                state.activity = Some(activity.clone());
            }
            is_known
        };
        if !is_known {
            self.opening.connection.state(&self.id, &activity).await;
        }
    }

    /// Responds to the prompts of a run that ended. `is_queued` says whether a message waits for the next run.
    async fn end_prompts(
        &self,
        result: Result<StopReason, RpcError>,
        is_queued: impl Fn(MessageId) -> bool,
        queue: QueueState,
    ) {
        let (mut ended, mut resumes) = (Vec::new(), false);
        {
            let mut state = self.state();
            state.plan = None;
            for mut prompt in std::mem::take(&mut state.prompts) {
                let waits = !prompt.is_cancelled && prompt.message.is_some_and(&is_queued);
                if prompt.is_accepted && waits && queue == QueueState::Paused && !prompt.is_resumed {
                    (prompt.is_resumed, resumes) = (true, true);
                    state.prompts.push(prompt);
                } else if !prompt.is_accepted || (waits && queue == QueueState::Delivered) {
                    state.prompts.push(prompt);
                } else {
                    ended.push(prompt);
                }
            }
        }
        for prompt in ended {
            let unsent = prompt.message.filter(|message| is_queued(*message));
            self.respond(prompt, result.clone()).await;
            if let Some(message_id) = unsent {
                // The prompt is over before the model saw it; it must not come back later.
                let _ = self.send(Action::EditQueue { edit: Edit::Remove { message_id } }).await;
            }
        }
        if resumes {
            self.resume_queue().await;
        }
    }

    /// Starts a run on the messages that wait.
    async fn resume_queue(&self) {
        match self.send(Action::EditQueue { edit: Edit::Resume }).await {
            // The session has delivered them meanwhile.
            Err(problem) if problem.code == ProblemCode::WrongStatus => {}
            Err(problem) => self.fail_prompts(&problem).await,
            Ok(_) => {}
        }
    }

    /// Delivers a prompt that arrived after the end of an interrupted run, which paused the queue.
    async fn deliver_if_idle(&self, message: MessageId) {
        let Ok(view) = self.view().await else { return };
        let is_idle = matches!(view.status, SessionStatus::Idle | SessionStatus::Closed);
        if is_idle && view.queue.iter().any(|queued| queued.message_id == message) {
            self.resume_queue().await;
        }
    }

    /// Cancels the prompts of this session before anything waits.
    pub(crate) fn mark_cancelled(&self) {
        self.state().prompts.iter_mut().for_each(|prompt| prompt.is_cancelled = true);
    }

    /// Stops the run. The prompts end with it.
    pub(crate) async fn cancel(&self) {
        self.mark_cancelled();
        let has_plan = self.state().plan.take().is_some();
        if has_plan {
            // No run is active: the prompts wait for the decision about the plan.
            self.withdraw_all().await;
            self.end_prompts(Ok(StopReason::Cancelled), |_| false, QueueState::Delivered).await;
            return;
        }
        // A run that is not there yet, or that has ended, cannot be interrupted and need not be.
        let _ = self.send(Action::Interrupt).await;
    }

    /// Cancels the prompts, waits for the end of the run, and releases the session for other processes.
    pub(crate) async fn close(&self) {
        if !self.state().prompts.is_empty() {
            self.cancel().await;
            let _ = tokio::time::timeout(CLOSE_WAIT, self.wait_for_prompts()).await;
        }
        if self.opening.host.process == HostProcess::This {
            let _ = self.send(Action::Close).await;
        }
        self.end().await;
    }

    /// Waits until no prompt is active.
    async fn wait_for_prompts(&self) {
        loop {
            let notified = self.ended.notified();
            if self.state().prompts.is_empty() {
                return;
            }
            notified.await;
        }
    }

    /// Stops a run of this process and waits for its end, because the editor is gone. A run of another process continues.
    pub(crate) async fn leave(&self) {
        let is_active = !self.state().prompts.is_empty();
        if is_active && self.opening.host.process == HostProcess::This {
            self.cancel().await;
            self.wait_for_prompts().await;
        }
        self.detach();
    }

    /// Stops following the session, and ends its prompts and questions.
    pub(crate) async fn end(&self) {
        self.detach();
        let left = std::mem::take(&mut self.state().prompts);
        for prompt in left {
            self.respond(prompt, Ok(StopReason::Cancelled)).await;
        }
        self.withdraw_all().await;
    }

    fn detach(&self) {
        if let Some(follower) = self.follower.lock().unwrap_or_else(PoisonError::into_inner).take() {
            follower.abort();
        }
    }

    /// Refuses prompts from now on.
    fn lose(&self, problem: Problem) {
        self.state().lost = Some(problem.with_hint("open the session again"));
    }

    /// Ends all prompts with a problem: their end cannot be observed any more.
    async fn fail_prompts(&self, problem: &Problem) {
        let failed = std::mem::take(&mut self.state().prompts);
        for prompt in failed {
            self.respond(prompt, Err(problem.clone().into())).await;
        }
    }
}

fn fresh_id() -> CommandId {
    CommandId::new(Uuid::new_v4().to_string())
}
