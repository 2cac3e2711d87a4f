//! Lists and searches sessions.
//!
//! The catalog caches the summary of each session with the state of its file, in memory and in one file. A listing checks
//! length and time of each journal and opens only those that changed. Pages after the first come from the catalog without
//! another check, so that all pages cost one check.
//! Invariant: a listed summary matches the state of its file when the listing began, or comes from the session's writer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lariat_core::archive::{ListQuery, SessionSummary, searchable_text};
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::inner::{JsonlStoreInner, PAGE, is_deleted, lock_unpoisoned};
use super::paths::{self, JOURNAL, SessionPaths};
use super::scan::{JournalScanner, PieceKind};
use super::section::Section;
use super::tip::JournalTip;
use super::{checksummed, unavailable};
use crate::files;

/// The catalog is written again when at least one in this many entries is new.
const STALE_SHARE: usize = 16;

/// How long later pages may use a check of the files.
const MAX_CHECK_AGE: Duration = Duration::from_secs(10);

/// Cached summaries of the listed sessions.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    /// By the name of the journal.
    entries: Option<HashMap<String, ListedJournal>>,
    /// When the files were last checked.
    checked_at: Option<Instant>,
    /// Number of entries that the catalog file lacks.
    unsaved: usize,
}

/// How current summaries must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freshness {
    /// As current as the files.
    Current,
    /// As of a recent check.
    Recent,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ListedJournal {
    name: String,
    state: (u64, i64, u64),
    /// `None` if the journal has no readable session id.
    summary: Option<Arc<SessionSummary>>,
}

impl JsonlStoreInner {
    /// Returns the sessions that match a query, newest first.
    pub(super) fn list(&self, query: &ListQuery) -> Result<Vec<SessionSummary>, StoreError> {
        let freshness = if query.after.is_some() { Freshness::Recent } else { Freshness::Current };
        let mut fitting: Vec<Arc<SessionSummary>> = self
            .summaries(freshness)?
            .into_iter()
            .filter(|summary| summary.events > 0 && query.fits(summary))
            .collect();
        fitting.sort_unstable_by(|one, other| {
            (other.last_active_at, &other.session_id).cmp(&(one.last_active_at, &one.session_id))
        });
        let words = query.words();
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        let mut listed = Vec::new();
        for summary in fitting {
            if listed.len() >= limit {
                break;
            }
            // The session may have been deleted since the check.
            if freshness == Freshness::Recent
                && is_deleted(&SessionPaths::of(&self.root, &summary.session_id))?
            {
                continue;
            }
            if words.is_empty() || self.contains_words(&summary.session_id, words.clone())? {
                listed.push(SessionSummary::clone(&summary));
            }
        }
        Ok(listed)
    }

