//! Forks and deletes sessions, and stores their snapshots.
//!
//! A fork is a journal whose header names its parent. A deleted session has a tombstone, which stays after everything else
//! is collected. All functions here block.
//! Invariant: a fork's header is durable before the fork becomes visible, a tombstone before the deletion is acknowledged.

use std::sync::Arc;

use lariat_core::archive::SessionSummary;
use lariat_core::id::SessionId;
use lariat_core::store::{Epoch, Snapshot, StoreError};

use super::append::take_lock;
use super::inner::{CachedTip, ClaimRecord, JsonlStoreInner, is_deleted, lock_unpoisoned};
use super::line::{Fork, Header};
use super::scan::{JournalScanner, PieceKind};
use super::section::Section;
use super::tip::JournalTip;
use super::{checksummed, not_found, unavailable};
use crate::files;
use crate::record::Chain;

/// Number of snapshots kept per session.
const SNAPSHOTS: usize = 4;

impl JsonlStoreInner {
    /// Returns the summary of a session.
    pub(super) fn summary(&self, id: &SessionId) -> Result<SessionSummary, StoreError> {
        Ok(self.tip(id)?.ok_or_else(|| not_found(id))?.summary.clone())
    }

    /// Creates a session that shares the first events of another.
    pub(super) fn fork(&self, from: &SessionId, at: u64, to: &SessionId) -> Result<(), StoreError> {
        let parent = self.tip(from)?.ok_or_else(|| not_found(from))?;
        if at > parent.head {
            return Err(StoreError::Conflict { expected: at, actual: parent.head });
        }
        let session = self.session(to);
        if is_deleted(&session.paths)? {
            return Err(not_found(to));
        }
        if let Some(there) = self.load_tip(&session)? {
            return Err(StoreError::Conflict { expected: 0, actual: there.head });
        }
        let slot = lock_unpoisoned(&session.writer);
        let lock = take_lock(&session)?;
        if let Some(there) = self.load_tip(&session)? {
            return Err(StoreError::Conflict { expected: 0, actual: there.head });
        }
        let header = Header::new(to.clone(), Some(Fork::new(from.clone(), at, self.chain_at(&parent, at)?)));
        if at == parent.head {
            // Nothing to fold: the fork has the parent's summary under another name.
            let mut summary = parent.summary.clone();
            (summary.session_id, summary.parent) = (to.clone(), Some(from.clone()));
            let tip = JournalTip::new(header.clone(), summary);
            let _ = files::put_cache(&session.paths.index(), &tip.index());
        }
        let path = session.paths.epoch();
        let claimed = ClaimRecord { epoch: Epoch(0), header: header.clone() };
        files::put(&path, &checksummed::bytes(&claimed)).map_err(|error| unavailable(&path, &error))?;
        let made = self.create(&session, header)?;
        session.grew.send_replace(made.head);
        drop((lock, slot));
        // Another process deleted the parent meanwhile. Its garbage collection does not know about this fork.
        if self.tip(from)?.is_none() {
            let path = session.paths.journal();
            files::remove(&path).map_err(|error| unavailable(&path, &error))?;
            return Err(not_found(from));
        }
        Ok(())
    }

    /// Returns the chain after the first `at` events of a journal.
    pub(super) fn chain_at(&self, tip: &Arc<JournalTip>, at: u64) -> Result<Chain, StoreError> {
        let mut tip = Arc::clone(tip);
        while let Some(fork) = tip.header.fork.clone().filter(|fork| at < fork.seq) {
            tip = self.ancestor(&fork)?;
        }
        if at == tip.head && tip.damage.is_none() {
            return Ok(tip.chain);
        }
        let Some(last) = at.checked_sub(1).filter(|_| at > tip.header.start()) else {
            return Ok(tip.header.chain());
        };
        let path = self.session(&tip.header.session).paths.journal();
        let failed = |error: std::io::Error| unavailable(&path, &error);
        let file = files::open(&path).map_err(failed)?;
        let from = tip.before(last);
        let mut pieces = JournalScanner::new(Section::new(&file, from, tip.end), from);
        while let Some(piece) = pieces.next().map_err(failed)? {
            match piece.kind {
                PieceKind::Record(line, _) if line.seq == last => return Ok(line.chain),
                PieceKind::Record(line, _) if line.seq > last => break,
                _ => {}
            }
        }
        Err(StoreError::Damaged(format!("session {}, event {last}: missing", tip.header.session)))
    }

    /// Deletes a session.
    pub(super) fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let session = self.session(id);
        let mut slot = lock_unpoisoned(&session.writer);
        self.tip(id)?.ok_or_else(|| not_found(id))?;
        let lock = if slot.is_none() { Some(take_lock(&session)?) } else { None };
        let path = session.paths.tombstone();
        files::put(&path, &checksummed::bytes(id)).map_err(|error| unavailable(&path, &error))?;
        *lock_unpoisoned(&session.cached) = CachedTip::default();
        *slot = None;
        drop(lock);
        session.grew.send_replace(0);
        Ok(())
    }

    /// Stores a snapshot and removes the oldest.
    pub(super) fn put_snapshot(&self, id: &SessionId, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.tip(id)?.ok_or_else(|| not_found(id))?;
        let dir = self.session(id).paths.snapshots();
        let failed = |error: std::io::Error| unavailable(&dir, &error);
        files::create_cache_dir(&dir).map_err(failed)?;
        let mut bytes = blake3::hash(&snapshot.state).as_bytes().to_vec();
        bytes.extend_from_slice(&snapshot.state);
        // Not synced: the journal can restore it.
        files::put_cache(&dir.join(snapshot.seq.to_string()), &bytes).map_err(failed)?;
        let kept = self.snapshots(id).map_err(failed)?;
        for seq in kept.iter().rev().skip(SNAPSHOTS) {
            files::remove(&dir.join(seq.to_string())).map_err(failed)?;
        }
        Ok(())
    }

    /// Returns how many events each snapshot of a session covers, fewest first.
    fn snapshots(&self, id: &SessionId) -> std::io::Result<Vec<u64>> {
        let paths = files::list(&self.session(id).paths.snapshots())?;
        let covered = |path: &std::path::PathBuf| path.file_name()?.to_str()?.parse().ok();
        let mut covered: Vec<u64> = paths.iter().filter_map(covered).collect();
        covered.sort_unstable();
        Ok(covered)
    }

    /// Returns the newest snapshot of at most `seq` events, of a session or its ancestors.
    pub(super) fn snapshot(&self, id: &SessionId, seq: u64) -> Result<Option<Snapshot>, StoreError> {
        let Some(mut tip) = self.tip(id)? else { return Ok(None) };
        let mut at_most = seq;
        loop {
            let session = self.session(&tip.header.session);
            let dir = session.paths.snapshots();
            let failed = |error: std::io::Error| unavailable(&dir, &error);
            let covered = self.snapshots(&session.id).map_err(failed)?;
            for covered in covered.into_iter().rev().filter(|covered| *covered <= at_most) {
                let bytes = files::read(&dir.join(covered.to_string())).map_err(failed)?;
                let whole = bytes.as_deref().and_then(|bytes| {
                    let (hash, state) = bytes.split_at_checked(blake3::OUT_LEN)?;
                    (blake3::hash(state).as_bytes() == hash).then(|| state.to_vec())
                });
                if let Some(state) = whole {
                    return Ok(Some(Snapshot::new(covered, state)));
                }
            }
            let Some(fork) = tip.header.fork.clone() else { return Ok(None) };
            at_most = at_most.min(fork.seq);
            tip = self.ancestor(&fork)?;
        }
    }
}
