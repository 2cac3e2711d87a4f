//! The sessions of this machine: opens the store, finds sessions and starts them.

use std::sync::Arc;

use lariat_core::archive::{ListQuery, SessionArchive, SessionSummary};
use lariat_core::id::SessionId;
use lariat_core::store::SessionStore;
use lariat_host::process::{Environment, LaunchHelper, Supervisor};
use lariat_model::ProviderRegistry;
use lariat_model::http::{ClientConfig, HttpClient};
use lariat_runtime::new_session_id;
use lariat_runtime::prompt::ContextReport;
use lariat_store::sqlite::SqliteStore;

use crate::assembly::{self, SessionParts};
use crate::config::StoreSettings;
use crate::file_history::{OpenUndoStores, Undo, UndoError};
use crate::hosted_files::DirectoryHistory;
use crate::loaded_project::LoadedProject;
use crate::mcp::McpServers;
use crate::models::{Keys, Purpose};
use crate::openapi::OpenApis;
use crate::session::{Session, SessionOptions};
use crate::session_store;
use crate::{ServiceError, UserDirectories};

/// Which session to use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionSelector {
    /// A new session.
    #[default]
    New,
    /// The session with this id or unique prefix.
    Resume(String),
    /// The most recent session of the directory.
    Continue,
    /// A new session with the history of another.
    Fork(String),
}

/// The context window of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ContextWindowReport {
    /// Its contents.
    pub report: ContextReport,
    /// The model; `None` if no model is configured, so that the size is the default.
    pub model: Option<String>,
}

/// The sessions of this machine.
#[derive(Clone)]
pub struct LocalService {
    folders: UserDirectories,
    environment: Environment,
    keys: Arc<dyn Keys>,
    store: Arc<dyn SessionArchive>,
    registry: ProviderRegistry,
    client: ClientConfig,
    launch_helper: Option<LaunchHelper>,
    is_ephemeral: bool,
    /// Tells the store from others on this machine; `None` for one in memory.
    store_name: Option<String>,
    /// The undo stores that sessions of this service have open.
    undo: OpenUndoStores,
    /// Notes for the user about the store.
    notices: Vec<String>,
}

/// Maximum number of ids to list for an ambiguous prefix.
const AMBIGUOUS: usize = 5;

