//! Lists, searches, forks, verifies, repairs and deletes sessions.
//!
//! [`SessionArchive`] extends [`SessionStore`]; every store implements it. Listings show [`SessionSummary`].
//!
//! - Every store computes a summary with [`SessionSummary::apply`], so all stores derive the same summary
//!   from the same journal.
//! - A fork shares the events before it and copies none of them.
//! - After a delete, no reader finds the session any more.

mod recorded;

pub use recorded::{Checkpoint, SessionGoal, SessionLearning};

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::event::{AgentEvent, Event, EventRecord};
use crate::id::{AgentId, SessionId};
use crate::message::AgentMessage;
use crate::store::{SessionStore, StoreError};
use crate::time::Timestamp;
use crate::usage::{Cost, Usage};

/// Maximum length in characters of [`SessionSummary::first_prompt`].
const PROMPT_LENGTH: usize = 200;

/// A session in a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Id of the session.
    pub session_id: SessionId,
    /// Number of events.
    pub events: u64,
    /// Time of the first event.
    pub created_at: Timestamp,
    /// Time of the last event.
    pub last_active_at: Timestamp,
    /// Title that the user or the agent gave the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Start of the first user message, at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_prompt: Option<String>,
    /// The working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Git branch that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// Model of the newest loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens and cost of all model calls.
    #[serde(default)]
    pub usage: Usage,
    /// Tags, in the order they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The session that this one was forked from or spawned by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The agent of the newest loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
}

impl SessionSummary {
    /// Creates the summary of an empty journal.
    pub const fn new(session_id: SessionId) -> Self {
        Self {
            session_id,
            events: 0,
            created_at: Timestamp::from_millis(0),
            last_active_at: Timestamp::from_millis(0),
            title: None,
            first_prompt: None,
            cwd: None,
            git_branch: None,
            model: None,
            usage: ZERO,
            tags: Vec::new(),
            parent: None,
            agent_id: None,
        }
    }

    /// Computes the summary of a journal.
    pub fn of<'a>(session_id: SessionId, events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut summary = Self::new(session_id);
        events.into_iter().for_each(|event| summary.apply(event));
        summary
    }

    /// Updates the summary with the next event.
    pub fn apply(&mut self, record: &EventRecord) {
        if self.events == 0 {
            self.created_at = record.timestamp;
        }
        self.events += 1;
        self.last_active_at = self.last_active_at.max(record.timestamp);
        match &record.event {
            AgentEvent::AgentStart(start) => {
                self.agent_id = Some(start.agent_id.clone());
                if let Some(config) = &start.config {
                    self.model = Some(config.model.clone());
                }
                if let (None, Some(spawned)) = (&self.parent, &start.spawned_by) {
                    self.parent = Some(spawned.parent_session_id.clone());
                }
            }
            AgentEvent::MessageEnd { message } => {
                let Some(message) = message.shared() else { return };
                self.usage += message.as_assistant().map(|assistant| assistant.usage).unwrap_or_default();
                self.set_first_prompt(message);
            }
            AgentEvent::MessageQueued { message, .. } => self.set_first_prompt(message),
            // Imported messages were paid for in another session, so their usage is not added.
            AgentEvent::MessagesImported { messages, .. } => {
                messages.iter().for_each(|message| self.set_first_prompt(message));
            }
            AgentEvent::Compaction { usage, .. } | AgentEvent::CompactionRefused { usage, .. } => {
                self.usage += *usage;
            }
            AgentEvent::ParallelLoopEnd { evaluation_usage, .. } => self.usage += *evaluation_usage,
            AgentEvent::SessionDescribed(description) => {
                let set = |slot: &mut Option<String>, value: &Option<String>| {
                    if let Some(value) = value {
                        *slot = Some(value.clone()).filter(|value| !value.is_empty());
                    }
                };
                set(&mut self.title, &description.title);
                set(&mut self.cwd, &description.cwd);
                set(&mut self.git_branch, &description.git_branch);
                if let Some(tags) = &description.tags {
                    self.tags.clone_from(tags);
                }
            }
            _ => {}
        }
    }

    fn set_first_prompt(&mut self, message: &AgentMessage) {
        if let (None, Some(user)) = (&self.first_prompt, message.as_user()) {
            self.first_prompt = truncated_prompt(&crate::content::joined_text(&user.content));
        }
    }

    /// Returns the name that a listing shows: the title, or else the first prompt.
    pub fn name(&self) -> Option<&str> {
        self.title.as_deref().or(self.first_prompt.as_deref())
    }

    /// Returns the cursor for the page that follows this session.
    pub fn cursor(&self) -> Cursor {
        Cursor { last_active_at: self.last_active_at, session_id: self.session_id.clone() }
    }
}

