//! Syncs batched appends within a time window, once for all sessions.
//!
//! Transactions are committed without a sync (`synchronous = NORMAL`); SQLite itself syncs the `-wal` file before it moves
//! anything into the database. This module keeps a handle on the `-wal` file and decides when to sync it.
//! Invariant: committed data is synced within the window, or the failure is reported.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::files;

/// What to sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncScope {
    /// Data whose window has passed.
    Due,
    /// Everything.
    All,
}

/// Syncs a WAL file after a delay.
#[derive(Debug)]
pub(super) struct WalSync {
    file: File,
    window: Duration,
    due: Option<Instant>,
}

impl WalSync {
    /// Opens the WAL file in addition to SQLite. SQLite takes no locks on this file, so closing it here drops none.
    pub(super) fn open(path: &Path, window: Duration) -> io::Result<Self> {
        Ok(Self { file: files::open_to_write(path)?, window, due: None })
    }

    /// Notes that a transaction was committed.
    pub(super) fn wrote(&mut self) {
        self.due.get_or_insert_with(|| now() + self.window);
    }

    /// Returns the time until a sync is due, or `None` if there is nothing to sync.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now()))
    }

    /// Syncs if a sync is due.
    pub(super) fn sync(&mut self, which: SyncScope) -> io::Result<()> {
        if self.due().is_some_and(|wait| which == SyncScope::All || wait.is_zero()) {
            self.file.sync_data()?;
            self.due = None;
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "a deadline of this thread, which no test simulates")]
fn now() -> Instant {
    Instant::now()
}
