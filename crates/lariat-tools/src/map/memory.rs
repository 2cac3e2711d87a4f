//! Outlines of files that did not change.
//!
//! Owns when an outline still holds: by the file's state where its last change is old enough to be told from a later one,
//! else by the hash of its content. Also the grammars, because they are loaded once.
//!
//! Bounded: when it is full, everything is forgotten. Forgetting costs parsing, nothing else.

use std::collections::HashMap;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use lariat_host::files::Known;

use super::language::{self, Grammars};
use super::outline::Outline;
use crate::tree::Visited;

/// Files that are remembered.
const MOST_FILES: usize = 40_000;
/// Bytes of a line, on average, from which on nobody wrote a file.
const LONG_LINES: usize = 300;
/// Bytes from which on lines are looked at.
const SHORT: usize = 4 * 1024;

/// Outlines by path. Cloning shares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outlines {
    files: Arc<Mutex<HashMap<String, Remembered>>>,
    grammars: Arc<Grammars>,
}

#[derive(Clone, Debug)]
struct Remembered {
    known: Known,
    settled: bool,
    /// Nothing for what is no source.
    outline: Option<Arc<Outline>>,
}

impl Outlines {
    pub(super) fn grammars(&self) -> &Grammars {
        &self.grammars
    }

    /// The outline of a file: the remembered one if it still holds, else what `make` makes of the content. What is given
    /// up is not remembered.
    pub(super) fn outline(
        &self,
        file: &Visited<'_>,
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
        let (opened, stamp) = file.folder.file(file.name).ok()?;
        if stamp.size() > limit {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size()).unwrap_or_default());
        opened.take(limit).read_to_end(&mut bytes).ok()?;
        let known = Known::of(stamp, &bytes);
        let outline = match before {
            Some(before) if before.known.hash == known.hash => before.outline,
            _ if !is_source(&bytes) => None,
            _ => Some(Arc::new(make(&bytes, language::of(file.path)?)?)),
        };
        let settled = known.stamp.is_settled();
        let remembered = Remembered { known, settled, outline: outline.clone() };
        self.with(|files| {
            if files.len() >= MOST_FILES {
                files.clear();
            }
            files.insert(file.path.to_owned(), remembered);
        });
        outline
    }

    fn with<R>(&self, work: impl FnOnce(&mut HashMap<String, Remembered>) -> R) -> R {
        work(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether a person wrote it: text, in lines.
fn is_source(bytes: &[u8]) -> bool {
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    !bytes.contains(&0) && (bytes.len() < SHORT || bytes.len() / lines < LONG_LINES)
}
