//! Claims sessions and appends to them.
//!
//! The order of steps makes them safe. A claim locks the session, loads its tip, sets an incomplete end aside, then makes
//! the new epoch durable. An append writes blobs, then records, then syncs, then acknowledges. All functions here block.
//! Invariant: a session has a writer in this store only while the store holds its lock.

use std::io;
use std::sync::Arc;

use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Ack, Durability, Epoch, StoreError};

use super::inner::{CachedTip, ClaimRecord, JsonlStoreInner, SessionEntry, is_deleted, lock_unpoisoned};
use super::line::{self, Batch, Header, MAX_BODY};
use super::tip::JournalTip;
use super::writer::JournalWriter;
use super::{checksummed, not_found, unavailable};
use crate::content::pack;
use crate::files::{self, Lock, LockError};
use crate::record::SealedRecord;

impl JsonlStoreInner {
    /// Makes this store the writer of a session.
    pub(super) fn claim(&self, id: &SessionId) -> Result<Epoch, StoreError> {
        let session = self.session(id);
        let mut slot = lock_unpoisoned(&session.writer);
        if slot.is_none() {
            *slot = Some(self.take_over(&session)?);
        }
        let epoch = self.next_epoch(&session)?;
        slot.as_mut().ok_or_else(|| not_found(id))?.epoch = epoch;
        Ok(epoch)
    }

    fn take_over(&self, session: &SessionEntry) -> Result<JournalWriter, StoreError> {
        if is_deleted(&session.paths)? {
            return Err(not_found(&session.id));
        }
        let lock = take_lock(session)?;
        if is_deleted(&session.paths)? {
            return Err(not_found(&session.id));
        }
        let tip = match self.load_tip(session)? {
            Some(tip) => tip,
            None => self.create(session, Header::new(session.id.clone(), None))?,
        };
        if let Some(damage) = &tip.damage {
            let offset = damage.offset.unwrap_or_default();
            let place = damage.seq.map_or_else(String::new, |seq| format!(", event {seq}"));
            let what = format!(
                "session {}{place}, byte {offset}: {}; repair the session first",
                session.id, damage.note
            );
            return Err(StoreError::Damaged(what));
        }
        let opened = JournalWriter::open(lock, session.paths.clone(), self.level(), &tip);
        let writer = opened.map_err(|error| failed(session, &error))?;
        // This store has the lock, and the whole file is synced.
        let mut tip = Arc::unwrap_or_clone(tip);
        tip.synced = tip.head;
        session.grew.send_replace(tip.head);
        *lock_unpoisoned(&session.cached) = CachedTip { tip: Some(Arc::new(tip)), own: true };
        Ok(writer)
    }

    /// Creates a journal that does not exist yet.
    pub(super) fn create(
        &self,
        session: &SessionEntry,
        header: Header,
    ) -> Result<Arc<JournalTip>, StoreError> {
        let path = session.paths.journal();
        let lost: Option<JournalTip> =
            checksummed::read(&session.paths.index()).map_err(|error| unavailable(&path, &error))?;
        if let Some(lost) = lost.filter(|lost| lost.synced > lost.header.start()) {
            let what = format!(
                "session {}: its file with {} events is missing; repair the session first",
                session.id, lost.synced
            );
            return Err(StoreError::Damaged(what));
        }
        files::put(&path, &header.line()).map_err(|error| unavailable(&path, &error))?;
        self.load_tip(session)?.ok_or_else(|| not_found(&session.id))
    }

    fn next_epoch(&self, session: &SessionEntry) -> Result<Epoch, StoreError> {
        let path = session.paths.epoch();
        let failed = |error: io::Error| unavailable(&path, &error);
        let Some(tip) = lock_unpoisoned(&session.cached).tip.clone() else {
            return Err(not_found(&session.id));
        };
        let last: Option<ClaimRecord> = checksummed::read(&path).map_err(failed)?;
        let last = last.map_or(tip.epoch, |claimed| claimed.epoch.max(tip.epoch));
        let epoch = Epoch(last.0 + 1);
        let claimed = ClaimRecord { epoch, header: tip.header.clone() };
        files::put(&path, &checksummed::bytes(&claimed)).map_err(failed)?;
        Ok(epoch)
    }

