//! A trace in a file: lines of JSON, in a row of files with a bound.
//!
//! Owns the file and its successors: `trace.jsonl` is written, and when it is full it becomes `trace.jsonl.1`, that
//! becomes `trace.jsonl.2`, and the oldest one goes. Invariant: every line is whole; what a crash tore is ended by a
//! line end before the next one is written.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use lariat_runtime::trace::TraceSink;

/// A file is full at 64 MiB, unless told otherwise.
const FULL: u64 = 64 * 1024 * 1024;

/// Full files that are kept, unless told otherwise.
const KEPT: u32 = 4;

/// Writes a trace to files that only their owner reads. Given to a [`TraceLog`](lariat_runtime::trace::TraceLog).
#[derive(Debug)]
pub struct TraceFile {
    path: PathBuf,
    full: u64,
    kept: u32,
    file: BufWriter<File>,
    size: u64,
}

impl TraceFile {
    /// Opens a file at its end, or makes it.
    ///
    /// # Errors
    /// When it cannot be opened for writing.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let (file, size) = opened(&path)?;
        Ok(Self { path, full: FULL, kept: KEPT, file, size })
    }

    /// Bytes from which on a file is full; at least one line is in each.
    pub const fn full_at(mut self, bytes: u64) -> Self {
        self.full = bytes;
        self
    }

    /// Full files that are kept; with 0, a full file is begun anew.
    pub const fn keeping(mut self, files: u32) -> Self {
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
            moved(&numbered(number), &numbered(number + 1))?;
        }
        if self.kept > 0 {
            moved(&self.path, &numbered(1))?;
        } else {
            self.file.get_mut().set_len(0)?;
        }
        (self.file, self.size) = opened(&self.path)?;
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

#[expect(clippy::disallowed_methods, reason = "the trace's own file, named by whoever configures it")]
fn opened(path: &Path) -> io::Result<(BufWriter<File>, u64)> {
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

#[expect(clippy::disallowed_methods, reason = "the trace's own files, named by whoever configures it")]
fn moved(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
#[path = "trace_file_tests.rs"]
mod tests;
