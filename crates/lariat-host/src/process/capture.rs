//! Captures the output of a program: start and end in memory, all of it in a file.
//!
//! Invariant: memory use stays below the head limit plus twice the tail limit, however much a program prints.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// How much of a program's output to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Bytes to keep from the start.
    pub head: usize,
    /// Bytes to keep from the end.
    pub tail: usize,
    /// File for the whole output; created only when the output exceeds head and tail.
    pub spill: Option<PathBuf>,
    /// Maximum size of that file in bytes.
    pub spill_limit: u64,
}

impl Default for CaptureLimits {
    /// 256 KB in memory, half of it from the start; 256 MB on disk if `spill` is set.
    fn default() -> Self {
        Self { head: 128 * 1024, tail: 128 * 1024, spill: None, spill_limit: 256 * 1024 * 1024 }
    }
}

/// The captured output of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapturedOutput {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes, after those of the head.
    pub tail: Vec<u8>,
    /// Number of bytes that the program wrote.
    pub total: u64,
    /// File with the whole output, if it did not fit into head and tail.
    pub spill: Option<PathBuf>,
    /// Bytes in that file.
    pub spilled: u64,
}

impl CapturedOutput {
    /// Number of bytes between head and tail that were dropped from memory.
    pub fn missing_bytes(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Head and tail as one text, with a note where bytes are missing.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.missing_bytes() > 0 {
            text.push_str(&format!("\n[… {} bytes not shown …]\n", self.missing_bytes()));
        }
        text.push_str(&String::from_utf8_lossy(&self.tail));
        text
    }
}

/// Collects output as it arrives.
#[derive(Debug)]
pub(super) struct Capture {
    limits: CaptureLimits,
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
    spill: Spill,
}

#[derive(Debug)]
enum Spill {
    /// Nothing was written to disk yet.
    None,
    /// The file and the number of bytes written to it.
    File(File, u64),
    /// No file was requested, or writing failed.
    Off,
}

impl Capture {
    pub(super) fn new(limits: CaptureLimits) -> Self {
        let spill = if limits.spill.is_some() { Spill::None } else { Spill::Off };
        Self { limits, head: Vec::new(), tail: Vec::new(), total: 0, spill }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        let kept = (self.limits.head + self.limits.tail) as u64;
        if matches!(self.spill, Spill::None) && self.total + bytes.len() as u64 > kept {
            self.open_spill();
        }
        self.write_spill(bytes);
        self.total += bytes.len() as u64;
        let room = self.limits.head.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * self.limits.tail {
            self.tail.drain(..self.tail.len() - self.limits.tail);
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the bytes after `mark` that are still in memory, and whether some of them are missing.
    pub(super) fn since(&self, mark: u64) -> (Vec<u8>, bool) {
        let tail_start = self.total - self.tail.len() as u64;
        let mut bytes = Vec::new();
        if let Some(head) = usize::try_from(mark).ok().and_then(|mark| self.head.get(mark..)) {
            bytes.extend_from_slice(head);
        }
        let from = usize::try_from(mark.saturating_sub(tail_start)).unwrap_or(usize::MAX);
        bytes.extend_from_slice(self.tail.get(from..).unwrap_or_default());
        let gap = tail_start > (self.head.len() as u64).max(mark);
        (bytes, gap)
    }

    pub(super) fn output(&self) -> CapturedOutput {
        let tail = self.tail.len().saturating_sub(self.limits.tail);
        let (spill, spilled) = match &self.spill {
            Spill::File(_, bytes) => (self.limits.spill.clone(), *bytes),
            Spill::None | Spill::Off => (None, 0),
        };
        CapturedOutput {
            head: self.head.clone(),
            tail: self.tail.get(tail..).unwrap_or_default().to_vec(),
            total: self.total,
            spill,
            spilled,
        }
    }

    #[expect(clippy::disallowed_methods, reason = "lariat-host may access the operating system")]
    fn open_spill(&mut self) {
        let Some(path) = &self.limits.spill else { return };
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
        self.spill = match file {
            Ok(file) => Spill::File(file, 0),
            Err(_) => Spill::Off,
        };
        // So far, head and tail contain everything.
        let (head, tail) = (std::mem::take(&mut self.head), std::mem::take(&mut self.tail));
        self.write_spill(&head);
        self.write_spill(&tail);
        (self.head, self.tail) = (head, tail);
    }

    fn write_spill(&mut self, bytes: &[u8]) {
        let Spill::File(file, written) = &mut self.spill else { return };
        let room = usize::try_from(self.limits.spill_limit.saturating_sub(*written)).unwrap_or(usize::MAX);
        let bytes = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        match file.write_all(bytes) {
            Ok(()) => *written += bytes.len() as u64,
            Err(_) => self.spill = Spill::Off,
        }
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
