//! The state of a JSONL store: its directory, its cached sessions and their tips.
//!
//! All functions here block, and none writes to a journal. For a session that this store writes to, the cached tip is
//! current. For any other session, each use compares length and time of the file with the cached tip.
//! Invariant: returned events were acknowledged by their writer, or will be if the writer lives.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::archive::{Damage, DamageKind, SessionSummary};
use lariat_core::id::SessionId;
use lariat_core::store::{Durability, Epoch, StoreError};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::blobs::Blobs;
use super::line::{Fork, Header, MAX_HEADER};
use super::list::Catalog;
use super::paths::{self, SessionPaths};
use super::scan::{JournalScanner, Newline, PieceKind};
use super::section::Section;
use super::syncer::Syncer;
use super::tip::JournalTip;
use super::writer::JournalWriter;
use super::{checksummed, unavailable};
use crate::StoreOptions;
use crate::files::{self, FileDurability};

/// Maximum number of ancestors of a fork. More mean a cycle, which only damage can cause.
pub(super) const MAX_DEPTH: usize = 100_000;

/// Number of events to read at once when folding many.
pub(super) const PAGE: usize = 256;

/// The state shared by all clones of a [`JsonlStore`](super::JsonlStore).
#[derive(Debug)]
pub(super) struct JsonlStoreInner {
    pub(super) root: PathBuf,
    pub(super) options: StoreOptions,
    pub(super) blobs: Blobs,
    pub(super) sessions: Mutex<HashMap<SessionId, Arc<SessionEntry>>>,
    /// Sessions that a reader was using when they were released. The next release drops them from `sessions`.
    pub(super) released: Mutex<Vec<SessionId>>,
    pub(super) catalog: Mutex<Catalog>,
    /// Syncs batched appends; `None` for other durability levels.
    pub(super) syncer: Option<Syncer>,
}

/// A cached session.
#[derive(Debug)]
pub(super) struct SessionEntry {
    pub(super) id: SessionId,
    pub(super) paths: SessionPaths,
    /// Set while this store writes to the session. LockError during writes, and always before `cached`.
    pub(super) writer: Mutex<Option<JournalWriter>>,
    pub(super) cached: Mutex<CachedTip>,
    /// Number of events, for callers that wait for more.
    pub(super) grew: watch::Sender<u64>,
}

impl SessionEntry {
    /// Returns the cached number of events.
    pub(super) fn head(&self) -> u64 {
        lock_unpoisoned(&self.cached).tip.as_ref().map_or(0, |tip| tip.head)
    }

    /// Records that the first `head` events are synced.
    pub(super) fn note_synced(&self, head: u64) {
        if let Some(tip) = lock_unpoisoned(&self.cached).tip.as_mut().map(Arc::make_mut) {
            tip.synced = tip.synced.max(head);
        }
    }
}

/// The cached state of a session.
#[derive(Debug, Default)]
pub(super) struct CachedTip {
    pub(super) tip: Option<Arc<JournalTip>>,
    /// Whether this store writes to the session, so that no other process changes it.
    pub(super) own: bool,
}

/// Content of the `.epoch` file, which a claim writes durably: the epoch and a second copy of the journal's header.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClaimRecord {
    pub(super) epoch: Epoch,
    pub(super) header: Header,
}

