//! Writes a trace to a file as lines of JSON, with rotation.
//!
//! When `trace.jsonl` is full, it becomes `trace.jsonl.1`, that becomes `trace.jsonl.2`, and the oldest file is deleted.
//! Every line is complete: a line torn by a crash is ended before the next one is written.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use lariat_runtime::trace::TraceSink;

/// Default maximum size of a file: 64 MiB.
const DEFAULT_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Default number of full files to keep.
const DEFAULT_KEPT_FILES: u32 = 4;

/// Writes a trace to files that only their owner can read. Pass it to a [`TraceLog`](lariat_runtime::trace::TraceLog).
#[derive(Debug)]
pub struct TraceFile {
    path: PathBuf,
    full: u64,
    kept: u32,
    file: BufWriter<File>,
    size: u64,
}

impl TraceFile {
    /// Opens a file for appending, or creates it.
    ///
    /// # Errors
    /// If it cannot be opened for writing.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let (file, size) = open_file(&path)?;
        Ok(Self { path, full: DEFAULT_MAX_BYTES, kept: DEFAULT_KEPT_FILES, file, size })
    }

    /// Sets the maximum size of a file; each holds at least one line.
    pub const fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.full = bytes;
        self
    }

    /// Sets the number of full files to keep; with 0, a full file is truncated.
    pub const fn with_kept_files(mut self, files: u32) -> Self {
        self.kept = files;
        self
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.flush()?;
        let numbered = |number: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        for number in (1..self.kept).rev() {
            rename_if_exists(&numbered(number), &numbered(number + 1))?;
        }
        if self.kept > 0 {
            rename_if_exists(&self.path, &numbered(1))?;
        } else {
            self.file.get_mut().set_len(0)?;
        }
        (self.file, self.size) = open_file(&self.path)?;
        Ok(())
    }
}

impl TraceSink for TraceFile {
    fn write_line(&mut self, line: &str) -> io::Result<()> {
        if self.size > 0 && self.size.saturating_add(line.len() as u64) >= self.full {
            self.rotate()?;
        }
        self.file.write_all(line.as_bytes())?;
        self.file.write_all(b"\n")?;
        self.size = self.size.saturating_add(line.len() as u64 + 1);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[expect(clippy::disallowed_methods, reason = "the trace's own file, at a configured path")]
fn open_file(path: &Path) -> io::Result<(BufWriter<File>, u64)> {
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
    let mut size = file.metadata()?.len();
    if size > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
            size += 1;
        }
    }
    Ok((BufWriter::new(file), size))
}

#[expect(clippy::disallowed_methods, reason = "the trace's own files, at a configured path")]
fn rename_if_exists(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
#[path = "trace_file_tests.rs"]
mod tests;
