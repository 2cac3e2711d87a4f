//! The only session of a host: what its next agent is built from, and what the newest one is made of.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::model::ModelConfig;
use lariat_guard::Mode;
use lariat_runtime::typed::AnswerSchema;
use lariat_runtime::{Agent, Gate};

use crate::loaded_project::LoadedProject;
use crate::mcp::{McpServerReport, McpServers};
use crate::session::{Session, SessionOptions};
use crate::user_shell::SessionShell;

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

/// The only session of a host. Cheap to clone; all clones are the same session.
#[derive(Clone)]
pub(crate) struct OnlySession(Arc<Mutex<HostedState>>);

struct HostedState {
    place: LoadedProject,
    options: SessionOptions,
    agent: AgentParts,
}

/// The parts of the newest agent that a client asks about.
#[derive(Clone)]
struct AgentParts {
    agent: Agent,
    shell: Option<SessionShell>,
    model: ModelConfig,
    tools: Vec<String>,
    mcp: Arc<McpServers>,
    gate: Arc<Gate>,
    is_sandboxed: bool,
    notices: Vec<String>,
    form: Option<Arc<AnswerSchema>>,
}

impl AgentParts {
    fn of(session: &Session) -> Self {
        Self {
            agent: session.agent.clone(),
            shell: session.shell(),
            model: session.model().clone(),
            tools: session.tools().to_vec(),
            mcp: Arc::clone(&session.mcp),
            gate: Arc::clone(&session.gate),
            is_sandboxed: session.is_sandboxed(),
            notices: session.notices.clone(),
            form: session.form.clone(),
        }
    }
}

impl OnlySession {
    /// A session, with what it was opened from.
    pub(crate) fn new(place: LoadedProject, options: SessionOptions, session: &Session) -> Self {
        let agent = AgentParts::of(session);
        Self(Arc::new(Mutex::new(HostedState { place, options: repeatable(options), agent })))
    }

    /// Sets what the next agent is built from.
    pub(crate) fn configure(&self, place: LoadedProject, options: SessionOptions) {
        let mut state = self.state();
        (state.place, state.options) = (place, repeatable(options));
    }

    /// What the next agent is built from.
    pub(crate) fn source(&self) -> (LoadedProject, SessionOptions) {
        let state = self.state();
        (state.place.clone(), state.options.clone())
    }

    /// Sets what the newest agent is made of.
    pub(crate) fn describe(&self, session: &Session) {
        self.state().agent = AgentParts::of(session);
    }

    /// What the newest agent is made of, now.
    pub(crate) fn facts(&self) -> AgentFacts {
        let AgentParts { model, tools, mcp, gate, is_sandboxed, notices, .. } = self.state().agent.clone();
        AgentFacts { model, tools, mcp_servers: mcp.reports(), mode: gate.mode(), is_sandboxed, notices }
    }

    /// The newest agent, to record what happens between its runs.
    pub(crate) fn agent(&self) -> Agent {
        self.state().agent.agent.clone()
    }

    /// The shell of the newest agent.
    pub(crate) fn shell(&self) -> Option<SessionShell> {
        self.state().agent.shell.clone()
    }

    /// The mode that applies if a client chooses this one: the settings may not permit it.
    pub(crate) fn permitted_mode(&self, mode: Mode) -> Mode {
        self.state().agent.gate.guard().settings().allowed_mode(mode)
    }

    /// The schema that answers must match.
    pub(crate) fn form(&self) -> Option<Arc<AnswerSchema>> {
        self.state().agent.form.clone()
    }

    fn state(&self) -> MutexGuard<'_, HostedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The options without what is for one agent only: the query of git, and the id, which is known by now.
fn repeatable(options: SessionOptions) -> SessionOptions {
    SessionOptions { git: None, new_id: None, ..options }
}
