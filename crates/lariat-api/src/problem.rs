//! Defines errors of the session protocol, with a text for users and a code for programs.

use serde::{Deserialize, Serialize};

/// An error of the protocol. The message says what happened, the hint what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("{message}")]
#[non_exhaustive]
pub struct Problem {
    /// The kind of the problem, for programs.
    pub code: ProblemCode,
    /// What happened, as a sentence for a user. Contains no secrets.
    pub message: String,
    /// Where: a file with a line, a setting, a command id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What the user can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// Creates a problem without place and hint.
    pub fn new(code: ProblemCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), place: None, hint: None }
    }

    /// Sets where the problem is.
    #[must_use]
    pub fn with_place(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Sets what the user can do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The kinds of problems.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProblemCode {
    /// The session, ask, message or blob does not exist.
    NotFound,
    /// The id of the command was used with another content.
    CommandConflict,
    /// The ask was answered before; the message names who did.
    AlreadyAnswered,
    /// The answer belongs to another version of what was asked.
    DigestMismatch,
    /// The session does not accept this command in its present status.
    WrongStatus,
    /// The client may not do this.
    Forbidden,
    /// The request cannot be read, or has a value that is not permitted.
    Invalid,
    /// The host does not know this action. It changed nothing.
    Unsupported,
    /// Another process is the writer of the session.
    OwnedElsewhere,
    /// The cursor belongs to another generation of the store; the client must read a new view.
    CursorGone,
    /// The store or another service does not respond; a retry can help.
    Unavailable,
    /// The stored data is damaged.
    Damaged,
    /// A defect of the host.
    Internal,
    /// A code of a newer version.
    #[serde(untagged)]
    Other(String),
}

impl ProblemCode {
    /// Whether the same request can succeed later without a change.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable | Self::OwnedElsewhere)
    }
}
