//! The open file of a session that this store writes to.
//!
//! Owns the lock, the file and how far it is acknowledged and synced. Invariants: a batch is written at the known end,
//! with one call; after a failed write or sync the file is closed, nothing in doubt is acknowledged, and before the
//! next write it is opened again, cut back to what is certain and written from there.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use lariat_core::store::{Durability, Epoch};

use super::name::{Aside, Name};
use super::section::Section;
use super::tip::Tip;
use crate::files::{self, Lock};

/// Batched bytes that may wait for a sync. More are synced at once.
const MAX_UNSYNCED: usize = 8 * 1024 * 1024;

/// A session that this store writes to.
#[derive(Debug)]
pub(super) struct Writer {
    /// Held as long as this is.
    _lock: Lock,
    name: Name,
    pub(super) epoch: Epoch,
    level: Durability,
    /// `None` after a failure.
    file: Option<Arc<File>>,
    /// Where the last acknowledged record ends, in bytes.
    end: u64,
    /// Acknowledged and not known to be synced: the bytes before `end`. Kept only when a sync is promised.
    unsynced: Vec<u8>,
    /// What the failed write may have left behind `end`.
    doubt: Vec<u8>,
    /// Where the index that was written last ends.
    pub(super) indexed: u64,
}

impl Writer {
    /// Takes over a journal that ends with this tip; what is behind it is set aside, and all of it synced.
    pub(super) fn open(lock: Lock, name: Name, level: Durability, tip: &Tip) -> io::Result<Self> {
        let mut writer = Self {
            _lock: lock,
            name,
            epoch: tip.epoch,
            level,
            file: None,
            end: tip.end,
            unsynced: Vec::new(),
            doubt: Vec::new(),
            indexed: tip.indexed,
        };
        let file = writer.reopened(tip)?;
        file.sync_data()?;
        // Whoever put the journal in place may have died before its name was synced.
        writer.name.journal().parent().map_or(Ok(()), files::sync_dir)?;
        writer.file = Some(Arc::new(file));
        Ok(writer)
    }

    /// Writes a batch behind the tip, and syncs it if that is the level.
    pub(super) fn write(&mut self, batch: Vec<u8>, tip: &Tip) -> io::Result<()> {
        self.ensure_open(tip)?;
        let Some(file) = self.file.take() else { return Err(io::ErrorKind::NotFound.into()) };
        let written = file.write_all_at(&batch, self.end).and_then(|()| match self.level {
            Durability::Durable => file.sync_data(),
            _ => Ok(()),
        });
        if let Err(error) = written {
            self.doubt = batch;
            return Err(error);
        }
        self.end += batch.len() as u64;
        self.file = Some(file);
        if self.level == Durability::Batched {
            self.unsynced.extend_from_slice(&batch);
            if self.unsynced.len() > MAX_UNSYNCED {
                // The batch is written; that this sync fails is found by the next write.
                let _ = self.sync();
            }
        }
        Ok(())
    }

    /// Opens the file again if a failure closed it.
    pub(super) fn ensure_open(&mut self, tip: &Tip) -> io::Result<()> {
        if self.file.is_none() {
            let file = self.reopened(tip)?;
            if self.level != Durability::Fast {
                file.sync_data()?;
            }
            self.unsynced.clear();
            self.doubt.clear();
            self.file = Some(Arc::new(file));
        }
        Ok(())
    }

    /// The file, ending where the last acknowledged record ends.
    fn reopened(&self, tip: &Tip) -> io::Result<File> {
        let file = files::open_again(&self.name.journal())?;
        let length = file.metadata()?.len();
        let certain = self.end - self.unsynced.len() as u64;
        if length < certain || (self.unsynced.is_empty() && !tip.is_in(&file)?) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "acknowledged events are not there any more",
            ));
        }
        if !self.is_own_doubt(&file, length)? {
            set_aside(&self.name, &file, self.end, length)?;
        }
        if length > self.end {
            file.set_len(self.end)?;
        }
        file.write_all_at(&self.unsynced, certain)?;
        Ok(file)
    }

    /// Whether what is behind the end is the beginning of the batch that failed: whoever wanted it written knows that
    /// it was not, so nothing is lost when it is cut off.
    fn is_own_doubt(&self, file: &File, length: u64) -> io::Result<bool> {
        let Some(written) = length.checked_sub(self.end).filter(|written| *written > 0) else {
            return Ok(true);
        };
        if written > self.doubt.len() as u64 {
            return Ok(false);
        }
        let mut tail = Vec::new();
        Section::new(file, self.end, length).read_to_end(&mut tail)?;
        Ok(self.doubt.starts_with(&tail))
    }

    /// The file and the end of what is written to it, when some of that is not synced.
    pub(super) fn pending(&self) -> Option<(Arc<File>, u64)> {
        let file = self.file.as_ref().filter(|_| !self.unsynced.is_empty())?;
        Some((Arc::clone(file), self.end))
    }

    /// Whether a failure closed the file while acknowledged bytes waited for a sync.
    pub(super) const fn must_recover(&self) -> bool {
        self.file.is_none() && !self.unsynced.is_empty()
    }

    /// Notes that what was [`Writer::pending`] is synced.
    pub(super) fn synced(&mut self, file: &Arc<File>, end: u64) {
        if self.has(file) {
            let left = usize::try_from(self.end - end).unwrap_or(usize::MAX);
            self.unsynced.drain(..self.unsynced.len().saturating_sub(left));
        }
    }

    /// Notes that the sync of what was [`Writer::pending`] failed: this file is not trusted any more.
    pub(super) fn sync_failed(&mut self, file: &Arc<File>) {
        if self.has(file) {
            self.file = None;
        }
    }

    fn has(&self, file: &Arc<File>) -> bool {
        self.file.as_ref().is_some_and(|current| Arc::ptr_eq(current, file))
    }

    /// Syncs all that is acknowledged.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Err(io::ErrorKind::NotFound.into()) };
        file.sync_data()?;
        self.unsynced.clear();
        self.file = Some(file);
        Ok(())
    }

    /// Notes that the file was replaced by one that ends with this tip.
    pub(super) fn replaced(&mut self, tip: &Tip) {
        self.file = None;
        self.end = tip.end;
        self.unsynced.clear();
        self.doubt.clear();
    }
}

/// Keeps the end of a journal in a file of its own, durable.
fn set_aside(name: &Name, file: &File, from: u64, to: u64) -> io::Result<()> {
    if from >= to {
        return Ok(());
    }
    let path = free_name(name, Aside::Torn)?;
    let mut kept = files::create(&path)?;
    io::copy(&mut Section::new(file, from, to), &mut kept)?;
    kept.sync_data()?;
    path.parent().map_or(Ok(()), files::sync_dir)
}

/// The first name of its kind that is not taken.
pub(super) fn free_name(name: &Name, kind: Aside) -> io::Result<std::path::PathBuf> {
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
