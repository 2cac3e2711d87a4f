//! Managing sessions: what people and programs do with journals besides writing to them.
//!
//! Owns [`SessionArchive`], which every store offers on top of [`SessionStore`], and [`SessionSummary`], the fold that
//! listings show. Invariants: a summary is what the journal says, computed by [`SessionSummary::apply`] in every store;
//! a fork shares the events before it and copies none; what is deleted is gone for every reader at once.

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::event::{AgentEvent, Event, EventRecord};
use crate::id::SessionId;
use crate::message::AgentMessage;
use crate::store::{SessionStore, StoreError};
use crate::time::Timestamp;
use crate::usage::{Cost, Usage};

/// Characters of the first prompt that a summary shows.
const PROMPT_LENGTH: usize = 200;

/// A session in a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// The session.
    pub session_id: SessionId,
    /// Number of events.
    pub events: u64,
    /// First event.
    pub created_at: Timestamp,
    /// Last event.
    pub last_active_at: Timestamp,
    /// Its name, if it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The beginning of what the user said first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_prompt: Option<String>,
    /// The working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The branch that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// The model of the newest loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What all model calls used.
    #[serde(default)]
    pub usage: Usage,
    /// Tags, in the order they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The session it was forked from or spawned by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
}

impl SessionSummary {
    /// The summary of an empty journal.
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
        }
    }

    /// The summary of a journal.
    pub fn of<'a>(session_id: SessionId, events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut summary = Self::new(session_id);
        events.into_iter().for_each(|event| summary.apply(event));
        summary
    }

    /// Takes in the next event.
    pub fn apply(&mut self, record: &EventRecord) {
        if self.events == 0 {
            self.created_at = record.timestamp;
        }
        self.events += 1;
        self.last_active_at = self.last_active_at.max(record.timestamp);
        match &record.event {
            AgentEvent::AgentStart(start) => {
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
                self.prompted(message);
            }
            AgentEvent::MessageQueued { message, .. } => self.prompted(message),
            // What was used before it came here was paid elsewhere.
            AgentEvent::MessagesImported { messages, .. } => {
                messages.iter().for_each(|message| self.prompted(message));
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

    fn prompted(&mut self, message: &AgentMessage) {
        if let (None, Some(user)) = (&self.first_prompt, message.as_user()) {
            self.first_prompt = beginning(&crate::content::joined_text(&user.content));
        }
    }

    /// What the session is called in a list: its title, or what the user said first.
    pub fn name(&self) -> Option<&str> {
        self.title.as_deref().or(self.first_prompt.as_deref())
    }

    /// Where the next page of a listing begins when this is the last session of a page.
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

fn beginning(text: &str) -> Option<String> {
    let text = text.trim();
    let line: String =
        text.chars().take(PROMPT_LENGTH).map(|c| if c.is_control() { ' ' } else { c }).collect();
    (!line.is_empty()).then_some(line)
}

/// A place in a listing, newest first. Sessions of the same time are in descending order of their ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cursor {
    /// Last event.
    pub last_active_at: Timestamp,
    /// The session.
    pub session_id: SessionId,
}

/// Which sessions to list. All conditions must hold; the default lists everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListQuery {
    /// Sessions after this place only.
    pub after: Option<Cursor>,
    /// Sessions to return at most; 0 for all.
    pub limit: usize,
    /// Words that must all occur in the session: in its title, or in what the user or the model said. Case does not
    /// matter.
    pub text: Option<String>,
    /// Sessions of this working directory.
    pub cwd: Option<String>,
    /// Sessions with this tag.
    pub tag: Option<String>,
    /// Sessions that this one was forked into, or spawned.
    pub parent: Option<SessionId>,
    /// Sessions that were active at this time or later.
    pub active_since: Option<Timestamp>,
}

impl ListQuery {
    /// Whether a summary fits everything but `text` and `limit`.
    pub fn fits(&self, summary: &SessionSummary) -> bool {
        self.after.as_ref().is_none_or(|after| summary.cursor() < *after)
            && self.cwd.as_ref().is_none_or(|cwd| summary.cwd.as_ref() == Some(cwd))
            && self.tag.as_ref().is_none_or(|tag| summary.tags.contains(tag))
            && self.parent.as_ref().is_none_or(|parent| summary.parent.as_ref() == Some(parent))
            && self.active_since.is_none_or(|since| summary.last_active_at >= since)
    }

    /// The words of `text`, in lower case.
    pub fn words(&self) -> Vec<String> {
        let text = self.text.as_deref().unwrap_or_default().to_lowercase();
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

/// The text of an event that can be searched for: what the user and the model said, and titles.
pub fn searchable(record: &EventRecord) -> Option<String> {
    let text = match &record.event {
        AgentEvent::MessageEnd { message } => said(message.shared()?)?,
        AgentEvent::MessageQueued { message, .. } => said(message)?,
        AgentEvent::MessagesImported { messages, .. } => {
            messages.iter().filter_map(|message| said(message)).collect::<Vec<_>>().join("\n")
        }
        AgentEvent::SessionDescribed(description) => description.title.clone()?,
        _ => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

/// The words of a user or a model.
fn said(message: &AgentMessage) -> Option<String> {
    let user = message.as_user().map(|user| &user.content);
    let content = user.or_else(|| message.as_assistant().map(|assistant| &assistant.content))?;
    Some(crate::content::joined_text(content))
}

/// What looking through a journal found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// Events that are as they were written.
    pub intact: u64,
    /// What is not.
    pub damage: Vec<Damage>,
}

impl Verdict {
    /// True when nothing is damaged.
    pub const fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }
}

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Damage {
    /// The event's position, where it is known.
    pub seq: Option<u64>,
    /// Byte offset in the journal's file, for stores that have one.
    pub offset: Option<u64>,
    /// What is wrong.
    pub kind: DamageKind,
    /// In words.
    pub note: String,
}

impl Damage {
    /// A finding.
    pub fn new(seq: Option<u64>, offset: Option<u64>, kind: DamageKind, note: impl Into<String>) -> Self {
        Self { seq, offset, kind, note: note.into() }
    }
}

/// The ways in which a journal is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DamageKind {
    /// Bytes that are no record.
    Garbage,
    /// A record whose checksum does not fit.
    Checksum,
    /// A record that is whole but does not follow the one before it: something was removed, moved or changed.
    Chain,
    /// Records that should be there are not.
    Missing,
    /// A record that was not written to its end.
    Torn,
    /// A blob that is gone or not what its address says.
    Blob,
}

/// What collecting garbage freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Freed {
    /// Deleted sessions that were removed for good.
    pub sessions: u64,
    /// Blobs that nothing mentions.
    pub blobs: u64,
    /// Bytes of both, as far as known.
    pub bytes: u64,
}

/// A store whose sessions can be listed, searched, forked, deleted, checked and watched.
pub trait SessionArchive: SessionStore {
    /// Reads up to `limit` events before a position, newest first.
    fn read_back<'a>(
        &'a self,
        session_id: &'a SessionId,
        before_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>>;

    /// Waits until a journal has more than `beyond` events; returns how many it has.
    fn grown<'a>(&'a self, session_id: &'a SessionId, beyond: u64) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// What a listing shows of one session.
    fn summary<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionSummary, StoreError>>;

    /// Sessions with at least one event, newest first.
    fn list<'a>(&'a self, query: &'a ListQuery) -> BoxFuture<'a, Result<Vec<SessionSummary>, StoreError>>;

    /// Makes a new session that shares the first `at_seq` events of another. Its own events follow from there.
    ///
    /// Refused with [`StoreError::Conflict`] when the other has fewer events or the new session exists.
    fn fork<'a>(
        &'a self,
        from: &'a SessionId,
        at_seq: u64,
        to: &'a SessionId,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Deletes a session. From then on it is not found, and its id is not given again; forks keep what they share.
    fn delete<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Checks every record of a journal, and the blobs it mentions.
    fn verify<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Verdict, StoreError>>;

    /// Makes a damaged journal usable again: intact records stay, [`AgentEvent::EventLost`] stands where others were,
    /// and the damaged bytes are kept aside. Returns what was found before.
    fn repair<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Verdict, StoreError>>;

    /// Removes for good what nobody can reach: deleted sessions that no fork needs, and blobs that nothing mentions and
    /// that are older than `grace`.
    fn collect_garbage(&self, grace: std::time::Duration) -> BoxFuture<'_, Result<Freed, StoreError>>;
}
