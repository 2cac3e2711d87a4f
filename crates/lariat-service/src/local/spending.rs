//! Logs spending per day in files: one directory for all sessions and processes, one file per day (`2026-11-15.jsonl`).
//!
//! Each entry is one line, appended with a single write, so that processes need no lock. Each line starts with its own line
//! ending, so that a line torn by a crash does not damage the next one. Torn and foreign lines are skipped. Lines survive the
//! process; a power failure may lose the newest.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use lariat_core::BoxFuture;
use lariat_core::budget::{Day, SpendingLog, SpendingLogError, SpentAmounts};

/// A spending log in a directory that only its owner can read. Pass it to a
/// [`DailyBudget`](lariat_runtime::budget::DailyBudget).
#[derive(Debug)]
pub struct SpendingFiles {
    folder: PathBuf,
    read: Mutex<ReadPosition>,
}

/// How far a day's file was read, so that only new lines are read next time.
#[derive(Debug, Default)]
struct ReadPosition {
    day: Day,
    bytes: u64,
    total: SpentAmounts,
}

impl SpendingFiles {
    /// Opens the log in a directory, which is created if missing.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(Self { folder, read: Mutex::default() })
    }

    fn path(&self, day: Day) -> PathBuf {
        self.folder.join(format!("{day}.jsonl"))
    }

    fn append(&self, day: Day, spent: SpentAmounts) -> io::Result<()> {
        let line = format!("\n{}\n", serde_json::to_string(&spent)?);
        self.open_for_append(day)?.write_all(line.as_bytes())
    }

    #[expect(clippy::disallowed_methods, reason = "the log's own files, in a configured directory")]
    fn open_for_append(&self, day: Day) -> io::Result<File> {
        OpenOptions::new().append(true).create(true).mode(0o600).open(self.path(day))
    }

    #[expect(clippy::disallowed_methods, reason = "the log's own files, in a configured directory")]
    fn open_for_read(&self, day: Day) -> io::Result<Option<File>> {
        match File::open(self.path(day)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    fn sum(&self, day: Day) -> io::Result<SpentAmounts> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.day != day {
            *read = ReadPosition { day, ..ReadPosition::default() };
        }
        let Some(mut file) = self.open_for_read(day)? else { return Ok(read.total) };
        let mut new = Vec::new();
        file.seek(SeekFrom::Start(read.bytes))?;
        file.read_to_end(&mut new)?;
        // A line without a line ending is incomplete or torn.
        let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in new.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n') {
            read.total += serde_json::from_slice(line).unwrap_or_default();
        }
        read.bytes += whole as u64;
        Ok(read.total)
    }
}

impl SpendingLog for SpendingFiles {
    fn add(&self, day: Day, spent: SpentAmounts) -> BoxFuture<'_, Result<(), SpendingLogError>> {
        Box::pin(std::future::ready(self.append(day, spent).map_err(log_error)))
    }

    fn total(&self, day: Day) -> BoxFuture<'_, Result<SpentAmounts, SpendingLogError>> {
        Box::pin(std::future::ready(self.sum(day).map_err(log_error)))
    }
}

fn log_error(error: io::Error) -> SpendingLogError {
    SpendingLogError(error.to_string())
}

#[cfg(test)]
#[path = "spending_tests.rs"]
mod tests;