    fn summaries(&self, freshness: Freshness) -> Result<Vec<Arc<SessionSummary>>, StoreError> {
        let dir = paths::sessions_dir(&self.root);
        let failed = |error: std::io::Error| unavailable(&dir, &error);
        let mut catalog = lock_unpoisoned(&self.catalog);
        if freshness == Freshness::Recent
            && let Some(entries) = &catalog.entries
            && catalog.checked_at.is_some_and(|checked_at| checked_at.elapsed() < MAX_CHECK_AGE)
        {
            return Ok(self.summaries_of(entries));
        }
        let mut before = match catalog.entries.take() {
            Some(entries) => entries,
            None => self.load_catalog().unwrap_or_default(),
        };
        let paths = files::list(&dir).map_err(failed)?;
        let deleted: std::collections::HashSet<&str> =
            paths.iter().filter_map(|path| path.file_name()?.to_str()?.strip_suffix(".deleted")).collect();
        let own = self.own_tips();
        let mut summaries = Vec::with_capacity(paths.len());
        let mut entries = HashMap::with_capacity(before.len());
        for path in &paths {
            let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(JOURNAL)) else {
                continue;
            };
            if deleted.contains(name) || name.starts_with('.') {
                continue;
            }
            if let Some(tip) = own.get(name) {
                // Do not cache it: the file may have more events than were acknowledged.
                summaries.push(Arc::new(tip.summary.clone()));
                continue;
            }
            // Take the state before reading, so that a concurrent write changes the state.
            let Some(state) = files::state(path).map_err(failed)? else { continue };
            let state = (state.length, state.changed, state.inode);
            let known = before.remove(name).filter(|entry| entry.state == state);
            let entry = match known {
                Some(entry) => entry,
                None => {
                    catalog.unsaved += 1;
                    let summary = self.summary_of(path)?;
                    ListedJournal { name: name.to_owned(), state, summary: summary.map(Arc::new) }
                }
            };
            entries.insert(name.to_owned(), entry);
        }
        if catalog.unsaved * STALE_SHARE > entries.len() {
            self.save_catalog(&entries);
            catalog.unsaved = 0;
        }
        summaries.extend(entries.values().filter_map(|entry| entry.summary.clone()));
        catalog.entries = Some(entries);
        catalog.checked_at = Some(Instant::now());
        Ok(summaries)
    }

    /// Returns the summaries of these entries, with current ones for the sessions that this store writes to.
    fn summaries_of(&self, entries: &HashMap<String, ListedJournal>) -> Vec<Arc<SessionSummary>> {
        let own = self.own_tips();
        let others = entries.values().filter(|entry| !own.contains_key(&entry.name));
        let mut summaries: Vec<_> = others.filter_map(|entry| entry.summary.clone()).collect();
        summaries.extend(own.values().map(|tip| Arc::new(tip.summary.clone())));
        summaries
    }

    /// Returns the tips of the sessions that this store writes to, by name.
    fn own_tips(&self) -> HashMap<String, Arc<JournalTip>> {
        let sessions: Vec<_> = lock_unpoisoned(&self.sessions).values().cloned().collect();
        let own = sessions.iter().filter_map(|session| {
            let known = lock_unpoisoned(&session.cached);
            let tip = known.tip.clone().filter(|_| known.own)?;
            Some((session.paths.stem().to_owned(), tip))
        });
        own.collect()
    }

    /// Reads the summary of a journal that is not cached.
    fn summary_of(&self, path: &std::path::Path) -> Result<Option<SessionSummary>, StoreError> {
        let failed = |error: std::io::Error| unavailable(path, &error);
        let Some(name) = SessionPaths::of_journal(&self.root, path) else { return Ok(None) };
        let Some(state) = files::state(path).map_err(failed)? else { return Ok(None) };
        let file = files::open(path).map_err(failed)?;
        let Some(id) = self.id_of(&name, &file, state.length).map_err(failed)? else { return Ok(None) };
        match self.load(&id, &name, &file, state) {
            Ok(tip) => Ok(Some(tip.summary)),
            // Opening the session reports it; the others stay listed.
            Err(StoreError::Newer { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the session id of a journal, from its header or its `.epoch` file.
    fn id_of(
        &self,
        name: &SessionPaths,
        file: &std::fs::File,
        length: u64,
    ) -> std::io::Result<Option<SessionId>> {
        let first = JournalScanner::new(Section::new(file, 0, length), 0).next()?;
        if let Some(PieceKind::Header(header, _)) = first.map(|piece| piece.kind) {
            return Ok(Some(header.session));
        }
        let claimed: Option<super::inner::ClaimRecord> = checksummed::read(&name.epoch())?;
        Ok(claimed.map(|claimed| claimed.header.session))
    }

    fn load_catalog(&self) -> Option<HashMap<String, ListedJournal>> {
        let entries: Vec<ListedJournal> = checksummed::read(&paths::catalog_file(&self.root)).ok()??;
        Some(entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect())
    }

    fn save_catalog(&self, entries: &HashMap<String, ListedJournal>) {
        let entries: Vec<&ListedJournal> = entries.values().collect();
        // The catalog is a cache: if writing fails, the next listing is slower.
        let _ = files::put_cache(&paths::catalog_file(&self.root), &checksummed::bytes(&entries));
    }

    /// Returns whether the text of a session contains all words. Skips unreadable events.
    fn contains_words(&self, id: &SessionId, mut words: Vec<String>) -> Result<bool, StoreError> {
        let Some(tip) = self.tip(id)? else { return Ok(false) };
        let mut from = 0;
        while from < tip.head && !words.is_empty() {
            let mut page = self.read(id, from, PAGE);
            if let Err(StoreError::Damaged(_) | StoreError::Newer { .. }) = page {
                page = self.read_intact(id, from);
            }
            for text in page?.iter().filter_map(|event| searchable_text(event)) {
                let text = text.to_lowercase();
                words.retain(|word| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_none());
            }
            from += PAGE as u64;
        }
        Ok(words.is_empty())
    }

    /// Returns the readable events of a page.
    fn read_intact(&self, id: &SessionId, from: u64) -> Result<Vec<lariat_core::event::Event>, StoreError> {
        let mut events = Vec::new();
        for seq in from..from + PAGE as u64 {
            match self.read(id, seq, 1) {
                Ok(event) => events.extend(event),
                Err(StoreError::Damaged(_) | StoreError::Newer { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(events)
    }
}