impl LocalService {
    /// Opens the session store that the settings choose.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub async fn open(
        folders: UserDirectories,
        store: &StoreSettings,
        environment: Environment,
        keys: Arc<dyn Keys>,
    ) -> Result<Self, ServiceError> {
        let opened = session_store::open(&folders, store).await?;
        let store_name = Some(session_store::name(&folders, store));
        let notices = opened.notices;
        Ok(Self { notices, store_name, ..Self::on(folders, opened.archive, environment, keys) })
    }

    /// Opens an in-memory store, whose sessions end with the process.
    ///
    /// # Errors
    /// If the store cannot be created.
    pub async fn ephemeral(
        folders: UserDirectories,
        environment: Environment,
        keys: Arc<dyn Keys>,
    ) -> Result<Self, ServiceError> {
        let store = SqliteStore::in_memory().await?;
        Ok(Self { is_ephemeral: true, ..Self::on(folders, Arc::new(store), environment, keys) })
    }

    fn on(
        folders: UserDirectories,
        store: Arc<dyn SessionArchive>,
        environment: Environment,
        keys: Arc<dyn Keys>,
    ) -> Self {
        let (registry, client) = (ProviderRegistry::default(), ClientConfig::default());
        let notices = Vec::new();
        Self {
            folders,
            environment,
            keys,
            store,
            registry,
            client,
            launch_helper: None,
            is_ephemeral: false,
            store_name: None,
            undo: OpenUndoStores::default(),
            notices,
        }
    }

    /// Sets the proxy and certificates for all connections to other machines.
    #[must_use]
    pub fn with_client(mut self, config: ClientConfig) -> Self {
        self.registry = ProviderRegistry::on(Arc::new(HttpClient::new(config.clone())));
        self.client = config;
        self
    }

    /// Starts commands through a launch helper, which is cheaper for a program with much memory.
    #[must_use]
    pub fn with_launch_helper(mut self, launch_helper: LaunchHelper) -> Self {
        self.launch_helper = Some(launch_helper);
        self
    }

    /// The session archive: list, read, fork, delete, verify and watch sessions.
    pub fn archive(&self) -> Arc<dyn SessionArchive> {
        Arc::clone(&self.store)
    }

    /// The user's directories.
    pub fn folders(&self) -> &UserDirectories {
        &self.folders
    }

    /// Finds a session by its id or a unique prefix.
    ///
    /// # Errors
    /// If none or several match.
    pub async fn find(&self, id: &str) -> Result<SessionSummary, ServiceError> {
        let whole = SessionId::from(id);
        if self.store.head(&whole).await? > 0 {
            return Ok(self.store.summary(&whole).await?);
        }
        let mut found = self.store.list(&ListQuery::default()).await?;
        found.retain(|summary| summary.session_id.as_str().starts_with(id));
        match (found.pop(), found.len()) {
            (Some(summary), 0) if !id.is_empty() => Ok(summary),
            (Some(last), 1..) => Err(ServiceError::AmbiguousSession {
                prefix: id.to_owned(),
                ids: found
                    .iter()
                    .chain([&last])
                    .take(AMBIGUOUS)
                    .map(|summary| summary.session_id.to_string())
                    .collect(),
            }),
            _ => Err(ServiceError::UnknownSession(id.to_owned())),
        }
    }

    /// The most recent session of a directory.
    ///
    /// # Errors
    /// If there is none.
    pub async fn newest(&self, directory: &std::path::Path) -> Result<SessionSummary, ServiceError> {
        let directory = directory.display().to_string();
        let mut query = ListQuery::default();
        query.cwd = Some(directory.clone());
        query.limit = 1;
        let found = self.store.list(&query).await?.into_iter().next();
        found.ok_or(ServiceError::NothingToContinue(directory))
    }

    /// Opens a session to run it in a directory.
    ///
    /// # Errors
    /// If the session or model is unknown, or the session cannot be built.
    pub async fn open_session(
        &self,
        place: &LoadedProject,
        which: &SessionSelector,
        driving: SessionOptions,
    ) -> Result<Session, ServiceError> {
        self.assemble(place, which, Purpose::Calling, driving).await
    }

    /// Opens a session to read it or to change what needs no model. Needs no model and no key; its runs fail.
    ///
    /// # Errors
    /// If the session is unknown, or the settings name an unknown model.
    pub async fn inspect_session(
        &self,
        place: &LoadedProject,
        which: &SessionSelector,
    ) -> Result<Session, ServiceError> {
        self.assemble(place, which, Purpose::Inspecting, SessionOptions::default()).await
    }

    /// Reports the context window of a session, or of a new one. Needs no model and no key, and contacts no server.
    ///
    /// # Errors
    /// If the session is unknown, or the settings name an unknown model.
    pub async fn window(
        &self,
        place: &LoadedProject,
        which: &SessionSelector,
    ) -> Result<ContextWindowReport, ServiceError> {
        let session = self.inspect_session(place, which).await?;
        let model = Some(session.model().id.clone()).filter(|id| !id.is_empty());
        Ok(ContextWindowReport { report: session.context().await?, model })
    }

    /// Opens the session with exactly this id, which may be new.
    pub(crate) async fn open_hosted(
        &self,
        place: &LoadedProject,
        session_id: SessionId,
        driving: SessionOptions,
    ) -> Result<Session, ServiceError> {
        self.assemble_by_id(place, session_id, Purpose::Calling, driving).await
    }

    /// Opens the session with exactly this id to read it, or to use its shell. Needs no model.
    pub(crate) async fn inspect_by_id(
        &self,
        place: &LoadedProject,
        session_id: SessionId,
    ) -> Result<Session, ServiceError> {
        self.assemble_by_id(place, session_id, Purpose::Inspecting, SessionOptions::default()).await
    }

    /// Opens the record of file changes of a directory, for changes of this session. `None` if undo is off.
    pub(crate) fn undo(
        &self,
        place: &LoadedProject,
        session_id: &SessionId,
    ) -> Result<Option<Undo>, UndoError> {
        if !place.settings.undo.enabled {
            return Ok(None);
        }
        assembly::undo(&self.parts(place, session_id.clone(), Purpose::Inspecting, SessionOptions::default()))()
            .map(Some)
    }

    /// The proxy and the certificates for all connections to other machines.
    pub(crate) const fn client(&self) -> &ClientConfig {
        &self.client
    }

    /// Tells the store from others on this machine; `None` for one in memory.
    pub(crate) fn store_name(&self) -> Option<&str> {
        self.store_name.as_deref()
    }

    /// The keys of model providers.
    pub(crate) fn keys(&self) -> Arc<dyn Keys> {
        Arc::clone(&self.keys)
    }

    /// The environment that programs inherit.
    pub(crate) const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// What undo recorded in a directory.
    pub(crate) fn file_history(&self, directory: &str) -> DirectoryHistory {
        let (folders, open) = (self.folders.clone(), self.undo.clone());
        DirectoryHistory { folders, directory: directory.into(), open }
    }

    /// The id of a session to create. An id that already has events is another session's.
    async fn new_id(&self, driving: &SessionOptions) -> Result<SessionId, ServiceError> {
        let Some(id) = driving.new_id.clone() else { return Ok(new_session_id()) };
        if self.store.head(&id).await? > 0 {
            return Err(ServiceError::SessionExists(id.to_string()));
        }
        Ok(id)
    }

    async fn assemble(
        &self,
        place: &LoadedProject,
        which: &SessionSelector,
        purpose: Purpose,
        driving: SessionOptions,
    ) -> Result<Session, ServiceError> {
        let session_id = match which {
            SessionSelector::New => self.new_id(&driving).await?,
            SessionSelector::Resume(id) => self.find(id).await?.session_id,
            SessionSelector::Continue => self.newest(place.path()).await?.session_id,
            SessionSelector::Fork(id) => {
                let (from, to) = (self.find(id).await?, self.new_id(&driving).await?);
                self.store.fork(&from.session_id, from.events, &to).await?;
                to
            }
        };
        self.assemble_by_id(place, session_id, purpose, driving).await
    }

    async fn assemble_by_id(
        &self,
        place: &LoadedProject,
        session_id: SessionId,
        purpose: Purpose,
        driving: SessionOptions,
    ) -> Result<Session, ServiceError> {
        let mut session = Session::assemble(self.parts(place, session_id, purpose, driving)).await?;
        session.notices.extend(self.notices.iter().cloned());
        Ok(session)
    }

    /// The MCP servers that apply in a directory, with the sandbox that they would have in a session. Starts none.
    pub async fn mcp_servers(&self, place: &LoadedProject) -> McpServers {
        let driving = SessionOptions::default();
        assembly::mcp_servers(self.parts(place, new_session_id(), Purpose::Inspecting, driving)).await
    }

    /// The APIs that apply in a directory. Contacts none.
    pub fn openapis(&self, place: &LoadedProject) -> OpenApis {
        OpenApis::new(place, &self.folders, &*self.keys, &self.client)
    }

    /// What a session of this machine is built from.
    pub(crate) fn parts<'a>(
        &'a self,
        place: &'a LoadedProject,
        session_id: SessionId,
        purpose: Purpose,
        driving: SessionOptions,
    ) -> SessionParts<'a> {
        SessionParts {
            place,
            folders: &self.folders,
            keys: Arc::clone(&self.keys),
            environment: self.environment.clone(),
            store: Arc::clone(&self.store) as Arc<dyn SessionStore>,
            archive: self.archive(),
            registry: self.registry.clone(),
            client: self.client.clone(),
            supervisor: self
                .launch_helper
                .clone()
                .map_or_else(Supervisor::new, Supervisor::with_launch_helper),
            session_id,
            purpose,
            is_ephemeral: self.is_ephemeral,
            undo: self.undo.clone(),
            driving,
        }
    }
}
