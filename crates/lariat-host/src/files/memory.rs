//! What an agent has read.
//!
//! Owns, by file, the state and the hash of the content it was shown. A file that was saved by an editor under the same
//! name is another file; the path tells that it was read once.
//!
//! Bounded: when it is full, the half that was read longest ago is forgotten. Forgetting costs a read, nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::stamp::{FileId, Stamp};

/// Files that are remembered.
const MOST_FILES: usize = 20_000;

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its state when it was read or written.
    pub stamp: Stamp,
    /// Of its whole content, when that was seen.
    pub hash: Option<blake3::Hash>,
}

/// How a file stands to what was read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was never read.
    Unread,
    /// It is in the state in which it was read.
    Unchanged(Known),
    /// Its state differs; whether its content does, only the hash tells.
    Touched(Known),
}

/// What an agent has read. Cloning shares.
#[derive(Clone, Debug, Default)]
pub struct FileMemory {
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    files: HashMap<FileId, (u64, Known)>,
    paths: HashMap<String, (u64, Known)>,
    clock: u64,
}

impl Known {
    /// A file with this content in this state.
    pub fn of(stamp: Stamp, content: &[u8]) -> Self {
        Self { stamp, hash: Some(blake3::hash(content)) }
    }

    /// A file of which only a part was seen.
    pub const fn in_part(stamp: Stamp) -> Self {
        Self { stamp, hash: None }
    }
}

impl FileMemory {
    /// Remembers a file that was read or written.
    pub fn remember(&self, path: &str, known: Known) {
        let mut seen = self.lock();
        seen.clock += 1;
        let now = seen.clock;
        seen.files.insert(known.stamp.id(), (now, known.clone()));
        seen.paths.insert(path.to_owned(), (now, known));
        if seen.files.len().max(seen.paths.len()) > MOST_FILES {
            let since = now.saturating_sub(MOST_FILES as u64 / 2);
            seen.files.retain(|_, (when, _)| *when > since);
            seen.paths.retain(|_, (when, _)| *when > since);
        }
    }

    /// Forgets a path, because its file is gone.
    pub fn forget(&self, path: &str) {
        let mut seen = self.lock();
        if let Some((_, known)) = seen.paths.remove(path) {
            seen.files.remove(&known.stamp.id());
        }
    }

    /// How a file stands to what was read.
    pub fn standing(&self, path: &str, stamp: &Stamp) -> Standing {
        let seen = self.lock();
        let known = seen.files.get(&stamp.id()).or_else(|| seen.paths.get(path)).map(|(_, known)| known);
        match known {
            None => Standing::Unread,
            Some(known) if known.stamp == *stamp => Standing::Unchanged(known.clone()),
            Some(known) => Standing::Touched(known.clone()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
