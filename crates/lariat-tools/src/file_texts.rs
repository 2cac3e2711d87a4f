//! Caches the texts of files, for all sessions that share their tools: an agent and its sub-agents.
//!
//! A text is stored once for its content, whatever paths and sessions lead to it. A path leads to it while the file's stamp proves that
//! the content is the same. The caller opens the file first, so that the permissions of its own tool call apply.
//!
//! Bounded: when it is full, it is cleared. The only cost is that files are read again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_host::files::text::Text;
use lariat_host::files::{FileVersion, Stamp};

/// Maximum size of all texts together, in bytes.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Maximum number of paths.
const MAX_PATHS: usize = 10_000;

/// Texts by content, and paths that lead to them. Clones share the cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileTexts(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    paths: HashMap<String, KnownFile>,
    /// By the hash of the content.
    texts: HashMap<[u8; 32], Arc<Text>>,
    bytes: usize,
}

#[derive(Debug)]
struct KnownFile {
    known: FileVersion,
    text: Arc<Text>,
}

impl FileTexts {
    /// Returns the text of a file with this stamp, if the stamp proves that its content is the same as when it was read.
    pub(crate) fn by_stamp(&self, path: &str, stamp: &Stamp) -> Option<(FileVersion, Arc<Text>)> {
        let state = self.lock();
        let file = state.paths.get(path).filter(|file| file.known.stamp == *stamp)?;
        Some((file.known.clone(), Arc::clone(&file.text)))
    }

    /// Remembers the text of a file. Returns the text that is stored for this content.
    pub(crate) fn remember(&self, path: &str, known: &FileVersion, text: Text) -> Arc<Text> {
        let Some(hash) = known.hash.map(|hash| *hash.as_bytes()) else { return Arc::new(text) };
        let mut state = self.lock();
        if let Some(shared) = state.texts.get(&hash).cloned() {
            state.set(path, known, &shared);
            return shared;
        }
        let (size, text) = (text.as_str().len(), Arc::new(text));
        if state.bytes + size > MAX_BYTES {
            *state = State::default();
        }
        state.bytes += size;
        state.texts.insert(hash, Arc::clone(&text));
        state.set(path, known, &text);
        text
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn set(&mut self, path: &str, known: &FileVersion, text: &Arc<Text>) {
        if self.paths.len() >= MAX_PATHS {
            self.paths.clear();
        }
        // A file that has just changed can change again and keep its stamp.
        if known.stamp.is_settled() {
            self.paths.insert(path.to_owned(), KnownFile { known: known.clone(), text: Arc::clone(text) });
        } else {
            self.paths.remove(path);
        }
    }
}

#[cfg(test)]
#[path = "file_texts_tests.rs"]
mod tests;