    /// Returns whether an append to a session does not have to wait: nothing is synced, and no other thread uses its file.
    /// Copying a batch into the kernel takes less time than handing it to another thread.
    pub(super) fn can_append_inline(&self, id: &SessionId) -> bool {
        self.level() == Durability::Fast && self.session(id).writer.try_lock().is_ok()
    }

    /// Appends a batch.
    pub(super) fn append(
        &self,
        id: &SessionId,
        epoch: Epoch,
        expected: u64,
        events: &[Event],
    ) -> Result<Ack, StoreError> {
        let session = self.session(id);
        let mut slot = lock_unpoisoned(&session.writer);
        let tip = lock_unpoisoned(&session.cached).tip.clone();
        let (Some(writer), Some(tip)) = (slot.as_mut(), tip) else { return Err(self.refusal(&session)) };
        if epoch != writer.epoch {
            return Err(StoreError::Fenced { current: writer.epoch });
        }
        if expected != tip.head {
            return Err(StoreError::Conflict { expected, actual: tip.head });
        }
        let misplaced = events.iter().zip(tip.head..).find(|(event, position)| event.seq != *position);
        if let Some((event, position)) = misplaced {
            return Err(StoreError::Conflict { expected: event.seq, actual: position });
        }
        let durability = self.level();
        if events.is_empty() {
            return Ok(Ack { next_seq: tip.head, durability });
        }
        let (bytes, records) = self.seal_batch(&tip, events)?;
        writer.write(bytes, &tip).map_err(|error| failed(&session, &error))?;
        drop(tip);
        let next_seq = {
            let mut known = lock_unpoisoned(&session.cached);
            let Some(tip) = known.tip.as_mut().map(Arc::make_mut) else { return Err(not_found(id)) };
            for ((record, length), event) in records.iter().zip(events) {
                tip.add(record, *length, event);
            }
            if durability == Durability::Durable {
                tip.synced = tip.head;
            }
            tip.head
        };
        session.grew.send_replace(next_seq);
        if let Some(syncer) = &self.syncer {
            syncer.add(&session);
        }
        // The index is a cache: if writing fails, the next open reads more of the journal.
        let _ = self.index(&session, writer, IndexPolicy::IfStale);
        Ok(Ack { next_seq, durability })
    }

    /// Builds the lines of a batch and stores the blobs they need.
    pub(super) fn seal_batch(&self, tip: &JournalTip, events: &[Event]) -> Result<SealedBatch, StoreError> {
        let (mut chain, mut batch) = (tip.chain, Batch::Begins);
        let (mut bytes, mut records) = (Vec::new(), Vec::with_capacity(events.len()));
        for event in events {
            let packed = pack(event)?;
            if packed.body.len() > MAX_BODY {
                let what = format!(
                    "event {} has {} bytes, more than the limit of {MAX_BODY}",
                    event.seq,
                    packed.body.len()
                );
                return Err(StoreError::Damaged(what));
            }
            for (_, blob) in &packed.blobs {
                self.blobs.put(blob)?;
            }
            let record = SealedRecord::new(event.seq, chain, packed.body);
            let before = bytes.len();
            line::write(&mut bytes, &record, batch);
            (chain, batch) = (record.chain, Batch::Continues);
            records.push((record, (bytes.len() - before) as u64));
        }
        Ok((bytes, records))
    }