/// Locks a mutex. Ignores poisoning, because every change under a lock is made at its end.
pub(super) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl JsonlStoreInner {
    /// Opens a store in this directory and creates it if needed.
    pub(super) fn new(root: PathBuf, options: StoreOptions) -> std::io::Result<Self> {
        for dir in [paths::sessions_dir(&root), paths::index_dir(&root), paths::blobs_dir(&root)] {
            files::create_dir_durably(&dir)?;
        }
        let level = match options.durability {
            Durability::Durable | Durability::Batched => FileDurability::Durable,
            Durability::Fast | Durability::Memory => FileDurability::Cache,
        };
        let blobs = Blobs::new(paths::blobs_dir(&root), level);
        let syncer = (options.durability == Durability::Batched).then(|| Syncer::start(options.batch_window));
        let (sessions, released, catalog) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { blobs, sessions, released, catalog, syncer, root, options })
    }

    /// Returns the durability level of appends.
    pub(super) const fn level(&self) -> Durability {
        match self.options.durability {
            Durability::Memory => Durability::Fast,
            level => level,
        }
    }

    /// Returns the entry of a session, whether the session exists or not.
    pub(super) fn session(&self, id: &SessionId) -> Arc<SessionEntry> {
        let mut sessions = lock_unpoisoned(&self.sessions);
        let make = || {
            Arc::new(SessionEntry {
                id: id.clone(),
                paths: SessionPaths::of(&self.root, id),
                writer: Mutex::default(),
                cached: Mutex::default(),
                grew: watch::Sender::new(0),
            })
        };
        Arc::clone(sessions.entry(id.clone()).or_insert_with(make))
    }

    /// Drops a released session from the cache, and earlier ones that were in use at their release. Keeps a session that is
    /// in use now, or that a caller waits for, until the next release. A session that was claimed again is released again.
    pub(super) fn forget_released(&self, id: &SessionId) {
        let mut sessions = lock_unpoisoned(&self.sessions);
        let mut released = lock_unpoisoned(&self.released);
        if !released.contains(id) {
            released.push(id.clone());
        }
        released.retain(|id| {
            let Some(session) = sessions.get(id) else { return false };
            // The table has the only reference, and no other can be made while the table is locked.
            if Arc::strong_count(session) > 1 || session.grew.receiver_count() > 0 {
                return true;
            }
            if lock_unpoisoned(&session.writer).is_none() {
                sessions.remove(id);
            }
            false
        });
    }

    /// Returns the current tip of a session, or `None` if it does not exist or was deleted.
    pub(super) fn tip(&self, id: &SessionId) -> Result<Option<Arc<JournalTip>>, StoreError> {
        let session = self.session(id);
        if lock_unpoisoned(&session.cached).own {
            return Ok(lock_unpoisoned(&session.cached).tip.clone());
        }
        if is_deleted(&session.paths)? {
            return Ok(None);
        }
        self.load_tip(&session)
    }

    /// As [`JsonlStoreInner::tip`], but also for deleted sessions, which a fork may need.
    pub(super) fn load_tip(&self, session: &SessionEntry) -> Result<Option<Arc<JournalTip>>, StoreError> {
        let path = session.paths.journal();
        let mut known = lock_unpoisoned(&session.cached);
        if known.own {
            return Ok(known.tip.clone());
        }
        let failed = |error: std::io::Error| unavailable(&path, &error);
        let Some(state) = files::state(&path).map_err(failed)? else {
            known.tip = None;
            return Ok(None);
        };
        if let Some(tip) = known.tip.as_ref().filter(|tip| tip.state == state) {
            return Ok(Some(Arc::clone(tip)));
        }
        let grown = known.tip.take().filter(|tip| {
            tip.damage.is_none() && tip.state.inode == state.inode && tip.state.length <= state.length
        });
        let file = files::open(&path).map_err(failed)?;
        let tip = match grown {
            Some(tip) if tip.is_in(&file).map_err(failed)? => {
                Arc::unwrap_or_clone(tip).extend(&file, state, &self.blobs).map_err(failed)?
            }
            _ => self.load(&session.id, &session.paths, &file, state)?,
        };
        let tip = Arc::new(tip);
        known.tip = Some(Arc::clone(&tip));
        Ok(Some(tip))
    }

    /// Reads a journal, starting where its index ends.
    pub(super) fn load(
        &self,
        id: &SessionId,
        name: &SessionPaths,
        file: &std::fs::File,
        state: files::FileState,
    ) -> Result<JournalTip, StoreError> {
        let path = name.journal();
        let failed = |error: std::io::Error| unavailable(&path, &error);
        let first = JournalScanner::new(Section::new(file, 0, state.length), 0).next().map_err(failed)?;
        let own = first.and_then(|piece| match piece.kind {
            PieceKind::Header(header, Newline::Present) if header.session == *id => Some(header),
            _ => None,
        });
        let Some(header) = own else {
            if let Some(newer) = newer_header(file, state.length).map_err(failed)? {
                return Err(newer);
            }
            return self.load_without_header(id, name, file, state);
        };
        let indexed = JournalTip::from_index(name, &header).map_err(failed)?;
        let tip = match indexed {
            Some(tip) if tip.is_in(file).map_err(failed)? => tip,
            indexed => {
                let mut tip = JournalTip::new(header.clone(), self.shared_summary(id, &header)?);
                if let Some(indexed) = indexed {
                    (tip.synced, tip.epoch) = (indexed.synced, indexed.epoch);
                }
                tip
            }
        };
        tip.extend(file, state, &self.blobs).map_err(failed)
    }

    fn load_without_header(
        &self,
        id: &SessionId,
        name: &SessionPaths,
        file: &std::fs::File,
        state: files::FileState,
    ) -> Result<JournalTip, StoreError> {
        let header = header_from_epoch_file(id, name)?;
        let mut tip = JournalTip::new(header.clone(), self.shared_summary(id, &header)?);
        tip.end = 0;
        let mut tip =
            tip.extend(file, state, &self.blobs).map_err(|error| unavailable(&name.journal(), &error))?;
        let note = "the header is damaged";
        tip.damage = Some(Damage::new(None, Some(0), DamageKind::Checksum, note));
        Ok(tip)
    }

    /// Returns the fold of the events that a fork shares, starting from the nearest stored fold.
    pub(super) fn shared_summary(
        &self,
        id: &SessionId,
        header: &Header,
    ) -> Result<SessionSummary, StoreError> {
        let mut summary = SessionSummary::new(id.clone());
        let Some(fork) = &header.fork else { return Ok(summary) };
        self.load_ancestors(id, fork)?;
        let mut older = Some(fork.clone());
        while let Some(from) = older.take() {
            match self.ancestor(&from) {
                Ok(tip) => match tip.summary_at(fork.seq) {
                    Some(fold) => summary = fold.clone(),
                    None => older = tip.header.fork.clone(),
                },
                Err(StoreError::Damaged(_)) => {}
                Err(error) => return Err(error),
            }
        }
        while summary.events < fork.seq {
            let limit = usize::try_from(fork.seq - summary.events).unwrap_or(PAGE).min(PAGE);
            match self.read_shared(fork, summary.events, limit) {
                Ok(events) if !events.is_empty() => events.iter().for_each(|event| summary.apply(event)),
                // A summary is only for display. Reading the damaged events reports the damage.
                Ok(_) | Err(StoreError::Damaged(_)) => summary.events = fork.seq,
                Err(error) => return Err(error),
            }
        }
        summary.session_id = id.clone();
        summary.parent = Some(fork.session.clone());
        Ok(summary)
    }

    /// Loads the ancestors of a session, oldest first, so that loading one never recurses into its own ancestors, however
    /// many there are.
    fn load_ancestors(&self, id: &SessionId, fork: &Fork) -> Result<(), StoreError> {
        let mut line: Vec<Arc<SessionEntry>> = Vec::new();
        let mut above = Some(fork.session.clone());
        let mut seen: HashSet<SessionId> = HashSet::from([id.clone()]);
        while let Some(ancestor) = above.take() {
            if !seen.insert(ancestor.clone()) {
                return Err(StoreError::Damaged(format!("session {id} is a fork of itself")));
            }
            let session = self.session(&ancestor);
            if session.cached.try_lock().is_ok_and(|known| known.tip.is_some()) {
                break;
            }
            let header = first_header(&session.paths)?;
            above = header.and_then(|header| header.fork).map(|fork| fork.session);
            line.push(session);
        }
        line.iter().rev().try_for_each(|session| self.load_tip(session).map(drop))
    }
}

