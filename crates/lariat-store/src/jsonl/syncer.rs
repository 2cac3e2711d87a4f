//! Runs the thread that syncs batched appends within their window.
//!
//! The queue has each session at most once per window, so its length is bounded by the sessions that this store writes to.
//! Appends continue while a sync runs. A session whose sync failed stays in the queue until its file is opened and written
//! again. Invariant: the thread ends with the store, after a last round.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::inner::{SessionEntry, lock_unpoisoned};
use super::writer::JournalWriter;

/// A handle to the thread.
#[derive(Debug)]
pub(super) struct Syncer {
    shared: Arc<SyncerState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct SyncerState {
    work: Mutex<SyncQueue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SyncQueue {
    dirty: Vec<Arc<SessionEntry>>,
    stop: bool,
}

impl Syncer {
    /// Starts the thread.
    pub(super) fn start(window: Duration) -> Self {
        let shared = Arc::new(SyncerState::default());
        let ours = Arc::clone(&shared);
        let thread = std::thread::spawn(move || ours.run(window));
        Self { shared, thread: Some(thread) }
    }

    /// Queues a session for a sync within the window.
    pub(super) fn add(&self, session: &Arc<SessionEntry>) {
        let mut work = lock_unpoisoned(&self.shared.work);
        if !work.dirty.iter().any(|listed| Arc::ptr_eq(listed, session)) {
            work.dirty.push(Arc::clone(session));
            self.shared.changed.notify_one();
        }
    }

    /// Removes a session that has nothing left to sync.
    pub(super) fn remove(&self, session: &Arc<SessionEntry>) {
        lock_unpoisoned(&self.shared.work).dirty.retain(|listed| !Arc::ptr_eq(listed, session));
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        lock_unpoisoned(&self.shared.work).stop = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the store syncs the rest when it closes.
            let _ = thread.join();
        }
    }
}

impl SyncerState {
    fn run(&self, window: Duration) {
        loop {
            let idle = |work: &mut SyncQueue| work.dirty.is_empty() && !work.stop;
            let work = self.changed.wait_while(lock_unpoisoned(&self.work), idle);
            let work = work.unwrap_or_else(std::sync::PoisonError::into_inner);
            // More sessions may join the queue meanwhile. Only closing the store ends the wait early.
            let waited = self.changed.wait_timeout_while(work, window, |work| !work.stop);
            let (mut work, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
            let (dirty, stop) = (std::mem::take(&mut work.dirty), work.stop);
            drop(work);
            let failed: Vec<Arc<SessionEntry>> =
                dirty.into_iter().filter(|session| sync(session).is_err()).collect();
            if stop {
                return;
            }
            lock_unpoisoned(&self.work).dirty.extend(failed);
        }
    }
}

/// Syncs the pending data of a session. Opens and writes its file again if an earlier sync failed.
pub(super) fn sync(session: &SessionEntry) -> std::io::Result<()> {
    let (pending, head) = {
        let slot = lock_unpoisoned(&session.writer);
        (slot.as_ref().and_then(JournalWriter::pending), session.head())
    };
    let mut slot;
    if let Some((file, end)) = pending {
        let synced = file.sync_data();
        slot = lock_unpoisoned(&session.writer);
        match (slot.as_mut(), synced) {
            (Some(writer), Ok(())) => {
                writer.mark_synced(&file, end);
                session.note_synced(head);
            }
            (Some(writer), Err(error)) => {
                writer.mark_sync_failed(&file);
                return Err(error);
            }
            (None, _) => {}
        }
        return Ok(());
    }
    slot = lock_unpoisoned(&session.writer);
    let tip = lock_unpoisoned(&session.cached).tip.clone();
    match (slot.as_mut(), tip) {
        (Some(writer), Some(tip)) if writer.must_recover() => writer.ensure_open(&tip),
        _ => Ok(()),
    }
}
