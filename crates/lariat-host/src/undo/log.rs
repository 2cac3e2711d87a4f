//! Stores checkpoints in a log file: one line each, preceded by its checksum.
//!
//! The log begins with the initial state (`Base`). Opening it cuts off an incomplete line at the end, and everything
//! from a damaged line on. When old checkpoints are dropped, a new log is written under another name and renamed.
#![expect(
    clippy::disallowed_methods,
    reason = "accesses only the store's directory, outside every workspace"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::error::UndoError;
use super::history::UndoCheckpoint;

/// Number of hexadecimal digits of a checksum.
const CHECKSUM: usize = 16;

/// The log file. A lock prevents other processes from opening it.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    bytes: u64,
    _lock: File,
}

impl Log {
    /// Opens the log of a directory and reads its valid lines.
    pub(super) fn open(directory: &Path) -> Result<(Self, Vec<UndoCheckpoint>), UndoError> {
        let lock = directory.join("lock");
        let held = writable().open(&lock).map_err(UndoError::store(&lock))?;
        rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| UndoError::Busy(directory.display().to_string()))?;
        let path = directory.join("log");
        let failed = |error| UndoError::store(&path)(error);
        let mut file = writable().read(true).open(&path).map_err(failed)?;
        let (checkpoints, bytes) = read_valid_lines(&file).map_err(failed)?;
        file.set_len(bytes).map_err(failed)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(bytes)).map_err(failed)?;
        Ok((Self { path: path.clone(), file, bytes, _lock: held }, checkpoints))
    }

    /// Size in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a checkpoint.
    pub(super) fn append(&mut self, checkpoint: &UndoCheckpoint) -> Result<(), UndoError> {
        let line = line(checkpoint).map_err(UndoError::store(&self.path))?;
        if let Err(error) = self.file.write_all(&line) {
            // Remove the incomplete line, so that it does not precede the next one.
            let _ = self.file.set_len(self.bytes);
            let _ = std::io::Seek::seek(&mut self.file, std::io::SeekFrom::Start(self.bytes));
            return Err(UndoError::store(&self.path)(error));
        }
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Replaces the whole log.
    pub(super) fn rewrite<'a>(
        &mut self,
        checkpoints: impl Iterator<Item = &'a UndoCheckpoint>,
    ) -> Result<(), UndoError> {
        let path = self.path.clone();
        let failed = |error| UndoError::store(&path)(error);
        let temporary = path.with_extension("new");
        let mut file = writable().truncate(true).read(true).open(&temporary).map_err(failed)?;
        let mut bytes = 0;
        for checkpoint in checkpoints {
            let line = line(checkpoint).map_err(failed)?;
            file.write_all(&line).map_err(failed)?;
            bytes += line.len() as u64;
        }
        fs::rename(&temporary, &path).map_err(failed)?;
        (self.file, self.bytes) = (file, bytes);
        Ok(())
    }
}

fn writable() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

fn line(checkpoint: &UndoCheckpoint) -> std::io::Result<Vec<u8>> {
    let json = serde_json::to_string(checkpoint)?;
    Ok(format!("{} {json}\n", checksum(json.as_bytes())).into_bytes())
}

fn checksum(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().chars().take(CHECKSUM).collect()
}

/// Returns the valid lines of a log and their size in bytes.
fn read_valid_lines(file: &File) -> std::io::Result<(Vec<UndoCheckpoint>, u64)> {
    let mut reader = BufReader::new(file);
    let (mut checkpoints, mut bytes) = (Vec::new(), 0);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let Some(checkpoint) = parse_line(&line) else { break };
        checkpoints.push(checkpoint);
        bytes += line.len() as u64;
        line.clear();
    }
    Ok((checkpoints, bytes))
}

fn parse_line(line: &[u8]) -> Option<UndoCheckpoint> {
    let (sum, json) = line.strip_suffix(b"\n")?.split_at_checked(CHECKSUM)?;
    let json = json.strip_prefix(b" ")?;
    (checksum(json).as_bytes() == sum).then(|| serde_json::from_slice(json).ok()).flatten()
}
