//! A store in the memory of this process: for tests, embedding programs and runs that need not be resumed.
//!
//! Spreads sessions over shards, each under its own lock, so that thousands of loops can append in parallel;
//! a lock is never held across an await. A journal is a list of shared events: storing one costs a pointer.
//! Invariant: the event at position `n` of a journal has `seq` `n`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lariat_core::BoxFuture;
use lariat_core::archive::SessionSummary;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Ack, Append, BlobHash, Durability, Epoch, SessionStore, StoreError};

/// Number of locks that the sessions are spread over. Far more than cores, so that two busy sessions rarely
/// share one; an unused shard costs 56 bytes.
const SHARDS: usize = 64;

/// A [`SessionStore`] that loses everything when it is dropped.
///
/// ```
/// use lariat_core::id::SessionId;
/// use lariat_core::store::{Append, SessionStore};
/// use lariat_runtime::memory::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), lariat_core::store::StoreError> {
/// let store = MemoryStore::new();
/// let session = SessionId::from("s");
/// let epoch = store.claim(&session).await?;
/// let ack = store.append(Append::new(&session, epoch, 0, &[])).await?;
/// assert_eq!(ack.next_seq, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MemoryStore {
    shards: [Mutex<HashMap<SessionId, MemoryJournal>>; SHARDS],
    blobs: Mutex<HashMap<u128, Box<[u8]>>>,
}

#[derive(Debug, Default)]
struct MemoryJournal {
    epoch: Epoch,
    events: Vec<Event>,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), blobs: Mutex::default() }
    }

    fn shard(&self, session_id: &SessionId) -> MutexGuard<'_, HashMap<SessionId, MemoryJournal>> {
        // Reduced modulo the number of shards, so the cast loses nothing.
        let index = (address(session_id.as_str().as_bytes()) % SHARDS as u128) as usize;
        #[expect(clippy::indexing_slicing, reason = "the index was reduced modulo the length")]
        lock_unpoisoned(&self.shards[index])
    }

    fn claim_now(&self, session_id: &SessionId) -> Epoch {
        let mut shard = self.shard(session_id);
        let journal = shard.entry(session_id.clone()).or_default();
        journal.epoch = Epoch(journal.epoch.0 + 1);
        journal.epoch
    }

    fn release_now(&self, session_id: &SessionId, epoch: Epoch) {
        if let Some(journal) = self.shard(session_id).get_mut(session_id)
            && journal.epoch == epoch
        {
            journal.epoch = Epoch(epoch.0 + 1);
        }
    }

    fn append_now(&self, append: &Append<'_>) -> Result<Ack, StoreError> {
        let mut shard = self.shard(append.session_id);
        let journal = shard
            .get_mut(append.session_id)
            .ok_or_else(|| StoreError::NotFound(format!("session {}", append.session_id)))?;
        if append.epoch != journal.epoch {
            return Err(StoreError::Fenced { current: journal.epoch });
        }
        let length = journal.events.len() as u64;
        if append.expected_seq != length {
            return Err(StoreError::Conflict { expected: append.expected_seq, actual: length });
        }
        let misplaced = append.events.iter().zip(length..).find(|(event, position)| event.seq != *position);
        if let Some((event, position)) = misplaced {
            return Err(StoreError::Conflict { expected: event.seq, actual: position });
        }
        journal.events.extend_from_slice(append.events);
        Ok(Ack { next_seq: journal.events.len() as u64, durability: Durability::Memory })
    }

    fn read_now(&self, session_id: &SessionId, from_seq: u64, limit: usize) -> Vec<Event> {
        let from = usize::try_from(from_seq).unwrap_or(usize::MAX);
        let shard = self.shard(session_id);
        let events = shard.get(session_id).and_then(|journal| journal.events.get(from..)).unwrap_or_default();
        events.iter().take(limit).cloned().collect()
    }

    /// Returns the sessions with at least one event, newest first.
    pub fn sessions(&self) -> Vec<SessionSummary> {
        let mut sessions = Vec::new();
        for shard in &self.shards {
            let shard = lock_unpoisoned(shard);
            let begun = shard.iter().filter(|(_, journal)| !journal.events.is_empty());
            sessions.extend(begun.map(|(id, journal)| SessionSummary::of(id.clone(), &journal.events)));
        }
        sessions.sort_unstable_by_key(|session| std::cmp::Reverse(session.cursor()));
        sessions
    }

    fn put_blob_now(&self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        let key = address(bytes);
        match lock_unpoisoned(&self.blobs).entry(key) {
            Entry::Occupied(kept) if kept.get().as_ref() != bytes => {
                return Err(StoreError::Damaged(format!("two blobs share the address {}", name(key).0)));
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(place) => {
                place.insert(bytes.into());
            }
        }
        Ok(name(key))
    }

    fn blob_now(&self, hash: &BlobHash) -> Result<Vec<u8>, StoreError> {
        let digits = hash.0.strip_prefix(ADDRESS_PREFIX).unwrap_or_default();
        u128::from_str_radix(digits, 16)
            .ok()
            .and_then(|key| lock_unpoisoned(&self.blobs).get(&key).map(|bytes| bytes.to_vec()))
            .ok_or_else(|| StoreError::NotFound(format!("blob {}", hash.0)))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl SessionStore for MemoryStore {
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>> {
        Box::pin(async move { Ok(self.claim_now(session_id)) })
    }

    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.release_now(session_id, epoch);
            Ok(())
        })
    }

    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>> {
        Box::pin(async move { self.append_now(&append) })
    }

    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        Box::pin(async move { Ok(self.read_now(session_id, from_seq, limit)) })
    }

    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            Ok(self.shard(session_id).get(session_id).map_or(0, |journal| journal.events.len() as u64))
        })
    }

    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>> {
        Box::pin(async move { self.put_blob_now(bytes) })
    }

    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        Box::pin(async move { self.blob_now(hash) })
    }
}

fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code under the lock can leave a partial change, so the data is intact after a panic elsewhere.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Marks the kind of address, so that it is not mistaken for the cryptographic hash of another store.
const ADDRESS_PREFIX: &str = "fnv1a128:";

fn name(address: u128) -> BlobHash {
    BlobHash(format!("{ADDRESS_PREFIX}{address:032x}"))
}

/// FNV-1a, 128 bits: an address within the memory of this process. An attacker can construct a collision,
/// which [`MemoryStore::put_blob_now`] rejects; no security relies on it.
fn address(bytes: &[u8]) -> u128 {
    const OFFSET_BASIS: u128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
    bytes.iter().fold(OFFSET_BASIS, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
