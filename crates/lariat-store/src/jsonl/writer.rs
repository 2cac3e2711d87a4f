//! Writes to the journal file of a session.
//!
//! Invariants: the writer writes a batch at the known end, with one call. After a failed write or sync it closes the file
//! and acknowledges nothing uncertain. Before the next write it opens the file again, truncates it to what is certain and
//! continues from there.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use lariat_core::store::{Durability, Epoch};

use super::paths::{AsideKind, SessionPaths};
use super::section::Section;
use super::tip::JournalTip;
use crate::files::{self, Lock};

/// Maximum number of batched bytes that may wait for a sync. More are synced at once.
const MAX_UNSYNCED: usize = 8 * 1024 * 1024;

/// The writer of a session's journal.
#[derive(Debug)]
pub(super) struct JournalWriter {
    /// Held until the writer is dropped.
    _lock: Lock,
    paths: SessionPaths,
    pub(super) epoch: Epoch,
    level: Durability,
    /// `None` after a failure.
    file: Option<Arc<File>>,
    /// Offset of the end of the last acknowledged record.
    end: u64,
    /// Acknowledged bytes before `end` that may not be synced. Kept only for levels that promise a sync.
    unsynced: Vec<u8>,
    /// The batch of a failed write, of which any part may be after `end`.
    failed_batch: Vec<u8>,
    /// Offset of the end of the last written index.
    pub(super) indexed: u64,
}

impl JournalWriter {
    /// Takes over a journal that ends with this tip. Sets data after the tip aside and syncs the file.
    pub(super) fn open(
        lock: Lock,
        paths: SessionPaths,
        level: Durability,
        tip: &JournalTip,
    ) -> io::Result<Self> {
        let mut writer = Self {
            _lock: lock,
            paths,
            epoch: tip.epoch,
            level,
            file: None,
            end: tip.end,
            unsynced: Vec::new(),
            failed_batch: Vec::new(),
            indexed: tip.indexed,
        };
        let file = writer.reopen(tip)?;
        file.sync_data()?;
        // The process that created the journal may have died before it synced the directory.
        writer.paths.journal().parent().map_or(Ok(()), files::sync_dir)?;
        writer.file = Some(Arc::new(file));
        Ok(writer)
    }

    /// Writes a batch after the tip, and syncs it if the level requires that.
    pub(super) fn write(&mut self, batch: Vec<u8>, tip: &JournalTip) -> io::Result<()> {
        self.ensure_open(tip)?;
        let Some(file) = self.file.take() else { return Err(io::ErrorKind::NotFound.into()) };
        let written = file.write_all_at(&batch, self.end).and_then(|()| match self.level {
            Durability::Durable => file.sync_data(),
            _ => Ok(()),
        });
        if let Err(error) = written {
            self.failed_batch = batch;
            return Err(error);
        }
        self.end += batch.len() as u64;
        self.file = Some(file);
        if self.level == Durability::Batched {
            self.unsynced.extend_from_slice(&batch);
            if self.unsynced.len() > MAX_UNSYNCED {
                // The batch is written. If this sync fails, the next write recovers.
                let _ = self.sync();
            }
        }
        Ok(())
    }

    /// Opens the file again if a failure closed it.
    pub(super) fn ensure_open(&mut self, tip: &JournalTip) -> io::Result<()> {
        if self.file.is_none() {
            let file = self.reopen(tip)?;
            if self.level != Durability::Fast {
                file.sync_data()?;
            }
            self.unsynced.clear();
            self.failed_batch.clear();
            self.file = Some(Arc::new(file));
        }
        Ok(())
    }

    /// Opens the file and truncates it to the end of the last acknowledged record.
    fn reopen(&self, tip: &JournalTip) -> io::Result<File> {
        let file = files::open_existing(&self.paths.journal())?;
        let length = file.metadata()?.len();
        let certain = self.end - self.unsynced.len() as u64;
        if length < certain || (self.unsynced.is_empty() && !tip.is_in(&file)?) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "acknowledged events are missing"));
        }
        if !self.ends_with_failed_batch(&file, length)? {
            set_aside(&self.paths, &file, self.end, length)?;
        }
        if length > self.end {
            file.set_len(self.end)?;
        }
        file.write_all_at(&self.unsynced, certain)?;
        Ok(file)
    }

    /// Returns whether the bytes after the end are the start of the failed batch. Its caller knows that the write failed, so
    /// cutting them off loses nothing.
    fn ends_with_failed_batch(&self, file: &File, length: u64) -> io::Result<bool> {
        let Some(written) = length.checked_sub(self.end).filter(|written| *written > 0) else {
            return Ok(true);
        };
        if written > self.failed_batch.len() as u64 {
            return Ok(false);
        }
        let mut tail = Vec::new();
        Section::new(file, self.end, length).read_to_end(&mut tail)?;
        Ok(self.failed_batch.starts_with(&tail))
    }

    /// Returns the file and the end of its data, if some of it is not synced.
    pub(super) fn pending(&self) -> Option<(Arc<File>, u64)> {
        let file = self.file.as_ref().filter(|_| !self.unsynced.is_empty())?;
        Some((Arc::clone(file), self.end))
    }

    /// Returns whether a failure closed the file while acknowledged bytes waited for a sync.
    pub(super) const fn must_recover(&self) -> bool {
        self.file.is_none() && !self.unsynced.is_empty()
    }

    /// Records that the data of [`JournalWriter::pending`] is synced.
    pub(super) fn mark_synced(&mut self, file: &Arc<File>, end: u64) {
        if self.has(file) {
            let left = usize::try_from(self.end - end).unwrap_or(usize::MAX);
            self.unsynced.drain(..self.unsynced.len().saturating_sub(left));
        }
    }

    /// Records that syncing the data of [`JournalWriter::pending`] failed: the file handle is no longer trusted.
    pub(super) fn mark_sync_failed(&mut self, file: &Arc<File>) {
        if self.has(file) {
            self.file = None;
        }
    }

    fn has(&self, file: &Arc<File>) -> bool {
        self.file.as_ref().is_some_and(|current| Arc::ptr_eq(current, file))
    }

    /// Syncs all acknowledged data.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Err(io::ErrorKind::NotFound.into()) };
        file.sync_data()?;
        self.unsynced.clear();
        self.file = Some(file);
        Ok(())
    }

    /// Records that the file was replaced by one that ends with this tip.
    pub(super) fn follow_replacement(&mut self, tip: &JournalTip) {
        self.file = None;
        self.end = tip.end;
        self.unsynced.clear();
        self.failed_batch.clear();
    }
}

/// Copies the end of a journal to a file of its own, durably.
fn set_aside(name: &SessionPaths, file: &File, from: u64, to: u64) -> io::Result<()> {
    if from >= to {
        return Ok(());
    }
    let path = free_name(name, AsideKind::Torn)?;
    let mut kept = files::create(&path)?;
    io::copy(&mut Section::new(file, from, to), &mut kept)?;
    kept.sync_data()?;
    path.parent().map_or(Ok(()), files::sync_dir)
}

/// Returns the first unused name of its kind.
pub(super) fn free_name(name: &SessionPaths, kind: AsideKind) -> io::Result<std::path::PathBuf> {
    for number in 1.. {
        let path = name.aside(kind, number);
        if files::state(&path)?.is_none() {
            return Ok(path);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
