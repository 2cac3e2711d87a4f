//! Remembers which files an agent has read.
//!
//! For each file it keeps the state and the hash of the content that the agent saw. An editor that saves a file creates
//! a new file under the same name; the path then shows that the agent read an earlier version.
//!
//! Bounded: when it is full, it forgets the half that was read longest ago. The only cost is that the file must be read
//! again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::stamp::{FileId, Stamp};

/// Maximum number of files to remember.
const MAX_FILES: usize = 20_000;

/// The state of a file when it was last read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// Identity, size and times at that moment.
    pub stamp: Stamp,
    /// Hash of the whole content; `None` if only a part was read.
    pub hash: Option<blake3::Hash>,
}

/// How the current state of a file compares with the state that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadState {
    /// The file was never read.
    Unread,
    /// The file has the same state as when it was read.
    Unchanged(FileVersion),
    /// The state differs; only the hash shows whether the content does.
    Touched(FileVersion),
}

/// The files that an agent has read. Clones share the same memory.
#[derive(Clone, Debug, Default)]
pub struct FileMemory {
    state: Arc<Mutex<MemoryState>>,
}

#[derive(Debug, Default)]
struct MemoryState {
    files: HashMap<FileId, (u64, FileVersion)>,
    paths: HashMap<String, (u64, FileVersion)>,
    clock: u64,
}

impl FileVersion {
    /// For a file whose whole content was read or written.
    pub fn of(stamp: Stamp, content: &[u8]) -> Self {
        Self { stamp, hash: Some(blake3::hash(content)) }
    }

    /// For content that an editor has not saved yet: the file has this version only once its content is the same.
    pub fn unsaved(stamp: Stamp, content: &[u8]) -> Self {
        Self::of(stamp.of_unsaved(content.len() as u64), content)
    }

    /// For a file of which only a part was read.
    pub const fn partly_read(stamp: Stamp) -> Self {
        Self { stamp, hash: None }
    }
}

impl FileMemory {
    /// Records a file that was read or written.
    pub fn remember(&self, path: &str, known: FileVersion) {
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        state.files.insert(known.stamp.id(), (now, known.clone()));
        state.paths.insert(path.to_owned(), (now, known));
        if state.files.len().max(state.paths.len()) > MAX_FILES {
            let since = now.saturating_sub(MAX_FILES as u64 / 2);
            state.files.retain(|_, (when, _)| *when > since);
            state.paths.retain(|_, (when, _)| *when > since);
        }
    }

    /// Forgets a path, for example because its file was removed.
    pub fn forget(&self, path: &str) {
        let mut state = self.lock();
        if let Some((_, known)) = state.paths.remove(path) {
            state.files.remove(&known.stamp.id());
        }
    }

    /// Returns the paths of the files that were read or written.
    pub fn paths(&self) -> Vec<String> {
        self.lock().paths.keys().cloned().collect()
    }

    /// Compares the current state of a file with the state that was read.
    pub fn read_state(&self, path: &str, stamp: &Stamp) -> ReadState {
        let state = self.lock();
        // The path decides before the identity: the system gives a new file the identity of one that is gone, and the new one may have
        // the content and the times that the agent has read of the other.
        let known = state.paths.get(path).or_else(|| state.files.get(&stamp.id())).map(|(_, known)| known);
        match known {
            None => ReadState::Unread,
            Some(known) if known.stamp == *stamp => ReadState::Unchanged(known.clone()),
            Some(known) => ReadState::Touched(known.clone()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