const ZERO: Usage = Usage {
    input: 0,
    output: 0,
    cache_read: 0,
    cache_write: 0,
    total_tokens: 0,
    reasoning: 0,
    cost: Cost::ZERO,
};

fn truncated_prompt(text: &str) -> Option<String> {
    let text = text.trim();
    let line: String =
        text.chars().take(PROMPT_LENGTH).map(|c| if c.is_control() { ' ' } else { c }).collect();
    (!line.is_empty()).then_some(line)
}

/// A position in a listing. Listings are ordered newest first; sessions with equal times by descending id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cursor {
    /// Time of the last event of the session at this position.
    pub last_active_at: Timestamp,
    /// Id of the session at this position.
    pub session_id: SessionId,
}

/// Selects the sessions to list. A session must match every condition; the default lists all sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListQuery {
    /// Only sessions after this position.
    pub after: Option<Cursor>,
    /// Maximum number of sessions to return (0 = no limit).
    pub limit: usize,
    /// Words that must all occur in the title or in a message of the user or the model. Ignores case.
    pub text: Option<String>,
    /// Only sessions with this working directory.
    pub cwd: Option<String>,
    /// Only sessions with this tag.
    pub tag: Option<String>,
    /// Only sessions that were forked or spawned from this one.
    pub parent: Option<SessionId>,
    /// Only sessions whose newest loop is of this agent.
    pub agent_id: Option<AgentId>,
    /// Only sessions with an event at or after this time.
    pub active_since: Option<Timestamp>,
}

impl ListQuery {
    /// Returns whether a summary matches every condition except `text` and `limit`.
    pub fn fits(&self, summary: &SessionSummary) -> bool {
        self.after.as_ref().is_none_or(|after| summary.cursor() < *after)
            && self.cwd.as_ref().is_none_or(|cwd| summary.cwd.as_ref() == Some(cwd))
            && self.tag.as_ref().is_none_or(|tag| summary.tags.contains(tag))
            && self.parent.as_ref().is_none_or(|parent| summary.parent.as_ref() == Some(parent))
            && self.agent_id.as_ref().is_none_or(|agent| summary.agent_id.as_ref() == Some(agent))
            && self.active_since.is_none_or(|since| summary.last_active_at >= since)
    }

    /// Splits `text` into lower-case words.
    pub fn words(&self) -> Vec<String> {
        let text = self.text.as_deref().unwrap_or_default().to_lowercase();
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

/// Returns the searchable text of an event: messages of the user and the model, and titles.
pub fn searchable_text(record: &EventRecord) -> Option<String> {
    let text = match &record.event {
        AgentEvent::MessageEnd { message } => message_text(message.shared()?)?,
        AgentEvent::MessageQueued { message, .. } => message_text(message)?,
        AgentEvent::MessagesImported { messages, .. } => {
            messages.iter().filter_map(|message| message_text(message)).collect::<Vec<_>>().join("\n")
        }
        AgentEvent::SessionDescribed(description) => description.title.clone()?,
        _ => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Returns the text of a user or assistant message.
fn message_text(message: &AgentMessage) -> Option<String> {
    let user = message.as_user().map(|user| &user.content);
    let content = user.or_else(|| message.as_assistant().map(|assistant| &assistant.content))?;
    Some(crate::content::joined_text(content))
}

/// Result of verifying a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VerificationReport {
    /// Number of intact events.
    pub intact: u64,
    /// The damage found, if any.
    pub damage: Vec<Damage>,
}

impl VerificationReport {
    /// Returns true if the journal is undamaged.
    pub const fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }
}

/// One damaged part of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Damage {
    /// Position of the event, if known.
    pub seq: Option<u64>,
    /// Byte offset in the journal file, for stores that use one.
    pub offset: Option<u64>,
    /// Kind of damage.
    pub kind: DamageKind,
    /// Description for the user.
    pub note: String,
}

impl Damage {
    /// Describes one damaged part.
    pub fn new(seq: Option<u64>, offset: Option<u64>, kind: DamageKind, note: impl Into<String>) -> Self {
        Self { seq, offset, kind, note: note.into() }
    }
}

/// How a part of a journal is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DamageKind {
    /// Bytes that cannot be parsed as a record.
    Garbage,
    /// A record whose checksum does not match.
    Checksum,
    /// An intact record that does not follow its predecessor: a record was removed, moved or changed.
    Chain,
    /// Records are missing.
    Missing,
    /// A record that was only partly written.
    Torn,
    /// A blob that is missing or whose content does not match its address.
    Blob,
}

