//! Why a session could not be had.

use lariat_core::store::StoreError;
use lariat_guard::KeptError;
use lariat_runtime::{AgentError, BuildError};

use crate::local::OpenError;

/// Why a session could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The directory is none, or cannot be opened.
    #[error("the directory {path} cannot be opened: {reason}")]
    Directory {
        /// Which.
        path: String,
        /// Why.
        reason: String,
    },
    /// Settings or trust cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A book of the person's cannot be read or written.
    #[error(transparent)]
    Book(#[from] KeptError),
    /// Nobody said which model, and nothing on this machine suggests one.
    #[error("no model is set up")]
    NoModel,
    /// There is no such model.
    #[error("there is no model `{name}`")]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// What may have been meant, nearest first.
        suggestions: Vec<String>,
    },
    /// A service needs a key, and there is none.
    #[error("there is no key for {provider}")]
    NoKey {
        /// The service.
        provider: String,
        /// The variables that usually hold it.
        variables: Vec<String>,
    },
    /// No session has this id, or begins with it.
    #[error("there is no session `{0}`")]
    UnknownSession(String),
    /// Several sessions begin with this.
    #[error("several sessions begin with `{prefix}`: {}", .ids.join(", "))]
    AmbiguousSession {
        /// What was asked for.
        prefix: String,
        /// Some of them.
        ids: Vec<String>,
    },
    /// There is no session in this directory to go on with.
    #[error("there is no session in {0} yet")]
    NothingToContinue(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The agent could not be put together.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The agent failed.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The schema for answers is none.
    #[error("{0}")]
    Schema(String),
    /// A folder of ours cannot be made or used.
    #[error("{path} cannot be used: {reason}")]
    Folder {
        /// Which.
        path: String,
        /// Why.
        reason: String,
    },
}
