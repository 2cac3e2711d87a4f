//! Builds the agents of the sessions that a host runs: each from the settings and the trust of its directory.
//!
//! Invariant: a session that runs in a host has the same permissions, sandbox and tools as one that `lariat run` runs.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use lariat_api::{Principal, Problem, ProblemCode};
use lariat_core::BoxFuture;
use lariat_core::editor_files::EditorFiles;
use lariat_core::id::SessionId;
use lariat_guard::Mode;
use lariat_runtime::Gate;
use lariat_sessions::{
    AgentFactory, AgentRequest, FileHistory, HostOptions, HostedAgent, Local, PermissionModes,
};
use serde_json::{Map, Value};

use crate::loaded_project::{LoadOptions, LoadedProject};
use crate::only_session::OnlySession;
use crate::session::{Session, SessionOptions};
use crate::{LocalService, ServiceError};

/// Builds agents from the directories of sessions.
#[derive(Clone)]
pub struct ProjectAgents {
    service: LocalService,
    /// The settings in the host's environment.
    environment: Map<String, Value>,
    /// How to load the directory that the host was started for. Other directories have their own settings only.
    started_for: Option<LoadOptions>,
    session_settings: SessionSettings,
    /// The files of the editor that has a session open.
    editors: Option<Arc<SessionEditors>>,
    /// The only session, if the host has just one.
    only: Option<OnlySession>,
}

/// Returns the files of the editor that has a session open.
pub type SessionEditors = dyn Fn(&SessionId) -> Arc<dyn EditorFiles> + Send + Sync;

/// Settings of single sessions besides those of their directory, such as the MCP servers of an editor. They apply as if the
/// user had given them as flags, from the next time that the agent of the session is built. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings(Arc<Mutex<HashMap<SessionId, (String, String)>>>);

impl SessionSettings {
    /// Sets the settings of a session, in Claude Code's format. `origin` names where they come from in messages.
    pub fn set(&self, session_id: SessionId, origin: impl Into<String>, json: impl Into<String>) {
        let settings = (origin.into(), json.into());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(session_id, settings);
    }

    fn of(&self, session_id: &SessionId) -> Option<(String, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(session_id).cloned()
    }
}

impl ProjectAgents {
    /// Builds agents on the store of a service. `environment` has the settings from variables.
    pub fn new(service: LocalService, environment: Map<String, Value>) -> Self {
        Self {
            service,
            environment,
            started_for: None,
            session_settings: SessionSettings::default(),
            editors: None,
            only: None,
        }
    }

    /// Gives single sessions settings of their own.
    #[must_use]
    pub fn with_session_settings(mut self, settings: SessionSettings) -> Self {
        self.session_settings = settings;
        self
    }

    /// Gives the tools of each session the files of its editor.
    #[must_use]
    pub fn with_editors(mut self, editors: Arc<SessionEditors>) -> Self {
        self.editors = Some(editors);
        self
    }

    /// Builds the agents of one session, always from what the session says.
    pub(crate) fn of_session(service: LocalService, only: OnlySession) -> Self {
        Self { only: Some(only), ..Self::new(service, Map::new()) }
    }

    /// Applies flags, rules and trust of a command line to the sessions of its directory.
    #[must_use]
    pub fn with_options(mut self, options: LoadOptions) -> Self {
        self.started_for = Some(options);
        self
    }

    /// Hosts the sessions of the service's store for a principal.
    pub fn into_host(self, principal: Principal, options: HostOptions) -> Local {
        let archive = self.service.archive();
        Local::new(archive, Arc::new(self), principal, options)
    }

