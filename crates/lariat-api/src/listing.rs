//! Lists of sessions.

use lariat_core::archive;
use lariat_core::event::RunOutcome;
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::SessionStatus;

/// Selects sessions. A session must match every condition; the default matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SessionFilter {
    /// Where the next page begins, from [`SessionPage::next`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// Maximum number of sessions. The host may return fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Words that must all occur in the title or a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Only sessions of this directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Only sessions with this tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Only sub-agents and forks of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub parent: Option<SessionId>,
    /// Only sessions with one of these statuses; all if empty. `requires_action` includes sessions in which a plan waits
    /// for an answer after its run has ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<SessionStatus>,
    /// Only sessions with an event at or after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub active_since: Option<Timestamp>,
}

/// A session in a list: what the journal says, its status and how its newest run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SessionSummary {
    /// Title, times, model, usage and origin.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub archived: archive::SessionSummary,
    /// What the session does.
    pub status: SessionStatus,
    /// How its newest run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub outcome: Option<RunOutcome>,
    /// The number of questions that wait.
    #[serde(default)]
    pub asks: u32,
}

impl SessionSummary {
    /// Creates the summary of a session that waits for nothing.
    pub const fn new(archived: archive::SessionSummary, status: SessionStatus) -> Self {
        Self { archived, status, outcome: None, asks: 0 }
    }
}

/// A page of a list, newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionSummary>,
    /// Where the next page begins; `None` on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl SessionPage {
    /// Creates a page.
    pub const fn new(sessions: Vec<SessionSummary>, next: Option<String>) -> Self {
        Self { sessions, next }
    }
}
