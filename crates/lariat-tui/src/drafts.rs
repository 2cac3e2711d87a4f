//! The unsent draft of a session on disk, so that neither a crash nor `kill -9` loses it.
//!
//! The caller names the file and saves after changes. Invariant: the file is always one whole draft.

use std::io;
use std::path::PathBuf;

use crate::disk;

/// The longest draft that is kept, in bytes. A terminal needs minutes to paste more.
const MAX_DRAFT: usize = 16 * 1024 * 1024;

/// The file of one session's draft.
#[derive(Debug)]
pub struct DraftFile {
    path: PathBuf,
    /// The text in the file, so that an unchanged draft is not written again.
    saved: Option<String>,
}

impl DraftFile {
    /// Uses this file. Reads nothing yet.
    pub const fn new(path: PathBuf) -> Self {
        Self { path, saved: None }
    }

    /// Reads the draft that an earlier run of the program left, or an empty one.
    pub fn load(&mut self) -> io::Result<String> {
        let bytes = disk::read_end(&self.path, MAX_DRAFT as u64)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.saved = Some(text.clone());
        Ok(text)
    }

    /// Saves the draft; removes the file if the draft is empty.
    pub fn save(&mut self, text: &str) -> io::Result<()> {
        if self.saved.as_deref() == Some(text) {
            return Ok(());
        }
        if text.len() > MAX_DRAFT {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the draft is longer than 16 MiB"));
        }
        if text.is_empty() {
            disk::remove(&self.path)?;
        } else {
            disk::replace(&self.path, text.as_bytes())?;
        }
        self.saved = Some(text.to_owned());
        Ok(())
    }

    /// Removes the draft: it was sent.
    pub fn remove(&mut self) -> io::Result<()> {
        self.save("")
    }
}

#[cfg(test)]
#[path = "drafts_tests.rs"]
mod tests;
