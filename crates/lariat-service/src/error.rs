//! Errors of the service.

use std::error::Error;
use std::path::PathBuf;

use lariat_core::store::StoreError;
pub use lariat_guard::StateFileError;
use lariat_host::undo::UndoError;
use lariat_runtime::{AgentError, BuildError};

use crate::local::OpenError;

/// Why a session could not be opened or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The directory does not exist or cannot be opened.
    #[error("could not open the directory {}: {source}", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Settings or trust could not be loaded.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The record of trust or approvals could not be read or written.
    #[error(transparent)]
    StateFile(#[from] StateFileError),
    /// Sessions are to be stored in PostgreSQL, but no database is named.
    #[error("`store.kind` is `postgres`, but `store.url` is not set")]
    NoStoreUrl,
    /// No model is set, and no API key suggests one.
    #[error("no model configured")]
    NoModel,
    /// The model is unknown.
    #[error("unknown model `{name}`")]
    UnknownModel {
        /// The requested name.
        name: String,
        /// Similar names, nearest first.
        suggestions: Vec<String>,
    },
    /// The provider needs an API key, and there is none.
    #[error("no API key for {provider}")]
    NoKey {
        /// The provider.
        provider: String,
        /// The variables that usually hold the key.
        variables: Vec<String>,
    },
    /// No session has this id or prefix.
    #[error("session `{0}` not found")]
    UnknownSession(String),
    /// The id of a new session belongs to another one.
    #[error("session `{0}` already exists")]
    SessionExists(String),
    /// Several session ids start with this prefix.
    #[error("ambiguous session prefix `{prefix}`: {}", .ids.join(", "))]
    AmbiguousSession {
        /// The requested prefix.
        prefix: String,
        /// Some of the matching ids.
        ids: Vec<String>,
    },
    /// The directory has no session to continue.
    #[error("no session to continue in {0}")]
    NothingToContinue(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record of file changes could not be used.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// A limit of cost is set, and the price of this model is unknown.
    #[error("a cost limit is set, but the price of `{0}` is unknown")]
    UnknownPrice(String),
    /// The configuration of the model cannot be used, for this reason.
    #[error("{0}")]
    Model(String),
    /// The agent could not be built.
    #[error(transparent)]
    Build(BuildError),
    /// The agent failed.
    #[error(transparent)]
    Agent(AgentError),
    /// The session is not a loop of an actor and a critic.
    #[error("session `{0}` is not a loop of an actor and a critic")]
    NotALoop(String),
    /// The loop cannot continue, because it ended.
    #[error("the loop of session `{0}` has ended")]
    LoopEnded(String),
    /// The session is not a race.
    #[error("session `{0}` is not a race")]
    NotARace(String),
    /// A race cannot continue, for this reason.
    #[error("{0}")]
    Race(String),
    /// The changes of a branch of a race cannot be applied, because these files changed since the race started.
    #[error("the branch changes files that changed here since the race started: {}", .0.join(", "))]
    RaceConflict(Vec<String>),
    /// Another agent, or the check of a loop, cannot run, for this reason.
    #[error("{0}")]
    ExternalAgent(String),
    /// The answer schema is invalid.
    #[error("{0}")]
    Schema(String),
    /// A file or directory of Lariat's could not be created or used.
    #[error("could not use {}: {source}", .path.display())]
    Folder {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl From<AgentError> for ServiceError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Store(error) => Self::Store(error),
            error => Self::Agent(error),
        }
    }
}

impl From<BuildError> for ServiceError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::CapWithoutPrice(model) => Self::UnknownPrice(model),
            BuildError::Model(reason) => Self::Model(reason),
            error => Self::Build(error),
        }
    }
}

impl ServiceError {
    /// Whether a run of the session was interrupted, so that it must be continued first.
    pub const fn is_interrupted_run(&self) -> bool {
        matches!(self, Self::Agent(AgentError::Interrupted(_)))
    }

    /// Whether a model failed permanently.
    pub const fn is_model_failure(&self) -> bool {
        matches!(self, Self::Agent(AgentError::Failed(_)))
    }

    /// Whether the conversation was not compacted, because compaction is off or would not help.
    pub const fn is_refused_compaction(&self) -> bool {
        matches!(self, Self::Agent(AgentError::NotCompacted(_)))
    }

    /// A directory that cannot be opened.
    pub(crate) fn directory(
        path: impl Into<PathBuf>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Directory { path: path.into(), source: source.into() }
    }

    /// A file or directory of Lariat's that cannot be created or used.
    pub fn folder(path: impl Into<PathBuf>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Folder { path: path.into(), source: source.into() }
    }
}
