//! A session that this process hosts for its only client, such as `lariat run`.
//!
//! The client uses [`HostedSession::sessions`] as it would use any other host. Besides that it learns here what the journal
//! does not have: the facts about the agent, and whether an answer matches the schema. It can also change what the agent is
//! built from, between runs.

use std::sync::Arc;

use lariat_api::{AskDigest, AskPolicy, Principal, Problem, Sessions};
use lariat_core::id::SessionId;
use lariat_guard::Mode;
use lariat_runtime::Plan;
use lariat_sessions::{HostOptions, Local, plan_digest};
use serde_json::Value;

use crate::hosting::{self, ProjectAgents};
use crate::loaded_project::LoadedProject;
use crate::only_session::{AgentFacts, OnlySession};
use crate::service::SessionSelector;
use crate::session::SessionOptions;
use crate::user_shell::SessionShell;
use crate::{LocalService, ServiceError};

/// How often the model may try again if its answer does not match the schema.
const RETRIES: u32 = 2;

/// A session and its host. Cheap to clone.
#[derive(Clone)]
pub struct HostedSession {
    host: Local,
    session_id: SessionId,
    only: OnlySession,
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

impl AnswerAttempts {
    /// Uses one more attempt. Returns false if none is left.
    pub(crate) fn use_one(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or_default();
        left.is_some()
    }
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
        driving: SessionOptions,
        principal: Principal,
    ) -> Result<HostedSession, ServiceError> {
        let session = self.open_session(place, which, driving.clone()).await?;
        let session_id = session.id();
        let mut options = HostOptions::default();
        (options.ask_policy, options.is_in_process) = (AskPolicy::Wait, true);
        let only = OnlySession::new(place.clone(), driving, &session);
        let host = ProjectAgents::of_session(self.clone(), only.clone()).into_host(principal, options);
        host.adopt(&session_id, hosting::hosted(session));
        Ok(HostedSession { host, session_id, only })
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

    /// What the agent of the session is made of, now.
    pub fn facts(&self) -> AgentFacts {
        self.only.facts()
    }

    /// The agent of the session, to record what happens between its runs.
    pub(crate) fn agent(&self) -> lariat_runtime::Agent {
        self.only.agent()
    }

    /// The shell for commands of the user.
    pub(crate) fn shell(&self) -> Option<SessionShell> {
        self.only.shell()
    }

    /// The permission mode that applies if the client chooses the one with this name; `None` if there is no such mode. The
    /// settings may permit a stricter mode only.
    pub fn permitted_mode(&self, name: &str) -> Option<Mode> {
        Mode::parse(name).map(|mode| self.only.permitted_mode(mode))
    }

    /// Builds later agents of the session from this project and with these options. The one that exists stays until
    /// [`HostedSession::rebuild`] or an action that builds a new one, such as [`lariat_api::Action::SetModel`].
    pub fn configure(&self, place: LoadedProject, options: SessionOptions) {
        self.only.configure(place, options);
    }

    /// Builds the agent of the session anew. The permission mode stays, as far as the settings permit it.
    ///
    /// # Errors
    /// If a run is active, or the agent cannot be built.
    pub async fn rebuild(&self) -> Result<(), Problem> {
        self.host.rebuild(&self.session_id).await
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
        let problem = match self.only.form()?.read(text) {
            Ok(value) => return Some(AnswerCheck::Match(value)),
            Err(problem) => problem,
        };
        Some(if attempts.use_one() { AnswerCheck::Retry(problem) } else { AnswerCheck::Mismatch(problem) })
    }

    /// Runs the hooks for the end of the session, flushes traces and ends MCP servers, and waits for all.
    pub async fn close(&self) {
        self.host.release().await;
    }
}
