//! The messages sent before, on disk: one JSON line each, private, bounded.
//!
//! The caller names the file, one per project. Several programs may use it at once: entries are only appended, under a
//! lock, and a file that grew far above the bound is compacted when it is read, under the same lock.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::disk;

/// How many messages are returned and kept.
pub const MAX_ENTRIES: usize = 1_000;
/// How many lines the file may have before it is compacted.
const MAX_LINES: usize = 2 * MAX_ENTRIES;
/// The longest message that is kept on disk, in bytes: a pasted log must not fill the history.
pub const MAX_ENTRY: usize = 256 * 1024;
/// How much of the end of the file is read, in bytes.
const MAX_READ: u64 = 64 * 1024 * 1024;

/// The file of a project's history.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    last: Option<String>,
}

impl History {
    /// Uses this file. Reads nothing yet.
    pub const fn new(path: PathBuf) -> Self {
        Self { path, last: None }
    }

    /// Reads the newest messages, oldest first. Lines that are not messages are skipped.
    pub fn load(&mut self) -> io::Result<Vec<String>> {
        let Some(bytes) = disk::read_end(&self.path, MAX_READ)? else { return Ok(Vec::new()) };
        let mut entries = parse(&bytes);
        if bytes.split(|byte| *byte == b'\n').count() > MAX_LINES || bytes.len() as u64 == MAX_READ {
            entries = self.compact()?;
        }
        self.last = entries.last().cloned();
        Ok(entries)
    }

    /// Adds a message that was sent, unless it equals the one before it or is longer than [`MAX_ENTRY`].
    pub fn append(&mut self, text: &str) -> io::Result<()> {
        if text.trim().is_empty() || text.len() > MAX_ENTRY || self.last.as_deref() == Some(text) {
            return Ok(());
        }
        let _lock = disk::lock(&self.path)?;
        disk::append_line(&self.path, &json!({ "text": text }).to_string())?;
        self.last = Some(text.to_owned());
        Ok(())
    }

    /// Rewrites the file with the newest entries. Reads it again, because others may have appended before the lock.
    fn compact(&self) -> io::Result<Vec<String>> {
        let _lock = disk::lock(&self.path)?;
        let entries = parse(&disk::read_end(&self.path, MAX_READ)?.unwrap_or_default());
        let lines: String = entries.iter().map(|text| format!("{}\n", json!({ "text": text }))).collect();
        disk::replace(&self.path, lines.as_bytes())?;
        Ok(entries)
    }
}

fn parse(bytes: &[u8]) -> Vec<String> {
    let text = |line: &[u8]| match serde_json::from_slice::<Value>(line).ok()?.get_mut("text")?.take() {
        Value::String(text) => Some(text),
        _ => None,
    };
    let mut entries: Vec<String> = bytes.split(|byte| *byte == b'\n').filter_map(text).collect();
    entries.dedup();
    entries.split_off(entries.len().saturating_sub(MAX_ENTRIES))
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