/// Reads the header of a journal's file, if it is valid.
fn first_header(name: &SessionPaths) -> Result<Option<Header>, StoreError> {
    let path = name.journal();
    let failed = |error: std::io::Error| unavailable(&path, &error);
    let Some(state) = files::state(&path).map_err(failed)? else { return Ok(None) };
    let file = files::open(&path).map_err(failed)?;
    let first = JournalScanner::new(Section::new(&file, 0, state.length), 0).next().map_err(failed)?;
    Ok(first.and_then(|piece| match piece.kind {
        PieceKind::Header(header, _) => Some(header),
        _ => None,
    }))
}

/// Returns the error for a journal of a newer format, if it is one.
fn newer_header(file: &std::fs::File, length: u64) -> std::io::Result<Option<StoreError>> {
    let mut start = Vec::new();
    Section::new(file, 0, length.min(MAX_HEADER as u64)).read_to_end(&mut start)?;
    Ok(Header::newer(&start))
}

/// Returns whether a session was deleted.
pub(super) fn is_deleted(name: &SessionPaths) -> Result<bool, StoreError> {
    let path = name.tombstone();
    Ok(files::state(&path).map_err(|error| unavailable(&path, &error))?.is_some())
}

/// Returns the header of a session from its `.epoch` file.
pub(super) fn header_from_epoch_file(id: &SessionId, name: &SessionPaths) -> Result<Header, StoreError> {
    let path = name.epoch();
    let claimed: Option<ClaimRecord> =
        checksummed::read(&path).map_err(|error| unavailable(&path, &error))?;
    let header = claimed.map(|claimed| claimed.header).filter(|header| header.session == *id);
    Ok(header.unwrap_or_else(|| Header::new(id.clone(), None)))
}
