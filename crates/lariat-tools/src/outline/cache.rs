//! Caches the outlines of files that did not change.
//!
//! A cached outline is valid if the file's stamp is unchanged and its last change was old enough that a later one would
//! have a different timestamp, otherwise if the hash of the content is unchanged. Also holds the grammars, so that they
//! are loaded once.
//!
//! Bounded: when it is full, it is cleared. The only cost is that files are parsed again.

use std::collections::HashMap;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use lariat_host::files::{FileVersion, Stamp};

use super::file::Outline;
use super::language::{self, Grammars};
use crate::tree::VisitedFile;

/// Maximum number of files to cache.
const MAX_FILES: usize = 40_000;
/// Average line length in bytes from which on a file is taken to be generated.
const LONG_LINES: usize = 300;
/// Files smaller than this many bytes are never taken to be generated.
const SHORT: usize = 4 * 1024;

/// Outlines by path. Clones share the cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outlines {
    files: Arc<Mutex<HashMap<String, CachedOutline>>>,
    grammars: Arc<Grammars>,
}

#[derive(Clone, Debug)]
struct CachedOutline {
    known: FileVersion,
    settled: bool,
    /// `None` for a file that is not source code.
    outline: Option<Arc<Outline>>,
}

impl Outlines {
    pub(crate) fn grammars(&self) -> &Grammars {
        &self.grammars
    }

    /// Returns the outline of a file: the cached one if it is valid, otherwise what `make` returns for the content. If
    /// `make` gives up, nothing is cached.
    pub(crate) fn outline(
        &self,
        file: &VisitedFile<'_>,
        limit: u64,
        make: impl FnOnce(&[u8], usize) -> Option<Outline>,
    ) -> Option<Arc<Outline>> {
        let before = self.with(|files| files.get(file.path).cloned());
        if let Some(before) = &before
            && before.settled
            && file.folder.stamp(file.name).is_ok_and(|stamp| stamp == before.known.stamp)
        {
            return before.outline.clone();
        }
        let (stamp, bytes) = read(file, limit)?;
        let known = FileVersion::of(stamp, &bytes);
        let outline = match before {
            Some(before) if before.known.hash == known.hash => before.outline,
            _ if !is_source(&bytes) => None,
            _ => Some(Arc::new(make(&bytes, language::of(file.path)?)?)),
        };
        let settled = known.stamp.is_settled();
        let cached = CachedOutline { known, settled, outline: outline.clone() };
        self.with(|files| {
            if files.len() >= MAX_FILES {
                files.clear();
            }
            files.insert(file.path.to_owned(), cached);
        });
        outline
    }

    fn with<R>(&self, work: impl FnOnce(&mut HashMap<String, CachedOutline>) -> R) -> R {
        work(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads a file of at most `limit` bytes.
fn read(file: &VisitedFile<'_>, limit: u64) -> Option<(Stamp, Vec<u8>)> {
    let (opened, stamp) = file.folder.file(file.name).ok()?;
    if stamp.size() > limit {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size()).unwrap_or_default());
    opened.take(limit).read_to_end(&mut bytes).ok()?;
    Some((stamp, bytes))
}

/// Reads a file of at most `limit` bytes, if it looks like handwritten source.
pub(crate) fn read_source(file: &VisitedFile<'_>, limit: u64) -> Option<Vec<u8>> {
    read(file, limit).map(|(_, bytes)| bytes).filter(|bytes| is_source(bytes))
}

/// Whether a file looks like handwritten source: text, in lines.
fn is_source(bytes: &[u8]) -> bool {
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    !bytes.contains(&0) && (bytes.len() < SHORT || bytes.len() / lines < LONG_LINES)
}
