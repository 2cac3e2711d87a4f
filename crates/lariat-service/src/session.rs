//! A session that is driven in this process: what front ends can do with it. They never see an agent.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::event::Description;
use lariat_core::id::{MessageId, RequestId, SessionId};
use lariat_core::message::{AgentMessage, Message, SharedMessage, UserMessage};
use lariat_core::model::ModelConfig;
use lariat_core::permission::PermissionDecision;
use lariat_guard::Mode;
use lariat_runtime::prompt::ContextReport;
use lariat_runtime::typed::Form;
use lariat_runtime::{Agent, AgentOutput, Gate, Plan, PlanDecision, RunStream};
use lariat_tools::Asker;
use serde_json::Value;

use crate::ServiceError;
use crate::local::GitNotes;
use crate::traces::Traces;

/// How a session is driven, besides what the settings say.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Driving {
    /// Who answers questions of the model; without, it has no tool to ask.
    pub asker: Option<Arc<dyn Asker>>,
    /// The schema that answers must have.
    pub schema: Option<Value>,
    /// Words that come before our own system prompt.
    pub system_prompt: Option<String>,
    /// What git says of the place, if it was asked before ([`Place::ask_git`](crate::Place::ask_git)). For one session.
    pub git: Option<Arc<GitNotes>>,
}

/// A session that is driven in this process.
pub struct Session {
    pub(crate) agent: Agent,
    pub(crate) gate: Arc<Gate>,
    pub(crate) model: ModelConfig,
    pub(crate) form: Option<Form>,
    pub(crate) tools: Vec<String>,
    pub(crate) traces: Traces,
    pub(crate) is_confined: bool,
    /// What a person should know before it begins.
    pub notices: Vec<String>,
}

/// What a person says.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Prompt {
    /// The words.
    pub text: String,
    /// Pictures: their bytes in base64 and their type.
    pub images: Vec<(String, String)>,
}

impl Prompt {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), images: Vec::new() }
    }

    fn message(self) -> AgentMessage {
        if self.images.is_empty() {
            return AgentMessage::from(self.text);
        }
        let images = self.images.into_iter().map(|(data, mime_type)| Content::Image { data, mime_type });
        let content = std::iter::once(Content::text(self.text)).chain(images).collect();
        AgentMessage::from(Message::User(UserMessage::new(content)))
    }
}

impl Session {
    /// The session.
    pub fn id(&self) -> SessionId {
        self.agent.session_id()
    }

    /// The model that answers.
    pub const fn model(&self) -> &ModelConfig {
        &self.model
    }

    /// The names of the tools.
    pub fn tools(&self) -> &[String] {
        &self.tools
    }

    /// Whether commands run in a sandbox.
    pub const fn is_confined(&self) -> bool {
        self.is_confined
    }

    /// What runs without a question.
    pub fn mode(&self) -> Mode {
        self.gate.mode()
    }

    /// Changes what runs without a question, as far as the settings permit it. Gives the mode that counts now.
    pub fn set_mode(&self, mode: Mode) -> Mode {
        self.gate.set_mode(mode)
    }

    /// Goes on with what was interrupted. Its stream is empty, and finishes with an error that
    /// [`is_nothing_to_recover`](lariat_runtime::AgentError::is_nothing_to_recover), when nothing was.
    ///
    /// # Errors
    /// When it is running.
    pub fn recover(&self) -> Result<RunStream, ServiceError> {
        Ok(self.agent.recover_stream()?)
    }

    /// Runs a prompt.
    ///
    /// # Errors
    /// When it is running.
    pub fn prompt(&self, prompt: Prompt) -> Result<RunStream, ServiceError> {
        Ok(self.agent.prompt_messages(vec![prompt.message()])?)
    }

    /// Lets the model answer the conversation as it is, after a failure or a limit. Its stream is empty, and finishes with
    /// an error that [`is_nothing_to_answer`](lariat_runtime::AgentError::is_nothing_to_answer), when the model spoke last.
    ///
    /// # Errors
    /// When it is running.
    pub fn go_on(&self) -> Result<RunStream, ServiceError> {
        Ok(self.agent.continue_loop()?)
    }

    /// The changes that plan mode queued, with what each would come to now.
    ///
    /// # Errors
    /// When it is running, or the journal cannot be read.
    pub async fn plan(&self) -> Result<Plan, ServiceError> {
        Ok(self.agent.plan().await?)
    }

    /// Records a decision about the plan and carries out what it approves.
    pub fn carry_out(&self, decision: PlanDecision) -> RunStream {
        self.agent.carry_out_stream(decision)
    }

    /// Drops the plan.
    ///
    /// # Errors
    /// When it is running, or the journal cannot be written.
    pub async fn drop_plan(&self) -> Result<(), ServiceError> {
        Ok(self.agent.drop_plan().await?)
    }

    /// Checks an answer against the schema; none when there is no schema.
    pub fn answer(&self, output: &AgentOutput) -> Option<Result<Value, String>> {
        Some(self.form.as_ref()?.read(&output.text))
    }

    /// Tells the model what is wrong with its answer, and lets it try again.
    ///
    /// # Errors
    /// When it is running.
    pub fn again(&self, problem: &str) -> Result<Option<RunStream>, ServiceError> {
        let Some(form) = &self.form else { return Ok(None) };
        Ok(Some(self.agent.prompt_messages(vec![form.again(problem)])?))
    }

    /// Answers a question about a call.
    pub fn respond(&self, request: RequestId, decision: PermissionDecision) {
        self.agent.respond_permission(request, decision);
    }

    /// Says something to a run, heard between calls.
    pub fn steer(&self, prompt: Prompt) {
        self.agent.steer(prompt.message());
    }

    /// Ends the run. The session is kept.
    pub fn interrupt(&self) {
        self.agent.abort();
    }

    /// Goes back to a message.
    ///
    /// # Errors
    /// When it is running, or the journal cannot be written.
    pub async fn rewind(&self, tip: Option<MessageId>) -> Result<(), ServiceError> {
        Ok(self.agent.rewind(tip).await?)
    }

    /// What the session is called, and its tags.
    ///
    /// # Errors
    /// When it is running, or the journal cannot be written.
    pub async fn describe(&self, description: Description) -> Result<(), ServiceError> {
        Ok(self.agent.describe(description).await?)
    }

    /// What is in the window.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn context(&self) -> Result<ContextReport, ServiceError> {
        Ok(self.agent.context().await?)
    }

    /// The conversation.
    pub fn messages(&self) -> Vec<SharedMessage> {
        self.agent.messages()
    }

    /// Tells hooks that the session ends and lets traces be written, and waits for both.
    pub async fn close(&self) {
        self.agent.close().await;
        self.traces.close().await;
    }
}
