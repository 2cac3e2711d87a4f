//! Sessions on this machine: the store they live in, and the way to one.
//!
//! Owns which session is meant (a new one, one by its id or the beginning of it, the newest of a directory, a fork).

use std::sync::Arc;

use lariat_core::archive::{ListQuery, SessionArchive, SessionSummary};
use lariat_core::id::SessionId;
use lariat_core::store::SessionStore;
use lariat_host::process::{Environment, Keeper, Supervisor};
use lariat_model::ProviderRegistry;
use lariat_model::http::{ClientConfig, HttpClient};
use lariat_runtime::fresh_session;
use lariat_runtime::prompt::ContextReport;
use lariat_store::StoreOptions;
use lariat_store::sqlite::SqliteStore;

use crate::assembly::Parts;
use crate::models::{Keys, Purpose};
use crate::place::Place;
use crate::private::{self, Was};
use crate::session::{Driving, Session};
use crate::{Folders, ServiceError, StoredLearnings};

/// Which session is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Which {
    /// A new one.
    #[default]
    New,
    /// One by its id, or the beginning of it.
    Resume(String),
    /// The one of the directory that was active last.
    Continue,
    /// A new one that shares everything with another so far.
    Fork(String),
}

/// What is in the window of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WindowLook {
    /// What is in it.
    pub report: ContextReport,
    /// The model whose window it is; without one, the window is that of the settings, or the usual one.
    pub model: Option<String>,
}

/// Sessions on this machine.
#[derive(Clone)]
pub struct LocalService {
    folders: Folders,
    environment: Environment,
    keys: Arc<dyn Keys>,
    store: Arc<SqliteStore>,
    registry: ProviderRegistry,
    client: ClientConfig,
    keeper: Option<Keeper>,
    /// What a person should know of the store.
    notices: Vec<String>,
}

/// Sessions that are looked through for the beginning of an id.
const AMBIGUOUS: usize = 5;

impl LocalService {
    /// Opens the store of a person; `path` where it is not in the usual place.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn open(
        folders: Folders,
        path: Option<std::path::PathBuf>,
        environment: Environment,
        keys: Arc<dyn Keys>,
    ) -> Result<Self, ServiceError> {
        let unusable = |path: &std::path::Path, error: std::io::Error| ServiceError::Folder {
            path: path.display().to_string(),
            reason: error.to_string(),
        };
        let mut notices = Vec::new();
        let mut say = |path: &std::path::Path, was: Was| {
            if was == Was::Open {
                notices.push(format!("other users could read {}; now only you can", path.display()));
            }
        };
        let state = private::folder(&folders.state).map_err(|error| unusable(&folders.state, error))?;
        say(&folders.state, state);
        let path = path.unwrap_or_else(|| folders.sessions());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            private::chosen_folder(folder).map_err(|error| unusable(folder, error))?;
        }
        say(&path, private::database(&path).map_err(|error| unusable(&path, error))?);
        let store = SqliteStore::open(&path, StoreOptions::default()).await?;
        Ok(Self { notices, ..Self::on(folders, Arc::new(store), environment, keys) })
    }

    /// Sessions that are gone with the process.
    ///
    /// # Errors
    /// When the store cannot be made.
    pub async fn ephemeral(
        folders: Folders,
        environment: Environment,
        keys: Arc<dyn Keys>,
    ) -> Result<Self, ServiceError> {
        let store = SqliteStore::in_memory().await?;
        Ok(Self::on(folders, Arc::new(store), environment, keys))
    }

    fn on(folders: Folders, store: Arc<SqliteStore>, environment: Environment, keys: Arc<dyn Keys>) -> Self {
        let (registry, client) = (ProviderRegistry::default(), ClientConfig::default());
        let notices = Vec::new();
        Self { folders, environment, keys, store, registry, client, keeper: None, notices }
    }

    /// Reaches everything outside of this machine (models, pages, hooks, collectors) through this proxy and with these certificates.
    #[must_use]
    pub fn with_client(mut self, config: ClientConfig) -> Self {
        self.registry = ProviderRegistry::on(Arc::new(HttpClient::new(config.clone())));
        self.client = config;
        self
    }

    /// Has commands of sessions started by a keeper: it makes each start cheaper for a program that holds much.
    #[must_use]
    pub fn with_keeper(mut self, keeper: Keeper) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// The sessions, to list, read, fork, delete, check and watch.
    pub fn archive(&self) -> Arc<dyn SessionArchive> {
        Arc::clone(&self.store) as Arc<dyn SessionArchive>
    }

    /// The sessions, with what only this store can say of them.
    pub fn store(&self) -> &Arc<SqliteStore> {
        &self.store
    }

    /// The person's folders.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// The session that an id, or the beginning of one, names.
    ///
    /// # Errors
    /// When there is none, or several.
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

    /// The session of a directory that was active last.
    ///
    /// # Errors
    /// When there is none.
    pub async fn newest(&self, directory: &std::path::Path) -> Result<SessionSummary, ServiceError> {
        let directory = directory.display().to_string();
        let mut query = ListQuery::default();
        query.cwd = Some(directory.clone());
        query.limit = 1;
        let found = self.store.list(&query).await?.into_iter().next();
        found.ok_or(ServiceError::NothingToContinue(directory))
    }

    /// Begins to drive a session in a place.
    ///
    /// # Errors
    /// When there is no such session or model, or something that it needs cannot be had.
    pub async fn drive(
        &self,
        place: &Place,
        which: &Which,
        driving: Driving,
    ) -> Result<Session, ServiceError> {
        self.assemble(place, which, Purpose::Calling, driving).await
    }

    /// What is in the window of a session, or would be in that of a new one. Needs no model and no key, and reaches nobody.
    ///
    /// # Errors
    /// When there is no such session, or the settings name a model that nobody knows.
    pub async fn window(&self, place: &Place, which: &Which) -> Result<WindowLook, ServiceError> {
        let session = self.assemble(place, which, Purpose::Looking, Driving::default()).await?;
        let model = Some(session.model().id.clone()).filter(|id| !id.is_empty());
        Ok(WindowLook { report: session.context().await?, model })
    }

    async fn assemble(
        &self,
        place: &Place,
        which: &Which,
        purpose: Purpose,
        driving: Driving,
    ) -> Result<Session, ServiceError> {
        let session_id = match which {
            Which::New => fresh_session(),
            Which::Resume(id) => self.find(id).await?.session_id,
            Which::Continue => self.newest(place.path()).await?.session_id,
            Which::Fork(id) => {
                let (from, to) = (self.find(id).await?, fresh_session());
                self.store.fork(&from.session_id, from.events, &to).await?;
                to
            }
        };
        let store = Arc::clone(&self.store) as Arc<dyn SessionStore>;
        let mut session = Session::assemble(Parts {
            place,
            folders: &self.folders,
            keys: &*self.keys,
            environment: self.environment.clone(),
            store,
            learnings: Some(StoredLearnings(Arc::clone(&self.store))),
            registry: self.registry.clone(),
            client: self.client.clone(),
            supervisor: self.keeper.clone().map_or_else(Supervisor::new, Supervisor::with_keeper),
            session_id,
            purpose,
            driving,
        })
        .await?;
        session.notices.extend(self.notices.iter().cloned());
        Ok(session)
    }
}