/// Counts what garbage collection removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GarbageReport {
    /// Deleted sessions that were removed permanently.
    pub sessions: u64,
    /// Unreferenced blobs that were removed.
    pub blobs: u64,
    /// Bytes freed by both, as far as the store knows.
    pub bytes: u64,
}

/// A store that can list, search, fork, delete, verify, repair and watch sessions.
pub trait SessionArchive: SessionStore {
    /// Reads up to `limit` events before `before_seq`, newest first.
    fn read_backwards<'a>(
        &'a self,
        session_id: &'a SessionId,
        before_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>>;

    /// Waits until the journal has more than `beyond` events, then returns their number.
    fn wait_for_growth<'a>(
        &'a self,
        session_id: &'a SessionId,
        beyond: u64,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Returns the summary that a listing shows for one session.
    fn summary<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionSummary, StoreError>>;

    /// Lists sessions that have at least one event, newest first.
    fn list<'a>(&'a self, query: &'a ListQuery) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>>;

    /// Lists the sessions of an agent, newest first.
    fn list_for_agent<'a>(
        &'a self,
        agent_id: &'a AgentId,
    ) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>> {
        Box::pin(async move {
            let query = ListQuery { agent_id: Some(agent_id.clone()), ..ListQuery::default() };
            self.list(&query).await
        })
    }

    /// Creates a session `to` that shares the first `at_seq` events of `from` and continues with its own
    /// events.
    ///
    /// Fails with [`StoreError::Conflict`] if `from` has fewer events or `to` exists.
    fn fork<'a>(
        &'a self,
        from: &'a SessionId,
        at_seq: u64,
        to: &'a SessionId,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Deletes a session. Afterwards the session cannot be found and its id cannot be used again. Forks keep
    /// the events they share with it.
    fn delete<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Verifies every record of a journal and the blobs that it references.
    fn verify<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Result<VerificationReport, StoreError>>;

    /// Makes a damaged journal usable again. Keeps intact records, puts [`AgentEvent::EventLost`] in place of
    /// the others and keeps a copy of the damaged bytes. Returns the damage found before the repair.
    fn repair<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Result<VerificationReport, StoreError>>;

    /// Permanently removes deleted sessions that no fork shares, and unreferenced blobs that are older than
    /// `grace`.
    fn collect_garbage(&self, grace: std::time::Duration)
    -> BoxFuture<'_, Result<GarbageReport, StoreError>>;

    /// Returns the checkpoints of a session, including those of the events that it shares with its ancestors, oldest
    /// first. Reads the whole journal, unless the store has an index.
    fn checkpoints<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<Checkpoint>, StoreError>> {
        Box::pin(recorded::checkpoints(self, session_id))
    }

    /// Returns what all sessions learned and did not unlearn, newest first: those with a tag if one is given, and at most
    /// `limit` (0 = no limit). Reads all journals, unless the store has an index.
    fn learnings<'a>(
        &'a self,
        tag: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<SessionLearning>, StoreError>> {
        Box::pin(recorded::learnings(self, tag, limit))
    }

    /// Returns the current goals of all sessions, most recent change first. Reads all journals, unless the store has an
    /// index.
    fn goals(&self) -> BoxFuture<'_, Result<Vec<SessionGoal>, StoreError>> {
        Box::pin(recorded::goals(self))
    }
}
