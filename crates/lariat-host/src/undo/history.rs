//! Checkpoints in memory: what there is now, and the differences that led to it.
//!
//! Owns the bound on what is kept. The contents that are needed are those of the present and those from before each
//! difference; dropping the oldest differences frees what only they needed.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::checkpoints::UndoLimits;
use super::entry::{Entry, RelativePath, same};
use super::error::UndoError;
use super::log::Log;
use super::store::Store;
use super::walk::Found;

/// What is remembered of every path, and the look at which it was there last.
pub(super) type Manifest = BTreeMap<RelativePath, Slot>;

#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) entry: Entry,
    pub(super) visited: u64,
}

/// Who made a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum By {
    /// Nobody: everything there was when remembering began.
    Base,
    /// The user, or anybody else who is not a call.
    User,
    /// A call that begins here. Its difference comes later.
    Begin(String),
    /// A call.
    Call(String),
}

/// A difference and who made it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) by: By,
    /// Whether everything was looked at.
    pub(super) whole: bool,
    pub(super) changes: Vec<Difference>,
}

/// A path before and after.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Difference {
    pub(super) path: RelativePath,
    pub(super) before: Option<Entry>,
    pub(super) after: Option<Entry>,
}

/// What a call did to a path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The path.
    pub path: RelativePath,
    /// What it was, and its mode.
    pub before: Option<(super::Look, u32)>,
    /// What it became, and its mode.
    pub after: Option<(super::Look, u32)>,
}

/// A line of the list of checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Who made it.
    pub by: By,
    /// Paths that differ.
    pub paths: usize,
}

/// Everything that is remembered.
#[derive(Debug)]
pub(super) struct History {
    pub(super) manifest: Manifest,
    pub(super) checkpoints: VecDeque<Checkpoint>,
    pub(super) store: Store,
    log: Log,
    limits: UndoLimits,
}

impl History {
    pub(super) fn open(directory: &Path, limits: UndoLimits) -> Result<Self, UndoError> {
        let mut store = Store::open(directory.join("blobs"))?;
        let (log, read) = Log::open(directory)?;
        let mut manifest = Manifest::new();
        let mut checkpoints = VecDeque::new();
        for checkpoint in read {
            for change in &checkpoint.changes {
                // The content of before is needed by the difference; that of the present is counted below.
                if let Some(hash) = change.before.as_ref().and_then(Entry::content) {
                    store.need(hash);
                }
                apply(&mut manifest, change);
            }
            if checkpoint.by != By::Base {
                checkpoints.push_back(checkpoint);
            }
        }
        for slot in manifest.values() {
            if let Some(hash) = slot.entry.content() {
                store.need(hash);
            }
        }
        store.sweep();
        Ok(Self { manifest, checkpoints, store, log, limits })
    }

    pub(super) const fn is_new(&self) -> bool {
        self.log.bytes() == 0
    }

    /// Bytes on the disk.
    pub(super) const fn bytes(&self) -> u64 {
        self.store.bytes() + self.log.bytes()
    }

    pub(super) const fn limits(&self) -> &UndoLimits {
        &self.limits
    }

    /// Adds a checkpoint: what was found at paths, against what was there.
    pub(super) fn add(&mut self, by: By, whole: bool, mut found: Found) -> Result<(), UndoError> {
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let mut changes = Vec::new();
        for (path, after) in found {
            let before = self.manifest.get(&path).map(|slot| slot.entry.clone());
            if same(before.as_ref(), after.as_ref()) {
                // Seen in another state, but the same.
                if let (Some(slot), Some(mut after)) = (self.manifest.get_mut(&path), after) {
                    after.look = slot.entry.look.clone();
                    slot.entry = after;
                }
                continue;
            }
            changes.push(Difference { path, before, after });
        }
        if changes.is_empty() && matches!(by, By::User) {
            return Ok(());
        }
        let checkpoint = Checkpoint { by, whole, changes };
        self.log.append(&checkpoint)?;
        for change in &checkpoint.changes {
            if let Some(hash) = change.after.as_ref().and_then(Entry::content) {
                self.store.need(hash);
            }
            apply(&mut self.manifest, change);
        }
        if checkpoint.by != By::Base {
            self.checkpoints.push_back(checkpoint);
        }
        if self.checkpoints.len() > self.limits.checkpoints {
            self.drop_oldest(self.checkpoints.len() / 8 + 1)?;
        }
        Ok(())
    }

    /// Drops the oldest checkpoints until so many bytes more have room, or none is left.
    pub(super) fn make_room(&mut self, bytes: u64) -> Result<(), UndoError> {
        while self.bytes().saturating_add(bytes) > self.limits.total && !self.checkpoints.is_empty() {
            self.drop_oldest(self.checkpoints.len() / 8 + 1)?;
        }
        self.store.sweep();
        Ok(())
    }

    fn drop_oldest(&mut self, count: usize) -> Result<(), UndoError> {
        let dropped: Vec<_> = self.checkpoints.drain(..count.min(self.checkpoints.len())).collect();
        // What the log begins with: the present, with the differences that stay undone.
        let mut base: BTreeMap<_, _> =
            self.manifest.iter().map(|(path, slot)| (path.clone(), slot.entry.clone())).collect();
        for change in self.checkpoints.iter().rev().flat_map(|checkpoint| checkpoint.changes.iter().rev()) {
            match &change.before {
                Some(entry) => drop(base.insert(change.path.clone(), entry.clone())),
                None => drop(base.remove(&change.path)),
            }
        }
        let changes =
            base.into_iter().map(|(path, entry)| Difference { path, before: None, after: Some(entry) });
        let base = Checkpoint { by: By::Base, whole: true, changes: changes.collect() };
        self.log.rewrite(std::iter::once(&base).chain(&self.checkpoints))?;
        for change in dropped.iter().flat_map(|checkpoint| &checkpoint.changes) {
            if let Some(hash) = change.before.as_ref().and_then(Entry::content) {
                self.store.release(hash);
            }
        }
        Ok(())
    }

    /// Position after the beginning of a call.
    pub(super) fn begin(&self, call: &str) -> Option<usize> {
        let begins = |checkpoint: &Checkpoint| matches!(&checkpoint.by, By::Begin(name) if name == call);
        self.checkpoints.iter().position(begins)
    }
}

fn apply(manifest: &mut Manifest, change: &Difference) {
    match &change.after {
        Some(entry) => {
            drop(manifest.insert(change.path.clone(), Slot { entry: entry.clone(), visited: 0 }));
        }
        None => drop(manifest.remove(&change.path)),
    }
}
