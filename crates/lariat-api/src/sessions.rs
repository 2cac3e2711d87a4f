//! The contract of every session host: in this process, over HTTP, for an editor, in a fleet.

use std::pin::Pin;

use futures_core::Stream;
use lariat_core::BoxFuture;
use lariat_core::id::SessionId;
use lariat_core::store::BlobHash;
use serde::{Deserialize, Serialize};

use crate::{
    Cursor, Live, LogItem, Problem, ProblemCode, Receipt, SessionChange, SessionCommand, SessionFilter,
    SessionPage, SessionView,
};

/// A stream of items. Dropping it detaches the client and never stops a run.
pub type ItemStream<T> = Pin<Box<dyn Stream<Item = Result<T, Problem>> + Send>>;

/// Hosts sessions.
///
/// Every host passes the same conformance suite, so a front end works with each of them unchanged.
pub trait Sessions: Send + Sync {
    /// Creates a session, or returns the one that the same request created before.
    fn create(&self, request: CreateSession) -> BoxFuture<'_, Result<SessionView, Problem>>;

    /// Lists sessions, newest first.
    fn list(&self, filter: SessionFilter) -> BoxFuture<'_, Result<SessionPage, Problem>>;

    /// Returns the state of a session.
    fn view<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionView, Problem>>;

    /// Records a command and acknowledges it. Its effects follow in the log.
    fn send<'a>(
        &'a self,
        session_id: &'a SessionId,
        command: SessionCommand,
    ) -> BoxFuture<'a, Result<Receipt, Problem>>;

    /// Reads the durable log.
    fn log<'a>(
        &'a self,
        session_id: &'a SessionId,
        request: LogRequest,
    ) -> BoxFuture<'a, Result<ItemStream<LogItem>, Problem>>;

    /// Follows text deltas and progress.
    fn live<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ItemStream<Live>, Problem>>;

    /// Follows which sessions change.
    fn changes(&self) -> BoxFuture<'_, Result<ItemStream<SessionChange>, Problem>>;

    /// Returns what the session changed in files.
    fn diff<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Vec<FileDiff>, Problem>>;

    /// Lists the files that the session read or changed.
    fn files<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<FileList, Problem>>;

    /// Reports what fills the context window.
    fn context<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ContextUse, Problem>>;

    /// Reads a stored blob, such as the full output of a tool.
    fn blob<'a>(
        &'a self,
        session_id: &'a SessionId,
        hash: &'a BlobHash,
    ) -> BoxFuture<'a, Result<Vec<u8>, Problem>>;
}

/// Creates a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CreateSession {
    /// The id of the new session. The client chooses it, so that a retry does not create a second one.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub session_id: SessionId,
    /// The working directory.
    pub directory: String,
    /// The session whose history to copy, and up to which event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<(String, Option<u64>)>"))]
    pub fork: Option<(SessionId, Option<u64>)>,
    /// The model; the settings choose without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The permission mode; the settings choose without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl CreateSession {
    /// Creates a request for a new session in a directory.
    pub fn new(session_id: SessionId, directory: impl Into<String>) -> Self {
        Self { session_id, directory: directory.into(), fork: None, model: None, mode: None, title: None }
    }
}

/// Which part of a log to read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LogRequest {
    /// Read after this position; from the start without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Cursor>,
    /// Read at most this many of the events that exist now, the newest ones. Not together with `after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
    /// Whether to continue with new events after [`LogItem::Synced`].
    pub follow: bool,
}

impl LogRequest {
    /// Reads everything after a position and follows.
    pub const fn follow(after: Cursor) -> Self {
        Self { after: Some(after), last: None, follow: true }
    }

    /// Reads at most this many of the newest events and follows: what a front end shows of a long session at first.
    pub const fn follow_last(events: u64) -> Self {
        Self { after: None, last: Some(events), follow: true }
    }

    /// Checks that the request says in one way where to begin.
    ///
    /// # Errors
    /// If it has both `after` and `last`.
    pub fn check(&self) -> Result<(), Problem> {
        if self.after.is_some() && self.last.is_some() {
            return Err(Problem::new(ProblemCode::Invalid, "`after` and `last` exclude each other")
                .with_hint("use `last` for the first request and `after` to continue"));
        }
        Ok(())
    }
}

/// What a session changed in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FileDiff {
    /// The path, relative to the working directory.
    pub path: String,
    /// What happened to the file.
    pub change: FileChange,
    /// The unified diff; `None` for binary files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

impl FileDiff {
    /// Creates the change of a file without a diff.
    pub fn new(path: impl Into<String>, change: FileChange) -> Self {
        Self { path: path.into(), change, diff: None }
    }
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum FileChange {
    /// It is new.
    Added,
    /// Its content changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// The files of a session, relative to its working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FileList {
    /// Files that the session read.
    pub read: Vec<String>,
    /// Files that the session changed.
    pub changed: Vec<String>,
}

impl FileList {
    /// Creates a list.
    pub const fn new(read: Vec<String>, changed: Vec<String>) -> Self {
        Self { read, changed }
    }
}

/// What fills the context window, in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContextUse {
    /// Size of the window; 0 if it is unknown.
    pub window: u64,
    /// Tokens of the next request: what the provider reported for the last one, and an estimate for new messages.
    #[serde(default)]
    pub used: u64,
    /// The parts with their estimated tokens, in the order of the request.
    pub parts: Vec<(String, u64)>,
}

impl ContextUse {
    /// Creates a report. Until the tokens of the next request are set, they are the sum of the parts.
    pub fn new(window: u64, parts: Vec<(String, u64)>) -> Self {
        let used = parts.iter().map(|(_, tokens)| tokens).sum();
        Self { window, used, parts }
    }

    /// Sets the tokens of the next request.
    #[must_use]
    pub const fn with_used(mut self, used: u64) -> Self {
        self.used = used;
        self
    }

    /// Returns how full the window is in percent; `None` if its size is unknown.
    pub const fn used_percent(&self) -> Option<u64> {
        self.used.saturating_mul(100).checked_div(self.window)
    }
}
