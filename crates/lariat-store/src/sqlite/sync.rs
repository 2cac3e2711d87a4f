//! The late sync of batched appends: one for all sessions, within the window.
//!
//! Owns a handle on the `-wal` file and when it has to be synced. Transactions are committed without a sync
//! (`synchronous = NORMAL`); SQLite itself syncs the file before it moves anything into the database.
//! Invariant: what was committed is synced within the window, or the failure is told.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::files;

/// What is to be synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// What has waited for as long as it may.
    Now,
    /// Everything.
    Ever,
}

/// Syncs a WAL file a little later.
#[derive(Debug)]
pub(super) struct WalSync {
    file: File,
    window: Duration,
    due: Option<Instant>,
}

impl WalSync {
    /// Opens the file beside SQLite. It takes no locks on this one, so that closing it here drops none.
    pub(super) fn open(path: &Path, window: Duration) -> io::Result<Self> {
        Ok(Self { file: files::open_to_write(path)?, window, due: None })
    }

    /// Something was committed.
    pub(super) fn wrote(&mut self) {
        self.due.get_or_insert_with(|| now() + self.window);
    }

    /// How long until a sync is due; `None` when nothing is to be synced.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now()))
    }

    /// Syncs what is due.
    pub(super) fn sync(&mut self, which: Due) -> io::Result<()> {
        if self.due().is_some_and(|wait| which == Due::Ever || wait.is_zero()) {
            self.file.sync_data()?;
            self.due = None;
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "a deadline of this thread, which nobody simulates")]
fn now() -> Instant {
    Instant::now()
}