    /// Returns why a caller that is not the writer cannot append.
    fn refusal(&self, session: &SessionEntry) -> StoreError {
        let current = || -> Result<Option<Epoch>, StoreError> {
            if is_deleted(&session.paths)? || self.load_tip(session)?.is_none() {
                return Ok(None);
            }
            let path = session.paths.epoch();
            let claimed: Option<ClaimRecord> =
                checksummed::read(&path).map_err(|error| unavailable(&path, &error))?;
            Ok(Some(claimed.map_or(Epoch(0), |claimed| claimed.epoch)))
        };
        match current() {
            Ok(Some(current)) => StoreError::Fenced { current },
            Ok(None) => not_found(&session.id),
            Err(error) => error,
        }
    }

    /// Writes the index of a session that this store writes to.
    pub(super) fn index(
        &self,
        session: &SessionEntry,
        writer: &mut JournalWriter,
        policy: IndexPolicy,
    ) -> io::Result<()> {
        let mut known = lock_unpoisoned(&session.cached);
        let Some(tip) = known.tip.as_mut() else { return Ok(()) };
        if tip.damage.is_some() || (policy == IndexPolicy::IfStale && !tip.is_far_behind(writer.indexed)) {
            return Ok(());
        }
        let tip = Arc::make_mut(tip);
        tip.epoch = writer.epoch;
        writer.indexed = tip.end;
        files::put_cache(&session.paths.index(), &tip.index())
    }

    /// Closes all sessions: syncs batched appends and writes the indexes.
    pub(super) fn close(&mut self) {
        self.syncer = None;
        for session in std::mem::take(&mut *lock_unpoisoned(&self.sessions)).into_values() {
            let Some(mut writer) = lock_unpoisoned(&session.writer).take() else { continue };
            // The index is a cache: if writing fails, the next open reads more of the journal.
            let _ = self.sync_batched(&session, &mut writer);
            let _ = self.index(&session, &mut writer, IndexPolicy::Always);
        }
    }

    /// Syncs batched appends.
    fn sync_batched(&self, session: &SessionEntry, writer: &mut JournalWriter) -> io::Result<()> {
        let tip = lock_unpoisoned(&session.cached).tip.clone();
        if let Some(tip) = tip.filter(|_| self.level() == Durability::Batched) {
            writer.ensure_open(&tip)?;
            writer.sync()?;
            session.note_synced(tip.head);
        }
        Ok(())
    }

    /// Ends a writer's claim: syncs batched appends, writes the index, closes the file and releases the lock. Does nothing
    /// for a claim that is not the newest. If the sync fails, the session stays open so that the caller can retry.
    pub(super) fn release(&self, id: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let session = self.session(id);
        let mut slot = lock_unpoisoned(&session.writer);
        if let Some(writer) = slot.as_mut().filter(|writer| writer.epoch == epoch) {
            self.sync_batched(&session, writer).map_err(|error| failed(&session, &error))?;
            let _ = self.index(&session, writer, IndexPolicy::Always);
            // From here on, other processes may write to the session.
            lock_unpoisoned(&session.cached).own = false;
            *slot = None;
        }
        drop(slot);
        if let Some(syncer) = &self.syncer {
            syncer.remove(&session);
        }
        drop(session);
        self.forget_released(id);
        Ok(())
    }
}

impl Drop for JsonlStoreInner {
    fn drop(&mut self) {
        self.close();
    }
}

/// The bytes of a batch, and each record with the length of its line.
type SealedBatch = (Vec<u8>, Vec<(SealedRecord, u64)>);

/// When to write an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexPolicy {
    /// If the old one is far behind.
    IfStale,
    /// Always.
    Always,
}

/// Takes the lock of a session, or reports its holder.
pub(super) fn take_lock(session: &SessionEntry) -> Result<Lock, StoreError> {
    let path = session.paths.lock();
    Lock::take(&path).map_err(|locked| match locked {
        LockError::HeldBy(holder) => StoreError::Busy { holder },
        LockError::Io(error) => unavailable(&path, &error),
    })
}

/// Converts the error of a failed write.
fn failed(session: &SessionEntry, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::InvalidData => StoreError::Damaged(format!("session {}: {error}", session.id)),
        _ => unavailable(&session.paths.journal(), error),
    }
}
