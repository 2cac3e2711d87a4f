//! Removes deleted sessions and blobs that are no longer referenced.
//!
//! Blob references are found by searching the bytes of all journals, including damaged ones and data set aside: removal
//! does not trust an index. Invariant: a blob is removed only if it is old enough and no file of a remaining session
//! references it.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use lariat_core::archive::GarbageReport;
use lariat_core::store::StoreError;

use super::inner::{ClaimRecord, JsonlStoreInner, lock_unpoisoned};
use super::paths::{self, SessionPaths};
use super::scan::{JournalScanner, PieceKind};
use super::section::Section;
use super::{checksummed, unavailable};
use crate::content::{hash_of, mentions};
use crate::files;

/// Age at which an unfinished file is certainly abandoned by its writer.
const MAX_UNFINISHED_AGE: Duration = Duration::from_secs(3_600);
/// Number of bytes to search at once.
const CHUNK: usize = 1024 * 1024;
/// Number of bytes to search twice, because an address may begin in one chunk and end in the next.
const OVERLAP: usize = 128;

impl JsonlStoreInner {
    /// Removes unreferenced sessions and blobs older than `grace`.
    pub(super) fn collect_garbage(&self, grace: Duration) -> Result<GarbageReport, StoreError> {
        let failed = |error: io::Error| unavailable(&self.root, &error);
        // List the blobs before reading the journals, so that blobs stored later are not candidates.
        let blobs = self.blobs.list().map_err(failed)?;
        let blobs: Vec<_> = blobs.into_iter().filter(|(_, path)| files::age(path) >= grace).collect();
        let mut freed = GarbageReport::default();
        self.collect_sessions(&mut freed).map_err(failed)?;
        let mentioned = self.mentioned_blobs().map_err(failed)?;
        for (hash, path) in blobs {
            if !mentioned.contains(&hash) && files::age(&path) >= grace {
                freed.bytes += remove(&path).map_err(failed)?;
                freed.blobs += 1;
            }
        }
        freed.bytes += self.collect_unfinished(grace.max(MAX_UNFINISHED_AGE)).map_err(failed)?;
        Ok(freed)
    }

    /// Removes temporary files left by a crash.
    fn collect_unfinished(&self, age: Duration) -> io::Result<u64> {
        let mut dirs = files::list(&paths::blobs_dir(&self.root))?;
        dirs.extend([paths::sessions_dir(&self.root), paths::index_dir(&self.root)]);
        let mut bytes = 0;
        for path in dirs.iter().map(|dir| files::list(dir)).collect::<io::Result<Vec<_>>>()?.concat() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('.') && files::age(&path) >= age {
                bytes += remove(&path)?;
            }
        }
        Ok(bytes)
    }

    /// Removes deleted sessions that no fork needs.
    fn collect_sessions(&self, freed: &mut GarbageReport) -> io::Result<()> {
        let (mut parents, mut deleted, mut needed) = (HashMap::new(), Vec::new(), Vec::new());
        for path in files::list(&paths::sessions_dir(&self.root))? {
            let Some(name) = SessionPaths::of_journal(&self.root, &path) else { continue };
            let is_deleted = files::state(&name.tombstone())?.is_some();
            match parent_of(&self.root, &name)? {
                Parent::Unknown if !is_deleted => return Ok(()),
                Parent::Unknown | Parent::None => {}
                Parent::Named(parent) => drop(parents.insert(name.stem().to_owned(), parent)),
            }
            if is_deleted {
                deleted.push(name);
            } else {
                needed.push(name.stem().to_owned());
            }
        }
        let mut kept: HashSet<String> = HashSet::new();
        while let Some(name) = needed.pop() {
            // Damage can make a cycle of forks.
            needed.extend(parents.get(&name).filter(|parent| !kept.contains(*parent)).cloned());
            kept.insert(name);
        }
        for name in deleted.into_iter().filter(|name| !kept.contains(name.stem())) {
            freed.bytes += self.remove_session(&name)?;
            freed.sessions += 1;
        }
        Ok(())
    }

    /// Removes the files of a session except its tombstone.
    fn remove_session(&self, name: &SessionPaths) -> io::Result<u64> {
        let mut bytes = 0;
        for path in files::list(&name.snapshots())? {
            bytes += remove(&path)?;
        }
        for path in files::list(&paths::sessions_dir(&self.root))? {
            let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
            let aside = file.strip_prefix(name.stem()).unwrap_or_default();
            if aside.starts_with(".torn-") || aside.starts_with(".damaged-") {
                bytes += remove(&path)?;
            }
        }
        // Remove the journal last: without it, a later collection would not find the other files.
        for path in [name.index(), name.epoch(), name.journal()] {
            bytes += remove(&path)?;
        }
        lock_unpoisoned(&self.sessions)
            .retain(|_, session| session.paths != *name || lock_unpoisoned(&session.cached).own);
        Ok(bytes)
    }

    /// Returns every blob that a session file references.
    fn mentioned_blobs(&self) -> io::Result<HashSet<[u8; 32]>> {
        let mut found = HashSet::new();
        for path in files::list(&paths::sessions_dir(&self.root))? {
            match files::open(&path) {
                Ok(file) => collect_mentions(file, &mut found)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

fn collect_mentions(mut file: impl Read, found: &mut HashSet<[u8; 32]>) -> io::Result<()> {
    let mut window = Vec::new();
    loop {
        let kept = window.len().min(OVERLAP);
        window.drain(..window.len() - kept);
        let read = (&mut file).take(CHUNK as u64).read_to_end(&mut window)?;
        found.extend(mentions(&window).iter().filter_map(hash_of));
        if read == 0 {
            return Ok(());
        }
    }
}

/// The session that a session was forked from.
enum Parent {
    None,
    /// The session with this file name.
    Named(String),
    /// Neither the journal nor its side files can tell.
    Unknown,
}

fn parent_of(root: &Path, name: &SessionPaths) -> io::Result<Parent> {
    let file = files::open(&name.journal())?;
    let length = file.metadata()?.len();
    let header = match JournalScanner::new(Section::new(&file, 0, length), 0).next()?.map(|piece| piece.kind)
    {
        Some(PieceKind::Header(header, _)) => Some(header),
        _ => checksummed::read::<ClaimRecord>(&name.epoch())?.map(|claimed| claimed.header),
    };
    Ok(match header.map(|header| header.fork) {
        Some(Some(fork)) => Parent::Named(SessionPaths::of(root, &fork.session).stem().to_owned()),
        Some(None) => Parent::None,
        None => Parent::Unknown,
    })
}

fn remove(path: &Path) -> io::Result<u64> {
    let bytes = files::state(path)?.map_or(0, |state| state.length);
    files::remove(path)?;
    Ok(bytes)
}
