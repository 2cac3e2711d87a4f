//! Searches earlier sessions of a directory for words: the store's full-text index finds the sessions, a bounded read
//! of each finds the passages.

use std::collections::HashMap;
use std::sync::Arc;

use lariat_core::archive::{ListQuery, SessionArchive, SessionSummary};
use lariat_core::content::joined_text;
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use lariat_core::message::{AgentMessage, Origin};
use lariat_core::store::StoreError;
use lariat_core::time::Timestamp;
use serde::Serialize;

/// Maximum number of sessions to return.
const MAX_SESSIONS: usize = 5;
/// Maximum number of sessions to consider for each word.
const CANDIDATES: usize = 50;
/// Maximum number of words of a query.
const MAX_WORDS: usize = 8;
/// Maximum number of events of a session to read, newest first.
const MAX_EVENTS: usize = 4_000;
/// Number of events per read.
const PAGE: usize = 500;
/// Maximum number of passages of one session.
const MAX_PASSAGES: usize = 3;
/// Number of characters of a passage before and after a word.
const AROUND: usize = 120;

/// Earlier sessions of one directory.
#[derive(Clone)]
pub struct PastSessions {
    archive: Arc<dyn SessionArchive>,
    directory: String,
}

/// A session that has words of the query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoundSession {
    /// The session.
    pub session_id: SessionId,
    /// When it was last active.
    pub at: Timestamp,
    /// Its title, or its first prompt.
    pub name: String,
    /// Passages with words of the query, newest first.
    pub passages: Vec<Passage>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Passage {
    /// `user` or `model`.
    pub by: &'static str,
    /// The text around a word.
    pub text: String,
}

impl PastSessions {
    /// Searches the sessions of `directory`.
    pub fn new(archive: Arc<dyn SessionArchive>, directory: impl Into<String>) -> Self {
        Self { archive, directory: directory.into() }
    }

    /// Returns the sessions with all words, newest first, or with the most words if none has all. Leaves out `except`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn search(
        &self,
        query: &str,
        except: Option<&SessionId>,
    ) -> Result<Vec<FoundSession>, StoreError> {
        let mut asked = ListQuery::default();
        asked.text = Some(query.to_owned());
        let words: Vec<String> = asked.words().into_iter().take(MAX_WORDS).collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let mut sessions = self.with(&words.join(" ")).await?;
        if sessions.iter().all(|session| Some(&session.session_id) == except) {
            sessions = self.with_most(&words).await?;
        }
        let mut found = Vec::new();
        let others = sessions.into_iter().filter(|session| Some(&session.session_id) != except);
        for session in others.take(MAX_SESSIONS) {
            found.push(FoundSession {
                passages: self.passages(&session.session_id, &words).await?,
                at: session.last_active_at,
                name: session.name().unwrap_or_default().to_owned(),
                session_id: session.session_id,
            });
        }
        Ok(found)
    }

    async fn with(&self, text: &str) -> Result<Vec<SessionSummary>, StoreError> {
        let mut query = ListQuery::default();
        query.text = Some(text.to_owned());
        query.cwd = Some(self.directory.clone());
        query.limit = CANDIDATES;
        self.archive.list(&query).await
    }

    /// The sessions that have the most words; newer ones first if they have equally many.
    async fn with_most(&self, words: &[String]) -> Result<Vec<SessionSummary>, StoreError> {
        let mut counted: HashMap<SessionId, (usize, SessionSummary)> = HashMap::new();
        for word in words.iter().filter(|word| word.len() > 2) {
            for session in self.with(word).await? {
                counted.entry(session.session_id.clone()).or_insert((0, session)).0 += 1;
            }
        }
        let mut sessions: Vec<(usize, SessionSummary)> = counted.into_values().collect();
        sessions.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| other.cursor().cmp(&one.cursor())));
        Ok(sessions.into_iter().map(|(_, session)| session).collect())
    }

    async fn passages(&self, session_id: &SessionId, words: &[String]) -> Result<Vec<Passage>, StoreError> {
        let mut found = Vec::new();
        let (mut before, mut read) = (u64::MAX, 0);
        while read < MAX_EVENTS {
            let page = self.archive.read_backwards(session_id, before, PAGE).await?;
            let Some(last) = page.last() else { break };
            (before, read) = (last.seq, read + page.len());
            for record in &page {
                let AgentEvent::MessageEnd { message } = &record.event else { continue };
                found.extend(message.shared().and_then(|message| passage(message, words)));
                if found.len() >= MAX_PASSAGES {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}

/// The text around the first word of the query in a message of the user or the model.
fn passage(message: &AgentMessage, words: &[String]) -> Option<Passage> {
    let (by, content) = match (message.as_user(), message.as_assistant()) {
        // Notes of the runtime and summaries are not the user's words.
        (Some(user), _) if user.origin == Origin::Person => ("user", &user.content),
        (_, Some(assistant)) => ("model", &assistant.content),
        _ => return None,
    };
    let text = joined_text(content).split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = text.to_lowercase();
    let at = words.iter().filter_map(|word| lower.find(word.as_str())).min()?;
    let at = lower.get(..at)?.chars().count();
    let start = at.saturating_sub(AROUND);
    let passage: String = text.chars().skip(start).take(2 * AROUND).collect();
    let (open, close) =
        (if start > 0 { "…" } else { "" }, if text.chars().count() > start + 2 * AROUND { "…" } else { "" });
    Some(Passage { by, text: format!("{open}{passage}{close}") })
}
