//! A session that this process hosts for its only client, such as `lariat run`.
//!
//! The client uses [`HostedSession::sessions`] as it would use any other host. Besides that it learns here what the journal
//! does not have: the facts about the agent, and whether an answer matches the schema.

use std::sync::Arc;

use lariat_api::{AskDigest, AskPolicy, Principal, Problem, Sessions};
use lariat_core::id::SessionId;
use lariat_core::model::ModelConfig;
use lariat_guard::Mode;
use lariat_runtime::Plan;
use lariat_runtime::typed::AnswerSchema;
use lariat_sessions::{HostOptions, Local, plan_digest};
use serde_json::Value;

use crate::hosting::{self, ProjectAgents};
use crate::loaded_project::LoadedProject;
use crate::mcp::McpServerReport;
use crate::service::SessionSelector;
use crate::session::{Session, SessionOptions};
use crate::{LocalService, ServiceError};

/// How often the model may try again if its answer does not match the schema.
const RETRIES: u32 = 2;

/// A session and its host.
pub struct HostedSession {
    host: Local,
    session_id: SessionId,
    form: Option<Arc<AnswerSchema>>,
    /// What the agent of the session is made of.
    pub facts: AgentFacts,
}

/// What an agent is made of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentFacts {
    /// The model.
    pub model: ModelConfig,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// The MCP servers, and what each does at the moment.
    pub mcp_servers: Vec<McpServerReport>,
    /// The permission mode.
    pub mode: Mode,
    /// Whether commands run in the sandbox.
    pub is_sandboxed: bool,
    /// Notes for the user before the session starts.
    pub notices: Vec<String>,
}

impl From<&Session> for AgentFacts {
    fn from(session: &Session) -> Self {
        Self {
            model: session.model().clone(),
            tools: session.tools().to_vec(),
            mcp_servers: session.mcp_servers(),
            mode: session.mode(),
            is_sandboxed: session.is_sandboxed(),
            notices: session.notices.clone(),
        }
    }
}

/// What follows from an answer that must match a schema.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AnswerCheck {
    /// It matches.
    Match(Value),
    /// It does not match, for this reason; the model may try again ([`lariat_api::Action::RetryAnswer`]).
    Retry(String),
    /// It does not match, for this reason, and it was the last attempt.
    Mismatch(String),
}

/// Counts the attempts at one answer.
#[derive(Clone, Copy, Debug)]
pub struct AnswerAttempts {
    left: u32,
}

impl Default for AnswerAttempts {
    fn default() -> Self {
        Self { left: RETRIES }
    }
}

impl LocalService {
    /// Opens a session to run it in a directory, and hosts it for one client.
    ///
    /// # Errors
    /// If the session or model is unknown, or the session cannot be built.
    pub async fn host_session(
        &self,
        place: &LoadedProject,
        which: &SessionSelector,
        mut driving: SessionOptions,
        principal: Principal,
    ) -> Result<HostedSession, ServiceError> {
        let session = self.open_session(place, which, driving.clone()).await?;
        let session_id = session.id();
        // The query of git is for one agent, and the id is known now.
        (driving.git, driving.new_id) = (None, None);
        let facts = AgentFacts::from(&session);
        let mut options = HostOptions::default();
        (options.ask_policy, options.is_in_process) = (AskPolicy::Wait, true);
        let host =
            ProjectAgents::of_session(self.clone(), place.clone(), driving).into_host(principal, options);
        let form = session.form.clone();
        host.adopt(&session_id, hosting::hosted(session));
        Ok(HostedSession { host, session_id, form, facts })
    }
}

impl HostedSession {
    /// The id of the session.
    pub const fn id(&self) -> &SessionId {
        &self.session_id
    }

    /// The host, for its client.
    pub fn sessions(&self) -> Arc<dyn Sessions> {
        Arc::new(self.host.clone())
    }

    /// The changes that plan mode queued, each with its effect on the current files, and the digest with which an answer
    /// approves exactly these.
    ///
    /// # Errors
    /// If a run is active, or the journal cannot be read.
    pub async fn plan(&self) -> Result<(Plan, AskDigest), Problem> {
        let plan = self.host.plan(&self.session_id).await?;
        let digest = plan_digest(&plan);
        Ok((plan, digest))
    }

    /// Checks an answer against the schema of the session; `None` without a schema.
    pub fn check_answer(&self, text: &str, attempts: &mut AnswerAttempts) -> Option<AnswerCheck> {
        let problem = match self.form.as_ref()?.read(text) {
            Ok(value) => return Some(AnswerCheck::Match(value)),
            Err(problem) => problem,
        };
        let Some(left) = attempts.left.checked_sub(1) else { return Some(AnswerCheck::Mismatch(problem)) };
        attempts.left = left;
        Some(AnswerCheck::Retry(problem))
    }

    /// Runs the hooks for the end of the session, flushes traces and ends MCP servers, and waits for all.
    pub async fn close(&self) {
        self.host.release().await;
    }
}