    async fn agent(&self, request: AgentRequest<'_>) -> Result<HostedAgent, Problem> {
        if let Some(only) = &self.only {
            let (mut place, options) = only.source();
            if let Some(model) = request.message_model {
                place.settings.model = Some(model.name.clone());
            }
            let opened = self.service.open_hosted(&place, request.session_id.clone(), options).await;
            let session = opened.map_err(|error| problem(&error))?;
            only.describe(&session);
            return Ok(hosted(session));
        }
        let directory = request.directory.ok_or_else(|| {
            Problem::new(ProblemCode::Invalid, "the session has no working directory")
                .with_hint("continue it with `lariat run --resume` in the directory where it belongs")
        })?;
        let mut options = match &self.started_for {
            Some(options) if options.directory == Path::new(directory) => options.clone(),
            _ => LoadOptions::new(directory),
        };
        options.environment.clone_from(&self.environment);
        options.settings.extend(self.session_settings.of(request.session_id));
        if let Some(model) = request.message_model.or(request.model) {
            options.flags.insert("model".to_owned(), model.name.as_str().into());
            if let Some(effort) = &model.effort {
                options.flags.insert("thinking".to_owned(), effort.as_str().into());
            }
        }
        if let Some(mode) = request.mode {
            options.flags.insert("mode".to_owned(), mode.into());
        }
        let place = LoadedProject::load(&options, self.service.folders()).map_err(|error| problem(&error))?;
        let editor = self.editors.as_ref().map(|editors| editors(request.session_id));
        let options = SessionOptions { has_clients: true, editor, ..SessionOptions::default() };
        let opened = self.service.open_hosted(&place, request.session_id.clone(), options).await;
        Ok(hosted(opened.map_err(|error| problem(&error))?))
    }
}

/// Gives the agent of a session to a host, with what a host controls besides it.
pub(crate) fn hosted(session: Session) -> HostedAgent {
    let modes = Arc::new(GateModes(Arc::clone(&session.gate)));
    let shell = session.shell();
    let (traces, mcp, commands) = (session.traces, session.mcp, session.commands);
    let closing = move || -> BoxFuture<'static, ()> {
        Box::pin(async move {
            mcp.close().await;
            traces.close().await;
        })
    };
    let mut hosted = HostedAgent::new(session.agent)
        .with_modes(modes)
        .with_message_model(Arc::new(move |message: &str| commands.model_of(message)))
        .with_closing(closing);
    if let Some(shell) = shell {
        hosted = hosted.with_shell(Arc::new(shell));
    }
    if let Some(form) = session.form {
        hosted = hosted.with_retry_message(Arc::new(move |problem: &str| form.retry_message(problem)));
    }
    hosted
}

impl AgentFactory for ProjectAgents {
    fn build<'a>(&'a self, request: AgentRequest<'a>) -> BoxFuture<'a, Result<HostedAgent, Problem>> {
        Box::pin(self.agent(request))
    }

    fn file_history(&self, directory: &str) -> Option<Arc<dyn FileHistory>> {
        Some(Arc::new(self.service.file_history(directory)))
    }
}

/// The permission modes of a gate.
struct GateModes(Arc<Gate>);

impl PermissionModes for GateModes {
    fn mode(&self) -> String {
        self.0.mode().name().to_owned()
    }

    fn set_mode(&self, mode: &str) -> Result<String, Problem> {
        let wanted = Mode::parse(mode).ok_or_else(|| {
            let names = Mode::ALL.map(Mode::name).join(", ");
            Problem::new(ProblemCode::Invalid, format!("unknown permission mode `{mode}`"))
                .with_hint(format!("the modes are {names}"))
        })?;
        let before = self.0.mode();
        let effective = self.0.set_mode(wanted);
        if effective == wanted {
            return Ok(effective.name().to_owned());
        }
        self.0.set_mode(before);
        Err(Problem::new(ProblemCode::Forbidden, format!("the settings forbid the mode `{wanted}`"))
            .with_hint("`lariat config list` shows which setting does"))
    }
}

fn problem(error: &ServiceError) -> Problem {
    let code = match error {
        ServiceError::UnknownSession(_) => ProblemCode::NotFound,
        ServiceError::Store(_) | ServiceError::Agent(_) => ProblemCode::Unavailable,
        _ => ProblemCode::Invalid,
    };
    let problem = Problem::new(code, error.to_string());
    match error {
        ServiceError::NoModel | ServiceError::NoKey { .. } => {
            problem.with_hint("`lariat init` sets up a model")
        }
        ServiceError::UnknownModel { suggestions, .. } => match suggestions.first() {
            Some(suggestion) => problem.with_hint(format!("did you mean `{suggestion}`?")),
            None => problem.with_hint("`lariat models list` lists all models"),
        },
        _ => problem,
    }
}
